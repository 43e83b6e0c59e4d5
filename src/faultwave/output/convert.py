"""From a run's folder to the files of other tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from faultwave.base.errors import InputError, Problem, suggest
from faultwave.output.atomic import explaining
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
from faultwave.output.formats.waveforms import write_csv, write_mseed, write_sac
from faultwave.output.manifest import read_manifest
from faultwave.output.results import KINDS, Results, load_results
from faultwave.output.trace import Trace

ConvertKind = Literal["sac", "mseed", "csv", "scec"]
_THRESHOLD = 1e-3  # [m/s], of the rupture time


def convert(
    folder: str | Path,
    kind: ConvertKind | str,
    out: str | Path | None = None,
    *,
    prefix: str | None = None,
    header: ScecHeader | None = None,
    state: State | None = None,
) -> list[Path]:
    """Convert a run's receivers (ours or SeisSol's text files) and return the files written.

    sac, mseed: velocities of the off-fault receivers; csv: everything of all receivers; scec: station files, and the
    contour file if the fault's snapshots are there. out defaults to the run's folder; ``header`` and ``state`` are for
    scec and follow from the manifest where there is one. Raises InputError for an unknown kind, a folder without
    receivers, and what the format cannot hold.
    """
    kinds = get_args(ConvertKind)
    if kind not in kinds:
        raise InputError(Problem("convert", f"'{kind}' is no known format", ", ".join(kinds), suggest(kind, kinds)))
    results = load_results(folder, prefix)
    target = Path(out) if out is not None else results.folder
    off, on = (list(results.traces[k].values()) for k in KINDS)
    if kind == "csv":
        _need(off + on, results, "receivers")
    elif kind != "scec":
        _need(off, results, "off-fault receivers")
    with explaining(target):
        target.mkdir(parents=True, exist_ok=True)
    if kind == "csv":
        return write_csv(target, results.prefix, off + on)
    if kind == "sac":
        return write_sac(target, off)
    if kind == "mseed":
        return [write_mseed(target / f"{results.prefix}-receivers.mseed", off)]
    manifest = _manifest(results)
    return _scec(results, off, on, target, header or _header(results, manifest), state or _state(manifest))


def _need(traces: Sequence[Trace], results: Results, what: str) -> None:
    if not traces:
        raise InputError(Problem(str(results.folder), f"the run '{results.prefix}' has no {what} to convert"))


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


def _scec(
    results: Results, off: list[Trace], on: list[Trace], target: Path, header: ScecHeader, state: State | None
) -> list[Path]:
    fault = results.folder / f"{results.prefix}-fault.vtkhdf"
    if not fault.exists():
        _need(off + on, results, "receivers, nor snapshots of a fault,")
    paths = write_fault_stations(target, on, header, state) + write_body_stations(target, off, header)
    return paths + (_contours(fault, target, header) if fault.exists() else [])


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
