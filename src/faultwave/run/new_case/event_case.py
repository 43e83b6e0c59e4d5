"""New case for an event: its region and frequency follow from the source."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems, collect_problems
from faultwave.base.projection import EXCHANGED, Projection
from faultwave.observe.stations.files import ListedStation, read_station_file
from faultwave.output.atomic import translate_os_errors
from faultwave.run.new_case import text as text
from faultwave.run.new_case.event_source import EventRequest, FiniteEvent, PointEvent
from faultwave.run.new_case.event_text import transverse_mercator
from faultwave.run.new_case.events.read import read_event
from faultwave.run.new_case.events.shakemap import FILE
from faultwave.run.new_case.extent import LARGEST
from faultwave.run.new_case.options import NewCaseOptions
from faultwave.run.new_case.write import Made, new_case

LEAST_MARGIN = 15e3
"""Smallest distance of the sides from the source [m]."""
WAVELENGTHS = 40.0
"""Number of shortest wavelengths along a side of the region at the default frequency: a run of minutes on a laptop."""
HIGHEST = 1.0
"""Largest default frequency [Hz]."""
STEP = 5e3
"""Sizes of regions are multiples of this [m]."""
CRUST = 120e3
"""Depth of sources below which layers of a crust are a poor model of the Earth [m]."""
RADIATED = 1.5
"""Ratio of the highest frequency to the one at which the source radiates little, above which a warning is given."""
POINT_LIKE = 7.5
"""Magnitude from which a point source is a poor model of the waves near a fault."""


def new_event_case(
    request: EventRequest, options: NewCaseOptions, frequency: float | None, folder: Path, force: bool = False
) -> Made:
    """Write a new case for an event.

    Parameters
    ----------
    request : EventRequest
        File of the event.
    options : NewCaseOptions
        Other options; centre and size follow from the source and the stations if they are None.
    frequency : float or None
        Highest frequency [Hz]; by default as high as the source radiates and as a run of minutes resolves.
    folder : Path
        Folder of the case.
    force : bool
        If True, an existing folder may be written to.

    Raises
    ------
    InputError
        With file and line of every problem of the event, or for inconsistent options.
    """
    problems, warned = Problems(), Problems()
    _check_other_sources(options, problems)
    if frequency is not None and not 0 < frequency < np.inf:
        problems.error("--frequency", f"{frequency:g}", "a positive number")
    event: PointEvent | FiniteEvent | None = None
    listed: list[ListedStation] = []
    with collect_problems(problems):
        event = read_event(request, warned)
    if options.stations is not None:
        with collect_problems(problems):
            listed = read_station_file(options.stations, Problems())
    problems.raise_errors()
    assert event is not None
    options = _with_region(replace(options, event=event, event_file=request.file), event, listed, frequency)
    _warn(event, options.frequency, warned)
    if isinstance(event, PointEvent):
        made = new_case(options, folder, force)
    elif event.content is None:
        made = new_case(replace(options, source=request.file, source_kind=event.kind), folder, force)
    else:
        with translate_os_errors(folder), tempfile.TemporaryDirectory() as temporary:
            path = Path(temporary) / FILE
            path.write_text(event.content(options.frequency), encoding="utf-8")
            made = new_case(replace(options, source=path, source_kind=event.kind), folder, force)
    return made._replace(warnings=(*warned.warnings, *made.warnings), summary=_summary(event, options))


def _check_other_sources(options: NewCaseOptions, problems: Problems) -> None:
    for name, other in (("--fault", options.faults), ("--moment-tensor", options.mechanism), ("--srf", options.source)):
        if other:
            problems.error(name, "and --event exclude each other", "one of them")
    if (options.lon is None) != (options.lat is None):
        problems.error("--lon, --lat", "one of them is missing", "both, or neither for the centre of the source")


def _with_region(
    options: NewCaseOptions, event: PointEvent | FiniteEvent, listed: list[ListedStation], frequency: float | None
) -> NewCaseOptions:
    """Return the options with centre, size and frequency of the region."""
    centre = (
        (options.lon, options.lat) if options.lon is not None and options.lat is not None else _centre(event.points)
    )
    lon, lat = float(centre[0]), float(centre[1])
    if not (abs(lon) <= 360.0 and abs(lat) <= 90.0):
        raise InputError(Problem("--lon, --lat", f"{lon:g}, {lat:g}", "-360 to 360, -90 to 90 degrees"))
    if options.lon is not None and _distance(event.points, lon, lat) > 0.5 * LARGEST:
        raise InputError(_far_centre(event, lon, lat, f"less than {0.5e-3 * LARGEST:g} km"))
    earth = Projection(transverse_mercator(lon, lat), (lon, lat))
    source = earth.to_local(event.points[:, 0], event.points[:, 1])
    stations = _local(listed, earth)
    if not np.isfinite(source).all():
        raise InputError(
            Problem("--event", "the source extends over half of the Earth", "longitudes and latitudes of one region")
        )
    length, extent = _rupture_length(event.magnitude), float(np.abs(source).max())
    if isinstance(event, PointEvent) or len(event.points) == 1:
        extent += 0.5 * length
    around = max(LEAST_MARGIN, event.bottom, 0.5 * length)
    size = options.size or _rounded(2.0 * _reach(extent + around, stations, around, 0.0))
    highest = frequency or _frequency(size, event)
    if options.size is None:
        wave = text.SLOWEST_S_SPEED / highest
        size = _rounded(2.0 * _reach(extent + max(around, wave), stations, around, wave))
        if options.lon is not None and extent + around > 0.5 * LARGEST:
            allowed = f"a region up to {1e-3 * LARGEST:g} km wide; it would be {1e-3 * size:g} km"
            raise InputError(_far_centre(event, lon, lat, allowed))
    moved = options.lon is not None and _exchanged(event, lon, lat)
    _check_inside(source, stations, listed, size, options, EXCHANGED if moved else "")
    return replace(options, lon=lon, lat=lat, size=size, frequency=highest)


def _distance(points: np.ndarray, lon: float, lat: float) -> float:
    """Return the smallest distance [m] of points, longitude and latitude in the first columns, from a place."""
    import pyproj

    _, _, away = pyproj.Geod(ellps="WGS84").inv(
        points[:, 0], points[:, 1], np.full(len(points), lon), np.full(len(points), lat)
    )
    return float(np.min(away))


def _exchanged(event: PointEvent | FiniteEvent, lon: float, lat: float) -> bool:
    """Return True if the place is far nearer to the source with longitude and latitude exchanged."""
    return abs(lon) <= 90.0 and _distance(event.points, lat, lon) < 0.1 * _distance(event.points, lon, lat)


def _far_centre(event: PointEvent | FiniteEvent, lon: float, lat: float, allowed: str) -> Problem:
    """Return the error on a centre that is too far from the source."""
    what = f"the centre (longitude {lon:g}, latitude {lat:g}) lies {_distance(event.points, lon, lat) / 1e3:.0f} km from the source"
    advice = (
        EXCHANGED if _exchanged(event, lon, lat) else "Leave them out: the middle of the source is then the centre."
    )
    return Problem("--lon, --lat", what, allowed, advice)


def _rupture_length(magnitude: float) -> float:
    """Return the length of a rupture [m] (Wells & Coppersmith 1994, below the surface, all mechanisms)."""
    return float(10.0 ** (0.59 * magnitude - 2.44 + 3.0))


def _reach(half: float, stations: np.ndarray, around: float, wave: float) -> float:
    """Return half the side of a region that also holds the stations, at a distance from its sides [m]."""
    farthest = float(np.abs(stations).max(initial=0.0))
    return max(half, farthest + max(0.1 * farthest, wave) if len(stations) else 0.0)


def _rounded(size: float) -> float:
    return STEP * float(np.ceil(size / STEP)) if np.isfinite(size) else size


def _centre(points: np.ndarray) -> tuple[float, float]:
    """Return the middle of longitudes and latitudes [deg], also across the 180th meridian."""
    first = points[0, 0]
    lon = first + (points[:, 0] - first + 180.0) % 360.0 - 180.0
    middle = 0.5 * (lon.min() + lon.max())
    return float((middle + 180.0) % 360.0 - 180.0), float(0.5 * (points[:, 1].min() + points[:, 1].max()))


def _frequency(size: float, event: PointEvent | FiniteEvent) -> float:
    """Return the default frequency [Hz], rounded down to one digit, or up if the source radiates no more."""
    affordable = min(HIGHEST, WAVELENGTHS * text.SLOWEST_S_SPEED / size)
    highest = min(affordable, event.radiates)
    unit = 10.0 ** np.floor(np.log10(highest))
    digit = np.ceil(highest / unit) if event.radiates < affordable else np.floor(highest / unit + 1e-9)
    return float(round(digit * unit, 12))


def _local(listed: list[ListedStation], earth: Projection) -> np.ndarray:
    """Return x and y (n, 2) [m] of stations."""
    return np.array([
        earth.to_local(s.place[0], s.place[1])[0] if s.degrees else s.place[:2] for s in listed
    ]).reshape(-1, 2)  # fmt: skip


def _check_inside(
    source: np.ndarray, stations: np.ndarray, listed: list[ListedStation], size: float, options: NewCaseOptions, advice: str
) -> None:  # fmt: skip
    """Raise InputError, with advice on the centre, if the source or a station lies outside of the region."""
    problems, half = Problems(), 0.5 * size
    where = "--size" if options.size is not None else "--event"
    reach = float(np.abs(source).max())
    if not reach < half:
        what = f"the source extends {reach / 1e3:.6g} km from the centre, and the region {half / 1e3:.4g} km"
        problems.error(
            where,
            what,
            f"more than {2e-3 * reach:.6g} km",
            advice or "Leave out --lon, --lat and --size: the region then fits the source.",
        )
    for station, place in zip(listed, stations, strict=True):
        if not np.abs(place).max() < half:
            what = f"station {'.'.join(station.codes)} lies {np.abs(place).max() / 1e3:.4g} km from the centre, outside of the region"
            problems.error(station.where, what, f"up to {half / 1e3:.4g} km", "Increase --size, or remove the station.")
    problems.raise_errors()


def _warn(event: PointEvent | FiniteEvent, frequency: float, warned: Problems) -> None:
    """Warn of a source that the case represents poorly."""
    if frequency > RADIATED * event.radiates:
        what = f"{frequency:g} Hz: the source radiates little above {event.radiates:.3g} Hz"
        warned.warn(
            "--frequency",
            what,
            f"up to {event.radiates:.2g} Hz",
            "A lower frequency costs less: half of it a sixteenth.",
        )
    if event.bottom > CRUST:
        what = f"the source is {event.bottom / 1e3:.4g} km deep, and layers.txt has one layer below 35 km"
        warned.warn("layers.txt", what, advice="Write the layers of the mantle into it.")
    if isinstance(event, PointEvent) and event.magnitude > POINT_LIKE:
        what = f"a point source of Mw {event.magnitude:.1f} stands for a fault about {_rupture_length(event.magnitude) / 1e3:.0f} km long"
        warned.warn(
            "--event", what, advice="Use a finite source (SRF, FSP, param, rupture.json) for motion near the fault."
        )


def _summary(event: PointEvent | FiniteEvent, options: NewCaseOptions) -> tuple[str, ...]:
    """Return lines that state the event and the region."""
    lon, lat, depth = event.points[0]
    size = options.size or 0.0
    first = f"event: {event.name}, Mw {event.magnitude:.2f}, longitude {lon:.5g}, latitude {lat:.5g}, depth {depth / 1e3:.4g} km"
    return first, f"region: {size / 1e3:.4g} km wide, up to {options.frequency:g} Hz, engine {options.engine}"
