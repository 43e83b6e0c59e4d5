"""Temporal VTKHDF 2.0: an unstructured mesh stored once and cell fields in time, read by ParaView and VTK.

Format: https://docs.vtk.org/en/latest/vtk_file_formats/vtkhdf_file_format (UnstructuredGrid, Steps).
"""

from __future__ import annotations

import h5py
import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.files.hdf5 import dataset, naming_file_errors
from faultwave.observe.snapshots.pieces import MOST_DEGREE, degree_of, mean_weights, node_count
from faultwave.output.field_files.fields import TIME, CellFieldWriter, Mesh, contiguous, place, typed_placeholder
from faultwave.output.field_files.hdf5 import Hdf5Reader

_LINEAR = {3: 5, 4: 10}  # VTK_TRIANGLE, VTK_TETRA
_LAGRANGE = {69: 3, 71: 4}  # VTK_LAGRANGE_TRIANGLE, VTK_LAGRANGE_TETRAHEDRON, and their corners


WHAT = "temporal VTKHDF file of one cell type"


class VtkHdfWriter(CellFieldWriter):
    """Writer of one file ``path`` in which the snapshots of a field are concatenated; mesh and static fields are stored once."""

    GEOMETRY = ("VTKHDF/Points", "VTKHDF/Connectivity", "VTKHDF/Offsets", "VTKHDF/Types")
    STATIC = "VTKHDF/CellData"
    FIELDS = "CellData"
    """Group of the fields in time."""

    @staticmethod
    def cell_type(corners: int) -> int:
        """Return VTK's cell type for this number of corners, or nodes."""
        return _LINEAR[corners]

    def _write_mesh(self, file: h5py.File, mesh: Mesh, steps: int) -> None:
        points, cells, static = mesh
        root = file.create_group("VTKHDF", track_order=True)
        root.attrs["Version"] = np.array([2, 0], dtype=np.int64)
        kind = b"UnstructuredGrid"  # VTK reads only a fixed-length ASCII string here
        root.attrs.create("Type", kind, dtype=h5py.string_dtype("ascii", len(kind)))
        count, corners = cells.shape
        root["NumberOfPoints"] = np.array([len(points)], dtype=np.int64)
        root["NumberOfCells"] = np.array([count], dtype=np.int64)
        root["NumberOfConnectivityIds"] = np.array([cells.size], dtype=np.int64)
        place(root, "Points", points.shape, np.float64)
        place(root, "Connectivity", (cells.size,), np.int64)
        place(root, "Offsets", (count + 1,), np.int64)
        place(root, "Types", (count,), np.uint8)
        data = root.create_group("CellData", track_order=True)
        for name, values in static.items():
            place(data, name, values.shape, values.dtype)
        moving = data if self.FIELDS == "CellData" else root.create_group(self.FIELDS, track_order=True)
        for name in self.fields:
            place(moving, name, (steps * self.cell_count,), self.dtype)
        self._write_steps(root, steps)

    def _write_steps(self, root: h5py.Group, count: int) -> None:
        steps = root.create_group("Steps")
        steps.attrs["NSteps"] = np.int64(count)
        place(steps, "Values", (count,), np.float64)
        steps["NumberOfParts"] = np.ones(count, dtype=np.int64)
        for name, shape in (("PartOffsets", (count,)), ("PointOffsets", (count,))):
            steps[name] = np.zeros(shape, dtype=np.int64)  # every step reads the one mesh
        for name in ("CellOffsets", "ConnectivityIdOffsets"):
            steps[name] = np.zeros((count, 1), dtype=np.int64)
        moving = np.arange(count, dtype=np.int64) * self.cell_count
        for group in dict.fromkeys(("CellData", self.FIELDS)):
            offsets = steps.create_group(f"{group}Offsets")
            for name in root[group]:
                offsets[name] = moving if name in self.fields else np.zeros_like(moving)

    @classmethod
    def pieces(cls, mesh: Mesh, point: int, cell: int) -> dict[str, tuple[int, np.ndarray]]:
        points, cells, static = mesh
        count, corners = cells.shape
        ends = corners * np.arange(cell, cell + count + 1, dtype=np.int64)  # the first is the end of the preceding cell
        found = {
            "Points": (point, points), "Connectivity": (corners * cell, cells.reshape(-1).astype(np.int64) + point),
            "Offsets": (cell, ends), "Types": (cell, np.full(count, cls.cell_type(corners), np.uint8)),
        } | {f"CellData/{name}": (cell, values) for name, values in static.items()}  # fmt: skip
        return {f"VTKHDF/{name}": rows for name, rows in found.items()}

    def _read_mesh(self, file: h5py.File) -> Mesh:
        root = file["VTKHDF"]
        count = len(root["Types"])
        corners = len(root["Connectivity"]) // count if count else 3
        static = {name: typed_placeholder(data.shape, data.dtype) for name, data in self._static(file).items()}
        return (
            typed_placeholder(root["Points"].shape, np.float64),
            typed_placeholder((count, corners), np.int64),
            static,
        )

    def _find(self, file: h5py.File) -> tuple[int, dict[str, np.ndarray]]:
        root, size = file["VTKHDF"], self.cell_count * self.dtype.itemsize
        count = int(root["Steps"].attrs["NSteps"])
        data = [name for name in self.fields if root[self.FIELDS][name].dtype == self.dtype]
        found = {name: contiguous(root[self.FIELDS][name], size, count) for name in data}
        return count, found | {TIME: contiguous(root["Steps/Values"], 8, count)}

    def _shorten(self) -> None:
        with h5py.File(self._working, "r+") as file:
            file["VTKHDF/Steps"].attrs.modify("NSteps", np.int64(len(self.times)))


