"""Goodness of fit of a run to observed records: scores of each station and component after identical processing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faultwave.base import wording
from faultwave.base.errors import InputError, Problem
from faultwave.base.types import Settings
from faultwave.observe.motions.goodness import CRITERIA, CYCLES, anderson, bands, grade
from faultwave.observe.motions.processing import Processing, as_quantity
from faultwave.observe.motions.time_frequency import misfit
from faultwave.output.pairs import Pair, pairs
from faultwave.output.results import load_results

LETTERS = "xyz"
HEADER = ("station", "component", "Anderson", "", "envelope", "phase", "EM", "PM")


@dataclass(frozen=True)
class Score:
    """Scores of one component.

    Attributes
    ----------
    anderson, envelope, phase : float
        Anderson's score, and the scores of envelope and phase, each 0 to 10.
    envelope_misfit, phase_misfit : float
        Misfits from which the scores of envelope and phase follow.
    bands : tuple of (float, float)
        Frequency bands [Hz].
    criteria : array (b, 10)
        Anderson's criteria C1 to C10 in each band.
    """

    station: str
    component: str
    anderson: float
    envelope: float
    phase: float
    envelope_misfit: float
    phase_misfit: float
    bands: tuple[tuple[float, float], ...]
    criteria: np.ndarray

    @property
    def row(self) -> tuple[str, ...]:
        """Table row of the scores, with the columns of HEADER."""
        numbers = (self.envelope, self.phase, self.envelope_misfit, self.phase_misfit)
        return (
            self.station,
            self.component,
            f"{self.anderson:.1f}",
            grade(self.anderson),
            *(f"{x:.2f}" for x in numbers),
        )


@dataclass(frozen=True)
class Scores:
    """Scores of all stations, with the processing of the records and warnings."""

    run: Path
    data: Path
    processing: Processing
    scores: tuple[Score, ...]
    warnings: tuple[Problem, ...] = ()

    @property
    def mean(self) -> float:
        """Mean of Anderson's score over all stations and components."""
        return float(np.mean([s.anderson for s in self.scores]))

    def __repr__(self) -> str:
        return f"<Scores {self.run} against {self.data}: {self.mean:.1f} ({grade(self.mean)}) of {len(self.scores)} components>"

    def _repr_html_(self) -> str:
        title = f"{self.run} against {self.data}: {self.processing.describe()}"
        return wording.html_table(title, [s.row for s in self.scores], HEADER) + wording.html_paragraphs(
            map(str, self.warnings)
        )

    def as_dict(self) -> Settings:
        """Return plain values for JSON."""
        return {
            "run": str(self.run), "data": str(self.data), "processing": self.processing.describe(), "mean": self.mean,
            "scores": [
                {
                    "station": s.station, "component": s.component, "anderson": s.anderson, "envelope": s.envelope, "phase": s.phase,
                    "envelope_misfit": s.envelope_misfit, "phase_misfit": s.phase_misfit,
                    "bands": [list(b) for b in s.bands], "criteria": dict(zip(CRITERIA, s.criteria.T.tolist(), strict=True)),
                }
                for s in self.scores
            ],
            "warnings": [str(w) for w in self.warnings],
        }  # fmt: skip


def score(
    run: str | Path,
    data: str | Path,
    *,
    quantity: str = "velocity",
    low: float | None = None,
    high: float | None = None,
    until: float | None = None,
    units: str | None = None,
    prefix: str | None = None,
) -> Scores:
    """Score the receivers of a run against observed records in a folder (miniSEED, SAC, StationXML).

    Both are converted to the same quantity, filtered, rotated to x, y and z, aligned by the run's origin time and sampled alike. Scores
    follow Anderson (2004), and Kristekova et al. (2009) for envelope and phase in time and frequency.

    Parameters
    ----------
    run, data : path
        Folders of the run and of the records.
    quantity : str
        Quantity that is compared: 'displacement', 'velocity' or 'acceleration'.
    low, high : float, optional
        Corners of the filter [Hz].
    until : float, optional
        Last time compared [s].
    units : str, optional
        Quantity of files that do not state it.
    prefix : str, optional
        Name of the run, for a folder that holds several.

    Returns
    -------
    Scores
        Scores of each component, and warnings.

    Raises
    ------
    InputError
        If nothing can be compared.
    """
    processing = Processing(quantity, low, high, until)
    found, warnings = pairs(load_results(run, prefix), data, processing, units)
    scores = [s for pair in found for s in scored(pair, processing)]
    if not scores:
        length, step = (max(values) for values in zip(*((p.time[-1] - p.time[0], p.step) for p in found), strict=True))
        what = f"no component can be scored ({processing.describe()}): records last {length:.3g} s, a sample every {step:.3g} s"
        raise InputError(
            [Problem(str(data), what, f"corners between {CYCLES / length:.3g} and {0.4 / step:.3g} Hz"), *warnings]
        )
    return Scores(Path(run), Path(data), processing, tuple(scores), tuple(warnings))


def scored(pair: Pair, processing: Processing) -> Sequence[Score]:
    """Return the scores of the components of a pair that were recorded and are not identically zero."""
    name = ".".join(word for word in (pair.trace.network, pair.trace.station) if word) or pair.record.name
    made = []
    for letter, mine, theirs, there in zip(LETTERS, pair.synthetic, pair.observed, pair.recorded, strict=True):
        chosen = bands(pair.step, float(pair.time[-1] - pair.time[0]), processing.low, processing.high)
        if not there or not theirs.any() or not chosen:
            continue
        a, b = (as_quantity(x, pair.step, processing.quantity, "velocity") for x in (mine, theirs))
        value, used, table = anderson(a, b, pair.step, processing.low, processing.high)
        tf = misfit(mine, theirs, pair.step, *chosen[0])
        made.append(
            Score(name, letter, value, tf.envelope_score, tf.phase_score, tf.envelope, tf.phase, tuple(used), table)
        )
    return made
