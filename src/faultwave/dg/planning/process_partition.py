"""Partition of a planned run: cost of cells, the cells of one process, the capabilities there, and the border to other processes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from faultwave.base.errors import FaultwaveError, InputError, Problem
from faultwave.base.spans import phase
from faultwave.case.settings.model import Case
from faultwave.comm import World
from faultwave.dg.checks.memory import check_fits_memory
from faultwave.dg.mesh.distributed_mesh import DistributedMesh, NeedsWholeMesh, stored_in_parts
from faultwave.dg.mesh.placement import Cut, chosen
from faultwave.dg.operators.layout import ProcessInterface
from faultwave.dg.planning.plan import Plan, ProcessPartition, as_text, capability_modules, make_plan
from faultwave.domain import tets
from faultwave.domain.tets.formats.parts import stored_parts, stored_starts
from faultwave.domain.tets.partition import Weights, partition, weights
from faultwave.physics.waves import Law


def weights_of(plan: Plan) -> Weights:
    """Return the weights of a planned run: friction by its law's work; cells at faults, currents and incident waves stay together."""
    clustering, near = plan.clustering, plan.topology.neighbours
    rates = np.cumprod([1, *clustering.ratios[:-1]])
    given = weights(clustering.cluster, rates, near, plan.frictional, plan.case.numerics.order, plan.face_work)
    return replace(given, together=(plan.frictional | plan.driven) & (near >= 0))


@phase("partition")
def cut(plan: Plan, parts: int) -> np.ndarray:
    """Return the process (nc,) of every cell, as the mesh is stored or by the plan's own weights."""
    file = plan.case.mesh.file
    counts = stored_parts(file) if file is not None else ()
    if counts and counts[-1] % parts == 0:
        starts = stored_starts(file, parts)  # type: ignore[arg-type]
        return np.asarray(np.searchsorted(starts, np.arange(plan.cells), side="right") - 1)
    given = weights_of(plan)
    return partition(plan.topology.neighbours, plan.geometry.centroids, given, parts)


def process_plan(case: Case, world: World) -> Plan:
    """Return this process's part of the plan, planned on its part of a partitioned mesh file or cut from the whole plan."""
    if stored_in_parts(case, world) and not _needs_whole_mesh(case):
        return plan_stored_part(case, world)
    if world.size == 1:
        check_fits_memory(case)
    return cut_plan(make_plan(case), world)


def _needs_whole_mesh(case: Case) -> bool:
    """Return True if the case has a feature that needs the whole mesh."""
    requested = [m.needs_whole_mesh(case) for m in capability_modules() if hasattr(m, "needs_whole_mesh")]
    return any(requested) or case.matched_layer is not None


def plan_stored_part(case: Case, world: World) -> Plan:
    """Return the plan of this process's part of a mesh stored in parts, so that no process reads the whole mesh.

    If parts meet along a fault with friction, all processes plan the whole mesh instead. Raises InputError.
    """
    mesh_part = DistributedMesh(world, case)
    try:
        plan = make_plan(case, mesh_part.loaded, mesh_part)
    except NeedsWholeMesh:
        return cut_plan(make_plan(case), world)
    except FaultwaveError as error:
        if not mesh_part.agreed:  # other processes do not know of the error
            world.abort(error)
        raise
    cell, face = mesh_part.border.T
    theirs = mesh_part.neighbours.swap(np.stack([v[cell] for v in plan.material.values()], 1))
    material = dict(zip(plan.material, theirs.T, strict=True))
    beyond = _beyond(plan.law, material, plan.geometry.normals, cell, face)
    cluster = mesh_part.neighbours.swap(plan.clustering.cluster[cell])
    border = ProcessInterface(cell, face, mesh_part.numbers[cell], mesh_part.rank, cluster, *mesh_part.theirs.T)
    at_fault = plan.clustering.cluster[plan.frictional.any(1)]
    fastest = mesh_part.least(float(at_fault.min()) if len(at_fault) else np.inf)
    made = ProcessPartition(
        world, mesh_part.numbers, border, beyond, mesh_part.least(float(plan.step.min())), as_text(mesh_part.fingerprint()),
        int(fastest) if np.isfinite(fastest) else 0,
    )  # fmt: skip
    return replace(plan, partition=made)


