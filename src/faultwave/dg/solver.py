"""Solver of a plan: kernels and buffers on a backend, stepped by local time stepping, with the plan's capabilities attached."""

from __future__ import annotations

import bisect
import time as clock
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from faultwave import backends
from faultwave.base.errors import Problem, RunError
from faultwave.base.processes import host
from faultwave.base.processes.host import release_freed
from faultwave.base.reuse import reused
from faultwave.base.spans import phase
from faultwave.base.types import Json
from faultwave.comm.progress import ProgressThread, reserve_cores
from faultwave.dg import blowup
from faultwave.dg.checks.accuracy import lowest_resolved
from faultwave.dg.method.forms import Cells
from faultwave.dg.method.outgoing_waves import cluster_places
from faultwave.dg.operators import wave_field
from faultwave.dg.operators.build_layout import Connections, build_layout
from faultwave.dg.operators.layout import MeshLayout, ProcessInterface
from faultwave.dg.operators.method_of_lines import MethodOfLines
from faultwave.dg.operators.prescribed_faces import PrescribedFaces, faces_of, projection
from faultwave.dg.operators.rounding import allows_edge_components, worst_shape
from faultwave.dg.operators.scheme import make_form, make_operator, make_stepper
from faultwave.dg.operators.stepper import AderOperator
from faultwave.dg.operators.wave_field import AllEnergies, sum_over_processes
from faultwave.dg.planning.plan import Plan
from faultwave.dg.restart import Notes, Restart
from faultwave.dg.stepping.callbacks import StepCallbacks
from faultwave.dg.stepping.cluster_actions import ClusterActions
from faultwave.dg.stepping.local_time_stepping import LocalTimeStepping, never
from faultwave.dg.stepping.messages import Messages, open_channels
from faultwave.dg.stepping.replays import Replays
from faultwave.domain import tets
from faultwave.engine.balance import ProcessWork
from faultwave.engine.capability import Callback, State
from faultwave.engine.receivers import ReceiverRecorder
from faultwave.engine.solver import Control, Diagnosis, Progress
from faultwave.engine.timeline import Timeline
from faultwave.observe.dataset import sample_count

LOOK = 1e7
"""Element updates between two checks on a device for non-finite numbers, for each of which the device has to stop."""

SECTIONS = ("predict", "correct", "fault", "observe")
"""Sections of the steps in the manifest's timings."""

UNSEEN = 2.0
"""Seconds of computing between two reports of progress and checks for non-finite numbers, if largest steps are shorter."""


