"""Rupture extents of ShakeMap, rupture.json: slip that spreads from the hypocentre over the planes of the rupture."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.formulas import moment_of_magnitude
from faultwave.base.projection import EXCHANGED, Projection, exchange_advice
from faultwave.base.units import as_float
from faultwave.domain.build.planes import Plane, read_planes
from faultwave.run.new_case import text as text
from faultwave.run.new_case.event_source import EventRequest, FiniteEvent, PointEvent, cmt_half_duration
from faultwave.run.new_case.events.catalogs import MECHANISM, check_angles, check_depth

RUPTURE_SPEED = 0.8 * text.SLOWEST_S_SPEED
"""Speed at which slip spreads from the hypocentre [m/s]."""
RISE_TIME = 2.03e-9
"""Rise time [s] over the cube root of the moment [dyne cm] (Somerville et al., Seismol. Res. Lett. 70, 1999)."""
TAPER = 0.2
"""Fraction of length and width at each edge over which slip grows."""
AT_SURFACE = 1e3
"""Depth of an upper edge down to which slip reaches it untapered [m]."""
MOST = 10_000
"""Largest number of subfaults."""
NEAR, NEAR_PART = 10e3, 0.1
"""Largest distance of a hypocentre from its rupture [m], and as a fraction of the root of the rupture's area; the larger counts."""
RAKES = {"RS": 90.0, "NM": -90.0}
"""Rake [deg] of mechanisms of ShakeMap that define it."""
PLACEHOLDERS = {"ALL": (0.0, 45.0), "SS": (0.0,)}
"""Rakes [deg] that ShakeMap writes for an event without a rake, by mechanism; they leave the sense of slip open."""
FILE = "rupture.param"


@dataclass(frozen=True)
class _Metadata:
    """Metadata of a rupture, with their lines."""

    path: Path
    values: Mapping[str, object]
    content: str

    def find(self, name: str) -> str:
        """Return file and line of a field, or of the metadata without it."""
        begin, value = _members(self.content, 0)["metadata"]
        begin, _ = _members(self.content, value).get(name, (begin, value))
        return f"{self.path}:{self.content.count(chr(10), 0, begin) + 1}"

    def number(self, name: str, what: str, problems: Problems) -> float:
        """Return a number, with an error if it is missing."""
        value = self.values.get(name)
        found = as_float(str(value)) if value is not None else None
        if found is None or not np.isfinite(found):
            lacks = (
                f"the metadata have no {name}"
                if value is None
                else f"the {name} of the metadata is {json.dumps(value)}"
            )
            problems.error(self.find(name), lacks, what)
            return 0.0
        return found


def _members(content: str, begin: int) -> dict[str, tuple[int, int]]:
    """Return the places of names and values of the valid JSON object that begins at a place of a text."""
    found, decoder = dict[str, tuple[int, int]](), json.JSONDecoder()
    at = _next(content, content.index("{", begin) + 1)
    while content[at] != "}":
        name, end = decoder.raw_decode(content, at)
        value = _next(content, end)
        found[name] = at, value
        at = _next(content, decoder.raw_decode(content, value)[1])
    return found


def _next(content: str, at: int) -> int:
    """Return the place of the next name, value or brace."""
    while content[at] in " \t\r\n:,":
        at += 1
    return at


