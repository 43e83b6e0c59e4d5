"""Text files of the SCEC/USGS comparison of dynamic rupture codes: station histories and contours of rupture time of a run.

Conventions (https://strike.scec.org/cvws; Harris et al. 2018): a viewer looks across the fault, strike to the right. h is along
strike, slip positive right-lateral; v is down dip, slip positive where the far side moves down; n points away from the viewer, to the
far side, which is the hanging wall of a dipping fault. Stresses are in MPa, normal stress positive in extension. Distances along
strike are measured from the origin of the coordinates, distances across the fault from its trace at z = 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Literal

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.types import Settings
from faultwave.output.atomic import atomic_text
from faultwave.output.faultplane import FaultPlane, fit_plane, mean_plane, orient_hanging_wall_left, plane_through
from faultwave.output.folder import MANIFEST
from faultwave.output.formats import Conversion, Converter
from faultwave.output.formats.vtkhdf import VtkHdfReader
from faultwave.output.manifest import read_manifest
from faultwave.output.trace import Results, Trace

State = Literal["none", "log-theta", "psi"]
Columns = dict[str, tuple[str, np.ndarray]]
"""Description and values of each column, by its name in the file."""

NEVER = 1.0e9
"""Rupture time of points that never ruptured [s]."""

_ON_FAULT = ("Sls", "SRs", "Ts0", "Sld", "SRd", "Td0", "Pn0")


@dataclass(frozen=True)
class ScecHeader:
    """Header common to all files; ``element_size`` is text with its unit, ``more`` holds further key=value lines."""

    problem: str = "unnamed"
    author: str = "unnamed"
    version: str = ""
    element_size: str = ""
    date: str = field(default_factory=lambda: date.today().strftime("%Y/%m/%d"))
    more: Mapping[str, str] = field(default_factory=dict)

    def lines(self) -> list[str]:
        pairs = {
            "problem": self.problem,
            "author": self.author,
            "date": self.date,
            "code": "Faultwave",
            "code_version": self.version,
            "element_size": self.element_size,
            **self.more,
        }
        return [f"# {key}={value}\n" for key, value in pairs.items() if value]


def _hundreds(metres: float) -> str:
    number = round(float(metres) / 100.0)
    return f"-{-number:03d}" if number < 0 else f"{number:03d}"


def _km(metres: float) -> str:
    return f"{round(metres) / 1e3:g}"  # to the metre: projections leave rounding errors


def fault_station_name(along_strike: float, down_dip: float, fault: str = "fault") -> str:
    """Return the name of an on-fault station from its coordinates on the fault [m], e.g. faultst-020dp055."""
    return f"{fault}st{_hundreds(along_strike)}dp{_hundreds(down_dip)}"


def body_station_name(across: float, along: float, depth: float) -> str:
    """Return the name of an off-fault station from its distances [m] to and along the fault, e.g. body-030st-120dp000."""
    return f"body{_hundreds(across)}st{_hundreds(along)}dp{_hundreds(depth)}"


def write_fault_stations(
    folder: str | Path,
    traces: Sequence[Trace],
    plane: FaultPlane,
    header: ScecHeader,
    state: State | None = None,
    fault: str = "fault",
) -> list[Path]:
    """Write one file per fault receiver; slip, slip rate and total traction are required columns.

    Components follow the strike and dip of each receiver.

    Parameters
    ----------
    folder : str or Path
        Output folder.
    traces : sequence of Trace
        Fault receivers.
    plane : FaultPlane
        Mean plane of the fault, which defines the coordinates in station names.
    header : ScecHeader
        Header of the files.
    state : State, optional
        Name of the state variable ('log-theta' writes its logarithm); required if the files do not state its unit, as SeisSol's.
    fault : str
        Prefix of the station names: the main fault or a branch.

    Raises
    ------
    InputError
        If columns are missing or the state variable is undecided.
    """
    used: set[str] = set()
    paths = []
    for trace in traces:
        columns = _fault_columns(trace, plane, state)
        strike, dip = float(plane.along_strike(trace.location)), float(plane.down_dip(trace.location))
        name = _unique(fault_station_name(strike, dip, fault), used)
        location = f"on {fault}, {_km(strike)} km along strike, {_km(dip)} km down-dip"
        paths.append(_write_station(Path(folder) / name, location, columns, header))
    return paths


def _fault_columns(trace: Trace, plane: FaultPlane, state: State | None) -> Columns:  # fmt: skip
    missing = [name for name in _ON_FAULT if name not in trace.columns]
    if missing:
        raise InputError(Problem(f"fault receiver {trace.number}", f"lacks {', '.join(missing)}", ", ".join(_ON_FAULT)))
    _placed(trace)
    # exchanging the plus side flips the normal: strike components retain their sign, dip components change it
    side = -1.0 if "normal" in trace.vectors and trace.vectors["normal"] @ plane.left < 0 else 1.0
    c = trace.columns
    columns: Columns = {
        "t": ("Time (s)", trace.time),
        "h-slip": ("horizontal slip (m), right-lateral is positive", c["Sls"]),
        "h-slip-rate": ("horizontal slip rate (m/s)", c["SRs"]),
        "h-shear-stress": ("horizontal shear stress (MPa)", 1e-6 * c["Ts0"]),
        "v-slip": ("slip down dip (m), positive where the far side moves down", side * c["Sld"]),
        "v-slip-rate": ("slip rate down dip (m/s)", side * c["SRd"]),
        "v-shear-stress": ("shear stress down dip (MPa)", side * 1e-6 * c["Td0"]),
        "n-stress": ("normal stress (MPa), extension is positive", 1e-6 * c["Pn0"]),
        **_state(trace, state),
    }
    if np.any(c.get("Tmp", 0.0)):
        columns["temperature"] = ("temperature (K)", c["Tmp"])
    if np.any(c.get("P_f", 0.0)):
        # P_f has the sign of stress, tension positive. 0 - x avoids a negative zero.
        columns["pressure"] = ("pore pressure (MPa)", 0.0 - 1e-6 * c["P_f"])
    return columns


def _placed(trace: Trace) -> None:
    """Raise InputError for a receiver whose file does not state its location."""
    if not np.isfinite(trace.location).all():
        raise InputError(Problem(f"{trace.kind} {trace.number}", "has no location, which is part of the file name"))


def _state(trace: Trace, state: State | None) -> Columns:
    values = trace.columns.get("StV")
    if state == "none" or values is None or (state is None and not np.any(values)):
        return {}
    if state is None and "StV" in trace.units:
        state = "log-theta" if trace.units["StV"] == "s" else "psi"
    if state is None:
        advice = "use state='log-theta' for ageing and slip laws, 'psi' for fast velocity weakening, or 'none'"
        where = f"fault receiver {trace.number}"
        raise InputError(Problem(where, "has a state variable of unknown kind", advice=advice))
    if state == "psi":
        unit = trace.units.get("StV") or "dimensionless"
        return {"psi": (f"state variable psi ({unit})", values)}
    if np.any(values <= 0):
        raise InputError(Problem(f"fault receiver {trace.number}", "has a state <= 0, which has no logarithm"))
    return {"log-theta": ("logarithm to base 10 of the state variable theta (log-seconds)", np.log10(values))}


def write_body_stations(
    folder: str | Path, traces: Sequence[Trace], plane: FaultPlane, header: ScecHeader
) -> list[Path]:
    """Write one file per off-fault receiver; displacement is the integral of velocity.

    Components and names refer to ``plane``, the mean plane of the fault; z points up. Raises InputError for receivers without v1, v2, v3.
    """
    used: set[str] = set()
    paths = []
    for trace in traces:
        missing = [name for name in ("v1", "v2", "v3") if name not in trace.columns]
        if missing:
            raise InputError(Problem(f"receiver {trace.number}", f"lacks {', '.join(missing)}"))
        _placed(trace)
        moving = np.stack([trace.columns[f"v{i}"] for i in (1, 2, 3)], axis=-1)
        columns: Columns = {"t": ("Time (s)", trace.time)}
        directions = {"h": plane.strike, "v": np.array([0.0, 0.0, -1.0]), "n": plane.left}
        words = {"h": "horizontal", "v": "vertical", "n": "normal"}
        signs = {"h": "along strike", "v": "down", "n": "away from the viewer"}
        for letter, direction in directions.items():
            velocity = moving @ direction
            columns[f"{letter}-disp"] = (
                f"{words[letter]} displacement (m), positive {signs[letter]}",
                _integrated(velocity, trace.time),
            )
            columns[f"{letter}-vel"] = (f"{words[letter]} velocity (m/s)", velocity)
        across, along, depth = body_place(plane, trace.location)
        name = _unique(body_station_name(across, along, depth), used)
        location = f"{_km(across)} km off fault, {_km(along)} km along strike, {_km(depth)} km depth"
        paths.append(_write_station(Path(folder) / name, location, columns, header))
    return paths


def body_place(plane: FaultPlane, location: np.ndarray) -> tuple[float, float, float]:
    """Return the distance [m] across the fault (far side positive), along strike, and the depth of a location (3,)."""
    return float(plane.off_trace(location)), float(plane.along_strike(location)), -float(location[2])


def _integrated(values: np.ndarray, time: np.ndarray) -> np.ndarray:
    return np.concatenate([[0.0], np.cumsum(0.5 * (values[1:] + values[:-1]) * np.diff(time))])


def _unique(name: str, used: set[str]) -> str:
    """Return a unique station name; names are rounded to 100 m, so a repeated one gets a number."""
    found, number = name, 1
    while found in used:
        number += 1
        found = f"{name}-{number}"
    used.add(found)
    return found


def _write_station(path: Path, location: str, columns: Columns, header: ScecHeader) -> Path:
    time = columns["t"][1]
    step = float(np.median(np.diff(time))) if len(time) > 1 else 0.0
    with atomic_text(path) as file:
        file.writelines(header.lines())
        file.write(f"# time_step={step:.6g}\n# num_time_steps={len(time)}\n# location= {location}\n")
        for number, (text, _) in enumerate(columns.values(), start=1):
            file.write(f"# Column #{number} = {text}\n")
        file.write("#\n# The line below lists the names of the data fields:\n" + " ".join(columns) + "\n#\n")
        table = np.column_stack([values for _, values in columns.values()])
        np.savetxt(file, table, fmt="%20.10E" + " %17.9E" * (table.shape[1] - 1))
    return path


def write_contour(
    path: str | Path, points: np.ndarray, rupture_time: np.ndarray, plane: FaultPlane, header: ScecHeader
) -> Path:
    """Write the contour file: rows of distance along strike [m], down dip [m] and rupture time [s] of points (n, 3).

    ``rupture_time`` (n,) is NaN where the fault never ruptured, written as 1.0E+09.
    """
    path = Path(path)
    time = np.where(np.isfinite(rupture_time), rupture_time, NEVER)
    with atomic_text(path) as file:
        file.writelines(header.lines())
        file.write("# Column #1 = horizontal coordinate, distance along strike (m)\n")
        file.write("# Column #2 = vertical coordinate, distance down-dip (m)\n")
        file.write("# Column #3 = rupture time (s), slip rate first above 0.001 m/s; 1.0E+09 where never\n")
        file.write("#\n# The line below lists the names of the data fields:\nj k t\n#\n")
        rows = np.column_stack([plane.along_strike(points), plane.down_dip(points), time])
        np.savetxt(file, rows, fmt="%15.7E")
    return path


def read_table(path: str | Path) -> dict[str, np.ndarray]:
    """Return the columns of a station or contour file by name, or raise InputError if names or rows are missing."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from error
    rows = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    if len(rows) < 2:
        raise InputError(Problem(str(path), "has no line of column names or no rows"))
    try:
        table = np.array([[float(word) for word in row] for row in rows[1:]])
        return {name: table[:, i] for i, name in enumerate(rows[0])}
    except (ValueError, IndexError) as error:
        raise InputError(Problem(str(path), f"is not a table of numbers: {error}")) from error


