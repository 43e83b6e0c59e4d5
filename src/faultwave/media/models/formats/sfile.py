"""SW4 sfile: HDF5, blocks between interfaces that follow the ground, depths below sea level (SW4 user's guide).

The file has a corner and an azimuth but no projection: SW4 uses the projection of its grid, Faultwave uses ``crs`` of
the setting, or the projection of the case.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.files.hdf5 import attribute, dataset, number_attribute, opened
from faultwave.base.projection import Projection
from faultwave.media.models.lattice import Columns, Lattice
from faultwave.media.models.model import Block, Model, Surface, needed, on_nodes, project, projected, sw4_axes
from faultwave.media.points import Floats

if TYPE_CHECKING:
    import h5py

    from faultwave.media.models.model import ModelSettings

DATASETS = {"rho": "Rho", "vp": "Cp", "vs": "Cs", "Qp": "Qp", "Qs": "Qs"}


def read(path: Path, setting: ModelSettings, projection: Projection | None) -> Model:
    """Read an sfile; raises InputError with the file and its problem."""
    case = needed(path, projection)
    with opened(path, "sfile") as file:
        corner = attribute(path, file, "Origin longitude, latitude, azimuth")
        count = int(number_attribute(path, file, "ngrids"))
        names = [n for n in DATASETS if attribute(path, file, "Attenuation", 0) or n not in ("Qp", "Qs")]
        if np.shape(corner) != (3,) or not np.isfinite(np.asarray(corner, float)).all() or count < 1:
            raise InputError(Problem(str(path), f"origin {corner}, {count} grids", "3 numbers, at least one grid"))
        shapes = [_shape(path, file, g, names) for g in range(count)]
        spacing = [
            number_attribute(path, file[f"Material_model/grid_{g}"], "Horizontal grid size") for g in range(count)
        ]
        if not 0 < min(spacing) <= max(spacing) < np.inf:
            raise InputError(Problem(str(path), f"horizontal grid sizes {spacing}", "positive numbers"))
        extent = [spacing[0] * (n - 1) for n in shapes[0][:2]]
        interfaces = [_interface(path, file, g, extent) for g in range(count + 1)]
    crs = setting.crs or case.crs
    lon, lat, azimuth = (float(v) for v in corner)
    to_own = projected(path, projection, crs, project(crs, lon, lat, path), sw4_axes(azimuth))
    blocks = tuple(
        _block(path, g, names, shapes[g], spacing[g], interfaces[g], interfaces[g + 1]) for g in range(count)
    )
    top = interfaces[0]
    return Model(
        str(path), blocks, to_own, lambda x, y: -top(x, y), setting.vertical == "ground", setting.outside, setting.water
    )


def _shape(path: Path, file: h5py.File, grid: int, names: list[str]) -> tuple[int, int, int]:
    found = {dataset(path, file, f"Material_model/grid_{grid}/{DATASETS[n]}", 3).shape for n in names}
    if len(found) > 1:
        raise InputError(Problem(str(path), f"the datasets of grid_{grid} have shapes {sorted(found)}", "one shape"))
    nx, ny, nz = found.pop()
    return int(nx), int(ny), int(nz)


def _interface(path: Path, file: h5py.File, number: int, extent: list[float]) -> Surface:
    """Return the depth [m] of an interface as a function of x, y."""
    named = [f"Z_interfaces/{n}_{number}" for n in ("z_values", "z_interface")]
    name = next((n for n in named if n in file), named[0])
    depths = np.asarray(dataset(path, file, name, 2)[...], float)
    if not np.isfinite(depths).all():
        raise InputError(Problem(str(path), f"'{name}' is not finite at {int((~np.isfinite(depths)).sum())} points"))
    x, y = (np.linspace(0.0, e, n) for e, n in zip(extent, depths.shape, strict=True))
    return on_nodes(x, y, depths)


def _block(
    path: Path, grid: int, names: list[str], shape: tuple[int, int, int], h: float, top: Surface, bottom: Surface
) -> Block:
    def columns(i: slice, j: slice) -> tuple[Columns, np.ndarray]:
        with opened(path, "sfile") as file:
            group = file[f"Material_model/grid_{grid}"]
            found = {n: np.asarray(group[DATASETS[n]][i, j], np.float32) for n in names}
        return found, np.zeros(found["rho"].shape, bool)

    def vertical(x: Floats, y: Floats, z: Floats) -> Floats:
        above, below = top(x, y), bottom(x, y)
        thick = below - above
        part = np.where(
            thick > 0, (-z - above) / np.where(thick > 0, thick, 1.0), np.where(-z > below, np.inf, -np.inf)
        )
        return np.asarray(part * max(shape[2] - 1, 1))

    x, y = (h * np.arange(n, dtype=float) for n in shape[:2])
    return Block(Lattice(shape, names, columns), x, y, vertical)
