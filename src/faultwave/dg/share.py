"""One process's share of a planned run: its cells, faces, receivers and sources, and the border to the others."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from faultwave.base.errors import FaultwaveError, InputError, Problem
from faultwave.case.model import Case
from faultwave.comm import World
from faultwave.dg.drives import DrivePlan
from faultwave.dg.fault_plan import FaultPlan
from faultwave.dg.layout import Border
from faultwave.dg.pieces import Parted, Piece, sliced
from faultwave.dg.plan import Plan, make_plan
from faultwave.dg.points import Points
from faultwave.dg.weights import weights_of
from faultwave.domain import tets
from faultwave.domain.tets.mesh import fingerprint
from faultwave.domain.tets.partition import partition
from faultwave.domain.tets.parts import stored_parts, stored_starts


@dataclass(frozen=True)
class Share:
    """Which parts of the whole run are here: numbers of cells, receivers, fault receivers and sources in the whole
    plan, the border, and impedances (nc, 4, k) of neighbours beyond it."""

    world: World
    cells: np.ndarray
    receivers: np.ndarray
    fault_receivers: np.ndarray
    sources: np.ndarray
    border: Border
    beyond: np.ndarray
    smallest_step: float
    mesh_identity: str
    fault_cluster: int  # the fastest of the whole fault
    whole_receivers: Points | None
    whole_fault_receivers: Points | None
    lent_fault_receivers: Points | None  # on faces owned elsewhere whose minus side is here


def cut(plan: Plan, parts: int) -> np.ndarray:
    """The part (nc,) of every cell: as the mesh is stored, or by the plan's own weights."""
    file = plan.case.mesh.file
    counts = stored_parts(file) if file is not None else ()
    if counts and counts[-1] % parts == 0:
        starts = stored_starts(file, parts)  # type: ignore[arg-type]
        return np.asarray(np.searchsorted(starts, np.arange(plan.cells), side="right") - 1)
    given = weights_of(plan)
    return partition(plan.topology.neighbours, plan.geometry.centroids, given, parts)


def plan_for(case: Case, world: World) -> Plan:
    """The plan of this process's part where its mesh is stored so, else of the whole, to be shared out by ``share``."""
    return plan_share(case, world) if sliced(case, world) else make_plan(case)


def plan_share(case: Case, world: World) -> Plan:
    """The plan of this process's part of a mesh stored in parts: nobody sees the whole mesh. Raises InputError.

    Where parts meet along a fault with friction, all processes plan the whole instead.
    """
    piece = Piece(world, case)
    try:
        plan = make_plan(case, piece.loaded, piece)
    except Parted:
        return make_plan(case)
    except FaultwaveError as error:
        if not piece.agreed:  # the others do not know of it
            world.abort(error)
        raise
    cell, face = piece.border.T
    impedance = np.stack(plan.law.impedance({k: v[cell] for k, v in plan.material.items()}), 1)
    beyond = np.full((*plan.topology.neighbours.shape, impedance.shape[1]), np.nan)
    beyond[cell, face] = piece.neighbours.swap(impedance)
    cluster = piece.neighbours.swap(plan.clustering.cluster[cell])
    border = Border(cell, face, piece.numbers[cell], piece.rank, cluster, *piece.theirs.T)
    counts = world.counts(0 if plan.fault is None else len(plan.fault.faces.area))
    fault = plan.fault
    if fault is not None:
        number = fault.faces.number + sum(counts[: world.rank])
        fault = replace(fault, faces=replace(fault.faces, number=number))
    receivers, fault_receivers = (_held(p) for p in (plan.receivers, plan.fault_receivers))
    sources = np.flatnonzero(plan.source_cells >= 0)
    fastest = piece.least(np.inf if fault is None else float(plan.clustering.cluster[fault.faces.cells].min()))
    made = Share(
        world, piece.numbers, receivers, fault_receivers, sources, border, beyond, piece.least(float(plan.step.min())),
        _text(piece.fingerprint()), int(fastest) if np.isfinite(fastest) else 0, plan.receivers, plan.fault_receivers, None,
    )  # fmt: skip
    same = np.arange(plan.cells)
    return replace(
        plan,
        fault=fault,
        receivers=_points(plan.receivers, receivers, same),
        fault_receivers=_points(plan.fault_receivers, fault_receivers, np.arange(counts[world.rank])),
        sources=tuple(plan.sources[i] for i in sources),
        source_cells=plan.source_cells[sources],
        source_points=plan.source_points[sources],
        share=made,
    )


