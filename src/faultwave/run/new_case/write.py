"""New case for a place: region, model, stations, source or faults, as files in a folder that can be run."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.projection import Projection
from faultwave.case.load import load_case
from faultwave.case.settings.model import Case
from faultwave.domain.build.faults import side_of
from faultwave.domain.build.traces import Trace, check_scale, check_trace, read_traces, trace_warnings
from faultwave.output.atomic import translate_os_errors
from faultwave.run.new_case import text as text
from faultwave.run.new_case.extent import (
    LARGEST,
    depth_below_ground,
    grid_frequency,
    latest_reflections,
    source_duration,
)
from faultwave.run.new_case.options import Mechanism, NewCaseOptions, check, names
from faultwave.run.new_case.text import Rupture

LARGEST_COHESIVE_RATIO = 0.12
"""Largest ratio of the cohesive zone to the shorter side of the fault, so that the nucleation patch fits."""
POINTS = 3.0
"""Number of points in the cohesive zone, with a margin of 1.2."""
PATCH = 1.31 * 1.5
"""Radius of the nucleation patch in cohesive zones: 1.5 critical half lengths (Uenishi & Rice 2003)."""
SAME_SIDE_COSINE = 0.1
"""Smallest cosine between a reference direction and a normal that reliably distinguishes the fault's sides."""
SMALLEST_DEPTH_RATIO = 0.002
"""Smallest ratio of fault depth to trace length; a smaller depth was meant in kilometres."""
STATIONS = 6
"""Number of stations along a side of the region."""


class Made(NamedTuple):
    """Files of a new case, case.yaml first, and warnings for the user."""

    files: list[Path]
    warnings: tuple[Problem, ...]


def new_case(asked: NewCaseOptions, folder: Path, force: bool = False) -> Made:
    """Write a new case.

    Parameters
    ----------
    asked : NewCaseOptions
        Options.
    folder : Path
        Folder of the case.
    force : bool
        If True, an existing folder may be written to.

    Returns
    -------
    Made
        Files and warnings.

    Raises
    ------
    InputError
        For inconsistent options; problems that concern places carry them (``run/sketch.py``).
    """
    check(asked, folder, force)
    lon, lat, size = _place(asked)
    epsg = _utm(lon, lat)
    projection = Projection(epsg, (lon, lat))
    half = 0.5 * size
    asked, said = _with_properties(asked, projection)
    traces = _traces(asked, projection, half)
    longest = max((_length(t.xy) for t in traces), default=0.0)
    rupture = _rupture(asked, traces, projection) if traces else None
    mapped = SimpleNamespace(crs=epsg, origin=(lon, lat), azimuth=0.0)
    needed = 100.0 * np.ceil(depth_below_ground(asked, mapped, half) / 100)
    if asked.depth is not None and asked.depth < needed:
        what = f"{asked.depth:g} m is too little for a grid that bends below this ground"
        raise InputError(Problem("--depth", what, f"{needed:g} m or more"))
    depth = asked.depth or max(0.5 * size, 1.6 * asked.fault_depth if traces else 0.0, _deep(asked, needed))
    source, warned = source_duration(asked, mapped, longest), Problems()
    warned.extend(said)
    end, late = _times(asked, size, source.time, warned)
    lines = _header(asked, lon, lat, epsg)
    lines.append(f"end_time: {text.number(end)} s\n")
    lines.append(
        f"projection: {{ crs: '{epsg}', origin: [{lon:.8g}, {lat:.8g}] }}   # x points east from there, y north, z up\n\n"
    )
    lines += _space(asked, text.Box(half, depth, late, late < end), source.depth, rupture)
    lines.append(_material(asked))
    lines.append("\n" + (text.fault_text(rupture) if rupture else _source(asked, lon, lat)))
    lines.append(_numerics(asked, rupture is not None, size))
    return Made(_write(asked, folder, "".join(lines), half), warned.warnings)


