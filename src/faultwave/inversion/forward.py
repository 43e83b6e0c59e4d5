"""Prediction of data from a model, and its transpose, with all convolutions by FFT.

The velocity of a channel is the sum over subfaults, directions and time windows of slip times the spectrum of its Green's function and
the phase of its onset. Neither the Green's functions of single windows nor a matrix from model to data is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from faultwave.inversion.processing import Window

BLOCK_BYTES = 1 << 27
"""Size of the spectra of models that are computed at once [bytes]."""


@dataclass(frozen=True)
class Forward:
    """Linear map from models (windows, sources) to data: samples of all channels, one after the other, and static offsets.

    Attributes
    ----------
    green : ndarray (frequencies, channels, sources)
        Spectra of the velocity for a unit source, low-passed, from the first sample of the window [m/s per unit].
    frequency : ndarray (frequencies,)
        Frequencies [Hz], of which the first is zero and the last lies below the Nyquist frequency.
    delay : ndarray (sources,)
        Onset of the first time window of each source [s].
    steps : ndarray (windows,)
        Onset of each time window after the first one [s].
    length : int
        Number of samples of the transforms.
    window : Window
        Time axis and processing of the data.
    static : ndarray (rows, sources)
        Static offsets for a unit source [m per unit].
    """

    green: np.ndarray
    frequency: np.ndarray
    delay: np.ndarray
    steps: np.ndarray
    length: int
    window: Window
    static: np.ndarray

    @property
    def channels(self) -> int:
        """Number of channels."""
        return self.green.shape[1]

    @property
    def samples(self) -> int:
        """Number of samples of all channels."""
        return self.channels * self.window.count

    @property
    def shape(self) -> tuple[int, int]:
        """Number of data and of parameters."""
        return self.samples + len(self.static), len(self.steps) * self.green.shape[2]

    @cached_property
    def _onsets(self) -> np.ndarray:
        """Phases (frequencies, sources) of the onsets."""
        return np.exp(-2j * np.pi * np.outer(self.frequency, self.delay))

    @cached_property
    def _windows(self) -> np.ndarray:
        """Phases (frequencies, windows) of the time windows."""
        return np.exp(-2j * np.pi * np.outer(self.frequency, self.steps))

    @property
    def block(self) -> int:
        """Number of models or data that are computed at once."""
        frequencies, channels, sources = self.green.shape
        return max(1, BLOCK_BYTES // (16 * frequencies * max(channels, sources)))

    def matmat(self, models: np.ndarray) -> np.ndarray:
        """Return the data (n, k) of models (m, k)."""
        return _by_columns(self._predict, models, self.block, self.shape[0])

    def rmatmat(self, data: np.ndarray) -> np.ndarray:
        """Return the product (m, k) of the transpose with data (n, k)."""
        return _by_columns(self._transposed, data, self.block, self.shape[1])

    def _predict(self, models: np.ndarray) -> np.ndarray:
        from scipy import fft

        count = models.shape[1]
        parts = models.reshape(len(self.steps), -1, count)
        if not self.channels:
            return np.asarray(self.static @ parts.sum(0))
        rates = np.einsum("fw,wsk->fsk", self._windows, parts, optimize=True) * self._onsets[:, :, None]
        motion = fft.irfft((self.green @ rates).transpose(1, 2, 0), self.length, axis=-1)[..., : self.window.count]
        series = self.window.apply(motion).transpose(0, 2, 1).reshape(-1, count)
        return np.concatenate([series, self.static @ parts.sum(0)])

    def _transposed(self, data: np.ndarray) -> np.ndarray:
        from scipy import fft

        count = data.shape[1]
        if not self.channels:
            return np.tile(self.static.T @ data, (len(self.steps), 1))
        series = data[: self.samples].reshape(self.channels, self.window.count, count).transpose(0, 2, 1)
        spectra = fft.rfft(self.window.adjoint(series), self.length, axis=-1)[..., : len(self.frequency)]
        weights = np.full(len(self.frequency), 2.0 / self.length)
        weights[0] = 1.0 / self.length
        back = self.green.conj().swapaxes(1, 2) @ (spectra * weights).transpose(2, 0, 1)
        back *= self._onsets.conj()[:, :, None]
        found = np.einsum("fw,fsk->wsk", self._windows.conj(), back, optimize=True).real
        found += self.static.T @ data[self.samples :]
        return np.asarray(found.reshape(-1, count))

    def rows(self, begin: int, end: int) -> np.ndarray:
        """Return the transpose (m, end - begin) of some rows of the matrix."""
        unit = np.zeros((self.shape[0], end - begin))
        unit[np.arange(begin, end), np.arange(end - begin)] = 1.0
        return self.rmatmat(unit)

    def row_blocks(self) -> Iterator[tuple[int, int]]:
        """Yield first and last row of blocks that cover all data."""
        step = max(16, self.block)
        for begin in range(0, self.shape[0], step):
            yield begin, min(begin + step, self.shape[0])


def _by_columns(apply: Callable[[np.ndarray], np.ndarray], columns: np.ndarray, block: int, rows: int) -> np.ndarray:
    """Return the results of a function for the columns of an array, some at a time."""
    found = np.empty((rows, columns.shape[1]))
    for begin in range(0, columns.shape[1], block):
        part = slice(begin, begin + block)
        found[:, part] = apply(np.ascontiguousarray(columns[:, part]))
    return found
