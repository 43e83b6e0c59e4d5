"""Stored results of a benchmark: rows, figures and costs, and their folders."""

from __future__ import annotations

import itertools
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from faultwave.output.atomic import atomic_text
from faultwave.verify.case import Row
from faultwave.verify.scec.benchmark import benchmarks

SUMMARY, PICTURE = "result.json", "picture.png"
"""Files of a benchmark."""

ON_GRID, FULL = "-fd", "-full"
"""Endings of the folder names of grids and of full resolutions."""


@dataclass(frozen=True)
class Summary:
    """A benchmark's outcome as it is kept: rows, energies [J], moment [N m] and costs, of the fine and the coarse run where two.
    ``mesh_seconds``: what making both meshes took, NaN where nobody knows; ``precision``: empty where nobody knows."""

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
        """Name of the folder of the results."""
        return folder_of(self.name, self.engine, self.quick)

    @property
    def passed(self) -> bool:
        return all(row.ok for row in self.rows)


def folder_of(name: str, engine: str, quick: bool) -> str:
    """Return the name of the folder with the results of a benchmark."""
    return name + ON_GRID * (engine == "fd") + FULL * (not quick)


def keep(summary: Summary, folder: Path) -> None:
    """Write it into the benchmark's ``folder``."""
    with atomic_text(folder / SUMMARY) as file:
        json.dump(asdict(summary), file, indent=1)
        file.write("\n")


def read_summaries(folder: Path) -> dict[str, tuple[Path, Summary]]:
    """Return the summaries of earlier runs in ``folder`` and their folders, in the order of the benchmarks, by current folder name.

    Full runs were once stored under the names of quick ones.
    """
    found = {}
    for name, engine, quick in itertools.product(benchmarks(), ("dg", "fd"), (True, False)):
        place = folder / folder_of(name, engine, quick)
        if (place / SUMMARY).is_file():
            kept = json.loads((place / SUMMARY).read_text(encoding="utf-8"))
            rows = tuple(Row(**row) for row in kept.pop("rows"))
            given: dict[str, Any] = {name: _tuples(value) for name, value in kept.items()}
            summary = Summary(**{**given, "engine": engine}, rows=rows)
            found[summary.folder] = (place, summary)
    return found


def _tuples(value: object) -> object:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value