def _with_properties(asked: NewCaseOptions, projection: Projection) -> tuple[NewCaseOptions, list[Problem]]:
    """Return the options with defaults replaced by properties of the traces, and warnings that say so.

    Dip and rake come from the longest trace that has them, the depth from the deepest.
    """
    usual, said = NewCaseOptions(), list[Problem]()
    of_files = {path: read_traces(path, projection) for path in asked.faults}
    traces = [t for found in of_files.values() for t in found]
    for trace in traces:
        said += trace_warnings(trace, "--dip, --rake and --fault-depth win where they are given.", True)
    by_length = sorted(traces, key=lambda t: -_length(t.xy))
    changed: dict[str, float] = {}
    for name, values in (
        ("dip", [t.about.dip for t in by_length]),
        ("rake", [t.about.rake for t in by_length]),
        ("fault_depth", sorted((t.about.bottom for t in traces), key=lambda b: -(b or 0.0))),
    ):
        known = next((value for value in values if value is not None), None)
        if known is not None and getattr(asked, name) == getattr(usual, name):
            changed[name] = known
    own = {
        (path, name)
        for path, found in of_files.items()
        for name, key in (("dip", "dip"), ("fault_depth", "bottom"))
        if name in changed and any(getattr(t.about, key) is not None for t in found)
    }
    return replace(asked, **changed, of_traces=frozenset(own)), said  # type: ignore[arg-type]


def _traces(asked: NewCaseOptions, projection: Projection, half: float) -> list[Trace]:
    """Return every line of the trace files. Raises InputError unless all lie within the region."""
    of_files = [read_traces(path, projection) for path in asked.faults]
    traces = [t for found in of_files for t in found]
    problems = Problems()
    for found in of_files:
        check_scale(found, asked.fault_depth, problems)
    longest = max((_length(t.xy) for t in traces), default=0.0)
    if asked.fault_depth < SMALLEST_DEPTH_RATIO * longest:
        what = f"{asked.fault_depth:g} m is far too little for a trace {longest:.4g} m long"
        problems.error(
            "--fault-depth",
            what,
            f"{SMALLEST_DEPTH_RATIO * longest:.3g} m or more",
            f"Kilometres? Write {asked.fault_depth:g}km.",
        )
    problems.raise_errors()
    for trace in traces:
        check_trace(trace, np.full(2, -half), np.full(2, half), lambda xy: f"x {xy[0]:.6g}, y {xy[1]:.6g} m", problems)
    problems.raise_errors()
    return traces


def _times(asked: NewCaseOptions, size: float, acts: float, warned: Problems) -> tuple[float, float]:
    """Return the end of the run and the time of the first reflections [s], with warnings if they do not fit.

    Parameters
    ----------
    asked : NewCaseOptions
        Options.
    size : float
        Side of the region [m].
    acts : float
        Duration of source or rupture [s].
    warned : Problems
        Collects the warnings.
    """
    usual = float(np.ceil(0.75 * size / text.SLOWEST_S_SPEED + acts))  # time of waves from the middle to the corners
    end = asked.end_time or usual
    if end < acts:
        what = f"{end:g} s is less than the {acts:.3g} s that the {'rupture takes, about' if asked.faults else 'source acts'}"
        advice = f"What comes later is lost. Waves are at the corners of the region by {usual:g} s."
        warned.warn("--until", what, advice=advice)
    late = latest_reflections(end, size) if asked.engine == "dg" else end
    if late < end:
        what = f"waves that sides and bottom reflect may come back after {late:.4g} s, before the end at {end:g} s"
        warned.warn("--until", what, f"up to {late:.4g} s", f"No map is larger than {LARGEST / 1e3:g} km: end earlier.")
    return end, late


