"""Initial and nucleation stress on the fault: which names a model may use, and their rotation."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.physics.friction.frame import directions, to_tangents, traction

_COMPONENTS = ("xx", "yy", "zz", "xy", "yz", "xz")


def prefix_of(episode: int) -> str:
    """'' for the initial stress (0), 'nuc' for the first nucleation episode, 'nuc2', 'nuc3', ... for the next."""
    return "" if episode == 0 else "nuc" if episode == 1 else f"nuc{episode}"


def stress_sets(prefix: str) -> tuple[tuple[str, ...], ...]:
    """Complete sets of names, any one of which states a stress: a Cartesian tensor (6) or tractions (3: n, s, d)."""
    if not prefix:
        return (tuple(f"s_{c}" for c in _COMPONENTS), ("T_n", "T_s", "T_d"), ("Pn0", "Ts0", "Td0"))
    return (tuple(f"{prefix}_{c}" for c in _COMPONENTS), tuple(f"T{prefix}_{c}" for c in "nsd"))


def choose_stress(parameters: Collection[str], prefix: str = "", where: str = "fault.parameters") -> tuple[str, ...]:
    """The one set of names to ask for; raises InputError unless exactly one set is complete and none other begun.

    ``parameters`` is what a field supplies, ``prefix`` one of ``prefix_of``.
    """
    sets = stress_sets(prefix)
    allowed = " or ".join(" ".join(names) for names in sets)
    begun = [names for names in sets if any(n in parameters for n in names)]
    what = "nucleation stress" if prefix else "initial stress"
    if not begun:
        raise InputError(Problem(where, f"no {what} is given", allowed))
    if len(begun) > 1:
        given = [n for names in begun for n in names if n in parameters]
        raise InputError(Problem(where, f"{what} mixes {', '.join(given)}", allowed, "give one complete set"))
    missing = [n for n in begun[0] if n not in parameters]
    if missing:
        raise InputError(Problem(where, f"{what} lacks {', '.join(missing)}", allowed))
    return begun[0]


def initial_traction(
    values: Mapping[str, np.ndarray],
    normal: np.ndarray,
    s1: np.ndarray,
    s2: np.ndarray,
    strike: np.ndarray,
    dip: np.ndarray,
    prefix: str = "",
) -> np.ndarray:
    """Traction (normal, s1, s2) (n,3) [Pa], tension positive, from one evaluated set of names; vectors are (n,3)."""
    names = choose_stress(values, prefix)
    stress = np.stack([np.broadcast_to(np.asarray(values[n], float), (len(normal),)) for n in names], axis=1)
    if len(names) == 6:
        return traction(stress, normal, s1, s2)
    return to_tangents(stress, directions(s1, s2, strike, dip))
