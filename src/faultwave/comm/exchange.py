"""Waves to and from other processes: persistent messages straight into the stores they are read from (NUMERICS 4.6).

A channel is what two clusters on two processes owe each other: one message each way, once a step of the slower of both
where it is the faster's sum, else once a step of the sender. Messages are received where kernels read them; the next one
is asked for once a message has been used up, so none is ever overwritten. Whoever sends copies first and goes on.

Every process steps every cluster, those it has no cells of too, and so knows without asking which message comes next.
"""

from __future__ import annotations

import atexit
import time as clock
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from faultwave.comm.world import World

Kind = Literal["wave", "series", "fault"]
"""A wave, of a step or summed over several; what leaves of all derivatives; traction and velocity of all of them."""


@dataclass(frozen=True)
class Channel:
    """Messages between ``cluster`` here and ``other`` on process ``rank``: what is sent from slots (2, n) of the store of
    its kind, in even and odd steps of the slower side, what arrives in the slots from ``first`` on."""

    rank: int
    cluster: int
    other: int
    send: Kind
    send_slots: np.ndarray
    receive: Kind
    first: int

    @property
    def count(self) -> int:
        """Faces."""
        return self.send_slots.shape[1]


class _Line:
    """A channel at work."""

    def __init__(self, channel: Channel, stores: dict[Kind, np.ndarray], world: World):
        self.channel, self.source = channel, stores[channel.send]
        self.out: np.ndarray = np.empty((channel.count, self.source.shape[1]), self.source.dtype)
        into = stores[channel.receive][channel.first : channel.first + channel.count]
        # Tags tell the channels of a pair of processes apart; both name the sender's cluster first.
        tag = lambda a, b: 4 * a + (3 if channel.send == "fault" else b - a + 1)  # noqa: E731
        self.sending = world.mpi.Send_init(self.out, channel.rank, tag(channel.cluster, channel.other))
        self.receiving = world.mpi.Recv_init(into, channel.rank, tag(channel.other, channel.cluster))
        self.arrived = False
        self.receiving.Start()

    def push(self, turn: int) -> int:
        self.sending.Wait()  # of the last time; it is long done unless the other process is a step behind
        np.take(self.source, self.channel.send_slots[turn], 0, self.out)
        self.sending.Start()
        return self.out.nbytes

    def here(self) -> bool:
        if not self.arrived and self.receiving.Test():
            self.arrived = True
        return self.arrived

    def ask(self) -> None:
        self.arrived = False
        self.receiving.Start()

    def free(self) -> None:
        self.receiving.Cancel()
        self.receiving.Wait()
        self.sending.Wait()
        self.receiving.Free()
        self.sending.Free()


class Exchange:
    """All channels of a process. ``rates``: steps of the clusters in ticks; ``limit()``: ticks to the meeting point;
    ``turns``: where each cluster's sums are now, in even or odd slots."""

    def __init__(
        self, world: World, channels: Sequence[Channel], stores: dict[Kind, np.ndarray], rates: Sequence[int],
        limit: Callable[[], int], turns: Sequence[int],
    ):  # fmt: skip
        self.world, self.rates, self.limit, self.turns = world, list(rates), limit, turns
        self.lines = [_Line(c, stores, world) for c in channels]
        clusters = range(len(rates))
        self.equal = [[x for x in self._of(c) if x.channel.other == c] for c in clusters]
        self.slower = [[x for x in self._of(c) if x.channel.other > c] for c in clusters]
        self.faster = [[x for x in self._of(c) if x.channel.other < c] for c in clusters]
        self.predicted = [0] * len(rates)
        self.corrected = [0] * len(rates)
        self.limits = [0] * len(rates)
        self.sent: dict[int, list[int]] = {}  # rank -> messages, bytes
        self.seconds = 0.0
        atexit.register(self.close)  # before MPI ends, which was loaded earlier

    def _of(self, cluster: int) -> list[_Line]:
        return [x for x in self.lines if x.channel.cluster == cluster]

    def border_predicted(self, cluster: int) -> None:
        """The cells at the border have left their waves and traces: send them to equal clusters while the others follow."""
        if self.predicted[cluster] >= self.limits[cluster]:  # the first step after a meeting
            self.predicted[cluster] = self.corrected[cluster] = 0
            self.limits[cluster] = self.limit()
        self.predicted[cluster] = min(self.predicted[cluster] + self.rates[cluster], self.limits[cluster])
        self._push(self.equal[cluster])

    def all_predicted(self, cluster: int) -> None:
        """Derivatives' traces and sums are there, too."""
        self._push(self.faster[cluster])
        if self._ends_slow_step(cluster, self.predicted[cluster]):
            self._push(self.slower[cluster])

    def ready(self, cluster: int) -> bool:
        """Whether everything the next correction of a cluster reads is here; never waits."""
        return all(x.here() for x in self.equal[cluster] + self.faster[cluster] + self.slower[cluster])

    def used(self, cluster: int) -> None:
        """A cluster has corrected its border: ask for what comes next."""
        self.corrected[cluster] = min(self.corrected[cluster] + self.rates[cluster], self.limits[cluster])
        for x in self.equal[cluster] + self.faster[cluster]:
            x.ask()
        if self._ends_slow_step(cluster, self.corrected[cluster]):
            for x in self.slower[cluster]:
                x.ask()

    def _ends_slow_step(self, cluster: int, ticks: int) -> bool:
        if cluster + 1 >= len(self.rates):
            return False
        return ticks % self.rates[cluster + 1] == 0 or ticks >= self.limits[cluster]

    def _push(self, lines: Sequence[_Line]) -> None:
        started = clock.perf_counter()
        for x in lines:
            count = self.sent.setdefault(x.channel.rank, [0, 0])
            count[0] += 1
            count[1] += x.push(self.turns[x.channel.cluster])
        self.seconds += clock.perf_counter() - started

    def close(self) -> None:
        """Give the messages back."""
        for x in self.lines:
            x.free()
        self.lines = []
