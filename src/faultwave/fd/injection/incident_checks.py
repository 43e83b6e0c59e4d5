"""Checks before a run that a record of waves is long and fine enough, from its spectrum and interpolation error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from faultwave.base.types import Setting
from faultwave.fd.contexts import MaterialContext
from faultwave.observe.boxes import VELOCITIES, Frame, Nodes

BLOCK = 128
"""Number of samples that are processed together."""
LINES = 20_000
"""Largest number of points of a record that are compared with their neighbours."""
TRACES = 64
"""Largest number of traces of each component in the spectrum."""
LOUD = 0.01
"""Fraction of the energy above the highest significant frequency."""
FADED = 0.3
"""Fraction of a record at its end that is tapered before its spectrum is taken."""
CUBIC = np.array([-1.0, 0.0, 9.0, -16.0, 9.0, 0.0, -1.0]) / 16.0
"""Weights of the cubic through the points one and three away, minus the point itself.

The result is sixteen times the error of the cubic through points half as far apart.
"""
QUINTIC = np.array([3.0, 0, -25.0, 0, 150.0, -256.0, 150.0, 0, -25.0, 0, 3.0]) / 256.0
"""Weights of the quintic through six samples, minus the sample itself; 64 times the error at half the distance."""


class Recorded(Protocol):
    """Protocol of the velocities of a file."""

    @property
    def samples(self) -> int: ...

    @property
    def frame(self) -> Frame: ...

    @property
    def nodes(self) -> Mapping[str, Nodes]: ...

    def read(self, names: Sequence[str], begin: int, end: int) -> dict[str, np.ndarray]: ...


@dataclass(frozen=True)
class Look:
    """Properties of a record.

    Attributes
    ----------
    space, time : float
        Relative errors of interpolation in space and time.
    frequency : ndarray
        Frequencies [Hz].
    power : ndarray
        Fraction of the energy at each frequency.
    highest : float
        Highest significant frequency [Hz].
    peak : float
        Time [s] of the strongest motion.
    """

    space: float
    time: float
    frequency: np.ndarray
    power: np.ndarray
    highest: float
    peak: float


def measure_record(record: Recorded) -> Look:
    """Return the spectrum and the interpolation errors of the velocities of a record.

    Errors are measured by predicting every other point or sample, and scaled to half the distance by the order of the
    polynomial.
    """
    lines = {name: _lines(record.nodes[name]) for name in VELOCITIES}
    traces, energy = list[np.ndarray](), np.zeros(record.samples)
    missed, total, late = np.zeros(3), 0.0, 0.0
    for first in range(0, record.samples, BLOCK):
        end = min(first + BLOCK, record.samples)
        found = []
        for name, values in record.read(VELOCITIES, max(first - 5, 0), min(end + 5, record.samples)).items():
            before = first - max(first - 5, 0)
            own = values[before : before + end - first]
            energy[first:end] += np.square(own).sum(1)
            total += float(np.square(own).mean(1).sum())
            for axis, columns in enumerate(lines[name]):
                if len(columns):
                    wrong = sum(c * own[:, columns[:, k]] for k, c in enumerate(CUBIC) if c)
                    missed[axis] += float(np.square(np.asarray(wrong) / 16.0).mean(1).sum())
            if len(values) > 10:
                wrong = sum(c * values[k : len(values) - 10 + k] for k, c in enumerate(QUINTIC) if c)
                late += float(np.square(np.asarray(wrong) / 64.0).mean(1).sum()) * (end - first) / len(wrong)
            every = -(-own.shape[1] // TRACES)
            found.append(own[:, ::every])
        traces.append(np.concatenate(found, 1))
    frequency, power = _spectrum(np.concatenate(traces), record.frame.interval)
    above = np.cumsum(power[::-1])[::-1]
    highest = float(frequency[np.flatnonzero(above > LOUD)[-1]]) if power.any() else 0.0
    peak = record.frame.interval * float(energy.argmax())
    scale = max(total, 1e-300)
    return Look(float(np.sqrt(missed.sum() / scale)), float(np.sqrt(late / scale)), frequency, power, highest, peak)


def _lines(nodes: Nodes) -> list[np.ndarray]:
    """Return, for each axis, the rows (n, 7) in ``nodes`` of groups of seven consecutive nodes."""
    low, size = nodes.index.min(0) - 3, np.ptp(nodes.index, axis=0) + 7
    strides = np.array([size[1] * size[2], size[2], 1], np.int64)
    numbers = (nodes.index - low) @ strides  # nodes of a shell fill a small part of their box
    order = np.argsort(numbers)
    ordered, own = numbers[order], numbers[:: -(-len(numbers) // LINES)]
    found = []
    for axis in range(3):
        wanted = own[:, None] + strides[axis] * np.arange(-3, 4)
        at = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
        found.append(order[at][(ordered[at] == wanted).all(1)])
    return found


def _spectrum(traces: np.ndarray, interval: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the frequencies [Hz] and the fraction of the energy at each."""
    fading = np.ones(len(traces))
    last = int(FADED * len(traces))
    fading[len(traces) - last :] = (
        np.cos(0.5 * np.pi * np.arange(last) / max(last, 1)) ** 2
    )  # a sharp cut has all frequencies
    traces, length = traces * fading[:, None], 2 * len(traces)
    power = np.square(np.abs(np.fft.rfft(traces, length, axis=0))).sum(1)
    return np.fft.rfftfreq(length, interval), power / max(float(power.sum()), 1e-300)