def read_rupture(request: EventRequest, warned: Problems) -> PointEvent | FiniteEvent:
    """Return the event of a rupture; a rupture that is a point is a point source.

    Parameters
    ----------
    request : EventRequest
        File, and the rake or mechanism if the file has none.
    warned : Problems
        Collects warnings.

    Raises
    ------
    InputError
        With file and line of every problem.
    """
    path, problems = request.file, Problems()
    data, kind = _load(path)
    name = str(data.values.get("locstring") or data.values.get("id") or path.stem)
    lon, lat = (data.number(n, f"{w} [degrees]", problems) for n, w in (("lon", "longitude"), ("lat", "latitude")))
    depth = 1e3 * data.number("depth", "depth of the hypocentre [km]", problems)
    size = data.number("mag", "moment magnitude", problems)
    problems.raise_errors()
    if not (abs(lon) <= 360.0 and abs(lat) <= 90.0):
        what = f"longitude {lon:g}, latitude {lat:g}"
        problems.error(data.find("lat"), what, "-360 to 360, -90 to 90 degrees", exchange_advice(lon, lat))
    if not 0 < size < 10:
        problems.error(data.find("mag"), f"the magnitude is {size:g}", "0 to 10")
    check_depth(depth, data.find("depth"), "Depths of ShakeMap are in kilometres.", problems)
    place, moment, time = (lon, lat, depth), moment_of_magnitude(size), _time(data)
    fields = {
        "place": f"{Path(data.find('lat')).name}, metadata lon, lat and depth [km]",
        "moment": f"{Path(data.find('mag')).name}, metadata mag",
        "time": f"{Path(data.find('time')).name}, metadata time",
    }
    warned.extend(problems.warnings)
    if kind == "Point":
        return _point(request, name, place, moment, time, fields, problems)
    rake, fields["mechanism"] = _rake(request, data, problems)
    problems.raise_errors()
    planes = read_planes(path)
    _check_hypocentre(data, place, planes)
    slip = _Slip(path, planes, place, moment, rake)
    fields["place"] += f", and {len(planes)} plane{'s' if len(planes) > 1 else ''} of the geometry"
    fields["duration"] = f"assumed: slip spreads at {RUPTURE_SPEED:.0f} m/s and lasts {slip.rise:.3g} s at a place"
    return FiniteEvent(name, "param", slip.corners(), moment, fields, time=time, content=slip.content)


def _load(path: Path) -> tuple[_Metadata, str]:
    """Return the metadata of a file and the kind of its geometry."""
    content = path.read_text(encoding="utf-8-sig", errors="replace")
    allowed = "a FeatureCollection with metadata and one feature, as ShakeMap writes"
    try:
        data = json.loads(content)
    except json.JSONDecodeError as error:
        raise InputError(Problem(f"{path}:{error.lineno}", f"is not JSON: {error.msg}", allowed)) from None
    except (ValueError, RecursionError) as error:
        raise InputError(Problem(str(path), f"is not JSON: {error}", allowed)) from None
    try:
        kind, metadata = str(data["features"][0]["geometry"]["type"]), data["metadata"]
        if not isinstance(metadata, dict):
            raise TypeError
    except (TypeError, KeyError, IndexError, ValueError):
        what = "is no rupture of ShakeMap: it has no metadata, or no feature with a geometry"
        raise InputError(Problem(f"{path}:1", what, allowed, "A fault trace is read by --fault.")) from None
    return _Metadata(path, metadata, content), kind


def _time(data: _Metadata) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(data.values.get("time")).replace("Z", "+00:00"))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _point(
    request: EventRequest, name: str, place: tuple[float, float, float], moment: float, time: datetime | None,
    fields: Mapping[str, str], problems: Problems,
) -> PointEvent:  # fmt: skip
    """Return the point source of a rupture without an extent."""
    asked = request.mechanism
    if asked is None or len(asked) != 3:
        what = "the rupture is a point without a mechanism, and the directions of its waves depend on it"
        problems.error(str(request.file), what, MECHANISM)
    else:
        check_angles(asked, "--mechanism", problems)
    problems.raise_errors()
    assert asked is not None
    half = cmt_half_duration(moment)
    found = {
        **fields, "mechanism": "--mechanism",
        "duration": "no duration in the file: 1.05e-8 M0^(1/3), M0 in dyne cm (Ekstroem et al. 2012)",
    }  # fmt: skip
    return PointEvent(name, place, moment, None, (asked[0], asked[1], asked[2]), half, time, found)


