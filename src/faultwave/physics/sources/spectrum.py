"""Amplitude spectrum of sources, and the low-pass filter for frequencies which a grid or mesh does not resolve.

Butterworth filter with four poles: causal, so that nothing acts before its onset, with unit gain at zero frequency, so
that moments are unchanged. It delays low frequencies by 0.416 / corner (sum of 2 sin(22.5 deg) and 2 sin(67.5 deg),
over 2 pi corner).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.physics.sources.point import Functions, PointSource, Sources
from faultwave.physics.sources.time_functions import SampledFunctions, TimeFunction, pieces

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


POLES = 4
DELAY = 0.416  # delay of low frequencies times corner
RATE = 40.0  # samples times corner
TAIL = 6.0  # duration times corner after which the slowest pole has decayed to 6e-7
LONGEST = 2_000_000  # samples of one function
MOST = 100_000_000  # samples of all functions
SETTING = "numerics.source_lowpass"
QUIET = 0.05
"""Ratio to the maximum at which a spectrum counts as ended."""
CORNERS = np.linspace(0.8, 0.05, 76)  # corners relative to the resolved frequency


def lowpassed(sources: Iterable[PointSource], corner: float | None, end_time: float) -> Sources:
    """Return sources whose time functions have passed the low-pass filter.

    Parameters
    ----------
    sources : iterable of PointSource
        Point sources.
    corner : float or None
        Corner frequency [Hz]; None returns the sources unchanged.
    end_time : float
        End of the run [s]; only functions too long to be sampled completely are truncated there.

    Raises
    ------
    InputError
        If the filtered functions need more samples than memory holds.
    """
    table = Sources.of(sources)
    if corner is None or not len(table):
        return table
    return replace(table, functions=lowpassed_functions(table.functions, corner, end_time - table.onset))


def lowpassed_functions(functions: Functions, corner: float, until: np.ndarray) -> Functions:
    """Return each time function S filtered with ``corner`` [Hz], as samples that preserve its integral.

    Functions of more than ``LONGEST`` samples end ``until`` (n,) [s] after onset; the others are complete, so that a
    run continued to a later end time has the same sources. Single precision is preserved.

    Raises
    ------
    InputError
        If the samples are too many.
    """
    from scipy.signal import butter, sosfilt  # takes a second to import, and few runs filter

    interval = 1.0 / (RATE * corner)
    sections = butter(POLES, corner, fs=RATE * corner, output="sos")
    whole = functions.end + TAIL / corner
    cut = np.minimum(whole, np.maximum(until, 0.0) + interval)
    needed = np.ceil(np.where(whole > LONGEST * interval, cut, whole) / interval)
    check_samples(needed, corner)
    counts = 1 + np.maximum(needed, 2).astype(np.int64)
    first = np.concatenate([[0], np.cumsum(counts)])
    samples = np.zeros(first[-1], np.float32 if functions.single else float)
    for piece in pieces(len(counts), int(counts.max())):
        edges = interval * np.arange(counts[piece].max())
        middle = np.append(edges, edges[-1] + interval) - 0.5 * interval  # means about each sample cause no delay
        released = functions.integral(np.arange(len(counts))[piece], np.tile(middle, (len(counts[piece]), 1)))
        filtered = sosfilt(sections, np.diff(released, axis=1) / interval, axis=1)
        filtered[:, 1] += filtered[
            :, 0
        ]  # about 1e-5 of the function: nothing acts before the onset, and the integral is preserved
        filtered[:, 0] = 0.0
        inside = np.arange(len(edges)) < counts[piece, None]
        samples[first[piece.start] : first[piece.stop]] = filtered[inside]
    made = SampledFunctions(samples, first, np.full(len(counts), interval))
    return Functions((made,), np.zeros(len(counts), np.int64), np.arange(len(counts)))


def check_samples(needed: np.ndarray, corner: float) -> None:
    """Raise InputError if the functions need too many samples (n,): a truncated function would lose moment."""
    longest, total = float(needed.max(initial=0.0)), float(needed.sum())
    if longest <= LONGEST and total <= MOST:
        return
    most = corner * min(LONGEST / longest, MOST / total)
    what = f"{corner:g} Hz needs {total:.2g} samples of the source time functions"
    advice = "A corner above the highest frequency of the sources changes nothing: remove the setting."
    raise InputError(Problem(SETTING, what, f"at most about {most:.2g} Hz for these sources", advice))


def warn_corner_frequency(corner: float | None, end_time: float, problems: Problems) -> None:
    """Warn of a corner [Hz] whose delay shifts all sources beyond the end of the run ``end_time`` [s]."""
    if corner is not None and DELAY / corner > end_time:
        what = f"{corner:g} Hz delays all sources by {DELAY / corner:.3g} s, and the run ends at {end_time:g} s"
        problems.warn(SETTING, what, f"above {DELAY / end_time:.3g} Hz", "Raise the corner.")


def smoothing(
    frequencies: np.ndarray, amplitudes: np.ndarray, resolved: float, lowpass: float | None = None
) -> float | None:
    """Return the corner [Hz] of the low-pass that ends a spectrum at the frequency ``resolved``, or None if there is none.

    Parameters
    ----------
    frequencies, amplitudes : (n,) arrays
        Spectrum of the sources.
    resolved : float
        Highest resolved frequency [Hz].
    lowpass : float, optional
        Corner [Hz] of the filter that has already been applied to the spectrum, and which the new one replaces.
    """
    passed = np.ones(len(frequencies)) if lowpass is None else response(frequencies, lowpass)
    for corner in resolved * CORNERS:
        left = amplitudes / passed * response(frequencies, corner)
        if left[frequencies > resolved].max() < 0.9 * QUIET * left.max():
            return float(f"{corner:.3g}")
    return None


def response(frequencies: np.ndarray, corner: float) -> np.ndarray:
    """Return the amplitude response of the filter of ``corner`` [Hz] at ``frequencies`` [Hz]."""
    return np.asarray(1.0 / np.sqrt(1.0 + (frequencies / corner) ** (2 * POLES)))


def lowpassed_function(function: TimeFunction, corner: float, until: float) -> TimeFunction:
    """Return one time function filtered with ``corner`` [Hz], as samples up to ``until`` [s] after onset."""
    return lowpassed_functions(Functions.of([function]), corner, np.array([until])).one(0)
