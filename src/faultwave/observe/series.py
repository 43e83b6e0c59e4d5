"""Seismograms of an engine with one step for all: every step is kept, samples are interpolated in time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


class SeriesRecorder:
    """Values (steps, receivers, channels, Q) of every step, the columns ``late`` (Q,) steps after the step's start.

    A column with late = 0.5 holds values of times (n + 1/2) dt. ``first`` (receivers, channels, Q) are those before the
    first step, a step earlier; everything is kept as numbers of its type.
    """

    def __init__(self, step: float, late: Sequence[float], first: np.ndarray):
        self.step, self.late = step, np.asarray(late, float)
        self.blocks = [first[None]]

    def append(self, values: np.ndarray) -> None:
        """The next steps."""
        self.blocks.append(np.asarray(values, self.blocks[0].dtype))

    def steps(self) -> np.ndarray:
        """Everything kept (1 + steps, receivers, channels, Q)."""
        self.blocks = [np.concatenate(self.blocks)]  # once in memory, not twice, from here on
        return self.blocks[0]

    def restore(self, steps: np.ndarray) -> None:
        """Go on from what ``steps`` gave."""
        self.blocks = [np.asarray(steps, self.blocks[0].dtype)]

    def arrays(self, interval: float) -> tuple[np.ndarray, np.ndarray]:
        """Times (nt,) at multiples of ``interval`` up to now, and values (nt, receivers, channels, Q) by cubic polynomials."""
        series = self.steps()
        now = (len(series) - 1) * self.step
        times = np.arange(int(np.floor(now / interval * (1 + 1e-12) + 1e-9)) + 1) * interval
        result = np.empty((len(times), *series.shape[1:]))
        for late in np.unique(self.late):
            columns = np.flatnonzero(self.late == late)
            result[..., columns] = interpolate(series[..., columns], times / self.step - late + 1.0)
        return times, result


def interpolate(series: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Series (n, ...) at fractional indices ``at`` (m,), by the cubic through four neighbours (fewer where there are fewer)."""
    count = min(4, len(series))
    start = np.clip(np.floor(at).astype(int) - count // 2 + 1, 0, len(series) - count)
    result = np.zeros((len(at), *series.shape[1:]))
    for m in range(count):
        weight = np.ones(len(at))
        for n in range(count):
            if n != m:
                weight *= (at - start - n) / (m - n)
        result += weight.reshape(-1, *[1] * (series.ndim - 1)) * series[start + m]
    return result
