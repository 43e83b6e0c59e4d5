"""Time series at points of the fault, read after the steps of their clusters."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.comm.messages import gather_rows
from faultwave.dg.fault.faces import Fault
from faultwave.dg.fault.probe import FaultProbe
from faultwave.dg.fault.values import ReadingMode
from faultwave.dg.mesh.location import Points
from faultwave.dg.mesh.placement import Cut, Planning
from faultwave.dg.sampling import by_cluster
from faultwave.dg.solver import Solver
from faultwave.engine.capability import Callback, Capability, Requirements, RestoredFrom, State
from faultwave.engine.fault_receivers import (
    FaultReceiverPlan,
    FaultReceiverRequest,
    FaultRecorder,
    report_distant_receivers,
)
from faultwave.observe.dataset import FaultFrame, Result

AFTER = ("rupture", "initial")


@dataclass(frozen=True)
class FaultReceivers(FaultReceiverPlan):
    """Plan of receivers on the fault.

    Attributes
    ----------
    request : FaultReceiverRequest
    points : Points
        Points that this process owns.
    items : (n,) int
        Their indices in ``listed``.
    listed : Points
        Points of all processes.
    sides : (faces, 2) int
        Cells of the faces of the whole fault.
    seen : Points, optional
        Points of other owners for which this process has the cell of one side.
    """

    request: FaultReceiverRequest
    points: Points
    items: np.ndarray
    listed: Points
    sides: np.ndarray
    seen: Points | None = None

    @property
    def places_on_fault(self) -> np.ndarray:
        return self.listed.located

    @property
    def requirements(self) -> Requirements:
        read = np.concatenate([self.points.cells, *([self.seen.cells] if self.seen else [])])
        return Requirements(derivatives=self.sides[read].reshape(-1))

    def partition(self, cut: Cut) -> FaultReceivers:
        rows, own = cut.fault_rows(self.sides)
        local = np.full(len(self.sides), -1)
        local[rows] = np.arange(len(rows))
        at = local[self.listed.cells]
        items, seen = np.flatnonzero((at >= 0) & (at < own)), np.flatnonzero(at >= own)
        for_others = self.listed.of(seen, local) if len(seen) else None
        return replace(
            self, points=self.listed.of(items, local), items=items, sides=cut.here[self.sides[rows]], seen=for_others
        )

    def attach(self, solver: Solver) -> AttachedFaultReceivers:
        return AttachedFaultReceivers(self, solver)


def plan(planning: Planning) -> FaultReceivers | None:
    """Return the plan of fault receivers, None if the case has none."""
    case, whole, rupture = planning.case, planning.whole, planning.parts.get("rupture")
    if case.output.fault_receivers is None or (rupture is None and case.fault is not None and not whole.elsewhere):
        return None  # a fault that could not be planned has reported why
    request = FaultReceiverRequest.read(case, planning.problems)
    if request is None or not len(request.points):
        return None
    placed = _locate(request, rupture, planning)
    items = np.flatnonzero(placed.cells >= 0)
    sides = rupture.faces.cells if rupture is not None else np.zeros((0, 2), np.int64)  # type: ignore[attr-defined]
    return FaultReceivers(request, placed.of(items), items, placed, sides)


def _locate(request: FaultReceiverRequest, fault: Any, planning: Planning) -> Points:
    """Return the fault faces nearest to the points, -2 on other processes, with the coordinates of the projection on the face."""
    points, whole = request.points, planning.whole
    if not whole.any(fault is not None and len(fault.faces.area) > 0):
        what, advice = "the case has no fault with friction", "Add a fault group, or remove output.fault_receivers."
        raise InputError(Problem("output.fault_receivers", what, advice=advice))
    items, nearest, distance = whole.nearest_fault(points, fault)
    mine = np.flatnonzero(items >= 0)
    local = np.full((len(points), 2), np.nan)
    if not len(mine):
        return Points(points, nearest, items, local)
    corners = fault.faces.corners[items[mine]]
    edges = np.stack([corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]], 1)
    offset = nearest[mine] - corners[:, 0]
    far, edge = np.full((2, len(points)), np.nan)
    far[mine], edge[mine] = distance[mine], np.sqrt((edges**2).sum(2)).max(1)
    report_distant_receivers(request.setting, points, nearest, far, edge, planning.problems)
    solved = np.linalg.solve(edges @ edges.transpose(0, 2, 1), np.einsum("nij,nj->ni", edges, offset)[..., None])
    local[mine] = solved[..., 0]
    return Points(points, nearest, items, local)


class AttachedFaultReceivers(Capability):
    """Recorders of local points (``recorder``) and of points read for other owners (``for_others``), None for none."""

    def __init__(self, part: FaultReceivers, solver: Solver):
        self.part, self.solver, self.rupture = part, solver, solver.parts.get("rupture")
        fault = self.rupture.fault if self.rupture is not None else None
        self.probes: list[FaultProbe] = []
        self.recorder = self._record(fault, part.points if len(part.items) else None)
        self.for_others = self._record(fault, part.seen, keeps=False)
        found = [r for r in (self.recorder, self.for_others) if r is not None]
        self.callbacks = tuple(
            Callback("after step", self._reading(r, fault), on_device=FaultReadingReplay(r, fault)) for r in found
        )

    def _reading(self, recorder: FaultRecorder, fault: Any) -> Callable[[int, float, float], None]:
        """Record the state that a correction left, also if the cluster has predicted since."""

        def read(cluster: int, time: float, step: float) -> None:
            fault.predicted = self.solver.actions.predicted
            recorder.record(cluster, time, step)
            fault.predicted = False

        return read

    def _record(self, fault: Fault | None, points: Points | None, keeps: bool = True) -> FaultRecorder | None:
        if points is None or fault is None:
            return None
        plan, setting, names = self.solver.plan, self.part.request.setting, self.part.request.fields
        case, faces = plan.case, points.cells
        members = by_cluster(plan.clustering.cluster[fault.faces.inside[faces]], self.solver.layout.clusters)
        from_velocity = case.fault is not None and case.fault.slip_rate_output == "velocity"
        as_seissol = case.output.seissol_layout
        mode = ReadingMode(setting.position == "exact", from_velocity, as_seissol)
        probes = {
            c: FaultProbe(fault, faces[m], points.local[m][:, None], mode, c, as_seissol, patient=True)
            for c, m in enumerate(members)
        }
        self.probes += probes.values()

        def deliver(cluster: int, found: np.ndarray) -> None:
            recorder.deliver(cluster, found[..., 0].transpose(1, 2, 0))

        then = [partial(deliver, c) for c in probes]

        def read(cluster: int) -> None:
            probes[cluster].ask(names, then[cluster])

        fastest = (
            plan.partition.fault_cluster if plan.partition else int(plan.clustering.cluster[fault.faces.cells].min())
        )
        leader = fastest if as_seissol else None
        recorder = FaultRecorder(members, setting.every, len(names), read, leader, keeps)
        recorder.begin(0.0)
        return recorder

    def begin(self) -> None:
        for probe in self.probes:
            probe.begin()

    def state(self) -> Mapping[str, State]:
        """Return the recorder's state with receivers as rows; its histories have them along the second axis."""
        recorder, counting = self.recorder, self.recorder or self.for_others
        if counting is None:
            return {}
        found: dict[str, State] = {"count": State(None, lambda: np.array(counting.count), self._restore)}
        if recorder is not None:
            retained = recorder.state()
            for key in ("times", "values", "lengths", "recent_times", "recent"):
                array = retained[{"times": "time", "recent_times": "recent_time"}.get(key, key)]
                array = array.swapaxes(0, 1) if key in ("times", "values") else array
                found[key] = State(self.part.items, lambda array=array: array, _nothing)  # type: ignore[misc]
        return found

    def _restore(self, count: np.ndarray, origin: RestoredFrom) -> None:
        """Restore all arrays at once, as they belong together."""
        found = origin.arrays
        if self.recorder is not None:
            state = {"time": found["times"].swapaxes(0, 1), "values": found["values"].swapaxes(0, 1), "count": count}
            state |= {"recent_time": found["recent_times"], "recent": found["recent"], "lengths": found["lengths"]}
            self.recorder.restore(state, origin.same_clusters)
        if self.for_others is not None and origin.same_clusters:
            self.for_others.count = count.tolist()

    def results(self) -> Iterable[Result]:
        """Join the time series of clusters; missing samples of slower clusters are NaN."""
        part, plan, listed = self.part, self.solver.plan, self.part.listed
        if self.rupture is not None:
            self.rupture.finish_reads()
        columns = len(part.request.fields)
        rows = [np.zeros((0, *shape)) for shape in ((0,), (0, columns), (3,), (3,), (3,), (3,))]
        if self.recorder is not None:
            time, values = self.recorder.arrays()
            rows = [time.T, values.swapaxes(0, 1), *self._frame(part.points)]
        if plan.partition is not None:
            length = int(plan.world.largest([rows[0].shape[1]])[0])
            for i in range(2):
                missing = [(0, 0), (0, length - rows[i].shape[1]), *[(0, 0)] * (rows[i].ndim - 2)]
                rows[i] = np.pad(rows[i], missing, constant_values=np.nan)
            found = gather_rows(plan.world, part.items, rows, len(listed.cells))
            if found is None:
                return
            rows = found
        time, values, normal, strike, dip, traction = rows
        frame = FaultFrame(normal, strike, dip, traction)
        yield part.request.result(time.T, values.swapaxes(0, 1), listed.located, frame)

    def _frame(self, points: Points) -> tuple[np.ndarray, ...]:
        """Return normal, strike, dip and initial traction (P_0, T_s, T_d) at each point, (n, 3) each."""
        rupture = self.rupture.part  # type: ignore[union-attr]
        f = rupture.faces
        nearest = FaultProbe(self.rupture.fault, points.cells, points.local[:, None], ReadingMode()).nearest[:, 0]  # type: ignore[union-attr]
        stress = rupture.stress[points.cells, nearest]
        vector = stress[:, 1:2] * f.tangent1[points.cells] + stress[:, 2:3] * f.tangent2[points.cells]
        strike, dip = f.strike[points.cells], f.dip[points.cells]
        traction = np.stack([stress[:, 0], (vector * strike).sum(1), (vector * dip).sum(1)], 1)
        return f.normal[points.cells], strike, dip, traction


def _nothing(values: np.ndarray, origin: RestoredFrom) -> None:
    """Ignore a single array, as ``_restore`` takes all arrays together."""


@dataclass(frozen=True)
class FaultReadingReplay:
    """Recording during replays: readings stay in sample buffers on the device, each at its position in the recording."""

    recorder: FaultRecorder
    fault: Any

    def key(self, steps: Sequence[int]) -> Hashable:
        return self.recorder.reads(steps)

    def table_bytes(self, steps: Sequence[int]) -> int:
        return 0

    def begin(self, due: bool) -> None:
        pass  # friction rewinds the sample buffers

    def tables(self, cluster: int, time: float, step: float) -> Sequence[Mapping[str, Any]]:
        self.fault.replayed = True
        self.recorder.record(cluster, time, step)
        self.fault.replayed = False
        return []

    def end(self) -> None:
        pass
