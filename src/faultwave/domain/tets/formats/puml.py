"""PUML HDF5 meshes: a common format for tetrahedral meshes with packed face tags."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import h5py
import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.files.hdf5 import check_size_of_dataset, opened
from faultwave.domain.tets.mesh import Floats, Integers, Mesh, make_mesh

BoundaryFormat = Literal["auto", "i32", "i64", "i32x4"]
TopologyFormat = Literal["auto", "geometric", "identify-face", "identify-vertex"]

_BITS = {"i32": 8, "i64": 16}
_TOPOLOGY_DATA = {"identify-face": "topology", "identify-vertex": "identify"}


def read_puml(path: str | Path, boundary_format: str = "auto", topology_format: str = "auto") -> Mesh:
    """Read a PUML mesh.

    Parameters
    ----------
    path
        File.
    boundary_format
        Packing of face tags: i32 (8 bits per face), i64 (16 bits per face), i32x4 (a column per face). auto reads the
        attribute of the file, and otherwise takes i32 for one number per cell WHATEVER its integer type, because some
        files store the 8-bit packing in 64-bit integers.
    topology_format
        geometric, identify-face (second connectivity) or identify-vertex (a topological id per vertex). auto reads the
        attribute, then checks which data the file contains.

    Raises
    ------
    InputError
        For files that are missing, not HDF5, truncated, or inconsistent.
    """
    path = Path(path)
    problems = Problems()
    if not path.is_file():
        raise InputError(Problem(str(path), "the mesh file does not exist"))
    with opened(path, "PUML mesh (HDF5)") as file:
        return _Reader(path, file, problems).read(boundary_format, topology_format)


class _Reader:
    def __init__(self, path: Path, file: h5py.File, problems: Problems):
        self.path, self.file, self.problems = path, file, problems

    def read(self, boundary_format: str, topology_format: str) -> Mesh:
        vertices = self.dataset("geometry", (None, 3), "fiu")
        cells = self.dataset("connect", (None, 4), "iu")
        count = None if cells is None else len(cells)
        groups = self.dataset("group", (count,), "iu") if "group" in self.file else np.zeros(count or 0)
        boundary = self.dataset("boundary", (count, 4) if self.rank("boundary") == 2 else (count,), "iu")
        packing = self.choose("boundary-format", boundary_format, ("i32", "i64", "i32x4"))
        topology = self.choose("topology-format", topology_format, ("geometric", *_TOPOLOGY_DATA))
        extra = self.topology_data(topology, cells, vertices)
        self.problems.raise_errors()
        assert vertices is not None and cells is not None and boundary is not None
        tags = unpack(boundary, packing, self.path)
        mesh = make_mesh(vertices, cells, groups, tags, name=str(self.path))
        return mesh if extra is None else _identified(mesh, *extra)

    def rank(self, name: str) -> int | None:
        return self.file[name].ndim if isinstance(self.file.get(name), h5py.Dataset) else None

    def dataset(self, name: str, shape: tuple[int | None, ...], kinds: str) -> np.ndarray | None:
        where = f"{self.path}:/{name}"
        item = self.file.get(name)
        if not isinstance(item, h5py.Dataset):
            self.problems.error(where, "dataset is missing", advice=f"The file has {sorted(self.file)}.")
            return None
        wanted = "x".join("n" if n is None else str(n) for n in shape)
        fits = (
            item.shape is not None
            and len(item.shape) == len(shape)
            and all(n is None or n == m for n, m in zip(shape, item.shape, strict=True))
        )
        if not fits or item.dtype.kind not in kinds:
            number = "integers" if kinds == "iu" else "numbers"
            self.problems.error(where, f"holds {item.dtype} of shape {item.shape}", f"{wanted} {number}")
            return None
        return np.asarray(check_size_of_dataset(self.path, item)[()])

    def choose(self, attribute: str, given: str, allowed: tuple[str, ...]) -> str:
        """Return the requested format, else the attribute of the file, else 'auto'."""
        if given not in ("auto", *allowed):
            self.problems.error(f"mesh.{attribute.replace('-', '_')}", f"'{given}'", ", ".join(("auto", *allowed)))
        if given != "auto" or attribute not in self.file.attrs:
            return given
        value = self.file.attrs[attribute]
        value = value[0] if isinstance(value, np.ndarray) and value.size == 1 else value
        text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
        if text not in allowed:
            self.problems.error(f"{self.path}: attribute {attribute}", f"'{text}'", ", ".join(allowed))
        return text

    def topology_data(
        self, topology: str, cells: np.ndarray | None, vertices: np.ndarray | None
    ) -> tuple[str, np.ndarray] | None:
        if topology == "auto":
            topology = next((name for name, data in _TOPOLOGY_DATA.items() if data in self.file), "geometric")
        if topology not in _TOPOLOGY_DATA:
            return None
        if topology == "identify-face":
            data = self.dataset("topology", (None if cells is None else len(cells), 4), "iu")
        else:
            data = self.dataset("identify", (None if vertices is None else len(vertices),), "iu")
        return None if data is None else (topology, data)


def unpack(boundary: np.ndarray, packing: str, path: Path) -> NDArray[np.int32]:
    """Return tags (nc, 4) from packed ones."""
    where = f"{path}:/boundary"
    rank = boundary.ndim
    if packing == "auto":
        packing = "i32x4" if rank == 2 else "i32"
    if (packing == "i32x4") != (rank == 2):
        raise InputError(
            Problem(
                where,
                f"format {packing} does not fit data of shape {boundary.shape}",
                "i32x4 for one column a face, i32 or i64 for one number a cell",
            )
        )
    if packing == "i32x4":
        if boundary.size and (boundary.min() < 0 or boundary.max() > np.iinfo(np.int32).max):
            raise InputError(Problem(where, f"tags from {boundary.min()} to {boundary.max()}", "0 to 2147483647"))
        return boundary.astype(np.int32)
    bits = _BITS[packing]
    if packing == "i32":
        # A tag above 127 in the last face makes a 32-bit integer negative; the sign is part of the bit pattern.
        too_wide = np.flatnonzero((boundary > 0xFFFFFFFF) | (boundary < -(2**31)))
        if len(too_wide):
            raise InputError(
                Problem(
                    where,
                    f"{len(too_wide)} cells use more than 32 bits, first cell {too_wide[0]}",
                    advice="Set mesh.boundary_format to i64.",
                )
            )
    pattern = boundary.astype(np.int64, casting="unsafe")
    shifts = bits * np.arange(4)
    return ((pattern[:, None] >> shifts) & (2**bits - 1)).astype(np.int32)


def _identified(mesh: Mesh, topology: str, data: np.ndarray) -> Mesh:
    """Return the mesh with the topological id of every vertex."""
    if topology == "identify-vertex":
        return make_mesh(mesh.vertices, mesh.cells, mesh.groups, mesh.tags, data, mesh.name)
    vertices, cells, identify = _split_vertices(mesh.vertices, mesh.cells, data.astype(np.int64))
    return make_mesh(vertices, cells, mesh.groups, mesh.tags, identify, mesh.name)


def _split_vertices(vertices: Floats, cells: Integers, topology: Integers) -> tuple[Floats, Integers, Integers]:
    """Return one vertex per pair of position and topological id.

    A second connectivity may use one position for several vertices.
    """
    if cells.size and (cells.min() < 0 or cells.max() >= len(vertices)):
        return vertices, cells, np.arange(len(vertices))  # the mesh check reports these ids with their cells
    pairs, index = np.unique(np.stack([cells.ravel(), topology.ravel()], axis=1), axis=0, return_inverse=True)
    return vertices[pairs[:, 0]], index.reshape(cells.shape), pairs[:, 1]


def write_puml(path: str | Path, mesh: Mesh, boundary_format: str = "auto") -> None:
    """Write a mesh that ``read_puml`` reads back unchanged; 'auto' takes the narrowest packing for the tags.

    The file appears under its name only when complete.

    Raises
    ------
    InputError
        For tags that the packing cannot store.
    """
    path = Path(path)
    largest = int(mesh.tags.max(initial=0))
    if boundary_format == "auto":
        boundary_format = "i32" if largest < 2**8 else "i64" if largest < 2**16 else "i32x4"
    if boundary_format not in ("i32", "i64", "i32x4"):
        raise InputError(Problem("boundary_format", f"'{boundary_format}'", "auto, i32, i64, i32x4"))
    limit = 2 ** _BITS[boundary_format] if boundary_format in _BITS else 2**31
    if largest >= limit or mesh.tags.min(initial=0) < 0:
        raise InputError(Problem(str(path), f"face tags up to {largest} do not fit {boundary_format}"))
    temporary = path.with_name(f".{path.name}.part")
    try:
        with h5py.File(temporary, "w") as file:
            file["geometry"] = mesh.vertices
            file["connect"] = mesh.cells.astype(np.uint64)
            file["group"] = mesh.groups
            file["boundary"] = _pack(mesh.tags, boundary_format)
            file.attrs["boundary-format"] = boundary_format
            file.attrs["topology-format"] = "geometric" if mesh.identify is None else "identify-vertex"
            if mesh.identify is not None:
                file["identify"] = mesh.identify.astype(np.uint64)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _pack(tags: NDArray[np.int32], boundary_format: str) -> np.ndarray:
    if boundary_format == "i32x4":
        return tags
    bits = _BITS[boundary_format]
    packed = (tags.astype(np.uint64) << (bits * np.arange(4, dtype=np.uint64))).sum(axis=1, dtype=np.uint64)
    return packed.astype(np.uint32).view(np.int32) if boundary_format == "i32" else packed.view(np.int64)
