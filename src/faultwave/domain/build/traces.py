"""Fault traces from files (GeoJSON, CSV, GMT lines) and their properties: dip, dip direction, rake and depths.

Supported are GEM's Global Active Faults (dip, dip_dir, rake, upper_seis_depth, lower_seis_depth, as
"(best,least,most)", depths in km; Styron & Pagani 2020), their older average_dip and average_rake, fault sections of
the USGS (DipDeg, DipDir, UpDepth, LowDepth, Rake), and of New Zealand (Dip_pref, Dip_dir, Rake_pref).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import InputError, Problem, Problems, as_places
from faultwave.base.files.paths import shown
from faultwave.base.projection import NEEDED, Projection
from faultwave.base.types import Settings
from faultwave.base.units import to_si

NAMES = {
    "dip": ("dip", "averagedip", "avedip", "dipdeg", "dippref", "dipbest", "dipangle"),
    "azimuth": ("dipdir", "averagedipdir", "dipdirection", "dipdirect", "dipazimuth", "dipdirdeg"),
    "rake": ("rake", "averagerake", "averake", "rakepref", "rakebest"),
    "top": ("upperseisdepth", "updepth", "upperdepth", "upperseismogenicdepth", "topdepth"),
    "bottom": ("lowerseisdepth", "lowdepth", "lowerdepth", "lowerseismogenicdepth", "bottomdepth"),
}
"""Names of properties in lower case, letters only."""
ALIKE = ("dip", "rake", "depth", "width")
"""Words in names of properties that may describe the geometry of a fault."""
IGNORED = ("dipslip", "exposurequality", "depthquality", "epistemicquality")
"""Prefixes of names that contain these words but mean something else."""
COMPASS = {
    p: 22.5 * k
    for k, p in enumerate(
        ("N", "NNE", "NE", "ENE", "E", "ESE", "SE", "SSE", "S", "SSW", "SW", "WSW", "W", "WNW", "NW", "NNW")
    )
}
LIMITS = {
    "dip": (10.0, 90.0),
    "azimuth": (-360.0, 360.0),
    "rake": (-360.0, 360.0),
    "top": (0.0, 700e3),
    "bottom": (1.0, 700e3),
}
WORDS = {
    "dip": "degrees",
    "azimuth": "degrees or a point of the compass",
    "rake": "degrees",
    "top": "km",
    "bottom": "km",
}


@dataclass(frozen=True)
class Properties:
    """Geometry of a fault as given in a file; None where unknown.

    Attributes
    ----------
    dip, azimuth, rake
        Dip, azimuth of dip and rake [deg].
    top, bottom
        Depths of the upper and lower edge [m].
    unread
        Names of properties that may contain more but are not read.
    """

    dip: float | None = None
    azimuth: float | None = None
    rake: float | None = None
    top: float | None = None
    bottom: float | None = None
    unread: tuple[str, ...] = ()

    def words(self) -> str:
        """Return a description of the known properties; empty if there are none."""
        said = [] if self.dip is None else [f"dip {self.dip:g} deg"]
        said += [] if self.azimuth is None else [f"dips to {self.azimuth:g} deg"]
        said += [] if self.top is None else [f"upper edge {self.top / 1e3:g} km deep"]
        said += [] if self.bottom is None else [f"lower edge {self.bottom / 1e3:g} km deep"]
        said += [] if self.rake is None else [f"rake {self.rake:g} deg"]
        return ", ".join(said)


def read_properties(where: str, given: Mapping[str, object]) -> Properties:
    """Return the fault geometry in the properties of a feature.

    Raises
    ------
    InputError
        With all invalid values.
    """
    found: dict[str, float] = {}
    unread, problems = [], []
    for key, value in given.items():
        plain = re.sub(r"[^a-z]", "", key.lower())
        name = next((n for n, names in NAMES.items() if plain in names), None)
        if name is None:
            if any(word in plain for word in ALIKE) and not plain.startswith(IGNORED) and _best(value) is not None:
                unread.append(key)
            continue
        try:
            number = _number(name, _best(value))
        except ValueError:
            problems.append(Problem(where, f"{key} is {shown(str(value), 60)}", WORDS[name]))
            continue
        if number is None or name in found:
            continue
        low, high = LIMITS[name]
        if not low <= number <= high:
            factor = 1e3 if name in ("top", "bottom") else 1.0
            advice = "Depths are in kilometres." if factor > 1 else ""
            allowed = f"{low / factor:g} to {high / factor:g} {WORDS[name]}"
            problems.append(Problem(where, f"{key} is {shown(str(value), 60)}", allowed, advice))
            continue
        found[name] = number
    if found.get("top", 0.0) >= found.get("bottom", np.inf):
        what = f"its upper edge, {found['top'] / 1e3:g} km, is not above the lower one, {found['bottom'] / 1e3:g} km"
        problems.append(Problem(where, what, "an upper depth less than the lower one"))
    if problems:
        raise InputError(problems)
    return Properties(**found, unread=tuple(unread))


def _best(value: Any) -> Any:
    """Return the first of "(best,least,most)" or of a list, or the value itself; None if it is empty or unknown."""
    if isinstance(value, list | tuple):
        value = value[0] if value else None
    if isinstance(value, str):
        value = value.strip().strip("()[]").split(",")[0].strip().strip("'\"")
        return None if value.lower() in ("", "none", "nan", "null", "unknown", "n/a") else value
    return None if isinstance(value, float) and np.isnan(value) else value


def _number(name: str, value: str | float | None) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool):
        raise ValueError(value)
    if name == "azimuth" and isinstance(value, str):
        word = value.upper().replace("-", "")
        if word in ("V", "VERTICAL"):
            return None
        if word in COMPASS:
            return COMPASS[word]
    if name in ("top", "bottom"):
        return (
            float(value) * 1e3
            if not isinstance(value, str) or re.fullmatch(r"[-+.\deE]+", value)
            else to_si(value, "m")
        )
    return float(value)


Floats = NDArray[np.float64]

HEADERS = {
    ("lon", "lat"): True, ("longitude", "latitude"): True, ("long", "lat"): True, ("x", "y"): False, ("easting", "northing"): False,
}  # fmt: skip
"""Names of the two columns, and True if they are degrees."""

UNITS = {"m": 1.0, "km": 1000.0}
FARTHEST = 1e8
"""Largest distance between two points of a map [m]."""
SMALL = 0.02
"""Smallest ratio of length to depth of a fault; shorter traces were probably given in kilometres."""
WORLD = ("crs84", "4326", "4979")
"""Endings of the names of systems of longitude and latitude."""


@dataclass(frozen=True)
class Trace:
    """Fault trace on the map.

    Attributes
    ----------
    xy : (n, 2) array
        Points in x, y of the case [m].
    geographic : (n, 2) array or None
        Longitude and latitude [deg], if given so.
    name, source
        Name in the file, and place in the file.
    about
        Properties of the fault in the file.
    """

    xy: Floats
    geographic: Floats | None
    name: str
    source: str
    about: Properties = Properties()


def read_traces(path: str | Path, projection: Projection | None) -> list[Trace]:
    """Return all lines of a file.

    Raises
    ------
    InputError
        With file and line for invalid lines, and for degrees without a projection.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from None
    except UnicodeDecodeError:
        raise InputError(Problem(str(path), "is not UTF-8 text", "GeoJSON, or columns of text")) from None
    as_json = path.suffix.lower() in (".geojson", ".json") or text.lstrip().startswith("{")
    lines = _geojson(path, text) if as_json else _columns(path, text)
    found = [_placed(path, *line, projection) for line in lines]
    if not found:
        raise InputError(
            Problem(str(path), "holds no line", "LineString or MultiLineString, or rows of lon,lat or x,y")
        )
    return found


