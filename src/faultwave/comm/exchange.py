"""Exchange of waves between processes on meshes: for clusters with local time steps, and for stages of the method of lines.

A channel joins two clusters on two processes: one message each way, once a step of the slower of both where the faster one sends the sum of
its waves, else once a step of the sender. Messages are received where kernels read them, and the next is let come once a message has been
used, so that none is ever overwritten. A sender packs first and goes on; two messages of a channel may be on their way, so that nobody
waits for a process that is less than a step behind. A device packs while it steps the cells behind the border; its message leaves when it
is found packed, at the latest before the next correction.

Every process steps every cluster, those it has no cells of too, and so knows without asking which message comes next.
"""

from __future__ import annotations

import time as clock
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from faultwave.comm.compression import Loss
from faultwave.comm.messages import Message, Receive, Send, free, wait
from faultwave.comm.packing import Place, StoreRows
from faultwave.comm.world import World

Kind = Literal["wave", "fault", "shown"]
"""A wave, of a step, summed over several, or of the parts of one; series of traction and velocity at a fault; what a cell shows of its
state where jumps are penalised."""

WORDS: dict[Kind, str] = {
    "wave": "waves",
    "fault": "traction and velocity at the fault",
    "shown": "states beside penalised faces",
}
"""As errors name them."""


@dataclass(frozen=True)
class Channel:
    """Messages between ``cluster`` here and ``other`` on process ``rank``: what is sent from rows (2, n) of the store of
    its kind, in even and odd steps of the slower side, what arrives in the rows from ``first`` on: ``arriving`` of them, or as many.
    A face has one row, or those of all parts of a step."""

    rank: int
    cluster: int
    other: int
    send: Kind
    send_rows: np.ndarray
    receive: Kind
    first: int
    cells: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))  # and faces whose waves are sent
    faces: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    arriving: int = 0

    @property
    def count(self) -> int:
        """Rows that are sent."""
        return self.send_rows.shape[1]

    @property
    def received(self) -> int:
        """Rows that arrive."""
        return self.arriving or self.count


class _Line:
    """A channel at work: two messages that are sent in turn, one or two that are received in turn."""

    def __init__(
        self, channel: Channel, stores: dict[Kind, StoreRows], mpi: Any, rounding: str, loss: Loss, errors: Place | None
    ):
        self.channel = channel
        rounding = rounding if channel.send == "wave" else "exact"  # friction sees every digit
        # Tags tell the channels of a pair of processes apart; both name the sender's cluster first.
        group = {"fault": 3, "shown": 4}.get(channel.send, 0)
        tag = lambda a, b: 8 * a + group + (0 if group == 3 else b - a + 1)  # noqa: E731
        rank, here, there = channel.rank, channel.cluster, channel.other
        rows = stores[channel.send]
        sources = [rows.source(channel.send_rows, rounding, loss, errors) for _ in range(2)]
        targets = stores[channel.receive].targets(channel.first, channel.received, rounding)
        what = "the {} of cluster {}"
        sent, received = what.format(WORDS[channel.send], here), what.format(WORDS[channel.receive], there)
        self.sends = [Send(mpi, rank, tag(here, there), x, sent) for x in sources]
        self.receives = [Receive(mpi, rank, tag(there, here), x, received) for x in targets]
        self.packing = False  # whether a message waits to be sent
        self.receives[0].start()

    @property
    def sending(self) -> Send:
        """The message that is sent next."""
        return self.sends[0]

    @property
    def receiving(self) -> Receive:
        """The message that comes next, or has come."""
        return self.receives[0]

    @property
    def messages(self) -> list[Message]:
        return [*self.receives, *self.sends]

    def pack(self, parity: int) -> None:
        self.sending.pack(parity)
        self.packing = True

    def send(self) -> int:
        """Send what was packed; how many bytes."""
        nbytes = self.sending.start()
        self.sends.reverse()
        self.packing = False
        return nbytes

    def receive_next(self) -> None:
        """What came has been used: let the next message come."""
        self.receives.append(self.receives.pop(0))
        self.receiving.start()


