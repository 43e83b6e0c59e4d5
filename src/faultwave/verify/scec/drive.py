"""Runs of benchmarks: mesh, native case, the run itself at two resolutions, and what it shows."""

from __future__ import annotations

import itertools
import json
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from faultwave.output.atomic import atomic_text
from faultwave.run import simulate
from faultwave.verify.case import Progress, Result, Row
from faultwave.verify.scec import checks, on_grid, pictures
from faultwave.verify.scec.benchmark import Benchmark, Resolution, benchmarks, find
from faultwave.verify.scec.folder import write_case
from faultwave.verify.scec.measure import Measured, Run, read_run
from faultwave.verify.scec.references import against_reference

SUMMARY, PICTURE, ON_GRID = "result.json", "picture.png", "-fd"
"""Files of a benchmark, and what the names of folders of grids end with."""


@dataclass(frozen=True)
class Plan:
    """What to run: benchmarks by name (none: all that the ``engine`` can have), at the quick resolution or the full one, kept in ``folder``
    where one is given."""

    names: tuple[str, ...] = ()
    quick: bool = False
    folder: Path | None = None
    engine: str = "dg"


@dataclass(frozen=True)
class Summary:
    """A benchmark's outcome as it is kept: rows, energies [J], moment [N m] and costs, of the fine and the coarse run where two."""

    name: str
    quick: bool
    sizes: tuple[float, float]
    order: int
    end_time: float
    cells: int
    core_seconds: tuple[float, float]
    moments: tuple[float, float]
    radiated: float
    mean_slip: float
    difference: float
    ruptured: float
    stations: tuple[tuple[str, float, float, float], ...]
    rows: tuple[Row, ...]
    engine: str = "dg"

    @property
    def folder(self) -> str:
        """Its name."""
        return folder_of(self.name, self.engine)

    @property
    def passed(self) -> bool:
        return all(row.ok for row in self.rows)


def folder_of(name: str, engine: str) -> str:
    """Where the results of a benchmark are kept."""
    return name + ON_GRID * (engine == "fd")


def run_all(progress: Progress, plan: Plan) -> Result:
    """Every row of every benchmark asked for; skipped without Gmsh."""
    try:
        import gmsh  # noqa: F401
    except (ImportError, OSError) as error:  # OSError where its shared libraries lack some of theirs
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
            run = run_on_grid if fd else run_one
            summary = run(progress, benchmark, plan.quick, folder / folder_of(benchmark.name, plan.engine))
            rows += [replace(row, quantity=f"{benchmark.name}: {row.quantity}") for row in summary.rows]
            notes.append(f"{benchmark.name}: {_in_words(summary)}")
    return Result(tuple(rows), tuple(notes))


def _in_words(summary: Summary) -> str:
    return (
        f"edges or spacing of {summary.sizes[0]:g} m, order {summary.order}, {summary.end_time:g} s, {summary.cells:,} cells or points, "
        f"{sum(summary.core_seconds):.0f} core seconds with the coarser run; moment {summary.moments[0]:.3g} N m"
    )


def run_one(progress: Progress, benchmark: Benchmark, quick: bool, folder: Path) -> Summary:
    """A benchmark at its resolution and a coarser one, into ``folder``: cases, meshes, results, a picture and the summary."""
    fine = benchmark.quick if quick else benchmark.full
    coarse = replace(fine, size=fine.coarser * fine.size)
    runs = [run_at(progress, benchmark, resolution, folder) for resolution in (coarse, fine)]
    measured = Measured(benchmark, runs[1], runs[0], quick)
    return _kept(measured, summarise(measured), folder)


def _kept(measured: Measured, summary: Summary, folder: Path) -> Summary:
    """With its picture and file in ``folder``."""
    pictures.draw(measured, folder / PICTURE, "a grid" if summary.engine == "fd" else "elements")
    with atomic_text(folder / SUMMARY) as file:
        json.dump(asdict(summary), file, indent=1)
        file.write("\n")
    return summary


def run_on_grid(progress: Progress, benchmark: Benchmark, quick: bool, folder: Path) -> Summary:
    """The same on grids of two spacings, and rupture times against those of the engine dg at its resolution."""
    fine = on_grid.resolution_of(benchmark, quick)
    coarse = replace(fine, size=fine.coarser * fine.size)
    runs = [on_grid.run_at(progress, benchmark, resolution, folder) for resolution in (coarse, fine)]
    other = run_at(progress, benchmark, on_grid.tetrahedra(benchmark, quick), folder / "dg")
    measured = Measured(on_grid.with_margin(benchmark), runs[1], runs[0], quick)
    summary = summarise(measured)
    against = (on_grid.against_tetrahedra(measured, other), on_grid.slip_against_tetrahedra(measured, other))
    return _kept(measured, replace(summary, rows=(*summary.rows, *against), engine="fd"), folder)


def run_at(progress: Progress, benchmark: Benchmark, resolution: Resolution, folder: Path) -> Run:
    """One run, in a folder named after its elements."""
    place = folder / f"{resolution.size:.0f}m"
    progress(f"{benchmark.name}: meshing with edges of {resolution.size:g} m")
    case = write_case(benchmark, resolution, place)
    before = time.process_time()
    sim = simulate(case, force=True, output=place / "results")
    sim.run(_tenths(progress, benchmark.name))
    return read_run(benchmark, resolution, place, time.process_time() - before, sim.solver.size)


def _tenths(progress: Progress, name: str) -> Callable[[Any], None]:
    """A report of every tenth of a run."""
    told = [-1]

    def report(state: Any) -> None:
        if (tenth := int(10 * state.time / state.end_time)) > told[0]:
            told[0] = tenth
            progress(f"{name}: t = {state.time:.3f} s of {state.end_time:g} s")

    return report


def summarise(measured: Measured) -> Summary:
    """Rows and figures of a benchmark."""
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
        fine.resolution.end_time, fine.cells, (fine.core_seconds, coarse.core_seconds),
        (checks.moment(fine), checks.moment(coarse)), work[0] - work[1], slip, difference, ruptured, stations, tuple(rows),
    )  # fmt: skip


def read_summaries(folder: Path) -> list[Summary]:
    """What earlier runs left in ``folder``, in the order of the benchmarks."""
    found = []
    for name, engine in itertools.product(benchmarks(), ("dg", "fd")):
        path = folder / folder_of(name, engine) / SUMMARY
        if path.is_file():
            kept = json.loads(path.read_text(encoding="utf-8"))
            rows = tuple(Row(**row) for row in kept.pop("rows"))
            given: dict[str, Any] = {name: _tuples(value) for name, value in kept.items()}
            found.append(Summary(**{**given, "engine": engine}, rows=rows))
    return found


def _tuples(value: object) -> object:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value