Line = tuple[str, str, Floats, bool, Properties]
"""Place in the file, name, points (n, 2), flag for degrees, and properties of the fault."""


def _placed(
    path: Path, where: str, name: str, points: Floats, degrees: bool, about: Properties, projection: Projection | None
) -> Trace:
    if len(points) < 2:
        raise InputError(Problem(where, f"a trace of {len(points)} point", "at least two"))
    if not degrees:
        return Trace(points, None, name, where, about)
    if projection is None:
        raise InputError(
            Problem(where, "contains longitudes and latitudes, but the case has no projection", advice=NEEDED)
        )
    bad = (np.abs(points[:, 0]) > 360) | (np.abs(points[:, 1]) > 90)
    if bad.any():
        lon, lat = points[bad][0]
        swapped = (np.abs(points[:, 1]) <= 360).all() and (np.abs(points[:, 0]) <= 90).all()
        advice = (
            "They seem to be exchanged: longitude comes first."
            if swapped
            else "Are these metres? Then name the columns x, y."
        )
        what = f"longitude {lon:g}, latitude {lat:g} is not a location on Earth"
        meant = projection.to_local(points[:, 1], points[:, 0]) if swapped else np.zeros((0, 2))
        meant = meant[np.isfinite(meant).all(1)]
        raise InputError(Problem(where, what, "degrees, longitude first", advice, places=as_places(meant)))
    local = projection.to_local(points[:, 0], points[:, 1])
    if not np.isfinite(local).all():
        raise InputError(
            Problem(where, "is outside of the projection of the case", advice="Choose the projection of that location.")
        )
    return Trace(local, points, name, where, about)