def _rake(request: EventRequest, data: _Metadata, problems: Problems) -> tuple[float, str]:
    """Return the rake [deg] of the request, the metadata or the mechanism, and where it came from."""
    asked, mech = request.mechanism, str(data.values.get("mech"))
    if asked is not None:
        if not (len(asked) == 1 and abs(asked[0]) <= 360):
            what = f"{','.join(f'{a:g}' for a in asked)}: the planes of the rupture define strike and dip"
            problems.error("--mechanism", what, "a rake from -360 to 360 degrees alone")
        return asked[0], "--mechanism"
    stated = as_float(str(data.values.get("rake")))
    if stated is not None and abs(stated) <= 360 and stated not in PLACEHOLDERS.get(mech, ()):
        return stated, f"{Path(data.find('rake')).name}, metadata rake"
    if mech in RAKES:
        return RAKES[mech], f"{Path(data.find('mech')).name}, metadata mech {mech}"
    what, where = "the metadata have no rake", data.find("mech")
    if stated is not None:
        what, where = f"the rake {stated:g} is no angle", data.find("rake")
        if stated in PLACEHOLDERS.get(mech, ()):
            what = f"the rake {stated:g} of the mechanism {mech} is the default of ShakeMap, which leaves the sense of slip open"
    elif "mech" in data.values:
        what += f", and the mechanism {mech} does not define it"
    advice = "0 is left-lateral, 180 right-lateral, 90 a thrust, -90 normal faulting."
    problems.error(where, what, "--mechanism RAKE", advice)
    return 0.0, ""


def _check_hypocentre(data: _Metadata, place: tuple[float, float, float], planes: Sequence[Plane]) -> None:
    """Raise InputError if the hypocentre, longitude, latitude [deg] and depth [m], is far from the planes."""
    limit = max(NEAR, NEAR_PART * float(np.sqrt(sum(p.length * p.width for p in planes))))
    away = min(_distance(p, *place) for p in planes)
    if away <= limit:
        return
    lon, lat, depth = place
    what = f"the hypocentre (longitude {lon:g}, latitude {lat:g}, depth {depth / 1e3:g} km) lies {away / 1e3:.4g} km from the rupture"
    advice = (
        "Correct lon, lat and depth of the metadata, or longitude, latitude and depth [km] of the geometry's corners."
    )
    if abs(lon) <= 90 and min(_distance(p, lat, lon, depth) for p in planes) <= limit:
        advice = EXCHANGED
    raise InputError(Problem(data.find("lat"), what, f"up to {limit / 1e3:.4g} km", advice))


def _distance(plane: Plane, lon: float, lat: float, depth: float) -> float:
    """Return the distance [m] of longitude, latitude [deg] and depth [m] from a rectangle."""
    import pyproj

    azimuth, _, far = pyproj.Geod(ellps="WGS84").inv(*plane.middle, lon, lat)
    turn, dip = np.radians(azimuth - plane.strike), np.radians(plane.dip)
    along, across, below = far * np.cos(turn), far * np.sin(turn), depth - plane.top
    down, normal = across * np.cos(dip) + below * np.sin(dip), below * np.cos(dip) - across * np.sin(dip)
    beyond = max(abs(along) - 0.5 * plane.length, 0.0)
    return float(np.linalg.norm([beyond, down - np.clip(down, 0.0, plane.width), normal]))


