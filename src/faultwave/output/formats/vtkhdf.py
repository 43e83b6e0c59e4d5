"""Temporal VTKHDF 2.0: an unstructured mesh stored once and cell fields in time, read by ParaView and VTK.

Format: https://docs.vtk.org/en/latest/vtk_file_formats/vtkhdf_file_format (UnstructuredGrid, Steps).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import h5py
import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.output.fields import CHUNK, CellFieldWriter

_TYPES = {3: 5, 4: 10}  # VTK_TRIANGLE, VTK_TETRA


class VtkHdfWriter(CellFieldWriter):
    """One file, ``path``; the snapshots of a field are concatenated, the mesh and static fields stand once."""

    def _write_mesh(
        self, file: h5py.File, points: np.ndarray, cells: np.ndarray, static: Mapping[str, np.ndarray]
    ) -> None:
        root = file.create_group("VTKHDF", track_order=True)
        root.attrs["Version"] = np.array([2, 0], dtype=np.int64)
        kind = b"UnstructuredGrid"  # VTK reads only a fixed-length ASCII string here
        root.attrs.create("Type", kind, dtype=h5py.string_dtype("ascii", len(kind)))
        count, corners = cells.shape
        root["NumberOfPoints"] = np.array([len(points)], dtype=np.int64)
        root["NumberOfCells"] = np.array([count], dtype=np.int64)
        root["NumberOfConnectivityIds"] = np.array([cells.size], dtype=np.int64)
        root["Points"] = points
        root["Connectivity"] = cells.reshape(-1).astype(np.int64)
        root["Offsets"] = np.arange(0, cells.size + 1, corners, dtype=np.int64)
        root["Types"] = np.full(count, _TYPES[corners], dtype=np.uint8)
        data = root.create_group("CellData", track_order=True)
        for name, values in static.items():
            data[name] = values
        for name in self.fields:
            chunk = (max(1, min(count, CHUNK)),)
            data.create_dataset(name, (0,), self.dtype, maxshape=(None,), chunks=chunk)
        root.create_group("Steps").create_group("CellDataOffsets")

    def _write_step(self, file: h5py.File, step: int, time: float, values: Mapping[str, np.ndarray]) -> None:
        start = step * self.cell_count
        for name, array in values.items():
            data = file["VTKHDF/CellData"][name]
            data.resize((start + self.cell_count,))
            data[start:] = array

    def _finish(self, file: h5py.File) -> None:
        steps, count = file["VTKHDF/Steps"], len(self.times)
        steps.attrs["NSteps"] = np.int64(count)
        steps["Values"] = np.array(self.times, dtype=np.float64)
        steps["NumberOfParts"] = np.ones(count, dtype=np.int64)
        for name, shape in (("PartOffsets", (count,)), ("PointOffsets", (count,))):
            steps[name] = np.zeros(shape, dtype=np.int64)  # every step reads the one mesh
        for name in ("CellOffsets", "ConnectivityIdOffsets"):
            steps[name] = np.zeros((count, 1), dtype=np.int64)
        moving = np.arange(count, dtype=np.int64) * self.cell_count
        for name in file["VTKHDF/CellData"]:
            steps["CellDataOffsets"][name] = moving if name in self.fields else np.zeros_like(moving)


class VtkHdfReader:
    """Reads what ``VtkHdfWriter`` wrote, one field of one step at a time.

    points (np, 3), cells (nc, 3|4), times (nt,), fields: names that change in time, static: names that do not.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            self._file = h5py.File(self.path, "r")
        except OSError as error:
            raise InputError(Problem(str(path), f"is no readable VTKHDF file: {error}")) from error
        try:
            self._read_mesh()
        except (KeyError, ValueError) as error:
            self._file.close()
            raise InputError(Problem(str(path), f"is no temporal VTKHDF file of one cell type: {error}")) from error

    def _read_mesh(self) -> None:
        root = self._file["VTKHDF"]
        offsets = root["Offsets"][:]
        corners = np.unique(np.diff(offsets))
        if len(corners) > 1:
            raise ValueError("it mixes cell types")
        self.points: np.ndarray = root["Points"][:]
        count = len(offsets) - 1
        self.cells: np.ndarray = root["Connectivity"][:].reshape(count, int(corners[0]) if count else 3)
        steps = root["Steps"]
        self.times: np.ndarray = steps["Values"][:]
        self._offsets = {name: steps["CellDataOffsets"][name][:] for name in root["CellData"]}
        lengths = {name: root["CellData"][name].shape[0] for name in root["CellData"]}
        # with one step a field that changes and one that does not look alike
        still = {n for n in lengths if lengths[n] == count and not self._offsets[n].any() and len(self.times) != 1}
        self.static = tuple(n for n in lengths if n in still)
        self.fields = tuple(n for n in lengths if n not in self.static)

    def __contains__(self, name: object) -> bool:
        return name in self._offsets

    def field(self, name: str, step: int = -1) -> np.ndarray:
        """Values (nc,) of a field, changing or static, at a step; the last one by default. InputError if absent."""
        if name not in self._offsets:
            raise InputError(Problem(str(self.path), f"has no field '{name}'", ", ".join(sorted(self._offsets))))
        offsets = self._offsets[name]
        start = int(offsets[step]) if len(offsets) else 0
        return np.asarray(self._file["VTKHDF/CellData"][name][start : start + len(self.cells)])

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
