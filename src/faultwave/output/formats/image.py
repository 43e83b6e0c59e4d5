"""Fields on a regular lattice in time: one file that is both VTKHDF (ImageData) for ParaView and NetCDF-4 (CF).

Both are HDF5. The values are stored once, in /VTKHDF/PointData/NAME; NetCDF sees them at the root by hard links, with x, y, z and time as
coordinates. Formats: https://docs.vtk.org/en/latest/vtk_file_formats/vtkhdf_file_format, https://cfconventions.org.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import DTypeLike

from faultwave.base.errors import InputError, Problem
from faultwave.base.files.hdf5 import dataset, naming_file_errors, opened
from faultwave.observe.dataset import QUANTITIES
from faultwave.observe.snapshots.lattice import Lattice, SeriesFormat
from faultwave.output.field_files.checksums import NOTHING, Earlier
from faultwave.output.field_files.fields import TIME, FieldWriter, ForeignContents, Mesh, contiguous, place
from faultwave.output.field_files.hdf5 import Hdf5Reader

AXES = ("z", "y", "x")
WHAT = "series of images (VTKHDF)"


class ImageWriter(FieldWriter):
    """Writer of one file ``path``; ``append`` takes arrays of the lattice's shape."""

    def __init__(
        self, path: str | Path, lattice: Lattice, fields: Sequence[str], dtype: DTypeLike = np.float32, steps: int = 0,
        earlier: Earlier = NOTHING, title: str = "",
    ) -> None:  # fmt: skip
        self.lattice, self.title = lattice, title
        nothing = np.empty((int(np.prod(lattice.shape)), 0))
        super().__init__(path, (nothing, nothing, {}), lattice.shape, fields, dtype, steps, ForeignContents(earlier))

    def _write_mesh(self, file: h5py.File, mesh: Mesh, steps: int) -> None:
        lattice, dims = self.lattice, AXES[-len(self.lattice.shape) :]
        root = file.create_group("VTKHDF", track_order=True)
        root.attrs["Version"] = np.array([2, 0], dtype=np.int64)
        root.attrs.create("Type", b"ImageData", dtype=h5py.string_dtype("ascii", 9))
        nz, ny, nx = (1, *lattice.shape)[-3:]
        root.attrs["WholeExtent"] = np.array([0, nx - 1, 0, ny - 1, 0, nz - 1], dtype=np.int64)
        root.attrs["Origin"], root.attrs["Spacing"] = np.array(lattice.origin), np.full(3, lattice.spacing)
        root.attrs["Direction"] = np.eye(3).reshape(-1)
        data, series = root.create_group("PointData", track_order=True), root.create_group("Steps")
        series.attrs["NSteps"] = np.int64(steps)
        place(series, "Values", (steps,), np.float64)
        offsets = series.create_group("PointDataOffsets")
        for name in self.fields:
            place(data, name, (steps, *lattice.shape), self.dtype)
            offsets[name] = np.arange(steps, dtype=np.int64)
        self._link(file, root, dims)

    def _link(self, file: h5py.File, root: h5py.Group, dims: tuple[str, ...]) -> None:
        """Add the dimension scales, attributes and links that make the file NetCDF."""
        file.attrs["Conventions"], file.attrs["title"] = "CF-1.8", self.title
        file["time"] = root["Steps/Values"]
        for axis in ("z", "y", "x"):
            file[axis] = self.lattice.nodes(axis)
            file[axis].attrs["units"] = "m"
            file[axis].attrs["axis"] = axis.upper()
        file["z"].attrs["positive"] = "up"
        file["time"].attrs["units"] = "s"
        file["time"].attrs["long_name"] = "time since the start of the simulation"
        for name in ("time", "z", "y", "x"):
            file[name].make_scale(name)
        placed = self._located()
        for name, (values, unit, standard) in placed.items():
            file[name] = values
            file[name].attrs["units"], file[name].attrs["standard_name"] = unit, standard
            for k, dim in enumerate(("y", "x")):
                file[name].dims[k].attach_scale(file[dim])
        for name in self.fields:
            file[name] = root["PointData"][name]
            for k, dim in enumerate(("time", *dims)):
                file[name].dims[k].attach_scale(file[dim])
            unit, text = QUANTITIES.get(name, ("", name))
            file[name].attrs["units"], file[name].attrs["long_name"] = unit or "1", text
            if placed:
                file[name].attrs["coordinates"] = " ".join(placed)

    def _located(self) -> dict[str, tuple[np.ndarray, str, str]]:
        """Return auxiliary coordinates (ny, nx) of the points, with units and standard names."""
        units = {"longitude": "degrees_east", "latitude": "degrees_north"}
        found = {name: (values, units[name], name) for name, values in self.lattice.degrees.items()}
        ground = self.lattice.elevation
        return found if ground is None else {**found, "elevation": (ground, "m", "surface_altitude")}

    def _read_mesh(self, file: h5py.File) -> Mesh:
        shapes = {file["VTKHDF/PointData"][n].shape[1:] for n in self.fields}
        same = shapes <= {self.shape} and np.allclose(file["VTKHDF"].attrs["Origin"], self.lattice.origin)
        nothing = np.empty((self.cell_count if same else 0, 0))
        return nothing, nothing, {}

    def _find(self, file: h5py.File) -> tuple[int, dict[str, np.ndarray]]:
        root, size = file["VTKHDF"], self.cell_count * self.dtype.itemsize
        count = int(root["Steps"].attrs["NSteps"])
        data = [name for name in self.fields if root["PointData"][name].dtype == self.dtype]
        found = {name: contiguous(root["PointData"][name], size, count) for name in data}
        return count, found | {TIME: contiguous(root["Steps/Values"], 8, count)}