def draft_case(asked: NewCaseOptions) -> Case | None:
    """Return the known part of an invalid case for a picture: map, region, traces and relief; None without a place."""
    try:
        lon, lat, size = _place(asked)
    except InputError:
        return None
    relief = {"file": str(asked.topography), "crs": asked.topography_crs}
    region = {
        "lower": [-0.5 * size] * 2, "upper": [0.5 * size] * 2, "depth": asked.depth or 0.5 * size,
        "topography": relief if asked.topography else None,
        "faults": [{"trace": str(path), "depth": asked.fault_depth} for path in asked.faults],
    }  # fmt: skip
    return load_case({
        "title": f"Longitude {lon:.5g}, latitude {lat:.5g}", "end_time": 1.0, "mesh": {"build": region},
        "projection": {"crs": _utm(lon, lat), "origin": [lon, lat]},
        "material": {"constant": {"rho": 2700.0, "vp": 6000.0, "vs": 3464.0}},
    })[0]  # fmt: skip


def _place(asked: NewCaseOptions) -> tuple[float, float, float]:
    """Return longitude and latitude [deg] and the size of the region [m], derived from the traces if not given."""
    lon, lat, size = asked.lon, asked.lat, asked.size
    if lon is None or lat is None:
        degrees = [t.geographic for path in asked.faults for t in _by_degrees(path)]
        if not degrees:
            raise InputError(
                Problem(
                    "--lon, --lat",
                    "are missing: nothing else says where the place is",
                    "--lon DEGREES --lat DEGREES",
                    "A trace in degrees says it, too.",
                )
            )
        points = np.concatenate([d for d in degrees if d is not None])
        middle = 0.5 * (points.min(0) + points.max(0))
        lon, lat = float(middle[0]), float(middle[1])
    if size is None:
        local = Projection(_utm(lon, lat), (lon, lat))
        asked = _with_properties(asked, local)[0]
        lines = [t.xy for path in asked.faults for t in read_traces(path, local)]
        if not lines:
            raise InputError(
                Problem("--size", "is missing: nothing else says how large the region is", "a length, e.g. --size 40km")
            )
        reach = float(np.abs(np.concatenate(lines)).max())
        around = asked.fault_depth * max(1.5, 0.5 + 1 / np.tan(np.radians(asked.dip)))  # a fault of low dip extends far
        size = 5e3 * np.ceil(2 * (reach + around) / 5e3)
    if size > LARGEST:
        advice = "Are coordinates of the traces metres under a header that says km?" if asked.faults else ""
        allowed = f"up to {LARGEST / 1e3:g} km, so that the map's projection serves"
        raise InputError(Problem("--size", f"the region is {size / 1e3:g} km wide", allowed, advice))
    return lon, lat, size


def _by_degrees(path: Path) -> list[Trace]:
    world = Projection("+proj=eqc +units=m")
    found = read_traces(path, world)
    if any(t.geographic is None for t in found):
        what = "is in x and y, which lie around a place that nobody names"
        raise InputError(Problem(str(path), what, advice="Give --lon and --lat."))
    return found


