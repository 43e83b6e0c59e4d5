"""Properties of a finished rupture: rupture speed from rupture times, and the spectrum of the moment rate. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

INNER = np.array([[1.0, 1.0], [4.0, 1.0], [1.0, 4.0]]) / 6.0
"""Points (3, 2) in reference coordinates of a triangle that represent linear functions."""
_CURVED = 1e-3
"""Regularisation weight of the curvature of a front, for fits with few faces."""
_ROWS = 200_000
"""Number of face pairs that are processed at once."""


def rupture_speed(corners: np.ndarray, times: np.ndarray, tags: np.ndarray) -> np.ndarray:
    """Return the rupture speed (n,) [m/s] on triangles.

    The speed is 1/|grad t| of the quadratic function that best fits the rupture times of the triangle and of those that share a vertex
    with it. The fit over several faces is accurate at low orders too, where the times of a single face hardly determine a gradient. The
    result is NaN if the triangle or all but one of its neighbours have not ruptured, or if all rupture at once.

    Parameters
    ----------
    corners : ndarray of shape (n, 3, 3)
        Corners of the triangles [m].
    times : ndarray of shape (n, 3)
        Rupture times at the points INNER of each triangle [s], NaN if not ruptured.
    tags : ndarray of shape (n,)
        Fault tags; faults are fitted separately.
    """
    count = len(corners)
    ruptured = np.isfinite(times).all(1)
    first, second = _neighbours(corners, ruptured, tags)
    centre = corners.mean(1)
    edge = corners[:, 1:] - corners[:, :1]
    normal = np.cross(edge[:, 0], edge[:, 1])
    scale = np.sqrt(np.linalg.norm(normal, axis=1))
    along = edge[:, 0] / np.linalg.norm(edge[:, 0], axis=1, keepdims=True)
    across = np.cross(normal / np.linalg.norm(normal, axis=1, keepdims=True), along)
    inner = corners[:, :1] + INNER[None, :, :1] * edge[:, :1] + INNER[None, :, 1:] * edge[:, 1:]
    matrix, right = np.zeros((count, 6, 6)), np.zeros((count, 6))
    for begin in range(0, len(first), _ROWS):
        i, j = first[begin : begin + _ROWS], second[begin : begin + _ROWS]
        offset = (inner[j] - centre[i, None]) / scale[i, None, None]
        u, v = np.einsum("kpx,kx->kp", offset, along[i]), np.einsum("kpx,kx->kp", offset, across[i])
        basis = np.stack([np.ones_like(u), u, v, u * u, u * v, v * v], -1)
        weight = np.exp(-(u * u + v * v) / 2.0)[..., None] * basis
        np.add.at(matrix, i, np.einsum("kpa,kpb->kab", weight, basis))
        np.add.at(right, i, np.einsum("kpa,kp->ka", weight, times[j] - times[i].mean(1, keepdims=True)))
    matrix[:, [3, 4, 5], [3, 4, 5]] += _CURVED * matrix[:, :1, 0]
    alone = np.bincount(first, minlength=count) < 3
    matrix[alone] = np.eye(6)
    slope = np.linalg.norm(np.linalg.solve(matrix, right[..., None])[:, 1:3, 0], axis=1) / scale
    # if all faces rupture at once, times differ by rounding only
    known = ~alone & (slope * scale > 1e-6 * np.nanmax(np.where(ruptured[:, None], times, 0.0), initial=0.0))
    return np.where(known, 1.0 / np.where(known, slope, 1.0), np.nan)


def _neighbours(corners: np.ndarray, ruptured: np.ndarray, tags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs (k,), (k,) of ruptured triangles of one fault that share a vertex, including each with itself."""
    points = corners.reshape(-1, 3)
    grain = 1e-6 * max(float(np.ptp(points, axis=0).max(initial=0.0)), 1e-300) if len(points) else 1.0
    _, vertex = np.unique(np.round(points / grain), axis=0, return_inverse=True)
    chosen = np.flatnonzero(ruptured)
    columns = vertex.reshape(-1, 3)[chosen].reshape(-1)
    shape = (len(corners), int(columns.max(initial=-1)) + 1)
    from scipy.sparse import coo_array  # slow import, as the other scipy imports in functions here

    touches = coo_array((np.ones(len(columns)), (np.repeat(chosen, 3), columns)), shape=shape).tocsr()
    first, second = (touches @ touches.T).tocoo().coords
    same = tags[first] == tags[second]
    order = np.lexsort((second[same], first[same]))
    return first[same][order].astype(np.int64), second[same][order].astype(np.int64)


