"""Goodness of fit of two records by ten criteria, from 0 to 10 each (Anderson 2004).

Positive numbers p of both are compared by S = 10 exp(-((p1 - p2) / min(p1, p2))^2), growth curves by 10 (1 - max |F1 - F2|), and waveforms
by ten times their correlation if it is positive. The mean over criteria and bands is the score of the fit: poor below 4, fair to 6, good
to 8, excellent above.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from faultwave.observe.motions.measures import PERIODS, integrated, padded, response
from faultwave.observe.motions.processing import as_quantity, filtered

CRITERIA = (
    "Arias duration", "energy duration", "Arias intensity", "energy", "peak acceleration", "peak velocity", "peak displacement",
    "response spectrum", "Fourier spectrum", "correlation",
)  # fmt: skip
"""Criteria C1 to C10."""
BANDS = ((0.05, 0.1), (0.1, 0.2), (0.2, 0.5), (0.5, 1.0), (1.0, 2.0), (2.0, 5.0), (5.0, 10.0), (10.0, 20.0))
"""Frequency bands [Hz]; a comparison uses the ones it resolves, and the band that contains all of them."""
CYCLES = 3.0
"""Minimum length of a record in periods of the lowest frequency of a band."""
GRADES = ((8.0, "excellent"), (6.0, "good"), (4.0, "fair"), (-np.inf, "poor"))


def grade(score: float) -> str:
    """Return Anderson's term for a score."""
    return next(word for least, word in GRADES if score >= least)


def similarity(p1: np.ndarray | float, p2: np.ndarray | float) -> np.ndarray:
    """Return the similarity S of positive numbers, ten if both are zero, zero if one is."""
    a, b = np.broadcast_arrays(np.asarray(p1, float), np.asarray(p2, float))
    least = np.minimum(a, b)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found = 10.0 * np.exp(-(((a - b) / least) ** 2))
    return np.where(a == b, 10.0, np.where(least > 0, found, 0.0))


def criteria(velocity: np.ndarray, reference: np.ndarray, step: float, low: float, high: float) -> np.ndarray:
    """Return the criteria C1 to C10 (10,) of two records (n,) [m/s] that have been filtered to a band [Hz]."""
    v = np.array([velocity, reference], float)
    a, u = as_quantity(v, step, "velocity", "acceleration"), as_quantity(v, step, "velocity", "displacement")
    growth = [integrated(x**2, step) for x in (a, v)]
    found = [10.0 * (1.0 - float(np.abs(_share(g[0]) - _share(g[1])).max())) for g in growth]
    found += [float(similarity(g[0, -1], g[1, -1])) for g in growth]
    found += [float(similarity(*np.abs(x).max(1))) for x in (a, v, u)]
    found.append(_spectra(a, step, low, high))
    size = 1 << (2 * v.shape[1] - 1).bit_length()
    frequency = np.fft.rfftfreq(size, step)
    inside = (frequency >= low) & (frequency <= high)
    found.append(float(similarity(*np.abs(np.fft.rfft(a, size))[:, inside]).mean()) if inside.any() else np.nan)
    power = np.sqrt((a[0] @ a[0]) * (a[1] @ a[1]))
    found.append(10.0 * max(float(a[0] @ a[1]) / power, 0.0) if power > 0 else 10.0 * float((a == 0).all()))
    return np.array(found)


def _share(growth: np.ndarray) -> np.ndarray:
    return growth / growth[-1] if growth[-1] > 0 else growth


def _spectra(acceleration: np.ndarray, step: float, low: float, high: float) -> float:
    periods = [p for p in PERIODS if 1.0 / high <= p <= 1.0 / low and p >= 10 * step] or [1.0 / np.sqrt(low * high)]
    peaks = [np.abs(response(padded(acceleration, step, p), step, p)).max(1) for p in periods]
    return float(np.mean([similarity(*p) for p in peaks]))


def bands(step: float, length: float, low: float | None, high: float | None) -> list[tuple[float, float]]:
    """Return the bands [Hz] that sampling interval [s], record length [s] and corner frequencies allow.

    The first is the whole allowed band, followed by the members of ``BANDS`` within it.
    """
    bottom = max(low or 0.0, CYCLES / length)
    top = min(high or np.inf, 0.4 / step)
    if bottom >= top:
        return []
    inside = [(a, b) for a, b in BANDS if a >= bottom * (1 - 1e-9) and b <= top * (1 + 1e-9)]
    return [(bottom, top), *(band for band in inside if band != (bottom, top))]


def anderson(
    velocity: np.ndarray, reference: np.ndarray, step: float, low: float | None = None, high: float | None = None
) -> tuple[float, Sequence[tuple[float, float]], np.ndarray]:
    """Return the score of a record (n,) [m/s] against a reference (n,), from 0 to 10, the bands [Hz], and C1 to C10 of each (b, 10)."""
    chosen = bands(step, step * (len(reference) - 1), low, high)
    rows = [criteria(filtered(velocity, step, *band), filtered(reference, step, *band), step, *band) for band in chosen]
    table = np.array(rows).reshape(-1, len(CRITERIA))
    return (float(np.nanmean(table)) if len(table) else np.nan), chosen, table


__all__ = ["BANDS", "CRITERIA", "anderson", "bands", "criteria", "grade", "similarity"]