def _geojson(path: Path, text: str) -> list[Line]:
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(
            Problem(f"{path}:{error.lineno}", f"is not GeoJSON: {error.msg}", "text as in RFC 7946")
        ) from None
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits, or deeply nested lists
        raise InputError(Problem(str(path), f"is not GeoJSON: {error}")) from None
    if not isinstance(data, dict):
        raise InputError(Problem(str(path), "is not GeoJSON", "an object with a type"))
    _check_system(path, data)
    found: list[Line] = []
    for number, given in enumerate(_features(path, data), 1):
        where = f"{path}: feature {number}"
        feature = _object(where, given)
        about = _object(where, feature.get("properties"))
        name = str(about.get("name") or about.get("Name") or "")
        geometry = _object(where, feature.get("geometry", feature))
        kind, places = geometry.get("type"), geometry.get("coordinates")
        parts = {"LineString": [places], "MultiLineString": places}.get(str(kind))
        if not isinstance(parts, list):
            raise InputError(Problem(where, f"is a {shown(kind, 60)} without lines", "LineString, MultiLineString"))
        said = read_properties(where, about)
        found += [(where, name, _points(where, part), True, said) for part in parts]
    return found


def _features(path: Path, data: Settings) -> list[object]:
    found = data.get("features") or [] if data.get("type") == "FeatureCollection" else [data]
    if not isinstance(found, list):
        raise InputError(Problem(str(path), "its 'features' are not a list"))
    return found


def _object(where: str, given: Any) -> Settings:
    """Return an object of the file, empty if missing."""
    if not isinstance(given or {}, dict):
        raise InputError(Problem(where, f"has {shown(str(given), 60)} instead of an object"))
    return given or {}


def _check_system(path: Path, data: Settings) -> None:
    """Raise InputError unless coordinates are longitude and latitude (RFC 7946); older files may name another system."""
    system = _object(f"{path}: crs", data.get("crs"))
    name = str(_object(f"{path}: crs", system.get("properties")).get("name", ""))
    if name and not name.lower().endswith(WORLD):
        what = f"names the coordinate system '{name}'"
        raise InputError(
            Problem(str(path), what, "longitude and latitude (RFC 7946)", "ogr2ogr -t_srs EPSG:4326 turns it.")
        )


def _points(where: str, places: Any) -> Floats:
    try:
        points = np.array([[float(p[0]), float(p[1])] for p in places])
    except (TypeError, ValueError, IndexError, KeyError, OverflowError):
        raise InputError(
            Problem(where, "its coordinates are not a list of [longitude, latitude]", "[[longitude, latitude], ...]")
        ) from None
    if not np.isfinite(points).all():
        raise InputError(
            Problem(where, "its coordinates are not all finite numbers", "finite numbers, longitude first")
        )
    return points.reshape(-1, 2)


