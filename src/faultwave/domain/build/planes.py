"""Fault planes from files of other programs: segments of finite sources (SRF, FSP), and ruptures of ShakeMap."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.files.fsp import UNKNOWN, RowDepths, stated_as_upper_edges
from faultwave.base.projection import NEEDED, Projection
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
    if "".join(lines[:1]).lstrip().startswith("{"):
        found = _rupture_json(path, "\n".join(lines), problems)
    elif any(line.startswith("%") for line in lines):
        found = _fsp(path, lines, problems)
    else:
        found = _srf(path, lines, problems)
    if not found and not problems.errors:
        what = "an SRF with a PLANE block, an FSP file of SRCMOD, or a rupture.json of ShakeMap"
        problems.error(str(path), "names no plane", what)
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


@dataclass
class _Segment:
    """Header and rows (longitude, latitude, depth) of a segment of an FSP file while it is read."""

    line: int
    angles: tuple[float | None, float | None]
    top: float | None
    rows: list[list[float]] = field(default_factory=list)


def _fsp(path: Path, lines: Sequence[str], problems: Problems) -> list[Plane]:
    """Return segments computed from subfaults, whose positions are their centres or the middles of their upper edges."""
    whole = "\n".join(line for line in lines if line.startswith("%"))
    size = _find_number(whole, "Dx"), _find_number(whole, "Dz")
    single = _find_number(whole, "STRK"), _find_number(whole, "DIP"), _find_number(whole, "Htop")
    statements = [s for s in map(stated_as_upper_edges, lines) if s is not None]
    segments, columns = list[_Segment](), list[str]()
    for k, line in enumerate(lines, 1):
        if line.startswith("%"):
            if "SEGMENT" in line:
                segments.append(_Segment(k, (_find_number(line, "STRIKE"), _find_number(line, "DIP")), None))
            elif segments and segments[-1].top is None:
                segments[-1].top = _find_number(line, "Z2top")
            words = line.lstrip("%").split()
            if {"LAT", "LON", "Z"} <= {w.upper() for w in words}:
                columns = [w.upper() for w in words]
                if not segments:
                    segments.append(_Segment(k, single[:2], single[2]))
            continue
        words = line.split()
        if not words or not columns:
            continue
        try:
            row = [float(w) for w in words]
            segments[-1].rows.append([row[columns.index(name)] for name in ("LON", "LAT", "Z")])
        except (ValueError, IndexError):
            problems.error(f"{path}:{k}", f"'{line.strip()}' is not a subfault", ", ".join(columns))
            return []
    found = [s for s in segments if s.rows]
    if None in size or any(None in s.angles for s in found):
        problems.error(str(path), "lacks the size Dx, Dz of its subfaults, or strike and dip")
        return []
    stated = statements[-1] if statements else None
    return [_plane(f"{path}:{s.line}", s, size, stated) for s in found]  # type: ignore[arg-type]


def _find_number(text: str, name: str) -> float | None:
    """Return the number after a name, None if it is absent or unknown."""
    found = re.search(rf"\b{name}\s*=\s*({NUMBER})", text)
    return float(found[1]) if found and float(found[1]) != UNKNOWN else None


def _plane(where: str, segment: _Segment, size: tuple[float, float], stated: bool | None) -> Plane:
    """Return the plane of the subfaults of a segment; ``stated`` is True for upper edges and False for centres."""
    rows, (dx, dz) = np.array(segment.rows), size
    strike, dip = (float(angle or 0.0) for angle in segment.angles)
    height = dz * float(np.sin(np.radians(dip)))
    upper = rows[rows[:, 2] < rows[:, 2].min() + 0.25 * height]
    lon, lat = 0.5 * (upper.min(0) + upper.max(0))[:2]
    top = float(rows[:, 2].min())
    east = 111.195 * np.cos(np.radians(lat)) * (rows[:, 0] - lon)
    along = east * np.sin(np.radians(strike)) + 111.195 * (rows[:, 1] - lat) * np.cos(np.radians(strike))
    length = float(np.ptp(along)) + dx
    width = float(np.ptp(rows[:, 2])) / np.sin(np.radians(dip)) + dz
    if not RowDepths(top, segment.top, height).are_upper_edges(stated):
        top -= 0.5 * height
        back = 0.5 * dz * np.cos(np.radians(dip)) / 111.195  # [deg], away from the direction of dip
        lon -= back * np.cos(np.radians(strike)) / np.cos(np.radians(lat))
        lat += back * np.sin(np.radians(strike))
    return Plane(
        (float(lon), float(lat)), 1e3 * length, 1e3 * width, strike, dip, 1e3 * max(0.0, top), where
    )  # fmt: skip


DEEPEST = 1000.0  # km
LEVEL = 0.05
"""Largest departure from a rectangle with level edges, as a fraction of the length of a side."""


def _rupture_json(path: Path, text: str, problems: Problems) -> list[Plane]:
    """Return the quadrilaterals of a rupture of ShakeMap, GeoJSON with a MultiPolygon of longitude, latitude and depth [km].

    Each polygon holds the points of its upper edge along strike, as many of its lower edge in reverse, and the first again.
    """
    try:
        feature = json.loads(text)["features"][0]["geometry"]
        kind, polygons = feature["type"], feature["coordinates"]
        rings = [np.array(ring, float) for polygon in polygons for ring in polygon] if kind == "MultiPolygon" else []
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError) as error:
        allowed = "a FeatureCollection with a MultiPolygon of longitude, latitude and depth"
        problems.error(str(path), f"is no rupture of ShakeMap: {type(error).__name__}", allowed)
        return []
    if kind != "MultiPolygon":
        problems.error(str(path), f"has the geometry {kind}", "MultiPolygon, which has an extent")
    found = list[Plane]()
    for number, ring in enumerate(rings, 1):
        where = f"{path}: polygon {number}"
        if ring.ndim != 2 or ring.shape[1] != 3 or len(ring) < 5 or len(ring) % 2 == 0 or (ring[0] != ring[-1]).any():
            what = f"has points of shape {ring.shape}"
            allowed = "an upper edge, as many points of the lower edge in reverse, and the first point again, each with a depth"
            problems.error(where, what, allowed)
        elif not (np.abs(ring) <= (360.0, 90.0, DEEPEST)).all():  # False for NaN
            problems.error(where, "has points that are not on Earth", "longitude and latitude in degrees, depth in km")
        else:
            found += _quadrilaterals(where, ring, problems)
    return found


def _quadrilaterals(where: str, ring: np.ndarray, problems: Problems) -> list[Plane]:
    """Return a plane for each pair of neighbouring points of the upper edge of a polygon."""
    count = len(ring) // 2
    upper, lower = ring[:count], ring[count:-1][::-1]
    found = list[Plane]()
    for n in range(count - 1):
        plane, across = _quadrilateral(where, upper[n : n + 2], lower[n : n + 2])
        if plane is None:
            what = "has a quadrilateral that is no rectangle with level edges"
            problems.error(where, what, f"within {100 * LEVEL:g} % of its sides")
        elif across < -LEVEL * plane.width:
            advice = "Reverse the order of the points of each edge."
            problems.error(where, "dips to the left of its upper edge", "an upper edge along strike", advice)
        else:
            found.append(plane)
    return found


def _quadrilateral(where: str, upper: np.ndarray, lower: np.ndarray) -> tuple[Plane | None, float]:
    """Return the plane of two points (2, 3) of the upper and of the lower edge, and its width to the right of strike [m].

    The plane is None if the points are not the corners of a rectangle with level edges.
    """
    import pyproj

    geod = pyproj.Geod(ellps="WGS84")
    strike, _, length = geod.inv(*upper[0, :2], *upper[1, :2])
    azimuth, _, distance = geod.inv(*upper[:, :2].T, *lower[:, :2].T)
    turn = np.radians(np.array(azimuth) - strike)
    along, across = np.array(distance) * np.cos(turn), np.array(distance) * np.sin(turn)
    drop = 1e3 * (lower[:, 2] - upper[:, 2])
    width = float(np.hypot(drop.mean(), across.mean()))
    departures = [*np.abs(along), np.ptp(across), *(1e3 * np.ptp(edge[:, 2]) for edge in (upper, lower))]
    if not length > 0 or not width > 0 or max(departures) > LEVEL * max(length, width):
        return None, 0.0
    lon, lat, _ = geod.fwd(upper[0, 0], upper[0, 1], strike, 0.5 * length)
    dip = float(np.degrees(np.arctan2(drop.mean(), max(across.mean(), 0.0))))
    top = 1e3 * float(upper[:, 2].mean())
    return Plane((float(lon), float(lat)), float(length), width, float(strike % 360.0), dip, top, where), float(
        across.mean()
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
