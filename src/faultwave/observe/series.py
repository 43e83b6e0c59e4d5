"""Seismograms of an engine with a global time step: samples are interpolated in time, and old steps discarded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

POINTS = 4
"""Number of points of the interpolating polynomial in time."""


class SeriesRecorder:
    """Recorder of receiver values at every step, sampled at multiples of ``interval`` [s].

    It stores values (steps, receivers, channels, Q) of the last steps. Columns are staggered in time by ``late`` (Q,) steps after the start
    of the step; a column with late = 0.5 holds values at times (n + 1/2) dt. ``first`` (receivers, channels, Q) are the values one step
    before the first; all values have its data type.
    """

    def __init__(self, step: float, late: Sequence[float], first: np.ndarray, interval: float):
        self.step, self.late, self.interval = step, np.asarray(late, float), interval
        self.samples = [np.empty((0, *first.shape), first.dtype)]
        self.last, self.count = first[None], 1  # number of steps so far, including the one before the first

    @property
    def taken(self) -> int:
        """Number of samples that no later step can change."""
        return sum(len(block) for block in self.samples)

    def append(self, values: np.ndarray) -> None:
        """Append the values of the next steps."""
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
        ].copy()  # columns are less than a step apart: no later sample needs values before these

    def _settled(self, sample: int) -> bool:
        """Return True if all points of a sample's polynomials exist, so that no later step changes it."""
        behind = int(np.floor(self._at(sample, float(self.late.min()))))
        return max(behind - POINTS // 2 + 1, 0) + POINTS <= self.count

    def _at(self, sample: int, late: float) -> float:
        """Return the fractional step index of a sample."""
        return float(sample * self.interval / self.step - late + 1.0)

    def _sampled(self, first: int, end: int) -> np.ndarray:
        """Return the samples [first, end)."""
        result = np.empty((end - first, *self.last.shape[1:]))
        times = np.arange(first, end) * self.interval
        for late in np.unique(self.late):
            columns = np.flatnonzero(self.late == late)
            result[..., columns] = interpolate(self.last[..., columns], times / self.step - late + 1.0, self.count)
        return result

    def state(self) -> dict[str, np.ndarray]:
        """Return the state for a restart; receivers are the second axis of ``samples`` and ``last``."""
        self.samples = [np.concatenate(self.samples)]  # avoids a second copy in memory
        return {"samples": self.samples[0], "last": self.last, "count": np.array(self.count)}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Continue from the result of ``state``."""
        kind = self.last.dtype
        self.samples, self.last = [np.asarray(state["samples"], kind)], np.asarray(state["last"], kind)
        self.count = int(state["count"])

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the times (nt,) [s] so far and the values (nt, receivers, channels, Q) by cubic interpolation."""
        now = (self.count - 1) * self.step
        end = int(np.floor(now / self.interval * (1 + 1e-12) + 1e-9)) + 1
        open_ended = self._sampled(self.taken, end).astype(self.last.dtype)
        return np.arange(end) * self.interval, np.concatenate([*self.samples, open_ended])[:end].astype(float)


def interpolate(last: np.ndarray, at: np.ndarray, total: int) -> np.ndarray:
    """Interpolate a series at fractional indices by the cubic through four neighbours, or fewer if the series is shorter.

    Parameters
    ----------
    last : ndarray of shape (k, ...)
        Last values of the series.
    at : ndarray of shape (m,)
        Fractional indices in the whole series.
    total : int
        Length of the whole series, including values no longer stored.
    """
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
