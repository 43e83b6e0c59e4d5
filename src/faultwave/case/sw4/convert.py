"""Conversion of an input of SW4 to a Case on a regular grid.

Axes of the case: x is SW4's y, y is SW4's x and z is up, so that the surface at z = 0 and all directions are those of SW4. With ``lat`` and
``lon`` the case has SW4's projection. Absorbing layers lie outside of the box, while SW4's supergrid layers lie inside.

A command that would change the solution and is not supported is an error; what only concerns printing and files of SW4 is a warning.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from faultwave.base.errors import Problems
from faultwave.base.files.paths import similar
from faultwave.base.files.sw4 import GridAxes, grid_axes
from faultwave.case.settings.model import Case
from faultwave.case.sw4.material import read_material
from faultwave.case.sw4.reader import KEYS, NEGLIGIBLE, Command, Reader
from faultwave.case.sw4.sources import read_sources
from faultwave.case.validate import Location, build

SAMPLES_PER_STEP = 0.5
"""Step of a grid of order 4 in spacings over the largest P speed, about which SW4 and Faultwave take."""
UTC_FORM = "%m/%d/%Y:%H:%M:%S.%f"
ROUNDING = 1e-9
"""Relative tolerance with which a length counts as a multiple of the spacing."""
HILL = ("gaussianAmp", "gaussianXc", "gaussianYc", "gaussianLx", "gaussianLy")
HILL_DEFAULTS = (0.05, 0.5, 0.5, 0.15, 0.15)
LARGEST_COUNT = 1e7


def load_sw4(
    path: str | Path, overrides: Mapping[str, object] | None = None, partial: bool = False
) -> tuple[Case | None, Problems]:
    """Read an input of SW4.

    Files that it names are searched in its folder and the working folder.

    Parameters
    ----------
    path : str or Path
        Input.
    overrides : mapping, optional
        Command-line options that replace settings, see ``validate.OVERRIDES``.
    partial : bool
        If True, the valid settings of an invalid case are returned.

    Returns
    -------
    case : Case or None
        None if there are errors.
    problems : Problems
        Every problem with file:line.
    """
    path, problems = Path(path), Problems()
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        problems.error(str(path), f"cannot be read: {error.strerror}", advice=similar([path]))
        return None, problems
    reader = Reader(str(path), text, problems)
    if not reader.commands:
        problems = Problems()  # lines that are no commands say less than one text about the whole file
        problems.error(str(path), "contains no command of SW4", f"lines that begin with {', '.join(KEYS)}")
        return None, problems
    _convert(reader, path)
    folders = (path.absolute().parent, Path.cwd())
    case = build(reader.data, folders, reader.place, problems, overrides, reader.spell, partial)
    return (None if problems.errors and not partial else case), problems


def place_of(path: Path, location: Location) -> str:
    """Return file:line of the line that a setting of an input came from."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:  # removed since it was read
        return str(path)
    reader = Reader(str(path), text, Problems())
    _convert(reader, path)
    return reader.place(location)


def _convert(r: Reader, path: Path) -> None:
    """Set all settings of an input in its reader."""
    r.data["engine"] = "fd"
    r.data["title"] = f"SW4 input {path.absolute().parent.name}/{path.name}"
    r.data["source_files"] = (path.absolute(),)
    end_time = _time(r)
    _fileio(r)
    extent, spacing, axes = _grid(r)
    highest, hilly = _topography(r, extent[2])
    r.put(("grid", "lower"), [0.0, 0.0, -extent[2]], r.last("grid"))
    r.put(("grid", "upper"), [extent[1], extent[0], highest], r.last("grid"))
    finest = _refinement(r, extent[2], spacing, hilly)
    _sides(r)
    fastest = read_material(r, extent, highest, hilly)
    if "material" not in r.data:
        r.data["material"] = {"constant": {"rho": 1.0}}  # avoids a second message in validation
    _attenuation(r)
    read_sources(r, math.degrees(axes.azimuth), axes.corner is not None, hilly, end_time)
    _stations(r, path, finest, fastest, hilly)
    _images(r)


