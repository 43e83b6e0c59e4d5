"""Steps of clusters in a run: operator, callbacks and messages in the order that local time stepping requests."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from faultwave.backends import Backend
from faultwave.backends.base import Mark
from faultwave.dg.operators.operator import Operator
from faultwave.dg.operators.stepper import Stepper
from faultwave.dg.stepping.callbacks import StepCallbacks
from faultwave.dg.stepping.local_time_stepping import LocalTimeStepping, Overlap, never
from faultwave.dg.stepping.messages import Messages
from faultwave.engine.timeline import UNTIMED, Timeline

PIECE, FAR_PIECE = 1024, 8192
"""Smallest number of cells that each host thread, or a device, steps between two polls for messages."""

QUEUED = 2
"""Largest number of pieces in the queue of a device, which bounds the delay of the work that a message makes possible."""


class ClusterActions:
    """Actions of ``LocalTimeStepping`` on the clusters of this process.

    Attributes
    ----------
    updates : int
        Element updates of this process.
    cluster_updates : list of int
        Element updates of each cluster since the start of this process, without replays.
    predicted : bool
        True if cells have predicted since the correction that 'after step' observes.
    sizes : sequence of int
        Number of cells of each cluster.
    overlap : Overlap or None
        This object, if clusters exchange waves with other processes.
    """

    def __init__(
        self,
        march: LocalTimeStepping,
        operator: Operator,
        stepper: Stepper,
        callbacks: StepCallbacks,
        timeline: Timeline,
        messages: Messages,
        sizes: Sequence[int],
        threads: int,
    ):
        self.march, self.stepper, self.callbacks, self.timeline = march, stepper, callbacks, timeline
        self.exchange, self.conservation = messages.clusters, messages.conservation
        self.backend: Backend = operator.backend
        self.plain_ranges, self.sizes, self.threads = operator.layout.plain_ranges, sizes, threads
        self.updates, self.predicted = 0, False
        self.cluster_updates = [0] * len(sizes)
        self.overlap: Overlap | None = self if self.exchange else None
        self._friction_solved: set[int] = set()  # clusters whose friction is solved but which are not corrected yet
        self._queued: deque[Mark] = deque()  # pieces of plain cells that a device may not have completed

    def advance(self, until: float, pause: Callable[[], bool] = never) -> None:
        """Advance all clusters to a time [s]; see ``LocalTimeStepping.advance``."""
        self.march.advance(until, self, pause)

    def predict(self, cluster: int, time: float, step: float, restart: bool) -> None:
        """Predict the step of a cluster at ``time``, of length ``step`` [s]."""
        predict, ends = self.stepper.begin if self.overlap else self.stepper.predict, self.march.ends_within(cluster)
        self._predict(cluster, time, step, lambda: predict(cluster, step, restart, ends))
        self.timeline.start_timer(UNTIMED)

    def _predict(self, cluster: int, time: float, step: float, action: Callable[[], None]) -> None:
        self.callbacks.call("before predict", "observe", cluster, time, step)
        self.timeline.start_timer("predict", cluster)
        action()
        self.callbacks.call("after predict", "observe", cluster, time, step)

    def correct(self, cluster: int, time: float, step: float) -> None:
        """Solve friction and correct all cells of a cluster for the step at ``time``."""
        self._solve_friction(cluster, time, step)
        self.stepper.correct(cluster, step)
        self._change_corrected(cluster, time, step, observed=False)
        self._observe_step(cluster, time, step, predicted=False)

    def correct_and_predict(self, cluster: int, time: float, step: float, following: float, restart: bool) -> None:
        """Correct the step at ``time`` and predict the next one, in one pass unless a callback needs the state in between."""
        # time + step, but bitwise equal in all clusters and processes
        then = self.march.moment(self.march.clocks[cluster].corrected)
        if self.callbacks.need_intermediate_state(cluster, then, following):
            self.correct(cluster, time, step)
            self.predict(cluster, then, following, restart)
            return
        stepper, ends = self.stepper, self.march.ends_within(cluster)
        self._solve_friction(cluster, time, step)
        stepper.correct_observed(cluster, step)
        self._change_corrected(cluster, time, step, observed=True)
        both = stepper.begin_correct_and_predict if self.overlap else stepper.correct_and_predict
        self._predict(cluster, then, following, lambda: both(cluster, following, restart, ends))
        self._observe_step(cluster, time, step, predicted=True)

    def _solve_friction(self, cluster: int, time: float, step: float) -> None:
        """Solve friction, unless ``advance_local_friction`` has done so."""
        if cluster in self._friction_solved:
            self._friction_solved.discard(cluster)
        else:
            with self.backend.independent():
                self.callbacks.call("friction", "fault", cluster, time, step)
        self.timeline.start_timer("correct", cluster)

    def _change_corrected(self, cluster: int, time: float, step: float, observed: bool) -> None:
        """Process the correction of all cells of a cluster, or of the ``observed`` cells only."""
        self.callbacks.call("inject", "correct", cluster, time, step)
        if self.conservation is not None and self.exchange is not None:
            self.exchange.finish_sending(cluster)
            self.conservation(cluster)
        self.stepper.change_corrected(cluster, observed)
        self.callbacks.call("after correct", "observe", cluster, time, step)
        self.updates += self.sizes[cluster]
        self.cluster_updates[cluster] += self.sizes[cluster]

    def _observe_step(self, cluster: int, time: float, step: float, predicted: bool) -> None:
        """Call 'after step' of the step from ``time``, before or after the following step has been ``predicted``."""
        if self.callbacks.any("after step", cluster):
            self.predicted = predicted
            with self.backend.independent(readings=True):
                self.callbacks.call("after step", "observe", cluster, time, step)
            self.predicted = False
        self.timeline.start_timer(UNTIMED)

    # ---- overlap with messages ------------------------------------------------------------------------------------

    def ready(self, cluster: int) -> bool:
        """Return True if the messages that the next correction of a cluster reads have arrived."""
        return self.exchange is None or self.exchange.ready(cluster)

    def wait(self, clusters: Sequence[int]) -> None:
        """Wait until one of the clusters is ready. Raises RunError if a process does not respond."""
        if self.exchange:
            self.exchange.wait_for(clusters)

    def finish(self, cluster: int) -> bool:
        """Advance some of the plain cells of a cluster and return True if cells remain.

        Between the pieces, messages are moved and clusters that have become ready advance. A device gets the next piece
        when it has completed earlier ones.
        """
        self.timeline.start_timer("predict", cluster)
        begin, end = self.plain_ranges[cluster]
        far = self.backend.capabilities.asynchronous
        while self._queued and self._queued[0].done:
            self._queued.popleft()
        more = True
        if not far or len(self._queued) < QUEUED:
            more = self.stepper.finish(cluster, max(FAR_PIECE if far else PIECE * self.threads, (end - begin) // 8))
            if far:
                self._queued.append(self.backend.mark())
        self.timeline.start_timer(UNTIMED)
        if more and self.exchange:
            self.exchange.poll()
        return more

    def advance_local_friction(self, cluster: int, time: float, step: float) -> bool:
        """Solve friction and fill prescribed faces of a cluster while messages travel; return True if there was work."""
        exchange = self.exchange
        if cluster in self._friction_solved or not exchange or not exchange.friction_is_local(cluster):
            return False
        self._friction_solved.add(cluster)
        self.callbacks.call("friction", "fault", cluster, time, step)
        self.timeline.start_timer(UNTIMED)
        return self.callbacks.any("friction", cluster)
