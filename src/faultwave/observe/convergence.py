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
it, the nearer one first, and what it is known to err by, which records and differences are without. Coarser runs may have ended
earlier: the first so many samples."""

LARGEST = 0.95
"""Relative differences beyond tell no more: the coarser run shows hardly anything of the record."""
LITTLE = 0.1
"""Share of a record, of its integral of squares, below which the beginning of it tells nothing of its own error."""
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
    """The difference to the nearer run, times a factor from laws of the norms until the other one ended. After the nearer one has ended,
    too, x goes on to grow with time."""

    def found(ours: Array, near: Array, far: Array, known: Array) -> Array:
        times = factor(laws, relative(near[: len(far)], ours), relative(far, ours))
        total, told = grown(times * relative(near, ours), ours, len(near))
        squares = np.where(told[:, None], (near**2).sum(0), (ours**2).sum(0))
        shares = squares / np.where(squares.any(1), squares.sum(1), 1.0)[:, None]
        by_time = (known**2).sum(0) / (ours**2).sum((0, 2))[:, None]
        return np.asarray(np.sqrt(total[:, None] ** 2 * shares + by_time))

    return found


def grown(errors: Array, ours: Array, count: int) -> tuple[Array, Array]:
    """Relative errors (n,) of whole records (nt, n, k) from ``errors`` (n,) of their first ``count`` samples, and of which receivers (n,)
    these say anything.

    x is in proportion to the distance that waves have gone, and so to the time since the run's start. Receivers that had recorded next to
    nothing by then err as much for their time as the others, root mean square.
    """
    power = (ours**2).sum(2)
    begun = power[:count].sum(0)
    told = np.isfinite(errors) & (begun > 0) & (begun >= LITTLE * power.sum(0))
    if not told.any():
        return np.nan_to_num(errors), told
    early, whole = _mean_time(power[:count]), _mean_time(power)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(told, lost(np.where(told, errors, 0.0)) / early, 0.0)
        rate = np.where(told, rate, np.sqrt(np.mean(rate[told] ** 2)))
        found = np.where(told, errors / -np.expm1(-rate * early), 1.0) * -np.expm1(-rate * whole)
    return np.nan_to_num(found), told


def _mean_time(power: Array) -> Array:
    """Number (n,) of the sample at which squares (nt, n) stand in the mean, root mean square; 1 where there are none."""
    number, total = np.arange(len(power)) + 1.0, power.sum(0)
    return np.sqrt(np.where(total > 0, number**2 @ power, 1.0) / np.where(total > 0, total, 1.0))


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