def _time(r: Reader) -> float:
    """Set and return the end time [s]; 1 with errors."""
    line = r.last("time", "a line 'time t='")
    if line is None:
        r.put(("end_time",), 1.0)
        return 1.0
    if line.given("steps"):
        line.error("steps counts time steps of SW4, which Faultwave does not take", "t=, the end time in seconds")
    elif not line.given("t"):
        line.error("has no end time", "t=, the end time in seconds")
    end = line.positive("t", 1.0) if line.given("t") else 1.0
    r.put(("end_time",), end, line)
    if line.given("event"):
        line.warn("event has no effect on a simulation, as in SW4")
    if line.given("utcstart"):
        try:
            start = datetime.strptime(line.values["utcstart"], UTC_FORM).replace(tzinfo=UTC)
            r.put(("output", "origin_time"), start.isoformat(), line)
        except ValueError:
            line.wrong("utcstart", "month/day/year:hours:minutes:seconds.fraction, as 01/04/2012:17:34:45.23")
    return end


def _fileio(r: Reader) -> None:
    line = r.last("fileio")
    if line is None:
        return
    if line.given("path"):
        r.put(("output", "folder"), line.values["path"], line)
    if line.given("obspath"):
        line.warn("obspath has no effect on a simulation, as in SW4")
    unused = line.given(*NEGLIGIBLE)
    if unused:
        line.warn(f"{', '.join(unused)} concern how SW4 prints and writes, and have no effect")


def _grid(r: Reader) -> tuple[tuple[float, float, float], float, GridAxes]:
    """Return the largest x, y and z [m], the spacing [m] and the axes of the grid, and set the projection."""
    line = r.last("grid", "a line 'grid' with h and x, y, z or nx, ny, nz")
    if line is None:
        return (1.0, 1.0, 1.0), 0.1, GridAxes()
    axes = grid_axes(line.values, line.where, r.problems) or GridAxes()
    if axes.corner is None and axes.azimuth != 0:
        line.error("az without lat and lon of the corner", "lat and lon", "SW4 would use lat=37 lon=-118.")
    if axes.corner is not None:
        azimuth = math.degrees(axes.azimuth)
        r.put(("projection",), {"crs": axes.crs, "origin": list(axes.corner), "azimuth": azimuth}, line)
    if line.given("extrapolate"):
        line.warn("extrapolate has no effect: blocks must cover the grid")
    lengths, counts = line.given("x", "y", "z"), line.given("nx", "ny", "nz")
    if line.given("h") and not lengths and len(counts) == 3:
        spacing = line.positive("h", 1.0)
        return _of_counts(line, spacing), spacing, axes
    if line.given("h") and len(lengths) == 3 and not counts:
        spacing = line.positive("h", 1.0)
    elif not line.given("h") and len(lengths) == 3 and len(counts) == 1:
        points = _count(line, counts[0])
        spacing = line.positive(counts[0][1:], 1.0) / (points - 1)
    else:
        line.error("does not define a box", "h and x, y, z; h and nx, ny, nz; or x, y, z and one of nx, ny, nz")
        return (1.0, 1.0, 1.0), 0.1, axes
    x, y, z = (_whole(line.positive(key, 1.0), spacing) for key in ("x", "y", "z"))
    return (x, y, z), spacing, axes


def _whole(length: float, spacing: float) -> float:
    """Return a length rounded up to a multiple of the spacing, as SW4 does."""
    return math.ceil(length / spacing * (1 - ROUNDING)) * spacing


def _count(line: Command, key: str) -> int:
    """Return a number of points; 2 with an error."""
    value = line.real(key, 2.0)
    if value != int(value) or not 2 <= value <= LARGEST_COUNT:
        line.wrong(key, "an integer above 1")
        return 2
    return int(value)