@dataclass(frozen=True)
class _Slip:
    """Slip of given moment over the planes of a rupture."""

    path: Path
    planes: Sequence[Plane]
    hypocentre: tuple[float, float, float]
    moment: float
    rake: float

    @property
    def rise(self) -> float:
        """Rise time [s]."""
        return float(RISE_TIME * np.cbrt(1e7 * self.moment))

    def _map(self) -> Projection:
        lon, lat, _ = self.hypocentre
        return Projection(f"+proj=tmerc +lat_0={lat} +lon_0={lon} +datum=WGS84 +units=m", (lon, lat))

    def _cells(self, plane: Plane, shape: tuple[int, int], earth: Projection) -> np.ndarray:
        """Return x, y and depth (nz, nx, 3) [m] of the centres of (nx, nz) subfaults of a plane."""
        s, d = np.radians([plane.strike, plane.dip])
        north = earth.north(*plane.middle)
        east = np.array([north[1], -north[0]])
        along = np.cos(s) * north + np.sin(s) * east
        across = np.cos(s) * east - np.sin(s) * north
        x = plane.length * ((np.arange(shape[0]) + 0.5) / shape[0] - 0.5)
        w = plane.width * (np.arange(shape[1]) + 0.5) / shape[1]
        top = earth.to_local(*plane.middle)[0]
        flat = top + x[None, :, None] * along + (w * np.cos(d))[:, None, None] * across
        depth = np.broadcast_to((plane.top + w * np.sin(d))[:, None, None], (*flat.shape[:2], 1))
        return np.concatenate([flat, depth], 2)

    def corners(self) -> np.ndarray:
        """Return longitude, latitude [deg] and depth [m] of points near the edges of the planes, and the hypocentre."""
        earth, parts = self._map(), [np.array([self.hypocentre])]
        for plane in self.planes:
            cells = self._cells(plane, (20, 20), earth).reshape(-1, 3)
            parts.append(np.column_stack([earth.to_continuous(cells[:, :2]), cells[:, 2]]))
        return np.concatenate(parts)

    def _shapes(self, frequency: float) -> list[tuple[int, int]]:
        """Return numbers of subfaults, four in the length that the rupture travels in a period."""
        area = sum(p.length * p.width for p in self.planes)
        size = max(0.25 * RUPTURE_SPEED / frequency, float(np.sqrt(area / MOST)))
        return [(max(1, round(p.length / size)), max(1, round(p.width / size))) for p in self.planes]

    def content(self, frequency: float) -> str:
        """Return the text of a file in the USGS's format param for the highest frequency [Hz]."""
        earth, shapes = self._map(), self._shapes(frequency)
        tapers = self._tapers(shapes)
        centres = [self._cells(p, shape, earth) for p, shape in zip(self.planes, shapes, strict=True)]
        areas = [p.length * p.width / (nx * nz) for p, (nx, nz) in zip(self.planes, shapes, strict=True)]
        moduli = [text.shear_modulus_at(c[..., 2]) for c in centres]
        total = sum(float((t * m).sum()) * a for t, m, a in zip(tapers, moduli, areas, strict=True))
        start = np.array([0.0, 0.0, self.hypocentre[2]])
        away = [np.linalg.norm(c - start, axis=-1) for c in centres]
        nearest = min(float(a.min()) for a in away)
        lines = [f"#Total number of fault_segments= {len(self.planes)}"]
        for n, (plane, (nx, nz)) in enumerate(zip(self.planes, shapes, strict=True)):
            slip = tapers[n] * self.moment / total
            lines += [
                f"#Fault_segment = {n + 1} nx(Along-strike)= {nx} Dx= {1e-3 * plane.length / nx:.7f}km "
                f"ny(downdip)= {nz} Dy= {1e-3 * plane.width / nz:.7f}km",
                f"#Slip assumed by faultwave new for {Path(plane.source).name}: tapered at the edges, from the hypocentre on",
                "#Lat. Lon. depth slip rake strike dip t_rup t_ris t_fal mo",
            ]
            lonlat = earth.to_continuous(centres[n][..., :2].reshape(-1, 2))
            lines += [
                f"{lat:.7f} {lon:.7f} {1e-3 * depth:.6f} {100 * u:.7e} {self.rake:.5f} {plane.strike:.5f} {plane.dip:.5f} "
                f"{(r - nearest) / RUPTURE_SPEED:.6f} {0.5 * self.rise:.6f} {0.5 * self.rise:.6f} {1e7 * m * u * areas[n]:.7e}"
                for (lon, lat), depth, u, r, m in zip(
                    lonlat, centres[n][..., 2].ravel(), slip.ravel(), away[n].ravel(), moduli[n].ravel(), strict=True
                )
            ]
        return "\n".join(lines) + "\n"

    def _tapers(self, shapes: Sequence[tuple[int, int]]) -> list[np.ndarray]:
        """Return the relative slip (nz, nx) of each plane; planes of one polygon are neighbours along strike."""
        found = []
        for _, items in groupby(zip(self.planes, shapes, strict=True), key=lambda item: item[0].source):
            group = list(items)
            whole, begin = sum(plane.length for plane, _ in group), 0.0
            for plane, (nx, nz) in group:
                x = begin + plane.length * (np.arange(nx) + 0.5) / nx
                begin += plane.length
                w = (np.arange(nz) + 0.5) / nz
                below = _rise(1.0 - w) * (1.0 if plane.top < AT_SURFACE else _rise(w))
                found.append(below[:, None] * _rise(np.minimum(x, whole - x) / whole))
        return found


def _rise(part: np.ndarray) -> np.ndarray:
    """Return the taper at a distance from an edge, as a fraction of the side."""
    return np.asarray(np.sin(0.5 * np.pi * np.minimum(part / TAPER, 1.0)) ** 2)
