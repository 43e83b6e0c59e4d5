"""Snapshot files of a run, of meshes and lattices: opened for the capabilities, written in the background."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import DTypeLike

from faultwave.base.precision import number_type
from faultwave.base.types import Record, Settings
from faultwave.case.settings.model import Case
from faultwave.comm import World
from faultwave.engine.capability import LatticeSeries, Snapshots
from faultwave.engine.solver import Solver
from faultwave.observe.snapshots.lattice import series_formats
from faultwave.observe.snapshots.pieces import CellKind
from faultwave.output.background import Background, BackgroundWriter
from faultwave.output.field_files.checksums import Earlier, added
from faultwave.output.field_files.fields import CellFieldWriter, ForeignContents
from faultwave.output.field_files.shared import SharedFieldWriter
from faultwave.output.formats.vtkhdf import LagrangeTetrahedra, LagrangeTriangles, VtkHdfWriter
from faultwave.output.formats.xdmf import XdmfWriter


@dataclass(frozen=True)
class Opening:
    """Options for opening the files of a series.

    Attributes
    ----------
    stem : Path
        Folder and first part of the file names.
    dtype : dtype
        Type of the values.
    title : str
        Title of the case.
    earlier : Earlier
        Snapshots that the files already hold and are continued from.
    writes : bool
        True if this process writes.
    """

    stem: Path
    dtype: DTypeLike = np.float32
    title: str = ""
    earlier: Earlier = Earlier()
    writes: bool = True

    @property
    def done(self) -> Sequence[float]:
        """Times of the earlier snapshots [s]."""
        return self.earlier.times


class Triangles(XdmfWriter):
    """Plane of cells (ny, nx), written as two triangles each."""

    def append(self, time: float, values: Mapping[str, np.ndarray]) -> None:
        super().append(time, {name: np.repeat(v.reshape(-1), 2) for name, v in values.items()})


class LatticeFiles:
    """All files of one series, an implementation of ``engine.capability.LatticeFiles``.

    An error in its context discards them.
    """

    def __init__(self, series: LatticeSeries, opening: Opening):
        self.series, self.opening = series, opening
        self.formats = [series_formats()[name] for name in dict.fromkeys(series.formats)]
        flat = [name for form in self.formats for name in form.fields]
        self.fields = tuple(dict.fromkeys([*series.fields, *flat]))
        self.writers: list[Any] = []
        self._stack = ExitStack()
        if opening.writes:
            with ExitStack() as opened:
                for writer in self._opened():
                    self.writers.append(opened.enter_context(writer))
                self._stack = opened.pop_all()

    def _opened(self) -> Any:
        series, (stem, done) = self.series, (self.opening.stem, self.opening.done)
        for form in self.formats:
            yield form.open(series, self.opening)
        if series.mesh is not None:
            count = series.count if done else 0
            yield Triangles(
                f"{stem}.xdmf",
                *series.mesh,
                {},
                series.fields,
                self.opening.dtype,
                count,
                ForeignContents(self.opening.earlier),
            )

    def append(self, time: float, values: Mapping[str, np.ndarray]) -> None:
        """Write a snapshot."""
        for writer in self.writers:
            writer.append(time, {name: values[name] for name in writer.fields})

    @property
    def next_number(self) -> int:
        """Number of snapshots so far."""
        return len(self.writers[0].times) if self.writers else 0

    def go_on(self, number: int) -> None:
        """Do nothing, as the files were opened with the earlier snapshots."""

    def sync_for_checkpoint(self) -> list[float]:
        """Flush all snapshots to disk for a checkpoint, and return the times that all files contain."""
        return min((writer.sync_for_checkpoint() for writer in self.writers), key=len, default=[])

    @property
    def sums(self) -> dict[str, list[int]]:
        """Checksums of all snapshots, by file name."""
        return {writer.path.name: list(writer.sums) for writer in self.writers if hasattr(writer, "sums")}

    @property
    def paths(self) -> list[Path]:
        """Files that will exist after closing."""
        return [path for writer in self.writers for path in (*getattr(writer, "parts", {}).values(), writer.path)]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)


Format = tuple[Callable[..., CellFieldWriter], str]

FORMATS: dict[CellKind, tuple[Format, ...]] = {
    "linear": ((VtkHdfWriter, "vtkhdf"), (XdmfWriter, "xdmf")),
    "lagrange triangles": ((LagrangeTriangles, "vtkhdf"),),
    "lagrange tetrahedra": ((LagrangeTetrahedra, "vtkhdf"),),
}


@dataclass(frozen=True)
class SeriesExtent:
    """Extent of the files of a series.

    Attributes
    ----------
    next : int
        Number of the next snapshot.
    times : list of float
        Times of the earlier snapshots [s].
    sums : dict of str to list of int
        Checksums of the earlier snapshots, by file.
    """

    next: int
    times: list[float]
    sums: dict[str, list[int]]


def extents_from_notes(files: Mapping[str, Record]) -> dict[str, SeriesExtent]:
    """Return the extent of the files by series, from the notes of a checkpoint."""
    return {
        kind: SeriesExtent(int(f["next"]), list(f.get("times", [])), dict(f.get("sums", {})))
        for kind, f in files.items()
    }


def merge_extents(everywhere: Sequence[Mapping[str, Record]]) -> dict[str, Settings]:
    """Merge the extents of files of all processes; a process without cells in a file has no record of it."""
    merged = {}
    for kind in dict.fromkeys(kind for files in everywhere for kind in files):
        having = [files[kind] for files in everywhere if kind in files]
        times = max((file.get("times", []) for file in having), key=len)
        names = dict.fromkeys(name for file in having for name in file.get("sums", {}))
        sums = {n: added([file["sums"][n] for file in having if n in file.get("sums", {})]) for n in names}
        merged[kind] = {
            "next": max(file["next"] for file in having),
            "times": times,
            "sums": {name: found[: len(times)] for name, found in sums.items()},
        }
    return merged


class RunState(Protocol):
    """Run as its snapshot files and its checkpoints see it."""

    case: Case
    solver: Solver
    world: World
    end: float
    interrupted: bool
    files: list[Path]
    resumed: dict[str, SeriesExtent] | None
    resumed_checkpoint: int
    put_aside: bool
    background: Background
    written: SnapshotFiles | None
    checkpoints: int
    missing: list[tuple[float, str]]

    @property
    def time(self) -> float:
        """Time [s] of the state."""

    def input_digests(self) -> dict[str, Settings]:
        """Return size and checksum of every input file (collective)."""


class SnapshotFiles:
    """Implementation of ``engine.capability.Files``; ``stack`` closes the files, or discards them on an error."""

    def __init__(self, session: RunState, folder: Path, stack: ExitStack):
        self.session, self.folder, self.stack = session, folder, stack
        self.end: float = session.end
        self.writers: dict[str, list[Any]] = {}
        self.series: dict[str, Snapshots] = {}

    def cells(
        self, kind: str, points: np.ndarray, cells: np.ndarray, static: Mapping[str, np.ndarray], fields: Sequence[str], interval: float,
        kind_of_cells: CellKind = "linear",
    ) -> list[BackgroundWriter]:  # fmt: skip
        session, out = self.session, self.session.case.output
        dtype = number_type(out.precision)
        earlier = self.earlier(kind)
        done = earlier.times
        ahead = np.floor(self.end / interval + 1e-9) + 1
        steps = int(ahead - np.ceil((0.0 if done else session.time) / interval - 1e-9))
        writers: list[CellFieldWriter | SharedFieldWriter] = []
        for make, suffix in FORMATS[kind_of_cells]:
            if suffix == "xdmf" and not out.xdmf:
                continue
            several = session.world.size > 1
            path = Path(f"{self.folder / out.prefix}-{kind}.{suffix}")
            new = functools.partial(
                _opened, make, (path, list(fields), dtype, steps, ForeignContents(earlier, mesh=several))
            )
            writers.append(
                SharedFieldWriter(session.world, new, points, cells, static, out.shared_files, bool(done))
                if several
                else new(points, cells, static)
            )
        for writer in writers:
            self.keep(kind, writer)
        return [BackgroundWriter(writer, session.background) for writer in writers]

    def lattice(self, kind: str, series: LatticeSeries) -> LatticeFiles:
        session, out = self.session, self.session.case.output
        dtype = number_type(out.precision)
        stem = self.folder / f"{out.prefix}-{kind}"
        opening = Opening(stem, dtype, session.case.title, self.earlier(kind), session.world.first)
        files = self.stack.enter_context(LatticeFiles(series, opening))
        self.writers.setdefault(kind, []).append(files)
        self.session.files += files.paths
        self.follow(kind, files)
        return files

    def keep(self, kind: str, writer: Any) -> None:
        """Close ``writer`` at the end of the run, and list its files in the manifest."""
        self.stack.enter_context(writer)
        self.writers.setdefault(kind, []).append(writer)
        self.session.files += [*getattr(writer, "parts", {}).values(), writer.path]

    def earlier(self, kind: str) -> Earlier:
        """Return the snapshots that a resumed run has already written."""
        found = (self.session.resumed or {}).get(kind)
        return Earlier() if found is None else Earlier(found.times, found.sums, self.session.put_aside)

    def follow(self, kind: str, snapshots: Snapshots) -> None:
        self.series[kind] = snapshots

    def resume(self) -> None:
        """Continue every series where the files of a resumed run end."""
        for kind, reached in (self.session.resumed or {}).items():
            if kind in self.series:
                self.series[kind].go_on(reached.next)

    def notes(self) -> dict[str, Settings]:
        """Return the notes of a checkpoint on each series."""
        return {kind: {"next": series.next_number} for kind, series in self.series.items()}

    def reached(self) -> dict[str, SeriesExtent]:
        """Return the extent of the files of every series (collective), on each process for its own files."""
        notes: Settings = {"files": self.notes()}
        self.sync_for_checkpoint(notes)
        world = self.session.world
        everywhere = world.gather(notes["files"])
        return extents_from_notes(world.broadcast(None if everywhere is None else merge_extents(everywhere)))

    def sync_for_checkpoint(self, notes: Settings) -> None:
        """Flush submitted snapshots to disk and record the extent of the files."""
        for kind, writers in self.writers.items():
            if kind in notes["files"]:
                times: list[float] = min((w.sync_for_checkpoint() for w in writers), key=len, default=[])
                sums: dict[str, list[int]] = {}
                for writer in writers:
                    found = getattr(writer, "sums", [])
                    sums |= found if isinstance(found, dict) else {writer.path.name: list(found)}
                notes["files"][kind] |= {"times": times, "sums": {n: s[: len(times)] for n, s in sums.items()}}


def _opened(
    make: Callable[..., CellFieldWriter], how: tuple[Path, list[str], DTypeLike, int, ForeignContents], points: np.ndarray,
    cells: np.ndarray, static: Mapping[str, np.ndarray],
) -> CellFieldWriter:  # fmt: skip
    path, names, dtype, steps, elsewhere = how
    return make(path, points, cells, static, names, dtype, steps, elsewhere)
