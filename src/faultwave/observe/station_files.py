"""Stations of files that seismologists have: StationXML, SPECFEM's STATIONS, the rec lines of an SW4 input, CSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from faultwave.base.errors import Problems, suggest

FORMS = "StationXML, SPECFEM's STATIONS, SW4's rec lines, or CSV with a header station,longitude,latitude"
COLUMNS = {
    "station": ("station", "sta", "code", "name", "stationcode"),
    "network": ("network", "net", "networkcode"),
    "longitude": ("longitude", "lon", "long", "stationlongitude"),
    "latitude": ("latitude", "lat", "stationlatitude"),
    "depth": ("depth", "burial", "depth[m]"),
}
"""Names of the columns of CSV."""


DEEPEST = 6.4e6
"""Radius of the Earth [m]."""


@dataclass(frozen=True)
class Listed:
    """A station of a line: ``place`` longitude, latitude [deg], z [m] below the ground, negative, or, without ``degrees``, x, y, z [m];
    ``words``: codes of station and network, as many as there are."""

    line: int
    place: tuple[float, float, float]
    words: tuple[str, ...]
    degrees: bool = True


def read_station_file(path: Path) -> list[Listed]:
    """All stations. Raises InputError with file and line of everything wrong."""
    problems = Problems()
    try:
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        problems.error(str(path), f"cannot be read: {error.strerror}")
        problems.raise_errors()
    lines = [(k, line.split("#")[0].strip()) for k, line in enumerate(text.splitlines(), 1)]
    lines = [(k, line) for k, line in lines if line]
    if text.lstrip().startswith("<"):
        found = list(_xml(path, text, problems))
    elif any(line.startswith(("rec ", "sac ")) for _, line in lines):
        found = list(_sw4(path, lines, problems))
    elif lines and "," in lines[0][1]:
        found = list(_csv(path, lines, problems))
    else:
        found = list(_specfem(path, lines, problems))
    if not found:
        problems.error(str(path), "names no station", FORMS)
    if len({s.degrees for s in found}) > 1:
        problems.error(
            str(path), "has degrees in some lines and metres in others", "degrees in all lines, or metres in all"
        )
    for station in found:
        if not abs(station.place[2]) <= DEEPEST:
            what = f"a station lies at z = {station.place[2]:g} m"
            problems.error(f"{path}:{station.line}", what, f"{-DEEPEST:g} to {DEEPEST:g} m", "Depths are in metres.")
    problems.raise_errors()
    return found


def _xml(path: Path, text: str, problems: Problems) -> Iterator[Listed]:
    from xml.etree import ElementTree  # few cases have stations in XML

    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        problems.error(str(path), f"is no XML: {error}", "StationXML")
        return
    for network in root.iter():
        if network.tag.rpartition("}")[2] != "Network":
            continue
        for station in (s for s in network if s.tag.rpartition("}")[2] == "Station"):
            told = {child.tag.rpartition("}")[2]: child.text for child in station}
            code = station.get("code", "")
            number = 1 + text[: max(text.find(f'code="{code}"'), 0)].count("\n")
            where = f"{path}:{number}"
            place = _numbers([told.get("Longitude"), told.get("Latitude")], where, f"station {code}", problems)
            if place is not None and _on_earth(place, where, problems):
                words = tuple(w for w in (code, network.get("code", "")) if w)
                yield Listed(number, (place[0], place[1], 0.0), words)


def _specfem(path: Path, lines: list[tuple[int, str]], problems: Problems) -> Iterator[Listed]:
    """station network latitude longitude elevation burial; y and x [m] where SPECFEM's own projection is switched off."""
    for k, line in lines:
        words = line.split()
        where, form = f"{path}:{k}", "station network latitude longitude elevation burial"
        if len(words) != 6:
            problems.error(where, f"'{line}' has {len(words)} words", form, f"Other files may be: {FORMS}")
            continue
        found = _numbers(words[2:], where, f"'{line}'", problems)
        if found is None:
            continue
        latitude, longitude, _, burial = found
        degrees = abs(latitude) <= 90 and abs(longitude) <= 360
        yield Listed(k, (longitude, latitude, -burial), (words[0], words[1]), degrees)


def _sw4(path: Path, lines: list[tuple[int, str]], problems: Problems) -> Iterator[Listed]:
    """rec lat=... lon=... depth=... sta=..., or x=, y= and z= or depth=; x of SW4 points north and y east, z down."""
    for k, line in lines:
        if not line.startswith(("rec ", "sac ")):
            continue
        where, told = f"{path}:{k}", dict(word.partition("=")[::2] for word in line.split()[1:])
        degrees = "lat" in told or "lon" in told
        names = ("lon", "lat") if degrees else ("y", "x")
        found = _numbers([told.get(n) for n in names], where, f"'{line}'", problems)
        below = _numbers([told.get("depth", told.get("topodepth", told.get("z", "0")))], where, f"'{line}'", problems)
        if found is None or below is None or (degrees and not _on_earth(found, where, problems)):
            continue
        code = told.get("sta", told.get("file", ""))
        yield Listed(k, (found[0], found[1], -below[0]), (code[:8],) if code else (), degrees)


def _csv(path: Path, lines: list[tuple[int, str]], problems: Problems) -> Iterator[Listed]:
    header = [word.strip().lower().replace(" ", "").replace("_", "") for word in next(csv.reader([lines[0][1]]))]
    columns = {
        name: next((header.index(word) for word in words if word in header), None) for name, words in COLUMNS.items()
    }
    for name in ("station", "longitude", "latitude"):
        if columns[name] is None:
            told = suggest(name, header)
            problems.error(f"{path}:{lines[0][0]}", f"the header has no column {name}", ", ".join(COLUMNS[name]), told)
    if problems.errors:
        return
    for k, line in lines[1:]:
        row = [word.strip() for word in next(csv.reader([line]))]
        cell = _cells(columns, row)
        found = _numbers(
            [cell("longitude"), cell("latitude"), cell("depth") or "0"], f"{path}:{k}", f"'{line}'", problems
        )
        if found is not None and _on_earth(found, f"{path}:{k}", problems):
            words = tuple(word for word in (cell("station"), cell("network")) if word)
            yield Listed(k, (found[0], found[1], -found[2]), words)


def _cells(columns: Mapping[str, int | None], row: list[str]) -> Callable[[str], str]:
    """What stands in the column of a name; empty where there is none."""

    def cell(name: str) -> str:
        number = columns[name]
        return row[number] if number is not None and number < len(row) else ""

    return cell


def _numbers(words: Sequence[str | None], where: str, what: str, problems: Problems) -> list[float] | None:
    try:
        found = [float(str(word)) for word in words]
    except ValueError:
        found = [math.nan]
    if all(math.isfinite(x) for x in found):
        return found
    problems.error(where, f"{what} has no place", FORMS)
    return None


def _on_earth(place: list[float], where: str, problems: Problems) -> bool:
    """Whether longitude and latitude are degrees, not swapped and not metres."""
    longitude, latitude = place[:2]
    if abs(latitude) <= 90 and abs(longitude) <= 360:
        return True
    swapped = "Are longitude and latitude swapped?" if abs(longitude) <= 90 and abs(latitude) <= 360 else ""
    problems.error(
        where, f"longitude {longitude:g}, latitude {latitude:g}", "degrees, latitude from -90 to 90", swapped
    )
    return False


__all__ = ["FORMS", "Listed", "read_station_file"]