FAULT_FILES = ("fault", "rupture")
"""Kinds of files that describe the fault: snapshots, and maps of the finished rupture."""

NAMES = ("fault", *("branch" + (str(i) if i > 1 else "") for i in range(1, 100)))
"""Prefixes of station names on the largest fault and on the others."""

_THRESHOLD = 1e-3  # [m/s], of the rupture time


@dataclass(frozen=True)
class _Fault:
    """One fault of a file: its tag, the indices of its triangles, its mean plane and its area [m^2]."""

    tag: int
    cells: np.ndarray
    plane: FaultPlane
    area: float


def _write(conversion: Conversion) -> list[Path]:
    """Write the SCEC files; options ``header`` and ``state`` default to what manifest and receiver files state."""
    results, target, options = conversion.results, conversion.folder, conversion.options
    files = (results.folder / f"{results.prefix}-{kind}.vtkhdf" for kind in FAULT_FILES)
    path = next((file for file in files if file.exists()), None)
    conversion.traces("receiver", "faultreceiver", what="receivers, nor snapshots of a fault,", needed=path is None)
    on, off = (conversion.traces(kind, needed=False) for kind in ("faultreceiver", "receiver"))
    with ExitStack() as stack:
        file = stack.enter_context(VtkHdfReader(path)) if path is not None else None
        faults = _faults(file) if file is not None else []
        header = options.get("header") or _header(results, file)
        paths = []
        if on or off:
            planes = [fault.plane for fault in faults] or [_plane_of_receivers(results, on)]
            for traces, plane, name in zip(_by_fault(on, file, faults), planes, NAMES, strict=False):
                paths += write_fault_stations(target, traces, plane, header, options.get("state"), name)
            paths += write_body_stations(target, off, planes[0], header)
        return paths + (_contours(file, faults, target, header) if file is not None else [])