class ImageReader(Hdf5Reader):
    """Reader of the files of ``ImageWriter``, one field of one snapshot at a time.

    Attributes
    ----------
    x, y, z : ndarray of shape (n,)
        Coordinates along each axis [m].
    times : ndarray of shape (nt,)
        Times [s].
    spacing : float
        Spacing [m].
    fields : tuple of str
        Names of the fields.
    """

    what = WHAT

    def _look(self) -> None:
        root = self._file["VTKHDF"]
        self.times: np.ndarray = np.asarray(dataset(self.path, root, "Steps/Values", 1, "f", empty=True)[()])
        self.x, self.y, self.z = (np.asarray(dataset(self.path, self._file, a, 1, "f")[()]) for a in "xyz")
        self.spacing = float(root.attrs["Spacing"][0])
        self.fields = tuple(root["PointData"])
        shapes = [(len(self.times), *s) for s in ((len(self.z), len(self.y), len(self.x)), (len(self.y), len(self.x)))]
        for name in self.fields:
            found = dataset(self.path, root, f"PointData/{name}", None, empty=True)
            if found.shape not in shapes:
                raise ValueError(f"field '{name}' has shape {found.shape}, not {' or '.join(map(str, shapes))}")

    def field(self, name: str, step: int = -1) -> np.ndarray:
        """Return the values (nz, ny, nx) or (ny, nx) of a snapshot, by default the last; raise InputError if absent."""
        if name not in self.fields:
            raise InputError(Problem(str(self.path), f"has no field '{name}'", ", ".join(self.fields)))
        with naming_file_errors(self.path, WHAT):
            return np.asarray(self._file["VTKHDF/PointData"][name][step])


class PlaneReader(ImageReader):
    """Reader of a plane as triangles, two per point, with the interface of ``VtkHdfReader`` for a mesh.

    ``points`` is (np, 3), ``cells`` (nc, 3), and ``field`` returns (nc,).
    """

    static: tuple[str, ...] = ()

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        h, nx, ny = self.spacing, len(self.x), len(self.y)
        x, y = (np.append(a - 0.5 * h, a[-1] + 0.5 * h) for a in (self.x, self.y))
        self.points = np.stack([*np.meshgrid(x, y), np.full((ny + 1, nx + 1), self.z[0])], -1).reshape(-1, 3)
        near = (np.arange(ny)[:, None] * (nx + 1) + np.arange(nx)).reshape(-1)
        far = near + nx + 1
        both = np.stack([np.stack([near, near + 1, far + 1], 1), np.stack([near, far + 1, far], 1)], 1)
        self.cells = both.reshape(-1, 3)

    def __contains__(self, name: object) -> bool:
        return name in self.fields

    def field(self, name: str, step: int = -1) -> np.ndarray:
        """Return the values (nc,) of a snapshot."""
        return np.repeat(super().field(name, step).reshape(-1), 2)


def is_image(path: str | Path) -> bool:
    """Return True if a VTKHDF file holds ImageData."""
    try:
        with opened(path, WHAT) as file:
            return bytes(file["VTKHDF"].attrs["Type"]) == b"ImageData"
    except InputError:
        return False


def _open(series: Any, opening: Any, suffix: str) -> ImageWriter:
    path = f"{opening.stem}.{suffix}"
    return ImageWriter(path, series.lattice, series.fields, opening.dtype, series.count, opening.earlier, opening.title)


VTKHDF = SeriesFormat("vtkhdf", lambda series, opening: _open(series, opening, "vtkhdf"))
NETCDF = SeriesFormat("netcdf", lambda series, opening: _open(series, opening, "nc"))
