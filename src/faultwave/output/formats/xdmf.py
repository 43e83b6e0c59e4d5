"""XDMF 3 with HDF5, for tools that do not read VTKHDF.

Every field of every snapshot is a dataset of its own with explicit dimensions; hyperslabs of growing arrays, which ParaView's
Xdmf3 reader handles badly, are avoided. Format: https://www.xdmf.org/index.php/XDMF_Model_and_Format.
"""

from __future__ import annotations

import html
from pathlib import Path

import h5py
import numpy as np

from faultwave.output.field_files.fields import CellFieldWriter, Mesh, place, typed_placeholder

_TOPOLOGY = {3: "Triangle", 4: "Tetrahedron"}


class XdmfWriter(CellFieldWriter):
    """Writer of two files, ``path`` (NAME.xdmf) and NAME.h5 next to it, which may only be moved together."""

    GEOMETRY = ("mesh/points", "mesh/cells")
    STATIC = "static"

    def _data_path(self) -> Path:
        return self.path.with_suffix(".h5")

    def _paths(self) -> tuple[Path, ...]:
        return (self._data_path(), self.path)

    def _write_mesh(self, file: h5py.File, mesh: Mesh, steps: int) -> None:
        points, cells, static = mesh
        place(file.create_group("mesh"), "points", points.shape, np.float64)
        place(file["mesh"], "cells", cells.shape, np.int64)
        for name, values in static.items():
            whole = values.dtype.kind in "iub"
            place(file.require_group("static"), name, values.shape, np.int64 if whole else values.dtype)
        for step in range(steps):
            group = file.create_group(_step(step))
            for name in self.fields:
                place(group, name, (self.cell_count,), self.dtype)

    @classmethod
    def pieces(cls, mesh: Mesh, point: int, cell: int) -> dict[str, tuple[int, np.ndarray]]:
        points, cells, static = mesh
        found = {"mesh/points": (point, points), "mesh/cells": (cell, cells.astype(np.int64) + point)}
        return found | {f"static/{name}": (cell, values) for name, values in static.items()}

    def _read_mesh(self, file: h5py.File) -> Mesh:
        static = {name: typed_placeholder(data.shape, data.dtype) for name, data in self._static(file).items()}
        return (
            typed_placeholder(file["mesh/points"].shape, np.float64),
            typed_placeholder(file["mesh/cells"].shape, np.int64),
            static,
        )

    def _find(self, file: h5py.File) -> tuple[int, dict[str, np.ndarray]]:
        count = sum(name.startswith("step_") for name in file)
        data = [name for name in self.fields if not count or file[f"{_step(0)}/{name}"].dtype == self.dtype]
        places = {n: [file[f"{_step(i)}/{n}"].id.get_offset() or 0 for i in range(count)] for n in data}
        return count, {name: np.array(offsets, np.int64) for name, offsets in places.items()}

    def _finish(self) -> None:
        with h5py.File(self._working, "r") as file:
            items = [*(f"static/{name}" for name in file.get("static", {}))]
            grids = [self._grid(file, step, time, items) for step, time in enumerate(self.times)]
        lines = [
            '<?xml version="1.0" encoding="utf-8"?>',
            '<Xdmf Version="3.0">',
            "<Domain>",
            '<Grid Name="time" GridType="Collection" CollectionType="Temporal">',
            *grids,
            "</Grid>",
            "</Domain>",
            "</Xdmf>",
        ]
        self._temporary(self.path).write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _grid(self, file: h5py.File, step: int, time: float, static: list[str]) -> str:
        cells = file["mesh/cells"]
        paths = [*static, *(f"{_step(step)}/{name}" for name in self.fields)]
        attributes = "\n".join(
            f'<Attribute Name="{html.escape(path.split("/", 1)[1])}" AttributeType="Scalar" Center="Cell">'
            f"{self._item(file, path)}</Attribute>"
            for path in paths
        )
        return "\n".join(
            [
                f'<Grid Name="{_step(step)}" GridType="Uniform">',
                f'<Time Value="{time!r}"/>',
                f'<Topology TopologyType="{_TOPOLOGY[cells.shape[1]]}" NumberOfElements="{cells.shape[0]}">'
                f"{self._item(file, 'mesh/cells')}</Topology>",
                f'<Geometry GeometryType="XYZ">{self._item(file, "mesh/points")}</Geometry>',
                attributes,
                "</Grid>",
            ]
        )

    def _item(self, file: h5py.File, path: str) -> str:
        data = file[path]
        kind = "Float" if data.dtype.kind == "f" else "Int"
        dimensions = " ".join(map(str, data.shape))
        return (
            f'<DataItem Format="HDF" NumberType="{kind}" Precision="{data.dtype.itemsize}" '
            f'Dimensions="{dimensions}">{self._data_path().name}:/{path}</DataItem>'
        )


def _step(number: int) -> str:
    return f"step_{number:06d}"
