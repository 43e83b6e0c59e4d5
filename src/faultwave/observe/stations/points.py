"""Points requested by a case: listed, in files, or by longitude and latitude."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems, collect_problems
from faultwave.base.projection import Projection, needed
from faultwave.base.types import Setting
from faultwave.base.units import finite_number
from faultwave.observe.dataset import Dataset, with_places
from faultwave.observe.stations.codes import ListedStation, Station, invalid_codes, named
from faultwave.observe.stations.files import read_station_file

if TYPE_CHECKING:
    from faultwave.base.projection import ProjectionSettings


class PointSettings(Protocol):
    """Settings of points: listed ones and a file of more."""

    @property
    def points(self) -> Sequence[Sequence[float]]: ...

    @property
    def file(self) -> Path | None: ...


class StationSettings(PointSettings, Protocol):
    """Settings of stations, also by longitude and latitude, with names."""

    @property
    def geographic(self) -> Sequence[Sequence[float]]: ...

    @property
    def geographic_file(self) -> Path | None: ...

    @property
    def stations(self) -> Path | None: ...

    @property
    def names(self) -> Sequence[str] | None: ...

    @property
    def network(self) -> str: ...


AS_CASE, SEA_LEVEL, GROUND = 0, 1, 2
"""References from which z of a point is measured."""
PLACE = "x y z in metres"
GEOGRAPHIC_PLACE = "longitude latitude z, in degrees and metres"
STATION_COLUMNS = "; then optional codes of station and network"


def read_points(setting: Setting, projection: ProjectionSettings | None = None) -> np.ndarray:
    """Return the points (n, 3) [m] of a receiver setting: listed ones, geographic ones, then the contents of its files.

    ``projection`` is the setting of the case. Raises InputError with file and line.
    """
    problems, parts = Problems(), [np.array(setting.points, float).reshape(-1, 3)]
    listed, path = getattr(setting, "geographic", None), getattr(setting, "geographic_file", None)
    mapped = None
    if listed or path is not None:
        with collect_problems(problems):
            where = "output.receivers." + ("geographic" if listed else "geographic_file")
            mapped = projected(projection, where)
    if listed and mapped is not None:
        with collect_problems(problems):
            parts.append(mapped.places(listed, "output.receivers.geographic"))
    named = hasattr(setting, "names")
    if setting.file is not None:
        with collect_problems(problems):
            parts.append(point_lines(setting.file, PLACE, named).points)
    if path is not None:
        with collect_problems(problems):
            file = point_lines(path, GEOGRAPHIC_PLACE, named)
            if mapped is not None:
                local = [mapped.places(p, f"{path}:{k}") for k, p in zip(file.lines, file.points, strict=True)]
                parts += local
    if getattr(setting, "stations", None) is not None:
        with collect_problems(problems):
            parts += _of_stations(setting.stations, projection)
    problems.raise_errors()
    return np.concatenate(parts)


def _of_stations(path: Path, projection: ProjectionSettings | None) -> list[np.ndarray]:
    """Return the places [m] of the stations of a file as arrays (k, 3); z is a height or minus the depth below the ground."""
    listed = read_station_file(path)
    if not any(station.degrees or station.corner is not None for station in listed):
        return [np.array([s.place for s in listed], float)]
    mapped = projected(projection, "output.receivers.stations")
    return [_placed(station, mapped, station.where) for station in listed]


def _placed(station: ListedStation, mapped: Projection, where: str) -> np.ndarray:
    """Return the place (1, 3) [m] of a station given by degrees, or by metres east and north of a corner."""
    if station.degrees or station.corner is None:
        return mapped.places(np.array([station.place], float), where)
    found = mapped.places(np.array([[*station.corner, station.place[2]]]), where)
    north = mapped.north(*station.corner)
    found[0, :2] += station.place[0] * np.array([north[1], -north[0]]) + station.place[1] * north
    return found


def z_references(setting: Setting) -> np.ndarray:
    """Return the reference of z of each of the (n,) points of ``read_points``: ``AS_CASE``, ``SEA_LEVEL`` or ``GROUND``.

    Stations of files lie below the ground, or at a height where SW4 says ``z=``; the reference of all others is a setting of topography.

    Raises
    ------
    InputError
        Like ``read_points``.
    """
    points = len(setting.points) + len(getattr(setting, "geographic", ()))
    for name, form in (("file", PLACE), ("geographic_file", GEOGRAPHIC_PLACE)):
        path = getattr(setting, name, None)
        points += 0 if path is None else len(point_lines(path, form, True).lines)
    path = getattr(setting, "stations", None)
    stations = [] if path is None else [SEA_LEVEL if s.height else GROUND for s in read_station_file(path)]
    return np.array([*[AS_CASE] * points, *stations], np.int8)


def read_stations(setting: StationSettings, warned: Problems | None = None) -> tuple[Station, ...]:
    """Return the codes of the receivers of ``read_points``, in the same order.

    Parameters
    ----------
    setting : Receivers
        The case's ``output.receivers``.
    warned : Problems, optional
        Collects warnings of entries in station files that have no effect.

    Raises
    ------
    InputError
        With file and line of every error.
    """
    problems = Problems()
    listed = len(setting.points) + len(setting.geographic)
    names = [((name,), f"output.receivers.names[{i}]") for i, name in enumerate(setting.names or ())]
    given: list[tuple[Sequence[str], str]] = [*names, *[((), "")] * (listed - len(names))]
    for path, form in ((setting.file, PLACE), (setting.geographic_file, GEOGRAPHIC_PLACE)):
        if path is not None:
            file = point_lines(path, form, True)
            given += [(words, f"{path}:{line}") for line, words in zip(file.lines, file.words, strict=True)]
    if setting.stations is not None:
        given += [(s.codes, s.where) for s in read_station_file(setting.stations, warned)]
    found = named(given, setting.network, problems)
    problems.raise_errors()
    return found


@dataclass(frozen=True)
class PointFile:
    """Contents of a file of points: line numbers, points (n, 3), and the words after each point."""

    lines: list[int]
    points: np.ndarray
    words: list[list[str]]


def point_lines(path: Path, form: str, named: bool = False) -> PointFile:
    """Read the points of a file, followed by codes of station and network if ``named``; raise InputError with file and line."""
    try:
        lines = path.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    except OSError as error:
        raise InputError(Problem(str(path), f"receiver file cannot be read: {error.strerror}")) from None
    problems, found = Problems(), PointFile([], np.zeros((0, 3)), [])
    form, points = form + (STATION_COLUMNS if named else ""), []
    for number, line in enumerate(lines, 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        point = [value for value in map(finite_number, words[:3]) if value is not None]
        behind = f"'{' '.join(words[3:])}' after the third number would have no effect" if words[3:] else ""
        wrong = invalid_codes(words[3:]) if named else behind
        if len(point) != 3:
            problems.error(f"{path}:{number}", f"'{line.strip()}' is not a point", form)
        elif wrong:
            problems.error(f"{path}:{number}", wrong, form, "Start comments with #.")
        else:
            found.lines.append(number)
            found.words.append(words[3:])
            points.append(point)
    problems.raise_errors()
    return replace(found, points=np.array(points, float).reshape(-1, 3))


def projected(setting: ProjectionSettings | None, where: str) -> Projection:
    """Return the projection of the case, or raise InputError if it has none, naming ``where`` it is needed."""
    return needed(None if setting is None else Projection(setting.crs, setting.origin, setting.azimuth), where)


NEARER = 0.1
"""Distance ratio below which exchanged longitude and latitude are suggested."""


def exchange_advice(
    setting: ProjectionSettings | None, place: np.ndarray, distance: float, lower: np.ndarray, upper: np.ndarray
) -> str:
    """Return advice for a place outside the domain that wrong signs or exchanged longitude and latitude may explain.

    Parameters
    ----------
    setting : object
        Setting of the projection, None without one.
    place : ndarray of shape (3,)
        Place [m].
    distance : float
        Distance from the domain [m].
    lower, upper : ndarray of shape (3,)
        Bounds of the domain [m].

    Returns
    -------
    str
        Advice, empty if neither explains the place.
    """
    if setting is None:
        return ""
    projection = projected(setting, "projection")
    for words, mirrored in projection.mirrored(place).items():
        if ((mirrored[:2] >= lower[:2]) & (mirrored[:2] <= upper[:2])).all():
            return f"Is the sign of the {words} wrong? West and south are negative."
    there = projection.exchanged(place)
    off = float(np.linalg.norm((there - np.clip(there, lower, upper))[:2]))
    if not off < NEARER * distance:
        return ""
    found = "inside" if off == 0.0 else f"only {off:.4g} m away"
    return f"Are longitude and latitude exchanged? In the other order it is {found}."


def with_degrees(receivers: Dataset, setting: ProjectionSettings | None) -> Dataset:
    """Return receivers with longitude, latitude and azimuth of the y axis, if the case has a projection."""
    if setting is None:
        return receivers
    projection = projected(setting, "projection")
    lonlat = projection.to_geographic(receivers["location"][:, :2])
    turned = np.array([projection.azimuth_of_y(*place) for place in lonlat])
    return with_places(receivers, np.column_stack([lonlat, turned]))
