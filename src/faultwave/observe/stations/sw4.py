"""Stations of SW4: the rec and sac lines of its input, and the HDF5 files named by rechdf5 lines.

x of SW4 points ``az`` degrees clockwise from north at the corner (``lat``, ``lon``) of its grid, y 90 degrees further, z down. ``z`` is
absolute, ``depth`` is measured from the ground. The program's own reader is the reference (processReceiver and computeCartesianCoord).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from faultwave.base.errors import InputError, Problem, Problems, suggest
from faultwave.base.files.hdf5 import opened
from faultwave.base.units import finite_number
from faultwave.observe.stations.codes import ListedStation, check_geographic

COMMANDS = ("rec", "sac")
PLACE_KEYS = ("x", "y", "z", "lat", "lon", "depth", "topodepth")
NAME_KEYS = ("sta", "file")
OUTPUT_KEYS = (
    "nsew", "variables", "writeEvery", "downsample", "sacformat", "usgsformat", "hdf5format", "hdf5file", "sacheader", "event",
)  # fmt: skip
UNUSED = ("nsew", "variables", "writeEvery", "downsample")
"""Keys of a rec line that change what SW4 records; here ``output.receivers`` determines what is recorded."""
FORM = "rec x= y= (or lat= lon=) with depth= or z=, and sta= or file="
HDF5_PLACES = {"STX,STY,STZ": False, "STLA,STLO,STDP": True}
"""Datasets with the place of a station; True if it consists of latitude, longitude and depth."""


@dataclass(frozen=True)
class GridAxes:
    """Corner (longitude, latitude) [deg] of a grid of SW4, None if its input has none, and azimuth of its x axis [rad]."""

    corner: tuple[float, float] | None = None
    azimuth: float = 0.0

    def east_north(self, x: float, y: float) -> tuple[float, float]:
        """Return the distances [m] east and north of the corner for x, y [m]."""
        c, s = math.cos(self.azimuth), math.sin(self.azimuth)
        return x * s + y * c, x * c - y * s


def is_sw4(lines: Sequence[tuple[int, str]]) -> bool:
    """Return True if numbered lines belong to an SW4 input with stations."""
    return any(line.split()[0] in (*COMMANDS, "rechdf5") for _, line in lines)


def read_sw4(path: Path, lines: Sequence[tuple[int, str]], problems: Problems) -> Iterator[ListedStation]:
    """Yield the stations of an SW4 input, in the order of its lines.

    Parameters
    ----------
    path : Path
        The input, for messages; files of ``rechdf5`` lines are relative to it.
    lines : sequence of (int, str)
        Numbered lines without comments and blank lines.
    problems : Problems
        Collects errors, with file and line, and warnings of keys without effect.
    """
    axes = _grid_axes(path, lines, problems)
    unused = dict[str, int]()
    for k, line in lines:
        command, *words = line.split()
        where = f"{path}:{k}"
        if command == "rechdf5":
            reported = _keys(words, where, command, ("infile", "outfile", *OUTPUT_KEYS), problems)
            if reported is not None:
                yield from _of_rechdf5(path, reported, axes, where, problems)
        elif command in COMMANDS:
            reported = _keys(words, where, command, (*PLACE_KEYS, *NAME_KEYS, *OUTPUT_KEYS), problems)
            station = None if reported is None else _station(k, reported, axes, where, line, problems)
            for key in UNUSED:
                if reported is not None and key in reported:
                    unused.setdefault(key, k)
            if station is not None:
                yield station
    if unused:
        what = f"{', '.join(unused)} of rec lines are not read: seismograms are velocities along x, y and z"
        problems.warn(
            f"{path}:{min(unused.values())}", what, advice="output.receivers says what is recorded and how often."
        )


def read_sw4_hdf5(path: Path, axes: GridAxes | None, problems: Problems) -> list[ListedStation]:
    """Return the stations of an HDF5 file of SW4, which has a group for each.

    Parameters
    ----------
    path : Path
        The file.
    axes : GridAxes or None
        Axes of the grid that x and y refer to; None if no input defines them, so that x and y are an error.
    problems : Problems
        Collects errors, with the name of the station.
    """
    import h5py
    import numpy as np

    found = list[ListedStation]()
    with opened(path, "HDF5 file of stations"):
        pass
    with opened(path, "HDF5 file of stations", probed=False) as file:
        groups = [(name, group) for name, group in file.items() if isinstance(group, h5py.Group)]
        for order, (name, group) in enumerate(groups, 1):
            where = f"{path}: {name}"
            key = next((k for k in HDF5_PLACES if k in group), "")
            if not key:
                problems.error(where, "has no place", " or ".join(HDF5_PLACES))
                continue
            place = np.asarray(group[key][()], float).reshape(-1)
            if place.shape != (3,) or not np.isfinite(place).all():
                problems.error(where, f"{key} is {place.tolist()}", "three finite numbers")
                continue
            height = "USEZVALUE" in group and bool(np.asarray(group["USEZVALUE"][()]).any())
            if HDF5_PLACES[key]:
                longitude, latitude = float(place[1]), float(place[0])
                if check_geographic(longitude, latitude, where, problems):
                    found.append(ListedStation(order, (longitude, latitude, -float(place[2])), (name,), True, height))
            elif axes is None:
                problems.error(
                    where, "is at x and y of a grid that the file does not give", "STLA,STLO,STDP",
                    "Name the SW4 input with its grid line and 'rechdf5 infile=' instead of this file.",
                )  # fmt: skip
            else:
                x, y = axes.east_north(float(place[0]), float(place[1]))
                found.append(ListedStation(order, (x, y, -float(place[2])), (name,), False, height, axes.corner))
    return found


def _grid_axes(path: Path, lines: Sequence[tuple[int, str]], problems: Problems) -> GridAxes:
    """Return the axes of the grid line, by default x north and y east."""
    for k, line in lines:
        command, *words = line.split()
        if command != "grid":
            continue
        where, reported = f"{path}:{k}", dict(word.partition("=")[::2] for word in words)
        values = {key: finite_number(reported[key]) for key in ("lat", "lon", "az") if key in reported}
        wrong = [f"{key}={reported[key]}" for key, value in values.items() if value is None]
        if wrong:
            problems.error(where, f"{', '.join(wrong)} is no number", "degrees")
            return GridAxes()
        if ("lat" in values) != ("lon" in values):
            problems.error(where, "gives one of lat and lon", "both, or neither")
            return GridAxes()
        azimuth = math.radians(values.get("az") or 0.0)
        if "lat" not in values:
            return GridAxes(None, azimuth)
        longitude, latitude = float(values["lon"] or 0.0), float(values["lat"] or 0.0)
        check_geographic(longitude, latitude, where, problems)
        return GridAxes((longitude, latitude), azimuth)
    return GridAxes()


def _keys(
    words: Sequence[str], where: str, command: str, known: Sequence[str], problems: Problems
) -> dict[str, str] | None:
    """Return the values of a line by key, or None with an error if a word is no setting of the command."""
    reported = dict[str, str]()
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or key not in known:
            problems.error(
                where, f"'{word}' is no setting of {command}", ", ".join(f"{k}=" for k in known), suggest(key, known)
            )
            return None
        reported[key] = value
    return reported


def _station(
    line: int, given: Mapping[str, str], axes: GridAxes, where: str, text: str, problems: Problems
) -> ListedStation | None:
    degrees = "lat" in given or "lon" in given
    first, second = (finite_number(given.get(name)) for name in (("lon", "lat") if degrees else ("x", "y")))
    downs = [key for key in ("depth", "topodepth", "z") if key in given]
    down = finite_number(given[downs[-1]]) if downs else 0.0  # SW4 uses the last one
    if first is None or second is None or down is None:
        problems.error(where, f"'{text}' has no place", FORM)
        return None
    if len(downs) > 1:
        problems.error(
            where, f"gives {' and '.join(downs)}", "one of them: depth counts from the ground, z is absolute"
        )
        return None
    words = tuple(word for word in (given.get("sta") or given.get("file") or "",) if word)
    height = downs == ["z"]
    if degrees:
        if not check_geographic(first, second, where, problems):
            return None
        return ListedStation(line, (first, second, -down), words, True, height)
    return ListedStation(line, (*axes.east_north(first, second), -down), words, False, height, axes.corner)


def _of_rechdf5(
    path: Path, given: Mapping[str, str], axes: GridAxes, where: str, problems: Problems
) -> Iterator[ListedStation]:
    name = given.get("infile", "")
    file = path.parent / name
    if not name or not file.is_file():
        problems.error(where, f"rechdf5 infile={name} is no file", f"a file, relative to {path.parent or '.'}")
        return
    try:
        yield from read_sw4_hdf5(file, axes, problems)
    except InputError as error:
        problems.extend(Problem(f"{where}: {p.where}", p.what, p.allowed, p.advice) for p in error.problems)


__all__ = ["GridAxes", "ListedStation", "is_sw4", "read_sw4", "read_sw4_hdf5"]
