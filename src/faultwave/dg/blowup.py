"""Diagnosis of unstable runs: the place where numbers ceased to be finite or grew without bound, and likely causes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from faultwave.base.wording import command, option
from faultwave.comm import World
from faultwave.dg.operators.operator import Operator
from faultwave.dg.planning.plan import Plan, cfl_number, largest_cfl
from faultwave.engine.capability import Capability
from faultwave.engine.instability_monitor import explanation
from faultwave.engine.solver import BlowUp, Diagnosis

RINGS = 3  # rings of cells around the first suspect that are shown


class StateMonitor:
    """Check of the wave field for numbers that are not finite.

    Attributes
    ----------
    operator : Operator
        Wave field.
    last_good : (float, ndarray) or None
        Time [s] and means of the last finite state, None if there has been none.
    """

    def __init__(self, operator: Operator):
        self.operator = operator
        self.last_good: tuple[float, np.ndarray] | None = None

    def check(self, world: World, time: float) -> None:
        """Raise BlowUp if numbers are not finite on any process; otherwise store the state of ``time`` for the diagnosis."""
        (bad,) = world.largest([not self.operator.finite()])
        if bad:
            raise BlowUp
        self.store(time)

    def store(self, time: float) -> None:
        """Store the present state as the last good one."""
        self.last_good = None  # frees the old state first: a large mesh has no memory for two
        self.last_good = time, self.operator.raw_means()


@dataclass(frozen=True)
class Suspects:
    """State of an unstable run, from which ``diagnose`` finds the cause.

    Attributes
    ----------
    plan : Plan
        Plan of the run.
    operator : Operator
        Wave field.
    capabilities : mapping of str to Capability
        Attached capabilities.
    last_good : (float, ndarray) or None
        See ``StateMonitor``.
    time : float
        Time reached [s].
    observation : str
        Observation that ended the run; empty if numbers are not finite.
    """

    plan: Plan
    operator: Operator
    capabilities: Mapping[str, Capability]
    last_good: tuple[float, np.ndarray] | None
    time: float
    observation: str


def diagnose(run: Suspects) -> Diagnosis:
    """Diagnose an unstable run on the first process with numbers that are not finite.

    If all numbers are finite, the process with the largest one diagnoses. The call is collective, and all processes return the same text.
    """
    world = run.plan.world
    with np.errstate(invalid="ignore", over="ignore"):
        dofs = run.operator.dofs()
        broken = int((~np.isfinite(dofs)).any((1, 2)).sum())
        size = float(np.abs(dofs).max(initial=0.0))
    broken = int(world.total(np.array([broken]))[0])
    worst = not run.operator.finite() if broken else size == world.largest([size])[0]
    reported = -world.largest([-(world.rank if worst else np.inf)])[0]
    found = _diagnose_here(run, broken) if world.rank == reported else None
    return next(d for d in world.broadcast(world.gather(found)) if d is not None)


def _diagnose_here(run: Suspects, broken: int) -> Diagnosis:
    """Report the worst cell, its quality, material and step, the states of capabilities near it, and likely causes in order."""
    plan = run.plan
    with np.errstate(invalid="ignore", over="ignore"):
        size = np.abs(run.operator.dofs()).max((1, 2))
    bad = np.flatnonzero(~np.isfinite(size))
    cell = int(bad[np.argmin(plan.step[bad])]) if len(bad) else int(np.argmax(size))
    x, step = plan.geometry.centroid(cell), plan.clustering.steps[plan.clustering.cluster[cell]]
    material = ", ".join(f"{k} = {v[cell]:.6g}" for k, v in plan.material.items())
    lines = [
        f"first suspect: cell {plan.numbers[cell]} at ({x[0]:g}, {x[1]:g}, {x[2]:g}), inradius {plan.geometry.inradius[cell]:.4g} m, "
        f"time step {step:.4g} s (stable: {plan.step[cell]:.4g} s), {material}",
    ]
    reported = [part.diagnosis(x, bad) for part in run.capabilities.values()]
    lines += [line for found, _ in reported for line in found]
    causes = _causes(plan, [cause for _, found in reported for cause in found])
    wrong = run.observation or f"{broken} cells contain values that are not finite"
    return _with_neighbourhood(run, explanation(run.time, wrong, lines, causes), cell)


def _causes(plan: Plan, of_parts: list[str]) -> list[str]:
    cfl, order, limit = cfl_number(plan.case), plan.case.numerics.order, largest_cfl(plan.case)
    causes = []
    if cfl > 0.9 * limit:
        causes.append(f"the CFL number {cfl:g} is close to the limit {limit:g} of order {order}: lower numerics.cfl")
    causes += of_parts
    if plan.case.numerics.precision == "single":
        causes.append(f"single precision: try double ({option('precision', 'double')})")
    causes.append(f"a sliver: the worst cells are listed by '{command('plan')}'; remesh there")
    return causes


def _with_neighbourhood(run: Suspects, text: str, cell: int) -> Diagnosis:
    """Add the cell averages of the last good state in ``RINGS`` rings of cells around ``cell`` to the diagnosis."""
    if run.last_good is None:
        return Diagnosis(text)
    plan, (time, raw) = run.plan, run.last_good
    near = np.array([cell])
    for _ in range(RINGS):
        around = plan.topology.neighbours[near]
        near = np.unique(np.concatenate([near, around[around >= 0]]))
    vertices, cells = np.unique(plan.topology.cells[near], return_inverse=True)
    static = {"global-id": plan.numbers[near], "step": plan.step[near], "inradius": plan.geometry.inradius[near]}
    static |= {k: v[near] for k, v in plan.material.items()}
    means = run.operator.restored(raw)
    fields = {name: means[near, i] for i, name in enumerate(plan.law.quantities)}
    return Diagnosis(text, time, plan.mesh.vertices[vertices], cells.reshape(-1, 4), static, fields)
