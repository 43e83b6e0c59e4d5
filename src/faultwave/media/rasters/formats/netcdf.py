"""NetCDF rasters: a variable on x and y, or on longitude and latitude (COARDS, CF), including current and old GMT grids."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.files.hdf5 import naming_file_errors
from faultwave.base.files.netcdf import NetcdfFile, NetcdfVariable, open_netcdf
from faultwave.base.units import to_si
from faultwave.media.rasters.raster import Raster, ascending

ENDINGS = (".nc", ".grd", ".cdf", ".nc4")
WHAT = "NetCDF raster"
ACROSS = ("x", "lon", "longitude", "easting")
UP = ("y", "lat", "latitude", "northing")
DEGREES = ("degree", "lon", "lat")
GEOGRAPHIC = "EPSG:4326"


def read(path: Path, variable: str | None) -> Raster:
    """Read a NetCDF raster; raises InputError with the file and its problem."""
    file = open_netcdf(path, WHAT)
    with naming_file_errors(path, WHAT):
        if {"x_range", "y_range", "z", "dimension"} <= file.variables.keys():
            return _old(path, file)
        found = _variable(path, file, variable)
        data = found.numbers() * _metres(path, found) * _upward(found)
        axes = [file.variables[d] for d in found.dimensions]
        crs = _crs(file, found, axes)
        x, y = (a.numbers() * _per_unit(path, a, crs) for a in axes[::-1])
    return ascending(str(path), x, y, data, crs)


def _variable(path: Path, file: NetcdfFile, name: str | None) -> NetcdfVariable:
    """Return the variable of heights: the one named, or the only one on two axes."""

    def fits(v: NetcdfVariable) -> bool:
        low = [d.lower() for d in v.dimensions]
        return len(low) == 2 and low[0] in UP and low[1] in ACROSS and set(v.dimensions) <= file.variables.keys()

    usable = [n for n, v in file.variables.items() if fits(v)]
    if name is not None and name not in usable:
        given = ", ".join(usable) or "none"
        raise InputError(Problem(str(path), f"has no variable '{name}' on y and x", f"of its variables: {given}"))
    if name is None and len(usable) != 1:
        what = f"has {len(usable)} variables on y and x" + (f": {', '.join(usable)}" if usable else "")
        axes = f"one on ({', '.join(UP)}) and ({', '.join(ACROSS)})"
        raise InputError(Problem(str(path), what, axes, "Name it with grid.topography.variable." if usable else ""))
    return file.variables[name or usable[0]]


def _crs(file: NetcdfFile, variable: NetcdfVariable, axes: list[NetcdfVariable]) -> str | None:
    """Return the coordinate system by the CF conventions, or by the units and names of axes."""
    mapping = file.variables.get(variable.attributes.get("grid_mapping", ""))
    for attribute in ("crs_wkt", "spatial_ref"):
        text = mapping.attributes.get(attribute) if mapping else None
        if text:
            return str(text)
    words = [f"{a.attributes.get('units', '')} {a.attributes.get('long_name', '')} {a.name}" for a in axes]
    return GEOGRAPHIC if all(any(d in w.lower() for d in DEGREES) for w in words) else None


def _metres(path: Path, variable: NetcdfVariable) -> float:
    """Return the unit of a variable in metres; 1 if it names none, or has GMT's placeholder (user_z_unit)."""
    text = str(variable.attributes.get("units", "")).strip()
    if not text or text.lower() in ("1", "none", "meters", "metres", "meter", "metre", "m") or text.startswith("user_"):
        return 1.0
    try:
        return to_si(f"1 {text}", "m")
    except ValueError:
        raise InputError(Problem(str(path), f"'{variable.name}' has the unit '{text}'", "one like m")) from None


def _upward(variable: NetcdfVariable) -> float:
    """Return -1 for depths, as CF declares them, 1 for heights."""
    if str(variable.attributes.get("positive", "")).strip().lower() == "down":
        return -1.0
    return -1.0 if "depth_below" in str(variable.attributes.get("standard_name", "")).lower() else 1.0


def _per_unit(path: Path, axis: NetcdfVariable, crs: str | None) -> float:
    """Return the factor of an axis to metres, or to the unit of its coordinate system if that is known."""
    if crs is None:
        return _metres(path, axis)
    if any(d in str(axis.attributes.get("units", "")).lower() for d in DEGREES):
        return 1.0
    import pyproj  # slow to import, and few rasters name their system

    try:
        system = pyproj.CRS.from_user_input(crs)
    except pyproj.exceptions.ProjError:  # reported when places are transformed into it
        return 1.0
    if system.is_geographic or not system.axis_info or not str(axis.attributes.get("units", "")).strip():
        return 1.0
    return _metres(path, axis) / system.axis_info[0].unit_conversion_factor


def _old(path: Path, file: NetcdfFile) -> Raster:
    """Read GMT's format of version 3: ranges, and rows from the top in one long vector."""
    nx, ny = (int(n) for n in file.variables["dimension"].numbers())
    z = file.variables["z"]
    values = z.numbers().reshape(ny, nx) * _metres(path, z)
    pixels = 0.5 * (int(z.attributes.get("node_offset", 0)) == 1)
    x, y = (
        np.linspace(a + pixels * (b - a) / n, b - pixels * (b - a) / n, n)
        for (a, b), n in zip((file.variables[f"{k}_range"].numbers() for k in "xy"), (nx, ny), strict=True)
    )
    units = [str(file.variables[f"{k}_range"].attributes.get("units", "")).lower() for k in "xy"]
    crs = GEOGRAPHIC if all(any(d in u for d in DEGREES) for u in units) else None
    if crs is None:
        x, y = (a * _metres(path, file.variables[f"{k}_range"]) for k, a in zip("xy", (x, y), strict=True))
    return ascending(str(path), x, y[::-1], values, crs)
