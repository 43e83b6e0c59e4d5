"""Intensity measures of horizontal ground motion at a station.

Measures are computed for the motion rotated to 180 directions; RotD50 and RotD100 are their median and maximum (Boore 2010). Spectral
accelerations are pseudo-spectral, of oscillators advanced exactly for acceleration that is linear between samples (Nigam & Jennings 1969).
Arias intensity: Arias (1970). Cumulative absolute velocity: the integral of |acceleration| (Reed & Kassawara 1990). The Fourier
amplitude spectrum is the effective one of both components (Goulet et al. 2018), smoothed after Konno & Ohmachi (1998).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy import interpolate

GRAVITY = 9.80665
DIRECTIONS = 180
PERIODS = (0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.5, 10.0)
DAMPING = 0.05
FINE = 40
"""Minimum number of samples per period of an oscillator, which gives its peak within 0.5 %."""
LONGEST_SWING = 10.0
"""Maximum number of periods computed after the end of a record, for nearly critical damping."""
SMOOTHING = 188.5
"""Bandwidth b of the Konno-Ohmachi window, about a twentieth of a decade."""


def oscillator(period: float, damping: float, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrices A (2, 2) and B (2, 2) that advance a damped oscillator by one step.

    They satisfy (x, x')(t + dt) = A (x, x')(t) + B (a(t), a(t + dt)) for x'' + 2 d w x' + w^2 x = -a, with a linear in the step.
    """
    w = 2 * np.pi / period
    system = np.zeros((4, 4))
    system[0, 1], system[1, 0], system[1, 1] = 1.0, -w * w, -2 * damping * w
    system[1, 2], system[2, 3] = -1.0, 1.0 / step  # a and its slope
    from scipy.linalg import expm

    e = expm(system * step)
    return e[:2, :2], np.stack([e[:2, 2] - e[:2, 3], e[:2, 3]], 1)


def response(acceleration: np.ndarray, step: float, period: float, damping: float = DAMPING) -> np.ndarray:
    """Return the displacement (..., n) [m] of an oscillator under ground acceleration (..., n) [m/s^2], initially at rest."""
    from scipy.signal import lfilter

    a, b = oscillator(period, damping, step)
    # the displacement alone as a filter of the acceleration: the velocity is eliminated from the recursion of both
    numerator = [b[0, 1], b[0, 0] + a[0, 1] * b[1, 1] - a[1, 1] * b[0, 1], a[0, 1] * b[1, 0] - a[1, 1] * b[0, 0]]
    denominator = [1.0, -np.trace(a), np.linalg.det(a)]
    first = np.asarray(acceleration[..., :1], float)
    rest = np.concatenate(
        [-numerator[0] * first, (b[0, 0] - numerator[1]) * first], axis=-1
    )  # no motion at the first sample
    return np.asarray(lfilter(numerator, denominator, acceleration, axis=-1, zi=rest)[0])


def padded(acceleration: np.ndarray, step: float, period: float, damping: float = DAMPING) -> np.ndarray:
    """Return the acceleration (..., n) followed by zeros for half a period of a damped oscillator."""
    after = int(np.ceil(min(half_swing(period, damping), LONGEST_SWING * period) / step)) + 1
    return np.pad(acceleration, [(0, 0)] * (np.ndim(acceleration) - 1) + [(0, after)])


def half_swing(period: float, damping: float) -> float:
    """Return half the damped period [s], within which a free oscillator reaches its largest displacement."""
    return 0.5 * period / float(np.sqrt(1.0 - damping * damping))


def left_alone(x: np.ndarray, v: np.ndarray, period: float, damping: float = DAMPING) -> np.ndarray:
    """Return the largest future displacement of oscillators on ground that has come to rest.

    Parameters
    ----------
    x, v : ndarray
        Present displacements [m] and velocities [m/s], of the same shape.
    period : float
        Natural period [s].
    damping : float
        Fraction of critical damping.

    Returns
    -------
    ndarray
        Displacement [m], at least abs(x): x itself, or the first extremum of the damped free oscillation.
    """
    w = 2 * np.pi / period
    slower = w * np.sqrt(1.0 - damping * damping)
    turn = np.arctan2(v * slower, w * w * x + damping * w * v) % np.pi / slower
    amplitude = x * np.cos(slower * turn) + (v + damping * w * x) / slower * np.sin(slower * turn)
    return np.asarray(np.maximum(np.abs(x), np.abs(amplitude) * np.exp(-damping * w * turn)))


