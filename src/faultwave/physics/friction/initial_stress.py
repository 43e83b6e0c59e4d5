"""Initial stress, pore pressure and nucleation on a fault: their names, their rotation to its frame, and smooth ramps in time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.types import Setting
from faultwave.kernels import math as m
from faultwave.kernels.expr import Number
from faultwave.physics.friction.frame import directions, to_tangents, traction

_COMPONENTS = ("xx", "yy", "zz", "xy", "yz", "xz")


def prefix_of(episode: int) -> str:
    """Return the prefix of the names of an episode: '' for the initial stress (0), 'nuc' for episode 1, then 'nuc2', 'nuc3', ..."""
    return "" if episode == 0 else "nuc" if episode == 1 else f"nuc{episode}"


def stress_sets(prefix: str) -> tuple[tuple[str, ...], ...]:
    """Return the complete sets of names, any one of which defines a stress: a Cartesian tensor (6) or tractions (3: n, s, d)."""
    if not prefix:
        return (tuple(f"s_{c}" for c in _COMPONENTS), ("T_n", "T_s", "T_d"), ("Pn0", "Ts0", "Td0"))
    return (tuple(f"{prefix}_{c}" for c in _COMPONENTS), tuple(f"T{prefix}_{c}" for c in "nsd"))


def pressure_name(prefix: str) -> str:
    """Return the name of the pore pressure that belongs to the sets of ``stress_sets``: p, nuc_p, nuc2_p, ..."""
    return f"{prefix}_p" if prefix else "p"


def initial_names(prefix: str) -> set[str]:
    """Return all names by which stress and pore pressure can be given."""
    return {pressure_name(prefix)}.union(*stress_sets(prefix))


def choose_stress(parameters: Collection[str], prefix: str = "", where: str = "fault.parameters") -> tuple[str, ...]:
    """Return the one complete set of stress names among the parameters of a field.

    Parameters
    ----------
    parameters
        Names that a field supplies.
    prefix
        One of ``prefix_of``.
    where
        Place that the error message states.

    Raises
    ------
    InputError
        Unless exactly one set is complete and no other is partly given.
    """
    sets = stress_sets(prefix)
    allowed = " or ".join(" ".join(names) for names in sets)
    begun = [names for names in sets if any(n in parameters for n in names)]
    what = "nucleation stress" if prefix else "initial stress"
    if not begun:
        raise InputError(Problem(where, f"{what} is missing", allowed))
    if len(begun) > 1:
        given = [n for names in begun for n in names if n in parameters]
        raise InputError(Problem(where, f"{what} mixes {', '.join(given)}", allowed, "define one complete set"))
    missing = [n for n in begun[0] if n not in parameters]
    if missing:
        raise InputError(Problem(where, f"{what} lacks {', '.join(missing)}", allowed))
    return begun[0]


def stress_names(parameters: Collection[str], prefix: str, pressure: bool, where: str) -> tuple[str, ...]:
    """Return the names to read from a field: the stress and, with ``pressure``, the pore pressure if the field has it.

    Nucleation may be by pore pressure alone.
    """
    name = pressure_name(prefix)
    pore = (name,) if pressure and name in parameters else ()
    if prefix and pore and not any(n in parameters for names in stress_sets(prefix) for n in names):
        return pore
    return choose_stress(parameters, prefix, where) + pore


def initial_traction(
    values: Mapping[str, np.ndarray],
    normal: np.ndarray,
    s1: np.ndarray,
    s2: np.ndarray,
    strike: np.ndarray,
    dip: np.ndarray,
    prefix: str = "",
) -> np.ndarray:
    """Return the traction (n, 3) along (normal, s1, s2) [Pa], positive in tension, from one set of values.

    With a pore pressure, which is positive, the normal component is the effective one: total normal stress plus pressure. Nucleation may be
    by pressure alone.

    Parameters
    ----------
    values
        Values (n,) [Pa] by the names of one set of ``stress_sets`` and, optionally, the pore pressure.
    normal, s1, s2, strike, dip : (n, 3) array
        Unit vectors.
    prefix
        One of ``prefix_of``.
    """
    name = pressure_name(prefix)
    if prefix and set(values) == {name}:
        total = np.zeros((len(normal), 3))
    else:
        total = _rotated(values, choose_stress(values, prefix), (normal, s1, s2), (strike, dip))
    if name in values:
        total[:, 0] += values[name]
    return total


def _rotated(
    values: Mapping[str, np.ndarray],
    names: Sequence[str],
    axes: tuple[np.ndarray, np.ndarray, np.ndarray],
    along: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """Return the traction along (normal, s1, s2) from six tensor components, or from three tractions along normal, strike and dip."""
    normal, s1, s2 = axes
    stress = np.stack([np.broadcast_to(np.asarray(values[n], float), (len(normal),)) for n in names], axis=1)
    if len(names) == 6:
        return traction(stress, normal, s1, s2)
    return to_tangents(stress, directions(s1, s2, *along))


LARGEST_STRESS = 1e15
"""Largest stress of nucleation [Pa], a thousand times the pressure in the Earth's core."""
STRESS_ALLOWED = f"finite numbers up to {LARGEST_STRESS:g} Pa"


