"""Covariance of noise: a Toeplitz matrix for each channel, and a full one for static offsets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

WHITE = 1e-3
"""Variance of white noise of each channel, as a fraction of its noise, without which its covariance has no inverse in a narrow band."""


def autocovariance(motion: np.ndarray, count: int) -> np.ndarray:
    """Return the autocovariance (count,) of a series (n,) of zero mean at lags from zero.

    Division by n at every lag makes its Toeplitz matrix non-negative; lags beyond the series are zero.
    """
    from scipy import fft

    length = int(fft.next_fast_len(2 * len(motion), real=True))
    power = np.abs(fft.rfft(motion, length)) ** 2
    found = fft.irfft(power, length)[: min(count, len(motion))] / len(motion)
    return np.pad(found, (0, count - len(found)))


@dataclass(frozen=True)
class Noise:
    """Covariance of noise, block by block.

    Attributes
    ----------
    columns : ndarray (channels, samples)
        First column of the covariance of each channel [m^2/s^2].
    static : ndarray (rows, rows)
        Covariance of static offsets [m^2].
    scale : float
        Factor of all standard deviations.
    """

    columns: np.ndarray
    static: np.ndarray
    scale: float = 1.0

    @property
    def size(self) -> int:
        """Number of data."""
        return self.columns.size + len(self.static)

    def with_scale(self, scale: float) -> Noise:
        """Return the noise with another factor of all standard deviations."""
        return replace(self, scale=scale)

    @cached_property
    def _factors(self) -> np.ndarray:
        """Cholesky factors (channels, samples, samples) for a scale of 1."""
        from scipy.linalg import toeplitz

        channels, samples = self.columns.shape
        return np.linalg.cholesky(np.array([toeplitz(c) for c in self.columns]).reshape(channels, samples, samples))

    @cached_property
    def _static_factor(self) -> np.ndarray:
        """Cholesky factor (rows, rows) of static offsets for a scale of 1."""
        return np.linalg.cholesky(self.static)

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviations (size,) of all data."""
        series = np.repeat(np.sqrt(self.columns[:, :1]), self.columns.shape[1], axis=1).ravel()
        return self.scale * np.concatenate([series, np.sqrt(np.diagonal(self.static))])

    def _split(self, data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return data[: self.columns.size].reshape(*self.columns.shape, data.shape[1]), data[self.columns.size :]

    def apply(self, data: np.ndarray) -> np.ndarray:
        """Return the product of the covariance with data (size, k)."""
        from scipy.linalg import matmul_toeplitz

        series, static = self._split(data)
        found = [matmul_toeplitz(c, x) for c, x in zip(self.columns, series, strict=True)]
        rows = np.concatenate([*found, self.static @ static])
        return np.asarray(self.scale**2 * rows)

    def whiten(self, data: np.ndarray) -> np.ndarray:
        """Return data (size, k) divided by the lower Cholesky factor, so that noise becomes white with unit variance."""
        from scipy.linalg import solve_triangular

        series, static = self._split(data)
        found = [solve_triangular(f, x, lower=True) for f, x in zip(self._factors, series, strict=True)]
        offsets = solve_triangular(self._static_factor, static, lower=True) if len(static) else static
        return np.concatenate([*found, offsets]) / self.scale

    def draw(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Return independent samples (size, count)."""
        series, static = self._split(rng.standard_normal((self.size, count)))
        return self.scale * np.concatenate([
            (self._factors @ series).reshape(self.columns.size, count), self._static_factor @ static
        ])  # fmt: skip

    def add_to(self, matrix: np.ndarray) -> None:
        """Add the covariance to a matrix (size, size) in place."""
        from scipy.linalg import toeplitz

        samples = self.columns.shape[1]
        for number, column in enumerate(self.columns):
            block = slice(number * samples, (number + 1) * samples)
            matrix[block, block] += self.scale**2 * toeplitz(column)
        matrix[self.columns.size :, self.columns.size :] += self.scale**2 * self.static

    def block(self, number: int) -> np.ndarray:
        """Return the covariance (samples, samples) of a channel."""
        from scipy.linalg import toeplitz

        return np.asarray(self.scale**2 * toeplitz(self.columns[number]))

    @cached_property
    def log_determinant(self) -> float:
        """Logarithm of the determinant."""
        series = np.diagonal(self._factors, axis1=1, axis2=2).ravel()
        diagonal = np.concatenate([series, np.diagonal(self._static_factor)])
        return float(2.0 * np.log(self.scale * diagonal).sum())
