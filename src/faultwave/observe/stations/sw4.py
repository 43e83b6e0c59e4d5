"""Stations of SW4: the rec and sac lines of its input, and the HDF5 files named by rechdf5 lines.

``z`` is absolute, ``depth`` is measured from the ground; ``base.files.sw4`` describes x and y. The program's own reader is the reference
(processReceiver).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from faultwave.base.errors import InputError, Problem, Problems, suggest
from faultwave.base.files.hdf5 import opened
from faultwave.base.files.sw4 import GridAxes, grid_axes
from faultwave.base.units import finite_number
from faultwave.observe.stations.codes import ListedStation, check_geographic

COMMANDS, HDF5_COMMANDS = ("rec", "sac"), ("rechdf5", "sachdf5")
PLACE_KEYS = ("x", "y", "z", "lat", "lon", "depth", "topodepth")
NAME_KEYS = ("sta", "file")
OUTPUT_KEYS = (
    "nsew", "variables", "writeEvery", "downsample", "sacformat", "usgsformat", "hdf5format", "hdf5file", "sacheader", "event",
)  # fmt: skip
UNUSED = ("nsew", "variables", "writeEvery", "downsample")
"""Keys of a station line that change what SW4 records; here ``output.receivers`` determines what is recorded."""
FORM = "rec x= y= (or lat= lon=), with depth= or z= if not at the ground, and sta= or file="
HDF5_PLACES = {"STX,STY,STZ": False, "STLA,STLO,STDP": True}
"""Datasets with the place of a station; True if it consists of latitude, longitude and depth."""


def is_sw4(lines: Sequence[tuple[int, str]]) -> bool:
    """Return True if numbered lines belong to an SW4 input with stations."""
    return any(line.split()[0] in (*COMMANDS, *HDF5_COMMANDS) for _, line in lines)


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
        if command in HDF5_COMMANDS:
            given = _keys(words, where, command, ("infile", "outfile", *OUTPUT_KEYS), problems)
            if given is not None:
                yield from _of_rechdf5(path, given, axes, where, problems)
        elif command in COMMANDS:
            given = _keys(words, where, command, (*PLACE_KEYS, *NAME_KEYS, *OUTPUT_KEYS), problems)
            station = None if given is None else _station(given, axes, where, line, problems)
            if station is not None:
                yield station
        else:
            given = None
        for key in UNUSED:
            if given is not None and key in given:
                unused.setdefault(key, k)
    if unused:
        what = f"{', '.join(unused)} of station lines are not read: seismograms are velocities along x, y and z"
        problems.warn(
            f"{path}:{min(unused.values())}",
            what,
            advice="Use output.receivers to choose what is recorded and how often.",
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
    with opened(path, "HDF5 file of stations") as file:
        for name, group in file.items():
            if not isinstance(group, h5py.Group):
                continue
            where = f"{path}: {name}"
            key = next((k for k in HDF5_PLACES if k in group), "")
            if not key:
                problems.error(where, "has no location", " or ".join(HDF5_PLACES))
                continue
            place = np.asarray(group[key][()], float).reshape(-1)
            if place.shape != (3,) or not np.isfinite(place).all():
                problems.error(where, f"{key} is {place.tolist()}", "three finite numbers")
                continue
            height = "USEZVALUE" in group and bool(np.asarray(group["USEZVALUE"][()]).any())
            if HDF5_PLACES[key]:
                longitude, latitude = float(place[1]), float(place[0])
                if check_geographic(longitude, latitude, where, problems):
                    found.append(ListedStation(where, (longitude, latitude, -float(place[2])), (name,), True, height))
            elif axes is None:
                problems.error(
                    where, "uses x and y of a grid that the file does not define", "STLA,STLO,STDP",
                    "Name the SW4 input with its grid line and 'rechdf5 infile=' instead of this file.",
                )  # fmt: skip
            else:
                found.append(
                    _on_axes(axes, (float(place[0]), float(place[1]), -float(place[2])), where, (name,), height)
                )
    return found


def _grid_axes(path: Path, lines: Sequence[tuple[int, str]], problems: Problems) -> GridAxes:
    """Return the axes of the grid line, by default x north and y east."""
    for k, line in lines:
        command, *words = line.split()
        if command != "grid":
            continue
        given = dict(word.partition("=")[::2] for word in words)
        return grid_axes(given, f"{path}:{k}", problems) or GridAxes()
    return GridAxes()


def _keys(
    words: Sequence[str], where: str, command: str, known: Sequence[str], problems: Problems
) -> dict[str, str] | None:
    """Return the values of a line by key, or None with an error if a word is not a key of the command."""
    given = dict[str, str]()
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or key not in known:
            problems.error(
                where, f"'{word}' is not a key of {command}", ", ".join(f"{k}=" for k in known), suggest(key, known)
            )
            return None
        given[key] = value
    return given


def _station(
    given: Mapping[str, str], axes: GridAxes, where: str, text: str, problems: Problems
) -> ListedStation | None:
    """Return the station of a line ``text`` at ``where``, or None with an error."""
    wrong = [f"{key}={given[key]}" for key in PLACE_KEYS if key in given and finite_number(given[key]) is None]
    if wrong:
        problems.error(where, f"{', '.join(wrong)} is not a number", "metres, or degrees of lat and lon")
        return None
    degrees = "lat" in given or "lon" in given
    first, second = (finite_number(given.get(name)) for name in (("lon", "lat") if degrees else ("x", "y")))
    downs = [key for key in ("depth", "topodepth", "z") if key in given]
    down = finite_number(given[downs[0]]) if downs else 0.0
    if first is None or second is None or down is None:
        problems.error(where, f"'{text}' has no location", FORM)
        return None
    if len(downs) > 1:
        problems.error(
            where, f"contains {' and '.join(downs)}", "one of them: depth is relative to the ground, z is absolute"
        )
        return None
    codes = tuple(code for code in (given.get("sta") or given.get("file") or "",) if code)
    height = downs == ["z"]
    if degrees:
        if not check_geographic(first, second, where, problems):
            return None
        return ListedStation(where, (first, second, -down), codes, True, height)
    return _on_axes(axes, (first, second, -down), where, codes, height)


def _on_axes(
    axes: GridAxes, place: tuple[float, float, float], where: str, codes: tuple[str, ...], height: bool
) -> ListedStation:
    """Return a station at x, y of SW4 and z upwards.

    If the grid line states a projection or metres per degree, longitude and latitude follow from them; otherwise x and y are distances on
    Earth.
    """
    if axes.stated:
        return ListedStation(where, (*axes.geographic(*place[:2]), place[2]), codes, True, height)
    return ListedStation(where, (*axes.east_north(*place[:2]), place[2]), codes, False, height, axes.corner)


def _of_rechdf5(
    path: Path, given: Mapping[str, str], axes: GridAxes, where: str, problems: Problems
) -> Iterator[ListedStation]:
    name = given.get("infile", "")
    file = path.parent / name
    if not name or not file.is_file():
        problems.error(where, f"rechdf5 infile={name} is not a file", f"a file, relative to {path.parent or '.'}")
        return
    try:
        yield from read_sw4_hdf5(file, axes, problems)
    except InputError as error:
        problems.extend(Problem(f"{where}: {p.where}", p.what, p.allowed, p.advice) for p in error.problems)


__all__ = ["GridAxes", "ListedStation", "is_sw4", "read_sw4", "read_sw4_hdf5"]
