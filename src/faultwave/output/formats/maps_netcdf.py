"""NetCDF (CF) maps of the ground: one variable per map, x and y as coordinates, longitude and latitude if known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from faultwave.base.files.hdf5 import naming_file_errors
from faultwave.base.files.netcdf import NetcdfVariable, open_netcdf
from faultwave.observe.dataset import Dataset, Result, Variable
from faultwave.observe.snapshots.lattice import MapFormat
from faultwave.output.atomic import atomic_path
from faultwave.output.formats import Writer

WHAT = "file of maps (NetCDF)"

DEGREES = {"longitude": "degrees_east", "latitude": "degrees_north"}
"""CF units of longitude and latitude."""


def write_maps(path: str | Path, maps: Dataset) -> Path:
    """Write a dataset with dimensions y and x atomically; raise InputError and RunError like all writers."""
    import netCDF4

    path = Path(path)
    with atomic_path(path) as temporary, netCDF4.Dataset(temporary, "w", format="NETCDF4") as file:
        file.setncatts(
            {"Conventions": "CF-1.8", "title": maps.name, **{k: v for k, v in maps.attrs.items() if v is not None}}
        )
        for dim, size in maps.sizes.items():
            file.createDimension(dim, size)
        for name, variable in maps.variables.items():
            place = variable.data.ndim == 1 or name in DEGREES or name.endswith("location")
            dtype = "f8" if place else "f4"
            made = file.createVariable(name, dtype, variable.dims, zlib=variable.data.ndim > 1)
            made.units, made.long_name = DEGREES.get(name, variable.unit or "1"), variable.description
            if name in DEGREES:
                made.standard_name = name
            elif variable.dims == ("y", "x") and "longitude" in maps:
                made.coordinates = "longitude latitude"
            made[:] = variable.data
    return path


def without_degrees(maps: Dataset) -> Dataset:
    """Return the maps without longitude and latitude, for formats with coordinates of their own."""
    return Dataset(maps.name, {k: v for k, v in maps.variables.items() if k not in DEGREES}, maps.attrs)


def _write_intensity(results: Sequence[Result], folder: Path, prefix: str) -> list[Path]:
    """Write PREFIX-intensity.nc for ground motion maps."""
    return [write_maps(folder / f"{prefix}-intensity.nc", result.data) for result in results]


def read_maps(path: str | Path) -> Dataset:
    """Read a file written by ``write_maps``, or raise InputError if it is not such a file."""
    file = open_netcdf(path, WHAT)
    with naming_file_errors(path, WHAT):
        variables = {name: _variable(v) for name, v in file.variables.items()}
        attrs = {k: v for k, v in file.attributes.items() if k not in ("Conventions", "title")}
        return Dataset(str(file.attributes["title"]), variables, attrs)


def _variable(found: NetcdfVariable) -> Variable:
    unit, about = found.attributes["units"], found.attributes["long_name"]
    return Variable(found.numbers(), found.dimensions, unit if unit != "1" else "", about)


def _write_soil(results: Sequence[Result], folder: Path, prefix: str) -> list[Path]:
    """Write PREFIX-soil.nc for maps of strain in soft soil."""
    return [write_maps(folder / f"{prefix}-soil.nc", result.data) for result in results]


RESULTS = [Writer(("intensity",), _write_intensity), Writer(("soil_maps",), _write_soil)]
NETCDF = MapFormat("netcdf")
