"""What both engines forecast runs with: files that are not written, and the seconds of a run by what they are spent on."""

from __future__ import annotations

import tempfile
import time as clock
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from faultwave.base.progress import duration
from faultwave.engine.part import LatticeFiles, LatticeSeries, Writes

WRITTEN = 1 << 25
"""Bytes written to find out how fast the disk takes them, where much is written."""

COUNTS = 8.0
"""Times so many bytes of output are worth writing some to know."""

SHOWN = 0.05
"""Share of a run's time from which on something is told apart."""


@dataclass
class Unwritten:
    """Files of a run that is only planned: nothing is written, bytes are counted. See ``engine.part.Files``. ``first``: bytes of first
    snapshots; ``whole``: of all until the end."""

    end: float
    first: int = 0
    whole: float = 0.0

    def cells(
        self,
        kind: str,
        points: Any,
        cells: Any,
        static: Any,
        fields: Any,
        interval: float,
        kind_of_cells: Any = "linear",
    ) -> Sequence[Writes]:
        return (_Counted(self, int(self.end / interval + 1e-9) + 1),)

    def lattice(self, kind: str, series: LatticeSeries) -> LatticeFiles:
        return _CountedLattice(self, series.count, series.fields)

    def follow(self, kind: str, snapshots: Any) -> None:
        """No checkpoint is taken."""

    def add(self, count: int, values: Mapping[str, np.ndarray]) -> None:
        size = sum(v.nbytes for v in values.values())
        self.first += size
        self.whole += count * size


@dataclass
class _Counted:
    """A series of ``count`` snapshots, of which the first is counted. The last is kept: one waits to be written in a run."""

    files: Unwritten
    count: int
    waits: Mapping[str, np.ndarray] | None = None

    def append(self, time: float, values: Mapping[str, np.ndarray]) -> None:
        if self.waits is None:
            self.files.add(self.count, values)
        self.waits = values


@dataclass
class _CountedLattice:
    """The same on a lattice, whose snapshots are written when they are taken."""

    files: Unwritten
    count: int
    fields: Sequence[str]
    taken: bool = False

    def append(self, time: float, values: Mapping[str, np.ndarray]) -> None:
        if not self.taken:
            self.files.add(self.count, values)
        self.taken = True


@dataclass(frozen=True)
class RunTime:
    """Seconds of a whole run by what they are spent on; ``rate``: updates a second; ``share`` of the items that were stepped."""

    rate: float
    share: float
    setup: float
    touch: float
    steps: float
    output: float

    @property
    def whole(self) -> float:
        return self.setup + self.touch + self.steps + self.output

    def rows(self) -> list[tuple[str, str]]:
        """What ``faultwave plan`` tells of it."""
        spent = [("set-up", self.setup), ("first touch of memory", self.touch), ("output", self.output)]
        besides = ", ".join(f"{what} {duration(s)}" for what, s in spent if s >= SHOWN * self.whole)
        return [
            ("estimated time stepping", duration(self.steps)),
            ("estimated run time", duration(self.whole) + (f", of it {besides}" if besides else "")),
        ]


def writing_time(folder: Path, size: float) -> float:
    """Seconds that the disk of a folder, which need not be there yet, takes for so many bytes; 0 where these are few."""
    if size < COUNTS * WRITTEN:
        return 0.0
    place = folder.absolute()
    while not place.exists():
        place = place.parent
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            started = clock.perf_counter()
            file.write(bytes(WRITTEN))
            file.flush()
            return size / WRITTEN * (clock.perf_counter() - started)
    except OSError:  # it may be closed to us: that is told elsewhere
        return 0.0


__all__ = ["RunTime", "Unwritten", "writing_time"]
