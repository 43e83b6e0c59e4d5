"""Report of a plan: size, cost, resolution and worst cells of a run, for ``faultwave plan``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from faultwave.backends.device import absent
from faultwave.backends.device.backend import SPARE, readable_bytes
from faultwave.backends.device.target import TARGETS, Target
from faultwave.base.processes.host import process_memory_rows
from faultwave.case.settings.model import Case
from faultwave.dg.checks.accuracy import (
    FEW_CROSSINGS,
    IN_METRES,
    SMALL,
    crossings,
    edge_length,
    highest_frequency,
    in_wavelengths,
    resolved_frequency,
    within_region,
)
from faultwave.dg.method.attenuation import attenuates
from faultwave.dg.method.attenuation import report as attenuation_report
from faultwave.dg.method.basis import tet_size
from faultwave.dg.planning.plan import Plan, cfl_number
from faultwave.dg.run_forecast import look, run_time, solver_to_try, whole_memory
from faultwave.dg.solver import Solver
from faultwave.dg.stepping.replays import Replays
from faultwave.domain import tets
from faultwave.engine.forecast import CountingFiles, RunTime
from faultwave.engine.report import Rows, capability_rows, cost_rows, filled, note_rows


def plan_report(plan: Plan, case: Case, measure_seconds: float = 3.0) -> list[tuple[str, Rows]]:
    """Return the sections of the report, with the cost measured for a few seconds.

    Parameters
    ----------
    plan : Plan
        Plan of the run.
    case : Case
        Case as given by the user.
    measure_seconds : float
        Duration of the measurement [s].

    Returns
    -------
    list of (str, Rows)
        Name and rows of each section: size, time stepping, cost, output, resolution, worst cells.
    """
    solver = solver_to_try(plan)
    launches = _launches(solver)
    cost = _cost(plan, solver, run_time(solver, _begin(solver), updates(plan), measure_seconds))
    _look(solver)
    reported = capability_rows(plan, plan.parts)
    return filled(
        ("size", _size(plan, solver, reported.get("size", []))),  # now the process holds as much memory as in a run
        ("attenuation", _attenuation(plan)),
        ("time stepping", _stepping(plan) + launches),
        ("cost", cost),
        ("output", [("folder", str(plan.case.output.folder)), *reported.get("output", [])]),
        ("resolution", _resolution(plan) + reported.get("resolution", [])),
        ("sources", reported.get("sources", [])),
        ("fault", reported.get("fault", [])),
        ("random fields", [*plan.perturbed, *reported.get("random fields", [])]),
        ("worst cells", _worst(plan)),
    )


def _begin(solver: Solver) -> CountingFiles:
    """Prepare the capabilities as a run does before its first step, with a snapshot that is not written, since this takes memory."""
    files = CountingFiles(solver.plan.case.end_time)
    if solver.backend.capabilities.asynchronous:
        return files
    for part in solver.parts.values():
        part.open(files)
    solver.refresh_callbacks()
    solver.finish_reads()
    for part in solver.parts.values():
        part.begin()
    return files


def _look(solver: Solver) -> None:
    """Execute the work between steps that takes memory."""
    if not solver.backend.capabilities.asynchronous:
        solver.finish_reads()
        look(solver)
        solver.energies()


def _attenuation(plan: Plan) -> Rows:
    if not attenuates(plan.law):
        return []
    return attenuation_report(plan.case, plan.material, plan.law.longest_step())


def _launches(solver: Solver) -> Rows:
    """Return the launches of a largest step on a device, recorded as in a run."""
    if not solver.backend.capabilities.graphs or solver.plan.case.numerics.integrator != "ader":
        return []
    replays = Replays(solver.actions, solver.operator, solver.callbacks, has_messages=False)
    replays.most = 1
    replays.advance()
    recorded = next((r for r in replays.made.values() if r is not None), None)
    if recorded is None:
        return [("launches of a largest step", "one by one: the host has a part in it")]
    work = recorded.recording
    return [
        (
            "launches of a largest step",
            f"{work.launches:,} in {work.stages:,} stages, for {recorded.updates:,} updates; replayed as one",
        )
    ]


def _size(plan: Plan, solver: Solver, reported: Sequence[tuple[str, ...]] = ()) -> Rows:
    order, quantities = case_order(plan), len(plan.law.quantities)
    memory = solver.nbytes
    return [
        ("cells", f"{plan.cells:,}"),
        ("order", f"{order} (polynomial degree {order - 1}), {plan.case.numerics.precision} precision"),
        *note_rows(plan),
        ("degrees of freedom", f"{plan.cells * tet_size(order - 1) * quantities:,}"),
        *reported,
        ("memory of the operator", f"{memory / 2**20:,.0f} MiB, {memory / plan.cells / 1024:.1f} KiB a cell"),
        *process_memory_rows(snapshots=not solver.backend.capabilities.asynchronous, most=whole_memory(solver)),
        *[row for part in solver.parts.values() for row in part.report().get("size", ())],
        *_device_memory_rows(solver.backend, memory),
    ]


def _device_memory_rows(backend: Any, memory: int) -> Rows:
    """Return the use of a device's memory; the memory of the host is managed by the system."""
    if backend.device is None:
        return [("graphics processors it would fill", _needed(memory))]
    share = 100 * backend.held / max(1, backend.capacity)
    taken, available = backend.held / 2**30, backend.capacity / 2**30
    return [("memory of the device", f"{taken:,.2f} of {available:,.1f} GiB taken, {share:.0f} %")]