class ChannelExchange:
    """All channels of a process; this much of an exchange knows nothing of steps. ``rounding``: how waves are compressed; ``errors``: where
    what that takes from the waves of a channel is left."""

    def __init__(
        self, world: World, channels: Sequence[Channel], stores: dict[Kind, StoreRows], rounding: str = "exact",
        errors: Callable[[Channel], Place] | None = None,
    ):  # fmt: skip
        self.loss = Loss()
        mpi = world.mpi.Dup()  # apart from all other messages: another run of this process may have the same tags
        self.lines: list[_Line] = []
        for c in channels:
            place = errors(c) if errors is not None and c.send == "wave" else None
            self.lines.append(_Line(c, stores, mpi, rounding, self.loss, place))
        self.sent: dict[int, list[int]] = {}  # rank -> messages, bytes
        self.seconds = 0.0  # of packing and sending
        self.calls = {name: [0, 0.0] for name in ("send", "test", "receive")}  # how often, seconds
        self.waited = 0.0  # seconds in which nothing else was done
        self.delay: Callable[[], float] | None = None  # how late [s] the next message is to be, to see what is hidden
        # At the latest before MPI ends, which was loaded earlier.
        weakref.finalize(self, free, [m for x in self.lines for m in x.messages])

    def wait(self) -> None:
        """Return when everything that was sent to this process is here. Raises RunError where a process is silent."""
        self._send_packed(self.lines, must=True)
        missing = list(self.lines)

        def done() -> bool:
            missing[:] = [x for x in missing if not x.receiving.done(self.delay)]
            return not missing

        self.waited += wait(done, lambda: [x.receiving for x in missing])

    def _pack_and_send(self, lines: Sequence[_Line], parities: Sequence[int]) -> None:
        """Pack what the clusters have left, and send what of it is packed at once."""
        self._send_packed(lines, must=True)
        self._wait_for_room(lines)
        started = clock.perf_counter()
        for x in lines:
            x.pack(parities[x.channel.cluster])
        self.seconds += clock.perf_counter() - started
        self._send_packed(lines)

    def _wait_for_room(self, lines: Sequence[_Line]) -> None:
        """Return when the next messages may be packed: at once unless a process is more than a step behind. Messages of other lines leave
        meanwhile: that process may wait for them."""
        full = list(lines)

        def done() -> bool:
            full[:] = [x for x in full if not x.sending.done()]
            if full:
                self._send_packed(self.lines)
            return not full

        self.waited += wait(done, lambda: [x.sending for x in full])

    def _send_packed(self, lines: Sequence[_Line], must: bool = False) -> None:
        """Send what is packed of what has not been sent; ``must``: wait for the rest and send it, too."""
        going = [x for x in lines if x.packing and (must or x.sending.packed)]
        started = clock.perf_counter()
        for x in going:
            count = self.sent.setdefault(x.channel.rank, [0, 0])
            count[0] += 1
            count[1] += x.send()
        if going:
            self.seconds += clock.perf_counter() - started
            self._called("send", len(going), started)

    def _receive_next(self, lines: Sequence[_Line]) -> None:
        started = clock.perf_counter()
        for x in lines:
            x.receive_next()
        self._called("receive", len(lines), started)

    def _called(self, name: str, times: int, started: float) -> None:
        call = self.calls[name]
        call[0] += times
        call[1] += clock.perf_counter() - started


