"""Misfits of seismograms and their derivatives with respect to each sample.

A misfit of one's own is any object with the method ``evaluate`` of ``Misfit``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.observe.motions.time_frequency import COUNT, correlate_wavelets, wavelets

NUMBERS = "numbers, NaN where nothing was recorded"


class Misfit(Protocol):
    """Function of the seismograms of all receivers."""

    def evaluate(self, time: np.ndarray, velocity: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the misfit and its derivatives.

        Parameters
        ----------
        time : ndarray (nt,)
            Times at equal intervals [s].
        velocity : ndarray (n, 3, nt)
            Velocity of each receiver along x, y and z [m/s].

        Returns
        -------
        value : float
        derivatives : ndarray (n, 3, nt)
            Derivative of the value with respect to each sample.
        """


@dataclass(frozen=True)
class WaveformMisfit:
    """Half of the time integral of the squared, weighted difference of velocities.

    Attributes
    ----------
    data : ndarray (n, 3, nt)
        Recorded velocity [m/s]; NaN where nothing was recorded.
    weights : ndarray, broadcast to (n, 3, nt)
        Weights, such as inverse standard deviations [s/m].
    """

    data: np.ndarray
    weights: np.ndarray | float = 1.0

    def evaluate(self, time: np.ndarray, velocity: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the misfit and its derivatives (see ``Misfit``)."""
        data = _fitting(self.data, velocity)
        squared = _squared(self.weights, velocity.shape) * interval_of(time)
        residual = np.where(np.isnan(data), 0.0, velocity - data)
        return float(0.5 * (squared * residual**2).sum()), squared * residual


@dataclass(frozen=True)
class SpectralMisfit:
    """Half of the squared difference of Fourier amplitudes, integrated over a band of frequencies.

    Attributes
    ----------
    data : ndarray (n, 3, nt)
        Recorded velocity [m/s].
    low, high : float
        Limits of the band [Hz].
    """

    data: np.ndarray
    low: float
    high: float

    def evaluate(self, time: np.ndarray, velocity: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the misfit and its derivatives (see ``Misfit``)."""
        data = _fitting(self.data, velocity, complete=True)
        step, size = interval_of(time), 2 * len(time)
        frequency = np.fft.rfftfreq(size, step)
        band = (frequency >= self.low) & (frequency <= self.high)
        if not band.any():
            known = f"multiples of {frequency[1]:.4g} Hz to {frequency[-1]:.4g} Hz"
            what = f"contains none of the frequencies of the seismograms, {known}"
            raise InputError(Problem("low, high", what, "a band of several of them"))
        found, reference = (step * np.fft.rfft(v, size)[..., band] for v in (velocity, data))
        amplitude = np.abs(found)
        residual, width = amplitude - np.abs(reference), frequency[1]
        slope = np.zeros((*velocity.shape[:2], len(frequency)), complex)
        slope[..., band] = width * residual * np.divide(found, amplitude, out=np.zeros_like(found), where=amplitude > 0)
        # The sum over the frequencies of the band of Re(conj(slope) exp(-i w t)), as an inverse transform of a real series
        slope[..., 1 : len(frequency) - 1] *= 0.5
        derivative = step * size * np.fft.irfft(slope, size)[..., : len(time)]
        return float(0.5 * width * (residual**2).sum()), derivative


@dataclass(frozen=True)
class TimeFrequencyMisfit(ABC):
    """Half of the sum over wavelet coefficients of a squared residual, relative to the energy of the data (Kristekova et al. 2009).

    Components with data of zero do not count.

    Attributes
    ----------
    data : ndarray (n, 3, nt)
        Recorded velocity [m/s].
    low, high : float
        Limits of the band [Hz].
    """

    data: np.ndarray
    low: float
    high: float

    @abstractmethod
    def compare(self, found: np.ndarray, reference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the residual of each wavelet coefficient, and the complex slope G of half of its square.

        The differential of that half is Re(conj(G) d found).
        """

    def evaluate(self, time: np.ndarray, velocity: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the misfit and its derivatives (see ``Misfit``)."""
        data, step = _fitting(self.data, velocity, complete=True), interval_of(time)
        if not 0.0 < self.low < self.high <= 0.5 / step:
            allowed = f"0 < low < high <= {0.5 / step:.4g} Hz, half of the sampling rate"
            raise InputError(Problem("low, high", f"{self.low:g} Hz, {self.high:g} Hz", allowed))
        if not data.any():
            what = "is zero everywhere, and nothing can be compared with it"
            raise InputError(Problem("data", what, "records with motion"))
        frequency = np.geomspace(self.low, self.high, COUNT)
        value, slopes = 0.0, np.zeros(velocity.shape)
        for at in np.ndindex(velocity.shape[:2]):
            if not data[at].any():
                continue
            reference = wavelets(data[at], step, frequency)
            residual, slope = self.compare(wavelets(velocity[at], step, frequency), reference)
            norm = float((np.abs(reference) ** 2).sum())
            value += 0.5 * float((residual**2).sum()) / norm
            slopes[at] = correlate_wavelets(slope, step, frequency) / norm
        return value, slopes


class EnvelopeMisfit(TimeFrequencyMisfit):
    """Half of the squared difference of envelopes in time and frequency, relative to the data."""

    def compare(self, found: np.ndarray, reference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the residual and slope of each coefficient (see ``TimeFrequencyMisfit``)."""
        size = np.abs(found)
        residual = size - np.abs(reference)
        return residual, residual * np.divide(found, size, out=np.zeros_like(found), where=size > 0)


class PhaseMisfit(TimeFrequencyMisfit):
    """Half of the squared difference of phases in time and frequency, weighted by the envelope of the data.

    It is continuous where phases differ by less than half a period.
    """

    def compare(self, found: np.ndarray, reference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the residual and slope of each coefficient (see ``TimeFrequencyMisfit``)."""
        weight, square = np.abs(reference) / np.pi, np.abs(found) ** 2
        residual = weight * np.angle(found * np.conj(reference))
        turned = np.divide(1j * found, square, out=np.zeros_like(found), where=square > 0)
        return residual, residual * weight * turned


@dataclass(frozen=True)
class OffsetMisfit:
    """Half of the squared, weighted difference of permanent displacements, the time integrals of the seismograms.

    Attributes
    ----------
    data : ndarray (n, 3)
        Permanent displacement [m]; NaN where it is unknown.
    weights : ndarray, broadcast to (n, 3)
        Weights, such as inverse standard deviations [1/m].
    """

    data: np.ndarray
    weights: np.ndarray | float = 1.0

    def evaluate(self, time: np.ndarray, velocity: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the misfit and its derivatives (see ``Misfit``)."""
        data = np.asarray(self.data, float)
        if data.shape != velocity.shape[:2]:
            what = f"has the shape {data.shape}"
            raise InputError(Problem("data", what, f"{velocity.shape[:2]}, receivers and x, y, z"))
        if np.isnan(data).all():
            raise InputError(Problem("data", "contains no number", NUMBERS))
        shares = np.full(len(time), interval_of(time))
        shares[[0, -1]] *= 0.5
        residual = np.where(np.isnan(data), 0.0, velocity @ shares - data)
        squared = _squared(self.weights, data.shape)
        return float(0.5 * (squared * residual**2).sum()), (squared * residual)[..., None] * shares


def interval_of(time: np.ndarray) -> float:
    """Return the sampling interval [s] of times (nt,)."""
    return float(time[-1] - time[0]) / (len(time) - 1)


def _squared(weights: np.ndarray | float, shape: tuple[int, ...]) -> np.ndarray:
    """Return the squares of weights for data of a shape; raise InputError if they do not fit it."""
    found = np.asarray(weights, float)
    try:
        squares = np.square(np.broadcast_to(found, shape))
    except ValueError:
        problem = Problem(
            "weights", f"have the shape {found.shape}", f"a number, or an array that broadcasts to {shape}"
        )
        raise InputError(problem) from None
    if not np.isfinite(squares).all():
        raise InputError(Problem("weights", "are not finite", "finite numbers", "NaN in the data excludes samples."))
    return squares


def _fitting(data: np.ndarray, velocity: np.ndarray, complete: bool = False) -> np.ndarray:
    """Return data as an array; raise InputError if its shape differs from the seismograms', or if values are missing."""
    problems, found = Problems(), np.asarray(data, float)
    if found.shape != velocity.shape:
        allowed = f"{velocity.shape}, receivers, x y z, and samples of the seismograms"
        problems.error("data", f"has the shape {found.shape}", allowed)
    elif np.isinf(found).any() or (complete and np.isnan(found).any()):
        receiver = int(np.flatnonzero(~np.isfinite(found).all((1, 2)))[0])
        problems.error("data", f"has values of receiver {receiver + 1} that are not finite", "finite numbers")
    elif np.isnan(found).all():
        problems.error("data", "contains no number", NUMBERS)
    problems.raise_errors()
    return found
