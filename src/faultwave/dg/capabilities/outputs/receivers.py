"""Receivers (seismograms) at points of the mesh."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from faultwave.base.errors import Problems
from faultwave.comm.messages import gather_rows
from faultwave.dg.checks.accuracy import edge_length
from faultwave.dg.mesh.boundaries import damped_cells
from faultwave.dg.mesh.location import Points, place_receivers
from faultwave.dg.mesh.placement import Cut, Planning
from faultwave.dg.method.basis import tet_basis_gradient
from faultwave.dg.sampling import Samples, by_cluster, sampling_callback
from faultwave.dg.solver import Solver
from faultwave.engine.capability import Capability, CapabilityPlan, Requirements, RestoredFrom, State
from faultwave.observe import receivers as seismograms
from faultwave.observe.dataset import Result
from faultwave.observe.model import Marks
from faultwave.observe.receivers import PendingSample
from faultwave.observe.stations.codes import Station, with_stations
from faultwave.observe.stations.points import read_stations, with_degrees
from faultwave.physics.waves.law import role

name = "receivers"
AFTER = ("plasticity", "point_sources")
NAMED = 10
"""Number of receivers that a warning names."""


@dataclass(frozen=True)
class Receivers(CapabilityPlan):
    """Plan of receivers: the local ``points`` with their indices ``items`` (n,) among ``listed``, the points of all processes."""

    setting: Any
    points: Points
    items: np.ndarray
    listed: Points
    disk: int
    stations: tuple[Station, ...] = ()
    name: str = name

    @property
    def requirements(self) -> Requirements:
        return Requirements(derivatives=self.points.cells, disk=self.disk)

    @property
    def gradients(self) -> bool:
        """True if spatial derivatives are recorded."""
        return bool(self.setting.rotation or self.setting.strain_rate)

    def partition(self, cut: Cut) -> Receivers:
        items = cut.mine(self.listed.cells)
        return replace(self, points=self.listed.of(items, cut.here), items=items)

    def identity(self) -> Mapping[str, tuple[np.ndarray, np.ndarray]]:
        interval = np.full((len(self.items), 1), self.setting.interval)
        more = np.full((len(self.items), 1), float(self.gradients))
        return {"places and samples of receivers": (np.hstack([self.points.located, interval, more]), self.items)}

    def attach(self, solver: Solver) -> AttachedReceivers:
        return AttachedReceivers(self, solver)

    def report(self, plan: Any) -> dict[str, list[tuple[str, ...]]]:
        samples = int(plan.case.end_time / self.setting.interval) + 1
        return {"output": [("receivers", f"{len(self.listed.cells)} with {samples} samples")]}

    def shapes(self, plan: Any) -> tuple[Marks, ...]:
        return (Marks(name, self.listed.located, tuple(s.code for s in self.stations)),)


def plan(planning: Planning) -> Receivers | None:
    """Return the plan of receivers, None if the case has none."""
    case, setting = planning.case, planning.case.output.receivers
    placed = place_receivers(
        planning.mesh, planning.topology, planning.geometry, planning.whole, case, planning.problems
    )
    if placed is None or setting is None:
        return None
    _report_damped(planning.material, placed, planning.problems)
    _warn_near_sources(planning, placed)
    items = np.flatnonzero(placed.cells >= 0)
    columns = planning.law.visible + 3 * setting.rotation + 6 * setting.strain_rate
    disk = 8 * columns * len(placed.cells) * (int(case.end_time / setting.interval) + 1)
    return Receivers(setting, placed.of(items), items, placed, disk, read_stations(setting, planning.problems))


def _report_damped(material: dict[str, np.ndarray], points: Points, problems: Problems) -> None:
    """Warn about receivers in the absorbing layer, which are useful only to observe the layer itself."""
    within = damped_cells(material)
    if within is None:
        return
    numbers = np.flatnonzero((points.cells >= 0) & within[points.cells]) + 1
    if len(numbers):
        listed = ", ".join(map(str, numbers[:10].tolist())) + (", ..." if len(numbers) > 10 else "")
        problems.warn("output.receivers", f"in the matched layer, where they record damped waves: {listed}")


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
    numbers = (here[found] + 1).tolist()
    listed = ", ".join(map(str, numbers[:NAMED])) + (", ..." if len(numbers) > NAMED else "")
    seen = "the smooth function that a source is spread by" if spread else "the roughness of its cell"
    what = (
        f"within the reach of point sources, where they record {seen}, not the field of a point: {listed}; receiver {numbers[first]} "
        f"is {distance[first]:.4g} m from {sources.sources.names[source[first]]}, which reaches {reach[source[first]]:.4g} m"
    )
    planning.problems.warn(
        "output.receivers", what, advice="Smaller cells around the source reach less far; or leave these receivers out."
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


class AttachedReceivers(Capability):
    """Receivers of a run; ``recorder`` is None if this process has no receiver."""

    def __init__(self, part: Receivers, solver: Solver):
        self.part, self.solver = part, solver
        self.recorder: seismograms.ReceiverRecorder | None = None
        if len(part.items):
            self._record()

    def _record(self) -> None:
        plan, op, setting, points = self.solver.plan, self.solver.operator, self.part.setting, self.part.points
        value, slope = tet_basis_gradient(points.local, op.order - 1)
        functionals = [value[:, None]]
        if self.part.gradients:
            inverse = plan.geometry.inverse[points.cells]  # (n, 3 xi, 3 x)
            functionals.append(np.einsum("nbd,ndx->nxb", slope, inverse))
        members = by_cluster(plan.clustering.cluster[points.cells], self.solver.layout.clusters)
        functional = np.concatenate(functionals, 1)
        taken = Samples(op, points.cells, members, functional)
        take = self._yielding(taken, members) or taken.take
        self.recorder = seismograms.ReceiverRecorder(setting.interval, members, functional, take)
        self.callbacks = (sampling_callback(self.recorder, taken),)

    def _yielding(self, taken: Samples, members: Sequence[np.ndarray]) -> Callable[[int, float], PendingSample] | None:
        """Return a sampler whose stress has yielded at the time of the sample; cells yield only at the end of a step.

        Decks reproduce SeisSol's samples instead.
        """
        plasticity, points = self.solver.parts.get("plasticity"), self.part.points
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
            self.recorder.finish(time, self.solver.dofs_of(self.recorder, self.part.points.cells))

    def state(self) -> Mapping[str, State]:
        recorder = self.recorder
        if recorder is None:
            return {}

        def write(values: np.ndarray, origin: RestoredFrom) -> None:
            recorder.restore(values.swapaxes(0, 1))

        return {"samples": State(self.part.items, lambda: recorder.arrays()[1].swapaxes(0, 1), write)}

    def results(self) -> Iterable[Result]:
        plan, setting, listed = self.solver.plan, self.part.setting, self.part.listed
        time, values = np.zeros(0), np.zeros((0, 0, 1, 1))
        if self.recorder is not None:
            time, values = self.recorder.arrays()
        skipped = listed.cells == -1
        if plan.share is not None or skipped.any():
            found = gather_rows(plan.world, self.part.items, [values.swapaxes(0, 1)], len(listed.cells))
            if found is None:
                return
            values = found[0].swapaxes(0, 1)
            values[:, skipped] = np.nan
            time = np.arange(len(values)) * setting.interval
        names = plan.law.quantities[: plan.law.visible]
        made = seismograms.dataset(
            time, values, names, listed.located, listed.requested, setting.rotation, setting.strain_rate
        )
        made = with_stations(made, self.part.stations, plan.case.output.origin_time)
        yield Result(name, with_degrees(made, plan.case.projection))
