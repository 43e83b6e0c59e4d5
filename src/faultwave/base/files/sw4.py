"""Commands of SW4's input files, and the place of its grid on Earth.

A line is a command followed by ``key=value`` words; ``#`` starts a comment. x of SW4 points ``az`` degrees clockwise from north at the
corner (``lat``, ``lon``) of its grid, y 90 degrees further, z down. The reference is SW4's own reader (parseInputFile, EW,
GeographicProjection).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.projection import Projection, exchange_advice
from faultwave.base.units import finite_number

METRES_PER_DEGREE = 111319.5
"""Default of ``mlat`` [m]."""
SHORTEST_DEGREE, LONGEST_DEGREE = 110_800.0, 111_800.0
"""Lengths of a degree [m] on spheres that PROJ accepts as Earth, whose radius may differ from its own by half a per cent."""
MAP_KEYS = ("mlat", "mlon", "proj", "ellps", "datum", "lon_p", "lat_p", "scale")
"""Keys of ``grid`` that change how longitude and latitude become x and y."""
PROJECTION_KEYS = MAP_KEYS[2:]
ZONE = 6.0
"""Width of a zone of the Universal Transverse Mercator projection [deg]."""


def command_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line that holds more than a comment."""
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.split("#")[0].strip()
        if stripped:
            yield number, stripped


@dataclass(frozen=True)
class GridAxes:
    """Axes of a grid of SW4.

    Attributes
    ----------
    corner : tuple of float, optional
        Longitude and latitude of the corner [deg]; None if the input has none.
    azimuth : float
        Azimuth of the x axis [rad].
    crs : str
        Projection that SW4 uses, in the notation of PROJ; empty without a corner.
    stated : bool
        True if the grid line states the projection, or metres per degree.
    """

    corner: tuple[float, float] | None = None
    azimuth: float = 0.0
    crs: str = ""
    stated: bool = False

    def east_north(self, x: float, y: float) -> tuple[float, float]:
        """Return the distances [m] east and north of the corner for x, y [m]."""
        c, s = math.cos(self.azimuth), math.sin(self.azimuth)
        return x * s + y * c, x * c - y * s

    def geographic(self, x: float, y: float) -> tuple[float, float]:
        """Return longitude and latitude [deg] of x, y [m] as SW4 computes them."""
        longitude, latitude = _mapped(self.crs, self.corner, self.azimuth).to_geographic(np.array([[y, x]], float))[0]
        return float(longitude), float(latitude)


@functools.lru_cache(maxsize=4)
def _mapped(crs: str, corner: tuple[float, float] | None, azimuth: float) -> Projection:
    """Return the projection whose x and y are SW4's y and x; an input may have thousands of stations."""
    return Projection(crs, corner, math.degrees(azimuth), "grid")


def grid_axes(given: Mapping[str, str], where: str, problems: Problems) -> GridAxes | None:
    """Return the axes that the keys of a ``grid`` line define.

    Parameters
    ----------
    given : mapping of str to str
        Values of the line by key.
    where : str
        File and line, for messages.
    problems : Problems
        Collects errors.

    Returns
    -------
    GridAxes or None
        None if a key is wrong.
    """
    names = ("lat", "lon", "az", "mlat", "mlon", "lon_p", "lat_p", "scale")
    values = {key: finite_number(given[key]) for key in names if key in given}
    wrong = [f"{key}={given[key]}" for key, value in values.items() if value is None]
    if wrong:
        problems.error(where, f"{', '.join(wrong)} is not a number", "degrees, and metres per degree of mlat and mlon")
        return None
    numbers = {key: value for key, value in values.items() if value is not None}
    if ("lat" in numbers) != ("lon" in numbers):
        problems.error(where, "contains only one of lat and lon", "both, or neither")
        return None
    stated = any(key in given for key in MAP_KEYS)
    azimuth = math.radians(numbers.get("az", 0.0))
    if "lat" not in numbers:
        if stated:
            what = f"{', '.join(k for k in MAP_KEYS if k in given)} without lat and lon of the grid's corner"
            problems.error(where, what, "both lat and lon", "Without them SW4 uses lat=37 lon=-118.")
            return None
        return GridAxes(None, azimuth)
    corner = numbers["lon"], numbers["lat"]
    if abs(corner[1]) > 90 or abs(corner[0]) > 360:
        what = f"longitude {corner[0]:g}, latitude {corner[1]:g}"
        problems.error(where, what, "degrees, latitude from -90 to 90", exchange_advice(*corner))
        return None
    crs = _crs(given, numbers, where, problems)
    return None if crs is None else GridAxes(corner, azimuth, crs, stated)


