"""Plan -> Simulation: kernels and buffers on a backend, stepped by march, watched by observers."""

from __future__ import annotations

import time as clock
from collections import deque
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from faultwave import backends
from faultwave.backends.base import Mark
from faultwave.comm.aware import Way
from faultwave.comm.exchange import Exchange, Kind, Stages
from faultwave.comm.progress import ProgressThread, set_aside
from faultwave.comm.slots import Slots, slots_of
from faultwave.dg import drives
from faultwave.dg.basis import tet_basis, tet_basis_gradient, tet_quadrature
from faultwave.dg.driven import Driven
from faultwave.dg.energies import Energies
from faultwave.dg.far_sides import FarSides
from faultwave.dg.fault import Fault
from faultwave.dg.integrators import make_operator
from faultwave.dg.layout import build_layout
from faultwave.dg.method_of_lines import Lines
from faultwave.dg.operator import Cells, shapely, worst_shape
from faultwave.dg.plan import Plan
from faultwave.dg.replays import Replays
from faultwave.dg.rounded import Mending
from faultwave.dg.samples import Samples
from faultwave.dg.sources import SourceTerms
from faultwave.domain import tets
from faultwave.engine.halo import way
from faultwave.march import March
from faultwave.observe import receivers as seismograms

Hook = Callable[[int, float, float], None]  # hook(cluster, time, step)
What = Literal["slipped", "injected", "predicted", "read"]
Event = tuple[What, int, float, float]  # what, cluster, time, step

PIECE, FAR_PIECE = 1024, 8192
"""Cells at least that each thread steps, or a device, between two looks for messages."""

QUEUED = 2
"""Pieces that a device has in its queue at most: what a message brings then waits for no more than these."""


