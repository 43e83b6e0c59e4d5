"""What the writers of cell fields in time share: checks of their arguments, temporary files, closing and aborting."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import h5py
import numpy as np
from numpy.typing import DTypeLike

from faultwave.output.atomic import explaining, remove, replace, temporary_name
from faultwave.output.hdf5 import PatientFile

CHUNK = 1 << 18
"""Largest number of cells in one HDF5 chunk."""


class CellFieldWriter(ABC):
    """Writes scalar cell fields of a fixed mesh, one snapshot after the other.

    points (np, 3) [m]; cells (nc, 3) triangles or (nc, 4) tetrahedra, indices into points; static: values (nc,) that do
    not change; fields: names of the (nc,) arrays every ``append`` brings; dtype: their precision on disk.

    The file has a temporary name until ``close``; ``abort`` removes it. As a context manager it closes at the end and
    aborts on any error. Raises InputError where the path cannot be written, RunError when the disk fills.
    """

    def __init__(
        self,
        path: str | Path,
        points: np.ndarray,
        cells: np.ndarray,
        static: Mapping[str, np.ndarray] | None = None,
        fields: Sequence[str] = (),
        dtype: DTypeLike = np.float32,
    ) -> None:
        self.path = Path(path)
        self.fields = tuple(fields)
        self.dtype = np.dtype(dtype)
        self.times: list[float] = []
        points, cells = np.asarray(points, dtype=np.float64), np.asarray(cells)
        if points.ndim != 2 or points.shape[1] != 3:
            raise ValueError(f"points of shape {points.shape}, expected (n, 3)")
        if cells.ndim != 2 or cells.shape[1] not in (3, 4):
            raise ValueError(f"cells of shape {cells.shape}, expected (n, 3) or (n, 4)")
        self.cell_count = len(cells)
        static = {name: self._checked(name, values) for name, values in (static or {}).items()}
        if repeated := set(static) & set(self.fields):
            raise ValueError(f"fields both static and in time: {', '.join(sorted(repeated))}")
        self._raw: PatientFile | None = None
        self._file: h5py.File | None = None
        try:
            with explaining(self.path):
                self._raw = PatientFile(self._temporary(self._data_path()))
                self._file = h5py.File(self._raw, "w")
                self._write_mesh(self._file, points, cells, static)
                self._raw.check()
        except BaseException:
            self.abort()
            raise

    def append(self, time: float, values: Mapping[str, np.ndarray]) -> None:
        """Add the snapshot of one time [s]; ``values`` holds every field, (nc,) each, SI.

        Raises ValueError for missing or unknown fields, times that do not increase and wrong shapes; RunError if
        writing fails, in which case the file is gone.
        """
        if self._file is None or self._raw is None:
            raise ValueError(f"{self.path.name} is closed")
        if self.times and not time > self.times[-1]:
            raise ValueError(f"{self.path.name}: time {time} does not follow {self.times[-1]}")
        if set(values) != set(self.fields):
            raise ValueError(f"{self.path.name}: got fields {sorted(values)}, expected {sorted(self.fields)}")
        arrays = {name: self._checked(name, values[name]).astype(self.dtype) for name in self.fields}
        try:
            with explaining(self.path):
                self._write_step(self._file, len(self.times), float(time), arrays)
                self._raw.check()
        except BaseException:
            self.abort()
            raise
        self.times.append(float(time))

    def close(self) -> None:
        """Finish the file and give it its name. Does nothing if already closed or aborted."""
        if self._file is None or self._raw is None:
            return
        try:
            with explaining(self.path):
                self._finish(self._file)
                self._file.close()
                self._raw.check()
                self._raw.close()
        except BaseException:
            self.abort()
            raise
        self._file = self._raw = None
        for path in self._paths():  # the data file first: what refers to it appears last
            replace(self._temporary(path), path)

    def abort(self) -> None:
        """Drop everything written so far; finished files of earlier runs are not touched."""
        if self._file is not None:
            with contextlib.suppress(Exception):  # an error is on its way already
                self._file.close()
        if self._raw is not None:
            self._raw.close()
        self._file = self._raw = None
        remove(*(self._temporary(path) for path in self._paths()))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def _checked(self, name: str, values: np.ndarray) -> np.ndarray:
        values = np.asarray(values)
        if values.shape != (self.cell_count,):
            raise ValueError(f"{self.path.name}: '{name}' has shape {values.shape}, expected ({self.cell_count},)")
        return values

    def _data_path(self) -> Path:
        return self.path

    def _paths(self) -> tuple[Path, ...]:
        """Every file of the format, the HDF5 file first."""
        return (self.path,)

    @staticmethod
    def _temporary(path: Path) -> Path:
        return temporary_name(path)

    @abstractmethod
    def _write_mesh(
        self, file: h5py.File, points: np.ndarray, cells: np.ndarray, static: Mapping[str, np.ndarray]
    ) -> None: ...

    @abstractmethod
    def _write_step(self, file: h5py.File, step: int, time: float, values: Mapping[str, np.ndarray]) -> None: ...

    def _finish(self, file: h5py.File) -> None:
        """What can only be written once the number of steps is known."""
        return