def turned(east: np.ndarray, north: np.ndarray, directions: int = DIRECTIONS) -> np.ndarray:
    """Return the motion (directions, n) along directions distributed over 180 degrees."""
    angle = np.pi * np.arange(directions) / directions
    return np.asarray(np.cos(angle)[:, None] * east + np.sin(angle)[:, None] * north)


@dataclass(frozen=True)
class Measures:
    """Intensity measures of one station in SI units.

    Attributes
    ----------
    values : dict of str to ndarray of shape (180,)
        Measures in each direction.
    frequency : ndarray of shape (k,)
        Frequencies of the spectrum [Hz].
    fourier : ndarray of shape (k,)
        Effective amplitude spectrum of the acceleration [m/s].
    vertical : dict of str to float
        Peaks of the vertical motion, if given.
    """

    values: dict[str, np.ndarray]
    frequency: np.ndarray
    fourier: np.ndarray
    vertical: dict[str, float]

    def rotd(self, percentile: float) -> dict[str, float]:
        """Return the percentile over directions of every measure: 50 for RotD50, 100 for RotD100."""
        return {name: float(np.percentile(values, percentile)) for name, values in self.values.items()}


UNITS = {
    "PGA": "m/s^2", "PGV": "m/s", "PGD": "m", "CAV": "m/s", "Arias": "m/s", "D5-75": "s", "D5-95": "s", "SA": "m/s^2", "FAS": "m/s",
}  # fmt: skip


def spectral(period: float) -> str:
    """Return OpenQuake's name of a spectral acceleration, such as SA(1.0)."""
    return f"SA({np.format_float_positional(period, trim='0')})"


def measures(
    step: float,
    east: np.ndarray,
    north: np.ndarray,
    up: np.ndarray | None = None,
    periods: Sequence[float] = PERIODS,
    damping: float = DAMPING,
) -> Measures:
    """Return the intensity measures of a station.

    Parameters
    ----------
    step : float
        Sampling interval [s].
    east, north, up : ndarray of shape (n,)
        Velocities [m/s].
    periods : sequence of float
        Periods of the spectral accelerations [s]; measures of periods below ten samples are NaN.
    damping : float
        Fraction of critical damping.
    """
    both = np.array([east, north], float)
    motion = {"PGV": both, "PGA": derived(both, step), "PGD": summed(both, step)}
    way = {name: turned(*values) for name, values in motion.items()}
    found = {name: np.abs(way[name]).max(1) for name in ("PGA", "PGV", "PGD")}
    growth = np.pi / (2 * GRAVITY) * integrated(way["PGA"] ** 2, step)
    found["Arias"] = growth[:, -1]
    found["CAV"] = integrated(np.abs(way["PGA"]), step)[:, -1]
    for name, share in (("D5-75", 0.75), ("D5-95", 0.95)):
        found[name] = lasting(growth, step, 0.05, share)
    for period in periods:
        known = period >= 10 * step
        found[spectral(period)] = _peak(both, step, period, damping) if known else np.full(DIRECTIONS, np.nan)
    vertical = {}
    if up is not None:
        z = np.asarray(up, float)
        sizes = {"PGA": derived(z, step), "PGV": z, "PGD": summed(z, step)}
        vertical = {name: float(np.abs(values).max()) for name, values in sizes.items()}
    frequency, spectrum = fourier(motion["PGA"], step)
    return Measures(found, frequency, spectrum, vertical)


def _peak(velocity: np.ndarray, step: float, period: float, damping: float) -> np.ndarray:
    """Return the pseudo-spectral acceleration (180,) of ground with velocity (2, n).

    The acceleration is zero after the record, as in the processing of strong-motion records: an oscillator whose period is not much
    shorter than the record reaches its largest displacement after the end of the record.
    """
    times = max(1, int(np.ceil(FINE * step / period)))  # avoids missing peaks between samples
    finer = step / times
    moved = response(padded(derived(velocity, step, times), finer, period, damping), finer, period, damping)
    return np.asarray((2 * np.pi / period) ** 2 * np.abs(turned(*moved)).max(1))


