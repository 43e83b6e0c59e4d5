"""Conversion of a run's receivers to SCEC station files, and of its rupture times to contour files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.types import Settings
from faultwave.output.converters import Conversion, Converter
from faultwave.output.faultplane import FaultPlane, fit_plane, mean_plane, orient_hanging_wall_left, plane_through
from faultwave.output.folder import MANIFEST
from faultwave.output.formats.scec import (
    ScecHeader,
    write_body_stations,
    write_contour,
    write_fault_stations,
)
from faultwave.output.formats.vtkhdf import VtkHdfReader
from faultwave.output.manifest import read_manifest
from faultwave.output.trace import Results, Trace

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
        what = "neither snapshots nor receivers of the fault say how it strikes"
        advice = "Let the run write output.rupture or output.fault, or at least two fault receivers, not one above the other."
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