def _columns(path: Path, text: str) -> list[Line]:
    """Read rows of two numbers, lines separated by '>' or blank ones; columns are degrees unless a header names them."""
    degrees, factor, pick, begun = True, 1.0, (0, 1), False
    problems = Problems()
    lines: list[tuple[str, str, list[list[float]]]] = [(f"{path}:1", "", [])]
    for number, line in enumerate(text.splitlines(), 1):
        words = re.split(r"[,;\s]+", line.partition("#")[0].strip())
        if words == [""] or words[0].startswith(">"):
            lines.append((f"{path}:{number}", line.strip().lstrip("> "), []))
            continue
        values = _numbers(words)
        if values is None and not begun:
            degrees, factor, pick = _header(f"{path}:{number}", words)
        elif values is None or len(values) <= max(pick):
            problems.error(f"{path}:{number}", f"'{line.strip()}' is not a point", "two numbers")
        elif not degrees and max(abs(factor * values[k]) for k in pick) > FARTHEST:
            problems.error(f"{path}:{number}", f"'{line.strip()}' is not a location on Earth", f"up to {FARTHEST:g} m")
        else:
            begun = True
            lines[-1][2].append([factor * values[k] for k in pick])
    problems.raise_errors()
    return [(where, name, np.array(rows), degrees, Properties()) for where, name, rows in lines if rows]


def _numbers(words: list[str]) -> list[float] | None:
    try:
        values = [float(word) for word in words if word]
    except ValueError:
        return None
    return values if np.isfinite(values).all() else None


def _header(where: str, words: list[str]) -> tuple[bool, float, tuple[int, int]]:
    """Return whether columns are degrees, their factor to metres, and their indices."""
    plain = [re.sub(r"[\[\(_].*", "", w).lower() for w in words]
    for names, degrees in HEADERS.items():
        if all(name in plain for name in names):
            pick = plain.index(names[0]), plain.index(names[1])
            unit = re.search(r"[\[\(_](\w+)", words[pick[0]])
            factor = 1.0 if degrees or unit is None else UNITS.get(unit[1].lower(), 0.0)
            if not factor:
                raise InputError(Problem(where, f"'{words[pick[0]]}' has no known unit", ", ".join(UNITS)))
            return degrees, factor, pick
    allowed = "; ".join(" ".join(names) for names in HEADERS)
    raise InputError(Problem(where, f"'{' '.join(words)}' defines no coordinates", allowed))


def check_trace(trace: Trace, lower: Floats, upper: Floats, place: Callable[[Floats], str], problems: Problems) -> None:
    """Report a trace that leaves the region ``lower`` to ``upper`` (2,) or crosses itself; ``place`` describes x, y."""
    xy = trace.xy
    outside = ((xy <= lower) | (xy >= upper)).any(1)
    if outside.any():
        first = int(np.flatnonzero(outside)[0])
        advice = "Enlarge the region (mesh.build: lower, upper; the size in `faultwave new`), or cut the trace."
        if outside.all() and trace.geographic is not None and np.abs(trace.geographic).max() <= 90:
            advice = "Are longitude and latitude exchanged? Longitude comes first."
        elif (
            outside.all()
            and ((xy / 1000.0 > lower) & (xy / 1000.0 < upper)).all()
            and np.abs(xy).max() > 100 * np.abs(upper).max()
        ):
            advice = "Are they metres under a header that says km, or in another coordinate system than the case?"
        elif outside.all():
            advice += " Is it in the coordinates of the case?"
        what = f"{int(outside.sum())} of {len(xy)} points lie outside of the region, the first at {place(xy[first])}"
        spans = f"x {lower[0]:g} to {upper[0]:g}, y {lower[1]:g} to {upper[1]:g} m"
        problems.error(trace.source, what, spans, advice, xy[outside])
        return
    crossing = self_crossing(xy)
    if crossing is not None:
        problems.error(
            trace.source,
            f"the trace crosses itself at {place(crossing)}",
            advice="Define its branches as separate faults.",
            places=[crossing],
        )


