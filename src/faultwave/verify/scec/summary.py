"""Stored outcome of a benchmark: rows, figures and costs, and the folders that hold them."""

from __future__ import annotations

import itertools
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from faultwave.base.types import Settings
from faultwave.output.atomic import atomic_text
from faultwave.verify.case import Row
from faultwave.verify.scec.benchmark import benchmarks

SUMMARY, PICTURE = "result.json", "picture.png"
"""File names of a benchmark's outcome."""

ON_GRID, FULL = "-fd", "-full"
"""Suffixes of the folder names of grid runs and of full runs."""


@dataclass(frozen=True)
class Summary:
    """Stored outcome of a benchmark; pairs hold the fine and the coarse run.

    Attributes
    ----------
    name, quick, engine
        Benchmark, resolution and engine.
    sizes : tuple of float
        Element edges or spacings [m].
    order, end_time, cells, precision
        Discretisation of the fine run; ``precision`` is empty if unknown.
    core_seconds : tuple of float
        Core time of the runs [s].
    moments : tuple of float
        Seismic moments [N m].
    radiated : float
        Total less static frictional work at the end [J].
    mean_slip, ruptured : float
        Mean slip [m] and ruptured share of the area over all faults.
    difference : float
        RMS difference of rupture times of both runs on the first fault [s].
    stations : tuple
        Fault, s, d [m] and rupture time [s] of each station.
    rows : tuple of Row
        Judged numbers.
    mesh_seconds : float
        Time for the meshes of both runs [s], NaN if unknown.
    """

    name: str
    quick: bool
    sizes: tuple[float, float]
    order: int
    end_time: float
    cells: int
    core_seconds: tuple[float, float]
    moments: tuple[float, float]
    radiated: float
    mean_slip: float
    difference: float
    ruptured: float
    stations: tuple[tuple[str, float, float, float], ...]
    rows: tuple[Row, ...]
    engine: str = "dg"
    precision: str = ""
    mesh_seconds: float = np.nan

    @property
    def folder(self) -> str:
        """Name of the benchmark's folder."""
        return folder_of(self.name, self.engine, self.quick)

    @property
    def passed(self) -> bool:
        return all(row.ok for row in self.rows)


def folder_of(name: str, engine: str, quick: bool) -> str:
    """Return the folder name for the results of a benchmark."""
    return name + ON_GRID * (engine == "fd") + FULL * (not quick)


def keep(summary: Summary, folder: Path) -> None:
    """Write the summary into the benchmark's ``folder``."""
    with atomic_text(folder / SUMMARY) as file:
        json.dump(asdict(summary), file, indent=1)
        file.write("\n")


def read_summaries(folder: Path) -> dict[str, tuple[Path, Summary]]:
    """Return the summaries in ``folder`` with their paths, by the current folder names, in the order of the benchmarks.

    Full runs of early versions were stored under the names of quick ones.
    """
    found = {}
    for name, engine, quick in itertools.product(benchmarks(), ("dg", "fd"), (True, False)):
        place = folder / folder_of(name, engine, quick)
        if (place / SUMMARY).is_file():
            retained = json.loads((place / SUMMARY).read_text(encoding="utf-8"))
            rows = tuple(Row(**row) for row in retained.pop("rows"))
            given: Settings = {name: _tuples(value) for name, value in retained.items()}
            summary = Summary(**{**given, "engine": engine}, rows=rows)
            found[summary.folder] = (place, summary)
    return found


def _tuples(value: object) -> object:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value
