"""Sources of SW4 as sources of a case.

Forces and moment tensors are along x, y and z (down) of the grid; strike counts from north. SW4 subtracts the azimuth of its grid from the
strike, and uses the tensor of Aki & Richards.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import cos, radians, sin

from faultwave.base.errors import suggest
from faultwave.base.types import Settings
from faultwave.case.sw4.reader import Command, Reader
from faultwave.case.sw4.time_functions import NAMES, convert

TENSOR = ("mxx", "mxy", "mxz", "myy", "myz", "mzz")
ANGLES = ("strike", "dip", "rake")
FORCE = ("fx", "fy", "fz")
MOST_CYCLES = 30
"""Largest ``ncyc``: a window of more needs more samples than a case may have."""
LATER = {
    "Dirac": "an impulse as long as SW4's time step is not supported",
    "dfile": "a sampled time function is not supported",
    "sacbase": "time functions in SAC files are not supported",
    "sacbasedisp": "time functions in SAC files are not supported",
}


def double_couple(strike: float, dip: float, rake: float) -> dict[str, float]:
    """Return the tensor of a unit double couple along x north, y east and z down, for angles in degrees."""
    s, d, r = radians(strike), radians(dip), radians(rake)
    normal = (-sin(d) * sin(s), sin(d) * cos(s), -cos(d))
    slip = (
        cos(r) * cos(s) + sin(r) * cos(d) * sin(s),
        cos(r) * sin(s) - sin(r) * cos(d) * cos(s),
        -sin(r) * sin(d),
    )
    pairs = {"mxx": (0, 0), "mxy": (0, 1), "mxz": (0, 2), "myy": (1, 1), "myz": (1, 2), "mzz": (2, 2)}
    return {name: normal[i] * slip[j] + normal[j] * slip[i] for name, (i, j) in pairs.items()}


def tensor_of_case(m: Mapping[str, float]) -> dict[str, float]:
    """Return a tensor along x, y and z down of SW4 along x, y and z of a case, which are SW4's y, x and upwards."""
    found = {"xx": m["myy"], "yy": m["mxx"], "zz": m["mzz"], "xy": m["mxy"], "xz": -m["myz"], "yz": -m["mxz"]}
    return {name: value for name, value in found.items() if value}


def read_sources(r: Reader, azimuth: float, geographic: bool, hilly: bool, end_time: float) -> None:
    """Set the sources.

    Parameters
    ----------
    r : Reader
        Input.
    azimuth : float
        Azimuth of the x axis [deg].
    geographic : bool
        True if the corner of the grid is known, so that longitude and latitude can be converted.
    hilly : bool
        True if the ground is not flat.
    end_time : float
        End of the run [s].
    """
    settings, lines, below = list[Settings](), list[Command](), dict[bool, Command]()
    for line in r.commands:
        if line.name == "source":
            made = _source(line, azimuth, geographic, end_time)
            below.setdefault(not line.given("z"), line)
        elif line.name == "rupture":
            made = _rupture(line, geographic)
            below.setdefault(True, line)
        else:
            continue
        if line.given("event"):
            line.warn("event has no effect on a simulation, as in SW4")
        if made is not None:
            settings.append(made)
            lines.append(line)
    if not below:
        r.problems.error(r.name, "has no line 'source' or 'rupture'", "at least one")
    if hilly and len(below) > 1:
        below[False].error(
            "z is absolute, and other sources have a depth below the ground", "z for all, or depth for all"
        )
    if hilly and below:
        meaning = "depth" if True in below else "elevation"
        r.put(("grid", "topography", "sources"), meaning, next(iter(below.values())))
    r.put(("sources",), settings)
    for number, line in enumerate(lines):
        r.origins["sources", number] = line


def _rupture(line: Command, geographic: bool) -> Settings | None:
    if not line.given("file"):
        line.error("has no file", "file= of an SRF file")
        return None
    if not geographic:
        line.error(
            "needs lat and lon of the grid's corner", "a grid line with lat and lon", "SW4 would use lat=37 lon=-118."
        )
        return None
    line.warn("slip across the rake and along the normal, which SW4 ignores, is included")
    return {"kind": "srf", "file": line.values["file"]}


