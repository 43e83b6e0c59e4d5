"""NetCDF models: variables rho, vp, vs, Qp, Qs on x, y, z, or on longitude, latitude and depth as in IRIS EMC models.

Axes need not be equidistant. Units are read from the variables' attributes, with SI as the default.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.files.hdf5 import naming_file_errors
from faultwave.base.files.netcdf import NetcdfFile, NetcdfVariable, open_netcdf
from faultwave.base.projection import Projection
from faultwave.base.units import to_si
from faultwave.media.models.lattice import Columns, Lattice, position
from faultwave.media.models.model import Block, Map, Model, needed
from faultwave.media.points import Floats

if TYPE_CHECKING:
    from faultwave.media.models.model import ModelSettings

WHAT = "NetCDF model"
AXES = {"x": "x", "easting": "x", "longitude": "x", "lon": "x", "y": "y", "northing": "y", "latitude": "y", "lat": "y",
        "z": "z", "height": "z", "elevation": "z", "depth": "depth"}  # fmt: skip
DEGREES = ("longitude", "lon", "latitude", "lat")
KNOWN = {"rho": "rho", "density": "rho", "vp": "vp", "vs": "vs", "qp": "Qp", "qs": "Qs"}
UNITS = {"rho": "kg/m^3", "vp": "m/s", "vs": "m/s", "Qp": "", "Qs": ""}


def read(path: Path, setting: ModelSettings, projection: Projection | None) -> Model:
    """Read a NetCDF model; raises InputError with the file and its problem."""
    file = open_netcdf(path, WHAT)
    with naming_file_errors(path, WHAT):
        names = _variables(path, file, setting.names)
        dims = {file.variables[v].dimensions for v in names.values()}
        if len(dims) > 1:
            raise InputError(Problem(str(path), f"its variables have dimensions {sorted(dims)}", "the same"))
        order = dims.pop()
        axes = {d: _axis(path, file, d) for d in order}
        units = {n: _unit(path, file.variables[v], UNITS[n]) for n, v in names.items()}
        texts = [v for v in names.values() if file.variables[v].kind not in ("f", "i", "u")]
        if texts:
            raise InputError(Problem(str(path), f"its variables {', '.join(texts)} contain no numbers", "numbers"))
    kinds = [_kind(file.variables[d]) for d in order]
    if sorted(kinds) not in (["x", "y", "z"], ["depth", "x", "y"]):
        raise InputError(
            Problem(str(path), f"its variables depend on {', '.join(order)}", "x, y, z, or longitude, latitude, depth")
        )
    place = {kind: k for k, kind in enumerate(kinds)}
    down = "depth" in place
    upright = place["depth" if down else "z"]
    turn = (place["x"], place["y"], upright)
    x, y, levels = (axes[order[k]] for k in turn)
    flips = [bool(a[0] > a[-1]) for a in (x, y)]
    depths = levels if down else -levels
    backwards = bool(depths[0] > depths[-1])
    depths = depths[::-1] if backwards else depths
    x, y = (a[::-1] if f else a for a, f in zip((x, y), flips, strict=True))

    def columns(i: slice, j: slice) -> tuple[Columns, np.ndarray]:
        window: list[slice] = [slice(None)] * 3
        for part, axis, flip, count in zip((i, j), turn, flips, (len(x), len(y)), strict=False):
            window[axis] = slice(count - part.stop, count - part.start) if flip else part
        found = {}
        for name, variable in names.items():
            data = file.variables[variable].numbers(*window, dtype="f4").transpose(turn) * np.float32(units[name])
            steps = tuple(slice(None, None, -1 if f else 1) for f in (*flips, backwards))
            found[name] = np.ascontiguousarray(data[steps])
        return found, np.zeros(found["vp"].shape, bool)

    block = Block(
        Lattice((len(x), len(y), len(depths)), list(names), columns), x, y, lambda x, y, z: position(-z, depths)
    )
    degrees = order[place["x"]].lower() in DEGREES
    to_own: Map = _to_degrees(needed(path, projection), x) if degrees else (lambda xy: xy)
    return Model(str(path), (block,), to_own, None, False, setting.outside, setting.water)


def _kind(variable: NetcdfVariable) -> str:
    """Return x, y, z or depth; CF's attribute ``positive`` takes precedence over the name of a vertical axis."""
    kind = AXES[variable.name.lower()]
    positive = str(variable.attributes.get("positive", "")).strip().lower()
    if kind in ("z", "depth") and positive in ("up", "down"):
        return "z" if positive == "up" else "depth"
    return kind


def _to_degrees(projection: Projection, longitudes: Floats) -> Map:
    def to_own(xy: Floats) -> Floats:
        found = projection.to_geographic(xy)
        if longitudes[-1] > 180.0:
            found[:, 0] %= 360.0
        return found

    return to_own


def _variables(path: Path, file: NetcdfFile, renamed: dict[str, str]) -> dict[str, str]:
    """Return the name in the file of each parameter."""
    found = {KNOWN[v.lower()]: v for v in file.variables if v.lower() in KNOWN}
    for name, variable in renamed.items():
        if variable not in file.variables:
            raise InputError(Problem(str(path), f"has no variable '{variable}'", ", ".join(file.variables)))
        found[name] = variable
    lacking = [n for n in ("rho", "vp", "vs") if n not in found]
    if lacking:
        advice = "Name them with names: {vs: ...}."
        raise InputError(
            Problem(str(path), f"has no {', '.join(lacking)}", f"variables are {', '.join(file.variables)}", advice)
        )
    return found


def _axis(path: Path, file: NetcdfFile, name: str) -> Floats:
    """Return the coordinates of an axis in metres or degrees, in order."""
    if name.lower() not in AXES or name not in file.variables:
        raise InputError(Problem(str(path), f"'{name}' is not an axis", f"a coordinate variable, of {', '.join(AXES)}"))
    variable = file.variables[name]
    values: Floats = variable.numbers()
    steps = np.diff(values)
    if values.ndim != 1 or not len(values) or not ((steps > 0).all() or (steps < 0).all()):
        raise InputError(Problem(str(path), f"coordinates '{name}' are not in order", "ascending or descending"))
    return np.asarray(values if name.lower() in DEGREES else values * _unit(path, variable, "m"))


def _unit(path: Path, variable: NetcdfVariable, si: str) -> float:
    """Return the factor to SI units, from CF notations such as kg m-3 and km.s-1."""
    text = str(variable.attributes.get("units", "")).strip()
    if not si or text in ("", "1", "none", "count"):
        return 1.0
    plain = re.sub(r"([A-Za-z])\^?(-?\d)", r"\1**\2", re.sub(r"(?<=[A-Za-z0-9])[ .](?=[A-Za-z])", "*", text))
    try:
        return to_si(f"1 {plain}", si)
    except ValueError:
        raise InputError(Problem(str(path), f"'{variable.name}' has the unit '{text}'", f"one like {si}")) from None
