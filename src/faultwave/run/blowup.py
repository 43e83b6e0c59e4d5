"""A run whose numbers are no longer finite: say where it began and why that may be."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faultwave.dg.plan import cfl_number, largest_cfl
from faultwave.dg.solver import Engine
from faultwave.output.formats.vtkhdf import VtkHdfWriter

RINGS = 3  # of cells around the first suspect that are written


@dataclass(frozen=True)
class Diagnosis:
    """Text for the user and the cell it suspects first."""

    text: str
    cell: int


def diagnose(engine: Engine, time: float) -> Diagnosis:
    """Name the worst cell, its quality, material and step, the nearest fault state, and likely causes in order."""
    plan = engine.plan
    with np.errstate(invalid="ignore", over="ignore"):
        size = np.abs(engine.operator.dofs()).max((1, 2))
    bad = np.flatnonzero(~np.isfinite(size))
    step = plan.clustering.steps[plan.clustering.cluster]
    cell = int(bad[np.argmin(plan.step[bad])]) if len(bad) else int(np.argmax(size))
    x = plan.geometry.centroids[cell]
    material = ", ".join(f"{k} = {v[cell]:.6g}" for k, v in plan.material.items())
    lines = [
        f"the run blew up before t = {time:g} s: {len(bad)} cells hold no finite numbers",
        f"first suspect: cell {cell} at ({x[0]:g}, {x[1]:g}, {x[2]:g}), inradius {plan.geometry.inradius[cell]:.4g} m, "
        f"time step {step[cell]:.4g} s (stable: {plan.step[cell]:.4g} s), {material}",
    ]
    if engine.fault is not None:
        lines.append(_fault_state(engine, x))
    cfl, order = cfl_number(plan.case), plan.case.numerics.order
    causes = []
    limit = largest_cfl(plan.case)
    if cfl > 0.9 * limit:
        causes.append(f"the CFL number {cfl:g} is close to the limit {limit:g} of order {order}: lower numerics.cfl")
    if engine.fault is not None and bool(plan.frictional[bad].any()):
        causes.append("cells at the fault: look at initial stress and friction parameters there (faultwave check)")
    if plan.case.numerics.precision == "single":
        causes.append("single precision: try --precision double")
    causes.append("a sliver: the worst cells are listed by 'faultwave plan'; remesh there")
    causes.append("sources or initial values far larger than meant: check their units")
    numbered = [f"  {i + 1}. {c}" for i, c in enumerate(causes)]
    return Diagnosis("\n".join([*lines, "likely causes, in order:", *numbered]), cell)


def write_neighbourhood(engine: Engine, cell: int, time: float, means: np.ndarray, path: Path) -> Path:
    """Cell averages (cells, Q) of the last good state at ``time`` in ``RINGS`` rings of cells around ``cell``."""
    neighbours = engine.plan.topology.neighbours
    near = np.array([cell])
    for _ in range(RINGS):
        around = neighbours[near]
        near = np.unique(np.concatenate([near, around[around >= 0]]))
    vertices, cells = np.unique(engine.plan.topology.cells[near], return_inverse=True)
    names = list(engine.plan.law.quantities)
    static = {"global-id": near, "step": engine.plan.step[near], "inradius": engine.plan.geometry.inradius[near]}
    static |= {k: v[near] for k, v in engine.plan.material.items()}
    with VtkHdfWriter(
        path, engine.plan.mesh.vertices[vertices], cells.reshape(-1, 4), static, names, np.float64
    ) as writer:
        writer.append(time, {name: means[near, i] for i, name in enumerate(names)})
    return path


def _fault_state(engine: Engine, x: np.ndarray) -> str:
    fault, plan = engine.fault, engine.plan
    assert fault is not None and plan.fault is not None
    record = fault.record()
    broken = ~np.isfinite(record["slip_rate"]) | ~np.isfinite(record["traction_n"])
    distance = np.linalg.norm(plan.fault.positions - x, axis=2)
    face, point = np.unravel_index(
        np.argmin(np.where(broken, distance, np.inf) if broken.any() else distance), distance.shape
    )
    y = plan.fault.positions[face, point]
    values = ", ".join(
        f"{k} = {record[k][face, point]:.4g}" for k in ("slip_rate", "friction", "strength", "stress_n", "traction_n")
    )
    kind = "first broken" if broken.any() else "nearest"
    return f"{kind} fault point at ({y[0]:g}, {y[1]:g}, {y[2]:g}), {distance[face, point]:.4g} m away: {values}"