def _utm(lon: float, lat: float) -> str:
    """Return the UTM zone of a place as EPSG code."""
    zone = int(((lon + 180.0) % 360.0) // 6.0) + 1
    return f"EPSG:{32600 + zone if lat >= 0 else 32700 + zone}"


def _rupture(asked: NewCaseOptions, traces: Sequence[Trace], projection: Projection) -> Rupture:
    """Return the parameters of a rupture that nucleates on the fault of the longest trace.

    Cohesive zone, nucleation patch and element size are consistent with the fault and the frequency.
    """
    lengths = [_length(t.xy) for t in traces]
    longest = traces[int(np.argmax(lengths))].xy
    dip = np.radians(asked.dip)
    shorter = min(max(lengths), asked.fault_depth / np.sin(dip))
    of_waves = text.SLOWEST_S_SPEED * asked.order / (10.0 * asked.frequency)
    cohesive = min(LARGEST_COHESIVE_RATIO * shorter, 1.2 * POINTS * of_waves / asked.order)
    right = side_of(traces[int(np.argmax(lengths))], projection)
    down = 0.55 * asked.fault_depth
    middle = _middle(longest) + right * down / np.tan(dip) * (asked.dip < 90)
    size = cohesive * asked.order / (1.2 * POINTS)
    return Rupture(
        cohesive,
        size,
        np.array([*middle, -down]),
        PATCH * cohesive,
        _reference(asked, traces, right, projection),
        asked.rake,
    )


def _reference(asked: NewCaseOptions, traces: Sequence[Trace], right: np.ndarray, projection: Projection) -> np.ndarray:
    """Return a direction (3,) along which the outward normals of all upper fault blocks point.

    ``right`` is the right side of the longest trace.

    Raises
    ------
    InputError
        If there is none and the slip has a component along the dip, whose sense depends on it.
    """
    dip = np.radians(asked.dip)
    outward = np.array([*(-right * np.sin(dip)), -np.cos(dip)])
    normals = np.array([[*(-side_of(t, projection) * np.sin(dip)), -np.cos(dip)] for t in traces])
    against = normals @ outward < SAME_SIDE_COSINE
    if not against.any():
        return outward
    if np.cos(dip) >= SAME_SIDE_COSINE:
        return np.array([0.0, 0.0, -1.0])
    if abs(np.sin(np.radians(asked.rake))) < 1e-9:
        return outward
    problems = Problems()
    for trace in (t for t, other in zip(traces, against, strict=True) if other):
        what = f"dips the other way than the longest trace, so that a rake of {asked.rake:g} degrees has no one sense on both"
        advice = "Reverse the order of its points, or make a case of its own for it."
        problems.error(trace.source, what, "traces drawn in one direction, or dips up to 84 degrees", advice)
    problems.raise_errors()
    return outward


def _length(line: np.ndarray) -> float:
    return float(np.linalg.norm(np.diff(line, axis=0), axis=1).sum())


def _middle(line: np.ndarray) -> np.ndarray:
    """Return the midpoint of a line by arc length."""
    at = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])
    return np.array([np.interp(0.5 * at[-1], at, line[:, k]) for k in range(2)])


def _deep(asked: NewCaseOptions, needed: float) -> float:
    """Return the depth [m] of the region that a source, or a grid with the minimum ``needed`` [m], requires."""
    return max(2.0 * asked.mechanism.depth if asked.mechanism else 0.0, needed)


def _header(asked: NewCaseOptions, lon: float, lat: float, epsg: str) -> list[str]:
    what = "finite source" if asked.source is not None and asked.source_kind == "srf" else "moment tensor"
    if asked.faults:
        what = "rupture of " + ", ".join(p.stem for p in asked.faults)
    title = text.quoted(f"{what[0].upper()}{what[1:]} at {lon:.5g}, {lat:.5g}")
    place = f"longitude {lon:.6g}, latitude {lat:.6g}"
    return [
        f"# Made by `faultwave new` for {place}; everything it needs lies in this folder.\n",
        "#   faultwave check case.yaml     everything that is wrong\n",
        "#   faultwave plan case.yaml      what it costs and resolves\n",
        "#   faultwave run case.yaml       then: faultwave plot results\n",
        f"title: {title}\nengine: {asked.engine}\n",
    ]


def _space(asked: NewCaseOptions, box: text.Box, source_depth: float | None, rupture: Rupture | None) -> list[str]:
    called = names(asked)
    raster = None if asked.topography is None else (called[asked.topography], asked.topography_crs, asked.sea)
    if asked.engine == "fd":
        frequency = grid_frequency(asked.frequency, 2 * box.half, source_depth)
        return [text.grid_text(box, (asked.frequency, frequency), raster)]
    faults = []
    for path in asked.faults:
        own = {name for file, name in asked.of_traces if file == path}
        shape = "" if "dip" in own else f", dip: {asked.dip:g} deg"
        shape += "" if "fault_depth" in own else f", depth: {text.kilometres(asked.fault_depth)}"
        why = "the rest as its properties say" if own else "dips to the right of its trace"
        faults.append(f"      - {{ trace: {text.quoted(called[path])}{shape} }}   # {why}")
    return [text.mesh_text(box, asked.frequency, faults, rupture, raster)]


def _material(asked: NewCaseOptions) -> str:
    found = "\nmaterial:\n  layers: layers.txt              # IASP91; models and expressions say more: docs/guide/materials.md\n"
    if asked.sea:
        found += "  regions: { sea: { rho: 1030 kg/m^3, vp: 1500 m/s, vs: 0 } }\n"
    return found


