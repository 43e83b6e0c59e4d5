"""Error estimates of records, from the same record at two coarser resolutions.

A wave that a scheme damps and delays arrives multiplied by exp(-x), and x grows along its path without bound, while the difference from
the exact wave, 1 - exp(-x), does not exceed one. Therefore x is extrapolated, for polynomials of order n on one mesh as C r^n / n!,
the error of the best polynomial of that order for a harmonic wave. Three resolutions suffice for the two unknowns and the exact record.
Waves of a rupture are neither as smooth as harmonic waves nor as rough as its front, where x is a power of the distance between points:
the geometric mean of both laws is used. Grids have different laws: ``grid_convergence``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Array = np.ndarray
Method = Callable[[Array, Array, Array, Array], Array]
"""Function that returns the relative errors (n, k) of k quantities at n receivers.

Its arguments are the record of the run (nt, n, k), the differences of two coarser runs from it, the nearer one first, and the known part
of its error, which has been removed from record and differences. Coarser runs may have ended earlier: their arrays hold the first samples.
"""

LARGEST = 0.95
"""Relative difference above which the coarser run hardly reproduces the record, so that the difference carries no information."""
LITTLE = 0.1
"""Fraction of a record's integral of squares below which its beginning carries no information on its error."""
HALVINGS = 50
"""Number of bisections of the interval that contains the logarithm of x."""


@dataclass(frozen=True)
class Level:
    """Resolution level: log x = c + rate * ``steps`` + ``known``.

    ``coarseness`` is the distance between points relative to the finest level.
    """

    steps: float
    known: float
    coarseness: float


Law = tuple[Level, ...]
"""Dependence of x on resolution: three levels, the finest first."""


def polynomial_law(orders: Sequence[int]) -> Law:
    """Return the law for smooth waves and polynomials of several orders on one mesh, the highest first."""
    return tuple(Level(float(n), -math.lgamma(n + 1.0), orders[0] / n) for n in orders)


def point_distance_law(orders: Sequence[float]) -> Law:
    """Return the law of a power of the distance between points, edge / order, the highest order first."""
    return tuple(Level(-math.log(n), 0.0, orders[0] / n) for n in orders)


def error(law: Law, near: Array, far: Array) -> Array:
    """Return the relative errors (n,) at the finest level of a law.

    Parameters
    ----------
    law : Law
        Dependence of x on resolution.
    near, far : ndarray of shape (n,)
        Relative differences of the second and third level from the first.
    """
    return np.asarray(-np.expm1(-_extrapolated(law, accumulated_error(near), accumulated_error(far))))


def factor(laws: Sequence[Law], near: Array, far: Array) -> float:
    """Return the ratio of the error to the difference ``near``, as the geometric mean over laws.

    The ratio scatters from record to record, since waves with positive and negative errors interfere there, more than it varies between
    places. Therefore all receivers have one factor, computed from the root mean squares of their differences. Receivers that hardly any
    wave has reached, where differences are as large as the record and carry no information, are excluded, as are differences that are NaN.

    Parameters
    ----------
    laws : sequence of Law
        Laws to average.
    near, far : ndarray of shape (n,)
        Relative differences at the receivers of one run.
    """
    counting = informative_receivers(near, far)
    if not counting.any():
        return 0.0
    all_near, all_far = (np.array([np.sqrt(np.mean(d[counting] ** 2))]) for d in (near, far))
    if all_near[0] == 0:
        return 0.0
    found = [math.log(error(law, all_near, all_far)[0]) for law in laws]
    return float(math.exp(sum(found) / len(found)) / all_near[0])


def informative_receivers(near: Array, far: Array) -> Array:
    """Return a mask (n,) of the receivers that are used for quantities common to all."""
    known = np.isfinite(near) & np.isfinite(far)
    counting = known & (near < LARGEST)
    return np.asarray(counting if counting.any() else known)


def relative(difference: Array, ours: Array) -> Array:
    """Return the norms (n,) of differences (m, n, k) relative to the first m samples of the run, NaN if these are zero."""
    size = np.sqrt((ours[: len(difference)] ** 2).sum((0, 2)))
    norm = np.sqrt((difference**2).sum((0, 2)))
    return np.divide(norm, size, out=np.full(len(size), np.nan), where=size > 0)


def extrapolate_by_laws(laws: Sequence[Law]) -> Method:
    """Return the method that multiplies the difference to the nearer run by a factor from the given laws.

    The norms in the laws cover the time until the coarsest run ended. After the end of the nearer run, x continues to grow with time.
    """

    def found(ours: Array, near: Array, far: Array, known: Array) -> Array:
        times = factor(laws, relative(near[: len(far)], ours), relative(far, ours))
        total, reported = extrapolate_errors(times * relative(near, ours), ours, len(near))
        squares = np.where(reported[:, None], (near**2).sum(0), (ours**2).sum(0))
        shares = squares / np.where(squares.any(1), squares.sum(1), 1.0)[:, None]
        by_time = (known**2).sum(0) / (ours**2).sum((0, 2))[:, None]
        return np.asarray(np.sqrt(total[:, None] ** 2 * shares + by_time))

    return found


def extrapolate_errors(errors: Array, ours: Array, count: int) -> tuple[Array, Array]:
    """Extrapolate relative errors of the first samples to whole records.

    x is proportional to the distance that waves have travelled, and thus to the time since the start of the run. Receivers that had
    recorded next to nothing by then receive the root mean square growth rate of the others.

    Parameters
    ----------
    errors : ndarray of shape (n,)
        Relative errors of the first ``count`` samples.
    ours : ndarray of shape (nt, n, k)
        Whole records.
    count : int
        Number of first samples.

    Returns
    -------
    errors : ndarray of shape (n,)
        Relative errors of whole records.
    known : ndarray of shape (n,)
        True where the errors of the first samples are significant.
    """
    power = (ours**2).sum(2)
    begun = power[:count].sum(0)
    reported = np.isfinite(errors) & (begun > 0) & (begun >= LITTLE * power.sum(0))
    if not reported.any():
        return np.nan_to_num(errors), reported
    early, whole = _mean_time(power[:count]), _mean_time(power)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(reported, accumulated_error(np.where(reported, errors, 0.0)) / early, 0.0)
        rate = np.where(reported, rate, np.sqrt(np.mean(rate[reported] ** 2)))
        found = np.where(reported, errors / -np.expm1(-rate * early), 1.0) * -np.expm1(-rate * whole)
    return np.nan_to_num(found), reported


def _mean_time(power: Array) -> Array:
    """Return the root mean square sample number (n,), counted from 1 and weighted with the squares (nt, n); 1 if these are zero."""
    number, total = np.arange(len(power)) + 1.0, power.sum(0)
    return np.sqrt(np.where(total > 0, number**2 @ power, 1.0) / np.where(total > 0, total, 1.0))


def accumulated_error(difference: Array) -> Array:
    """Return the increase of x (n,) that corresponds to a relative difference of a record."""
    return np.asarray(-np.log1p(-np.clip(np.asarray(difference, float), 1e-12, LARGEST)))


def _extrapolated(law: Law, near: Array, far: Array) -> Array:
    """Return x (n,) of the finest level by bisection, where the other levels exceed it by ``near`` and ``far``.

    The result is at most the error of a first-order scheme in the spacing.
    """
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