def share(plan: Plan, world: World, part: np.ndarray | None = None) -> Plan:
    """The plan of this process; the whole plan where it is alone. ``part`` (nc,): instead of an own cut.

    Where ``part`` parts the two cells of a fault face, both processes solve its friction. Raises InputError where it parts those of a
    face with currents or incident waves.
    """
    if world.size == 1 or plan.share is not None:
        return plan
    if world.size > plan.cells:
        what = f"{world.size} processes for {plan.cells:,} cells"
        raise InputError(Problem("ranks", what, f"1 to {plan.cells:,}", "A process wants some thousand cells."))
    if part is None:
        part = world.together(lambda: cut(plan, world.size))
    part = world.share(part)
    assert part is not None
    top = plan.topology
    parted = plan.drives.driven & (top.neighbours >= 0) & (part[top.neighbours] != part[:, None])
    if parted.any():
        what = f"parts {int(parted.sum()) // 2} faces with currents or incident waves from the cells behind them"
        raise InputError(Problem("partition", what, "both on one process", "Take a mesh that is not stored in parts."))
    cells = np.flatnonzero(part == world.rank)
    here = np.full(plan.cells + 1, -1)
    here[cells] = np.arange(len(cells))
    border, beyond = _border(plan, part, cells, here)
    receivers = fault_receivers = np.zeros(0, np.int64)
    fault = lent = None
    if plan.fault is not None:
        sides = part[plan.fault.faces.cells]
        fault_faces = np.flatnonzero(sides[:, 0] == world.rank)
        guests = np.flatnonzero((sides[:, 0] != world.rank) & (sides[:, 1] == world.rank))
        chosen = np.concatenate([fault_faces, guests])
        fault = _fault(plan.fault, chosen, here, sides[chosen]) if len(chosen) else None
    if plan.receivers is not None:
        receivers = np.flatnonzero(part[plan.receivers.cells] == world.rank)
    if plan.fault_receivers is not None:
        local = np.full(len(plan.fault.faces.area), -1)  # type: ignore[union-attr]
        local[chosen] = np.arange(len(chosen))
        at = local[plan.fault_receivers.cells]
        fault_receivers, seen = (
            np.flatnonzero((at >= 0) & (at < len(fault_faces))),
            np.flatnonzero(at >= len(fault_faces)),
        )
        lent = _points(plan.fault_receivers, seen, local)
    sources = np.flatnonzero(part[plan.source_cells] == world.rank)
    mesh, clustering = tets.mesh.reorder_cells(plan.mesh, cells), plan.clustering
    return replace(
        plan,
        mesh=mesh,
        topology=_rows(replace(top, neighbours=here[top.neighbours]), cells),
        geometry=_rows(plan.geometry, cells),
        material={k: v[cells] for k, v in plan.material.items()},
        step=plan.step[cells],
        clustering=replace(clustering, cluster=clustering.cluster[cells]),
        frictional=plan.frictional[cells],
        fault=fault,
        receivers=_points(plan.receivers, receivers, here),
        fault_receivers=_points(plan.fault_receivers, fault_receivers, local) if len(fault_receivers) else None,
        sources=tuple(plan.sources[i] for i in sources),
        source_cells=here[plan.source_cells[sources]],
        source_points=plan.source_points[sources],
        keep=plan.keep[cells],
        watched=plan.watched[cells],
        walls=plan.walls[cells],
        drives=_drives(plan.drives, cells, here),
        flux=tuple(_surface(s, here) for s in plan.flux),
        around=_surface(plan.around, here) if plan.around is not None else None,
        share=Share(
            world,
            cells,
            receivers,
            fault_receivers,
            sources,
            border,
            beyond,
            float(plan.step.min()),
            identity(plan.mesh),
            int(clustering.cluster[plan.fault.faces.cells].min()) if plan.fault is not None else 0,
            plan.receivers,
            plan.fault_receivers,
            lent,
        ),  # fmt: skip
    )


