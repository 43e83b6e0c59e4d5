"""Planes of finite sources as faults: segments of SRF (Graves 2014) and FSP files (SRCMOD, Mai & Thingbaijam 2014)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.math.projection import NEEDED, Projection
from faultwave.domain.build.faults import Fault

NUMBER = r"[-+]?\d*\.?\d+(?:[eE][-+]?\d+)?"
GENTLE = 10.0
"""Smallest dip [deg] for which a fault can be built."""


@dataclass(frozen=True)
class Plane:
    """Rectangular segment of a finite source.

    Attributes
    ----------
    middle
        Longitude and latitude of the middle of the upper edge [deg].
    length, width
        Along strike and down dip [m].
    strike, dip
        Angles [deg].
    top
        Depth of the upper edge [m].
    source
        File and line.
    """

    middle: tuple[float, float]
    length: float
    width: float
    strike: float
    dip: float
    top: float
    source: str


def read_planes(path: Path) -> list[Plane]:
    """Return the segments of a file, whose format is detected; raises InputError with file and line."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from None
    problems = Problems()
    found = _fsp(path, lines, problems) if any(line.startswith("%") for line in lines) else _srf(path, lines, problems)
    if not found:
        problems.error(str(path), "names no plane", "an SRF with a PLANE block, or an FSP file of SRCMOD")
    for plane in found:
        if not (plane.length > 0 and plane.width > 0 and plane.top >= 0 and GENTLE <= plane.dip <= 90):
            what = f"a plane {plane.length:g} by {plane.width:g} m, {plane.top:g} m deep, dips by {plane.dip:g} degrees"
            problems.error(plane.source, what, f"positive lengths, and a dip from {GENTLE:g} to 90")
    problems.raise_errors()
    return found


def _srf(path: Path, lines: Sequence[str], problems: Problems) -> list[Plane]:
    """Read two lines per segment after PLANE: longitude, latitude, two counts, length, width [km]; strike, dip, depth of top [km], ..."""
    rows = [(k, line.split()) for k, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("#")]
    start = next((i for i, (_, words) in enumerate(rows) if words[0].upper() == "PLANE"), None)
    if start is None:
        return []
    found = []
    try:
        count = int(rows[start][1][1])
        for n in range(count):
            k, first = rows[start + 1 + 2 * n]
            lon, lat, _, _, length, width = map(float, first[:6])
            strike, dip, top = map(float, rows[start + 2 + 2 * n][1][:3])
            found.append(Plane((lon, lat), 1e3 * length, 1e3 * width, strike, dip, 1e3 * top, f"{path}:{k}"))
    except (ValueError, IndexError):
        where = f"{path}:{rows[min(start + 1 + 2 * len(found), len(rows) - 1)][0]}"
        problems.error(where, "is no plane", "lon lat nstk ndip length width, then strike dip top shyp dhyp")
    return found


def _fsp(path: Path, lines: Sequence[str], problems: Problems) -> list[Plane]:
    """Return segments computed from subfaults, whose positions are the middles of their upper edges."""
    whole = "\n".join(line for line in lines if line.startswith("%"))
    size = _find_number(whole, "Dx"), _find_number(whole, "Dz")
    mech = _find_number(whole, "STRK"), _find_number(whole, "DIP")
    segments: list[tuple[int, tuple[float | None, float | None], list[list[float]]]] = []
    columns: list[str] = []
    for k, line in enumerate(lines, 1):
        if line.startswith("%"):
            if "SEGMENT" in line:
                segments.append((k, (_find_number(line, "STRIKE"), _find_number(line, "DIP")), []))
            words = line.lstrip("%").split()
            if {"LAT", "LON", "Z"} <= {w.upper() for w in words}:
                columns = [w.upper() for w in words]
                if not segments:
                    segments.append((k, mech, []))
            continue
        words = line.split()
        if not words or not columns:
            continue
        try:
            row = [float(w) for w in words]
            segments[-1][2].append([row[columns.index(name)] for name in ("LON", "LAT", "Z")])
        except (ValueError, IndexError):
            problems.error(f"{path}:{k}", f"'{line.strip()}' is no subfault", ", ".join(columns))
            return []
    if None in size or any(None in angles for _, angles, rows in segments if rows):
        problems.error(str(path), "lacks the size Dx, Dz of its subfaults, or strike and dip")
        return []
    return [_plane(f"{path}:{k}", angles, np.array(rows), size) for k, angles, rows in segments if rows]  # type: ignore[arg-type]


def _find_number(text: str, name: str) -> float | None:
    found = re.search(rf"\b{name}\s*=\s*({NUMBER})", text)
    return float(found[1]) if found else None


def _plane(where: str, angles: tuple[float, float], rows: np.ndarray, size: tuple[float, float]) -> Plane:
    """Return the plane of subfaults (n, 3) at longitude, latitude and depth [km]."""
    (strike, dip), (dx, dz) = angles, size
    upper = rows[rows[:, 2] < rows[:, 2].min() + 0.25 * dz * np.sin(np.radians(dip))]
    middle = 0.5 * (upper.min(0) + upper.max(0))
    east = 111.195 * np.cos(np.radians(middle[1])) * (rows[:, 0] - middle[0])
    along = east * np.sin(np.radians(strike)) + 111.195 * (rows[:, 1] - middle[1]) * np.cos(np.radians(strike))
    length = float(np.ptp(along)) + dx
    width = float(np.ptp(rows[:, 2])) / np.sin(np.radians(dip)) + dz
    return Plane(
        (float(middle[0]), float(middle[1])),
        1e3 * length,
        1e3 * width,
        strike,
        dip,
        1e3 * float(rows[:, 2].min()),
        where,
    )


def from_plane(plane: Plane, name: str, size: float, stops_at: tuple[str, ...], projection: Projection | None) -> Fault:
    """Return the fault of a plane; its trace is where the plane, extended upwards, reaches z = 0.

    Raises
    ------
    InputError
        If there is no projection.
    """
    if projection is None:
        raise InputError(Problem(plane.source, "is in longitude and latitude", NEEDED))
    top = projection.to_local(*(np.array([x]) for x in plane.middle))[0]
    north = projection.north(*plane.middle)
    east = np.array([north[1], -north[0]])
    s, d = np.radians([plane.strike, plane.dip])
    along, across = np.cos(s) * north + np.sin(s) * east, np.cos(s) * east - np.sin(s) * north
    lean = 0.0 if plane.dip >= 89.99 else 1.0 / float(np.tan(d))
    outcrop = top - plane.top * lean * across
    half = 0.5 * plane.length * along
    xy = np.array([outcrop - half, outcrop + half])
    bottom = plane.top + plane.width * float(np.sin(d))
    towards = float(across[0]), float(across[1])
    dip = 90.0 if lean == 0.0 else plane.dip
    return Fault(name, plane.source, size, xy, None, ((0.0, dip),), towards, plane.top, bottom, stops_at)


__all__ = ["Plane", "from_plane", "read_planes"]
