"""Solver of a plan: kernels and buffers on a backend, stepped by local time stepping, with the plan's capabilities attached."""

from __future__ import annotations

import time as clock
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from faultwave import backends
from faultwave.backends.base import Mark
from faultwave.base.errors import Problem
from faultwave.base.processes import host
from faultwave.base.processes.host import release_freed
from faultwave.base.types import Json
from faultwave.comm.exchange import ChannelExchange, ClusterExchange, Kind, StageExchange
from faultwave.comm.gpu_aware import HaloPath
from faultwave.comm.packing import StoreRows
from faultwave.comm.progress import ProgressThread, reserve_cores
from faultwave.dg import blowup, restart
from faultwave.dg.checks.accuracy import lowest_resolved
from faultwave.dg.method.outgoing_waves import cluster_places
from faultwave.dg.operators import stepping, wave_field
from faultwave.dg.operators.conservation import Conservation
from faultwave.dg.operators.layout import Connections, build_layout
from faultwave.dg.operators.local_time_stepping import LocalTimeStepping
from faultwave.dg.operators.method_of_lines import MethodOfLines
from faultwave.dg.operators.operator import Cells
from faultwave.dg.operators.prescribed_faces import PrescribedFaces, faces_of, projection
from faultwave.dg.operators.rounding import allows_edge_components, worst_shape
from faultwave.dg.operators.scheme import make_form, make_operator
from faultwave.dg.operators.stepping import Event, Replays
from faultwave.dg.operators.wave_field import AllEnergies
from faultwave.dg.planning.plan import Plan
from faultwave.domain import tets
from faultwave.engine.capability import Callback, State, When
from faultwave.engine.halo import halo_path
from faultwave.engine.receivers import ReceiverRecorder
from faultwave.engine.solver import Control, Diagnosis

PIECE, FAR_PIECE = 1024, 8192
"""Smallest number of cells that each host thread, or a device, steps between two polls for messages."""

Section = str
BETWEEN = ""
"""Section outside of all timings; the other sections are names in the manifest's ``timings_s``."""

QUEUED = 2
"""Largest number of pieces in the queue of a device, which bounds the delay of the work that a message makes possible."""