def _drives(whole: DrivePlan, cells: np.ndarray, here: np.ndarray) -> DrivePlan:
    """What drives the listed cells; ``here``: their numbers by those of the whole, -1 elsewhere."""
    bodies = [(b, here[b.cells] >= 0) for b in whole.bodies]
    return replace(
        whole,
        driven=whole.driven[cells],
        sheets=tuple(replace(s, faces=s.faces[cells]) for s in whole.sheets),
        waves=tuple(replace(w, signs=w.signs[cells]) for w in whole.waves),
        bodies=tuple(replace(b, cells=here[b.cells[mine]], rate=b.rate[mine]) for b, mine in bodies),
        ports=tuple(replace(p, surface=_surface(p.surface, here)) for p in whole.ports),
    )


def _surface(whole: Any, here: np.ndarray) -> Any:
    """A surface or what is around volumes, ``cells`` and ``faces``, with the faces of cells that are here."""
    mine = here[whole.cells] >= 0
    return replace(whole, cells=here[whole.cells[mine]], faces=whole.faces[mine])


def identity(mesh: tets.Mesh) -> str:
    """By what a checkpoint knows a mesh."""
    return _text(fingerprint(mesh, np.arange(len(mesh.cells))))


def _text(found: np.ndarray) -> str:
    return "-".join(f"{int(x):016x}" for x in found)


def _rows(record: Any, chosen: np.ndarray) -> Any:
    """A record of arrays with only the rows ``chosen``."""
    return replace(record, **{f.name: getattr(record, f.name)[chosen] for f in fields(record)})


def _border(plan: Plan, part: np.ndarray, cells: np.ndarray, here: np.ndarray) -> tuple[Border, np.ndarray]:
    near, faces = plan.topology.neighbours[cells], plan.topology.neighbour_faces[cells]
    cell, face = np.nonzero((near >= 0) & (here[near] < 0) & ~plan.frictional[cells])
    other = near[cell, face]
    border = Border(
        cell, face, cells[cell], part[other], plan.clustering.cluster[other], other, faces[cell, face].astype(np.int64)
    )
    impedance = np.stack(plan.law.impedance({k: v[other] for k, v in plan.material.items()}), 1)
    beyond = np.full((*near.shape, impedance.shape[1]), np.nan)
    beyond[cell, face] = impedance
    return border, beyond


def _fault(whole: FaultPlan, chosen: np.ndarray, here: np.ndarray, sides: np.ndarray) -> FaultPlan:
    """The faces ``chosen`` (n,); ``sides`` (n, 2): the processes of their cells."""
    f = _rows(whole.faces, chosen)
    far = np.where(sides[:, 0] == sides[:, 1], -1, np.where(here[f.cells[:, 0]] >= 0, sides[:, 1], sides[:, 0]))
    faces = replace(f, cells=here[f.cells], far=far)
    return replace(
        whole,
        faces=faces,
        material={k: v[chosen] for k, v in whole.material.items()},
        parameters={k: v[chosen] for k, v in whole.parameters.items()},
        state={k: v[chosen] for k, v in whole.state.items()},
        stress=whole.stress[chosen],
        episodes=tuple(replace(e, traction=e.traction[chosen]) for e in whole.episodes),
        positions=whole.positions[chosen],
    )


def _points(whole: Points | None, chosen: np.ndarray, here: np.ndarray) -> Points | None:
    if whole is None or not len(chosen):
        return None
    return Points(whole.requested[chosen], whole.located[chosen], here[whole.cells[chosen]], whole.local[chosen])


def _held(points: Points | None) -> np.ndarray:
    return np.zeros(0, np.int64) if points is None else np.flatnonzero(points.cells >= 0)