def integrated(values: np.ndarray, step: float) -> np.ndarray:
    """Return the trapezoidal integral (..., n) from the first sample; it never decreases for non-negative samples."""
    from scipy.integrate import cumulative_trapezoid

    return np.asarray(cumulative_trapezoid(values, dx=step, axis=-1, initial=0.0))


def derived(values: np.ndarray, step: float, times: int = 1) -> np.ndarray:
    """Return the derivative of samples (..., n) from their cubic spline, at ``times`` as many points.

    It is 0.1 % low for ten samples per period, where differences of adjacent samples are 6 % low.
    """
    return np.asarray(_spline(values, step)(step / times * np.arange(times * (values.shape[-1] - 1) + 1), 1))


def summed(values: np.ndarray, step: float) -> np.ndarray:
    """Return the integral of samples (..., n) of both signs, from their cubic spline: the inverse of ``derived``."""
    return np.asarray(_spline(values, step).antiderivative()(step * np.arange(values.shape[-1])))


def _spline(values: np.ndarray, step: float) -> interpolate.CubicSpline:
    from scipy.interpolate import CubicSpline

    return CubicSpline(step * np.arange(values.shape[-1]), values, axis=-1)


def lasting(growth: np.ndarray, step: float, low: float, high: float) -> np.ndarray:
    """Return the time (d,) [s] between two fractions of the final value of growth curves (d, n), 0 if nothing moved."""
    final = growth[:, -1:]
    share = growth / np.where(final > 0, final, 1.0)
    time = step * np.arange(growth.shape[1])
    ends = [
        np.interp([low, high], row, time) if top > 0 else (0.0, 0.0)
        for row, top in zip(share, final[:, 0], strict=True)
    ]
    return np.array([b - a for a, b in ends])


def fourier(acceleration: np.ndarray, step: float, count: int = 80) -> tuple[np.ndarray, np.ndarray]:
    """Return frequencies [Hz] and the smoothed effective amplitude spectrum [m/s] of both components of an acceleration.

    Parameters
    ----------
    acceleration : ndarray of shape (2, n)
        Horizontal acceleration [m/s^2].
    step : float
        Sampling interval [s].
    count : int
        Number of logarithmically spaced frequencies, from the inverse record length to a quarter of the sampling rate.
    """
    n = acceleration.shape[1]
    size = 1 << (2 * n - 1).bit_length()
    amplitude = np.sqrt((np.abs(step * np.fft.rfft(acceleration, size)) ** 2).mean(0))
    raw = np.fft.rfftfreq(size, step)
    wanted = np.geomspace(1.0 / (n * step), 0.25 / step, count)
    return wanted, smoothed(raw[1:], amplitude[1:], wanted)


def smoothed(frequency: np.ndarray, amplitude: np.ndarray, at: np.ndarray, bandwidth: float = SMOOTHING) -> np.ndarray:
    """Return the Konno-Ohmachi means of an amplitude spectrum around frequencies ``at`` [Hz].

    The weights are (sin z / z)^4 with z = b log10(f / f0), truncated at abs(z) = 3 pi.
    """
    found = np.empty(len(at))
    for k, centre in enumerate(at):
        z = bandwidth * np.log10(frequency / centre)
        weight = np.where(np.abs(z) < 3 * np.pi, np.sinc(z / np.pi) ** 4, 0.0)
        total = weight.sum()
        found[k] = (weight @ amplitude) / total if total > 1e-6 else np.interp(centre, frequency, amplitude)
    return found


__all__ = [
    "DAMPING", "GRAVITY", "PERIODS", "UNITS", "Measures", "derived", "fourier", "half_swing", "integrated", "lasting", "left_alone",
    "measures", "oscillator", "padded", "response", "smoothed", "spectral", "summed", "turned",
]  # fmt: skip
