"""FSP, finite source parameters of the SRCMOD database (Mai & Thingbaijam 2014): finite sources as text.

Lines with ``%`` hold a header, ``label : NAME = value ...``, and for models of several segments a header for each.
Subfaults are rows of columns named by the last header line before them. Each slips once along its rake, from TRUP [s] on
and during RISE [s]; the slip rate has the shape that the case chooses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.files.fsp import UNKNOWN, RowDepths, stated_as_upper_edges
from faultwave.base.formulas import magnitude
from faultwave.base.projection import Projection, needed
from faultwave.base.types import Setting
from faultwave.physics.sources.kinematic import Subfaults, numbers_of_row, read_text_lines
from faultwave.physics.sources.point import Sources
from faultwave.physics.sources.slip_rates import sampled_shapes
from faultwave.physics.sources.time_functions import SampledFunctions

VALUE = re.compile(r"\b([A-Za-z]\w*)\s*=\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?)")
WINDOW = re.compile(r"TW_?\d+$")
"""End of the name of a column with the slip in a time window."""
LABEL = re.compile(r"%+\s*(Loc|Size|Mech|Rupt|Invs)\b[^:=]*:", re.IGNORECASE)
NEEDED = ("LAT", "LON", "Z", "SLIP", "TRUP", "RISE")
COUNTS = {"nsbfs", "invs.nsg", "invs.ntw"}
"""Values that may be 999."""
ROCK = (1e9, 3e11)
"""Shear moduli of rock [Pa]: others follow from slip in another unit."""
ALIKE = 0.1
"""Largest relative difference between lengths, and between moments, that state the same; and difference of magnitudes."""


@dataclass
class _Segment:
    """Header and rows of a segment while a file is read."""

    line: int
    values: dict[str, tuple[float, int]] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    rows: list[list[float]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    def column(self, name: str) -> np.ndarray | None:
        """Return a column, None if the segment has no such one."""
        if name not in self.columns:
            return None
        return np.array(self.rows, float).reshape(len(self.rows), -1)[:, self.columns.index(name)]


@dataclass(frozen=True)
class _File:
    """Header and segments of a file.

    Attributes
    ----------
    path : Path
        File.
    values : dict
        Values of the header and their lines, by label and name in lower case, such as 'size.mw'.
    top : bool or None
        True if the file states that coordinates are those of the middles of upper edges, False for centres.
    segments : tuple of _Segment
    """

    path: Path
    values: dict[str, tuple[float, int]]
    top: bool | None
    segments: tuple[_Segment, ...]

    def value(self, name: str, segment: _Segment | None = None, own: str = "") -> tuple[float, str] | None:
        """Return a value and its place, of a segment by the name ``own`` if it has one, else of the header."""
        stated = (segment.values.get(own) if segment is not None else None, self.values.get(name))
        for found in stated:
            if found is not None and (found[0] != UNKNOWN or {name, own} & COUNTS):
                return found[0], f"{self.path}:{found[1]}"
        return None


def read(path: Path, setting: Setting, projection: Projection | None, warned: Problems | None = None) -> Sources:
    """Return the sources of a file, as every module of this folder does."""
    return read_fsp(path, projection, setting.slip_rate, warned)


def read_fsp(
    path: Path, projection: Projection | None, slip_rate: str = "triangle", warned: Problems | None = None
) -> Sources:
    """Return one source for each subfault that slips.

    The shear modulus is the moment SF_MOMENT divided by slip and area; without this column, that of the cell.

    Parameters
    ----------
    path : Path
        File.
    projection : Projection or None
        Projection of the case.
    slip_rate : str
        Shape of the slip rate, which lasts for RISE: 'triangle', 'cosine', or 'yoffe'.
    warned : Problems, optional
        Receives warnings.

    Raises
    ------
    InputError
        With file and line of every problem.
    """
    problems, warnings = Problems(), Problems() if warned is None else warned
    file = _parse(path)
    _check_header(file, problems, warnings)
    parts = [found for s in file.segments if (found := _subfaults(file, s, problems, warnings)) is not None]
    problems.raise_errors()
    joined = Subfaults(path, *(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    joined.check()
    _check_unit(file, joined)
    sources = joined.sources(needed(projection, str(path)), partial(_functions, slip_rate))
    _compare_moment(file, joined, warnings)
    return sources


def _functions(slip_rate: str, rise: np.ndarray) -> SampledFunctions:
    return sampled_shapes(slip_rate, rise[:, 0])


def _parse(path: Path) -> _File:
    """Return the header and the segments of a file; raise InputError if it has no subfaults."""
    values: dict[str, tuple[float, int]] = {}
    segments, top = list[_Segment](), None
    for number, line in enumerate(read_text_lines(path), 1):
        if line.lstrip().startswith("%"):
            stated = stated_as_upper_edges(line)
            top = top if stated is None else stated
            _header_line(number, line.strip(), values, segments)
        elif line.strip():
            where = f"{path}:{number}"
            if not segments or not segments[-1].columns:
                what = f"'{line.strip()[:40]}' where the header line with the names of columns is expected"
                raise InputError(Problem(where, what, f"% {' '.join(NEEDED)}"))
            segments[-1].rows.append(numbers_of_row(where, line, segments[-1].columns))
            segments[-1].lines.append(number)
    if not any(s.rows for s in segments):
        raise InputError(Problem(f"{path}:1", "holds no subfaults", "the header and the rows of an FSP file"))
    return _File(path, values, top, tuple(segments))


def _header_line(number: int, line: str, values: dict[str, tuple[float, int]], segments: list[_Segment]) -> None:
    """Add a line of the header to the values of the file, or to those of its last segment."""
    words = [word.upper() for word in line.lstrip("%").split()]
    if {"LAT", "LON", "Z"} <= set(words):
        if not segments or segments[-1].rows:
            segments.append(_Segment(number))
        segments[-1].columns = tuple(words)
        return
    if words and words[0].partition("#")[0] == "SEGMENT":
        if segments and not segments[-1].rows and not segments[-1].values:  # a line of columns before all segments
            segments.pop()
        segments.append(_Segment(number))
    label = LABEL.match(line)
    for name, text in VALUE.findall(line):
        value = float(text.upper().replace("D", "E"))
        if label:
            values.setdefault(f"{label[1]}.{name}".lower(), (value, number))
        elif segments:
            segments[-1].values.setdefault(name.lower(), (value, number))
        else:
            values.setdefault(name.lower(), (value, number))


def _check_header(file: _File, problems: Problems, warnings: Problems) -> None:
    """Report numbers of segments, and magnitude and moment, that contradict each other, and several time windows."""
    windows = file.value("invs.ntw")
    if windows is not None and windows[0] > 1:
        what = f"slip was found in {windows[0]:g} time windows, of which the rows contain the sum"
        warnings.warn(windows[1], what, advice="The slip rate is one pulse from TRUP on that lasts for RISE.")
    count, stated = len(file.segments), file.value("invs.nsg")
    if stated is not None and stated[0] != count:
        problems.error(stated[1], f"Nsg is {stated[0]:g}, and the file has {count} segments", "the same number")
    mw, moment = file.value("size.mw"), file.value("size.mo")
    if mw is not None and moment is not None and moment[0] > 0 and abs(magnitude(moment[0]) - mw[0]) > ALIKE:
        what = f"Mw is {mw[0]:g}, and Mo is {moment[0]:.4g} N m, which is Mw {magnitude(moment[0]):.2f}"
        problems.error(mw[1], what, f"a difference of at most {ALIKE:g}", "Mo is in N m.")


def _subfaults(file: _File, segment: _Segment, problems: Problems, warnings: Problems) -> tuple[np.ndarray, ...] | None:
    """Return the columns of ``Subfaults`` of a segment, after its path, or None after an error."""
    where = f"{file.path}:{segment.line}"
    if not _check_columns(segment, where, problems):
        return None
    _check_count(file, segment, problems)
    if not segment.rows:
        problems.error(where, "no subfaults of this segment follow", "a row for each", "Is the file truncated?")
        return None
    single = len(file.segments) == 1
    known = {
        "strike": file.value("mech.strk" if single else "", segment, "strike"),
        "dip": file.value("mech.dip" if single else "", segment, "dip"),
        "Dx": file.value("invs.dx", segment, "dx"),
        "Dz": file.value("invs.dz", segment, "dz"),
    }
    rake = file.value("mech.rake")
    if "RAKE" not in segment.columns:
        known["rake"] = rake
    absent = [name for name, value in known.items() if value is None]
    if absent:
        problems.error(where, f"the header states no {', '.join(absent)}", "% Mech : STRK = ..., % Invs : Dx = ... km")
        return None
    value = {name: found[0] for name, found in known.items() if found is not None}
    if not (value["Dx"] > 0 and value["Dz"] > 0):
        problems.error(where, f"subfaults have the size {value['Dx']:g} by {value['Dz']:g} km", "> 0")
        return None
    _check_size(file, segment, value["Dx"] * value["Dz"], problems)
    if not _check_known(file, segment, problems):
        return None
    return _columns(file, segment, value, warnings)


def _check_columns(segment: _Segment, where: str, problems: Problems) -> bool:
    """Report columns that are missing, occur twice, or contain slip in time windows; return False after an error."""
    windows = [name for name in segment.columns if WINDOW.search(name)]
    missing = [name for name in NEEDED if name not in segment.columns]
    twice = [name for name in dict.fromkeys(segment.columns) if segment.columns.count(name) > 1]
    if windows:
        what = f"has slip in time windows ({', '.join(windows)}), which cannot be read"
        problems.error(where, what, "slip that begins at TRUP and lasts for RISE")
    elif missing:
        advice = "Only models with times radiate waves."
        problems.error(where, f"has no column {', '.join(missing)}", " ".join(NEEDED), advice)
    elif twice:
        problems.error(where, f"has several columns {', '.join(twice)}", "each column once")
    return not (windows or missing or twice)


def _check_count(file: _File, segment: _Segment, problems: Problems) -> None:
    """Report a number of subfaults that differs from the number of rows."""
    single = len(file.segments) == 1
    stated, count = file.value("nsbfs" if single else "", segment, "nsbfs"), len(segment.rows)
    if stated is not None and stated[0] != count:
        what = f"Nsbfs is {stated[0]:g}, and {count} subfaults follow"
        problems.error(stated[1], what, "the same number", "Is the file truncated?")


def _check_size(file: _File, segment: _Segment, area: float, problems: Problems) -> None:
    """Report length times width of a segment that differs from the sum of the areas [km^2] of its subfaults."""
    single = len(file.segments) == 1
    length = file.value("size.len" if single else "", segment, "len")
    width = file.value("size.wid" if single else "", segment, "wid")
    if length is None or width is None:
        return
    stated, summed = length[0] * width[0], area * len(segment.rows)
    if abs(stated - summed) > ALIKE * summed:
        what = (
            f"length times width is {stated:.5g} km^2, and {len(segment.rows)} subfaults of {area:.4g} km^2 have "
            f"{summed:.5g} km^2"
        )
        problems.error(length[1], what, f"a difference of at most {100 * ALIKE:g} %", "Check LEN, WID, Dx and Dz.")


def _check_known(file: _File, segment: _Segment, problems: Problems) -> bool:
    """Report subfaults that slip with an unknown value; return False after an error."""
    (slip,) = _named(segment, ("SLIP",))
    names = [name for name in ("SLIP", "RAKE", "TRUP", "RISE") if name in segment.columns]
    before = len(problems.errors)
    for name, column in zip(names, _named(segment, names), strict=True):
        unknown = np.flatnonzero((column == UNKNOWN) & (slip != 0))
        if len(unknown):
            more = f"; so is that of {len(unknown) - 1} more subfaults" if len(unknown) > 1 else ""
            what = f"{name} is {UNKNOWN:g}, which stands for an unknown value{more}"
            problems.error(f"{file.path}:{segment.lines[int(unknown[0])]}", what, "the value of the subfault")
    return len(problems.errors) == before


def _columns(file: _File, segment: _Segment, value: dict[str, float], warnings: Problems) -> tuple[np.ndarray, ...]:
    """Return the columns of ``Subfaults``, after its path, of a segment with strike, dip [deg], Dx and Dz [km]."""
    lat, lon, depth, slip, onset, rise = _named(segment, NEEDED)
    count = len(lat)
    strike, dip = np.full(count, value["strike"]), np.full(count, value["dip"])
    rake = segment.column("RAKE")
    rake = np.full(count, value["rake"]) if rake is None else np.where(slip == 0, 0.0, rake)
    if _is_top(file, segment, depth, value, warnings):
        half, slope = 0.5 * value["Dz"], np.radians(value["dip"])
        lon, lat = _moved(lon, lat, half * np.cos(slope), np.radians(value["strike"] + 90.0))
        depth = depth + half * np.sin(slope)
    area = np.full(count, 1e6 * value["Dx"] * value["Dz"])
    moment = segment.column("SF_MOMENT")
    modulus = np.full(count, np.nan)
    if moment is not None:
        slips = (slip != 0) & (area > 0)
        modulus[slips] = moment[slips] / (area[slips] * slip[slips])
    line = np.array(segment.lines)
    return line, lon, lat, 1e3 * depth, strike, dip, rake, area, slip, modulus, onset, rise[:, None]


def _named(segment: _Segment, names: Iterable[str]) -> Sequence[np.ndarray]:
    rows = np.array(segment.rows, float).reshape(len(segment.rows), -1)
    return [rows[:, segment.columns.index(name)] for name in names]


def _moved(lon: np.ndarray, lat: np.ndarray, distance: float, azimuth: float) -> tuple[np.ndarray, np.ndarray]:
    """Return longitudes and latitudes [deg] moved by a distance [km] in a direction [rad] on the ellipsoid."""
    import pyproj

    sound = (np.abs(lon) <= 360) & (np.abs(lat) <= 90)  # others are reported later
    found_lon, found_lat = lon.copy(), lat.copy()
    count = int(sound.sum())
    moved = pyproj.Geod(ellps="WGS84").fwd(
        lon[sound], lat[sound], np.full(count, np.degrees(azimuth)), np.full(count, 1e3 * distance)
    )
    found_lon[sound], found_lat[sound] = moved[0], moved[1]
    return found_lon, found_lat


def _is_top(file: _File, segment: _Segment, depth: np.ndarray, value: dict[str, float], warnings: Problems) -> bool:
    """Return True if places of a segment are the middles of the upper edges of subfaults, False for centres."""
    top = file.value("mech.htop" if len(file.segments) == 1 else "", segment, "z2top")
    height = float(value["Dz"] * np.sin(np.radians(value["dip"])))
    depths = RowDepths(float(depth.min()), None if top is None else top[0], height)
    found = depths.are_upper_edges(file.top)
    if top is not None and not depths.agree:
        what = f"subfaults begin at a depth of {depths.first:g} km, below an upper edge at {top[0]:g} km"
        warnings.warn(top[1], what, "the upper edge of the first row", "The depths of the subfaults are used.")
    elif top is not None and file.top is not None and found != file.top:
        names = {True: "the middles of upper edges", False: "centres"}
        what = f"depths of subfaults are those of {names[found]}, and the file states {names[file.top]}"
        warnings.warn(top[1], what, advice="The depths decide.")
    return found


def _check_unit(file: _File, subfaults: Subfaults) -> None:
    """Raise InputError if the shear modulus that follows from moments, or the moment of the header, and slip is not that of rock."""
    slips, stated = subfaults.slip != 0, file.value("size.mo")
    potency = float((subfaults.area * np.abs(subfaults.slip)).sum())
    if not slips.any():
        return
    modulus, name = float(np.median(subfaults.modulus[slips])), "the median of SF_MOMENT"
    if np.isnan(modulus):
        modulus, name = (stated[0] if stated is not None else np.nan) / potency, "Mo"
    if modulus <= ROCK[0] or modulus >= ROCK[1]:
        what = f"the shear modulus, {name} divided by slip and area, is {modulus:.3g} Pa"
        advice = "SLIP is in m, and moments are in N m. Is slip in cm?"
        raise InputError(Problem(f"{file.path}:{subfaults.line[0]}", what, f"{ROCK[0]:g} to {ROCK[1]:g} Pa", advice))


def _compare_moment(file: _File, subfaults: Subfaults, warnings: Problems) -> None:
    """Warn if the moments of the subfaults have another sum than the header states."""
    stated = file.value("size.mo")
    moments = subfaults.modulus * subfaults.area * np.abs(subfaults.slip)
    known = np.isfinite(subfaults.modulus) | (subfaults.slip == 0)
    if stated is None or not stated[0] > 0 or not known.all():
        return
    total = float(np.nansum(moments))
    if abs(total - stated[0]) > ALIKE * stated[0]:
        what = f"Mo is {stated[0]:.4g} N m, and the moments of the subfaults have the sum {total:.4g} N m"
        warnings.warn(stated[1], what, advice="The moments of the subfaults are used.")
