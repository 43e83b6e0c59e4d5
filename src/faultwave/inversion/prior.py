"""Prior covariance of slip: von Karman correlation on each segment of a fault, applied without a matrix of the whole model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

NEGATIVE = 1e-9
"""Largest negative eigenvalue of a periodic extension, as a fraction of the largest one, that rounding errors explain."""
EXTENSIONS = (2, 3, 4, 6, 8, 12, 16, 24)
"""Sizes of periodic extensions that are tried, as multiples of the segment."""


def von_karman(distance: np.ndarray, hurst: float) -> np.ndarray:
    """Return von Karman's correlation at distances in units of the correlation length.

    It is Matern's correlation of smoothness ``hurst``: 2^(1 - H) / Gamma(H) r^H K_H(r) [1]_.

    References
    ----------
    .. [1] Mai & Beroza (2002), A spatial random field model to characterize complexity in earthquake slip, JGR 107, eq. 4.
    """
    from scipy.special import gamma, kv

    r = np.maximum(np.asarray(distance, float), 1e-10)
    found = 2.0 ** (1.0 - hurst) / gamma(hurst) * r**hurst * kv(hurst, r)
    return np.where(np.asarray(distance) < 1e-8, 1.0, np.nan_to_num(found))


@dataclass(frozen=True)
class Segment:
    """Subfaults of one segment.

    Attributes
    ----------
    rows : ndarray (n,)
        Numbers of its subfaults.
    along, down : ndarray (n,)
        Coordinates along strike and down dip [m].
    shape : tuple of int or None
        Number of subfaults down dip and along strike of a regular grid with the strike fastest, None if they form no grid.
    """

    rows: np.ndarray
    along: np.ndarray
    down: np.ndarray
    shape: tuple[int, int] | None

    @property
    def spacing(self) -> tuple[float, float]:
        """Distance of subfaults of a grid down dip and along strike [m]."""
        assert self.shape is not None
        grids = self.down.reshape(self.shape), self.along.reshape(self.shape)
        steps = [np.diff(grid, axis=axis) for axis, grid in enumerate(grids)]
        return tuple(float(abs(step.mean())) if step.size else 1.0 for step in steps)  # type: ignore[return-value]


@dataclass(frozen=True)
class Correlation:
    """Von Karman's correlation of the subfaults of a segment.

    Products on grids use the FFT of a periodic extension, which is exact. So do samples, except of correlations so long that no
    extension is a covariance: these use eigenvectors.

    Attributes
    ----------
    segment : Segment
        Subfaults.
    lengths : tuple of float
        Correlation lengths along strike and down dip [m].
    hurst : float
        Hurst exponent.
    """

    segment: Segment
    lengths: tuple[float, float]
    hurst: float

    @cached_property
    def _dense(self) -> np.ndarray:
        """Correlation (n, n) of the subfaults: a factor of the covariance of the model."""
        s, d = self.segment.along / self.lengths[0], self.segment.down / self.lengths[1]
        return von_karman(np.hypot(s[:, None] - s, d[:, None] - d), self.hurst)

    def _sizes(self, times: int) -> tuple[int, ...]:
        """Return the size of a periodic extension by a multiple of the grid."""
        from scipy import fft

        assert self.segment.shape is not None
        return tuple(int(fft.next_fast_len(times * n, real=True)) for n in self.segment.shape)

    def _spectrum(self, sizes: tuple[int, ...]) -> np.ndarray:
        """Return the spectrum of a periodic extension of the grid."""
        from scipy import fft

        scaled = [h / length for h, length in zip(self.segment.spacing, self.lengths[::-1], strict=True)]
        lags = [h * np.minimum(np.arange(n), n - np.arange(n)) for n, h in zip(sizes, scaled, strict=True)]
        return np.asarray(fft.rfft2(von_karman(np.hypot(lags[0][:, None], lags[1]), self.hurst)).real)

    @cached_property
    def _product(self) -> np.ndarray:
        return self._spectrum(self._sizes(2))

    @cached_property
    def _root(self) -> tuple[tuple[int, ...], np.ndarray] | None:
        """Size of a periodic extension that is a covariance, and the root of its spectrum; None if no extension is one."""
        for times in EXTENSIONS:
            sizes = self._sizes(times)
            found = self._spectrum(sizes)
            if found.min() >= -NEGATIVE * found.max():
                return sizes, np.sqrt(np.maximum(found, 0.0))
        return None

    def apply(self, slip: np.ndarray) -> np.ndarray:
        """Return the product with slip (n, k)."""
        from scipy import fft

        shape = self.segment.shape
        if shape is None:
            return np.asarray(self._dense @ slip)
        spectrum = self._product
        sizes = self._sizes(2)
        grid = fft.rfft2(slip.T.reshape(-1, *shape), sizes) * spectrum
        return np.asarray(fft.irfft2(grid, sizes)[:, : shape[0], : shape[1]].reshape(slip.shape[1], -1).T)

    def draw(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Return independent samples (n, count)."""
        from scipy import fft

        shape, root = self.segment.shape, None if self.segment.shape is None else self._root
        if shape is None or root is None:
            values, vectors = np.linalg.eigh(self._dense)
            noise = rng.standard_normal((len(values), count))
            return np.asarray(vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * noise))
        sizes, factor = root
        noise = rng.standard_normal((count, *sizes))
        grid = fft.irfft2(fft.rfft2(noise) * factor, sizes)
        return np.asarray(grid[:, : shape[0], : shape[1]].reshape(count, -1).T)


