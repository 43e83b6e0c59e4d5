"""Band-limited comparison of two runs, and the part of their difference above their resolved frequency.

Both runs are treated alike: interpolated to common times at the shorter of both sampling intervals, which avoids aliasing; tapered
by a half cosine over 5 % at either end; and filtered by a Butterworth filter of order four applied forwards and backwards (zero
phase, ``observe.motions.processing``). A band without an upper corner is limited by the coarser sampling. Rupture times and
energies are not waves and remain unfiltered.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.observe.motions.processing import filtered, resampled
from faultwave.output.manifest import read_manifest
from faultwave.output.trace import Kind, Results, Trace

HELD = 0.8
"""Fraction of the Nyquist frequency up to which a coarse sampling can be interpolated accurately."""
TAPER = 0.05
"""Fraction of a series that is tapered at either end."""
STATES = ("RT",)
"""Columns that hold the time of an event, which must not be filtered."""
UNEVEN = 1e-3
"""Relative variation of the sampling interval above which a series is first interpolated to uniform times."""
RESOLVED = "resolved_frequency_hz"


@dataclass(frozen=True)
class Band:
    """Frequency band with corners [Hz]; None means no corner."""

    low: float | None = None
    high: float | None = None

    def __bool__(self) -> bool:
        return self.low is not None or self.high is not None

    def described(self) -> str:
        """Return the band in words."""
        if self.low is None:
            return "all frequencies" if self.high is None else f"below {self.high:g} Hz"
        return f"above {self.low:g} Hz" if self.high is None else f"{self.low:g} to {self.high:g} Hz"


def check_band(band: Band) -> None:
    """Raise InputError unless the corners are positive, finite and in order."""
    problems = Problems()
    for name, corner in (("--low", band.low), ("--high", band.high)):
        if corner is not None and not (math.isfinite(corner) and corner > 0):
            problems.error(name, f"is {corner:g}", "a frequency above 0 Hz")
    if not problems.errors and band.low is not None and band.high is not None and band.low >= band.high:
        problems.error("--low", f"{band.low:g} Hz is not below --high, {band.high:g} Hz", f"below {band.high:g} Hz")
    problems.raise_errors()


def filter_runs(run: Results, reference: Results, band: Band) -> tuple[Results, Results]:
    """Return two runs whose common traces are filtered to a band at common times.

    Raises
    ------
    InputError
        If the band does not suit the sampling interval or the length of the traces.
    """
    check_band(band)
    made: tuple[dict[Kind, dict[int, Trace]], dict[Kind, dict[int, Trace]]] = ({}, {})
    for kind in reference.traces:
        pairs = [dict(run.traces[kind]), dict(reference.traces[kind])]
        for number in [n for n in pairs[1] if n in pairs[0]]:
            for own, trace in zip(pairs, filter_pair(pairs[0][number], pairs[1][number], band), strict=True):
                own[number] = trace
        made[0][kind], made[1][kind] = pairs
    return replace(run, traces=made[0]), replace(reference, traces=made[1])


def filter_pair(a: Trace, b: Trace, band: Band) -> tuple[Trace, Trace]:
    """Return both traces filtered at common times.

    Raises
    ------
    InputError
        If the traces share fewer than three times.
    """
    if min(len(a.time), len(b.time)) < 3:
        raise _too_short(a)
    start, end = max(a.time[0], b.time[0]), min(a.time[-1], b.time[-1])
    step, coarse = sorted((_interval(a), _interval(b)))
    count = int(np.floor((end - start) / step * (1 + 1e-9) + 1e-9)) + 1 if end > start else 0
    if count < 3:
        raise _too_short(a)
    _check_fits(band, coarse, end - start, f"{a.kind} {a.number}")
    if band.low is not None and band.high is None and HELD * 0.5 / coarse > band.low:
        band = Band(band.low, HELD * 0.5 / coarse)
    times = start + step * np.arange(count)
    return _filtered(a, times, band), _filtered(b, times, band)


def _too_short(trace: Trace) -> InputError:
    what = f"{trace.kind} {trace.number} has fewer than three common times in both runs, so it cannot be filtered"
    return InputError(Problem("--low, --high", what, advice="Compare without a band, or runs that overlap in time."))


def _interval(trace: Trace) -> float:
    return float(np.median(np.diff(trace.time)))


def _check_fits(band: Band, step: float, length: float, where: str) -> None:
    nyquist, problems = 0.5 / step, Problems()
    for name, corner in (("--low", band.low), ("--high", band.high)):
        if corner is not None and not 1.0 / length <= corner < nyquist:
            what = (
                f"{corner:g} Hz is not possible for {where}: both last {length:.4g} s with a sample every {step:.4g} s"
            )
            problems.error(name, what, f"{1.0 / length:.3g} to {nyquist:.3g} Hz")
    problems.raise_errors()


def _filtered(trace: Trace, times: np.ndarray, band: Band) -> Trace:
    names = [name for name in trace.columns if name not in STATES]
    fine, values = _even(trace.time, np.array([trace.columns[name] for name in names], float).reshape(len(names), -1))
    with np.errstate(all="ignore"):  # non-finite numbers pass through and fail the comparison later
        sound = np.isfinite(values).all(1)
        found = np.full((len(names), len(times)), np.nan)
        at = resampled(fine, values[sound], times)
        found[sound] = filtered(at * _taper(len(times)), float(times[1] - times[0]), band.low, band.high)
    columns = dict(zip(names, found, strict=True))
    for name in STATES:
        if name in trace.columns:
            before = np.searchsorted(trace.time, times * (1 + 1e-9) + 1e-9, side="right") - 1
            columns[name] = trace.columns[name][np.maximum(before, 0)]
    return replace(trace, time=times, columns=columns)


def _even(time: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return uniform times (m,) and values (k, m) there; uniform input is returned as it is."""
    steps = np.diff(time)
    if np.ptp(steps) <= UNEVEN * steps.max():
        return np.linspace(time[0], time[-1], len(time)), values
    even = np.linspace(time[0], time[-1], 1 + int(np.ceil((time[-1] - time[0]) / np.median(steps))))
    return even, np.array([np.interp(even, time, row) for row in values]).reshape(len(values), -1)


