"""Many sampled time functions in flat arrays, integrated together: files of sources bring them by the hundred thousand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

SUMMED = 16
"""Samples between two of which the integral is kept in double precision; between, it is kept beyond these as the samples are."""
TOGETHER = 1 << 14
"""Numbers of one piece of work, which bounds what is in memory beside the samples."""


def pieces(count: int, width: int) -> Iterator[slice]:
    """Rows 0 to ``count`` in slices of so few that they have ``TOGETHER`` numbers at most, each row having ``width``."""
    rows = max(1, TOGETHER // max(width, 1))
    for first in range(0, count, rows):
        yield slice(first, min(first + rows, count))


@dataclass(frozen=True)
class SampledFunctions:
    """Straight lines between samples; zero outside. Those in single precision are kept so.

    ``samples`` of all functions one after the other, those of function i from ``first`` (m + 1,) [i] to first[i + 1], two at least;
    ``interval`` (m,) [s] between those of each.
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
    def of(cls, samples: Sequence[np.ndarray], interval: Any) -> Self:
        """Of one array a function, of one precision all."""
        first = np.concatenate([[0], np.cumsum([len(s) for s in samples])]).astype(np.int64)
        return cls(np.concatenate(samples), first, np.asarray(interval, float))

    def __len__(self) -> int:
        return len(self.interval)

    @property
    def end(self) -> np.ndarray:
        """(m,) time from onset of the last sample [s]."""
        return (np.diff(self.first) - 1) * self.interval

    @property
    def largest(self) -> np.ndarray:
        """(m,) sizes of the largest samples."""
        return np.maximum.reduceat(np.abs(self.samples), self.first[:-1]) if len(self) else np.zeros(0)

    def one(self, row: int) -> tuple[np.ndarray, float]:
        """Samples and interval of a function."""
        return self.samples[self.first[row] : self.first[row + 1]], float(self.interval[row])

    def integral(self, rows: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Integrals (k, w) of functions ``rows`` (k,) from onset to times ``t`` (k, w) after it [s]."""
        first, last = self.first[rows, None], (self.first[rows + 1] - self.first[rows] - 1)[:, None]
        interval = self.interval[rows, None]
        x = np.clip(t / interval, 0.0, last)
        i = np.minimum(x.astype(np.int64), np.maximum(last - 1, 0))
        part, here = x - i, self.samples[first + i]
        slope = self.samples[first + np.minimum(i + 1, last)] - here
        sums = self._bases[self._base[rows, None] + i // SUMMED] + self._sums[first + i]
        return np.asarray(sums + interval * part * (here + 0.5 * part * slope))

    def _sum(self) -> None:
        """Fill in the integrals up to each sample."""
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