class Solver:
    """Solver of one run.

    Attributes
    ----------
    plan : Plan
        Mesh, material, clusters and capabilities of the run.
    world : World
        Processes of the run.
    backend : Backend
        Hardware that executes the kernels.
    operator : Operator
        Degrees of freedom and constants of the cells.
    layout : Layout
        Positions of the cells in the buffers of the operator.
    stepper : Stepper
        Steps of the operator.
    march : LocalTimeStepping
        Clocks of the clusters.
    actions : ClusterActions
        Steps of clusters with callbacks and messages.
    replays : Replays
        Advance by largest time steps.
    parts : dict of str to capability
        Attached capabilities by name.
    prescribed : PrescribedFaces or None
        Faces with prescribed waves.
    callbacks : StepCallbacks
        Callbacks of the capabilities.
    messages : Messages
        Messages to other processes.
    timeline : Timeline
        Timer of the run.
    monitor : StateMonitor
        Check of the wave field.
    progress : ProgressThread or None
        Thread that moves messages.
    threads : int
        Threads of the backend.
    compiling : float
        Time that the setup has waited for compilers [s].
    wrong : str
        Observation that ends the run, set by the capability that raises ``BlowUp``.
    """

    def __init__(self, plan: Plan, backend: backends.Backend | None = None):
        """Build the solver of a plan; ``backend`` replaces the backend that the case names."""
        started = clock.perf_counter()
        release_freed()  # memory of planning, before more is allocated
        numerics, world = plan.case.numerics, plan.world
        self.plan, self.world = plan, world
        threaded = numerics.progress == "thread" and world.size > 1
        cores = reserve_cores(world, numerics.progress_cores) if threaded else ()
        self.backend = backend or backends.make(
            numerics.backend, numerics.precision, numerics.threads, world.device_number
        )
        self.threads = self.backend.threads
        with host.limit_threads(numerics.threads):
            self.operator = _build_operator(plan, self.backend)
        self.layout = self.operator.layout
        ratios = np.cumprod([1, *plan.clustering.ratios[:-1]])
        self.march = LocalTimeStepping(float(plan.clustering.steps[0]), [int(r) for r in ratios])
        self.parts: dict[str, Any] = {}  # each is used with its own methods
        with phase("attach capabilities"):
            for part in plan.parts:
                self.parts[part.name] = part.attach(self)
        self.prescribed = self._prescribed_faces()
        self.messages = Messages()
        if plan.partition is not None:
            halo, rounding = numerics.halo, numerics.halo_compression
            self.messages = open_channels(world, self.operator, self.march, self.parts, halo, rounding)
        self.stepper = make_stepper(self.operator, self.messages.exchange, self.prescribed)
        queue = self.backend.queue
        if queue is not None and self.messages.exchange is None:  # messages would overtake deferred launches
            queue.defer()
        attach = self.backend.device.attach if self.messages.path and self.backend.device else None
        self.progress = ProgressThread(world, cores, attach) if threaded else None
        self.monitor, self._restart = blowup.StateMonitor(self.operator), Restart(plan, self.operator)
        self.wrong = ""
        self._energies = AllEnergies(self.operator, self.parts, world, lambda: (self.time, self.updates))
        waiting = clock.perf_counter()
        with phase("wait for compilers"):
            self.backend.finish()  # kernels that are being compiled
        self.compiling = clock.perf_counter() - waiting
        release_freed()
        self.timeline = Timeline(SECTIONS, started, queue, self.layout.clusters)
        prescribed = [Callback("friction", self.prescribed.fill)] if self.prescribed else []
        self.callbacks = StepCallbacks(
            self.parts, prescribed, self.layout.clusters, self.timeline, not self.backend.capabilities.asynchronous
        )
        sizes = np.bincount(plan.clustering.cluster, minlength=self.layout.clusters).tolist()
        self.actions = ClusterActions(
            self.march, self.operator, self.stepper, self.callbacks, self.timeline, self.messages, sizes, self.threads
        )
        self.replays = Replays(self.actions, self.operator, self.callbacks, self.messages.exchange is not None)

    def _prescribed_faces(self) -> PrescribedFaces | None:
        """Return the prescribed faces with the boundary values from the capabilities, or None."""
        plan, op = self.plan, self.operator
        cells, faces = np.nonzero(plan.driven & ~plan.solved)
        listed = faces_of(op, cells, faces, plan.geometry.origin(cells))
        points, project = projection(op.order)
        fields = [d for part in self.parts.values() for d in part.drives(listed, points, project)]
        return PrescribedFaces(op, listed, fields, plan.clustering.cluster) if len(cells) else None

    def refresh_callbacks(self) -> None:
        """Collect the callbacks of the capabilities in their present state."""
        self.callbacks.refresh()

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
        return None if self.messages.path is None else str(self.messages.path)

    @property
    def updates(self) -> int:
        """Element updates of this process."""
        return self.actions.updates

    @property
    def wall(self) -> dict[str, float]:
        """Time of the setup and of all steps [s]."""
        return self.timeline.wall

    def finish_reads(self, wait: bool = True) -> None:
        """Let the capabilities process the values read since the last call; called when all clusters are at the same time."""
        with self.observing():
            for part in self.parts.values():
                part.finish_reads(wait)

    def observing(self) -> AbstractContextManager[None]:
        """Count the time spent inside the context as observation."""
        return self.timeline.observing()

    def sum_over_processes(self, here: Mapping[str, float]) -> dict[str, float]:
        """Return the sums over all processes on the first process, and the local values on the others (collective)."""
        return sum_over_processes(self.world, here)

    def energies(self) -> dict[str, float]:
        """Return every present energy that the law and the capabilities compute."""
        return self._energies()

    @property
    def updates_share(self) -> float:
        """Ratio of all processes' element updates to the element updates of this one."""
        whole, here = self.plan.clustering, self.plan.clustering.cluster
        rate = 1.0 / whole.steps
        return float((whole.histogram * rate).sum() / max(rate[here].sum(), 1e-300))

    def rates(self) -> dict[str, float]:
        """Return the amount of computation and its speed."""
        updates = self.updates * self.updates_share
        seconds = self.timeline.seconds
        cells = seconds["predict"] + seconds["correct"]
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
        exchange = self.messages.exchange
        if exchange is None or self.plan.case.numerics.halo_compression == "exact":
            return {}
        return {"halo_error_largest": exchange.loss.largest, "halo_error_rms": exchange.loss.rms}

    def timings(self) -> dict[str, float]:
        """Return the seconds spent in each section of the run."""
        return self.timeline.timings()

    def work(self) -> ProcessWork:
        """Return the time that this process has spent in the steps; that of clusters on a device is not known to the host."""
        timer = self.timeline
        if self.backend.capabilities.asynchronous:
            return ProcessWork(timer.busy, timer.waited)
        clusters = tuple(timer.cluster_seconds()), tuple(self.actions.cluster_updates)
        return ProcessWork(timer.busy, timer.waited, *clusters)

    def take_memory(self) -> None:
        """Start to allocate memory that only time stepping writes to."""
        self.operator.take_memory()

    def advance(self, until: float, pause: Callable[[], bool] = never) -> None:
        """Advance all clusters to a time [s] without the actions between largest steps."""
        self.actions.advance(until, pause)

    def run(self, end: float, control: Control) -> None:
        """Advance to ``end`` [s], or until the run is stopped or over. Raises BlowUp, and RunError if a device fails."""
        try:
            with host.limit_threads(self.threads), self._energies.in_steps(), self.timeline.stepping():
                Loop(self, end, control).run()
        except self.backend.failures as error:
            text = f"{self.backend.described} failed at t = {self.time:g} s: {type(error).__name__}: {error}"
            raise RunError(text) from error

    def diagnose(self) -> Diagnosis:
        """Diagnose a blow-up (collective)."""
        run = blowup.Suspects(self.plan, self.operator, self.parts, self.monitor.last_good, self.time, self.wrong)
        return blowup.diagnose(run)

    def state(self) -> Mapping[str, Mapping[str, State]]:
        """Return the arrays that a checkpoint stores in addition to the capabilities' states."""
        self.finish_reads()
        return self._restart.state()

    def notes(self) -> dict[str, Json]:
        """Return the notes that identify the run and its progress in a checkpoint."""
        return self._restart.notes() | {
            "time": self.time, "updates": self.updates * self.updates_share, "wall": dict(self.wall),
            "seconds": self.timeline.seconds_of_steps(),
        }  # fmt: skip

    def accept(self, notes: Notes, where: str) -> bool:
        """Check that the run can continue from a checkpoint; return True if the clusters are the same."""
        return self._restart.accept(notes, where)

    def restored(self, notes: Notes) -> None:
        """Restore time and counters from the notes of a checkpoint."""
        self.march.time = float(notes["time"])
        self.actions.updates = round(notes["updates"] / self.updates_share)
        self.timeline.restore(notes["wall"], notes["seconds"])

    # ---- the field ------------------------------------------------------------------------------------------------

    def dofs_of(self, recorder: ReceiverRecorder, cells: np.ndarray) -> Callable[[int], np.ndarray]:
        """Return a function of the cluster that reads the present degrees of freedom (n, B3, Q) of a recorder's cells."""
        return lambda c: self.operator.dofs(cells[recorder.clusters[c]]).astype(float)

    def set_initial(self, solution: Callable[..., np.ndarray]) -> None:
        """Start from the projection of solution(points (n, 3), 0.0) -> (n, Q)."""
        wave_field.project(self.operator, self.plan.geometry, lambda x: solution(x, 0.0))

    def error(
        self,
        solution: Callable[[np.ndarray, float], np.ndarray],
        inside: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> np.ndarray:
        """Return the relative L2 error (Q,) against solution(points (n, 3), time) -> (n, Q), where ``inside(points)`` if given."""
        return wave_field.error(self.operator, self.plan.geometry, self.time, solution, inside)

    def time_errors(self) -> None:
        """Return None: errors of the time steps are not separated from errors of the mesh."""

    def sample(self, points: np.ndarray) -> np.ndarray:
        """Return the present state (n, Q) at points (n, 3); NaN outside the mesh."""
        plan = self.plan
        return wave_field.sample(self.operator, plan.mesh, plan.topology, plan.geometry, points)

    @property
    def nbytes(self) -> int:
        """Memory of the operator and of the capabilities [bytes]."""
        return int(self.operator.nbytes() + sum(part.nbytes for part in self.parts.values()))


@phase("arrays and kernels")
def _build_operator(plan: Plan, backend: backends.Backend) -> AderOperator | MethodOfLines:
    """Return the operator of the process's cells, and start to compile its kernels."""
    geo, top, partition, numerics = plan.geometry, plan.topology, plan.partition, plan.case.numerics
    connections = Connections(
        top.neighbours, top.neighbour_faces, plan.clustering.cluster, plan.frictional, plan.stored_derivatives,
        _cells_with_intermediate_state(plan), plan.driven, plan.penalised.faces if plan.penalised else None, plan.solved,
    )  # fmt: skip
    border = partition.border if partition else None
    lanes, parts = max(backend.lanes, backend.fixed_lanes), cluster_places(plan.clustering.ratios)
    layout = reused(_arrange_cells, geo, connections, lanes, border, len(plan.clustering.steps), parts)
    cells = Cells(
        geo.inverse, geo.volume, geo.areas, geo.normals, top.neighbours, top.kinds, plan.frictional, plan.material, plan.walls,
        plan.driven, top.neighbour_faces, partition.beyond if partition else None, plan.penalised, plan.reflection_coefficients,
        partition.cells if partition else None,
    )  # fmt: skip
    (worst,) = plan.world.largest([worst_shape(geo.inverse, backend.dtype)])  # one form for all processes
    form = make_form(numerics, plan.law, plan.time_unit, allows_edge_components(worst))
    cell_work = [part.cell_work for part in plan.parts if part.cell_work is not None]
    flows = any(part.requirements.flows for part in plan.parts)
    return make_operator(numerics, form, backend, layout, cells, partition is None, cell_work, flows)


def _arrange_cells(
    geometry: tets.Geometry,
    connections: Connections,
    lanes: int,
    border: ProcessInterface | None,
    clusters: int,
    parts: int,
) -> MeshLayout:
    """Return the layout of the cells along a space-filling curve; parameters as for ``build_layout``."""
    return build_layout(connections, tets.hilbert_order(geometry.centroids), lanes, border, clusters, parts)


def _cells_with_intermediate_state(plan: Plan) -> np.ndarray:
    """Return the cells (nc,) that correct and predict in separate passes, as others read or change them in between."""
    if plan.partition is None or plan.case.numerics.halo_compression == "exact":
        return plan.observed
    observed = plan.observed.copy()
    observed[plan.partition.border.cell] = True
    return observed


class Loop:
    """Loop over the largest steps of a run until ``end`` [s]."""

    def __init__(self, solver: Solver, end: float, control: Control):
        self.solver, self.end, self.control = solver, end, control
        self.parts = list(solver.parts.values())
        self.begun, self.checked_at = solver.time, solver.time
        self.first = solver.updates
        self.checkpoint_due = self._next_checkpoint()

    def run(self) -> None:
        """Step until the end, a stop by a capability, or a request to stop."""
        solver, march, control = self.solver, self.solver.march, self.control
        solver.finish_reads()
        with solver.observing():
            for part in self.parts:
                part.begin()
        stops, stopping = self._sync_times(), False
        while march.time < self.end * (1 - 1e-12):
            later = bisect.bisect_right(stops, march.time * (1 + 1e-12) + 1e-300)
            stop = stops[later] if later < len(stops) else self.end
            if march.time + march.longest > stop * (1 - 1e-12):
                solver.advance(stop)
            else:
                solver.replays.advance(self._steps_until_action(stop), self._pause())
            solver.finish_reads(wait=False)
            checked = self._check(march.time >= stop * (1 - 1e-12))
            with solver.observing():
                for call in solver.callbacks.by_position["end of largest step"]:
                    call.act(0, march.time, march.longest)
            self._report_progress()
            over = [part.over() for part in self.parts]  # called on all processes, as it is collective
            if any(over):
                break
            stopping = bool(solver.world.largest([control.stop_requested])[0])  # a signal to one process stops all
            if march.time < self.end * (1 - 1e-12) and control.keeps and not stopping:
                self._take_checkpoint(checked)
            if stopping and (not control.keeps or self._samples_complete()):
                if control.keeps:
                    if not checked:
                        solver.monitor.check(solver.world, solver.time)
                    control.checkpoint()
                break
        control.stopped = stopping  # a signal that comes later finds a finished run
        solver.finish_reads()

    def _report_progress(self) -> None:
        solver = self.solver
        spent, updates = solver.timeline.lap(), solver.updates - self.first
        if solver.world.first:
            updates = int(updates * solver.updates_share)
            rest = spent * (self.end - solver.time) / max(solver.time - self.begun, 1e-300)
            self.control.progress(Progress(solver.time, self.end, updates, updates / max(spent, 1e-9), rest))

    def _pause(self) -> Callable[[], bool]:
        """Return a function that requests a look between largest steps: after some time, or if the run is to stop."""
        soon, control = clock.perf_counter() + UNSEEN, self.control
        return lambda: control.stop_requested or clock.perf_counter() > soon

    def _steps_until_action(self, stop: float) -> int:
        """Return the number of largest steps until the next action between them."""
        solver = self.solver
        retained = [self.checkpoint_due] if self.control.keeps else []
        until = min([stop, *retained, *(call.next() for call in solver.callbacks.by_position["end of largest step"])])
        if until <= solver.time:
            return 1
        return max(1, int((until - solver.time) / solver.march.longest + 1e-9))

    def _sync_times(self) -> list[float]:
        """Return the times at which all clusters must meet: the end and, with output.sync, every output time."""
        times = {self.end}
        if self.solver.plan.case.output.sync:
            for part in self.parts:
                if part.interval is not None and part.interval < self.end:
                    times |= {k * part.interval for k in range(1, sample_count(self.end, part.interval))}
        return sorted(t for t in times if self.begun < t <= self.end * (1 + 1e-12))

    # ---- checkpoints ----------------------------------------------------------------------------------------------

    def _next_checkpoint(self) -> float:
        interval = self.control.checkpoint_interval
        return float((np.floor(self.solver.time / interval + 1e-9) + 1) * interval)

    def _take_checkpoint(self, checked: bool) -> None:
        """Take a checkpoint if one is due and all records are complete; the numbers are checked first, also on a device."""
        overdue = self.control.overdue()
        if (self.solver.time >= self.checkpoint_due * (1 - 1e-9) or overdue) and self._samples_complete():
            if not checked:
                self.solver.monitor.check(self.solver.world, self.solver.time)
            self.checkpoint_due = self._next_checkpoint()
            self.control.checkpoint()

    def _samples_complete(self) -> bool:
        """Return True if all records are complete on all processes (collective)."""
        return not self.solver.world.largest([not all(part.samples_complete for part in self.parts)])[0]

    # ---- finite numbers -------------------------------------------------------------------------------------------

    def _check(self, must: bool) -> bool:
        """Check the numbers if it is cheap or if much has been computed since the last one; return True if they were checked."""
        solver = self.solver
        if solver.backend.capabilities.asynchronous and not must:
            whole = solver.plan.clustering
            done = (solver.time - self.checked_at) * float(
                (whole.histogram / whole.steps).sum()
            )  # equal on all processes
            if 0.0 <= done < LOOK:
                return False
        self.checked_at = solver.time
        solver.monitor.check(solver.world, solver.time)
        return True