def _crs(given: Mapping[str, str], numbers: Mapping[str, float], where: str, problems: Problems) -> str | None:
    """Return SW4's projection in the notation of PROJ, or None with an error."""
    projected = [key for key in PROJECTION_KEYS if key in given]
    metres = [key for key in ("mlat", "mlon") if key in given]
    if projected and metres:
        what = f"contains {', '.join(metres)}, which SW4 does not use with {', '.join(projected)}"
        problems.error(where, what, "either a projection, or metres per degree")
        return None
    crs = _of_proj(given, numbers) if projected else _of_degrees(numbers, where, problems)
    if crs is None:
        return None
    try:
        Projection(crs, (numbers["lon"], numbers["lat"]), 0.0, "grid")
    except InputError as error:
        problems.extend(Problem(where, p.what, p.allowed, p.advice) for p in error.problems)
        return None
    return crs


def _of_proj(given: Mapping[str, str], numbers: Mapping[str, float]) -> str:
    """Return the projection that SW4 passes to PROJ: UTM and WGS84 by default, centred at the corner."""
    name = given.get("proj", "utm")
    longitude, latitude = numbers.get("lon_p", numbers["lon"]), numbers.get("lat_p", numbers["lat"])
    words = [f"+proj={name}", *(f"+{key}={given[key]}" for key in ("ellps", "datum") if key in given)]
    if "ellps" not in given and "datum" not in given:
        words.append("+ellps=WGS84")
    if name == "utm":  # PROJ derives the zone from lon_0 and ignores lat_0; PROJ's systems must state it
        words.append(f"+zone={int(((longitude + 180.0) % 360.0) // ZONE) + 1}")
    else:
        words += [f"+lon_0={longitude!r}", f"+lat_0={latitude!r}"]
        words += [f"+scale={given['scale']}"] if "scale" in given else []
    return " ".join([*words, "+units=m"])


def _of_degrees(numbers: Mapping[str, float], where: str, problems: Problems) -> str | None:
    """Return the projection of SW4 without PROJ, or None with an error.

    x and y are ``mlat`` times the difference of latitude, and of longitude times the cosine of the latitude: the sinusoidal projection of a
    sphere. With ``mlon`` a degree of longitude has that length everywhere: the equidistant cylindrical projection.
    """
    north = numbers.get("mlat", METRES_PER_DEGREE)
    east = numbers.get("mlon")
    if not SHORTEST_DEGREE <= north <= LONGEST_DEGREE or (east is not None and not 0 < east <= north):
        shown = ", ".join(f"{key}={numbers[key]:g}" for key in ("mlat", "mlon") if key in numbers)
        allowed = f"mlat of {SHORTEST_DEGREE:.0f} to {LONGEST_DEGREE:.0f} m, and mlon above 0 and at most mlat"
        problems.error(where, f"contains {shown}", allowed, "State a projection instead: proj=tmerc.")
        return None
    radius = math.degrees(north)
    kind = "+proj=sinu" if east is None else f"+proj=eqc +lat_ts={math.degrees(math.acos(east / north))!r}"
    return f"{kind} +lon_0={numbers['lon']!r} +R={radius!r} +units=m"
