"""CMTSOLUTION files: centroid moment tensors as text, thirteen lines per source (Global CMT: Ekstroem et al. 2012)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.projection import Projection, geographic_tensor, needed, voigt
from faultwave.base.types import Setting
from faultwave.base.units import as_float, finite_number
from faultwave.physics.sources.point import PointSource
from faultwave.physics.sources.time_functions import Bell

DYNE_CM = 1e-7  # N m
KEYS = ("time shift", "half duration", "latitude", "longitude", "depth", "Mrr", "Mtt", "Mpp", "Mrt", "Mrp", "Mtp")
LINES = 2 + len(KEYS)
SPECFEM = {"latorutm": "latitude", "longorutm": "longitude"}
"""Lower-case keys of SPECFEM3D Cartesian and the keys that they stand for."""
LARGEST = 1e35  # of a moment [dyne cm], far beyond any earthquake
RANGES = {
    "time shift": (-1e9, 1e9), "half duration": (0.0, 1e6), "latitude": (-1e8, 1e8), "longitude": (-1e8, 1e8), "depth": (0.0, 7000.0),
    **dict.fromkeys(KEYS[5:], (-LARGEST, LARGEST)),
}  # fmt: skip
GAUSSIAN = 1.628  # half duration over the width of a Gaussian with about the spectrum of the triangle
DELAY = 1.5  # half durations from onset to centroid
SHORTEST = 1e-3  # half duration [s]: 0 means a point in time


def read(
    path: Path, setting: Setting, projection: Projection | None, warned: Problems | None = None
) -> list[PointSource]:
    """Return the point sources of a file, as every module of this folder does."""
    return read_cmt(path, projection)


def read_cmt(path: Path, projection: Projection | None) -> list[PointSource]:
    """Return the sources of a file, one per record of thirteen lines.

    The moment rate is a Gaussian of width half duration / 1.628, centred 1.5 half durations after the start of the run
    plus the time shift of the file: everything occurs later than the origin time of the file by this. If any latitude
    or longitude of the file is beyond 90 or 360, all are y and x [m], as in SPECFEM3D without projection; values of a
    few hundred, which would be degrees if exchanged, are an error if the case has a projection.

    Parameters
    ----------
    path : Path
        The file.
    projection : Projection or None
        Projection of the case, which converts longitudes and latitudes to x and y.

    Raises
    ------
    InputError
        With file and line of every problem.
    """
    try:
        listed = list(enumerate(path.read_text(encoding="utf-8-sig", errors="replace").splitlines(), 1))
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from None
    lines = [(k, line) for k, line in listed if line.strip()]
    problems, records = Problems(), list[dict[str, float]]()
    if not lines or len(lines) % LINES:
        problems.error(_first_amiss(path, lines), f"has {len(lines)} lines with text", f"{LINES} a source")
    else:
        for first in range(0, len(lines), LINES):
            values = _values(path, lines[first + 2 : first + LINES], problems)
            if values:
                records.append(values)
    degrees = all(abs(v["latitude"]) <= 90.0 and abs(v["longitude"]) <= 360.0 for v in records)
    if projection is not None and not degrees:
        _check_exchanged(path, records, problems)
    problems.raise_errors()
    if degrees:
        projection = needed(projection, str(path))
    return [_source(path, v, projection if degrees else None, k) for k, v in enumerate(records, 1)]


def _check_exchanged(path: Path, records: list[dict[str, float]], problems: Problems) -> None:
    """Add an error if coordinates are so small that they must be exchanged degrees instead of metres."""
    if all(abs(v["latitude"]) <= 360.0 and abs(v["longitude"]) <= 90.0 for v in records):
        beyond = next(v for v in records if abs(v["latitude"]) > 90.0)
        what = f"latitude {beyond['latitude']:g}, longitude {beyond['longitude']:g}"
        problems.error(str(path), what, "latitude from -90 to 90", "Are latitude and longitude exchanged?")


def _first_amiss(path: Path, lines: list[tuple[int, str]]) -> str:
    """Return file and line of the first key that does not match the format."""
    for place, (number, line) in enumerate(lines):
        row = place % LINES
        if row >= 2 and _key(line) != KEYS[row - 2].lower():
            return f"{path}:{number}, where '{KEYS[row - 2]}:' is expected"
    return f"{path}:{lines[-1][0] if lines else 1}"


def _key(line: str) -> str:
    """Return the lower-case key of a line, translating keys of SPECFEM3D to Global CMT."""
    name = " ".join(line.partition(":")[0].split()).lower()
    return SPECFEM.get(name, name)


def _values(path: Path, lines: list[tuple[int, str]], problems: Problems) -> dict[str, float]:
    found: dict[str, float] = {}
    for (number, line), key in zip(lines, KEYS, strict=True):
        _, colon, value = line.partition(":")
        if not colon or _key(line) != key.lower():
            problems.error(f"{path}:{number}", f"'{line.strip()}'", f"{key}: number")
            continue
        word = value.split()[0] if value.split() else ""
        given = as_float(word) if finite_number(word) is None else finite_number(word)
        if given is None:
            problems.error(f"{path}:{number}", f"'{value.strip()}' is not a number", f"{key}: number")
            continue
        found[key] = given
        low, high = RANGES.get(key, (-np.inf, np.inf))
        if not (np.isfinite(found[key]) and low <= found[key] <= high):
            allowed = f"{low:g} to {high:g}" if key in RANGES else "a finite number"
            problems.error(f"{path}:{number}", f"{key} is {found.pop(key):g}", allowed)
    return found if len(found) == len(KEYS) else {}


def _source(path: Path, v: dict[str, float], projection: Projection | None, number: int) -> PointSource:
    """Return a source; r is up, t south, p east. Without ``projection`` latitude and longitude are y and x [m]."""
    ned = DYNE_CM * np.array([
        [v["Mtt"], -v["Mtp"], v["Mrt"]],
        [-v["Mtp"], v["Mpp"], -v["Mrp"]],
        [v["Mrt"], -v["Mrp"], v["Mrr"]],
    ])  # fmt: skip
    x, y, north = v["longitude"], v["latitude"], np.array([0.0, 1.0])
    if projection is not None:
        north = projection.north(x, y)
        x, y = projection.to_local(x, y)[0]
    half = max(v["half duration"], SHORTEST)
    return PointSource(
        np.array([x, y, -1e3 * v["depth"]]),
        Bell(half / GAUSSIAN, DELAY * half),
        moment=voigt(geographic_tensor(ned, north)),
        onset=v["time shift"],
        name=f"{path.name} source {number}",
    )