def _of_counts(line: Command, spacing: float) -> tuple[float, float, float]:
    """Return the extents [m] for numbers of points, which include both ends."""
    x, y, z = ((_count(line, key) - 1) * spacing for key in ("nx", "ny", "nz"))
    return x, y, z


def _topography(r: Reader, depth: float) -> tuple[float, bool]:
    """Return the highest elevation of the ground [m] and True if it is not flat, and set it."""
    line = r.last("topography")
    if line is None:
        return 0.0, False
    kind = line.values.get("input", "")
    if kind != "gaussian":
        advice = "Convert the file to a raster, and use grid.topography of a native case."
        line.error(
            f"input={kind} is not supported" if kind else "has no input", "input=gaussian", advice if kind else ""
        )
        return 0.0, False
    amp, xc, yc, lx, ly = (line.real(key, default) for key, default in zip(HILL, HILL_DEFAULTS, strict=True))
    if lx <= 0 or ly <= 0:
        line.error(f"gaussianLx={lx:g} gaussianLy={ly:g}", "lengths above 0 m")
        return 0.0, False
    unused = line.given("zmax", "order", "zetabreak", "gridgenerator", "analyticalMetric", "smooth", "file")
    if unused:
        line.warn(f"{', '.join(unused)} have no effect: the curvilinear grid is Faultwave's")
    if depth <= abs(amp):
        line.error(f"gaussianAmp={amp:g} in a box {depth:g} m deep", "a box that is deeper than the ground")
    # x of SW4 is y of the case.
    hill = f"({amp!r}) * exp(-(y - ({xc!r})) * (y - ({xc!r})) / {lx * lx!r} - (x - ({yc!r})) * (x - ({yc!r})) / {ly * ly!r})"
    r.put(("grid", "topography", "expression"), hill, line)
    return max(amp, 0.0), True


def _refinement(r: Reader, depth: float, spacing: float, hilly: bool) -> float:
    """Set spacing and blocks, and return the smallest spacing [m].

    ``h`` of the grid line is the largest spacing; each refinement halves the spacing above its ``zmax``. SW4 moves these depths to whole
    numbers of the smaller spacing.
    """
    lines = list(r.all("refinement"))
    if lines and hilly:
        lines[0].error(
            "a refinement below a topography is not supported", "no refinement with topography",
            "Use grid.blocks of a native case.",
        )  # fmt: skip
        lines = []
    found = dict[float, Command]()
    for line in lines:
        below = line.positive("zmax", 0.0) if line.given("zmax") else 0.0
        if not 0 < below < depth:
            line.wrong("zmax", f"a depth between 0 and {depth:g} m")
        elif below in found:
            line.warn(f"zmax={below:g} is repeated and has no effect")
        else:
            found[below] = line
    finest = spacing / 2 ** len(found)
    blocks, top, step, last = [], 0.0, finest, r.last("grid")
    for below in sorted(found):
        top += max(round((below - top) / step), 1) * step
        step *= 2
        blocks.append({"below": top, "spacing": step})
        last = found[below]
    if blocks:
        r.put(("grid", "blocks"), blocks, last)
        for number, below in enumerate(sorted(found)):
            r.origins["grid", "blocks", number] = found[below]
    r.put(("grid", "spacing"), finest, r.last("grid"))
    return finest


SIDES = {"lx": "y-", "hx": "y+", "ly": "x-", "hy": "x+", "lz": "z+", "hz": "z-"}
"""Sides of the case by those of SW4."""


def _sides(r: Reader) -> None:
    line = r.last("supergrid")
    if line is not None:
        names = ", ".join(line.values) or "the line"
        line.warn(
            f"{names} has no effect: absorbing layers are Faultwave's, outside of the box",
            "Use grid.absorbing of a native case.",
        )
    line = r.last("boundary_conditions")
    if line is None:
        return
    kinds = {"2": "absorbing", "0": "free-surface"}
    for key in line.given(*SIDES):
        kind = line.values[key]
        if kind not in kinds or (kind == "0" and key != "lz"):
            line.wrong(key, "2 (absorbing), or 0 (free surface) for lz")
        else:
            r.put(("grid", "boundaries", SIDES[key]), kinds[kind], line)


