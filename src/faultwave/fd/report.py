"""Report on the cost and the resolution of a planned run on a grid."""

from __future__ import annotations

import time as clock
from pathlib import Path

import numpy as np

from faultwave.base.processes.host import process_memory_rows
from faultwave.case.settings.model import Case
from faultwave.engine.forecast import CountingFiles, RunTime
from faultwave.engine.report import Rows, capability_rows, cost_rows, filled, note_rows
from faultwave.fd.blocks import layout
from faultwave.fd.capability import FdPlan
from faultwave.fd.method.grid import SIDES
from faultwave.fd.operators import topography
from faultwave.fd.operators.time_dispersion import removes
from faultwave.fd.solver import FdSolver
from faultwave.media.perturbed import perturbation_rows

FOR_SURFACE_WAVES = {4: (5, 0.4), 8: (4, 0.1)}
"""Points per S wavelength from which Rayleigh waves are accurate, and their speed error there [%], by order.

The error holds for Vp/Vs of 1.73 and more.
"""


def plan_report(plan: FdPlan, case: Case, measure_seconds: float = 3.0) -> list[tuple[str, Rows]]:
    """Return the sections of the report on a plan, each with its rows.

    Parameters
    ----------
    plan : FdPlan
    case : Case
    measure_seconds : float
        Time [s] for which steps are executed to measure the cost.

    Returns
    -------
    list of (str, Rows)
        Size, time stepping, measured cost, rows of the capabilities and resolution.
    """
    solver = FdSolver(plan)
    cost = _cost(plan, solver, _run_time(plan, solver, measure_seconds))
    reported = capability_rows(plan, plan.parts.values())
    relief = plan.scheme.grid.relief
    return filled(
        ("size", _size(plan, solver)),  # after the solver is built, so that the process has the memory of a run
        ("time stepping", _stepping(plan)),
        ("cost", cost),
        ("topography", topography.report(plan.scheme.grid) if relief is not None else []),
        ("blocks", layout.report_blocks(plan)),
        *((name, rows) for name, rows in reported.items() if name != "random fields"),
        ("random fields", [*perturbation_rows(plan.material), *reported.get("random fields", [])]),
        ("resolution", _resolution(plan)),
    )


def _size(plan: FdPlan, solver: FdSolver) -> Rows:
    memory = solver.operator.nbytes()
    kinds = {**plan.scheme.sides, "z-": plan.blocks[-1].scheme.sides["z-"]}
    sides = ", ".join(f"{s} {kinds[s]}" for s in SIDES)
    corners = ", ".join(f"{a:g} to {b:g}" for a, b in zip(plan.lower, plan.upper, strict=True))
    return [
        ("points", f"{_shapes(plan)} = {plan.points:,}, absorbing layers included"),
        (
            "spacing",
            f"{' and '.join(f'{b.scheme.grid.spacing:g}' for b in plan.blocks)} m, {plan.case.numerics.precision} precision",
        ),
        *note_rows(plan),
        ("box", f"{corners} m"),
        ("sides", sides + f"; {plan.scheme.absorber.kind} of {plan.scheme.absorber.width} points"),
        ("memory of the grid", f"{memory / 2**20:,.0f} MiB, {memory / plan.points:.0f} bytes a point"),
        *process_memory_rows(snapshots=True),
    ]


def _shapes(plan: FdPlan) -> str:
    """Return the numbers of points along x, y and z of each block."""
    return " + ".join(" x ".join(map(str, block.scheme.grid.shape[::-1])) for block in plan.blocks)


def _stepping(plan: FdPlan) -> Rows:
    scheme = plan.scheme
    number = max(scheme.step * block.medium.fastest / block.scheme.grid.spacing for block in plan.blocks)
    return [
        ("step", f"{scheme.step:.4g} s, Courant number {number:.3f} (stable to {scheme.differences.limit:.3f})"),
        ("steps", f"{plan.steps:,}"),
        ("point updates", f"{plan.steps * plan.points:,}"),
    ]