def _taper(count: int) -> np.ndarray:
    weights, n = np.ones(count), max(1, round(TAPER * count))
    weights[:n] = 0.5 - 0.5 * np.cos(np.pi * (np.arange(n) + 0.5) / n)
    weights[-n:] = weights[:n][::-1]
    return weights


def resolved_frequency(results: Results) -> float | None:
    """Return the frequency [Hz] that a run resolves everywhere, from its manifest; None if it is not recorded there."""
    try:
        found = read_manifest(results.folder / f"{results.prefix}-manifest.json").get(RESOLVED)
    except InputError:
        return None
    if not isinstance(found, int | float) or isinstance(found, bool):
        return None
    return float(found) if math.isfinite(found) and found > 0 else None


def common_resolved(run: Results, reference: Results) -> float | None:
    """Return the lower of the resolved frequencies [Hz] of two runs; None if one is unknown."""
    both = resolved_frequency(run), resolved_frequency(reference)
    return None if both[0] is None or both[1] is None else min(both[0], both[1])


def share_above(
    run: Mapping[int, Trace], reference: Mapping[int, Trace], names: tuple[str, ...], at: float
) -> float | None:
    """Return the part of the squared difference of all traces above a frequency; None if it cannot be computed.

    Traces present in both runs are compared at common times, tapered.

    Parameters
    ----------
    run, reference : mapping of int to Trace
        Traces by receiver number.
    names : tuple of str
        Columns that are compared.
    at : float
        Frequency [Hz].

    Returns
    -------
    float or None
        Fraction between 0 and 1.
    """
    above = total = 0.0
    for number in [n for n in reference if n in run]:
        a, b = filter_pair(run[number], reference[number], Band())
        if a.time.shape != b.time.shape or len(a.time) < 3 or not np.array_equal(a.time, b.time):
            continue
        frequencies = np.fft.rfftfreq(len(a.time), float(a.time[1] - a.time[0]))
        for name in names:
            if name in a.columns and name in b.columns:
                power = np.abs(np.fft.rfft(a.columns[name] - b.columns[name])) ** 2
                above += float(power[frequencies > at].sum())
                total += float(power.sum())
    return above / total if np.isfinite(total) and total > 0 else None


__all__ = [
    "RESOLVED", "Band", "check_band", "common_resolved", "filter_pair", "filter_runs", "resolved_frequency", "share_above",
]  # fmt: skip
