"""Sources without the high frequencies that a grid does not resolve.

Four poles of Butterworth's low-pass: causal, so that nothing acts before its onset, and one at zero frequency, so that moments stay. It
delays low frequencies by 0.416 / corner (sum of 2 sin(22.5 deg) and 2 sin(67.5 deg), over 2 pi corner).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.physics.sources.point import PointSource
from faultwave.physics.sources.sampled import SampledFunctions, pieces
from faultwave.physics.sources.table import Functions, Sources
from faultwave.physics.sources.time_functions import TimeFunction

POLES = 4
RATE = 40.0  # samples times corner
TAIL = 6.0  # over the corner, after which the slowest pole has fallen to 6e-7
LONGEST = 2_000_000  # samples
DELAY = 0.416
"""Of low frequencies, times the corner."""


WHERE = "grid.lowpass"


def usable_corner(corner: float | None, step: float, end_time: float, problems: Problems) -> float | None:
    """Return the corner [Hz] that sources of a run with so long a ``step`` [s] are filtered with, None for none.

    Warn of a corner above the Nyquist frequency of the step, which takes nothing from what the step can represent, and of one whose delay
    pushes the sources out of the run.
    """
    if corner is None:
        return None
    nyquist, delay = 0.5 / step, DELAY / corner
    if corner >= nyquist:
        what = f"{corner:g} Hz lies above the Nyquist frequency of the time step, {nyquist:.4g} Hz: sources are not filtered"
        problems.warn(WHERE, what, f"below {nyquist:.4g} Hz", "Leave it out, or lower it to what the grid resolves.")
        return None
    if delay > end_time:
        what = f"{corner:g} Hz delays all sources by {delay:.3g} s, and the run ends at {end_time:g} s"
        problems.warn(WHERE, what, f"above {DELAY / end_time:.3g} Hz", "Raise the corner.")
    return corner


def lowpassed(sources: Iterable[PointSource], corner: float | None, end_time: float) -> Sources:
    """The sources through the filter of ``corner`` [Hz], for a run to ``end_time`` [s]; as they are where there is no corner."""
    table = Sources.of(sources)
    if corner is None or not len(table):
        return table
    return replace(table, functions=lowpassed_functions(table.functions, corner, end_time - table.onset))


def lowpassed_functions(functions: Functions, corner: float, until: np.ndarray) -> Functions:
    """Return each S through the filter of ``corner`` [Hz], as samples up to ``until`` (n,) [s] after onset; its integral is that of S.
    Those in single precision stay so. Raises InputError where that needs more than LONGEST samples."""
    from scipy.signal import butter, sosfilt  # a second to import, and few runs filter

    interval = 1.0 / (RATE * corner)
    sections = butter(POLES, corner, fs=1.0 / interval, output="sos")
    length = np.minimum(functions.end + TAIL / corner, np.maximum(until, 0.0) + interval)
    wanted = np.ceil(length / interval)
    if len(wanted) and not wanted.max() <= LONGEST:
        what = f"{corner:g} Hz needs {wanted.max():.3g} samples of a source that acts for {length.max():.4g} s"
        most = LONGEST / (RATE * float(length.max()))
        raise InputError(Problem(WHERE, what, f"at most {LONGEST:,}: a corner up to {most:.3g} Hz"))
    counts = 1 + np.maximum(wanted, 2).astype(np.int64)
    first = np.concatenate([[0], np.cumsum(counts)])
    samples = np.zeros(first[-1], np.float32 if functions.single else float)
    for piece in pieces(len(counts), int(counts.max())):
        edges = interval * np.arange(counts[piece].max())
        until_edges = functions.integral(np.arange(len(counts))[piece], np.tile(edges, (len(counts[piece]), 1)))
        means = np.diff(until_edges, axis=1, prepend=until_edges[:, :1]) / interval
        inside = np.arange(len(edges)) < counts[piece, None]
        samples[first[piece.start] : first[piece.stop]] = sosfilt(sections, means, axis=1)[inside]
    made = SampledFunctions(samples, first, np.full(len(counts), interval))
    return Functions((made,), np.zeros(len(counts), np.int64), np.arange(len(counts)))


def lowpassed_function(function: TimeFunction, corner: float, until: float) -> TimeFunction:
    """One S through the filter, as samples up to ``until`` [s] after onset."""
    return lowpassed_functions(Functions.of([function]), corner, np.array([until])).one(0)
