"""Tools of the run forecast: files that only count bytes, and the run time by activity."""

from __future__ import annotations

import tempfile
import time as clock
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faultwave.base.files.paths import existing_folder
from faultwave.base.progress import duration
from faultwave.engine.capability import LatticeFiles, LatticeSeries, Snapshots, Writes
from faultwave.observe.dataset import sample_count
from faultwave.observe.snapshots.pieces import CellKind

WRITTEN = 1 << 25
"""Size of the test file that measures the speed of the disk [bytes]."""

MEASURED_FROM = 8.0
"""Smallest output, in multiples of ``WRITTEN``, for which the speed of the disk is measured."""

SHOWN = 0.05
"""Smallest share of the run time that is listed separately."""


@dataclass
class CountingFiles:
    """Output files of a run that is only planned: bytes are counted and nothing is written.

    It implements ``engine.capability.Files``.

    Attributes
    ----------
    end : float
        End time of the run [s].
    first : int
        Size of the first snapshot of all series [bytes].
    whole : float
        Size of all snapshots until the end [bytes].
    """

    end: float
    first: int = 0
    whole: float = 0.0

    def cells(
        self,
        kind: str,
        points: np.ndarray,
        cells: np.ndarray,
        static: Mapping[str, np.ndarray],
        fields: Sequence[str],
        interval: float,
        kind_of_cells: CellKind = "linear",
    ) -> Sequence[Writes]:
        return (_Counted(self, sample_count(self.end, interval)),)

    def lattice(self, kind: str, series: LatticeSeries) -> LatticeFiles:
        return _CountedLattice(self, series.count, series.fields)

    def follow(self, kind: str, snapshots: Snapshots) -> None:
        """Do nothing, as no checkpoint is taken."""

    def add(self, count: int, values: Mapping[str, np.ndarray]) -> None:
        size = sum(v.nbytes for v in values.values())
        self.first += size
        self.whole += count * size

    def output_time(self, taken: float, stepping: float, folder: Path) -> float:
        """Estimate the time [s] that output adds to a run.

        Parameters
        ----------
        taken : float
            Time to compute the first snapshots of all series [s].
        stepping : float
            Time of all steps [s], during which files are written.
        folder : Path
            Output folder.
        """
        return taken * self.whole / max(self.first, 1) + max(0.0, writing_time(folder, self.whole) - stepping)


@dataclass
class _Counted:
    """Series of ``count`` snapshots, of which only the first is counted.

    The last snapshot stays referenced, because a run also holds one snapshot in memory until it is written.
    """

    files: CountingFiles
    count: int
    waits: Mapping[str, np.ndarray] | None = None

    def append(self, time: float, values: Mapping[str, np.ndarray]) -> None:
        if self.waits is None:
            self.files.add(self.count, values)
        self.waits = values


@dataclass
class _CountedLattice:
    """Series of snapshots on a lattice, of which only the first is counted.

    A run writes these snapshots at once, so none stays in memory.
    """

    files: CountingFiles
    count: int
    fields: Sequence[str]
    taken: bool = False

    def append(self, time: float, values: Mapping[str, np.ndarray]) -> None:
        if not self.taken:
            self.files.add(self.count, values)
        self.taken = True


@dataclass(frozen=True)
class RunTime:
    """Estimated run time by activity.

    Attributes
    ----------
    rate : float
        Updates of cells or grid points per second.
    share : float
        Fraction of the cells or grid points that were stepped to measure the rate.
    setup, touch, steps, output : float
        Time of set-up, first touch of memory, time stepping and output [s].
    """

    rate: float
    share: float
    setup: float
    touch: float
    steps: float
    output: float

    @property
    def whole(self) -> float:
        """Estimated time of the whole run [s]."""
        return self.setup + self.touch + self.steps + self.output

    def rows(self) -> list[tuple[str, str]]:
        """Return the rows of ``faultwave plan`` on time stepping and the whole run, with large contributions listed."""
        spent = [("set-up", self.setup), ("first touch of memory", self.touch), ("output", self.output)]
        besides = ", ".join(f"{what} {duration(s)}" for what, s in spent if s >= SHOWN * self.whole)
        return [
            ("estimated time stepping", duration(self.steps)),
            ("estimated run time", duration(self.whole) + (f", of it {besides}" if besides else "")),
        ]


def writing_time(folder: Path, size: float) -> float:
    """Estimate the time [s] to write ``size`` bytes to the disk of a folder, which need not exist yet.

    The speed is measured with a temporary file of ``WRITTEN`` bytes. The result is 0 if the output is small (less than
    ``MEASURED_FROM * WRITTEN``) or the folder cannot be written to.
    """
    if size < MEASURED_FROM * WRITTEN:
        return 0.0
    place = existing_folder(folder.absolute())
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            started = clock.perf_counter()
            file.write(bytes(WRITTEN))
            file.flush()
            return size / WRITTEN * (clock.perf_counter() - started)
    except OSError:  # the folder may not be writable, which is reported elsewhere
        return 0.0
