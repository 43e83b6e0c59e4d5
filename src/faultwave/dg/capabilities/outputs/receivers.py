"""Receivers (seismograms) at points of the mesh; what does not depend on the mesh is in ``engine/receivers.py``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from faultwave.base.errors import Problems
from faultwave.case.plausibility import advice_outside
from faultwave.dg.checks.accuracy import edge_length
from faultwave.dg.mesh.boundaries import damped_cells
from faultwave.dg.mesh.location import Points
from faultwave.dg.mesh.placement import Cut, Planning
from faultwave.dg.method.basis import tet_basis_gradient
from faultwave.dg.sampling import Samples, by_cluster, sampling_callback
from faultwave.dg.solver import Solver
from faultwave.domain import tets
from faultwave.engine.capability import Capability, Requirements, RestoredFrom, State
from faultwave.engine.receivers import (
    PendingSample,
    ReceiverCapability,
    ReceiverPlan,
    ReceiverRecorder,
    ReceiverRequest,
    gather_receivers,
)
from faultwave.observe.stations.points import AS_CASE, GROUND, exchange_advice
from faultwave.physics.waves.law import role

AFTER = ("plasticity", "point_sources")
NAMED = 10
"""Number of receivers that a warning names."""


@dataclass(frozen=True)
class Receivers(ReceiverPlan):
    """Plan of receivers: the local ``points`` with their indices ``items`` (n,) among ``listed``, the points of all processes."""

    request: ReceiverRequest
    points: Points
    items: np.ndarray
    listed: Points

    @property
    def located(self) -> np.ndarray:
        return self.listed.located

    @property
    def requirements(self) -> Requirements:
        return Requirements(derivatives=self.points.cells, disk=self.request.disk)

    def partition(self, cut: Cut) -> Receivers:
        items = cut.mine(self.listed.cells)
        return replace(self, points=self.listed.of(items, cut.here), items=items)

    def identity(self) -> Mapping[str, tuple[np.ndarray, np.ndarray]]:
        interval = np.full((len(self.items), 1), self.request.setting.interval)
        more = np.full((len(self.items), 1), float(self.request.gradients))
        return {"places and samples of receivers": (np.hstack([self.points.located, interval, more]), self.items)}

    def attach(self, solver: Solver) -> AttachedReceivers:
        return AttachedReceivers(self, solver)


def plan(planning: Planning) -> Receivers | None:
    """Return the plan of receivers, None if the case has none."""
    request = ReceiverRequest.read(planning.case, planning.law, planning.problems)
    if request is None or not len(request.points):
        return None
    placed = _locate(request, planning)
    _report_damped(planning.material, placed, planning.problems)
    _warn_near_sources(planning, placed)
    items = np.flatnonzero(placed.cells >= 0)
    return Receivers(request, placed.of(items), items, placed)


def _locate(request: ReceiverRequest, planning: Planning) -> Points:
    """Return the cells of the receivers, -2 in pieces of other processes and -1 outside the mesh if the case skips such points.

    Raises
    ------
    InputError
        If points lie outside the mesh and are not skipped, with their distances.
    """
    case, mesh, topology, points = planning.case, planning.mesh, planning.topology, request.points
    built = case.mesh.build
    if built is not None and built.topography is not None:
        points = _on_the_ground(points, request.references, built.topography.receivers, mesh, topology)
    found = planning.whole.locate(points, topology, planning.geometry, mesh)
    problems = Problems()
    out = np.flatnonzero(found.cells == -1)
    if request.setting.outside == "skip" and len(out):
        far = int(out[found.distance[out].argmax()])
        distance = f"by up to {found.distance[far]:.6g} m (receiver {far + 1})"
        what = f"outside the mesh, {distance}; their records are empty: {_numbered(out)}"
        planning.problems.warn("output.receivers", what)
        out = out[:0]
    for i in out:
        x = ", ".join(f"{v:g}" for v in points[i])
        corners = mesh.vertices.min(0), mesh.vertices.max(0)
        exchanged = exchange_advice(case.projection, points[i], float(found.distance[i]), *corners)
        exchanged = exchanged or advice_outside(points[i], *corners)
        problems.error(
            f"receiver {i + 1} at ({x})", f"lies {found.distance[i]:.6g} m outside the mesh", "a point inside",
            exchanged or "On a free surface with topography give a depth below the mesh's own surface.", [points[i]],
        )  # fmt: skip
    problems.raise_errors()
    return Points(points, points, found.cells, found.xi)


def _numbered(items: np.ndarray) -> str:
    """Return the numbers of receivers, counted from 1, of which at most ``NAMED`` are listed."""
    return ", ".join(map(str, (items[:NAMED] + 1).tolist())) + (", ..." if len(items) > NAMED else "")


def _on_the_ground(
    points: np.ndarray, references: np.ndarray, means: str, mesh: tets.Mesh, topology: tets.Topology
) -> np.ndarray:
    """Return points (n, 3) with z as elevation, where ``references`` (n,) or ``means`` measure it from the free surface of the mesh."""
    below = np.where(references == AS_CASE, means == "depth", references == GROUND)
    if not below.any():
        return points
    free = topology.kinds == tets.BoundaryKind.FREE_SURFACE
    corners = mesh.vertices[topology.cells[:, tets.SORTED_FACES][free]]
    found = np.array(points, float)
    found[below, 2] += tets.height_at(points[below, :2], corners)
    return found


def _report_damped(material: dict[str, np.ndarray], points: Points, problems: Problems) -> None:
    """Warn about receivers in the absorbing layer, which are useful only to observe the layer itself."""
    within = damped_cells(material)
    if within is None:
        return
    items = np.flatnonzero((points.cells >= 0) & within[points.cells])
    if len(items):
        problems.warn("output.receivers", f"in the matched layer, where they record damped waves: {_numbered(items)}")


def _warn_near_sources(planning: Planning, placed: Points) -> None:
    """Warn about receivers so near to point sources that they do not record the field of a point."""
    sources: Any = planning.parts.get("point_sources")
    here = np.flatnonzero(placed.cells >= 0)
    if sources is None or not len(sources.cells) or not len(here) or "stress" not in planning.law.roles:
        return
    spread = sources.spread is not None
    reach = sources.spread.radius if spread else edge_length(planning.geometry.volume[sources.cells])
    places = sources.sources.location
    distances, nearest, near = np.zeros(len(here)), np.zeros(len(here), int), np.zeros(len(here), bool)
    for k, place in enumerate(placed.located[here]):
        each = np.linalg.norm(places - place, axis=1)
        nearest[k], near[k] = each.argmin(), (each <= reach).any()
        distances[k] = each[nearest[k]]
    found = np.flatnonzero(near)
    if not len(found):
        return
    distance, source = distances[found], nearest[found]
    first = int(distance.argmin())
    numbers = here[found]
    seen = "the smooth function over which a source is spread" if spread else "the discretisation error of its cell"
    what = (
        f"inside the extent of point sources, where records show {seen}, not the field of a point: "
        f"{_numbered(numbers)}; receiver {numbers[first] + 1} is {distance[first]:.4g} m from "
        f"{sources.sources.names[source[first]]}, whose extent is {reach[source[first]]:.4g} m"
    )
    planning.problems.warn(
        "output.receivers", what, advice="Use smaller cells around the source, or remove these receivers."
    )


@dataclass(frozen=True)
class YieldedSample:
    """Sample whose stress, in ``columns``, is what yielding rock carries; gradients belong to the elastic step."""

    taken: PendingSample
    carried: Callable[[np.ndarray], np.ndarray]
    columns: slice

    @property
    def here(self) -> bool:
        return self.taken.here

    def values(self) -> np.ndarray:
        """Return the values (n, C, Q)."""
        found = np.array(self.taken.values())
        found[:, 0, self.columns] = self.carried(found[:, 0, self.columns])
        return found


class PointSeries(Capability):
    """Samples of the wave field at points in cells of this process.

    Attributes
    ----------
    points : Points
        Points in cells of this process.
    items : ndarray (n,)
        Their indices among the points of all processes.
    recorder : ReceiverRecorder or None
        Samples so far, None if this process has no point.
    """

    def __init__(self, solver: Solver, points: Points, items: np.ndarray, interval: float, gradients: bool = False):
        self.solver, self.points, self.items = solver, points, items
        self.recorder: ReceiverRecorder | None = None
        if not len(items):
            return
        plan, op = solver.plan, solver.operator
        value, slope = tet_basis_gradient(points.local, op.order - 1)
        functionals = [value[:, None]]
        if gradients:
            inverse = plan.geometry.inverse[points.cells]  # (n, 3 xi, 3 x)
            functionals.append(np.einsum("nbd,ndx->nxb", slope, inverse))
        members = by_cluster(plan.clustering.cluster[points.cells], solver.layout.clusters)
        functional = np.concatenate(functionals, 1)
        samples = Samples(op, points.cells, members, functional)
        take = self._yielding(samples, members) or samples.take
        self.recorder = ReceiverRecorder(interval, members, functional, take)
        self.callbacks = (sampling_callback(self.recorder, samples),)

    def _yielding(self, taken: Samples, members: Sequence[np.ndarray]) -> Callable[[int, float], PendingSample] | None:
        """Return a sampler whose stress has yielded at the time of the sample; cells yield only at the end of a step.

        Decks reproduce SeisSol's samples instead.
        """
        plasticity, points = self.solver.parts.get("plasticity"), self.points
        if plasticity is None or self.solver.plan.case.output.seissol_layout:
            return None
        columns = role(self.solver.plan.law, "stress")
        maps = [plasticity.returning(points.local[m], points.cells[m]) for m in members]
        if any(carried is None for carried in maps):
            return None

        def take(cluster: int, tau: float) -> PendingSample:
            return YieldedSample(taken.take(cluster, tau), partial(maps[cluster], step=tau), columns)

        return take

    @property
    def samples_complete(self) -> bool:
        return self.recorder is None or self.recorder.samples_complete

    def finish(self, time: float) -> None:
        if self.recorder is not None:
            self.recorder.finish(time, self.solver.dofs_of(self.recorder, self.points.cells))

    def state(self) -> Mapping[str, State]:
        recorder = self.recorder
        if recorder is None:
            return {}

        def write(values: np.ndarray, origin: RestoredFrom) -> None:
            recorder.restore(values.swapaxes(0, 1))

        return {"samples": State(self.items, lambda: recorder.arrays()[1].swapaxes(0, 1), write)}

    def gathered(self, count: int) -> np.ndarray | None:
        """Return the samples (nt, count, C, Q) of all processes on the first, None elsewhere (collective)."""
        none = np.zeros((0, 0, 1, len(self.solver.plan.law.quantities)))
        values = none if self.recorder is None else self.recorder.arrays()[1]
        return gather_receivers(values, self.items, count, self.solver.plan.world)


class AttachedReceivers(ReceiverCapability, PointSeries):
    """Receivers of a run."""

    def __init__(self, part: Receivers, solver: Solver):
        super().__init__(solver, part.points, part.items, part.request.setting.interval, part.request.gradients)
        self.part: Receivers = part

    def series(self) -> tuple[np.ndarray, np.ndarray] | None:
        cells = self.part.listed.cells
        values = self.gathered(len(cells))
        if values is None:
            return None
        values[:, cells == -1] = np.nan  # outside of the mesh
        return np.arange(len(values)) * self.part.request.setting.interval, values
