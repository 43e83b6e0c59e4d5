"""Station files of seismologists: StationXML, FDSN text, SPECFEM's STATIONS, SW4's rec lines and HDF5, CSV."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from faultwave.base.errors import Problems, suggest
from faultwave.base.files.xml_text import refuse_declarations
from faultwave.base.units import as_float, finite_number
from faultwave.observe.stations.codes import CODE, CODE_FORM, NETWORK, NETWORK_FORM, ListedStation, check_geographic
from faultwave.observe.stations.sw4 import is_sw4, read_sw4, read_sw4_hdf5

FORMS = "StationXML, FDSN's text, SPECFEM's STATIONS, SW4's rec lines or HDF5, or CSV with a header station,longitude,latitude"
COLUMNS = {
    "station": ("station", "sta", "code", "name", "stationcode"),
    "network": ("network", "net", "networkcode"),
    "longitude": ("longitude", "lon", "long", "stationlongitude"),
    "latitude": ("latitude", "lat", "stationlatitude"),
    "depth": ("depth", "burial"),
}
"""Names of the columns of CSV; the name of the depth may include a unit, as in depth[km], depth (km) or depth_km."""
METRES = {"m": 1.0, "meters": 1.0, "metres": 1.0, "km": 1000.0, "ft": 0.3048, "feet": 0.3048}
_UNIT = re.compile(r"(depth|burial)(?:[\s_]*[\[(/_ ]\s*([a-z]+)\s*[\])]?|(k?m))")
HDF5 = b"\x89HDF\r\n\x1a\n"
SAME_PLACE = 1e-3
"""Maximum difference between epochs of one station in StationXML [deg]."""


DEEPEST = 6.4e6
"""Largest depth of a station, the radius of the Earth [m]."""


def read_station_file(path: Path, warned: Problems | None = None) -> list[ListedStation]:
    """Return all stations of a file in any of the supported formats.

    Parameters
    ----------
    path : Path
        Path of the file.
    warned : Problems, optional
        Collects warnings of entries that have no effect.

    Raises
    ------
    InputError
        With file and line of every error.
    """
    problems, text, found = Problems(), "", list[ListedStation]()
    try:
        data = path.read_bytes()
    except OSError as error:
        problems.error(str(path), f"cannot be read: {error.strerror}")
        problems.raise_errors()
    if data.startswith(HDF5):
        found = read_sw4_hdf5(path, None, problems)
    else:
        text = data.decode("utf-8-sig", errors="replace")
        found = list(_of_text(path, text, problems))
    if not found and not problems.errors:
        problems.error(str(path), "names no station", FORMS)
    if len({s.degrees for s in found if s.corner is None}) > 1:
        problems.error(
            str(path), "has degrees in some lines and metres in others", "degrees in all lines, or metres in all"
        )
    _check_codes(path, found, problems)
    for station in found:
        if not abs(station.place[2]) <= DEEPEST:
            what = f"a station lies at z = {station.place[2]:g} m"
            problems.error(station.where, what, f"{-DEEPEST:g} to {DEEPEST:g} m", "Depths are in metres.")
    problems.raise_errors()
    if warned is not None:
        warned.extend(problems.warnings)
    return found


def _of_text(path: Path, text: str, problems: Problems) -> Iterator[ListedStation]:
    if text.lstrip().startswith("<"):
        return _xml(path, text, problems)
    numbered = list(enumerate(text.splitlines(), 1))
    if any("|" in line for _, line in numbered):
        return _fdsn_text(path, numbered, problems)
    lines = [(k, line.split("#")[0].strip()) for k, line in numbered]
    lines = [(k, line) for k, line in lines if line]
    if lines and lines[0][1][0] in "{[":
        problems.error(f"{path}:{lines[0][0]}", "is JSON, which is not a supported format of stations", FORMS)
        return iter(())
    if is_sw4(lines):
        return read_sw4(path, lines, problems)
    if lines and "," in lines[0][1]:
        return _csv(path, lines, problems)
    return _specfem(path, lines, problems)


def _check_codes(path: Path, found: Sequence[ListedStation], problems: Problems) -> None:
    """Add an error for each code that result files cannot hold."""
    for station in found:
        for word, pattern, form in zip(station.codes, (CODE, NETWORK), (CODE_FORM, NETWORK_FORM), strict=False):
            if not pattern.fullmatch(word):
                problems.error(station.where, f"'{word}' is not a {form}", form)


def _xml(path: Path, text: str, problems: Problems) -> Iterator[ListedStation]:
    from xml.etree import ElementTree  # slow import, needed by few cases

    try:
        refuse_declarations(text.lstrip().encode())
        root = ElementTree.fromstring(text.lstrip())
    except (ElementTree.ParseError, ValueError) as error:
        problems.error(str(path), f"is not XML: {error}", "StationXML")
        return
    at, number = 0, 1  # stations are listed in the order of the file
    for network in root.iter():
        if network.tag.rpartition("}")[2] != "Network":
            continue
        epochs = dict[str, ListedStation]()
        for station in (s for s in network if s.tag.rpartition("}")[2] == "Station"):
            reported = {child.tag.rpartition("}")[2]: child.text for child in station}
            code = station.get("code", "")
            found = text.find(f'code="{code}"', at)
            if found >= 0:
                at, number = found + 1, number + text.count("\n", at, found)
            where = f"{path}:{number}"
            place = _numbers([reported.get("Longitude"), reported.get("Latitude")], where, f"station {code}", problems)
            if place is not None and check_geographic(place[0], place[1], where, problems):
                words = tuple(w for w in (code, network.get("code", "")) if w)
                made = ListedStation(where, (place[0], place[1], 0.0), words)
                former = epochs.get(code)
                if former is None or math.dist(former.place, made.place) > SAME_PLACE:  # else the station's next epoch
                    epochs[code] = made
                    yield made


def _fdsn_text(path: Path, numbered: Sequence[tuple[int, str]], problems: Problems) -> Iterator[ListedStation]:
    """Yield stations from Network|Station|Latitude|Longitude|Elevation|..., the text format of FDSN web services."""
    form = "Network|Station|Latitude|Longitude|Elevation|SiteName|StartTime|EndTime"
    epochs = dict[tuple[str, ...], ListedStation]()
    for k, line in numbered:
        words = [word.strip() for word in line.split("|")]
        if not line.strip() or line.lstrip().startswith("#") or words[0].lower() == "network":
            continue
        where = f"{path}:{k}"
        if len(words) < 5 or finite_number(words[2]) is None:
            problems.error(where, f"'{line.strip()}' is not a station", form, f"Supported formats: {FORMS}")
            continue
        place = _numbers([words[3], words[2]], where, f"'{line.strip()}'", problems)
        if place is not None and check_geographic(place[0], place[1], where, problems):
            made = ListedStation(where, (place[0], place[1], 0.0), (words[1], words[0]) if words[0] else (words[1],))
            former = epochs.get(made.codes)
            if former is None or math.dist(former.place, made.place) > SAME_PLACE:
                epochs[made.codes] = made
                yield made


def _specfem(path: Path, lines: Sequence[tuple[int, str]], problems: Problems) -> Iterator[ListedStation]:
    """Yield stations from lines of station network latitude longitude elevation burial.

    Latitude and longitude are y and x [m] if SPECFEM's own projection is switched off.
    """
    listed = list[ListedStation]()
    for k, line in lines:
        words = line.split()
        where, form = f"{path}:{k}", "station network latitude longitude elevation burial"
        if len(words) != 6:
            problems.error(where, f"'{line}' has {len(words)} words", form, f"Supported formats: {FORMS}")
            continue
        found = _numbers(words[2:], where, f"'{line}'", problems)
        if found is None:
            continue
        latitude, longitude, _, burial = found
        listed.append(ListedStation(where, (longitude, latitude, -burial), (words[0], words[1])))
    degrees = all(
        abs(s.place[1]) <= 90 and abs(s.place[0]) <= 360 for s in listed
    )  # a station near x = y = 0 is not given in degrees
    if not degrees and all(abs(s.place[1]) <= 360 and abs(s.place[0]) <= 90 for s in listed):
        first = next(s for s in listed if abs(s.place[1]) > 90)
        what = f"latitude {first.place[1]:g}, longitude {first.place[0]:g}"
        advice = "Are latitude and longitude exchanged? Use output.receivers.file for x and y in metres."
        problems.error(first.where, what, "degrees, or metres beyond 360", advice)
    yield from (replace(s, degrees=degrees) for s in listed)


def _csv(path: Path, lines: Sequence[tuple[int, str]], problems: Problems) -> Iterator[ListedStation]:
    header, factor = [], 1.0
    for word in next(csv.reader([lines[0][1]])):
        measured = _UNIT.fullmatch(word.strip().lower())
        if measured is not None:
            factor = METRES.get(measured[2] or measured[3], 0.0)
            if not factor:
                problems.error(f"{path}:{lines[0][0]}", f"'{word.strip()}' has no known unit", ", ".join(METRES))
        header.append(measured[1] if measured else word.strip().lower().replace(" ", "").replace("_", ""))
    columns = {
        name: next((header.index(word) for word in words if word in header), None) for name, words in COLUMNS.items()
    }
    for name in ("station", "longitude", "latitude"):
        if columns[name] is None:
            reported = suggest(name, header) or (HEADERLESS if _is_station(lines[0][1]) else "")
            problems.error(
                f"{path}:{lines[0][0]}", f"the header has no column {name}", ", ".join(COLUMNS[name]), reported
            )
    if problems.errors:
        return
    for k, line in lines[1:]:
        row = [word.strip() for word in next(csv.reader([line]))]
        cell = _cells(columns, row)
        found = _numbers(
            [cell("longitude"), cell("latitude"), cell("depth") or "0"], f"{path}:{k}", f"'{line}'", problems
        )
        if found is not None and check_geographic(found[0], found[1], f"{path}:{k}", problems):
            words = tuple(word for word in (cell("station"), cell("network")) if word)
            yield ListedStation(f"{path}:{k}", (found[0], found[1], -factor * found[2]), words)


HEADERLESS = "Is the first line a station? Write the header 'station,network,longitude,latitude' above it, in the order of the columns."


def _is_station(line: str) -> bool:
    """Return True if a line of CSV has two numbers or more, as a station has and a header has not."""
    return sum(as_float(word.strip()) is not None for word in next(csv.reader([line]))) >= 2


def _cells(columns: Mapping[str, int | None], row: list[str]) -> Callable[[str], str]:
    """Return a function that returns the text in the column of a name, empty if there is none."""

    def cell(name: str) -> str:
        index = columns[name]
        return row[index] if index is not None and index < len(row) else ""

    return cell


def _numbers(words: Sequence[str | None], where: str, what: str, problems: Problems) -> list[float] | None:
    found = [finite_number(word) for word in words]
    if all(value is not None for value in found):
        return [value for value in found if value is not None]
    problems.error(where, f"{what} has no location", FORMS)
    return None


__all__ = ["FORMS", "ListedStation", "read_station_file"]
