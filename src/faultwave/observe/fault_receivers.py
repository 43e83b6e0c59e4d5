"""Histories at points on the fault, sampled after the steps of the point's own cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from faultwave.base.errors import Problems


def tell_moved(
    setting: Any, points: np.ndarray, on_fault: np.ndarray, distance: np.ndarray, near: np.ndarray, problems: Problems
) -> None:  # fmt: skip
    """Errors of points (n, 3) farther from the fault, where the nearest ones are ``on_fault`` (n, 3), than the case's limit; warnings of
    those that are moved farther than ``near`` (n,) [m]. NaN distances are another process's."""
    limit = np.inf if setting.maximum_distance is None else setting.maximum_distance
    for i in np.flatnonzero(distance > np.minimum(near, limit)):
        x, nearest = (", ".join(f"{v:.6g}" for v in of[i]) for of in (points, on_fault))
        where = f"fault receiver {i + 1} at ({x})"
        what = f"lies {distance[i]:.6g} m off the fault, whose nearest point is ({nearest})"
        if distance[i] > limit:
            problems.error(where, what, f"at most {limit:g} m, output.fault_receivers.maximum_distance")
        else:
            problems.warn(where, f"{what}, and is moved onto it", advice="Give a point of the fault, or leave it out.")


Samples = tuple[np.ndarray, np.ndarray]
"""Times (k,) and values (k, ...)."""


class FaultRecorder:
    """Every ``every``-th step of each cluster; ``read(cluster)`` asks for a reading of its receivers, which ``deliver`` hands over later,
    many at once.

    Without a ``leader`` a sample's time is the end of the step of its own cluster. With one all points share the times of that cluster,
    as in SeisSol's files: a point of a slower cluster gives at each of them its value at the end of its own step that contains the time.
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
        """``keeps``: whether values come here; else readings are only asked for, in the steps in which their owners ask for them."""
        self.keeps = keeps
        self.clusters, self.every, self.quantities, self.read, self.leader = clusters, every, quantities, read, leader
        self.count = [0] * len(clusters)
        total = sum(len(c) for c in clusters)
        self.past: list[Samples] = [
            (np.zeros(0), np.zeros((0, quantities)))
        ] * total  # of every point, before a restart
        self.samples: list[list[Samples]] = [[] for _ in clusters]  # since then, of a cluster's points at once
        # Of each cluster with points: when its readings were taken, from the last one that is here on; the values of that one; readings on
        # their way that a restart has made useless; the leader's times that no value is here for yet.
        occupied = [c for c, items in enumerate(clusters) if len(items)]
        self.moments = {c: [-np.inf] for c in occupied}
        self.latest = {c: np.full((1, len(clusters[c]), quantities), np.nan) for c in occupied}
        self.stale = dict.fromkeys(occupied, 0)
        self.waiting: dict[int, list[float]] = {c: [] for c in occupied}

    def begin(self, time: float) -> None:
        """Sample every point at the start."""
        for c in self.moments:
            self._ask(c, time)
        if self.leader is not None:
            self._share(time)

    def _ask(self, cluster: int, time: float) -> None:
        self.read(cluster)
        if self.keeps:
            self.moments[cluster].append(time)

    def _share(self, time: float) -> None:
        """A time of the leader, with all clusters."""
        for waiting in self.waiting.values() if self.keeps else ():
            waiting.append(time)

    def record(self, cluster: int, time: float, step: float) -> None:
        """After the step from ``time`` of a cluster."""
        self.count[cluster] += 1
        due = self.count[cluster] % self.every == 0
        if cluster in self.moments and (due or self.leader is not None):
            self._ask(cluster, time + step)
        if due and cluster == self.leader:
            self._share(time + step)

    def deliver(self, cluster: int, values: np.ndarray) -> None:
        """The next readings (k, n, quantities) that were asked for of a cluster."""
        useless = min(self.stale[cluster], len(values))
        self.stale[cluster] -= useless
        values = np.concatenate([self.latest[cluster], values[useless:]])
        moments = np.array(self.moments[cluster][: len(values)])
        times, numbers = moments[1:], np.arange(1, len(values))
        if self.leader is not None:
            times = np.array(self.waiting[cluster])
            numbers = np.searchsorted(moments * (1 + 1e-9), times)  # the first reading that has reached each
            times, numbers = (x[numbers < len(values)] for x in (times, numbers))
            del self.waiting[cluster][: len(times)]
        if len(times):
            self.samples[cluster].append((times, values[numbers]))
        del self.moments[cluster][: len(values) - 1]
        self.latest[cluster] = values[-1:]

    def reads(self, ahead: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        """Which of the next steps are read, of every cluster with points those among its next ``ahead``."""
        if self.leader is not None:
            return ()  # every one
        first = {c: self.every - self.count[c] % self.every for c in self.moments}
        return tuple(tuple(range(first[c], ahead[c] + 1, self.every)) for c in self.moments)

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """time (nt, nr) and values (nt, nr, nq), padded with NaN, once all readings are here."""
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
        """How many samples every point has."""
        lengths = np.array([len(t) for t, _ in self.past], np.int64)
        for items, samples in zip(self.clusters, self.samples, strict=True):
            lengths[items] += sum(len(t) for t, _ in samples)
        return lengths

    def state(self) -> dict[str, np.ndarray]:
        """Everything recorded, and where each cluster stands: what ``restore`` takes."""
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
        """Go on from ``state``; where the clusters are others, each counts its steps anew."""
        self.past = [(state["time"][:n, i], state["values"][:n, i]) for i, n in enumerate(state["lengths"])]
        self.samples = [[] for _ in self.clusters]
        self.count = state["count"].tolist() if same_clusters else [0] * len(self.clusters)
        for c, moments in self.moments.items():
            items = self.clusters[c]
            self.stale[c] += len(moments) - 1
            self.moments[c], self.waiting[c] = [float(state["recent_time"][items[0]])], []
            self.latest[c] = state["recent"][items][None]
