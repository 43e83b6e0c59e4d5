"""Sources that cannot act where they are: outside of the domain, told once for each file, or on a fluid in pores that are not there."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from faultwave.base.errors import Problems
from faultwave.physics.sources.point import PointSource, in_pores

_OF_FILE = re.compile(r"(.+?) (subfault|source) \d+.*")


def tell_outside(
    sources: Sequence[PointSource], distance: np.ndarray, domain: str, problems: Problems, allowed: str = "",
    above: Callable[[np.ndarray], str] = lambda place: "",
) -> None:  # fmt: skip
    """An error for each setting or file with sources that lie ``distance`` (n,) [m] outside, > 0, of ``domain``; ``above``: what else to
    say of a place (3,) that is above the ground."""
    groups: dict[str, list[int]] = {}
    for n in np.flatnonzero(distance > 0).tolist():
        found = _OF_FILE.fullmatch(sources[n].name)
        groups.setdefault(found[1] if found else sources[n].name, []).append(n)
    for group, rows in groups.items():
        farthest = max(rows, key=lambda n: distance[n])
        x = ", ".join(f"{v:g}" for v in sources[farthest].location)
        what = f"lies {distance[farthest]:.6g} m outside the {domain}{above(sources[farthest].location)}"
        if len(rows) > 1:
            of = sum(1 for s in sources if s.name == group or s.name.startswith(f"{group} "))
            what += f", the farthest of {len(rows)} that do, of {of} in {group}"
        problems.error(f"source {sources[farthest].name} at ({x})", what, allowed)


def tell_no_pores(sources: Sequence[PointSource], medium: str, problems: Problems) -> None:
    """An error where sources act on a fluid in pores and ``medium`` has none."""
    found = [s.name for s in sources if in_pores(s)]
    if found:
        more = f", as do {len(found) - 1} more sources" if len(found) > 1 else ""
        what = f"{found[0]} acts on the fluid in pores{more}, and {medium} has none"
        problems.error("sources", what, "pressure and fluid components of 0, or law: poroelastic")


__all__ = ["tell_no_pores", "tell_outside"]
