"""Amplitude spectrum of the sources of a run."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from faultwave.physics.sources.point import PointSource
from faultwave.physics.sources.table import Sources

LISTENED = 200  # largest number of sources sampled
SAMPLES = 16384  # largest number of samples of a time function
LONGER = 4  # relative to the run: truncating a wavelet at its end would add all frequencies


def spectrum(sources: Iterable[PointSource], step: float, end_time: float) -> tuple[np.ndarray, np.ndarray]:
    """Return frequencies [Hz] and the summed amplitude spectrum of the sources, of a subset if there are very many."""
    table = Sources.of(sources)
    every = max(1, -(-len(table) // LISTENED))
    length = LONGER * end_time
    count = max(2, min(SAMPLES, int(np.ceil(length / step))))
    interval = length / count
    edges = interval * np.arange(count + 1)
    total = np.zeros(count // 2 + 1)
    some = table[::every]
    strengths = np.abs(some.moment_tensors(1.0, 1.0)).max(1) + np.abs(some.force).max(1)
    for n, strength in enumerate(strengths):
        total += strength * np.abs(np.fft.rfft(np.diff(some.released(edges, np.array([n]))[0])))
    return np.fft.rfftfreq(count, interval), total


__all__ = ["spectrum"]
