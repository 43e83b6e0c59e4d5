"""A run's receivers as SCEC's station files, and rupture times of its fault as contour files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from faultwave.output.converters import Conversion, Converter
from faultwave.output.faultplane import fit_plane
from faultwave.output.folder import MANIFEST
from faultwave.output.formats.scec import (
    ScecHeader,
    State,
    write_body_stations,
    write_contour,
    write_fault_stations,
)
from faultwave.output.formats.vtkhdf import VtkHdfReader
from faultwave.output.manifest import read_manifest
from faultwave.output.trace import Results

_THRESHOLD = 1e-3  # [m/s], of the rupture time


def _write(conversion: Conversion) -> list[Path]:
    """Options ``header`` and ``state``; they follow from the manifest where there is one."""
    results, target, options = conversion.results, conversion.folder, conversion.options
    manifest = _manifest(results)
    header = options.get("header") or _header(results, manifest)
    state = options.get("state") or _state(manifest)
    fault = results.folder / f"{results.prefix}-fault.vtkhdf"
    conversion.traces(
        "receiver", "faultreceiver", what="receivers, nor snapshots of a fault,", needed=not fault.exists()
    )
    on, off = (conversion.traces(kind, needed=False) for kind in ("faultreceiver", "receiver"))
    paths = write_fault_stations(target, on, header, state) + write_body_stations(target, off, header)
    return paths + (_contours(fault, target, header) if fault.exists() else [])


def _manifest(results: Results) -> dict[str, Any]:
    path = results.folder / f"{results.prefix}{MANIFEST}"
    return read_manifest(path) if path.exists() else {}


def _header(results: Results, manifest: dict[str, Any]) -> ScecHeader:
    title = str(manifest.get("case", {}).get("title") or results.prefix)
    return ScecHeader(problem=title, version=str(manifest.get("versions", {}).get("faultwave", "")))


def _state(manifest: dict[str, Any]) -> State | None:
    """What the state variable of the run's friction law is called; None if the manifest does not tell."""
    friction = str((manifest.get("case", {}).get("fault") or {}).get("friction", ""))
    if "ageing" in friction or friction.endswith("-slip"):  # both evolve a state time
        return "log-theta"
    return "none" if "slip-weakening" in friction or "imposed" in friction else None


def rupture_times(file: VtkHdfReader) -> np.ndarray:
    """Rupture time (nc,) [s] at the last snapshot of a fault file; NaN where the fault never ruptured.

    A time of 0 stands for 'not yet' in the file, but also for rupture in the very first step: the peak slip rate, where
    it was written, tells them apart.
    """
    time = np.asarray(file.field("RT"), dtype=np.float64)
    ruptured = time > 0
    if "PSR" in file:
        ruptured |= file.field("PSR") > _THRESHOLD
    return np.where(ruptured, time, np.nan)


def _contours(path: Path, target: Path, header: ScecHeader) -> list[Path]:
    """One contour file a fault; several if faces carry different fault tags."""
    with VtkHdfReader(path) as file:
        if "RT" not in file or not len(file.times):
            return []
        time = rupture_times(file)
        tags = file.field("fault-tag") if "fault-tag" in file else np.zeros(len(time), dtype=int)
        centroids = file.points[file.cells].mean(axis=1)
        paths = []
        for tag in np.unique(tags):
            chosen = tags == tag
            name = "cplot" if chosen.all() else f"cplot-{int(tag)}"
            plane = fit_plane(file.points, file.cells[chosen])
            paths.append(write_contour(target / name, centroids[chosen], time[chosen], plane, header))
    return paths


SCEC = Converter("scec", _write)
