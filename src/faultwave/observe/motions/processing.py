"""Processing that makes records comparable: common quantity, components, times and frequency band."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultwave.observe.motions.measures import derived, summed

QUANTITIES = ("displacement", "velocity", "acceleration")
"""Quantities of motion, each the derivative of the preceding one."""
CORNERS = 4


@dataclass(frozen=True)
class Processing:
    """Processing applied to both of two records.

    Attributes
    ----------
    quantity : str
        One of ``QUANTITIES``.
    low, high : float, optional
        Corners of a Butterworth filter of order four, run forwards and backwards [Hz]; None for no corner.
    until : float, optional
        End of the comparison [s].
    """

    quantity: str = "velocity"
    low: float | None = None
    high: float | None = None
    until: float | None = None

    def describe(self) -> str:
        """Return a description in words."""
        band = {
            (False, False): "all frequencies", (True, False): f"above {self.low or 0:g} Hz", (False, True): f"below {self.high or 0:g} Hz",
            (True, True): f"{self.low or 0:g} to {self.high or 0:g} Hz",
        }[self.low is not None, self.high is not None]  # fmt: skip
        return f"{self.quantity}, {band}"


def as_quantity(values: np.ndarray, step: float, given: str, wanted: str) -> np.ndarray:
    """Differentiate or integrate values (..., n) from one of ``QUANTITIES`` to another."""
    found = np.asarray(values, float)
    steps = QUANTITIES.index(wanted) - QUANTITIES.index(given)
    for _ in range(abs(steps)):
        found = derived(found, step) if steps > 0 else summed(found, step)
    return found


def filtered(values: np.ndarray, step: float, low: float | None, high: float | None) -> np.ndarray:
    """Filter values (..., n) to a band; a corner at or above the Nyquist frequency has no effect."""
    from scipy.signal import butter, sosfiltfilt

    nyquist = 0.5 / step
    corners = [c for c in (low, high) if c is not None and c < nyquist]
    if not corners:
        return np.asarray(values, float)
    kind = "bandpass" if len(corners) == 2 else "highpass" if corners[0] == low else "lowpass"
    order, edges = (CORNERS // 2, np.array(corners)) if len(corners) == 2 else (CORNERS, corners[0])
    sections = butter(order, edges / nyquist, kind, output="sos")
    pad = min(values.shape[-1] - 1, int(2.0 / (step * min(corners))))
    return np.asarray(sosfiltfilt(sections, values, axis=-1, padlen=pad))


def resampled(time: np.ndarray, values: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Resample values (..., n) by a cubic spline, with anti-alias filter; zero outside the record."""
    from scipy.interpolate import CubicSpline

    step, wanted = float(time[1] - time[0]), float(at[1] - at[0])
    if wanted > 1.001 * step:
        values = filtered(values, step, None, 0.4 / wanted)
    inside = (at >= time[0] - 1e-9) & (at <= time[-1] + 1e-9)
    found = np.zeros((*values.shape[:-1], len(at)))
    found[..., inside] = CubicSpline(time, values, axis=-1)(np.clip(at[inside], time[0], time[-1]))
    return found


def to_axes(components: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Return motion (3, n) east, north and up from components (k, n), k = 2 or 3, along directions (k, 3).

    Two components are horizontal, and up is then zero. Raises ValueError if the directions are linearly dependent.
    """
    if len(components) == 2:
        flat = directions[:, :2]
        if abs(np.linalg.det(flat)) < 0.1:
            raise ValueError("the two components are not orthogonal")
        return np.vstack([np.linalg.solve(flat, components), np.zeros((1, components.shape[1]))])
    if abs(np.linalg.det(directions)) < 0.1:
        raise ValueError("the components are in one plane")
    return np.asarray(np.linalg.solve(directions, components))


def direction(azimuth: float, dip: float) -> np.ndarray:
    """Return the unit vector (3,) east, north, up of a component with azimuth [deg from north] and dip [deg, down positive]."""
    a, d = np.radians([azimuth, dip])
    return np.array([np.sin(a) * np.cos(d), np.cos(a) * np.cos(d), -np.sin(d)])


def along_axes(motion: np.ndarray, turned: float) -> np.ndarray:
    """Return motion (3, n) along x, y, z from east, north and up; ``turned`` is the azimuth of y [deg clockwise from north]."""
    a = np.radians(turned)
    return np.array(
        [np.cos(a) * motion[0] - np.sin(a) * motion[1], np.sin(a) * motion[0] + np.cos(a) * motion[1], motion[2]]
    )


__all__ = [
    "QUANTITIES", "Processing", "along_axes", "as_quantity", "direction", "filtered", "resampled", "to_axes",
]  # fmt: skip
