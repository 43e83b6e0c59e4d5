"""Integrals over surfaces at sample times: energy flux, projections on modes, and the far field of a closed surface."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.engine.receivers import PendingSample, ReceiverRecorder

Reduce = Callable[[np.ndarray, np.ndarray], np.ndarray]


class SurfaceRecorder(ReceiverRecorder):
    """Recorder of sums over faces of ``reduce(items (n,), values (n, points, Q)) -> (columns,)``, sampled like receivers.

    A face is a receiver with one functional per quadrature point; only the sums are stored.
    """

    def __init__(
        self,
        interval: float,
        clusters: Sequence[np.ndarray],
        points: np.ndarray,
        take: Callable[[int, float], PendingSample],
        reduce: Reduce,
    ):
        super().__init__(interval, clusters, points, take)
        self.reduce = reduce

    def _store(self, number: int, items: np.ndarray, values: np.ndarray) -> None:
        part = self.reduce(items, values)
        self.samples[number] = self.samples[number] + part if number in self.samples else part

    def restore(self, values: np.ndarray) -> None:
        """Continue after the samples of ``values`` (nt, columns), which are stored elsewhere."""
        self.coming.clear()
        self.samples = dict(enumerate(np.zeros_like(values)))
        self.next = [len(values)] * len(self.clusters)

    def sums(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the times (nt,) [s] and sums (nt, columns) to which every face has contributed."""
        self.complete()
        active = [n for n, items in zip(self.next, self.clusters, strict=True) if len(items)]
        count = min(active, default=0)
        values = np.stack([self.samples[i] for i in range(count)]) if count else np.zeros((0, 0))
        return np.arange(count) * self.interval, values


class FourierRecorder(ReceiverRecorder):
    """Recorder of Fourier sums of the samples on a surface, values exp(-2 pi i f t) interval: (faces, points, nf, Q).

    ``strength`` (faces, 2) holds the largest sum of squares (E^2 + Z^2 H^2) over a face's points, and its recent envelope, which decays by
    e^2 in a period of the lowest frequency.
    """

    def __init__(
        self, interval: float, clusters: Sequence[np.ndarray], points: np.ndarray, take: Callable[[int, float], PendingSample],
        frequencies: np.ndarray, quantities: int, impedance: float = 1.0,
    ):  # fmt: skip
        super().__init__(interval, clusters, points, take)
        self.frequencies = frequencies
        self.sums = np.zeros((*points.shape[:2], len(frequencies), quantities), complex)
        self.strength, self.fading = np.zeros((len(points), 2)), np.exp(-2 * interval * frequencies.min())
        self.scale = np.repeat([1.0, impedance], 3)[:quantities]

    @property
    def spectra(self) -> np.ndarray:
        """Fourier sums of all samples taken so far."""
        self.complete()
        return self.sums

    @spectra.setter
    def spectra(self, values: np.ndarray) -> None:
        self.coming.clear()
        self.sums = values

    def _store(self, number: int, items: np.ndarray, values: np.ndarray) -> None:
        turn = self.interval * np.exp(-2j * np.pi * self.frequencies * number * self.interval)
        field = values[..., : self.sums.shape[3]]
        self.sums[items] += turn[None, None, :, None] * field[:, :, None]
        now = ((field * self.scale) ** 2).sum((1, 2))
        largest, lately = self.strength[items].T
        self.strength[items] = np.stack([np.maximum(largest, now), np.maximum(self.fading * lately, now)], 1)


def directions(theta: np.ndarray, phi: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return unit vectors (n, 3) along r, theta and phi, at angles [rad] from the z axis and around it."""
    s, c, sp, cp = np.sin(theta), np.cos(theta), np.sin(phi), np.cos(phi)
    r, t = np.stack([s * cp, s * sp, c], -1), np.stack([c * cp, c * sp, -s], -1)
    return r, t, np.stack([-sp, cp, np.zeros_like(sp)], -1)


@dataclass(frozen=True)
class ClosedSurface:
    """Quadrature points of a surface around a scatterer.

    Attributes
    ----------
    positions : ndarray of shape (faces, points, 3)
        Positions [m].
    normals : ndarray of shape (faces, 3)
        Outward unit normals.
    weights : ndarray of shape (faces, points)
        Weights of the surface integral [m^2].
    """

    positions: np.ndarray
    normals: np.ndarray
    weights: np.ndarray


def cross_section(
    spectra: np.ndarray, surface: ClosedSurface, wavenumbers: np.ndarray, impedance: float, incident: np.ndarray,
    theta: np.ndarray, phi: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Return the radar cross section (nf, n) [m^2], lim 4 pi r^2 |E_s|^2/|E_i|^2.

    Parameters
    ----------
    spectra : ndarray of shape (faces, points, nf, 6)
        Spectra of the scattered E and H.
    surface : ClosedSurface
        Surface of the spectra.
    wavenumbers : ndarray of shape (nf,)
        Wavenumbers [1/m].
    impedance : float
        Wave impedance of the background [ohm].
    incident : ndarray of shape (nf,)
        Spectrum of |E_i|.
    theta, phi : ndarray of shape (n,)
        Directions [rad].
    """
    r, t, p = directions(theta, phi)
    n = surface.normals[:, None, None, :]
    electric, magnetic = np.cross(n, spectra[..., 3:6]), -np.cross(n, spectra[..., :3])  # surface currents J and M
    result = np.empty((len(wavenumbers), len(theta)))
    for i, k in enumerate(wavenumbers):
        turn = np.exp(1j * k * np.einsum("fpx,nx->nfp", surface.positions, r)) * surface.weights
        big_n = np.einsum("nfp,fpx->nx", turn, electric[:, :, i])
        big_l = np.einsum("nfp,fpx->nx", turn, magnetic[:, :, i])
        along_theta = (big_l * p).sum(1) + impedance * (big_n * t).sum(1)
        along_phi = (big_l * t).sum(1) - impedance * (big_n * p).sum(1)
        result[i] = k**2 / (4 * np.pi * abs(incident[i]) ** 2) * (np.abs(along_theta) ** 2 + np.abs(along_phi) ** 2)
    return result
