"""Sampled time functions in flat arrays, integrated together: source files contain hundreds of thousands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

SUMMED = 16
"""Number of samples between two integrals stored in double precision; others are stored relative to these, as the samples are."""
TOGETHER = 1 << 14
"""Size of a block of work, which bounds temporary memory."""


def pieces(count: int, width: int) -> Iterator[slice]:
    """Yield slices of the rows 0 to ``count`` with at most ``TOGETHER`` numbers each, where a row has ``width`` numbers."""
    rows = max(1, TOGETHER // max(width, 1))
    for first in range(0, count, rows):
        yield slice(first, min(first + rows, count))


@dataclass(frozen=True)
class SampledFunctions:
    """Piecewise linear time functions, zero outside their samples; single precision is preserved.

    Attributes
    ----------
    samples
        Samples of all functions, concatenated; at least two each.
    first : (m + 1,) array
        Index of the first sample of each function; function i ends before first[i + 1].
    interval : (m,) array
        Sampling interval [s].
    """

    samples: np.ndarray
    first: np.ndarray
    interval: np.ndarray
    _sums: np.ndarray = field(init=False, repr=False, compare=False)
    _bases: np.ndarray = field(init=False, repr=False, compare=False)
    _base: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        values = np.asarray(self.samples)
        object.__setattr__(self, "samples", values if values.dtype == np.float32 else values.astype(float))
        bases = -(-np.diff(self.first) // SUMMED)
        object.__setattr__(self, "_base", np.concatenate([[0], np.cumsum(bases)]))
        object.__setattr__(self, "_sums", np.zeros_like(self.samples))
        object.__setattr__(self, "_bases", np.zeros(int(bases.sum())))
        self._sum()

    @classmethod
    def of(cls, samples: Sequence[np.ndarray], interval: np.ndarray | float | Sequence[float]) -> Self:
        """Return functions of one array of samples each, all of the same precision."""
        first = np.concatenate([[0], np.cumsum([len(s) for s in samples])]).astype(np.int64)
        return cls(np.concatenate(samples), first, np.asarray(interval, float))

    def __len__(self) -> int:
        return len(self.interval)

    @property
    def end(self) -> np.ndarray:
        """Time (m,) of the last sample after onset [s]."""
        return (np.diff(self.first) - 1) * self.interval

    @property
    def largest(self) -> np.ndarray:
        """Largest absolute sample (m,)."""
        return np.maximum.reduceat(np.abs(self.samples), self.first[:-1]) if len(self) else np.zeros(0)

    def one(self, row: int) -> tuple[np.ndarray, float]:
        """Return the samples and the interval of one function."""
        return self.samples[self.first[row] : self.first[row + 1]], float(self.interval[row])

    def integral(self, rows: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Return the integrals (k, w) of functions ``rows`` (k,) from onset to times ``t`` (k, w) after it [s]."""
        first, last = self.first[rows, None], (self.first[rows + 1] - self.first[rows] - 1)[:, None]
        interval = self.interval[rows, None]
        x = np.clip(t / interval, 0.0, last)
        i = np.minimum(x.astype(np.int64), np.maximum(last - 1, 0))
        part, here = x - i, self.samples[first + i]
        slope = self.samples[first + np.minimum(i + 1, last)] - here
        sums = self._bases[self._base[rows, None] + i // SUMMED] + self._sums[first + i]
        return np.asarray(sums + interval * part * (here + 0.5 * part * slope))

    def _sum(self) -> None:
        """Compute the integrals up to each sample."""
        count = np.diff(self.first)
        for piece in pieces(len(self), int(count.max(initial=1))):
            width = int(count[piece].max())
            inside = np.arange(width) < count[piece, None]
            all_of = slice(self.first[piece.start], self.first[piece.stop])
            values = np.zeros((len(inside), width))
            values[inside] = self.samples[all_of]
            sums = np.zeros_like(values)
            sums[:, 1:] = np.cumsum(0.5 * (values[:, 1:] + values[:, :-1]), 1) * self.interval[piece, None]
            bases = sums[:, ::SUMMED]
            self._bases[self._base[piece.start] : self._base[piece.stop]] = bases[inside[:, ::SUMMED]]
            sums -= bases.take(np.arange(width) // SUMMED, axis=1)
            self._sums[all_of] = sums[inside]


__all__ = ["SampledFunctions", "pieces"]
