"""Pairs of synthetic and observed motion at a station, with the same quantity, axes, times and frequency band."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem, suggest
from faultwave.base.wording import option
from faultwave.observe.motions.processing import (
    QUANTITIES,
    Processing,
    along_axes,
    as_quantity,
    filtered,
    resampled,
)
from faultwave.output.formats.waveforms import UNKNOWN
from faultwave.output.observed import Record, read_records
from faultwave.output.trace import Results, Trace

COMPONENTS = ("v1", "v2", "v3")
NEAR = 200.0
"""Largest distance [m] at which a record whose station code is unknown or shared by several receivers is assigned to one."""
FAR = 1000.0
"""Largest plausible distance [m] between a record and its receiver.

Beyond it, a receiver of the same network and station causes a warning, and one of another network is not assigned.
"""
CHECK_PLACES = "Compare the locations of the station file, of the StationXML and the case's projection"
DEGREE = 111_195.0
"""Length of a degree of latitude [m]."""
LEAST = 10
"""Fewest common samples of a record and its receiver that are compared."""
BEFORE = 20.0
"""Duration of a record before the origin time [s] that is included while it is filtered."""


@dataclass(frozen=True)
class Pair:
    """Synthetic and observed motion at one station, sampled at the same times.

    Attributes
    ----------
    trace : Trace
        Receiver of the run.
    record : Record
        Observed record.
    time : ndarray (n,)
        Time after the origin [s].
    synthetic, observed : ndarray (3, n)
        Motion along x, y and z.
    recorded : tuple of bool
        True for each component that was recorded.
    """

    trace: Trace
    record: Record
    time: np.ndarray
    synthetic: np.ndarray
    observed: np.ndarray
    recorded: tuple[bool, ...]

    @property
    def step(self) -> float:
        return float(self.time[1] - self.time[0])


def pairs(
    results: Results, folder: str | Path, processing: Processing, quantity: str | None = None
) -> tuple[list[Pair], list[Problem]]:
    """Pair the receivers of a run with the records of a folder.

    Parameters
    ----------
    results : Results
        Results of the run.
    folder : str or Path
        Folder of the observed records.
    processing : Processing
        Quantity, frequency band and duration to compare.
    quantity : str, optional
        Quantity of the records, for files that do not state it.

    Returns
    -------
    found : list of Pair
        Pairs by receiver number.
    warned : list of Problem
        Warnings of records without a receiver, with too few common samples, recorded far from the receiver or paired with
        one of another network by the station code alone.

    Raises
    ------
    InputError
        If the processing is invalid or no record belongs to a receiver.
    """
    _check_processing(processing)
    records, warnings = read_records(folder, quantity)
    warned = list(warnings)
    receivers = [t for t in results.traces["receiver"].values() if all(c in t.columns for c in COMPONENTS)]
    found: list[Pair] = []
    for record in records:
        trace = find_receiver(record, receivers)
        if trace is None:
            warned.append(
                Problem(record.name, "no receiver is at its location, and it is left out", severity="warning")
            )
            continue
        made = pair(trace, record, processing)
        if made is not None:
            found.append(made)
        warned += _doubts(record, trace, made is not None)
    if not found:
        called = ", ".join(".".join((t.network, t.station)) for t in receivers[:10]) or "none with velocities"
        allowed = f"stations of the run: {called}, from its output.origin_time on"
        raise InputError([Problem(str(folder), "no record belongs to a receiver of the run", allowed), *warned])
    return sorted(found, key=lambda p: p.trace.number), warned


def _doubts(record: Record, trace: Trace, paired: bool) -> Iterator[Problem]:
    """Yield the warnings of a record whose receiver is ``trace``; it is ``paired`` if they have enough samples in common."""
    if not paired:
        what = f"fewer than {LEAST} samples in common with receiver {trace.number}, and it is left out"
        yield Problem(record.name, what, severity="warning")
    elif _is_doubtful(record, trace):
        what = f"is compared with receiver {trace.network}.{trace.station}, because no coordinates distinguish the two"
        yield Problem(record.name, what, "records of the same network", CHECK_PLACES, "warning")
    far = distance(record, trace)
    if far > FAR:
        what = f"was recorded {far / 1e3:.3g} km from receiver {trace.number}, which has the same name"
        yield Problem(record.name, what, f"up to {FAR / 1e3:g} km", CHECK_PLACES, "warning")


def _check_processing(processing: Processing) -> None:
    """Raise an InputError if there is no such quantity, or if the corners of the filter are not a frequency band.

    Corners must be positive and finite, and the lower below the upper.
    """
    if processing.quantity not in QUANTITIES:
        reported = suggest(processing.quantity, QUANTITIES)
        raise InputError(
            Problem(option("quantity"), f"'{processing.quantity}' is none", ", ".join(QUANTITIES), reported)
        )
    low, high = processing.low, processing.high
    wrong = [
        Problem(option(name), f"{corner:g} Hz is not a corner of a filter", "above 0")
        for name, corner in (("low", low), ("high", high))
        if corner is not None and not 0 < corner < np.inf
    ]
    if not wrong and low is not None and high is not None and low >= high:
        wrong.append(
            Problem(
                option("low"),
                f"{low:g} Hz is not below {option('high')} of {high:g} Hz",
                "a low corner below the high corner",
            )
        )
    if wrong:
        raise InputError(wrong)


def find_receiver(record: Record, receivers: Sequence[Trace]) -> Trace | None:
    """Return the receiver of a record, or None.

    A receiver of the same network and station is preferred, then the only one of its station code if within ``FAR``, then
    the nearest one within ``NEAR``.
    """
    same = [t for t in receivers if t.station and t.station == record.station]
    exact = [t for t in same if t.network == record.network]
    if exact:
        return exact[0]
    if len(same) == 1 and distance(record, same[0]) <= FAR:
        return same[0]
    placed = [t for t in receivers if t.geographic is not None]
    if record.place is None or not placed:
        return None
    nearest = min(placed, key=lambda t: distance(record, t))
    return nearest if distance(record, nearest) <= NEAR else None


def distance(record: Record, trace: Trace) -> float:
    """Return the horizontal distance [m] between a record and a receiver, 0 if either has no longitude and latitude."""
    if record.place is None or trace.geographic is None:
        return 0.0
    east, north = np.subtract(trace.geographic[:2], record.place)
    east = (east + 180.0) % 360.0 - 180.0
    return float(DEGREE * np.hypot(np.cos(np.radians(record.place[1])) * east, north))


def _is_doubtful(record: Record, trace: Trace) -> bool:
    """Return True if only the station code pairs a record with a receiver of another network."""
    other = bool(record.network and trace.network) and record.network != trace.network
    return other and (record.place is None or trace.geographic is None)


def pair(trace: Trace, record: Record, processing: Processing) -> Pair | None:
    """Process a record and its receiver at the coarser of their sampling intervals.

    Return None if they have fewer than ``LEAST`` such intervals in common.
    """
    origin: datetime = trace.origin or UNKNOWN
    start = (record.begin - origin).total_seconds()
    times = start + record.step * np.arange(record.motion.shape[1])
    end = min(float(trace.time[-1]), float(times[-1]), np.inf if processing.until is None else processing.until)
    step = max(record.step, float(np.median(np.diff(trace.time))))
    low = max(0.0, step * np.ceil(start / step - 1e-9))
    first = max(-BEFORE, step * np.ceil(start / step - 1e-9)) if start < 0 else low
    if end - low < LEAST * step:
        return None
    at = np.arange(round(first / step), int(end / step + 1e-6) + 1) * step
    motion = record.motion
    early = times < min(0.0, times[0] + 0.1 * (times[-1] - times[0]))
    if early.sum() > 10:
        motion = motion - motion[:, early].mean(1, keepdims=True)
    turned = along_axes(motion, trace.geographic[2] if trace.geographic is not None else 0.0)
    observed = _process_samples(times, turned, at, record.quantity, processing)
    velocity = np.array([trace.columns[c] for c in COMPONENTS])
    synthetic = _process_samples(trace.time, velocity, at, "velocity", processing)
    retained = at >= low - 1e-9
    return Pair(trace, record, at[retained], synthetic[:, retained], observed[:, retained], record.components)


def _process_samples(
    time: np.ndarray, values: np.ndarray, at: np.ndarray, given: str, processing: Processing
) -> np.ndarray:
    """Resample and filter the values, then differentiate or integrate them to the requested quantity."""
    step = float(at[1] - at[0])
    found = filtered(resampled(time, values, at), step, processing.low, processing.high)
    return as_quantity(found, step, given, processing.quantity)