def _by_fault(on: Sequence[Trace], file: VtkHdfReader | None, faults: Sequence[_Fault]) -> list[list[Trace]]:
    """Group receivers by their nearest fault."""
    if file is None or len(faults) < 2:
        return [list(on)]
    centres = [file.points[file.cells[fault.cells]].mean(axis=1) for fault in faults]
    away = [[float(np.linalg.norm(c - trace.location, axis=1).min()) for c in centres] for trace in on]
    return [
        [trace for trace, far in zip(on, away, strict=True) if far.index(min(far)) == i] for i in range(len(faults))
    ]


def _faults(file: VtkHdfReader) -> list[_Fault]:
    """Return the faults of a snapshot file by tag, the largest first, with the hanging wall on the far side."""
    if not len(file.cells):
        return []
    tags = file.field("fault-tag") if "fault-tag" in file else np.zeros(len(file.cells), dtype=int)
    found = []
    for tag in np.unique(tags):
        chosen = np.flatnonzero(tags == tag)
        corners = file.points[file.cells[chosen]]
        sides = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        plane = orient_hanging_wall_left(fit_plane(file.points, file.cells[chosen]))
        found.append(_Fault(int(tag), chosen, plane, float(np.linalg.norm(sides, axis=1).sum()) / 2))
    return sorted(found, key=lambda fault: -fault.area)


