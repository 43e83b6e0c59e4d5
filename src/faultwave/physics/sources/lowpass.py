"""Sources without the high frequencies that a grid does not resolve.

Four poles of Butterworth's low-pass: causal, so that nothing acts before its onset, and one at zero frequency, so that moments stay. It
delays low frequencies by 0.416 / corner (sum of 2 sin(22.5 deg) and 2 sin(67.5 deg), over 2 pi corner).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from faultwave.physics.sources.point import PointSource
from faultwave.physics.sources.time_functions import Samples, TimeFunction

POLES = 4
RATE = 40.0  # samples times corner
TAIL = 6.0  # over the corner, after which the slowest pole has fallen to 6e-7
LONGEST = 2_000_000  # samples


def lowpassed_function(function: TimeFunction, corner: float, until: float) -> Samples:
    """S through the filter of ``corner`` [Hz], as samples up to ``until`` [s] after onset; its integral is that of S."""
    from scipy.signal import butter, sosfilt  # a second to import, and few runs filter

    interval = 1.0 / (RATE * corner)
    length = min(function.end + TAIL / corner, max(until, 0.0) + interval)
    count = min(LONGEST, max(2, int(np.ceil(length / interval))))
    edges = interval * np.arange(count + 1)
    means = np.concatenate([[0.0], np.diff(function.integral(edges)) / interval])
    return Samples(sosfilt(butter(POLES, corner, fs=1.0 / interval, output="sos"), means), interval)


def lowpassed(source: PointSource, corner: float | None, end_time: float) -> PointSource:
    """The source through the filter, for a run to ``end_time`` [s]; as it is where there is no corner."""
    if corner is None:
        return source
    return replace(source, function=lowpassed_function(source.function, corner, end_time - source.onset))
