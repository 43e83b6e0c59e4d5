"""How much a record errs, from the same record at two coarser resolutions.

A wave that a scheme damps and delays arrives as exp(-x) of itself, and x grows along its path without bound, while the difference from
the true wave, 1 - exp(-x), does not grow beyond one. So x is what is extrapolated: its logarithm is taken as linear in that of the
spacing, or, for polynomials of order n on one mesh, as that of C r^n / n!, the error of the best polynomial of that order for a
harmonic wave. Three resolutions are enough for the two unknowns and the truth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Array = np.ndarray

LARGEST = 0.95
"""Relative differences beyond tell no more: the coarser run shows hardly anything of the record."""
HALVINGS = 50
"""Of the interval in which the logarithm of x is looked for."""


@dataclass(frozen=True)
class Level:
    """A resolution: log x = c + rate * ``steps`` + ``known``. ``coarseness``: the spacing between points, over that of the finest."""

    steps: float
    known: float
    coarseness: float


def of_orders(orders: Sequence[int]) -> tuple[Level, ...]:
    """Polynomials of several orders on one mesh, the highest first."""
    return tuple(Level(float(n), -math.lgamma(n + 1.0), orders[0] / n) for n in orders)


def of_spacings(spacings: Sequence[float]) -> tuple[Level, ...]:
    """One scheme at several spacings, the smallest first."""
    return tuple(Level(math.log(h), 0.0, h / spacings[0]) for h in spacings)


def error(levels: Sequence[Level], near: Array, far: Array) -> Array:
    """Relative errors (n,) at the first of three ``levels`` from the relative differences of the second, ``near`` (n,), and the third,
    ``far`` (n,), from the first."""
    return np.asarray(-np.expm1(-_extrapolated(levels, _lost(near), _lost(far))))


def errors(levels: Sequence[Level], near: Array, far: Array) -> Array:
    """As ``error``, of receivers (n,) of one run; NaN where a difference is.

    How the error compares with the difference ``near`` scatters from record to record, as waves that erred one way or the other meet
    there, more than it differs between places. So all receivers have one factor, that of the root mean squares of their differences.
    """
    known = np.isfinite(near) & np.isfinite(far)
    if not known.any():
        return np.full(len(near), np.nan)
    all_near, all_far = (np.array([np.sqrt(np.mean(d[known] ** 2))]) for d in (near, far))
    factor = float(error(levels, all_near, all_far)[0] / all_near[0]) if all_near[0] > 0 else 0.0
    return np.where(known, factor * np.asarray(near), np.nan)


def _lost(difference: Array) -> Array:
    """By how much larger x (n,) is where so much is missing of a record."""
    return np.asarray(-np.log1p(-np.clip(np.asarray(difference, float), 1e-12, LARGEST)))


def _extrapolated(levels: Sequence[Level], near: Array, far: Array) -> Array:
    """x (n,) of the first level, where those of the others are larger by ``near`` and ``far``; at most what an error of first order in
    the spacing would be."""
    fine, middle, coarse = levels
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