class _LagrangeWriter(VtkHdfWriter):
    """Writer of cells of high degree, with a value at every node.

    ``points`` are the nodes, ``cells`` (nc, n) their indices in VTK's order, and each node belongs to one cell only. Fields hold the nodes
    of one cell after the other.
    """

    FIELDS = "PointData"

    @staticmethod
    def per_cell(corners: int) -> int:
        return corners


class LagrangeTriangles(_LagrangeWriter):
    """Writer of fields on Lagrange triangles of any degree."""

    CORNERS = [node_count(2, degree) for degree in range(1, MOST_DEGREE + 1)]

    @staticmethod
    def cell_type(corners: int) -> int:
        return 69


class LagrangeTetrahedra(_LagrangeWriter):
    """Writer of fields on Lagrange tetrahedra of any degree."""

    CORNERS = [node_count(3, degree) for degree in range(1, MOST_DEGREE + 1)]

    @staticmethod
    def cell_type(corners: int) -> int:
        return 71


class VtkHdfReader(Hdf5Reader):
    """Reader of the files of ``VtkHdfWriter``, one field of one snapshot at a time.

    Attributes
    ----------
    points : ndarray of shape (np, 3)
        Points [m].
    cells : ndarray of shape (nc, 3) or (nc, 4)
        Indices of the corners of each cell.
    nodes : ndarray of shape (nc, n)
        Indices of all nodes of each cell; for cells of high degree a field's value is its mean over the cell, and ``at_nodes`` returns the
        values at the nodes.
    times : ndarray of shape (nt,)
        Times [s].
    fields, static : tuple of str
        Names of the fields that change with time, and of the static ones.
    """

    what = WHAT

    def _read(self, name: str, dimensions: int, kinds: str = "iu") -> np.ndarray:
        return np.asarray(dataset(self.path, self._file, f"VTKHDF/{name}", dimensions, kinds, empty=True)[()])

    def _look(self) -> None:
        if "VTKHDF" not in self._file:
            raise ValueError("it has no group 'VTKHDF'")
        offsets = self._read("Offsets", 1).astype(np.int64)
        corners = np.unique(np.diff(offsets))
        if len(corners) > 1 or len(offsets) < 1:
            raise ValueError("it mixes cell types, or has no list of cells")
        self.points: np.ndarray = self._read("Points", 2, "f")
        count = len(offsets) - 1
        connected = self._read("Connectivity", 1).astype(np.int64)
        self.nodes: np.ndarray = connected.reshape(count, int(corners[0]) if count else 3)
        self.cells, self._mean = self._corners()
        if self.points.shape[1] != 3 or (count and not 0 <= self.nodes.min() <= self.nodes.max() < len(self.points)):
            raise ValueError(f"its cells are not made of its {len(self.points)} points")
        steps = int(
            self._file["VTKHDF/Steps"].attrs.get("NSteps", -1)
        )  # after a full disk the file may have space for more snapshots
        whole: np.ndarray = self._read("Steps/Values", 1, "f")
        steps = steps if 0 <= steps <= len(whole) else len(whole)
        self.times = whole[:steps]
        self._find_fields(count)
        self._chosen: np.ndarray | slice = slice(None)
        self._count = count

    def _corners(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the corners of each cell, and the weights of its nodes in a mean."""
        kinds = np.unique(self._read("Types", 1))
        lagrange = [_LAGRANGE[int(k)] for k in kinds if int(k) in _LAGRANGE]
        if not lagrange:
            return self.nodes, np.full(self.nodes.shape[1], 1.0 / self.nodes.shape[1])
        if len(kinds) > 1:
            raise ValueError("it mixes cell types")
        dimension = lagrange[0] - 1
        weights = mean_weights(dimension, degree_of(dimension, self.nodes.shape[1]))
        return self.nodes[:, : lagrange[0]], weights

    def _find_fields(self, count: int) -> None:
        """Find offset, group and time dependence of each field."""
        self._groups, self._offsets, lengths, widths = {}, {}, {}, {}
        for group, width in (("CellData", count), ("PointData", len(self.points))):
            for name in self._file["VTKHDF"].get(group, ()):
                self._groups[name], widths[name] = group, width
                first = self._read(f"Steps/{group}Offsets/{name}", 1).astype(np.int64)[: len(self.times)]
                self._offsets[name] = first
                lengths[name] = dataset(self.path, self._file, f"VTKHDF/{group}/{name}", 1, empty=True).shape[0]
                if len(first) != len(self.times) or (
                    len(first) and not 0 <= first.min() <= first.max() <= lengths[name] - width
                ):
                    raise ValueError(f"field '{name}' has no {width} values at each of {len(self.times)} times")
        # with one step a static field cannot be distinguished from one that changes
        still = {n for n in lengths if lengths[n] == widths[n] and not self._offsets[n].any() and len(self.times) != 1}
        self.static = tuple(n for n in lengths if n in still)
        self.fields = tuple(n for n in lengths if n not in self.static)

    def choose(self, cells: np.ndarray) -> None:
        """Restrict the reader to a subset of the present cells (nc,), given by indices or as a mask."""
        retained = np.arange(self._count)[self._chosen][cells]
        self._chosen, self.cells, self.nodes = retained, self.cells[cells], self.nodes[cells]

    def __contains__(self, name: object) -> bool:
        return name in self._offsets

    def field(self, name: str, step: int = -1) -> np.ndarray:
        """Return the values (nc,) of a field at a snapshot, by default the last; raise InputError if absent."""
        values = self.at_nodes(name, step)
        return values if values.ndim == 1 else np.asarray(values @ self._mean, values.dtype)

    def at_nodes(self, name: str, step: int = -1) -> np.ndarray:
        """Return the values of a field like ``field``, but (nc, n) if it has a value at every node."""
        if name not in self._offsets:
            raise InputError(Problem(str(self.path), f"has no field '{name}'", ", ".join(sorted(self._offsets))))
        offsets, group = self._offsets[name], self._groups[name]
        start = int(offsets[step]) if len(offsets) else 0
        size = self._count if group == "CellData" else len(self.points)
        with naming_file_errors(self.path, WHAT):
            found = np.asarray(self._file["VTKHDF"][group][name][start : start + size])
        return found[self._chosen] if group == "CellData" else found[self.nodes]