def _source(line: Command, azimuth: float, geographic: bool, end_time: float) -> Settings | None:
    """Return the setting of a source line, or None with errors."""
    errors = len(line.problems.errors)
    for key in line.given("dfile", "sacbase", "sacbasedisp"):
        line.error(f"{key}: {LATER[key]}", f"type of {', '.join(NAMES)}")
    place = _place(line, geographic)
    force, moment = line.given(*FORCE, "f0", "amp"), line.given(*TENSOR, *ANGLES)
    if force and moment:
        line.error(f"contains {force[0]} and {moment[0]}", "a force or a moment tensor")
    elif not line.given(*FORCE, *TENSOR, *ANGLES):
        line.error("has no force and no moment tensor", ", ".join((*FORCE, *TENSOR, *ANGLES)))
    if line.given(*ANGLES) and line.given(*TENSOR):
        line.error("contains angles and a tensor; SW4 would ignore the tensor", "one of them")
    name, freq, start = line.values.get("type", "RickerInt"), line.positive("freq", 1.0), line.real("t0")
    cycles = _cycles(line, name)
    if name not in NAMES:
        known = LATER.get(name) or "is not a time function; SW4 would use RickerInt"
        line.error(f"type={name}: {known}", ", ".join(NAMES), suggest(name, NAMES))
    if len(line.problems.errors) > errors or place is None:
        return None
    try:
        made = convert(name, freq, start, bool(moment), end_time, cycles)
    except ValueError as error:
        line.error(str(error), "a lower freq, a shorter run, or another time function")
        return None
    timing = {"time_function": made.setting, "onset": made.onset}
    if moment:
        return {"kind": "moment-tensor", **place, "tensor": _tensor(line, azimuth, made.sign), **timing}
    if line.given("m0"):
        line.warn("m0 has no effect on a force, as in SW4")
    factor = made.sign * line.real("amp" if line.given("amp") else "f0", 1.0)
    x, y, z = (factor * line.real(key) for key in FORCE)
    return {"kind": "force", **place, "force": [y, x, -z], **timing}


def _tensor(line: Command, azimuth: float, sign: float) -> dict[str, float]:
    if line.given(*ANGLES):
        strike, dip, rake = (line.real(key) for key in ANGLES)
        unit = double_couple(strike - azimuth, dip, rake)
    else:
        unit = {key: line.real(key) for key in TENSOR}
    size = sign * line.real("m0", 1.0)
    return tensor_of_case({key: size * value for key, value in unit.items()})


def _cycles(line: Command, name: str) -> int:
    """Return the number of cycles of a GaussianWindow, 1 for other functions."""
    if name != "GaussianWindow":
        if line.given("ncyc"):
            line.warn(f"ncyc has no effect with type={name}, as in SW4")
        return 1
    value = line.real("ncyc")
    if not 1 <= value <= MOST_CYCLES or value != int(value):
        line.wrong("ncyc", f"an integer from 1 to {MOST_CYCLES}, which GaussianWindow needs")
        return 1
    return int(value)


def _place(line: Command, geographic: bool) -> Settings | None:
    """Return the setting of the place of a source, or None with errors."""
    degrees, metres = line.given("lat", "lon"), line.given("x", "y")
    downs = line.given("depth", "topodepth", "z")
    if degrees and metres or not (degrees or metres):
        line.error("has both x, y and lat, lon" if degrees else "has no place", "x and y, or lat and lon")
        return None
    if len(downs) != 1:
        what = f"contains {' and '.join(downs)}" if downs else "has no depth"
        line.error(what, "one of depth, topodepth and z")
        return None
    if len(degrees or metres) < 2:
        line.error(f"contains only {(degrees or metres)[0]}", "lat and lon" if degrees else "x and y")
        return None
    down = line.real(downs[0])
    if down < 0 and downs[0] != "z":
        line.wrong(downs[0], "0 m or more")
    if metres:
        return {"location": [line.real("y"), line.real("x"), -down]}
    if not geographic:
        line.error(
            "lat and lon need those of the grid's corner",
            "a grid line with lat and lon",
            "SW4 would use lat=37 lon=-118.",
        )
        return None
    return {"geographic": [line.real("lon"), line.real("lat"), -down]}
