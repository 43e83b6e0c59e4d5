"""Benchmarks on the engine fd: the same description on a grid, and the difference of its rupture times from tetrahedra.

A grid point takes the parameters at its position and represents its cell. Parameters with sharp edges are therefore averaged over cells.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.types import Record, Settings
from faultwave.output.formats.vtkhdf import VtkHdfReader
from faultwave.output.results import load_results
from faultwave.run import simulate
from faultwave.verify.case import Progress, Row, at_most
from faultwave.verify.scec.benchmark import Benchmark, OnGrid, Resolution, benchmarks, box_of
from faultwave.verify.scec.folder import PREFIX, RESULTS, Cost, begin, end, ended, yaml_text
from faultwave.verify.scec.measure import Measured, Run, Rupture, differences

MARGIN = 8e3
"""Distance from the fault to every absorbing side [m]."""
FINER = 1.5
"""Refinement of the quick dg run that grids are compared with, relative to other quick runs."""
HISTORY = 200
"""Number of times at which slip is compared."""
AGREE, SLIP = (0.05, 0.02), (0.1, 0.05)
"""Limits of the RMS difference from the engine dg, quick and full.

Rupture times are relative to their mean, slip to its own RMS. Either engine is off by a few per cent where the cohesive zone
holds three points (Day et al. 2005).
"""


def check_possible(chosen: list[Benchmark]) -> None:
    """Raise InputError for benchmarks that cannot run on a grid."""
    wrong = [b.name for b in chosen if b.grid is None]
    if wrong:
        known = ", ".join(name for name, b in benchmarks().items() if b.grid is not None)
        what = (
            f"{', '.join(wrong)} cannot run on a grid yet: its fault, rock or parameters have no definition for grids"
        )
        raise InputError(Problem("verify scec --engine fd", what, known))


def resolution_of(benchmark: Benchmark, quick: bool) -> Resolution:
    """Return the resolution of a grid run, with the spacing in place of the element edge."""
    assert benchmark.grid is not None
    of = benchmark.quick if quick else benchmark.full
    spacing = benchmark.grid.spacings[0 if quick else 1]
    end_time = of.end_time if quick else min(of.end_time, benchmark.grid.end_time)
    return Resolution(spacing, 4, end_time, benchmark.grid.precision)


def with_margin(benchmark: Benchmark) -> Benchmark:
    """Return the benchmark with the margin of its grid and without reference deck, whose mesh is too coarse to judge a grid."""
    return replace(benchmark, domain=replace(benchmark.domain, margin=MARGIN), reference="")


def settings(benchmark: Benchmark, resolution: Resolution) -> Settings:
    """Return the grid case as a dictionary."""
    grid, (fault,), h = benchmark.grid, benchmark.faults, resolution.size
    assert grid is not None
    box = box_of(with_margin(benchmark))
    lower, upper = box.lower.copy(), box.upper.copy()
    across = (np.ceil(MARGIN / h) + 0.5) * h  # the plane lies on centres of cells
    lower[1], upper[1] = -across, across
    corners = [fault.point(fault.along[0], fault.down[1]), fault.point(fault.along[1], fault.down[0])]
    points = [[round(float(x), 6) for x in fault.point(s, d)] for s, d in benchmark.stations[fault.name]]
    return {
        "title": f"SCEC {benchmark.name.upper()} on a grid: {benchmark.title}",
        "engine": "fd",
        "end_time": resolution.end_time,
        "grid": {
            "lower": lower.tolist(), "upper": upper.tolist(), "spacing": h,
            "boundaries": {"z+": "free-surface" if benchmark.domain.free_surface else "absorbing"},
            "fault": {"lower": corners[0].round(6).tolist(), "upper": corners[1].round(6).tolist()},
        },
        "material": benchmark.material,
        "fault": {"reference": [0.0, 1.0, 0.0], "reference_method": "direction", **_friction(benchmark, grid, h)},
        "numerics": {"precision": resolution.precision},
        "output": {
            "folder": RESULTS, "prefix": PREFIX, "rupture": {"interval": 0.1}, "fault_receivers": {"points": points},
            "energies": {"interval": 0.1},
        },
    }  # fmt: skip


def _friction(benchmark: Benchmark, grid: OnGrid, spacing: float) -> Record:
    parameters = benchmark.fault_settings["parameters"]
    smooth = {name: text(spacing) for name, text in grid.means.items()}
    expressions = {**parameters.get("expression", {}), **smooth}
    return {**benchmark.fault_settings, "parameters": {**parameters, "expression": expressions}}


def run_at(progress: Progress, benchmark: Benchmark, resolution: Resolution, folder: Path, reuse: bool = False) -> Run:
    """Run a benchmark on a grid, in a folder named after the spacing; a finished run is read if it may be reused."""
    place = folder / f"{resolution.size:.0f}m"
    head = [f"SCEC/USGS benchmark {benchmark.name.upper()} on a grid of {resolution.size:g} m: {benchmark.title}."]
    text = yaml_text(settings(benchmark, resolution), head)
    cost = ended(place, text) if reuse else None
    if cost is None:
        progress(f"{benchmark.name}: a grid of {resolution.size:g} m")
        before = time.process_time()
        sim = simulate(begin(place, text), force=True, output=place / RESULTS)
        sim.run()
        cost = Cost(time.process_time() - before, sim.solver.size)
        end(place, cost)
    return _read_run(benchmark, resolution, place, cost)


def _read_run(benchmark: Benchmark, resolution: Resolution, place: Path, cost: Cost) -> Run:
    results = load_results(place / RESULTS, PREFIX)
    (fault,) = benchmark.faults
    traces = results.traces["faultreceiver"]
    stations = {(fault.name, s, d): traces[i] for i, (s, d) in enumerate(benchmark.stations[fault.name], 1)}
    assert results.energies is not None
    return Run(resolution, read_ruptures(benchmark, place), stations, results.energies, cost)


def read_ruptures(benchmark: Benchmark, place: Path) -> dict[str, Rupture]:
    """Return the final state of the fault from the run in the folder ``place``."""
    (fault,) = benchmark.faults
    with VtkHdfReader(place / RESULTS / f"{PREFIX}-rupture.vtkhdf") as file:
        corners = file.points[file.cells]
        fields = [file.field(name) for name in ("rupture_time", "slip", "peak_slip_rate")]
    edges = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    flat = fault.places(corners.reshape(-1, 3)).reshape(-1, 3, 2)
    return {fault.name: Rupture(fault, flat.mean(1), flat, 0.5 * np.linalg.norm(edges, axis=1), *fields)}


def against_tetrahedra(measured: Measured, other: Run) -> Row:
    """Return the row that compares rupture times on a grid with a run of the engine dg."""
    (name,) = measured.fine.ruptures
    difference, mean = differences(measured.fine.ruptures[name], other.ruptures[name], other.resolution.size)
    label = f"rupture times against engine dg with edges of {other.resolution.size:g} m, RMS over mean"
    return at_most(label, difference / mean, AGREE[0 if measured.quick else 1])


def slip_against_tetrahedra(measured: Measured, other: Run) -> Row:
    """Return the row that compares the slip histories of both engines at the stations."""
    apart, size = 0.0, 0.0
    for place, trace in measured.fine.stations.items():
        times = np.linspace(0.0, measured.fine.resolution.end_time, HISTORY)
        here, there = (np.interp(times, t.time, t.columns["Sls"]) for t in (trace, other.stations[place]))
        apart, size = apart + float(((here - there) ** 2).sum()), size + float((there**2).sum())
    label = f"slip at {len(measured.fine.stations)} stations against engine dg, RMS over RMS"
    value = float(np.sqrt(apart / size)) if size > 0 else float("nan")  # NaN if no station has slipped
    return at_most(label, value, SLIP[0 if measured.quick else 1])


def tetrahedra(benchmark: Benchmark, quick: bool) -> Resolution:
    """Return the resolution of the dg run that a grid is compared with.

    At the usual quick resolution the error of the dg run itself would dominate the difference.
    """
    return replace(benchmark.quick, size=benchmark.quick.size / FINER) if quick else benchmark.full