def trace_warnings(trace: Trace, advice: str, rake: bool) -> list[Problem]:
    """Return warnings about properties of a trace that are used, and those that are not read.

    ``advice`` is added to the first; ``rake`` is True if the rake is used.
    """
    found, words = [], (trace.about if rake else replace(trace.about, rake=None)).words()
    if words:
        what = f"properties of the trace{f' {trace.name!r}' if trace.name else ''} are used: {words}"
        found.append(Problem(trace.source, what, advice=advice, severity="warning"))
    if trace.about.unread:
        what = f"properties that are not read: {', '.join(trace.about.unread)}"
        found.append(
            Problem(
                trace.source,
                what,
                advice="If they describe the geometry of the fault, define it in the case.",
                severity="warning",
            )
        )
    return found


def check_scale(traces: Sequence[Trace], depth: float, problems: Problems) -> None:
    """Report traces in x and y that are far too short for faults of ``depth``, as if kilometres were read as metres."""
    if any(t.geographic is not None for t in traces):
        return
    points = np.concatenate([t.xy for t in traces])
    extent = float(np.linalg.norm(points.max(0) - points.min(0)))
    if extent < SMALL * depth:
        what = f"the trace is {extent:.4g} m long, far too short for a fault {depth:g} m deep"
        advice = f"{other_units(points)} Or make the fault less deep."
        problems.error(traces[0].source, what, f"{SMALL * depth:g} m or more", advice, points)


def other_units(points: Floats) -> str:
    """Return a question about the units of coordinates (n, 2) of a trace that is far too short."""
    requested = "Are its coordinates kilometres? Name columns x[km], y[km]."
    degrees = (np.abs(points) <= (180.0, 90.0)).all()
    return f"{requested} Degrees? Name columns lon, lat." if degrees else requested


def self_crossing(xy: Floats) -> Floats | None:
    """Return the point where a line (n, 2) crosses or touches itself, or None."""
    for i in range(len(xy) - 1):
        for j in range(i + 1, len(xy) - 1):
            found = crossing(xy[i], xy[i + 1], xy[j], xy[j + 1])
            if found is not None and not (j == i + 1 and np.allclose(found, xy[j])):
                return found
    return None


def crossing(a: Floats, b: Floats, c: Floats, d: Floats) -> Floats | None:
    """Return the common point (2,) of segments a-b and c-d, ends included; None if there is none or they are parallel."""
    u, v, w = b - a, d - c, c - a
    area = u[0] * v[1] - u[1] * v[0]
    if abs(area) <= 1e-12 * np.linalg.norm(u) * np.linalg.norm(v):
        return None
    s, t = (w[0] * v[1] - w[1] * v[0]) / area, (w[0] * u[1] - w[1] * u[0]) / area
    slack = 1e-9
    return np.asarray(a + s * u) if -slack <= s <= 1 + slack and -slack <= t <= 1 + slack else None


def simplified(xy: Floats, size: float) -> Floats:
    """Return a line without points that elements of ``size`` cannot follow, within a tenth of it."""
    retained = _douglas_peucker(xy, 0.1 * size)
    found = [retained[0]]
    for point in retained[1:-1]:
        if np.linalg.norm(point - found[-1]) >= 0.8 * size and np.linalg.norm(point - retained[-1]) >= 0.8 * size:
            found.append(point)
    return np.array([*found, retained[-1]])


def _douglas_peucker(xy: Floats, tolerance: float) -> Floats:
    """Simplify a line (Ramer 1972; Douglas & Peucker 1973)."""
    a, b = xy[0], xy[-1]
    along = b - a
    length = np.linalg.norm(along)
    off = xy - a
    away = np.linalg.norm(off, axis=1) if length == 0 else np.abs(off[:, 0] * along[1] - off[:, 1] * along[0]) / length
    worst = int(np.argmax(away))
    if away[worst] <= tolerance:
        return np.array([a, b])
    return np.concatenate([_douglas_peucker(xy[: worst + 1], tolerance)[:-1], _douglas_peucker(xy[worst:], tolerance)])
