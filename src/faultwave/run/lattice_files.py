"""Snapshot files of fields on lattices, in the formats of the case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike

from faultwave.engine.capability import LatticeSeries
from faultwave.observe.snapshots.grid_formats import series_formats
from faultwave.output.field_files.checksums import Earlier
from faultwave.output.field_files.fields import ForeignContents
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


__all__ = ["LatticeFiles", "Opening"]