def _plane_of_receivers(results: Results, on: Sequence[Trace]) -> FaultPlane:
    """Return the plane of the fault from the normals of its receivers, or else from their locations.

    Raises InputError if they do not determine a plane.
    """
    places = np.array([trace.location for trace in on if np.isfinite(trace.location).all()]).reshape(-1, 3)
    normals = [trace.vectors["normal"] for trace in on if "normal" in trace.vectors]
    if len(normals) == len(places) > 0:
        return orient_hanging_wall_left(mean_plane(np.array(normals), places))
    plane = plane_through(places) if len(places) else None
    if plane is None:
        what = "neither snapshots nor receivers of the fault define its strike"
        advice = (
            "Add output.rupture or output.fault to the case, or at least two fault receivers that are "
            "not above each other."
        )
        raise InputError(Problem(str(results.folder), what, advice=advice))
    return orient_hanging_wall_left(plane)


def _header(results: Results, file: VtkHdfReader | None) -> ScecHeader:
    path = results.folder / f"{results.prefix}{MANIFEST}"
    manifest: Settings = read_manifest(path) if path.exists() else {}
    case = manifest.get("case", {})
    title = str(case.get("title") or results.prefix)
    named = re.search(r"\bTPV\d+(-\w+)?\b", title)
    order = (case.get("numerics") or {}).get("order")
    size = _element_size(file)
    words = [f"{size:.4g} m on the fault" if size else "", f"order {order}" if order else ""]
    version = str(manifest.get("versions", {}).get("faultwave", ""))
    return ScecHeader(named.group() if named else title, version=version, element_size=", ".join(filter(None, words)))


def _element_size(file: VtkHdfReader | None) -> float:
    """Return the median edge length of the fault's triangles [m], 0 without a file."""
    if file is None or not len(file.cells):
        return 0.0
    corners = file.points[file.cells]
    faces = len(np.unique(file.field("global-id"))) if "global-id" in file else len(file.cells)
    refined = np.sqrt(len(file.cells) / faces)  # number of triangles per mesh face
    return float(refined * np.median(np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)))


def rupture_times(file: VtkHdfReader) -> np.ndarray:
    """Return the rupture times (nc,) [s] of the last fault snapshot or of a map, NaN where the fault never ruptured.

    A time of 0 in the file means 'not yet', but also rupture in the very first step: the peak slip rate, if written, distinguishes the two.
    """
    if "rupture_time" in file:
        return np.asarray(file.field("rupture_time"), dtype=np.float64)
    time = np.asarray(file.field("RT"), dtype=np.float64)
    ruptured = time > 0
    if "PSR" in file:
        ruptured |= file.field("PSR") > _THRESHOLD
    return np.where(ruptured, time, np.nan)


def _contours(file: VtkHdfReader, faults: Sequence[_Fault], target: Path, header: ScecHeader) -> list[Path]:
    """Write one contour file per fault tag."""
    if not ("RT" in file or "rupture_time" in file) or not len(file.times):
        return []
    time, centroids = rupture_times(file), file.points[file.cells].mean(axis=1)
    names = {fault.tag: "cplot" if len(faults) == 1 else f"cplot-{fault.tag}" for fault in faults}
    return [write_contour(target / names[f.tag], centroids[f.cells], time[f.cells], f.plane, header) for f in faults]


SCEC = Converter("scec", _write, ("header", "state"))