def _source(asked: NewCaseOptions, lon: float, lat: float) -> str:
    if asked.source is not None:
        file = text.quoted(names(asked)[asked.source])
        return f"sources:\n  - {{ kind: {asked.source_kind}, file: {file} }}\n"
    m = asked.mechanism
    assert m is not None
    values = {
        "strike": f"{m.strike:g} deg",
        "dip": f"{m.dip:g} deg",
        "rake": f"{m.rake:g} deg",
        "magnitude": f"{m.magnitude:g}",
    }
    return text.double_couple_text(values, (lon, lat, -m.depth), text.GAUSSIAN_WIDTH / asked.frequency)


def _numerics(asked: NewCaseOptions, ruptures: bool, size: float) -> str:
    often = max(0.1, round(0.02 * size / text.SLOWEST_S_SPEED, 1))
    lines = ["", "output:", "  folder: results", "  prefix: run"]
    numerics = [f"order: {asked.order}"] if asked.engine == "dg" else []
    if asked.source is not None:  # a file may radiate unresolved frequencies
        numerics.append(f"source_lowpass: {0.6 * asked.frequency:g} Hz")
    if numerics:
        lines = ["", f"numerics: {{ {', '.join(numerics)} }}", *lines]
    lines.append(f"  receivers: {{ file: stations.txt, interval: {text.number(0.05 / asked.frequency)} s }}")
    if ruptures:
        lines += [
            f"  rupture: {{ interval: {text.number(0.05 / asked.frequency)} s }}",
            f"  fault: {{ interval: {often:g} s }}",
        ]
    if asked.engine == "fd":
        lines.append(
            f"  intensity: {{ periods: [{1.05 / asked.frequency:.3g}, {3 / asked.frequency:.3g}] }}   # maps of peak motion"
        )
    else:
        lines.append(f"  surface: {{ interval: {often:g} s }}")
    lines.append(f"  energies: {{ interval: {often:g} s }}")
    return "\n".join(lines) + "\n"


def _write(asked: NewCaseOptions, folder: Path, case: str, half: float) -> list[Path]:
    x = np.linspace(-0.7, 0.7, STATIONS) * half
    rows = [f"{a:10.1f} {b:10.1f} 0 S{i}{j}" for j, b in enumerate(x) for i, a in enumerate(x)]
    top = "the water's surface where there is sea, else the ground" if asked.sea else "the ground"
    stations = f"# x y z [m] and a code; z = 0 is on {top}\n" + "\n".join(rows) + "\n"
    files = {"case.yaml": case, "layers.txt": text.LAYERS, "stations.txt": stations}
    with translate_os_errors(folder), _temporary_sibling(folder) as made:
        for name, content in files.items():
            (made / name).write_text(content, encoding="utf-8")
        for path, name in names(asked).items():
            shutil.copyfile(path, made / name)
        _check_made(made, folder)
        folder.mkdir(parents=True, exist_ok=True)
        written = [*files, *names(asked).values()]
        for name in written:
            (made / name).replace(folder / name)
    return [folder / name for name in written]


@contextmanager
def _temporary_sibling(folder: Path) -> Iterator[Path]:
    """Create a temporary folder next to ``folder`` for files that are not yet checked, removed at the end."""
    parent = folder.absolute().parent
    created = [p for p in (parent, *parent.parents) if not p.exists()]
    parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=parent))
    try:
        yield made
    finally:
        shutil.rmtree(made)
        for one in created:
            with suppress(OSError):  # fails if it contains the case
                one.rmdir()


def _check_made(made: Path, folder: Path) -> None:
    """Raise InputError for problems of the case, with paths in its final folder."""
    problems = load_case(made / "case.yaml")[1]
    errors = [replace(p, where=p.where.replace(str(made), str(folder))) for p in problems.errors]
    if errors:
        raise InputError(errors)


__all__ = ["NewCaseOptions", "Made", "Mechanism", "draft_case", "new_case"]