def _run_time(plan: FdPlan, solver: FdSolver, seconds: float) -> RunTime:
    """Measure the run time by executing steps for about ``seconds``, without writing files.

    The first pass is timed separately, because it also touches memory for the first time.
    """
    op, files = solver.operator, CountingFiles(plan.case.end_time)
    for part in solver.parts.values():
        part.open(files)
    for part in solver.parts.values():
        part.begin()
    solver.take(0)
    started = clock.perf_counter()
    op.advance(solver.steps_of_pass)
    first, begun, steps = clock.perf_counter() - started, clock.perf_counter(), op.steps
    while clock.perf_counter() - begun < seconds:
        op.advance(solver.steps_of_pass)
    rate = (op.steps - steps) * plan.points / (clock.perf_counter() - begun)
    op.finite()
    started = clock.perf_counter()
    solver.take(0)  # in addition to the work of the steps
    taken = clock.perf_counter() - started
    stepping = plan.steps * plan.points / rate
    output = files.output_time(taken, stepping, Path(plan.case.output.folder))
    touch = max(0.0, first - steps * plan.points / rate)
    return RunTime(rate, 1.0, plan.seconds + solver.wall["setup"], touch, stepping, output)


def _cost(plan: FdPlan, solver: FdSolver, found: RunTime) -> Rows:
    threads = getattr(solver.operator.runner, "threads", None)  # graphics processors have none
    block, where = solver.steps_of_pass, [plan.case.numerics.backend]
    if threads is not None:
        where.append(f"{threads} thread{'s' if threads > 1 else ''}")
    where.append(f"{block} step{'s' if block > 1 else ''} in one pass")
    return cost_rows(", ".join(where), f"{found.rate / 1e6:,.1f} M point updates/s", found)


def _of_the_step(plan: FdPlan) -> str:
    """Return a sentence on the time dispersion of waves at the resolved frequency."""
    early = (2 * np.pi * plan.frequency * plan.scheme.step) ** 2 / 24
    reported = (
        f"makes all waves {100 * early:.2g} % too fast at {plan.frequency:.4g} Hz, proportional to the square "
        "of the frequency"
    )
    if not removes(plan.case):
        return reported
    # memory variables of attenuation use the grid's frequency in one term (``time_dispersion``)
    left = (
        "" if plan.relaxation is None else f"; left of it with attenuation is {100 * 3 * early / np.pi:.2g} % over Qs"
    )
    return reported + f": removed from seismograms{left}"


def _resolution(plan: FdPlan) -> Rows:
    slow = min(plan.blocks, key=lambda block: block.medium.slowest / block.scheme.grid.spacing)  # resolved worst
    medium, setting, h = slow.medium, plan.case.grid, slow.scheme.grid.spacing
    assert setting is not None
    x, y, z = medium.slow_place
    rows: Rows = [
        ("fastest wave", f"{max(block.medium.fastest for block in plan.blocks):.6g} m/s"),
        (
            "slowest wave",
            f"{'S' if medium.slowest == medium.shear else 'P in a fluid'}, {medium.slowest:.6g} m/s at ({x:g}, {y:g}, {z:g})"
            + (", divided by the stretch of cells" if plan.scheme.grid.relief is not None else ""),
        ),
        (
            "resolved frequency",
            f"{plan.frequency:.4g} Hz with {setting.points_per_wavelength:g} points per shortest wavelength",
        ),
    ]
    if plan.scheme.free_surface and np.isfinite(plan.medium.shear):
        points, error = FOR_SURFACE_WAVES[plan.scheme.order]
        most = plan.medium.shear / (points * plan.scheme.grid.spacing)
        reported = f"within {error:g} % up to {most:.4g} Hz, at {points} points per shortest S wavelength"
        rows += [("surface waves", reported), ("time step", _of_the_step(plan))]
    if setting.frequency is not None:
        points = medium.slowest / (setting.frequency * h)
        rows.append(("points per wavelength", f"{points:.2f} at {setting.frequency:g} Hz where waves are slowest"))
    if plan.relaxation is not None:
        s = plan.relaxation.spectrum
        shape = f"grows as f^{s.exponent:g} above {s.corner:g} Hz" if s.exponent else "constant"
        rows.append(("attenuation", f"Q {shape} from {s.low:.4g} to {s.high:.4g} Hz, speeds of {s.reference:.4g} Hz"))
    return rows