class Engine:
    """The moving parts of one run; its two methods are what march calls."""

    def __init__(self, plan: Plan, backend: backends.Backend | None = None):
        """``backend``: instead of the one the case names."""
        numerics = plan.case.numerics
        self.plan = plan
        threaded = numerics.progress == "thread" and plan.world.size > 1
        cores = set_aside(plan.world, numerics.progress_cores) if threaded else ()
        self.backend = backend or backends.make(
            numerics.backend, numerics.precision, numerics.threads, plan.world.place
        )
        top, geo = plan.topology, plan.geometry
        lanes = max(self.backend.lanes, self.backend.fixed_lanes)
        self.layout = build_layout(
            top.neighbours, top.neighbour_faces, plan.clustering.cluster, plan.frictional, plan.keep,
            tets.hilbert_order(geo.centroids), lanes, plan.share.border if plan.share else None, len(plan.clustering.steps),
            self._apart(), plan.drives.driven,
        )  # fmt: skip
        cells = Cells(
            geo.inverse,
            geo.volume,
            geo.areas,
            geo.normals,
            top.neighbours,
            top.kinds,
            plan.frictional,
            plan.material,
            plan.walls,
            plan.drives.driven,
            top.neighbour_faces,
            plan.share.beyond if plan.share else None,
        )
        unit = plan.time_unit if plan.case.fault is None else 1.0  # friction counts in seconds
        (worst,) = plan.world.largest([worst_shape(geo.inverse, self.backend.dtype)])  # one form for all processes
        self.operator = make_operator(
            numerics, plan.law, self.backend, self.layout, cells, unit, shapely(worst), plan.share is None
        )
        self.fault = self._fault()
        self.sources = SourceTerms(
            self.operator, plan.sources, plan.source_cells, plan.source_points, numerics.source_window == "centred"
        )
        ratios = np.cumprod([1, *plan.clustering.ratios[:-1]])
        self.march = March(float(plan.clustering.steps[0]), [int(r) for r in ratios], self)
        self.way = self._way(plan)
        self.seconds = {"predict": 0.0, "correct": 0.0, "fault": 0.0, "observe": 0.0}
        self.mending: Mending | None = None  # where messages are rounded
        self.exchange = self._exchange()
        self.queued: deque[Mark] = (
            deque()
        )  # pieces of the cells behind the border that a device has not done yet, perhaps
        attach = self.backend.device.attach if self.way else None  # type: ignore[attr-defined]
        self.progress = ProgressThread(plan.world, cores, attach) if threaded else None
        self.sizes = np.bincount(plan.clustering.cluster, minlength=self.layout.clusters)
        self.threads = int(getattr(self.backend, "threads", 1))
        self.updates = self.fault_updates = 0
        self.solved: set[int] = set()  # clusters whose friction is ahead of their correction
        # Whether a hook looks at every cell between the correction of a cluster that ends now and a prediction.
        self.watched: list[Callable[[int, float, float], bool]] = []
        self.before: list[Hook] = []  # hooks before a cluster predicts
        self.predicted: list[
            Hook
        ] = []  # hooks after its special cells predicted; plain ones may have been left for later
        self.corrected: list[Hook] = []  # hooks after it corrected
        # Of a hook: whether it needs nothing of the steps that end before a time. Hooks that are not here always may.
        self.idle: dict[Hook, Callable[[float], bool]] = {}
        # Hooks that only read the fault as a correction leaves it, before or after the prediction that follows, and of each which of
        # so many next steps of each cluster it reads.
        self.taped: dict[Hook, Callable[[Sequence[int]], tuple[tuple[int, ...], ...]]] = {}
        # Of a hook after predictions that only takes samples.
        self.paced: dict[Hook, tuple[seismograms.ReceiverRecorder, Samples]] = {}
        self.events: list[Event] | None = None  # what happened, where it is noted
        self.impulses: list[drives.Impulses] = []
        self.driven = drives.attach(self)
        self.replays = Replays(self)
        self.energies: Energies | None = None  # made when they are first asked for

    def _way(self, plan: Plan) -> Way | None:
        """Between devices that share the run."""
        if plan.share is None:
            return None
        channels = (*self.layout.channels, *(self.fault.channels if self.fault else ()))
        device, name = getattr(self.backend, "device", None), getattr(self.backend, "name", "host")
        return way(plan.world, plan.case.numerics.halo, device, [c.rank for c in channels], name)

    def _exchange(self) -> Exchange | None:
        """Messages to the other processes that share the run."""
        if self.plan.share is None:
            return None
        op, march, direct = self.operator, self.march, self.way is not None and self.way.direct
        rates = [c.rate for c in march.clocks]
        if isinstance(op, Lines):
            traces: dict[Kind, Slots] = {"wave": slots_of(op.traces, direct)}
            op.stages_exchanged = Stages(self.plan.world, self.layout.channels, traces, rates, lambda: 0, op.sums)
            return op.stages_exchanged
        rounding = self.plan.case.numerics.halo_compression
        stores: dict[Kind, Slots] = {"wave": slots_of(op.waves, direct), "series": slots_of(op.slow, direct)}
        channels = self.layout.channels
        if self.fault:
            stores["fault"], channels = slots_of(op.friction, direct), (*channels, *self.fault.channels)
        if rounding != "exact":
            self.mending = Mending(op, self.layout.channels)
        errors = self.mending.place if self.mending else None
        limit = lambda: march.clocks[0].limit  # noqa: E731
        made = Exchange(self.plan.world, channels, stores, rates, limit, op.sums, rounding, errors)
        op.border_corrected, op.border_predicted, march.pieces = made.used, made.border_predicted, self
        return made

    def _apart(self) -> np.ndarray:
        """(nc,) cells that correct and predict apart, for others to look at or to change in between."""
        plan = self.plan
        if plan.share is None or plan.case.numerics.halo_compression == "exact":
            return plan.watched
        watched = plan.watched.copy()
        watched[plan.share.border.cell] = True
        return watched

    def quiet(self, until: float, paced: bool = False) -> bool:
        """Whether no step that ends before a time needs the host for more than to be started and to say how much sources act; ``paced``:
        or takes samples at most."""
        if self.exchange or self.driven:
            return False
        hooks = (*self.before, *self.predicted, *self.corrected)
        given = self.paced.keys() if paced else ()
        return all(h in given or (h in self.idle and self.idle[h](until)) for h in hooks)

    def settle(self, wait: bool = True) -> None:
        """Where all clusters have met: put together what was read at faults. Without ``wait`` a device goes on, and what has not come
        from it is put together another time."""
        if self.fault:
            self.fault.settle(wait or not self.backend.ahead or self.exchange is not None)

    def _fault(self) -> Fault | None:
        plan = self.plan
        if plan.fault is None:
            return None
        f, setting = plan.fault, plan.case.fault
        assert setting is not None
        return Fault(
            self.operator, f.faces, f.material, f.rule, f.law, f.constants, f.parameters, f.state, f.stress, f.episodes,
            plan.clustering.cluster, setting.time_points or plan.case.numerics.order, setting.points == "conical",
            setting.damping, setting.damping_end if setting.damping_end is not None else np.inf,
            plan.case.output.energies is not None and plan.case.output.energies.slip_from_velocity, FarSides(plan.world),
        )  # fmt: skip

    def predict(self, cluster: int, time: float, step: float, restart: bool) -> None:
        op = self.operator
        predict = op.begin if self.march.pieces else op.predict
        self._predict(cluster, time, step, lambda: predict(cluster, step, restart))

    def ready(self, cluster: int) -> bool:
        """Whether what other processes owe the next correction is here."""
        return self.exchange is None or self.exchange.ready(cluster)

    def finish(self, cluster: int) -> bool:
        """Go on with plain cells, a piece at a time: in between, messages are moved and whoever can go on does. A device gets the next
        piece when it has worked off those before; whether there is more."""
        started = clock.perf_counter()
        begin, end = self.layout.plain_ranges[cluster]
        far = self.backend.ahead
        while self.queued and self.queued[0].done:
            self.queued.popleft()
        more = True
        if not far or len(self.queued) < QUEUED:
            more = self.operator.finish(cluster, max(FAR_PIECE if far else PIECE * self.threads, (end - begin) // 8))
            if far:
                self.queued.append(self.backend.mark())
        self.seconds["predict"] += clock.perf_counter() - started
        if more and self.exchange:
            self.exchange.poll()
        return more

    def early(self, cluster: int, time: float, step: float) -> bool:
        """Friction and drives while messages are on their way."""
        if cluster in self.solved or not self.exchange or not self.exchange.early(cluster):
            return False
        self.solved.add(cluster)
        self._solve(cluster, time, step)
        return bool(self.fault or self.driven)

    def _predict(self, cluster: int, time: float, step: float, action: Callable[[], None]) -> None:
        start = clock.perf_counter()
        for hook in self.before:
            hook(cluster, time, step)
        middle = clock.perf_counter()
        action()
        done = clock.perf_counter()
        for hook in self.predicted:
            hook(cluster, time, step)
        self._note("predicted", cluster, time, step)
        self.seconds["observe"] += middle - start + clock.perf_counter() - done
        self.seconds["predict"] += done - middle

    def correct(self, cluster: int, time: float, step: float, offset: float) -> None:
        solved = self._arrive(cluster, time, step, offset)
        self.operator.correct(cluster, step)
        self._corrected(cluster, time, step, solved)
        self._read(cluster, time, step, False)

    def turn(self, cluster: int, time: float, step: float, offset: float, following: float, restart: bool) -> None:
        then = self.march.moment(
            self.march.clocks[cluster].corrected
        )  # time + step, but to the last bit the same everywhere
        if any(look(cluster, then, following) for look in self.watched):
            self.correct(cluster, time, step, offset)
            self.predict(cluster, then, following, restart)
            return
        solved = self._arrive(cluster, time, step, offset)
        self.operator.correct_watched(cluster, step)
        self._corrected(cluster, time, step, solved)
        turn = self.operator.begin_turn if self.march.pieces else self.operator.turn
        self._predict(cluster, then, following, lambda: turn(cluster, following, restart))
        self._read(cluster, time, step, True)

    def _read(self, cluster: int, time: float, step: float, predicted: bool) -> None:
        """Read the fault after the step from ``time``, before or after the one that follows has been ``predicted``."""
        if self.fault and self.taped:
            started = clock.perf_counter()
            self.fault.predicted = predicted
            with self.backend.independent(readings=True):
                for hook in self.taped:
                    hook(cluster, time, step)
            self.fault.predicted = False
            self._note("read", cluster, time, step)
            self.seconds["observe"] += clock.perf_counter() - started

    def _arrive(self, cluster: int, time: float, step: float, offset: float) -> float:
        """What comes from faults and slower neighbours; returns when friction was solved."""
        with self.backend.independent():
            solved = self._solve_friction(cluster, time, step)
            self.operator.arrive(cluster, step, offset)
        return solved

    def _solve_friction(self, cluster: int, time: float, step: float) -> float:
        """Unless it was early; returns when it was done."""
        if cluster in self.solved:
            self.solved.discard(cluster)
            return clock.perf_counter()
        return self._solve(cluster, time, step)

    def _solve(self, cluster: int, time: float, step: float) -> float:
        start = clock.perf_counter()
        if self.fault:
            self.fault.correct(cluster, time, step)
            self._note("slipped", cluster, time, step)
        if self.driven:
            self._drive(self.driven, cluster, time, step)
        solved = clock.perf_counter()
        self.seconds["fault"] += solved - start
        return solved

    def _corrected(self, cluster: int, time: float, step: float, since: float) -> None:
        if self.sources.add(cluster, time, step):
            self._note("injected", cluster, time, step)
        if self.exchange:
            self._mend(self.exchange, cluster, step)
        done = clock.perf_counter()
        for hook in self.corrected:
            hook(cluster, time, step)
        self.updates += int(self.sizes[cluster])
        self.seconds["correct"] += done - since
        self.seconds["observe"] += clock.perf_counter() - done

    def _note(self, what: What, cluster: int, time: float, step: float) -> None:
        if self.events is not None:
            self.events.append((what, cluster, time, step))

    def sampled(self, recorder: seismograms.ReceiverRecorder, samples: Samples) -> None:
        """Hook in a recorder that takes samples."""
        self.predicted.append(recorder.record)
        self.idle[recorder.record] = recorder.idle
        self.paced[recorder.record] = recorder, samples

    def _mend(self, exchange: Exchange, cluster: int, step: float) -> None:
        """Take into account what the other processes got of rounded waves."""
        if self.mending is not None:
            exchange.all_sent(cluster)
            self.mending(cluster, step)

    def _drive(self, driven: Driven, cluster: int, time: float, step: float) -> None:
        if isinstance(self.operator, Lines):
            self.operator.drive = lambda share: driven.fill_now(time + share * step)
        else:
            driven.fill(cluster, time, step)

    def project(self, function: Callable[[np.ndarray], np.ndarray]) -> None:
        """Set the dofs to the L2 projection of function(points (n, 3)) -> (n, Q), cell block by cell block."""
        order, geo = self.plan.case.numerics.order, self.plan.geometry
        points, weights = tet_quadrature(order + 2)
        psi = tet_basis(points, order - 1)
        for part in np.array_split(np.arange(self.plan.cells), max(1, self.plan.cells // 4096)):
            # Sums over one cell round differently, and a process may have but one: it is done twice.
            cells = np.repeat(part, 2) if len(part) == 1 else part
            x = geo.origin[cells, None] + np.einsum("cij,nj->cni", geo.jacobian[cells], points)
            values = function(x.reshape(-1, 3)).reshape(len(cells), len(points), -1)
            self.operator.set_dofs(np.einsum("n,nk,cnq->ckq", weights, psi, values)[: len(part)], part)

    def error(
        self,
        solution: Callable[[np.ndarray, float], np.ndarray],
        inside: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> np.ndarray:
        """Relative L2 error of every quantity against solution(points, time), where ``inside(points)`` if given."""
        order, geo = self.plan.case.numerics.order, self.plan.geometry
        points, weights = tet_quadrature(order + 2)
        psi = tet_basis(points, order - 1)
        above = below = np.zeros(len(self.plan.law.quantities))
        for part in np.array_split(np.arange(self.plan.cells), max(1, self.plan.cells // 4096)):
            x = geo.origin[part, None] + np.einsum("cij,nj->cni", geo.jacobian[part], points)
            flat = x.reshape(-1, 3)
            exact = solution(flat, self.march.time).reshape(len(part), len(points), -1)
            mine = np.einsum("nk,ckq->cnq", psi, self.operator.dofs(part))
            scale = (geo.volume[part, None] * weights)[..., None]
            if inside is not None:
                scale = scale * inside(flat).reshape(len(part), len(points), 1)
            above = above + (scale * (mine - exact) ** 2).sum((0, 1))
            below = below + (scale * exact**2).sum((0, 1))
        return np.sqrt(above / np.where(below > 0, below, 1.0))

    def sample(self, points: np.ndarray) -> np.ndarray:
        """State (n, Q) at points (n, 3) now; NaN outside the mesh."""
        found = tets.locate(points, self.plan.topology, self.plan.geometry, self.plan.mesh.vertices)
        result = np.full((len(found.cells), len(self.plan.law.quantities)), np.nan)
        inside = found.cells >= 0
        psi = tet_basis(found.xi[inside], self.plan.case.numerics.order - 1)
        result[inside] = np.einsum("nb,nbq->nq", psi, self.operator.dofs(found.cells[inside]))
        return result


def receiver_recorder(engine: Engine) -> seismograms.ReceiverRecorder | None:
    """Seismograms of the plan's receivers, hooked into the engine."""
    plan, points = engine.plan, engine.plan.receivers
    if points is None:
        return None
    setting = plan.case.output.receivers
    assert setting is not None
    order, op = plan.case.numerics.order, engine.operator
    value, slope = tet_basis_gradient(points.local, order - 1)
    functionals = [value[:, None]]
    if setting.rotation or setting.strain_rate:
        inverse = plan.geometry.inverse[points.cells]  # (n, 3 xi, 3 x)
        functionals.append(np.einsum("nbd,ndx->nxb", slope, inverse))
    cluster = plan.clustering.cluster[points.cells]
    members = [np.flatnonzero(cluster == c) for c in range(engine.layout.clusters)]

    functional = np.concatenate(functionals, 1)
    taken = Samples(op, points.cells, members, functional)
    recorder = seismograms.ReceiverRecorder(setting.interval, members, functional, taken.take)
    engine.sampled(recorder, taken)
    return recorder


def energies(engine: Engine) -> dict[str, float]:
    """Every energy the law and the fault can give, now."""
    plan, setting = engine.plan, engine.plan.case.output.energies
    mechanical = "force" in plan.law.point_sources
    total: dict[str, float] = {"gravitational_energy": 0.0} if mechanical else {}
    if engine.energies is None:
        engine.energies = Energies(engine.operator)
    with np.errstate(over="ignore", invalid="ignore"):  # a run that blows up is told of elsewhere
        total |= engine.energies()
    if engine.fault:
        plain, moved = (setting.plain_mean, setting.slip_from_velocity) if setting else (False, False)
        total |= engine.fault.energies(plain, moved)
    return total | ({"plastic_moment": 0.0} if mechanical else {})


__all__ = ["Engine", "energies", "receiver_recorder"]