def _attenuation(r: Reader) -> None:
    """Set the band of attenuation: SW4 fits Q from a hundredth of ``maxfreq`` on, with speeds given at ``phasefreq``."""
    line = r.last("attenuation")
    if line is None:
        return
    if line.given("minppw"):
        line.error("minppw is not supported", "maxfreq, the highest frequency of constant Q")
    if line.real("nmech", 3.0) < 1:
        line.error("nmech=0 is not supported", "1 to 8 mechanisms")
    elif line.given("nmech"):
        line.warn("nmech has no effect: grids of Faultwave have eight mechanisms")
    high = line.positive("maxfreq", 2.0)
    r.put(("attenuation", "high"), high, line)
    r.put(("attenuation", "low"), high / 100.0, line)
    r.put(("attenuation", "reference"), line.positive("phasefreq", 1.0), line)


def _stations(r: Reader, path: Path, finest: float, fastest: float | None, hilly: bool) -> None:
    """Let the stations of the input be read from it, and set the interval of samples to about a step, as in SW4."""
    if not r.stations:
        return
    line = Command("rec", r.stations[0], {}, r.problems)
    if all(text.split()[0] in ("rec", "sac") for text in r.station_lines):  # others name files of many stations
        for number, where in enumerate(r.stations):
            r.origins["output", "receivers", number] = Command("rec", where, {}, r.problems)
    r.put(("output", "receivers", "stations"), str(path.absolute()), line)
    if hilly:
        r.put(("grid", "topography", "receivers"), "depth", line)
    if fastest is not None and fastest > 0:
        step = SAMPLES_PER_STEP * finest / fastest
        digit = 10.0 ** math.floor(math.log10(step))
        r.put(("output", "receivers", "interval"), float(f"{math.floor(step / digit) * digit:.3g}"), line)
    moved = [text for text in r.station_lines if "variables=velocity" not in text]
    if moved:
        what = "records velocities along x (SW4's y), y (SW4's x) and z (up)"
        r.problems.warn(r.stations[0], f"{what}; SW4 would record {_variables(moved)} along its axes in its own files")


def _images(r: Reader) -> None:
    """Turn images of motion at the surface, at regular times, into snapshots of the surface; others are not written."""
    intervals, other = dict[float, Command](), list[Command]()
    for line in r.commands:
        if line.name not in ("image", "imagehdf5"):
            continue
        surface = line.given("z") and line.real("z", -1.0) == 0 and line.given("timeInterval")
        if surface and line.values.get("mode", "") in MOTION:
            intervals.setdefault(line.positive("timeInterval", 1.0), line)
        else:
            other.append(line)
    if intervals:
        shortest = min(intervals)
        line = intervals[shortest]
        r.put(("output", "surface", "interval"), shortest, line)
        line.warn(
            f"is written as snapshots of the surface every {shortest:g} s, with velocity and displacement along all axes"
        )
    if other:
        more = f", nor are {len(other) - 1} other ones" if len(other) > 1 else ""
        only = "only those of motion with z=0 and timeInterval are"
        other[0].warn(f"is not written{more}: {only}", "In a native case, use output.volume.")


MOTION = (
    "ux",
    "uy",
    "uz",
    "mag",
    "hmag",
    "hmax",
    "vmax",
    "magdudt",
    "hmagdudt",
    "velmag",
    "hvelmag",
    "hmaxdudt",
    "vmaxdudt",
    "hvelmax",
)
"""Modes of images that show displacement or velocity."""


def _variables(lines: list[str]) -> str:
    """Return what SW4 would record at station lines."""
    words = [
        word.removeprefix("variables=") for text in lines for word in text.split() if word.startswith("variables=")
    ]
    count = sum("variables=" in text for text in lines)
    return ", ".join(dict.fromkeys([*(["displacement"] if count < len(lines) else []), *words]))
