"""How much a record errs, from the same record at two coarser resolutions.

A wave that a scheme damps and delays arrives as exp(-x) of itself, and x grows along its path without bound, while the difference from
the true wave, 1 - exp(-x), does not grow beyond one. So x is what is extrapolated, for polynomials of order n on one mesh as C r^n / n!,
the error of the best polynomial of that order for a harmonic wave. Three resolutions are enough for the two unknowns and the truth.
Waves of a rupture are neither that smooth nor as rough as its front, where x is a power of the distance of points: of both laws the
geometric mean counts. Grids have laws of their own: ``grid_convergence``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Array = np.ndarray
Method = Callable[[Array, Array, Array, Array], Array]
"""Relative errors (n, k) of k quantities at n receivers, from what the run recorded (nt, n, k), the differences of two coarser runs from
it, the nearer one first, and what it is known to err by, which records and differences are without. The coarser of both may have ended
earlier: the first so many samples."""

LARGEST = 0.95
"""Relative differences beyond tell no more: the coarser run shows hardly anything of the record."""
HALVINGS = 50
"""Of the interval in which the logarithm of x is looked for."""


@dataclass(frozen=True)
class Level:
    """A resolution: log x = c + rate * ``steps`` + ``known``. ``coarseness``: the distance between points, over that of the finest."""

    steps: float
    known: float
    coarseness: float


Law = tuple[Level, ...]
"""How x goes with resolution: three levels, the finest first."""


def of_orders(orders: Sequence[int]) -> Law:
    """Polynomials of several orders on one mesh, the highest first, of smooth waves."""
    return tuple(Level(float(n), -math.lgamma(n + 1.0), orders[0] / n) for n in orders)


def of_points(orders: Sequence[float]) -> Law:
    """A power of the distance between points, edge / order, the highest order first."""
    return tuple(Level(-math.log(n), 0.0, orders[0] / n) for n in orders)


def error(law: Law, near: Array, far: Array) -> Array:
    """Relative errors (n,) at the first level of a law from the relative differences of the second, ``near`` (n,), and the third,
    ``far`` (n,), from the first."""
    return np.asarray(-np.expm1(-_extrapolated(law, lost(near), lost(far))))


def factor(laws: Sequence[Law], near: Array, far: Array) -> float:
    """The error over the difference ``near``, the geometric mean over laws, from relative differences (n,) at receivers of one run; those
    that are no numbers are left out.

    How the error compares with the difference scatters from record to record, as waves that erred one way or the other meet there, more
    than it differs between places. So all receivers have one factor, that of the root mean squares of their differences. Receivers that
    hardly any wave has reached, where differences are as large as the record and tell no more, do not count in these.
    """
    counting = telling(near, far)
    if not counting.any():
        return 0.0
    all_near, all_far = (np.array([np.sqrt(np.mean(d[counting] ** 2))]) for d in (near, far))
    if all_near[0] == 0:
        return 0.0
    found = [math.log(error(law, all_near, all_far)[0]) for law in laws]
    return float(math.exp(sum(found) / len(found)) / all_near[0])


def telling(near: Array, far: Array) -> Array:
    """Which receivers (n,) count in what is found for all."""
    known = np.isfinite(near) & np.isfinite(far)
    counting = known & (near < LARGEST)
    return np.asarray(counting if counting.any() else known)


def relative(difference: Array, ours: Array) -> Array:
    """Norms (n,) of differences (m, n, k), over those of the first m samples of the run; NaN where it recorded nothing until then."""
    size = np.sqrt((ours[: len(difference)] ** 2).sum((0, 2)))
    norm = np.sqrt((difference**2).sum((0, 2)))
    return np.divide(norm, size, out=np.full(len(size), np.nan), where=size > 0)


def by_laws(laws: Sequence[Law]) -> Method:
    """The difference to the nearer run, times a factor from laws of the norms until the other one ended."""

    def found(ours: Array, near: Array, far: Array, known: Array) -> Array:
        times = factor(laws, relative(near[: len(far)], ours), relative(far, ours))
        total = (times * times * near**2 + known**2).sum(0)
        return np.asarray(np.sqrt(total / (ours**2).sum((0, 2))[:, None]))

    return found


def lost(difference: Array) -> Array:
    """By how much larger x (n,) is where so much is missing of a record."""
    return np.asarray(-np.log1p(-np.clip(np.asarray(difference, float), 1e-12, LARGEST)))


def _extrapolated(law: Law, near: Array, far: Array) -> Array:
    """x (n,) of the first level, where those of the others are larger by ``near`` and ``far``; at most what an error of first order in
    the spacing would be."""
    fine, middle, coarse = law
    reach = (coarse.steps - fine.steps) / (middle.steps - fine.steps)
    known = coarse.known - fine.known - reach * (middle.known - fine.known)
    high = np.log(near / (middle.coarseness - 1.0))
    low = high - 40.0
    for _ in range(HALVINGS):
        tried = 0.5 * (low + high)
        x = np.exp(tried)
        beyond = tried + reach * (np.log(x + near) - tried) + known > np.log(x + far)  # falls with x
        low, high = np.where(beyond, tried, low), np.where(beyond, high, tried)
    return np.asarray(np.exp(0.5 * (low + high)))
