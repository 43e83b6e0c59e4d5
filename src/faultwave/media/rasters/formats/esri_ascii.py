"""ESRI ASCII grids: six header lines, then rows from north to south; a .prj file next to it may name the projection."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.media.rasters.raster import Raster, ascending

ENDINGS = (".asc", ".agr", ".txt")
KEYS = ("ncols", "nrows", "xllcorner", "yllcorner", "xllcenter", "yllcenter", "cellsize", "dx", "dy", "nodata_value")
FORM = "lines 'ncols', 'nrows', 'xllcorner', 'yllcorner', 'cellsize' and a number each, then rows of heights"


def read(path: Path, variable: str | None) -> Raster:
    """Read an ESRI ASCII grid; raises InputError with file and line."""
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror or error}")) from None
    header, first = _header(path, lines)
    count = int(header["nrows"]), int(header["ncols"])
    try:
        values = np.array(" ".join(lines[first:]).split(), float)
    except ValueError as error:
        raise InputError(Problem(str(path), f"a height is not a number: {error}", FORM)) from None
    if values.size != count[0] * count[1]:
        what = f"holds {values.size:,} heights, its header says {count[0]:,} rows of {count[1]:,}"
        raise InputError(Problem(str(path), what))
    missing = header.get("nodata_value", -9999.0)
    values = np.where(values == missing, np.nan, values).reshape(count)
    size = [header.get(k, header.get("cellsize", np.nan)) for k in ("dx", "dy")]
    axes = []
    for n, h, centre, corner in (
        (count[1], size[0], "xllcenter", "xllcorner"),
        (count[0], size[1], "yllcenter", "yllcorner"),
    ):
        axes.append(header.get(centre, header.get(corner, np.nan) + 0.5 * h) + h * np.arange(n))
    return ascending(str(path), axes[0], axes[1][::-1], values, _projection(path))


def _header(path: Path, lines: list[str]) -> tuple[dict[str, float], int]:
    """Return the numbers of the header by name, and the index of the first line after it."""
    found: dict[str, float] = {}
    first = 0
    for first, line in enumerate(lines):
        words = line.split()
        if len(words) != 2 or words[0].lower() not in KEYS:
            break
        try:
            found[words[0].lower()] = float(words[1])
        except ValueError:
            advice = "Use a decimal point, not a comma." if "," in words[1] else ""
            raise InputError(Problem(f"{path}:{first + 1}", f"'{words[1]}' is not a number", FORM, advice)) from None
    corner = all({f"{a}llcorner", f"{a}llcenter"} & found.keys() for a in "xy")
    size = found.get("cellsize", 0.0) > 0 or (found.get("dx", 0.0) > 0 and found.get("dy", 0.0) > 0)
    whole = all(2 <= found.get(k, 0.0) < 2**31 and found[k] == int(found[k]) for k in ("ncols", "nrows"))
    if not (corner and size and whole):
        raise InputError(Problem(f"{path}:{first + 1}", "the header is no ESRI ASCII grid's", FORM))
    return found, first


def _projection(path: Path) -> str | None:
    adjacent = path.with_suffix(".prj")
    return adjacent.read_text(errors="replace").strip() if adjacent.is_file() else None
