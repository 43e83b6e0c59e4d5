"""Seismograms of an engine with one step for all: samples are interpolated in time, and steps forgotten once no sample needs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

POINTS = 4
"""Of a polynomial in time."""


class SeriesRecorder:
    """Values (steps, receivers, channels, Q) of the last steps, the columns ``late`` (Q,) steps after the step's start, and samples of
    all of them at multiples of ``interval`` [s].

    A column with late = 0.5 holds values of times (n + 1/2) dt. ``first`` (receivers, channels, Q) are those before the
    first step, a step earlier; everything is kept as numbers of its type.
    """

    def __init__(self, step: float, late: Sequence[float], first: np.ndarray, interval: float):
        self.step, self.late, self.interval = step, np.asarray(late, float), interval
        self.samples = [np.empty((0, *first.shape), first.dtype)]
        self.last, self.count = first[None], 1  # the last of so many steps, the one before the first included

    @property
    def taken(self) -> int:
        """Number of samples that no later step can change."""
        return sum(len(block) for block in self.samples)

    def append(self, values: np.ndarray) -> None:
        """The next steps."""
        self.last = np.concatenate([self.last, np.asarray(values, self.last.dtype)])
        self.count += len(values)
        if self.count < POINTS:
            return
        first, late = self.taken, float(self.late.min())
        due = max(first, int((self.count - POINTS + 1 + late) * self.step / self.interval) + 2)
        while due > first and not self._settled(due - 1):
            due -= 1
        if due > first:
            self.samples.append(self._sampled(first, due).astype(self.last.dtype))
        self.last = self.last[
            -POINTS:
        ].copy()  # columns are less than a step apart: no sample to come begins before these

    def _settled(self, sample: int) -> bool:
        """Whether no later step changes a sample: all points of its polynomials are there."""
        behind = int(np.floor(self._at(sample, float(self.late.min()))))
        return max(behind - POINTS // 2 + 1, 0) + POINTS <= self.count

    def _at(self, sample: int, late: float) -> float:
        """Index among the steps at which a sample lies."""
        return float(sample * self.interval / self.step - late + 1.0)

    def _sampled(self, first: int, end: int) -> np.ndarray:
        """Samples [first, end)."""
        result = np.empty((end - first, *self.last.shape[1:]))
        times = np.arange(first, end) * self.interval
        for late in np.unique(self.late):
            columns = np.flatnonzero(self.late == late)
            result[..., columns] = interpolate(self.last[..., columns], times / self.step - late + 1.0, self.count)
        return result

    def state(self) -> dict[str, np.ndarray]:
        """All there is, to go on from; receivers are the second axis of ``samples`` and ``last``."""
        self.samples = [np.concatenate(self.samples)]  # once in memory, not twice, from here on
        return {"samples": self.samples[0], "last": self.last, "count": np.array(self.count)}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from what ``state`` gave."""
        kind = self.last.dtype
        self.samples, self.last = [np.asarray(state["samples"], kind)], np.asarray(state["last"], kind)
        self.count = int(state["count"])

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Times (nt,) at multiples of the interval up to now, and values (nt, receivers, channels, Q) by cubic polynomials."""
        now = (self.count - 1) * self.step
        end = int(np.floor(now / self.interval * (1 + 1e-12) + 1e-9)) + 1
        open_ended = self._sampled(self.taken, end).astype(self.last.dtype)
        return np.arange(end) * self.interval, np.concatenate([*self.samples, open_ended])[:end].astype(float)


def interpolate(last: np.ndarray, at: np.ndarray, total: int) -> np.ndarray:
    """Series (n, ...) at fractional indices ``at`` (m,), by the cubic through four neighbours (fewer where there are fewer); ``last`` are
    those of its ``total`` values that have not been forgotten."""
    count = min(POINTS, total)
    start = np.clip(np.floor(at).astype(int) - count // 2 + 1, 0, total - count)
    result = np.zeros((len(at), *last.shape[1:]))
    for m in range(count):
        weight = np.ones(len(at))
        for n in range(count):
            if n != m:
                weight *= (at - start - n) / (m - n)
        result += weight.reshape(-1, *[1] * (last.ndim - 1)) * last[start + m - (total - len(last))]
    return result