def check_processes(plan: Plan, count: int) -> list[Problem]:
    """Return the reasons why ``count`` processes cannot share the mesh of a plan."""
    if count <= plan.cells:
        return []
    what = f"{count} processes for {plan.cells:,} cells"
    return [Problem("ranks", what, f"1 to {plan.cells:,}", "A process needs a few thousand cells.")]


@phase("part of this process")
def cut_plan(plan: Plan, world: World, part: np.ndarray | None = None) -> Plan:
    """Return the plan of this process, which is the whole plan if there is one process.

    Parameters
    ----------
    plan : Plan
        Whole plan.
    world : World
        Processes of the run.
    part : ndarray (nc,), optional
        Process of every cell; computed by default. If it separates the two cells of a fault face, both processes solve
        its friction.

    Raises
    ------
    InputError
        If the partition separates the cells of a face with currents or incident waves.
    """
    if world.size == 1 or plan.partition is not None:
        return plan
    if too_many := check_processes(plan, world.size):
        raise InputError(too_many)
    if part is None:
        part = world.together(lambda: cut(plan, world.size))
    part = world.broadcast(part)
    assert part is not None
    _check_driven(plan, part)
    top, clustering = plan.topology, plan.clustering
    cut_here = Cut.of(world, part)
    cells, here = cut_here.cells, cut_here.here
    border, beyond = _border(plan, part, cells, here)
    at_fault = clustering.cluster[plan.frictional.any(1)]
    fastest = int(at_fault.min()) if len(at_fault) else 0
    mesh, topology = (
        tets.mesh.reorder_cells(plan.mesh, cells),
        chosen(replace(top, neighbours=here[top.neighbours]), cells),
    )
    return replace(
        plan,
        mesh=mesh,
        topology=topology,
        geometry=plan.geometry.of(cells, mesh.vertices, topology.cells),
        material={k: v[cells] for k, v in plan.material.items()},
        step=plan.step[cells],
        clustering=replace(clustering, cluster=clustering.cluster[cells]),
        frictional=plan.frictional[cells],
        walls=plan.walls[cells] if plan.case.impedances else np.broadcast_to(np.nan, (len(cells), 4)),
        penalised=plan.penalised.of(cells) if plan.penalised else None,
        parts=tuple(p.partition(cut_here) for p in plan.parts),
        partition=ProcessPartition(world, cells, border, beyond, float(plan.step.min()), plan.identity, fastest),
    )


def _check_driven(plan: Plan, part: np.ndarray) -> None:
    near = plan.topology.neighbours
    parted = plan.driven & (near >= 0) & (part[near] != part[:, None])
    if parted.any():
        what = f"separates {int(parted.sum()) // 2} faces with currents or incident waves from the cells behind them"
        raise InputError(Problem("partition", what, "both on one process", "Use a mesh that is not stored in parts."))


def _border(plan: Plan, part: np.ndarray, cells: np.ndarray, here: np.ndarray) -> tuple[ProcessInterface, np.ndarray]:
    near, faces = plan.topology.neighbours[cells], plan.topology.neighbour_faces[cells]
    cell, face = np.nonzero((near >= 0) & (here[near] < 0) & ~plan.frictional[cells])
    other = near[cell, face]
    border = ProcessInterface(
        cell, face, cells[cell], part[other], plan.clustering.cluster[other], other, faces[cell, face].astype(np.int64)
    )
    material = {k: v[other] for k, v in plan.material.items()}
    return border, _beyond(plan.law, material, plan.geometry.normals[cells], cell, face)


def _beyond(
    law: Law, material: dict[str, np.ndarray], normals: np.ndarray, cell: np.ndarray, face: np.ndarray
) -> np.ndarray:
    """Return the impedances (nc, 4, k) of the ``material`` across faces of cells with ``normals`` (nc, 4, 3), NaN elsewhere."""
    found = law.impedance_at(material, normals[cell, face])
    beyond = np.full((*normals.shape[:2], found.shape[-1]), np.nan)
    beyond[cell, face] = found
    return beyond
