"""Receivers on faults: everything about them that does not depend on the numerical method.

A ``FaultReceiverRequest`` holds the receivers of a case: points and fields. The plan of an engine (``FaultReceiverPlan``) adds where
they lie on its fault. ``FaultRecorder`` samples after the steps of each point's own cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultwave.base.errors import InputError, Problems
from faultwave.case.settings.model import Case
from faultwave.case.settings.outputs import FaultReceivers
from faultwave.engine.capability import CapabilityPlan
from faultwave.observe.dataset import FaultFrame, Result, fault_receivers_from_arrays
from faultwave.observe.model import Marks
from faultwave.observe.snapshots.fields import fault_receiver_fields
from faultwave.observe.stations.codes import since
from faultwave.observe.stations.points import read_points
from faultwave.physics.friction.outputs import readable

NAME = "fault_receivers"


@dataclass(frozen=True)
class FaultReceiverRequest:
    """Receivers on faults that a case requests.

    Attributes
    ----------
    case : Case
    points : ndarray (n, 3)
        Places as given [m].
    fields : tuple of str
        Recorded fields.
    units : mapping of str to str
        Units of fields that the friction law defines.
    """

    case: Case
    points: np.ndarray
    fields: tuple[str, ...]
    units: Mapping[str, str]

    @classmethod
    def read(cls, case: Case, problems: Problems) -> FaultReceiverRequest | None:
        """Read the fault receivers of a case and the file that it names; return None if it requests none.

        Unknown fields are added to ``problems``, and none is then recorded.

        Raises
        ------
        InputError
            With every error in the file.
        """
        setting, known = case.output.fault_receivers, readable(case.fault)
        if setting is None:
            return None
        fields: list[str] = []
        try:
            fields = fault_receiver_fields(setting, known.names)
        except InputError as error:
            problems.extend(error.problems)
        units = {name: unit for name, unit in known.units.items() if name in fields}
        return cls(case, read_points(setting), tuple(fields), units)

    @property
    def setting(self) -> FaultReceivers:
        """Settings ``output.fault_receivers`` of the case."""
        setting = self.case.output.fault_receivers
        assert setting is not None
        return setting

    def result(self, time: np.ndarray, values: np.ndarray, located: np.ndarray, frame: FaultFrame) -> Result:
        """Return time series on a fault as a result.

        Parameters
        ----------
        time : ndarray (nt, nr)
            Times of the samples of each receiver [s], NaN where a receiver has fewer.
        values : ndarray (nt, nr, fields)
            Samples.
        located : ndarray (nr, 3)
            Points on the fault [m].
        frame : FaultFrame
            Directions and initial traction at the points.
        """
        attrs = {"units": dict(self.units), **since(self.case.output.origin_time)}
        made = fault_receivers_from_arrays(
            time, values, list(self.fields), located, self.points, frame=frame, attrs=attrs
        )
        return Result(NAME, made)


class FaultReceiverPlan(CapabilityPlan):
    """Base class of the planned fault receivers of an engine, which knows where they lie on its fault."""

    name = NAME
    request: FaultReceiverRequest

    @property
    def places_on_fault(self) -> np.ndarray:
        """Points (n, 3) [m] on the fault of the receivers of all processes."""
        raise NotImplementedError

    def report(self, plan: Any) -> dict[str, list[tuple[str, ...]]]:
        return {"output": [("fault receivers", f"{len(self.request.points)}")]}

    def shapes(self, plan: Any) -> tuple[Marks, ...]:
        return (Marks("fault receivers", self.places_on_fault),)


def report_distant_receivers(
    setting: FaultReceivers, points: np.ndarray, on_fault: np.ndarray, distance: np.ndarray, near: np.ndarray, problems: Problems
) -> None:  # fmt: skip
    """Report fault receivers that lie off the fault: errors beyond the limit of the case, else warnings.

    Parameters
    ----------
    setting : object
        Setting ``output.fault_receivers``.
    points, on_fault : ndarray of shape (n, 3)
        Requested points and the nearest points of the fault [m].
    distance : ndarray of shape (n,)
        Distance between them [m], NaN on other processes.
    near : ndarray of shape (n,)
        Distance above which a warning is issued [m].
    problems : Problems
        Collects errors and warnings.
    """
    limit = np.inf if setting.maximum_distance is None else setting.maximum_distance
    for i in np.flatnonzero(distance > np.minimum(near, limit)):
        x, nearest = (", ".join(f"{v:.6g}" for v in of[i]) for of in (points, on_fault))
        where = f"fault receiver {i + 1} at ({x})"
        what = f"lies {distance[i]:.6g} m off the fault, whose nearest point is ({nearest})"
        if distance[i] > limit:
            problems.error(where, what, f"at most {limit:g} m, output.fault_receivers.maximum_distance")
        else:
            problems.warn(where, f"{what}, and is moved onto it", advice="Choose a point on the fault, or remove it.")


Samples = tuple[np.ndarray, np.ndarray]
"""Times (k,) and values (k, ...)."""


class FaultRecorder:
    """Recorder of every ``every``-th step of each cluster.

    ``read(cluster)`` starts a reading of its receivers, which ``deliver`` passes on later, many at once. Without a ``leader`` the time of
    a sample is the end of the step of its own cluster. With one, all points share the times of that cluster, as in SeisSol's files: a
    point of a slower cluster yields at each of them its value at the end of its own step that contains the time.
    """

    def __init__(
        self,
        clusters: Sequence[np.ndarray],
        every: int,
        quantities: int,
        read: Callable[[int], None],
        leader: int | None = None,
        keeps: bool = True,
    ):
        """Create the recorder; ``keeps`` is False if another process stores the values and here readings are only triggered."""
        self.keeps = keeps
        self.clusters, self.every, self.quantities, self.read, self.leader = clusters, every, quantities, read, leader
        self.count = [0] * len(clusters)
        total = sum(len(c) for c in clusters)
        self.past: list[Samples] = [
            (np.zeros(0), np.zeros((0, quantities)))
        ] * total  # samples of every point before a restart
        self.samples: list[list[Samples]] = [[] for _ in clusters]  # samples since then, by cluster
        # By cluster with points: times of its readings, from the last delivered one on; values of that reading; number of readings in
        # transfer that a restart has invalidated; times of the leader that have no values yet.
        occupied = [c for c, items in enumerate(clusters) if len(items)]
        self.moments = {c: [-np.inf] for c in occupied}
        self.latest = {c: np.full((1, len(clusters[c]), quantities), np.nan) for c in occupied}
        self.stale = dict.fromkeys(occupied, 0)
        self.waiting: dict[int, list[float]] = {c: [] for c in occupied}

    def begin(self, time: float) -> None:
        """Sample every point at the start time [s]."""
        for c in self.moments:
            self._ask(c, time)
        if self.leader is not None:
            self._share(time)

    def _ask(self, cluster: int, time: float) -> None:
        self.read(cluster)
        if self.keeps:
            self.moments[cluster].append(time)

    def _share(self, time: float) -> None:
        """Append a sampling time of the leader for all clusters."""
        for waiting in self.waiting.values() if self.keeps else ():
            waiting.append(time)

    def record(self, cluster: int, time: float, step: float) -> None:
        """Sample after the step of a cluster that began at ``time`` [s]."""
        self.count[cluster] += 1
        due = self.count[cluster] % self.every == 0
        if cluster in self.moments and (due or self.leader is not None):
            self._ask(cluster, time + step)
        if due and cluster == self.leader:
            self._share(time + step)

    def deliver(self, cluster: int, values: np.ndarray) -> None:
        """Accept the next readings (k, n, quantities) of a cluster."""
        useless = min(self.stale[cluster], len(values))
        self.stale[cluster] -= useless
        values = np.concatenate([self.latest[cluster], values[useless:]])
        moments = np.array(self.moments[cluster][: len(values)])
        times, numbers = moments[1:], np.arange(1, len(values))
        if self.leader is not None:
            times = np.array(self.waiting[cluster])
            numbers = np.searchsorted(moments * (1 + 1e-9), times)  # index of the first reading at or after each time
            times, numbers = (x[numbers < len(values)] for x in (times, numbers))
            del self.waiting[cluster][: len(times)]
        if len(times):
            self.samples[cluster].append((times, values[numbers]))
        del self.moments[cluster][: len(values) - 1]
        self.latest[cluster] = values[-1:]

    def reads(self, ahead: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        """Return the steps to be read among the next ``ahead`` steps of every cluster with points, counted from 1.

        The result is empty if a leader requires every step to be read.
        """
        if self.leader is not None:
            return ()  # every step is read
        first = {c: self.every - self.count[c] % self.every for c in self.moments}
        return tuple(tuple(range(first[c], ahead[c] + 1, self.every)) for c in self.moments)

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Return time (nt, nr) [s] and values (nt, nr, nq), padded with NaN; all readings must have been delivered."""
        for c in self.moments:
            self.deliver(c, np.zeros((0, len(self.clusters[c]), self.quantities)))
        lengths = self._lengths()
        time = np.full((lengths.max(initial=0), len(lengths)), np.nan)
        values = np.full((*time.shape, self.quantities), np.nan)
        for i, (t, v) in enumerate(self.past):
            time[: len(t), i], values[: len(t), i] = t, v
        for items, samples in zip(self.clusters, self.samples, strict=True):
            if samples and len(items):
                since, found = (np.concatenate(parts) for parts in zip(*samples, strict=True))
                for i, mine in zip(items, found.swapaxes(0, 1), strict=True):
                    begin, end = lengths[i] - len(since), lengths[i]
                    time[begin:end, i], values[begin:end, i] = since, mine
        return time, values

    def _lengths(self) -> np.ndarray:
        """Return the number of samples of every point."""
        lengths = np.array([len(t) for t, _ in self.past], np.int64)
        for items, samples in zip(self.clusters, self.samples, strict=True):
            lengths[items] += sum(len(t) for t, _ in samples)
        return lengths

    def state(self) -> dict[str, np.ndarray]:
        """Return everything recorded and the state of each cluster, as input of ``restore``."""
        time, values = self.arrays()
        recent_time, recent = np.zeros(len(self.past)), np.zeros((len(self.past), self.quantities))
        for c, moments in self.moments.items():
            recent_time[self.clusters[c]], recent[self.clusters[c]] = moments[-1], self.latest[c][0]
        lengths = self._lengths()
        return {
            "time": time, "values": values, "lengths": lengths, "count": np.array(self.count), "recent_time": recent_time,
            "recent": recent,
        }  # fmt: skip

    def restore(self, state: Mapping[str, np.ndarray], same_clusters: bool) -> None:
        """Continue from ``state``; if the clusters have changed, each restarts counting its steps."""
        self.past = [(state["time"][:n, i], state["values"][:n, i]) for i, n in enumerate(state["lengths"])]
        self.samples = [[] for _ in self.clusters]
        self.count = state["count"].tolist() if same_clusters else [0] * len(self.clusters)
        for c, moments in self.moments.items():
            items = self.clusters[c]
            self.stale[c] += len(moments) - 1
            self.moments[c], self.waiting[c] = [float(state["recent_time"][items[0]])], []
            self.latest[c] = state["recent"][items][None]
