"""Runs of benchmarks: mesh, case file, simulation at two resolutions, and evaluation."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from faultwave.run import simulate
from faultwave.verify.case import Progress, Result, Row
from faultwave.verify.scec import checks, on_grid, pictures
from faultwave.verify.scec.benchmark import Benchmark, Resolution, benchmarks, find
from faultwave.verify.scec.checks import against_reference
from faultwave.verify.scec.folder import RESULTS, Cost, begin, case_text, end, ended, mesh_key, write_mesh
from faultwave.verify.scec.measure import Measured, Run, read_run
from faultwave.verify.scec.summary import PICTURE, Summary, folder_of, keep

if TYPE_CHECKING:
    from faultwave.engine.solver import Progress as RunProgress


@dataclass(frozen=True)
class Plan:
    """Selection of benchmark runs.

    Attributes
    ----------
    names : tuple of str
        Benchmarks; empty for all that the ``engine`` supports.
    quick : bool
        True for the quick resolution, False for the full one.
    folder : Path or None
        Folder in which results are stored.
    engine : str
        'dg' or 'fd'.
    reuse : bool
        True if finished runs of the same cases in ``folder`` are read instead of repeated.
    """

    names: tuple[str, ...] = ()
    quick: bool = False
    folder: Path | None = None
    engine: str = "dg"
    reuse: bool = False


def run_all(progress: Progress, plan: Plan) -> Result:
    """Run the selected benchmarks and return all their rows; skipped without Gmsh."""
    try:
        import gmsh  # noqa: F401
    except (ImportError, OSError) as error:  # OSError if its shared libraries lack dependencies
        return Result((), skipped=f"meshes need Gmsh, which cannot be loaded: {error}")
    fd = plan.engine == "fd"
    chosen = [find(name) for name in plan.names] or [b for b in benchmarks().values() if b.grid is not None or not fd]
    if fd:
        on_grid.check_possible(chosen)
    rows: list[Row] = []
    notes: list[str] = []
    with ExitStack() as stack:
        folder = plan.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="faultwave-scec-")))
        for benchmark in chosen:
            place = folder / folder_of(benchmark.name, plan.engine, plan.quick)
            summary = (run_on_grid if fd else run_one)(progress, benchmark, plan.quick, place, plan.reuse)
            rows += [replace(row, quantity=f"{benchmark.name}: {row.quantity}") for row in summary.rows]
            notes.append(f"{benchmark.name}: {_in_words(summary)}")
    return Result(tuple(rows), tuple(notes))


def _in_words(summary: Summary) -> str:
    return (
        f"edges or spacing of {summary.sizes[0]:g} m, order {summary.order}, {summary.end_time:g} s, {summary.cells:,} cells or points, "
        f"{sum(summary.core_seconds):.0f} core seconds with the coarser run; moment {summary.moments[0]:.3g} N m"
    )


def run_one(progress: Progress, benchmark: Benchmark, quick: bool, folder: Path, reuse: bool = False) -> Summary:
    """Run a benchmark at its resolution and a coarser one; write cases, meshes, results, a picture and the summary to ``folder``."""
    fine = benchmark.quick if quick else benchmark.full
    coarse = replace(fine, size=fine.coarser * fine.size)
    runs = [run_at(progress, benchmark, resolution, folder, reuse) for resolution in (coarse, fine)]
    measured = Measured(benchmark, runs[1], runs[0], quick)
    return _store(measured, summarise(measured), folder)


def _store(measured: Measured, summary: Summary, folder: Path) -> Summary:
    """Write the picture and the summary to ``folder`` and return the summary."""
    pictures.draw(measured, folder / PICTURE, "a grid" if summary.engine == "fd" else "elements")
    keep(summary, folder)
    return summary


def run_on_grid(progress: Progress, benchmark: Benchmark, quick: bool, folder: Path, reuse: bool = False) -> Summary:
    """Run a benchmark on grids of two spacings and compare its rupture times and slip with the engine dg."""
    fine = on_grid.resolution_of(benchmark, quick)
    coarse = replace(fine, size=fine.coarser * fine.size)
    runs = [on_grid.run_at(progress, benchmark, resolution, folder, reuse) for resolution in (coarse, fine)]
    other = _tetrahedra(progress, benchmark, quick, folder, reuse)
    measured = Measured(on_grid.with_margin(benchmark), runs[1], runs[0], quick)
    summary = summarise(measured)
    against = (on_grid.against_tetrahedra(measured, other), on_grid.slip_against_tetrahedra(measured, other))
    return _store(measured, replace(summary, rows=(*summary.rows, *against), engine="fd"), folder)


def _tetrahedra(progress: Progress, benchmark: Benchmark, quick: bool, folder: Path, reuse: bool) -> Run:
    """Return the dg run that a grid is compared with, reusing the benchmark's own run in the neighbouring folder where possible."""
    resolution = on_grid.tetrahedra(benchmark, quick)
    adjacent = folder.parent / folder_of(benchmark.name, "dg", quick)
    found = _ended(benchmark, resolution, adjacent) if reuse else None
    return found or run_at(progress, benchmark, resolution, folder / "dg", reuse)