class Solver:
    """Solver of one run; ``LocalTimeStepping`` calls its ``predict``, ``correct`` and ``correct_and_predict``.

    Attributes
    ----------
    plan : Plan
        Mesh, material, clusters and capabilities of the run.
    backend : Backend
        Hardware that executes the kernels.
    operator : Operator
        Degrees of freedom and kernels.
    march : LocalTimeStepping
        Clocks of the clusters.
    parts : dict of str to capability
        Capability capabilities by name.
    seconds : dict of str to float
        Time spent in each section [s].
    updates : int
        Element updates of this process.
    """

    if TYPE_CHECKING:
        # Set where they are needed, by ``stepping`` and ``restart``.
        good: Any  # time and means of the last good state, None while they are renewed
        mesh_identity: str
        material_identity: dict[str, int]

    def __init__(self, plan: Plan, backend: backends.Backend | None = None):
        """Build the solver of a plan; ``backend`` replaces the backend that the case names."""
        started = clock.perf_counter()
        release_freed()  # memory of planning, before more is allocated
        numerics = plan.case.numerics
        self.plan, self.world = plan, plan.world
        threaded = numerics.progress == "thread" and plan.world.size > 1
        own = reserve_cores(plan.world, numerics.progress_cores) if threaded else ()
        self.backend = backend or backends.make(
            numerics.backend, numerics.precision, numerics.threads, plan.world.local_rank
        )
        with host.limit_threads(numerics.threads):
            self._build()
        ratios = np.cumprod([1, *plan.clustering.ratios[:-1]])
        self.march = LocalTimeStepping(float(plan.clustering.steps[0]), [int(r) for r in ratios], self)
        self.seconds = {"predict": 0.0, "correct": 0.0, "fault": 0.0, "observe": 0.0}
        self.section: Section = BETWEEN  # current section of the timer, since ``entered``
        self.entered = clock.perf_counter()
        self.sizes = np.bincount(plan.clustering.cluster, minlength=self.layout.clusters).tolist()
        self.threads = int(getattr(self.backend, "threads", 1))
        self.updates = 0
        self.solved: set[int] = set()  # clusters whose friction is solved but which are not corrected yet
        self.events: list[Event] | None = None  # callbacks that launched kernels, while they are recorded
        self.exchange: ChannelExchange | None = None
        self.cluster_exchange: ClusterExchange | None = None  # the same, where clusters exchange waves
        self.parts: dict[str, Any] = {}  # each is used with its own methods
        for part in plan.parts:
            self.parts[part.name] = part.attach(self)
        self.driven = self._driven()
        self.hook()
        self.way = self._way()
        self.conservation: Conservation | None = None  # only if messages are rounded
        self.exchange = self._exchange()
        self.queue = getattr(self.backend, "queue", None)
        if self.queue is not None and self.exchange is None:  # messages would overtake deferred launches
            self.queue.defer()
        self.queued: deque[Mark] = deque()  # pieces of plain cells that a device may not have completed
        attach = self.backend.device.attach if self.way else None  # type: ignore[attr-defined]
        self.progress = ProgressThread(plan.world, own, attach) if threaded else None
        self.replays = Replays(self)
        self.all_energies = AllEnergies(self)
        if any(part.needs_energies for part in self.parts.values()):
            self.all_energies.prepare()
        self.wrong = ""  # problem of a run that blows up, stated while its numbers are finite
        waiting = clock.perf_counter()
        self.backend.finish()  # kernels that are being compiled
        self.compiling = clock.perf_counter() - waiting
        release_freed()
        self.wall = {"setup": clock.perf_counter() - started, "stepping": 0.0}

    def _build(self) -> None:
        """Build the layout and the operator."""
        plan, geo, top = self.plan, self.plan.geometry, self.plan.topology
        numerics = plan.case.numerics
        lanes = max(self.backend.lanes, self.backend.fixed_lanes)
        driven = plan.driven
        connections = Connections(
            top.neighbours,
            top.neighbour_faces,
            plan.clustering.cluster,
            plan.frictional,
            plan.stored_derivatives,
            self._apart(),
            driven,
            plan.penalised.faces if plan.penalised else None,
            plan.solved,
        )
        border = plan.share.border if plan.share else None
        curve = tets.hilbert_order(geo.centroids)
        parts = cluster_places(plan.clustering.ratios)
        self.layout = build_layout(connections, curve, lanes, border, len(plan.clustering.steps), parts)
        cells = Cells(
            geo.inverse, geo.volume, geo.areas, geo.normals, top.neighbours, top.kinds, plan.frictional, plan.material, plan.walls,
            driven, top.neighbour_faces, plan.share.beyond if plan.share else None, plan.penalised,
            plan.reflection_coefficients, plan.share.cells if plan.share else None,
        )  # fmt: skip
        (worst,) = plan.world.largest([worst_shape(geo.inverse, self.backend.dtype)])  # one form for all processes
        form = make_form(numerics, plan.law, plan.time_unit, allows_edge_components(worst))
        between = [part.cell_work for part in plan.parts if part.cell_work is not None]
        flows = any(part.requirements.flows for part in plan.parts)
        self.operator = make_operator(
            numerics, form, self.backend, self.layout, cells, plan.share is None, between, flows
        )
        self.operator.layout = self.layout = self.layout.without_waves()

    def _apart(self) -> np.ndarray:
        """Return the cells (nc,) that correct and predict in separate passes, as others read or change them in between."""
        plan = self.plan
        if plan.share is None or plan.case.numerics.halo_compression == "exact":
            return plan.observed
        observed = plan.observed.copy()
        observed[plan.share.border.cell] = True
        return observed

    def _driven(self) -> PrescribedFaces | None:
        """Return the prescribed faces with the boundary values from the capabilities, or None."""
        plan, op = self.plan, self.operator
        cells, faces = np.nonzero(plan.driven & ~plan.solved)
        listed = faces_of(op, cells, faces, plan.geometry.origin(cells))
        points, project = projection(op.order)
        drives = [d for part in self.parts.values() for d in part.drives(listed, points, project)]
        return PrescribedFaces(op, listed, drives, plan.clustering.cluster) if len(cells) else None

    def hook(self) -> None:
        """Collect the callbacks of the capabilities in their present state."""
        drive = [Callback("friction", self._drive)] if self.driven else []
        found = [call for part in self.parts.values() for call in part.callbacks] + drive
        self.callbacks: dict[When, list[Callback]] = {
            when: [c for c in found if c.when == when] for when in get_args(When)
        }
        self.calls_of = [
            {
                when: [c for c in listed if c.clusters is None or i in c.clusters]
                for when, listed in self.callbacks.items()
            }
            for i in range(self.layout.clusters)
        ]
        self.splitting = [c for c in found if c.needs_intermediate_state is not None]
        # For each cluster: steps that end before this time need no callback, or no check whether they are split.
        self.idle: list[dict[When, float]] = [
            dict.fromkeys(self.callbacks, -np.inf) for _ in range(self.layout.clusters)
        ]
        self.whole = [-np.inf] * self.layout.clusters

    def _way(self) -> HaloPath | None:
        """Return the path of messages between devices that share the run."""
        plan = self.plan
        if plan.share is None:
            return None
        channels = (*self.layout.channels, *(c for part in self.parts.values() for c in part.channels))
        device, name = getattr(self.backend, "device", None), getattr(self.backend, "name", "host")
        return halo_path(plan.world, plan.case.numerics.halo, device, [c.rank for c in channels], name)

    def _exchange(self) -> ChannelExchange | None:
        """Return the exchange of messages with the other processes that share the run."""
        if self.plan.share is None:
            return None
        op, march, gpu_aware = self.operator, self.march, self.way is not None and self.way.gpu_aware
        if isinstance(op, MethodOfLines):
            traces: dict[Kind, StoreRows] = {"wave": StoreRows(op.traces, gpu_aware)}
            op.stages_exchanged = StageExchange(self.plan.world, self.layout.channels, traces)
            return op.stages_exchanged
        rounding = self.plan.case.numerics.halo_compression
        stores: dict[Kind, StoreRows] = {
            "wave": StoreRows(op.waves, gpu_aware),
        }
        channels = self.layout.channels
        if op.penalty:
            stores["shown"] = StoreRows(op.penalty.shown, gpu_aware)
            channels = (*channels, *op.penalty.places.channels)
        of_parts = [part.channels for part in self.parts.values() if part.channels]
        if of_parts:
            stores["fault"] = StoreRows(op.friction, gpu_aware)
            channels = (*channels, *(c for listed in of_parts for c in listed))
        if rounding != "exact":
            self.conservation = Conservation(op, self.layout.channels)
        errors = self.conservation.place if self.conservation else None
        limit = lambda: march.clocks[0].limit  # noqa: E731
        rates = [c.rate for c in march.clocks]
        made = ClusterExchange(self.plan.world, channels, stores, rates, limit, op.sums, rounding, errors)
        op.border_corrected, op.border_predicted = made.border_corrected, made.border_predicted
        march.overlap, self.cluster_exchange = self, made
        return made

    # ---- interface of the run -------------------------------------------------------------------------------------

    @property
    def warnings(self) -> Sequence[Problem]:
        """Warnings of the plan."""
        return self.plan.warnings

    @property
    def time(self) -> float:
        """Simulated time reached [s]."""
        return self.march.time

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.plan.cells

    @property
    def runs_on(self) -> str:
        """Backend and device, for the manifest."""
        return self.backend.described

    @property
    def resolved_frequency(self) -> float:
        """Lowest frequency [Hz] that a cell of this process in the region of interest resolves with 10 points per wavelength."""
        return lowest_resolved(self.plan)

    @property
    def halo(self) -> str | None:
        """Path of messages between devices, None if there are none."""
        return None if self.way is None else str(self.way)

    def finish_reads(self, wait: bool = True) -> None:
        """Let the capabilities process the values read since the last call; called when all clusters are at the same time."""
        with self.observing():
            for part in self.parts.values():
                part.finish_reads(wait)

    @contextmanager
    def observing(self) -> Iterator[None]:
        """Count the time spent inside the context as observation."""
        before = self.section
        self._enter("observe")
        try:
            yield
        finally:
            self._enter(before)

    def added(self, here: Mapping[str, float]) -> dict[str, float]:
        """Return the sums over all processes on the first process, and the local values on the others."""
        pieces = self.plan.world.gather(dict(here))
        if pieces is None:
            return dict(here)
        names = dict.fromkeys(name for piece in pieces for name in piece)
        return {name: sum(piece.get(name, 0.0) for piece in pieces) for name in names}

    def energies(self) -> dict[str, float]:
        """Return every present energy that the law and the capabilities compute."""
        return self.all_energies()

    @property
    def updates_share(self) -> float:
        """Ratio of all processes' element updates to the element updates of this one."""
        whole, here = self.plan.clustering, self.plan.clustering.cluster
        rate = 1.0 / whole.steps
        return float((whole.histogram * rate).sum() / max(rate[here].sum(), 1e-300))

    def rates(self) -> dict[str, float]:
        """Return the amount of computation and its speed."""
        updates = self.updates * self.updates_share
        cells = self.seconds["predict"] + self.seconds["correct"]
        return {
            "element_updates": updates,
            "element_updates_per_second": updates / max(self.wall["stepping"], 1e-9),
            "element_updates_per_second_outside_rupture_and_output": updates / max(cells, 1e-9),
            "threads": float(self.threads),
            "processes": float(self.world.size),
            **self._halo_loss(),
        }

    def _halo_loss(self) -> dict[str, float]:
        """Return the errors of the rounded messages that this process has sent, relative to the largest value of each message."""
        if self.exchange is None or self.plan.case.numerics.halo_compression == "exact":
            return {}
        return {"halo_error_largest": self.exchange.loss.largest, "halo_error_rms": self.exchange.loss.rms}

    def timings(self) -> dict[str, float]:
        """Return the seconds spent in each section of the run."""
        return {**self.wall, **{name: spent for name, spent in self.seconds.items() if name != BETWEEN}}

    def take_memory(self) -> None:
        """Start to allocate memory that only time stepping writes to."""
        self.operator.take_memory()

    def run(self, end: float, control: Control) -> None:
        """Advance to ``end`` [s] or until stopped."""
        with self.all_energies.in_steps():
            stepping.run(self, end, control)

    def diagnose(self) -> Diagnosis:
        """Diagnose a blow-up (collective)."""
        return blowup.diagnose(self)

    def state(self) -> Mapping[str, Mapping[str, State]]:
        """Return the arrays that a checkpoint stores in addition to the capabilities' states."""
        return restart.state(self)

    def notes(self) -> dict[str, Json]:
        """Return the notes that identify the run and its progress in a checkpoint."""
        return restart.notes(self)

    def accept(self, notes: restart.Notes, where: str) -> bool:
        """Check that the run can continue from a checkpoint; return True if the clusters are the same."""
        return restart.accept(self, notes, where)

    def restored(self, notes: restart.Notes) -> None:
        """Restore time and counters from the notes of a checkpoint."""
        restart.restored(self, notes)

    # ---- steps of clusters, called by march -----------------------------------------------------------------------

    def predict(self, cluster: int, time: float, step: float, restart: bool) -> None:
        """Predict the step of a cluster at ``time``, of length ``step`` [s]; see ``dg.operators.local_time_stepping.Actions``."""
        op = self.operator
        predict, ends = op.begin if self.march.overlap else op.predict, self.march.ends_within(cluster)
        self._predict(cluster, time, step, lambda: predict(cluster, step, restart, ends))
        self._enter(BETWEEN)

    def ready(self, cluster: int) -> bool:
        """Return True if the messages that the next correction of a cluster reads have arrived."""
        return self.cluster_exchange is None or self.cluster_exchange.ready(cluster)

    def wait(self, clusters: Sequence[int]) -> None:
        """Wait until one of the clusters is ready. Raises RunError if a process does not respond."""
        if self.cluster_exchange:
            self.cluster_exchange.wait_for(clusters)

    def finish(self, cluster: int) -> bool:
        """Advance some of the plain cells of a cluster and return True if cells remain.

        Between the pieces, messages are moved and clusters that have become ready advance. A device gets the next piece
        when it has completed earlier ones.
        """
        self._enter("predict")
        begin, end = self.layout.plain_ranges[cluster]
        far = self.backend.asynchronous
        while self.queued and self.queued[0].done:
            self.queued.popleft()
        more = True
        if not far or len(self.queued) < QUEUED:
            more = self.operator.finish(cluster, max(FAR_PIECE if far else PIECE * self.threads, (end - begin) // 8))
            if far:
                self.queued.append(self.backend.mark())
        self._enter(BETWEEN)
        if more and self.cluster_exchange:
            self.cluster_exchange.poll()
        return more

    def early(self, cluster: int, time: float, step: float) -> bool:
        """Solve friction and fill prescribed faces of a cluster while messages travel; return True if there was work."""
        exchange = self.cluster_exchange
        if cluster in self.solved or not exchange or not exchange.friction_is_local(cluster):
            return False
        self.solved.add(cluster)
        self._call("friction", "fault", cluster, time, step)
        self._enter(BETWEEN)
        return bool(self.calls_of[cluster]["friction"])

    def _enter(self, section: Section) -> None:
        """Switch the timer to a section; launches that were deferred count for the section that issued them."""
        if section == self.section:
            return
        now = clock.perf_counter()
        if self.queue is not None:
            now -= self.queue.computed
            self.queue.section = self.seconds, section
        self.seconds[self.section] = self.seconds.get(self.section, 0.0) + now - self.entered
        self.section, self.entered = section, now

    def _predict(self, cluster: int, time: float, step: float, action: Callable[[], None]) -> None:
        self._call("before predict", "observe", cluster, time, step)
        self._enter("predict")
        action()
        self._call("after predict", "observe", cluster, time, step)

    def correct(self, cluster: int, time: float, step: float) -> None:
        """Solve friction and correct all cells of a cluster for the step at ``time``."""
        self._solve_friction(cluster, time, step)
        self.operator.correct(cluster, step)
        self._corrected(cluster, time, step, False)
        self._stepped(cluster, time, step, False)

    def correct_and_predict(self, cluster: int, time: float, step: float, following: float, restart: bool) -> None:
        """Correct the step at ``time`` and predict the next one, in one pass unless a callback needs the state in between."""
        # time + step, but bitwise equal in all clusters and processes
        then = self.march.moment(self.march.clocks[cluster].corrected)
        if self._splits(cluster, then, following):
            self.correct(cluster, time, step)
            self.predict(cluster, then, following, restart)
            return
        self._solve_friction(cluster, time, step)
        self.operator.correct_observed(cluster, step)
        self._corrected(cluster, time, step, True)
        op, ends = self.operator, self.march.ends_within(cluster)
        both = op.begin_correct_and_predict if self.march.overlap else op.correct_and_predict
        self._predict(cluster, then, following, lambda: both(cluster, following, restart, ends))
        self._stepped(cluster, time, step, True)

    def _stepped(self, cluster: int, time: float, step: float, predicted: bool) -> None:
        """Call 'after step' of the step from ``time``, before or after the following step has been ``predicted``."""
        if self.calls_of[cluster]["after step"]:
            self.predicted = predicted
            with self.backend.independent(readings=True):
                self._call("after step", "observe", cluster, time, step)
            self.predicted = False
        self._enter(BETWEEN)

    predicted = False
    """True if cells have predicted since the correction that 'after step' observes."""

    def _solve_friction(self, cluster: int, time: float, step: float) -> None:
        """Solve friction, unless ``early`` has done so."""
        if cluster in self.solved:
            self.solved.discard(cluster)
        else:
            with self.backend.independent():
                self._call("friction", "fault", cluster, time, step)
        self._enter("correct")

    def _corrected(self, cluster: int, time: float, step: float, observed: bool) -> None:
        """Process the correction of all cells of a cluster, or of the ``observed`` cells only."""
        self._call("inject", "correct", cluster, time, step)
        if self.conservation is not None and self.cluster_exchange is not None:
            self.cluster_exchange.finish_sending(cluster)
            self.conservation(cluster)
        self.operator.change_corrected(cluster, observed)
        self._call("after correct", "observe", cluster, time, step)
        self.updates += self.sizes[cluster]

    def _call(self, when: When, section: Section, cluster: int, time: float, step: float) -> None:
        listed = self.calls_of[cluster][when]
        if not listed or time + step < self.idle[cluster][when]:
            return
        self._enter(section)
        for call in listed:
            if call.act(cluster, time, step) is not False and self.events is not None and call.on_device is not None:
                self.events.append((call, cluster, time, step))
        if not self.backend.asynchronous:  # recorded steps must be identical to be replayed
            self.idle[cluster][when] = min([call.next_due(cluster) for call in listed])

    def _splits(self, cluster: int, time: float, step: float) -> bool:
        """Return True if a callback needs the state between the correction that ends at ``time`` and the next prediction."""
        if time + step < self.whole[cluster]:
            return False
        found = any(call.needs_intermediate_state(cluster, time, step) for call in self.splitting)
        self.whole[cluster] = (
            -np.inf if found else min([call.next_due(cluster) for call in self.splitting], default=np.inf)
        )
        return found

    def _drive(self, cluster: int, time: float, step: float) -> None:
        driven = self.driven
        assert driven is not None
        if isinstance(self.operator, MethodOfLines):
            self.operator.drive = lambda share: driven.write_arriving_traces(time + share * step)
        else:
            driven.fill(cluster, time, step)

    # ---- the field ------------------------------------------------------------------------------------------------

    def dofs_of(self, recorder: ReceiverRecorder, cells: np.ndarray) -> Callable[[int], np.ndarray]:
        """Return a function of the cluster that reads the present degrees of freedom (n, B3, Q) of a recorder's cells."""
        return lambda c: self.operator.dofs(cells[recorder.clusters[c]]).astype(float)

    def set_initial(self, solution: Callable[..., np.ndarray]) -> None:
        """Start from the projection of solution(points (n, 3), 0.0) -> (n, Q)."""
        wave_field.project(self, lambda x: solution(x, 0.0))

    def error(
        self,
        solution: Callable[[np.ndarray, float], np.ndarray],
        inside: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> np.ndarray:
        """Return the relative L2 error (Q,) against solution(points (n, 3), time) -> (n, Q), where ``inside(points)`` if given."""
        return wave_field.error(self, solution, inside)

    def time_errors(self) -> None:
        """Return None: errors of the time steps are not separated from errors of the mesh."""

    def sample(self, points: np.ndarray) -> np.ndarray:
        """Return the present state (n, Q) at points (n, 3); NaN outside the mesh."""
        return wave_field.sample(self, points)

    @property
    def nbytes(self) -> int:
        """Memory of the operator and of the capabilities [bytes]."""
        return int(self.operator.nbytes() + sum(part.nbytes for part in self.parts.values()))


__all__ = ["Solver"]