@dataclass(frozen=True)
class SlipPrior:
    """Gaussian prior of slip in time windows and directions, of zero mean.

    A model is (windows, directions, subfaults); windows and directions are independent, and total slip along the rake has the standard
    deviation ``amplitude``.

    Attributes
    ----------
    correlations : tuple of Correlation
        Correlation of each segment.
    amplitude : float
        Standard deviation of slip along the rake [m].
    ratios : tuple of float
        Standard deviation along each direction over ``amplitude``.
    windows : int
        Number of time windows.
    """

    correlations: tuple[Correlation, ...]
    amplitude: float
    ratios: tuple[float, ...]
    windows: int

    @property
    def subfaults(self) -> int:
        """Number of subfaults."""
        return sum(len(c.segment.rows) for c in self.correlations)

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self.windows * len(self.ratios) * self.subfaults

    @property
    def variance(self) -> np.ndarray:
        """Variance (size,) of each parameter."""
        each = (self.amplitude * np.array(self.ratios)) ** 2 / self.windows
        return np.tile(np.repeat(each, self.subfaults), self.windows)

    def with_amplitude(self, amplitude: float) -> SlipPrior:
        """Return the prior with another amplitude [m]."""
        return replace(self, amplitude=amplitude)

    def with_lengths(self, factor: float) -> SlipPrior:
        """Return the prior with the correlation lengths times a factor."""
        changed = [replace(c, lengths=(factor * c.lengths[0], factor * c.lengths[1])) for c in self.correlations]
        return replace(self, correlations=tuple(changed))

    def apply(self, models: np.ndarray) -> np.ndarray:
        """Return the product of the covariance with models (size, k)."""
        count = models.shape[1]
        parts = models.reshape(self.windows * len(self.ratios), self.subfaults, count)
        found = np.empty_like(parts)
        for correlation in self.correlations:
            rows = correlation.segment.rows
            stacked = parts[:, rows].swapaxes(0, 1).reshape(len(rows), -1)
            found[:, rows] = correlation.apply(stacked).reshape(len(rows), -1, count).swapaxes(0, 1)
        return found.reshape(self.size, count) * self.variance[:, None]

    def draw(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Return independent samples (size, count)."""
        parts = self.windows * len(self.ratios)
        found = np.empty((parts, self.subfaults, count))
        for correlation in self.correlations:
            rows = correlation.segment.rows
            found[:, rows] = correlation.draw(rng, parts * count).reshape(len(rows), parts, count).swapaxes(0, 1)
        return found.reshape(self.size, count) * np.sqrt(self.variance)[:, None]


def make_prior(
    segments: Sequence[Segment], lengths: tuple[float, float], hurst: float, amplitude: float, ratios: Sequence[float],
    windows: int,
) -> SlipPrior:  # fmt: skip
    """Return the prior of slip on segments with common correlation lengths along strike and down dip [m]."""
    correlations = tuple(Correlation(segment, lengths, hurst) for segment in segments)
    return SlipPrior(correlations, amplitude, tuple(ratios), windows)