@dataclass(frozen=True)
class MomentSpectrum:
    """Amplitude spectrum of the moment rate with the best-fitting Brune spectrum.

    The Brune spectrum M0 / (1 + (f/fc)^2) is fitted to the logarithms, weighted with the amplitudes, so that plateau and corner determine
    the fit.

    Attributes
    ----------
    frequency : ndarray of shape (n,)
        Frequencies [Hz].
    amplitude : ndarray of shape (n,)
        Amplitudes [N m].
    moment : float
        Seismic moment M0 [N m].
    corner : float
        Corner frequency fc [Hz].
    misfit : float
        Weighted root mean square difference of the decimal logarithms.
    """

    frequency: np.ndarray
    amplitude: np.ndarray
    moment: float
    corner: float
    misfit: float

    @property
    def brune(self) -> np.ndarray:
        """Fitted Brune spectrum (n,) [N m] (Brune 1970)."""
        return brune_spectrum(self.frequency, self.moment, self.corner)


def brune_spectrum(frequency: np.ndarray, moment: float, corner: float) -> np.ndarray:
    """Return the Brune spectrum M0 / (1 + (f/fc)^2) at ``frequency`` (n,) [Hz]."""
    return np.asarray(moment / (1.0 + (frequency / corner) ** 2))


def moment_rate(time: np.ndarray, moment: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the middle of each interval [s] and the mean moment rate in it [N m/s], which integrates to the moment exactly."""
    steps = np.diff(time)
    return 0.5 * (time[1:] + time[:-1]), np.diff(moment) / steps


def moment_spectrum(time: np.ndarray, moment: np.ndarray, points: int = 100) -> MomentSpectrum | None:
    """Return the spectrum of the moment rate, from the moment (nt,) [N m] released until ``time`` (nt,) [s].

    It is computed at ``points`` logarithmically spaced frequencies, from a quarter of the inverse record length to a quarter of the
    sampling rate. The result is None if no moment was released or there are fewer than eight samples. The moment is the final one of the
    record: if the rupture has not ended, the spectrum describes a part of it.
    """
    total = float(moment[-1] - moment[0]) if len(moment) else 0.0
    if len(time) < 8 or not total > 0:
        return None
    length = float(time[-1] - time[0])
    step = float(np.median(np.diff(time)))
    middle, rate = moment_rate(time, moment)
    frequency = np.geomspace(0.25 / length, max(0.25 / step, 2.0 / length), points)
    phase = np.exp(-2j * np.pi * frequency[:, None] * middle[None])
    amplitude = np.abs(phase @ (rate * np.diff(time))) / np.sinc(
        frequency * step
    )  # corrects for the averaging over intervals
    logarithm = np.log10(np.maximum(amplitude, 1e-12 * total))

    weight = amplitude / amplitude.sum()

    def misfit(log_corner: float) -> float:
        return float(weight @ (np.log10(brune_spectrum(frequency, total, 10.0**log_corner)) - logarithm) ** 2)

    bounds = (float(np.log10(frequency[0])) - 1.0, float(np.log10(frequency[-1])))
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(misfit, bounds=bounds, method="bounded", options={"xatol": 1e-6})
    return MomentSpectrum(frequency, amplitude, total, float(10.0**found.x), float(np.sqrt(found.fun)))


def released_within(time: np.ndarray, moment: np.ndarray, low: float = 0.05, high: float = 0.95) -> float:
    """Return the time [s] in which the fraction ``low`` to ``high`` of the moment is released, NaN if none is."""
    total = moment[-1] - moment[0]
    if not total > 0:
        return float("nan")
    share = np.maximum.accumulate((moment - moment[0]) / total)
    return float(np.interp(high, share, time) - np.interp(low, share, time))


__all__ = [
    "INNER", "MomentSpectrum", "brune_spectrum", "moment_rate", "moment_spectrum", "released_within", "rupture_speed",
]  # fmt: skip
