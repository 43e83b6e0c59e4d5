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
from faultwave.run.new_case import event_text
from faultwave.run.new_case import text as text
from faultwave.run.new_case.event_source import FiniteEvent, PointEvent, one_line
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
    """Files of a new case, case.yaml first, and warnings and a summary for the user."""

    files: list[Path]
    warnings: tuple[Problem, ...]
    summary: tuple[str, ...] = ()


def new_case(options: NewCaseOptions, folder: Path, force: bool = False) -> Made:
    """Write a new case.

    Parameters
    ----------
    options : NewCaseOptions
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
    check(options, folder, force)
    lon, lat, size = _place(options)
    crs = _utm(lon, lat) if options.event is None else event_text.transverse_mercator(lon, lat)
    projection = Projection(crs, (lon, lat))
    half = 0.5 * size
    options, said = _with_properties(options, projection)
    traces = _traces(options, projection, half)
    longest = max((_length(t.xy) for t in traces), default=0.0)
    rupture = _rupture(options, traces, projection) if traces else None
    mapped = SimpleNamespace(crs=crs, origin=(lon, lat), azimuth=0.0)
    needed = 100.0 * np.ceil(depth_below_ground(options, mapped, half) / 100)
    if options.depth is not None and options.depth < needed:
        what = f"{options.depth:g} m is too small for a curvilinear grid below this ground"
        raise InputError(Problem("--depth", what, f"{needed:g} m or more"))
    depth = options.depth or max(0.5 * size, 1.6 * options.fault_depth if traces else 0.0, _deep(options, needed))
    source, warned = source_duration(options, mapped, longest), Problems()
    if isinstance(options.event, FiniteEvent):
        source = replace(source, time=source.time + 1.0 / (event_text.LOWPASS * options.frequency))
    warned.extend(said)
    end, late = _times(options, size, source.time, warned)
    lines = _header(options, lon, lat)
    lines.append(f"end_time: {text.number(end)} s\n")
    lines.append(
        f"projection: {{ crs: '{crs}', origin: [{lon:.8g}, {lat:.8g}] }}   # x points east from there, y north, z up\n\n"
    )
    lines += _space(options, text.Box(half, depth, late, late < end), source.depth, rupture)
    lines.append(_material(options))
    lines.append("\n" + (text.fault_text(rupture) if rupture else _source(options, lon, lat, projection)))
    lines.append(_numerics(options, rupture is not None, size))
    return Made(_write(options, folder, "".join(lines), half), warned.warnings)


def _with_properties(options: NewCaseOptions, projection: Projection) -> tuple[NewCaseOptions, list[Problem]]:
    """Return the options with defaults replaced by properties of the traces, and warnings that say so.

    Dip and rake come from the longest trace that has them, the depth from the deepest.
    """
    usual, said = NewCaseOptions(), list[Problem]()
    of_files = {path: read_traces(path, projection) for path in options.faults}
    traces = [t for found in of_files.values() for t in found]
    for trace in traces:
        said += trace_warnings(trace, "--dip, --rake and --fault-depth override them.", True)
    by_length = sorted(traces, key=lambda t: -_length(t.xy))
    changed: dict[str, float] = {}
    for name, values in (
        ("dip", [t.about.dip for t in by_length]),
        ("rake", [t.about.rake for t in by_length]),
        ("fault_depth", sorted((t.about.bottom for t in traces), key=lambda b: -(b or 0.0))),
    ):
        known = next((value for value in values if value is not None), None)
        if known is not None and getattr(options, name) == getattr(usual, name):
            changed[name] = known
    own = {
        (path, name)
        for path, found in of_files.items()
        for name, key in (("dip", "dip"), ("fault_depth", "bottom"))
        if name in changed and any(getattr(t.about, key) is not None for t in found)
    }
    return replace(options, **changed, of_traces=frozenset(own)), said  # type: ignore[arg-type]


def _traces(options: NewCaseOptions, projection: Projection, half: float) -> list[Trace]:
    """Return every line of the trace files. Raises InputError unless all lie within the region."""
    of_files = [read_traces(path, projection) for path in options.faults]
    traces = [t for found in of_files for t in found]
    problems = Problems()
    for found in of_files:
        check_scale(found, options.fault_depth, problems)
    longest = max((_length(t.xy) for t in traces), default=0.0)
    if options.fault_depth < SMALLEST_DEPTH_RATIO * longest:
        what = f"{options.fault_depth:g} m is far too small for a trace {longest:.4g} m long"
        problems.error(
            "--fault-depth",
            what,
            f"{SMALLEST_DEPTH_RATIO * longest:.3g} m or more",
            f"Kilometres? Write {options.fault_depth:g}km.",
        )
    problems.raise_errors()
    for trace in traces:
        check_trace(trace, np.full(2, -half), np.full(2, half), lambda xy: f"x {xy[0]:.6g}, y {xy[1]:.6g} m", problems)
    problems.raise_errors()
    return traces


def _times(options: NewCaseOptions, size: float, acts: float, warned: Problems) -> tuple[float, float]:
    """Return the end of the run and the time of the first reflections [s], with warnings if they do not fit.

    Parameters
    ----------
    options : NewCaseOptions
        Options.
    size : float
        Side of the region [m].
    acts : float
        Duration of source or rupture [s].
    warned : Problems
        Collects the warnings.
    """
    deep = options.event.bottom if options.event else 0.0
    usual = float(
        np.ceil(np.hypot(0.75 * size, deep) / text.SLOWEST_S_SPEED + acts)
    )  # waves from the middle to the corners
    end = options.end_time or usual
    if end < acts:
        what = f"{end:g} s is less than the {acts:.3g} s that the {'rupture takes, about' if options.faults else 'source acts'}"
        advice = f"Later motion is lost. Waves reach the corners of the region by {usual:g} s."
        warned.warn("--until", what, advice=advice)
    late = latest_reflections(end, size) if options.engine == "dg" else end
    if late < end:
        what = f"reflections of sides and bottom may return after {late:.4g} s, before the end at {end:g} s"
        warned.warn("--until", what, f"up to {late:.4g} s", f"No map is larger than {LARGEST / 1e3:g} km: end earlier.")
    return end, late


def draft_case(options: NewCaseOptions) -> Case | None:
    """Return the known part of an invalid case for a picture: map, region, traces and relief; None without a place."""
    try:
        lon, lat, size = _place(options)
    except InputError:
        return None
    relief = {"file": str(options.topography), "crs": options.topography_crs}
    region = {
        "lower": [-0.5 * size] * 2, "upper": [0.5 * size] * 2, "depth": options.depth or 0.5 * size,
        "topography": relief if options.topography else None,
        "faults": [{"trace": str(path), "depth": options.fault_depth} for path in options.faults],
    }  # fmt: skip
    return load_case({
        "title": f"Longitude {lon:.5g}, latitude {lat:.5g}", "end_time": 1.0, "mesh": {"build": region},
        "projection": {"crs": _utm(lon, lat), "origin": [lon, lat]},
        "material": {"constant": {"rho": 2700.0, "vp": 6000.0, "vs": 3464.0}},
    })[0]  # fmt: skip


def _place(options: NewCaseOptions) -> tuple[float, float, float]:
    """Return longitude and latitude [deg] and the size of the region [m], derived from the traces if not given."""
    lon, lat, size = options.lon, options.lat, options.size
    if lon is None or lat is None:
        degrees = [t.geographic for path in options.faults for t in _by_degrees(path)]
        if not degrees:
            raise InputError(
                Problem(
                    "--lon, --lat",
                    "are missing, and no other option defines the location",
                    "--lon DEGREES --lat DEGREES",
                    "Or use a trace in degrees.",
                )
            )
        points = np.concatenate([d for d in degrees if d is not None])
        middle = 0.5 * (points.min(0) + points.max(0))
        lon, lat = float(middle[0]), float(middle[1])
    if size is None:
        local = Projection(_utm(lon, lat), (lon, lat))
        options = _with_properties(options, local)[0]
        lines = [t.xy for path in options.faults for t in read_traces(path, local)]
        if not lines:
            raise InputError(
                Problem(
                    "--size",
                    "is missing, and no other option defines the size of the region",
                    "a length, e.g. --size 40km",
                )
            )
        reach = float(np.abs(np.concatenate(lines)).max())
        around = options.fault_depth * max(
            1.5, 0.5 + 1 / np.tan(np.radians(options.dip))
        )  # a fault of low dip extends far
        size = 5e3 * np.ceil(2 * (reach + around) / 5e3)
    if size > LARGEST:
        advice = "Are coordinates of the traces metres under a header that says km?" if options.faults else ""
        allowed = f"up to {LARGEST / 1e3:g} km, the range of the map projection"
        raise InputError(Problem("--size", f"the region is {size / 1e3:g} km wide", allowed, advice))
    return lon, lat, size


def _by_degrees(path: Path) -> list[Trace]:
    world = Projection("+proj=eqc +units=m")
    found = read_traces(path, world)
    if any(t.geographic is None for t in found):
        what = "is in x and y, whose origin is not defined"
        raise InputError(Problem(str(path), what, advice="Set --lon and --lat."))
    return found


def _utm(lon: float, lat: float) -> str:
    """Return the UTM zone of a place as EPSG code."""
    zone = int(((lon + 180.0) % 360.0) // 6.0) + 1
    return f"EPSG:{32600 + zone if lat >= 0 else 32700 + zone}"


def _rupture(options: NewCaseOptions, traces: Sequence[Trace], projection: Projection) -> Rupture:
    """Return the parameters of a rupture that nucleates on the fault of the longest trace.

    Cohesive zone, nucleation patch and element size are consistent with the fault and the frequency.
    """
    lengths = [_length(t.xy) for t in traces]
    longest = traces[int(np.argmax(lengths))].xy
    dip = np.radians(options.dip)
    shorter = min(max(lengths), options.fault_depth / np.sin(dip))
    of_waves = text.SLOWEST_S_SPEED * options.order / (10.0 * options.frequency)
    cohesive = min(LARGEST_COHESIVE_RATIO * shorter, 1.2 * POINTS * of_waves / options.order)
    right = side_of(traces[int(np.argmax(lengths))], projection)
    down = 0.55 * options.fault_depth
    middle = _middle(longest) + right * down / np.tan(dip) * (options.dip < 90)
    size = cohesive * options.order / (1.2 * POINTS)
    return Rupture(
        cohesive,
        size,
        np.array([*middle, -down]),
        PATCH * cohesive,
        _reference(options, traces, right, projection),
        options.rake,
    )


def _reference(
    options: NewCaseOptions, traces: Sequence[Trace], right: np.ndarray, projection: Projection
) -> np.ndarray:
    """Return a direction (3,) along which the outward normals of all upper fault blocks point.

    ``right`` is the right side of the longest trace.

    Raises
    ------
    InputError
        If there is none and the slip has a component along the dip, whose sense depends on it.
    """
    dip = np.radians(options.dip)
    outward = np.array([*(-right * np.sin(dip)), -np.cos(dip)])
    normals = np.array([[*(-side_of(t, projection) * np.sin(dip)), -np.cos(dip)] for t in traces])
    against = normals @ outward < SAME_SIDE_COSINE
    if not against.any():
        return outward
    if np.cos(dip) >= SAME_SIDE_COSINE:
        return np.array([0.0, 0.0, -1.0])
    if abs(np.sin(np.radians(options.rake))) < 1e-9:
        return outward
    problems = Problems()
    for trace in (t for t, other in zip(traces, against, strict=True) if other):
        what = (
            f"dips in the opposite direction to the longest trace, so that a rake of {options.rake:g} "
            "degrees is ambiguous"
        )
        advice = "Reverse the order of its points, or create a separate case for it."
        problems.error(trace.source, what, "traces drawn in one direction, or dips up to 84 degrees", advice)
    problems.raise_errors()
    return outward


def _length(line: np.ndarray) -> float:
    return float(np.linalg.norm(np.diff(line, axis=0), axis=1).sum())


def _middle(line: np.ndarray) -> np.ndarray:
    """Return the midpoint of a line by arc length."""
    at = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])
    return np.array([np.interp(0.5 * at[-1], at, line[:, k]) for k in range(2)])


def _deep(options: NewCaseOptions, needed: float) -> float:
    """Return the depth [m] of the region that a source, or a grid with the minimum ``needed`` [m], requires."""
    lower = options.mechanism.depth if options.mechanism else options.event.bottom if options.event else 0.0
    return max(2.0 * lower, needed)


def _header(options: NewCaseOptions, lon: float, lat: float) -> list[str]:
    what = "finite source" if options.source is not None and options.source_kind == "srf" else "moment tensor"
    if options.faults:
        what = "rupture of " + ", ".join(p.stem for p in options.faults)
    title = text.quoted(f"{what[0].upper()}{what[1:]} at {lon:.5g}, {lat:.5g}")
    place = f"longitude {lon:.6g}, latitude {lat:.6g}"
    came = list[str]()
    if options.event is not None and options.event_file is not None:
        title, came = (
            text.quoted(event_text.title(options.event)),
            event_text.origins(options.event, one_line(options.event_file.name)),
        )
    return [
        f"# Made by `faultwave new` for {place}; all its files are in this folder.\n",
        "#   faultwave check case.yaml     everything that is wrong\n",
        "#   faultwave plan case.yaml      what it costs and resolves\n",
        "#   faultwave run case.yaml       then: faultwave plot results\n",
        *came,
        f"title: {title}\nengine: {options.engine}\n",
    ]


def _space(options: NewCaseOptions, box: text.Box, source_depth: float | None, rupture: Rupture | None) -> list[str]:
    called = names(options)
    raster = None if options.topography is None else (called[options.topography], options.topography_crs, options.sea)
    if options.engine == "fd":
        frequency = grid_frequency(options.frequency, 2 * box.half, source_depth)
        absorbing = [] if options.event is None else [event_text.absorbing(2 * box.half, options.frequency)]
        return [text.grid_text(box, (options.frequency, frequency), raster), *absorbing]
    faults = []
    for path in options.faults:
        own = {name for file, name in options.of_traces if file == path}
        shape = "" if "dip" in own else f", dip: {options.dip:g} deg"
        shape += "" if "fault_depth" in own else f", depth: {text.kilometres(options.fault_depth)}"
        why = "the rest from its properties" if own else "dips to the right of its trace"
        faults.append(f"      - {{ trace: {text.quoted(called[path])}{shape} }}   # {why}")
    return [text.mesh_text(box, options.frequency, faults, rupture, raster)]


def _material(options: NewCaseOptions) -> str:
    found = "\nmaterial:\n  layers: layers.txt              # IASP91; models and expressions say more: docs/guide/materials.md\n"
    if options.sea:
        found += "  regions: { sea: { rho: 1030 kg/m^3, vp: 1500 m/s, vs: 0 } }\n"
    return found


def _source(options: NewCaseOptions, lon: float, lat: float, projection: Projection) -> str:
    if isinstance(options.event, PointEvent):
        return event_text.point_source(options.event, options.frequency, projection)
    if options.source is not None:
        name = names(options)[options.source]
        if isinstance(options.event, FiniteEvent) and options.event_file is not None:
            return event_text.file_source(options.event, name, one_line(options.event_file.name))
        file = text.quoted(name)
        return f"sources:\n  - {{ kind: {options.source_kind}, file: {file} }}\n"
    m = options.mechanism
    assert m is not None
    values = {
        "strike": f"{m.strike:g} deg",
        "dip": f"{m.dip:g} deg",
        "rake": f"{m.rake:g} deg",
        "magnitude": f"{m.magnitude:g}",
    }
    return text.double_couple_text(values, (lon, lat, -m.depth), text.GAUSSIAN_WIDTH / options.frequency)


def _numerics(options: NewCaseOptions, ruptures: bool, size: float) -> str:
    often = max(0.1, round(0.02 * size / text.SLOWEST_S_SPEED, 1))
    lines = ["", "output:", "  folder: results", "  prefix: run"]
    numerics = [f"order: {options.order}"] if options.engine == "dg" else []
    lowpass = (
        0.6 * options.frequency if options.source is not None else None
    )  # a file may radiate unresolved frequencies
    if options.event is not None:
        lowpass = event_text.lowpass(options.event, options.frequency)
    if lowpass is not None:
        numerics.append(f"source_lowpass: {lowpass:g} Hz")
    if numerics:
        lines = ["", f"numerics: {{ {', '.join(numerics)} }}", *lines]
    if options.event is not None:
        lines += event_text.begin(options.event, options.frequency).splitlines()
    listed = "file: stations.txt"
    if options.stations is not None:
        listed = f"stations: {text.quoted(names(options)[options.stations])}"
    lines.append(f"  receivers: {{ {listed}, interval: {text.number(0.05 / options.frequency)} s }}")
    if ruptures:
        lines += [
            f"  rupture: {{ interval: {text.number(0.05 / options.frequency)} s }}",
            f"  fault: {{ interval: {often:g} s }}",
        ]
    if options.engine == "fd":
        lines.append(
            f"  intensity: {{ periods: [{1.05 / options.frequency:.3g}, {3 / options.frequency:.3g}] }}   # maps of peak motion"
        )
    else:
        lines.append(f"  surface: {{ interval: {often:g} s }}")
    lines.append(f"  energies: {{ interval: {often:g} s }}")
    return "\n".join(lines) + "\n"


def _write(options: NewCaseOptions, folder: Path, case: str, half: float) -> list[Path]:
    x = np.linspace(-0.7, 0.7, STATIONS) * half
    rows = [f"{a:10.1f} {b:10.1f} 0 S{i}{j}" for j, b in enumerate(x) for i, a in enumerate(x)]
    top = "the sea surface above water, otherwise the ground" if options.sea else "the ground"
    stations = f"# x y z [m] and a code; z = 0 is on {top}\n" + "\n".join(rows) + "\n"
    files = {"case.yaml": case, "layers.txt": text.LAYERS}
    if options.stations is None:
        files["stations.txt"] = stations
    with translate_os_errors(folder), _temporary_sibling(folder) as made:
        for name, content in files.items():
            (made / name).write_text(content, encoding="utf-8")
        for path, name in names(options).items():
            shutil.copyfile(path, made / name)
        _check_made(made, folder)
        folder.mkdir(parents=True, exist_ok=True)
        written = [*files, *names(options).values()]
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