def run_at(progress: Progress, benchmark: Benchmark, resolution: Resolution, folder: Path, reuse: bool = False) -> Run:
    """Run a benchmark at one resolution, in a folder named after its element size."""
    place, text = folder / f"{resolution.size:.0f}m", case_text(benchmark, resolution)
    if reuse and (found := _ended(benchmark, resolution, folder)):
        return found
    progress(f"{benchmark.name}: meshing with edges of {resolution.size:g} m")
    before = time.process_time()
    case = begin(place, text)
    write_mesh(benchmark, resolution, place)
    meshed = time.process_time()
    sim = simulate(case, force=True, output=place / RESULTS)
    sim.run(_tenths(progress, benchmark.name))
    key = mesh_key(benchmark, resolution)
    cost = Cost(time.process_time() - meshed, sim.solver.size, meshed - before, mesh=key)
    end(place, cost)
    return read_run(benchmark, resolution, place, cost)


def _ended(benchmark: Benchmark, resolution: Resolution, folder: Path) -> Run | None:
    """Return the finished run of the same case and mesh in ``folder``; None if there is none."""
    place = folder / f"{resolution.size:.0f}m"
    cost = ended(place, case_text(benchmark, resolution), mesh_key(benchmark, resolution))
    return None if cost is None else read_run(benchmark, resolution, place, cost)


def _tenths(progress: Progress, name: str) -> Callable[[RunProgress], None]:
    """Return a callback that reports progress at every tenth of a run."""
    reported = [-1]

    def report(state: RunProgress) -> None:
        if (tenth := int(10 * state.time / state.end_time)) > reported[0]:
            reported[0] = tenth
            progress(f"{name}: t = {state.time:.3f} s of {state.end_time:g} s")

    return report


def summarise(measured: Measured) -> Summary:
    """Return the rows and figures of a benchmark as a summary."""
    fine, coarse, benchmark = measured.fine, measured.coarse, measured.benchmark
    rows = [*checks.general(measured), *(check(measured) for check in benchmark.checks), *against_reference(measured)]
    area = sum(float(r.area.sum()) for r in fine.ruptures.values())
    ruptured = sum(r.ruptured * float(r.area.sum()) for r in fine.ruptures.values()) / area
    slip = sum(r.mean_slip * float(r.area.sum()) for r in fine.ruptures.values()) / area
    work = [float(fine.energies[f"{name}_frictional_work"][-1]) for name in ("total", "static")]
    stations = tuple((n, s, d, fine.ruptures[n].at(s, d)) for n, s, d in fine.stations)
    first = next(iter(fine.ruptures))
    difference, _ = checks.differences(fine.ruptures[first], coarse.ruptures[first], coarse.resolution.size)
    return Summary(
        benchmark.name, measured.quick, (fine.resolution.size, coarse.resolution.size), fine.resolution.order,
        fine.resolution.end_time, fine.cost.cells, (fine.cost.core_seconds, coarse.cost.core_seconds),
        (checks.moment(fine), checks.moment(coarse)), work[0] - work[1], slip, difference, ruptured, stations, tuple(rows),
        precision=fine.resolution.precision, mesh_seconds=fine.cost.mesh_seconds + coarse.cost.mesh_seconds,
    )  # fmt: skip