SHARE = 0.95
"""Approximate share of a graphics processor's memory that its driver leaves free."""

SHOWN = ("sm_80", "sm_90", "sm_100", "gfx90a", "gfx942")


def _needed(memory: int) -> str:
    """Return how many of the common graphics processors hold ``memory`` bytes, estimated without any of them."""
    kinds = [(TARGETS[name].device, memory / (SHARE * TARGETS[name].memory)) for name in SHOWN]
    return ", ".join(f"{100 * n:.2g} % of 1 {d}" if n < 1 else f"{math.ceil(n)} {d}" for d, n in kinds)


def absent_device_memory(plan: Plan, target: Target) -> tuple[str, Rows]:
    """Return the section on the memory of a graphics processor that need not be present, counted like the allocations of a run."""
    counting: Any = absent.backend(target, plan.case.numerics.precision)
    Solver(plan, counting)
    available = SHARE * target.memory
    share, most = counting.held / available, (1.0 - SPARE) * available
    fits = (
        f"{100 * share:.2g} %" if counting.held <= most else f"does not fit: {math.ceil(counting.held / most)} of them"
    )
    return f"memory of one {target.device}, {target.name}", [
        (
            "taken",
            f"{readable_bytes(counting.held)} of {readable_bytes(available)} available besides the driver: {fits}",
        ),
        (
            "a cell",
            f"{counting.held / plan.cells / 1024:,.1f} KiB; {int(most / (counting.held / plan.cells)):,} such cells fit",
        ),
        (
            "reserved for results",
            (
                f"{readable_bytes(available - most)}; samples of receivers and surfaces, 16 MiB for each cluster "
                "at most, in addition"
            ),
        ),
    ]


def case_order(plan: Plan) -> int:
    """Return the order of convergence of a plan."""
    return plan.case.numerics.order


def updates(plan: Plan) -> float:
    """Return the element updates until the end time."""
    return float((plan.clustering.histogram * np.ceil(plan.case.end_time / plan.clustering.steps)).sum())


def _stepping(plan: Plan) -> Rows:
    c = plan.clustering
    rows: Rows = [
        ("CFL number", f"{cfl_number(plan.case):g}"),
        ("smallest stable step", f"{plan.step.min():.4g} s"),
        ("wiggle factor", f"{c.wiggle:g}"),
        ("element updates", f"{updates(plan):,.0f}"),
        ("speedup of local over global stepping", f"{c.speedup:.2f}"),
    ]
    work = c.histogram / c.steps
    rows += [
        (f"cluster {i}: step {s:.4g} s", f"{n:,} cells, {100 * w / work.sum():.3g} % of the updates")
        for i, (s, n, w) in enumerate(zip(c.steps, c.histogram, work, strict=True))
    ]
    return rows


def _cost(plan: Plan, solver: Solver, found: RunTime) -> Rows:
    by = f", by {100 * found.share:.2g} % of each cluster" if found.share < 1 else ""
    rupture = ", rupture included" if plan.frictional.any() else ""
    measured = f"{found.rate:,.0f} element updates/s{rupture}{by}"
    return cost_rows(solver.backend.described, measured, found)


def _resolution(plan: Plan) -> Rows:
    order, geo, material = case_order(plan), plan.geometry, plan.material
    edge, moduli = edge_length(geo.volume), plan.law.moduli(material)
    inner = within_region(plan.case, geo.centroids)
    frequency = resolved_frequency(plan.law, material, edge, order)[inner]
    region = "" if inner.all() else " of the region, outside of which elements grow"
    requested = highest_frequency(plan.case, plan.parts)
    rows: Rows = [
        ("waves cross the mesh", _crossings(plan, requested)),
        ("edge length", f"{edge.min():.4g} to {edge.max():.4g} m"),
        (
            f"frequency with 10 points per {'S ' if 'mu' in moduli else ''}wavelength",
            f"{frequency.min():.3g} Hz everywhere, {np.median(frequency):.3g} Hz in half of the cells{region}",
        ),
    ]
    if requested is not None:
        rows.append((f"at {requested:.4g} Hz, the highest requested", _in_wavelengths(plan, requested)))
    return rows


def _crossings(plan: Plan, asked: float | None) -> str:
    """Return how often the fastest wave crosses the mesh, which reveals wrong units if nothing states a frequency."""
    times = crossings(plan)
    text = f"{times:.3g} times until {plan.case.end_time:g} s"
    return f"{text}: {IN_METRES}" if asked is None and times < FEW_CROSSINGS else text


def _in_wavelengths(plan: Plan, frequency: float) -> str:
    """Return the size of the mesh and of its longest edge in wavelengths, with an assessment."""
    across, longest = in_wavelengths(plan, frequency)
    size = np.ptp(plan.mesh.vertices, axis=0).max()
    text = f"the mesh is {size:.4g} m, {across:.3g} wavelengths, its longest edge {longest:.2g} of one"
    if across < SMALL or longest > case_order(plan):
        return f"{text}: {IN_METRES}"
    return f"{text}: too coarse" if longest > case_order(plan) / 4 else text


def _worst(plan: Plan) -> Rows:
    return [
        (f"cell {b.cell}", ", ".join(f"{x:.6g}" for x in b.centroid), f"inradius {b.inradius:.4g} m", b.reason)
        for b in tets.worst_cells(plan.mesh, plan.topology, plan.geometry, 10, plan.step)
    ]
