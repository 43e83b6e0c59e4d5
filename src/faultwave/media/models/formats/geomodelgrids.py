"""GeoModelGrids: georeferenced blocks in HDF5 below a top surface, each regular in a logical space.

Heights are transformed by z_logical = -dim_z (z_top - z) / (z_top + dim_z) between the top surface and the flat bottom
(https://geomodelgrids.readthedocs.io, storage layout).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import h5py
import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.files.hdf5 import attribute, dataset, number_attribute, opened, text_attribute, text_list
from faultwave.base.projection import Projection
from faultwave.base.units import to_si
from faultwave.media.models.lattice import Columns, Lattice
from faultwave.media.models.model import Block, Model, Surface, on_nodes, projected
from faultwave.media.points import Floats

if TYPE_CHECKING:
    from faultwave.media.models.model import ModelSettings

KNOWN = {"density": "rho", "rho": "rho", "vp": "vp", "vs": "vs", "qp": "Qp", "qs": "Qs"}
UNITS = {"rho": "kg/m^3", "vp": "m/s", "vs": "m/s", "Qp": "", "Qs": ""}


def read(path: Path, setting: ModelSettings, projection: Projection | None) -> Model:
    """Read a GeoModelGrids file; raises InputError with the file and its problem."""
    with opened(path, "GeoModelGrids file") as file:
        numbers = ("origin_x", "origin_y", "y_azimuth", "dim_x", "dim_y", "dim_z")
        given = {n: number_attribute(path, file, n) for n in numbers}
        if given["dim_z"] <= 0:
            raise InputError(
                Problem(str(path), f"its attributes say dim_z {given['dim_z']:g}", "finite numbers, dim_z > 0")
            )
        crs = text_attribute(path, file, "crs")
        values = _values(path, file)
        top = _surface(path, file, "top_surface", given)
        solid = _surface(path, file, "topography_bathymetry", given)
        if not isinstance(file.get("blocks"), h5py.Group) or not len(file["blocks"]):
            raise InputError(Problem(str(path), "has no blocks"))
        blocks = [_block(path, file, name, values, given, top) for name in file["blocks"]]
    a = np.radians(given["y_azimuth"])
    axes = np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])
    to_own = projected(path, projection, crs, np.array([given["origin_x"], given["origin_y"]]), axes)
    ordered = tuple(block for _, block in sorted(blocks, key=lambda b: -b[0]))
    return Model(str(path), ordered, to_own, solid or top, setting.vertical == "ground", setting.outside, setting.water)


def _values(path: Path, file: h5py.File) -> dict[str, tuple[int, float]]:
    """Return, by name, the index among the values of a point and the factor to SI units."""
    listed, units = (text_list(path, file, f"data_{n}") for n in ("values", "units"))
    found = {}
    for place, name in enumerate(listed):
        known = KNOWN.get(name.lower())
        if known is None:
            continue
        unit = units[place] if place < len(units) else ""
        try:
            factor = to_si(f"1 {unit}", UNITS[known]) if UNITS[known] and unit not in ("", "none") else 1.0
        except ValueError as error:
            raise InputError(Problem(str(path), f"unit of {name}: {error}")) from None
        found[known] = (place, factor)
    lacking = [n for n in ("rho", "vp", "vs") if n not in found]
    if lacking:
        raise InputError(Problem(str(path), f"has {', '.join(listed)}, but no {', '.join(lacking)}", "density, Vp, Vs"))
    return found


def _axis(path: Path, owner: h5py.HLObject, axis: str, count: int, resolution: str) -> Floats:
    """Return the coordinates along an axis, listed in the file or multiples of a resolution."""
    if f"{axis}_coordinates" in owner.attrs:
        nodes: Floats = np.atleast_1d(np.asarray(attribute(path, owner, f"{axis}_coordinates"), float))
        sense = -1.0 if axis == "z" else 1.0
        if nodes.shape != (count,) or not (sense * np.diff(nodes) > 0).all():
            raise InputError(Problem(str(path), f"{axis}_coordinates of {owner.name} are not {count} numbers in order"))
        return nodes
    step = number_attribute(path, owner, resolution)
    if step <= 0:
        raise InputError(Problem(str(path), f"{resolution} of {owner.name} is {step:g}", "a positive number"))
    return np.asarray(step * np.arange(count))


def _surface(path: Path, file: h5py.File, name: str, given: dict[str, float]) -> Surface | None:
    if f"surfaces/{name}" not in file:
        return None
    found = dataset(path, file, f"surfaces/{name}", None)
    if found.ndim < 2 or found.size != found.shape[0] * found.shape[1]:
        raise InputError(Problem(str(path), f"{found.name} has shape {found.shape}", "one height at each x, y"))
    heights = np.asarray(found[...], float).reshape(found.shape[:2])
    if not (np.isfinite(heights) & (heights > -given["dim_z"])).all():
        raise InputError(
            Problem(str(path), f"{found.name} has heights below the model, or none", f"> {-given['dim_z']:g} m")
        )
    x, y = (_axis(path, found, a, n, "resolution_horiz") for a, n in zip("xy", heights.shape, strict=True))
    return on_nodes(x, y, heights)


def _block(
    path: Path,
    file: h5py.File,
    name: str,
    values: dict[str, tuple[int, float]],
    given: dict[str, float],
    top: Surface | None,
) -> tuple[float, Block]:
    """Return the height of a block's top in logical space, and the block."""
    found = dataset(path, file, f"blocks/{name}", 4)
    nx, ny, nz, count = found.shape
    if max(place for place, _ in values.values()) >= count:
        raise InputError(Problem(str(path), f"block '{name}' has {count} values a point, data_values lists more"))
    x, y = (_axis(path, found, a, n, "resolution_horiz") for a, n in zip("xy", (nx, ny), strict=True))
    if "z_coordinates" in found.attrs:
        depths = -_axis(path, found, "z", nz, "")
    else:
        depths = -number_attribute(path, found, "z_top") + _axis(path, found, "z", nz, "resolution_vert")

    if not (np.diff(depths) > 0).all():
        raise InputError(Problem(str(path), f"the depths of block '{name}' do not increase from point to point"))

    def columns(i: slice, j: slice) -> tuple[Columns, np.ndarray]:
        with opened(path, "GeoModelGrids file") as again:
            part = np.asarray(again[f"blocks/{name}"][i, j], np.float32)
        columns = {n: part[..., place] * np.float32(factor) for n, (place, factor) in values.items()}
        return columns, np.zeros(part.shape[:3], bool)

    def vertical(x: Floats, y: Floats, z: Floats) -> Floats:
        high = top(x, y) if top is not None else np.zeros(len(x))
        depth = given["dim_z"] * (high - z) / (high + given["dim_z"])
        if nz == 1:
            return np.zeros(len(x))
        index = np.interp(depth, depths, np.arange(nz))
        index = np.where(depth < depths[0], (depth - depths[0]) / (depths[1] - depths[0]), index)
        return np.where(depth > depths[-1], nz - 1 + (depth - depths[-1]) / (depths[-1] - depths[-2]), index)

    return float(-depths[0]), Block(Lattice((nx, ny, nz), list(values), columns), x, y, vertical)