def wrong_stress(traction: np.ndarray) -> np.ndarray:
    """Return True (n,) where nucleation adds an invalid traction (n, 3) [Pa]: not finite or too large."""
    return np.asarray(~(np.abs(traction) <= LARGEST_STRESS).all(1))


def check_starts(nucleation: Iterable[Setting], end_time: float, problems: Problems) -> None:
    """Warn of episodes of nucleation that begin after the end of the run [s]."""
    for i, episode in enumerate(nucleation):
        if episode.start >= end_time:
            what = f"begins at {episode.start:g} s, but the run ends at {end_time:g} s: it has no effect"
            problems.warn(
                f"fault.nucleation[{i}].start", what, f"below {end_time:g} s", "Start it earlier, or raise end_time."
            )


def smooth_step(t: Number, duration: Number) -> Number:
    """Return the smooth step G(t) from 0 to 1 over a duration T (kernel).

    It is 0 for t <= 0, exp((t-T)^2/(t(t-2T))) for 0 < t < T, and 1 after, with continuous derivatives of all orders; a
    jump after t = 0 if T <= 0.
    """
    ramps = duration > 0.0
    x = t / m.where(ramps, duration, 0.0 * duration + 1.0)
    # Below 1e-4 of the ramp the exponential is zero in any precision; the limit avoids an infinite argument.
    inside = m.maximum(m.minimum(x, 1.0), 1e-4)
    ramp = m.exp((inside - 1.0) * (inside - 1.0) / (inside * (inside - 2.0)))
    return m.where(ramps, m.where(x > 0.0, ramp, 0.0 * x), m.where(x > 0.0, 0.0 * x + 1.0, 0.0 * x))


def unmistakable(onset: npt.ArrayLike) -> np.ndarray:
    """Return the time of a jump, shifted by more than rounding of adjacent intervals so that exactly one contains it (host).

    The relative shift of 1e-12 is itself negligible.
    """
    return np.asarray(onset, float) * (1.0 + 1e-12)


def increment(t0: float, t1: float, start: float, duration: float) -> float:
    """Return the fraction of an episode's stress added between ``t0`` and ``t1`` [s] (host); increments sum to 1."""
    if duration <= 0:
        start = float(unmistakable(start))
    since, until = t0 - start, t1 - start
    if until <= 0.0 or since >= duration and since > 0.0:  # before or after the ramp: most steps of a run
        return 0.0
    before, after, length = (np.asarray(x, float) for x in (since, until, duration))
    return float(np.asarray(smooth_step(after, length) - smooth_step(before, length)))
