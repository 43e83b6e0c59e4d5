"""Seismic hazard from the ground motion of many ruptures with annual rates.

The annual rate at which a measure exceeds a level is the sum of the rates of all ruptures that exceed it. Ruptures are independent
Poisson processes, so that the probability of at least one exceedance in T years is 1 - exp(-rate T) (Cornell 1968; McGuire 2004).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import RunError


def check_finite(values: np.ndarray, what: str) -> None:
    """Raise RunError if values are not finite: they would count as ground motion that exceeds every level, or none."""
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        text = f"{len(wrong):,} of {len(values):,} values are not finite, the first is {values[wrong[0]]:g} of event {wrong[0]}"
        raise RunError(f"{what}: {text}; their hazard is not defined. Compute the site again, and check its tensors.")


def exceedance_rates(values: np.ndarray, rates: np.ndarray, levels: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return the annual rates (m,) at which levels (m,) are exceeded.

    Parameters
    ----------
    values : ndarray (n,)
        Measure of each event.
    rates : ndarray (n,)
        Annual rate of each event.
    levels : array_like (m,)
        Levels.

    Raises
    ------
    RunError
        If values are not finite.
    """
    check_finite(values, "measure")
    order = np.argsort(values)
    above = np.concatenate([np.cumsum(rates[order][::-1])[::-1], [0.0]])  # rate of the events from a position on
    return np.asarray(above[np.searchsorted(values[order], np.asarray(levels, float), side="right")])


def logarithmic_moments(values: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Return the geometric mean of a measure and the standard deviation of its natural logarithm.

    Parameters
    ----------
    values : ndarray (n,)
        Measure of each variation.
    weights : ndarray (n,)
        Weights, such as annual rates; only their ratios matter.

    Returns
    -------
    mean : float
        Geometric mean, 0 if a variation does not move the site.
    deviation : float
        Standard deviation without bias for equal weights; NaN for a single variation or if one does not move the site.

    Raises
    ------
    RunError
        If values are not finite.
    """
    check_finite(values, "measure")
    if (values <= 0.0).any():
        return 0.0, float("nan")
    parts, logarithms = weights / weights.sum(), np.log(values)
    mean = float(parts @ logarithms)
    rest = 1.0 - float(parts @ parts)
    if len(values) == 1 or rest <= 0.0:
        return float(np.exp(mean)), float("nan")
    return float(np.exp(mean)), float(np.sqrt(parts @ (logarithms - mean) ** 2 / rest))


def probability(rate: np.ndarray | float, years: float) -> np.ndarray:
    """Return the probability of at least one event in a time, for annual rates."""
    return np.asarray(-np.expm1(-np.asarray(rate, float) * years))


def rate_of(probability_: float, years: float) -> float:
    """Return the annual rate for a probability of at least one event in a time."""
    return float(-np.log1p(-probability_) / years)


def level_at_rate(values: np.ndarray, rates: np.ndarray, rate: float) -> float:
    """Return the largest level that is exceeded at least at an annual rate; NaN if all events together are rarer.

    It is the value of an event: events with at least this value have together the rate. Raises RunError if values are not finite.
    """
    check_finite(values, "measure")
    order = np.argsort(values)[::-1]
    reached = np.cumsum(rates[order])
    enough = np.flatnonzero(reached >= rate * (1 - 1e-12))
    return float(values[order][enough[0]]) if len(enough) else float("nan")


@dataclass(frozen=True)
class Contributions:
    """Hazard of a level, divided among events.

    Attributes
    ----------
    level : float
        Level.
    rate : float
        Annual rate of exceedance.
    event : ndarray (n,)
        Annual rate of each event that exceeds the level, else zero.
    """

    level: float
    rate: float
    event: np.ndarray

    def by_rupture(self, names: Sequence[str]) -> list[tuple[str, float]]:
        """Return ruptures with their annual rates of exceedance, the largest first; those without are left out."""
        total: dict[str, float] = {}
        for name, rate in zip(names, self.event, strict=True):
            if rate > 0:
                total[name] = total.get(name, 0.0) + float(rate)
        return sorted(total.items(), key=lambda item: -item[1])

    def by_bins(
        self, magnitudes: np.ndarray, distances: np.ndarray, widths: tuple[float, float]
    ) -> list[tuple[float, float, float]]:
        """Return lower magnitude, lower distance and annual rate of the bins with contributions.

        Parameters
        ----------
        magnitudes, distances : ndarray (n,)
            Magnitude and distance of each event.
        widths : (float, float)
            Widths of the bins, which begin at multiples.
        """
        bins = np.stack([np.floor(magnitudes / widths[0] + 1e-9), np.floor(distances / widths[1] + 1e-9)], 1)
        found, number = np.unique(bins, axis=0, return_inverse=True)
        total = np.bincount(number.reshape(-1), self.event, len(found))
        return [(m * widths[0], d * widths[1], float(r)) for (m, d), r in zip(found, total, strict=True) if r > 0]


def contributions(values: np.ndarray, rates: np.ndarray, level: float, reached: bool = False) -> Contributions:
    """Return the contributions of events to the hazard of a level.

    Parameters
    ----------
    values, rates : ndarray (n,)
        Measure and annual rate of each event.
    level : float
        Level.
    reached : bool
        If True, events that reach the level count as well, as for a level of ``level_at_rate``.

    Raises
    ------
    RunError
        If values are not finite.
    """
    check_finite(values, "measure")
    exceeds = values >= level if reached else values > level
    event = np.where(exceeds, rates, 0.0)
    return Contributions(level, float(event.sum()), event)
