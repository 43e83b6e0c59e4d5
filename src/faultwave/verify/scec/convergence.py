"""Difference between the quick and the full run of a benchmark, read from their result files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faultwave.output.results import load_results
from faultwave.verify.scec import measure, on_grid
from faultwave.verify.scec.benchmark import find
from faultwave.verify.scec.folder import COST, PREFIX, RESULTS
from faultwave.verify.scec.summary import Summary


@dataclass(frozen=True)
class Apart:
    """Difference between a quick and a full run.

    Attributes
    ----------
    difference : float
        RMS difference of rupture times over the first fault, where both runs ruptured [s].
    mean : float
        Mean rupture time of the full run there [s].
    moment : float
        Seismic moment of the quick run over the moment of the full one, less 1, at ``time``.
    time : float
        End of the shorter run [s].
    """

    difference: float
    mean: float
    moment: float
    time: float


Kept = tuple[Path, Summary]
"""Folder of a benchmark run and its summary."""


def apart(quick: Kept, full: Kept) -> Apart | None:
    """Return the difference of both runs; None if the files of one are missing or it has not ended."""
    places = [folder / f"{summary.sizes[0]:.0f}m" for folder, summary in (quick, full)]
    if not all((place / COST).is_file() for place in places):
        return None
    benchmark, summary = find(quick[1].name), quick[1]
    read = on_grid.read_ruptures if summary.engine == "fd" else measure.read_ruptures
    coarse, fine = (next(iter(read(benchmark, place).values())) for place in places)
    difference, mean = measure.differences(coarse, fine, summary.sizes[0])
    until = min(summary.end_time, full[1].end_time)
    moments = [_moment(place, until) for place in places]
    return Apart(difference, mean, moments[0] / moments[1] - 1, until)


def _moment(place: Path, time: float) -> float:
    energies = load_results(place / RESULTS, PREFIX).energies
    assert energies is not None
    return float(np.interp(time, energies["time"], energies["seismic_moment"]))