class ClusterExchange(ChannelExchange):
    """Channels of clusters. ``rates``: steps of the clusters in ticks; ``limit()``: ticks to the next time at which all clusters meet;
    ``parities``: whether each cluster's sums are in the even (0) or odd (1) rows now."""

    def __init__(
        self, world: World, channels: Sequence[Channel], stores: dict[Kind, StoreRows], rates: Sequence[int],
        limit: Callable[[], int], parities: Sequence[int], rounding: str = "exact",
        errors: Callable[[Channel], Place] | None = None,
    ):  # fmt: skip
        super().__init__(world, channels, stores, rounding, errors)
        self.rates, self.limit, self.parities = list(rates), limit, parities
        clusters = range(len(rates))
        self.equal = [[x for x in self._of(c) if x.channel.other == c] for c in clusters]
        self.slower = [[x for x in self._of(c) if x.channel.other > c] for c in clusters]
        self.faster = [[x for x in self._of(c) if x.channel.other < c] for c in clusters]
        self.predicted = [0] * len(rates)  # ticks since the last meeting
        self.corrected = [0] * len(rates)
        self.limits = [0] * len(rates)

    def _of(self, cluster: int) -> list[_Line]:
        return [x for x in self.lines if x.channel.cluster == cluster]

    def border_predicted(self, cluster: int) -> None:
        """The cells at the border have predicted: send their waves, traces and sums while the others follow."""
        if self.predicted[cluster] >= self.limits[cluster]:  # the first step after a meeting
            self.predicted[cluster] = self.corrected[cluster] = 0
            self.limits[cluster] = self.limit()
        self.predicted[cluster] = min(self.predicted[cluster] + self.rates[cluster], self.limits[cluster])
        self._pack_and_send(self._due(cluster, self.predicted[cluster]), self.parities)

    def border_corrected(self, cluster: int) -> None:
        """The cells at the border have corrected, which used the messages: let the next ones come."""
        self.corrected[cluster] = min(self.corrected[cluster] + self.rates[cluster], self.limits[cluster])
        self._receive_next(self._due(cluster, self.corrected[cluster]))

    def _due(self, cluster: int, ticks: int) -> list[_Line]:
        """Channels with a message each way for the step that ends then."""
        lines = self.equal[cluster] + self.faster[cluster]
        return lines + self.slower[cluster] if self._ends_slow_step(cluster, ticks) else lines

    def _ends_slow_step(self, cluster: int, ticks: int) -> bool:
        if cluster + 1 >= len(self.rates):
            return False
        return ticks % self.rates[cluster + 1] == 0 or ticks >= self.limits[cluster]

    def friction_is_local(self, cluster: int) -> bool:
        """Whether friction of a cluster needs no messages: no fault face lies between it and another process."""
        return all(x.channel.send != "fault" for x in self.equal[cluster])

    def poll(self) -> None:
        """Let MPI move what it can; between pieces of work."""
        self._send_packed(self.lines)
        started = clock.perf_counter()
        for x in self.lines:
            x.receiving.done(self.delay)
        self._called("test", len(self.lines), started)

    def finish_sending(self, cluster: int) -> None:
        """Return when all waves of the cluster's step are on their way, so that what rounding took from them is known."""
        self._send_packed(self._of(cluster), must=True)

    def ready(self, cluster: int) -> bool:
        """Whether everything that the next correction of a cluster reads is here; never waits."""
        lines = self._read(cluster)
        self._send_packed(self.lines)  # those of other clusters, too: somebody may wait for them while this one waits
        if not lines:
            return True
        if any(x.packing for x in lines):
            return False
        started = clock.perf_counter()
        found = all(x.receiving.done(self.delay) for x in lines)
        self._called("test", 1, started)
        return found

    def wait_for(self, clusters: Iterable[int]) -> None:
        """Return when one of the clusters is ``ready``. Raises RunError where a process is silent."""
        clusters = list(clusters)
        wait(lambda: any(self.ready(c) for c in clusters), lambda: self._missing(clusters))

    def _missing(self, clusters: Sequence[int]) -> list[Message]:
        """Messages that corrections of clusters wait for."""
        return [x.receiving for c in clusters for x in self._read(c) if not x.receiving.done(self.delay)]

    def _read(self, cluster: int) -> list[_Line]:
        """Channels whose messages a correction reads."""
        return self.equal[cluster] + self.faster[cluster] + self.slower[cluster]


class StageExchange(ChannelExchange):
    """Channels of the method of lines: every stage reads the traces that the others publish for it. One cluster, nothing ahead of time."""

    def send(self) -> None:
        """The traces of this stage are published: send them."""
        self._pack_and_send(self.lines, (0,))

    def receive_next(self) -> None:
        """A stage has used the traces: let those of the next come."""
        self._receive_next(self.lines)


__all__ = ["Channel", "ChannelExchange", "ClusterExchange", "Kind", "StageExchange"]
