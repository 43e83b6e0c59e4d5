"""Checks of the locations of sources: outside of the domain, or acting on a pore fluid that the medium does not have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import numpy as np

from faultwave.base.errors import Problems
from faultwave.physics.sources.point import PointSource
from faultwave.physics.sources.table import Sources

_OF_FILE = re.compile(r"(.+?) (subfault|source) \d+.*")


def report_outside(
    sources: Iterable[PointSource], distance: np.ndarray, domain: str, problems: Problems, allowed: str = "",
    above: Callable[[np.ndarray], str] = lambda place: "", advice: Callable[[np.ndarray, float], str] = lambda place, far: "",
) -> None:  # fmt: skip
    """Add one error for each setting or file with sources outside of the domain.

    Parameters
    ----------
    sources
        n sources.
    distance : (n,) array
        Distance outside of the domain [m]; positive outside.
    domain
        Name of the domain in messages.
    problems
        Receives the errors.
    allowed
        Allowed values, for the message.
    above
        Returns additional text for a location (3,) above the ground.
    advice
        Returns advice for a location (3,) and its distance outside.
    """
    table, groups = Sources.of(sources), dict[str, list[int]]()
    for n in np.flatnonzero(distance > 0).tolist():
        found = _OF_FILE.fullmatch(table.names[n])
        groups.setdefault(found[1] if found else table.names[n], []).append(n)
    for group, rows in groups.items():
        farthest = max(rows, key=lambda n: distance[n])
        x = ", ".join(f"{v:g}" for v in table.location[farthest])
        what = f"lies {distance[farthest]:.6g} m outside the {domain}{above(table.location[farthest])}"
        if len(rows) > 1:
            of = sum(name == group or name.startswith(f"{group} ") for name in table.names)
            what += f", the farthest of {len(rows)} that do, of {of} in {group}"
        places = table.location[rows]
        reported = advice(table.location[farthest], float(distance[farthest]))
        problems.error(f"source {table.names[farthest]} at ({x})", what, allowed, reported, places=places)


def report_no_pores(sources: Sources, medium: str, problems: Problems) -> None:
    """Add an error if sources act on a pore fluid that ``medium`` does not have."""
    found = sources.names[sources.porous[:, 3:].any(1)]
    if len(found):
        more = f", as do {len(found) - 1} more sources" if len(found) > 1 else ""
        what = f"{found[0]} acts on the fluid in pores{more}, and {medium} has none"
        problems.error("sources", what, "pressure and fluid components of 0, or law: poroelastic")


__all__ = ["report_no_pores", "report_outside"]