def dispersion(found: Look, frame: Frame, checking: MaterialContext) -> float | None:
    """Return the relative difference of waves between the record's grid and this one at the strongest motion.

    The phase errors of both schemes, of fourth order in space and second in time, are compared frequency by
    frequency. Returns None for records of other engines or orders.
    """
    recorder = frame.recorder
    if recorder.engine != "fd" or recorder.order != 4:
        return None
    coarse = checking.coarse
    speed = float(np.sqrt(np.median(_modulus(coarse) / coarse["rho"])))
    angle = 2.0 * np.pi * found.frequency

    def early(spacing: float, step: float) -> np.ndarray:
        return (angle * step) ** 2 / 24.0 - 3.0 / 640.0 * (angle * spacing / speed) ** 4

    own = early(checking.placing.grid.spacing, checking.step)
    phase = np.minimum(np.abs(early(recorder.spacing, recorder.step) - own) * angle * found.peak, 2.0)
    return float(np.sqrt((found.power * phase**2).sum()))


FEWEST = 3.0
"""Smallest number of points per wavelength at which a record can be interpolated in space."""
AT_REST = 0.01
"""Largest velocity at the end of a record that is shorter than the run, relative to the largest of all."""
ENDING = 0.05
"""Fraction of a record that is its end."""
SAMPLES = 8.0
"""Smallest number of samples per period at which a record can be interpolated in time."""


def check_length(record: Setting, checking: MaterialContext) -> Sequence[tuple[str, str]]:
    """Report an error if the record ends before the run and before the motion; return a row if it ends in between."""
    requested = (checking.steps - 0.5) * checking.step
    if record.last >= requested - record.frame.interval * (1 + 1e-6):
        return []
    remaining, end = remaining_motion(record), checking.case.end_time
    if remaining > AT_REST:
        what = (
            f"the record ends at {record.last:.6g} s, the run at {end:.6g} s, and its last velocities are "
            f"{100 * remaining:.2g} % of the largest"
        )
        allowed = f"a record as long as the run, or until velocities are {100 * AT_REST:g} % of the largest"
        checking.problems.error("injection.file", what, allowed, "Shorten end_time, or record longer.")
    text = f"at {record.last:.6g} s, with velocities of {100 * remaining:.2g} % of the largest; later they are zero"
    return [("end of the record", text)]


def remaining_motion(record: Recorded) -> float:
    """Return the largest velocity in the last ``ENDING`` of a record, relative to the largest of all."""
    peaks = np.zeros(record.samples)
    for first in range(0, record.samples, BLOCK):
        end = min(first + BLOCK, record.samples)
        for values in record.read(VELOCITIES, first, end).values():
            peaks[first:end] = np.maximum(peaks[first:end], np.abs(values).max(1))
    ending = peaks[-max(1, int(ENDING * record.samples)) :]
    return float(ending.max() / max(float(peaks.max()), 1e-300))


def check_samples(found: Look, spacing: float, interval: float, checking: MaterialContext) -> None:
    """Report errors of records with too few points or samples for their highest significant frequency.

    A ``spacing`` [m] of 0 skips the check in space, for records at the points of a grid. ``interval`` [s] is the
    sampling step.
    """
    slowest = float(np.sqrt(_modulus(checking.coarse) / checking.coarse["rho"]).min())
    apart = slowest / (found.highest * spacing) if found.highest * spacing > 0 else np.inf
    wanted = FEWEST if checking.case.grid is None else checking.case.grid.points_per_wavelength
    if apart < FEWEST:
        what = (
            f"contains frequencies up to {found.highest:.3g} Hz, which its spacing of {spacing:g} m "
            f"resolves with {apart:.2g} points per shortest wavelength"
        )
        checking.problems.error("injection.file", what, f"at least {FEWEST:g}", "Record with a smaller spacing.")
    elif apart < wanted:
        what = (
            f"contains frequencies up to {found.highest:.3g} Hz, which its spacing of {spacing:g} m "
            f"resolves with {apart:.2g} points per shortest wavelength"
        )
        checking.problems.warn("injection.file", what, f"{wanted:g} or more")
    period = 1.0 / (found.highest * interval) if found.highest > 0 else np.inf
    if period < SAMPLES:
        what = (
            f"contains frequencies up to {found.highest:.3g} Hz, which its interval of {interval:g} s "
            f"resolves with {period:.2g} samples per period"
        )
        checking.problems.error("injection.file", what, f"at least {SAMPLES:g}", "Record with a shorter interval.")


def check_resolution(found: Look, checking: MaterialContext) -> tuple[str, str]:
    """Return a row that compares the frequencies of a record and of the grid; warn if the grid resolves too few."""
    grid = checking.resolved
    if found.highest > grid:
        lost = float(found.power[found.frequency > grid].sum())
        what = (
            f"contains frequencies up to {found.highest:.3g} Hz, the grid resolves {grid:.3g} Hz: {100 * lost:.2g} % of "
            "the energy of the record is dispersed"
        )
        advice = "Use a smaller spacing, or filter the seismograms."
        checking.problems.warn("injection.file", what, f"up to {grid:.3g} Hz", advice)
    return "frequencies", f"99 % of the energy up to {found.highest:.3g} Hz; the grid resolves {grid:.3g} Hz"


def _modulus(coarse: Mapping[str, np.ndarray]) -> np.ndarray:
    return np.where(coarse["mu"] > 0, coarse["mu"], coarse["lambda"])
