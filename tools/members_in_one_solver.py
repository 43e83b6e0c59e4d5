"""Gain of computing several members of an ensemble in one solver: rate, memory and results for growing numbers of members.

    python tools/members_in_one_solver.py [--backend cpu] [--members 1,4,16] [--size 900] [--order 3]
        [--updates 5e5] [--rounds 10]

The plans of the members of TPV5 are joined to one plan, whose launches cover the cells and fault faces of all members. Solvers of
different numbers of members step alternately. Rates are updates per second of processor time on host backends, so that other programs
hardly matter, and of wall-clock time on devices, which should be idle. All solvers cover the same simulated time, as sliding faces cost
more than locked ones. "Outside of kernels" is the time between queued launches.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import yaml

from faultwave.case.load import example_text, load_case
from faultwave.case.settings.model import Case
from faultwave.dg.capabilities.rupture import Rupture
from faultwave.dg.fault.faces import FaultFaces
from faultwave.dg.planning.plan import Plan, make_plan
from faultwave.dg.solver import Solver


def joined(plans: Sequence[Plan]) -> Plan:
    """Return one plan with the cells of all members, member after member, and with their faults as one.

    The members have equal meshes and time steps. Other capabilities than rupture are left out.
    """
    first, count = plans[0], len(plans)
    cells, vertices, top, geo = first.cells, len(first.mesh.vertices), first.topology, first.geometry

    def every(values: np.ndarray) -> np.ndarray:
        return np.concatenate([values] * count)

    def shifted(numbers: np.ndarray, by: int) -> np.ndarray:
        wide = numbers.astype(np.int64)
        return np.concatenate([np.where(wide >= 0, wide + m * by, wide) for m in range(count)])

    topology = replace(
        top,
        cells=shifted(top.cells, vertices),
        order=every(top.order),
        neighbours=shifted(top.neighbours, cells),
        neighbour_faces=every(top.neighbour_faces),
        kinds=every(top.kinds),
        tags=every(top.tags),
    )
    corners = every(first.mesh.vertices)
    volumes = {name: every(getattr(geo, name)) for name in ("volume", "areas", "inradius")}
    mesh, clustering = first.mesh, first.clustering
    plan = replace(
        first,
        mesh=replace(
            mesh,
            vertices=corners,
            cells=shifted(mesh.cells, vertices),
            groups=every(mesh.groups),
            tags=every(mesh.tags),
        ),
        topology=topology,
        geometry=replace(geo, vertices=corners, cells=topology.cells, **volumes),
        material={name: np.concatenate([p.material[name] for p in plans]) for name in first.material},
        step=every(first.step),
        clustering=replace(
            clustering, cluster=every(clustering.cluster), histogram=count * np.asarray(clustering.histogram)
        ),
        frictional=every(first.frictional),
        walls=every(first.walls),
        parts=(),
    )
    faults = [part for p in plans if isinstance(part := p.part("rupture"), Rupture)]
    return replace(plan, parts=(_joined_faults(faults, plan, cells),)) if faults else plan


def _joined_faults(faults: Sequence[Rupture], plan: Plan, cells: int) -> Rupture:
    """Return the faults of all members as one, in a joined ``plan`` of members with ``cells`` cells each."""
    first, size = faults[0], len(faults[0].faces.area)
    columns = {f.name: np.concatenate([getattr(r.faces, f.name) for r in faults]) for f in fields(FaultFaces)}
    columns["cells"] = np.concatenate([r.faces.cells + m * cells for m, r in enumerate(faults)])
    columns["number"] = np.concatenate([r.faces.number + m * size for m, r in enumerate(faults)])

    def together(name: str) -> dict[str, np.ndarray]:
        return {key: np.concatenate([getattr(r, name)[key] for r in faults]) for key in getattr(first, name)}

    values = together("parameters")
    return replace(
        first,
        faces=FaultFaces(**columns),
        material=together("material"),
        parameters=values,
        state=together("state"),
        stress=np.concatenate([r.stress for r in faults]),
        episodes=tuple(
            replace(e, traction=np.concatenate([r.episodes[i].traction for r in faults]))
            for i, e in enumerate(first.episodes)
        ),
        positions=np.concatenate([r.positions for r in faults]),
        topology=plan.topology,
        geometry=plan.geometry,
        vertices=plan.mesh.vertices,
        uniform=tuple(name for name in first.uniform if len(np.unique(values[name])) == 1),
    )


def results(solver: Solver) -> dict[str, np.ndarray]:
    """Return the state of all cells and the record of all fault faces of a solver."""
    rupture = solver.parts.get("rupture")
    return {"cells": solver.operator.dofs(), **(rupture.fault.record() if rupture is not None else {})}


def equal_results(together: Solver, alone: Sequence[Solver]) -> bool:
    """Return True if each member has the same bits in a joined plan as alone."""
    found = results(together)
    for m, solver in enumerate(alone):
        for name, values in results(solver).items():
            if not np.array_equal(found[name][m * len(values) : (m + 1) * len(values)], values, equal_nan=True):
                return False
    return True


def member(number: int, backend: str, order: int, size: float, far_size: float) -> Case:
    """Return the case of a member: TPV5 with a critical slip of its own."""
    data = yaml.safe_load(example_text("tpv5"))
    data["mesh"]["generate"] |= {"size": size, "far_size": far_size}
    data["fault"]["parameters"]["constant"]["d_c"] = 0.4 + 0.01 * number
    data |= {"numerics": {"order": order, "backend": backend, "threads": 1}, "output": {}}
    case, problems = load_case(data)
    problems.raise_errors()
    assert case is not None
    return case


def advanced(solver: Solver, steps: int) -> tuple[float, float]:
    """Advance by largest steps; return updates per second, and the share of the time outside of kernels (NaN if unknown)."""
    backend = solver.backend
    clock = time.perf_counter if backend.capabilities.asynchronous else time.process_time
    kernels, updates = backend.queue.computed if backend.queue else np.nan, solver.updates
    begun, wall = clock(), time.perf_counter()
    first, longest = solver.time, solver.march.longest
    while (left := steps - round((solver.time - first) / longest)) > 0:
        solver.replays.advance(left)
    solver.operator.q.get(np.arange(1))  # waits for all launches
    spent, wall = clock() - begun, time.perf_counter() - wall
    kernels = backend.queue.computed - kernels if backend.queue else np.nan
    return (solver.updates - updates) / spent, 1.0 - kernels / wall


def main(arguments: Any) -> None:
    """Print whether results agree, and the rate, Python's share and memory for each number of members."""
    counts = [int(n) for n in arguments.members.split(",")]
    cases = [
        member(m, arguments.backend, arguments.order, arguments.size, arguments.far_size) for m in range(max(counts))
    ]
    plans = [make_plan(case) for case in cases]
    solvers = {n: Solver(joined(plans[:n])) for n in counts}
    alone = [Solver(plan) for plan in plans[:2]]
    for solver in [*solvers.values(), *alone]:
        advanced(solver, 2)
    most = solvers[max(counts)]
    same = max(counts) == 1 or equal_results(most, alone)
    print(f"{plans[0].cells:,} cells each, {most.backend.described}; same bits as alone: {same}", flush=True)
    del alone
    measured: dict[int, list[tuple[float, float]]] = {n: [] for n in counts}
    step = float((plans[0].clustering.histogram * plans[0].clustering.steps[-1] / plans[0].clustering.steps).sum())
    for _ in range(arguments.rounds):
        for n, solver in solvers.items():
            measured[n].append(advanced(solver, max(1, round(arguments.updates / step))))
    base = np.array(measured[counts[0]])[:, 0]
    for n in counts:
        rate, outside = np.array(measured[n]).T
        low, middle, high = np.percentile(rate / base, [25, 50, 75])
        print(
            f"members {n}: {np.median(rate):,.0f} updates/s, {middle:.3f} ({low:.3f} to {high:.3f}) of the rate of {counts[0]}, "
            f"{solvers[n].nbytes / n / 1e6:.1f} MB a member"
            + (
                f", {100 * np.median(outside):.1f} % of the time outside of kernels"
                if np.isfinite(outside).all()
                else ""
            ),
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--members", default="1,4,16", help="numbers of members, the first of which is the reference")
    parser.add_argument("--size", type=float, default=900.0, help="edge of elements on the fault [m]")
    parser.add_argument("--far-size", type=float, default=8000.0, help="edge of elements far from the fault [m]")
    parser.add_argument("--order", type=int, default=3)
    parser.add_argument(
        "--updates",
        type=float,
        default=5e5,
        help="element updates of each member in a round",
    )
    parser.add_argument("--rounds", type=int, default=10)
    main(parser.parse_args())
