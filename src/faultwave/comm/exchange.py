"""Exchange of waves between processes: on meshes for each scheme of time stepping, and the halos of grid blocks.

A channel joins two clusters on two processes. It carries one message each way, once per step of the slower cluster if the faster one sends
the sum of its waves, otherwise once per step of the sender. Messages arrive where kernels read them, and the next receive is posted after a
message has been used, so none is overwritten. A sender packs first and continues; two messages of a channel may be in flight, so no
process waits for one that is less than a step behind. A device packs while it steps the interior cells; its message leaves once packing has
finished, at the latest before the next correction.

Every process steps every cluster, even one without local cells, and so knows which message comes next without communication.
"""

from __future__ import annotations

import time as clock
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from faultwave.base.spans import record
from faultwave.comm.compression import CompressionLoss
from faultwave.comm.messages import Message, Receive, Send, free, wait, wait_all
from faultwave.comm.packing import Place, StoreRows, box_source, box_target
from faultwave.comm.world import World

if TYPE_CHECKING:
    from mpi4py import MPI
    from numpy.typing import DTypeLike


Kind = Literal["wave", "fault", "shown"]
"""Content of a message.

- ``'wave'``: waves of a step, summed over several steps, or of parts of one step.
- ``'fault'``: series of traction and velocity at a fault.
- ``'shown'``: states of cells next to faces whose jumps are penalised.
"""

CONTENT_NAMES: dict[Kind, str] = {
    "wave": "waves",
    "fault": "traction and velocity at the fault",
    "shown": "states next to penalised faces",
}
"""Content of messages in the wording of errors."""


@dataclass(frozen=True)
class Channel:
    """Messages between two clusters on two processes; a face has one row, or one row for each part of a step.

    Attributes
    ----------
    rank : int
        Rank of the other process.
    cluster, other : int
        Cluster here and on the other process.
    send, receive : Kind
        Content of sent and received messages, which selects the store.
    send_rows : ndarray of int, shape (2, n)
        Rows of the store that are sent after even and odd steps of the slower cluster.
    first : int
        First row of the store that receives.
    cells, faces : ndarray of int
        Cells and local faces whose waves are sent.
    arriving : int
        Number of received rows, 0 if it equals the number of sent rows.
    """

    rank: int
    cluster: int
    other: int
    send: Kind
    send_rows: np.ndarray
    receive: Kind
    first: int
    cells: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    faces: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    arriving: int = 0

    @property
    def count(self) -> int:
        """Number of rows that are sent."""
        return self.send_rows.shape[1]

    @property
    def received(self) -> int:
        """Number of rows that arrive."""
        return self.arriving or self.count


class _ActiveChannel:
    """Active channel with two alternating send buffers, and one or two receive buffers."""

    def __init__(
        self,
        channel: Channel,
        stores: dict[Kind, StoreRows],
        mpi: MPI.Comm,
        rounding: str,
        loss: CompressionLoss,
        errors: Place | None,
    ):
        self.channel = channel
        rounding = rounding if channel.send == "wave" else "exact"  # friction needs full precision
        # Tags distinguish the channels of a pair of processes; both sides name the sender's cluster first.
        group = {"fault": 3, "shown": 4}.get(channel.send, 0)
        tag = lambda a, b: 8 * a + group + (0 if group == 3 else b - a + 1)  # noqa: E731
        rank, here, there = channel.rank, channel.cluster, channel.other
        rows = stores[channel.send]
        sources = [rows.source(channel.send_rows, rounding, loss, errors) for _ in range(2)]
        targets = stores[channel.receive].targets(channel.first, channel.received, rounding)
        what = "the {} of cluster {}"
        sent, received = (
            what.format(CONTENT_NAMES[channel.send], here),
            what.format(CONTENT_NAMES[channel.receive], there),
        )
        self.sends = [Send(mpi, rank, tag(here, there), x, sent) for x in sources]
        self.receives = [Receive(mpi, rank, tag(there, here), x, received) for x in targets]
        self.packing = False  # True if a packed message has not been sent
        self.receives[0].start()

    @property
    def sending(self) -> Send:
        """Message that is sent next."""
        return self.sends[0]

    @property
    def receiving(self) -> Receive:
        """Message that arrives next, or has arrived."""
        return self.receives[0]

    @property
    def messages(self) -> list[Message]:
        return [*self.receives, *self.sends]

    def pack(self, parity: int) -> None:
        self.sending.pack(parity)
        self.packing = True

    def send(self) -> int:
        """Send the packed message and return its size [bytes]."""
        nbytes = self.sending.start()
        self.sends.reverse()
        self.packing = False
        return nbytes

    def receive_next(self) -> None:
        """Post the next receive, after the last message has been used."""
        self.receives.append(self.receives.pop(0))
        self.receiving.start()


class ChannelExchange:
    """Channels of a process, independent of time steps.

    Parameters
    ----------
    world : World
        Processes of the run.
    channels : sequence of Channel
        Channels of this process.
    stores : dict of Kind to StoreRows
        Stores that messages are read from and written to.
    rounding : str
        Compression of waves: 'exact' or the name of a codec.
    errors : callable, optional
        ``errors(channel)`` returns the place where the compression errors of a channel are stored.
    """

    def __init__(
        self, world: World, channels: Sequence[Channel], stores: dict[Kind, StoreRows], rounding: str = "exact",
        errors: Callable[[Channel], Place] | None = None,
    ):  # fmt: skip
        self.loss = CompressionLoss()
        mpi = world.mpi.Dup()  # separate from all other messages, as another run of this process may use the same tags
        self.lines: list[_ActiveChannel] = []
        for c in channels:
            place = errors(c) if errors is not None and c.send == "wave" else None
            self.lines.append(_ActiveChannel(c, stores, mpi, rounding, self.loss, place))
        self.sent: dict[int, list[int]] = {}  # rank -> number of messages and bytes
        self.seconds = 0.0  # time of packing and sending [s]
        self.calls = {name: [0, 0.0] for name in ("send", "test", "receive")}  # MPI calls: number and time [s]
        self.waited = 0.0  # idle time [s]
        self.delay: Callable[[], float] | None = None  # artificial delay [s] of the next message, to measure overlap
        # Runs at the latest before MPI is finalised, because MPI was imported earlier.
        weakref.finalize(self, free, [m for x in self.lines for m in x.messages])

    def wait(self) -> None:
        """Wait until all messages to this process have arrived. Raises RunError if a process does not respond."""
        self._send_packed(self.lines, must=True)
        missing = list(self.lines)

        def done() -> bool:
            missing[:] = [x for x in missing if not x.receiving.done(self.delay)]
            return not missing

        self.waited += wait(done, lambda: [x.receiving for x in missing])

    def _pack_and_send(self, lines: Sequence[_ActiveChannel], parities: Sequence[int]) -> None:
        """Pack the clusters' results, and send those messages that are packed at once."""
        self._send_packed(lines, must=True)
        self._wait_for_send_buffers(lines)
        started = clock.perf_counter()
        for x in lines:
            x.pack(parities[x.channel.cluster])
        packed = clock.perf_counter()
        self.seconds += packed - started
        record("pack messages", started, packed)
        self._send_packed(lines)

    def _wait_for_send_buffers(self, lines: Sequence[_ActiveChannel]) -> None:
        """Wait until the next messages can be packed, which is at once unless a process is more than a step behind.

        Messages of other channels are sent meanwhile, because the other process may wait for them.
        """
        full = list(lines)

        def done() -> bool:
            full[:] = [x for x in full if not x.sending.done()]
            if full:
                self._send_packed(self.lines)
            return not full

        self.waited += wait(done, lambda: [x.sending for x in full])

    def _send_packed(self, lines: Sequence[_ActiveChannel], must: bool = False) -> None:
        """Send messages that are packed but not sent; with ``must``, finish packing and send all."""
        going = [x for x in lines if x.packing and (must or x.sending.packed)]
        started = clock.perf_counter()
        for x in going:
            count = self.sent.setdefault(x.channel.rank, [0, 0])
            count[0] += 1
            count[1] += x.send()
        if going:
            self.seconds += clock.perf_counter() - started
            self._called("send", len(going), started)

    def _receive_next(self, lines: Sequence[_ActiveChannel]) -> None:
        started = clock.perf_counter()
        for x in lines:
            x.receive_next()
        self._called("receive", len(lines), started)

    def _called(self, name: str, times: int, started: float) -> None:
        call = self.calls[name]
        call[0] += times
        call[1] += clock.perf_counter() - started


class ClusterExchange(ChannelExchange):
    """Channels of clusters with local time stepping.

    Parameters
    ----------
    rates : sequence of int
        Step of each cluster in ticks.
    limit : callable
        ``limit()`` returns the ticks to the next time that all clusters reach together.
    parities : sequence of int
        Current buffer of each cluster's wave sums: even (0) or odd (1) rows.
    """

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
        self.predicted = [0] * len(rates)  # ticks since all clusters last met
        self.corrected = [0] * len(rates)
        self.limits = [0] * len(rates)

    def _of(self, cluster: int) -> list[_ActiveChannel]:
        return [x for x in self.lines if x.channel.cluster == cluster]

    def border_predicted(self, cluster: int) -> None:
        """Send waves, traces and sums of the border cells, which have been predicted, while the other cells follow."""
        if self.predicted[cluster] >= self.limits[cluster]:  # first step after all clusters met
            self.predicted[cluster] = self.corrected[cluster] = 0
            self.limits[cluster] = self.limit()
        self.predicted[cluster] = min(self.predicted[cluster] + self.rates[cluster], self.limits[cluster])
        self._pack_and_send(self._due(cluster, self.predicted[cluster]), self.parities)

    def border_corrected(self, cluster: int) -> None:
        """Post the next receives, after the border cells have been corrected with the last messages."""
        self.corrected[cluster] = min(self.corrected[cluster] + self.rates[cluster], self.limits[cluster])
        self._receive_next(self._due(cluster, self.corrected[cluster]))

    def _due(self, cluster: int, ticks: int) -> list[_ActiveChannel]:
        """Return the channels with a message each way for the step that ends at ``ticks``."""
        lines = self.equal[cluster] + self.faster[cluster]
        return lines + self.slower[cluster] if self._ends_slow_step(cluster, ticks) else lines

    def _ends_slow_step(self, cluster: int, ticks: int) -> bool:
        if cluster + 1 >= len(self.rates):
            return False
        return ticks % self.rates[cluster + 1] == 0 or ticks >= self.limits[cluster]

    def friction_is_local(self, cluster: int) -> bool:
        """Return True if friction of a cluster needs no messages, because no fault face adjoins another process."""
        return all(x.channel.send != "fault" for x in self.equal[cluster])

    def poll(self) -> None:
        """Let MPI progress between pieces of work."""
        self._send_packed(self.lines)
        started = clock.perf_counter()
        for x in self.lines:
            x.receiving.done(self.delay)
        self._called("test", len(self.lines), started)

    def finish_sending(self, cluster: int) -> None:
        """Wait until all waves of the cluster's step have been sent, so that their compression errors are known."""
        self._send_packed(self._of(cluster), must=True)

    def ready(self, cluster: int) -> bool:
        """Return True if all messages for the next correction of a cluster have arrived; never waits."""
        lines = self._read(cluster)
        self._send_packed(self.lines)  # also of other clusters, whose receiver may wait while this process waits
        if not lines:
            return True
        if any(x.packing for x in lines):
            return False
        started = clock.perf_counter()
        found = all(x.receiving.done(self.delay) for x in lines)
        self._called("test", 1, started)
        return found

    def wait_for(self, clusters: Iterable[int]) -> None:
        """Wait until one of the clusters is ``ready``. Raises RunError if a process does not respond."""
        clusters = list(clusters)
        wait(lambda: any(self.ready(c) for c in clusters), lambda: self._missing(clusters))

    def _missing(self, clusters: Sequence[int]) -> list[Message]:
        """Return the messages that corrections of the clusters wait for."""
        return [x.receiving for c in clusters for x in self._read(c) if not x.receiving.done(self.delay)]

    def _read(self, cluster: int) -> list[_ActiveChannel]:
        """Return the channels whose messages a correction reads."""
        return self.equal[cluster] + self.faster[cluster] + self.slower[cluster]


class StageExchange(ChannelExchange):
    """Channels of the method of lines, in which each stage reads the traces of other processes in a single cluster."""

    def send(self) -> None:
        """Send the traces of this stage."""
        self._pack_and_send(self.lines, (0,))

    def receive_next(self) -> None:
        """Post the receives of the next stage, after a stage has used the traces."""
        self._receive_next(self.lines)


@dataclass(frozen=True)
class Neighbour:
    """Neighbouring process, which may be this process itself if the grid is periodic.

    Attributes
    ----------
    rank : int
        Rank of the neighbour.
    send_tag, receive_tag : int
        Tags of the messages to and from it.
    sent, received : object
        Boxes of arrays, as ``box_source`` and ``box_target`` take them.
    """

    rank: int
    send_tag: int
    receive_tag: int
    sent: Any
    received: Any


class HaloExchange:
    """Messages of a process to and from all its neighbours.

    Parameters
    ----------
    world : World
        Processes of the run.
    neighbours : sequence of Neighbour
        Neighbours of this process.
    dtype : dtype
        Type of the arrays.
    rounding : str
        Compression: 'exact' or the name of a codec.
    gpu_aware : bool
        True if MPI accesses the device memory of the arrays.
    """

    def __init__(
        self, world: World, neighbours: Sequence[Neighbour], dtype: DTypeLike, rounding: str = "exact", gpu_aware: bool = False
    ):  # fmt: skip
        mpi = world.mpi.Dup()  # separate from all other messages
        self.loss = CompressionLoss()
        self.sends: list[Send] = []
        self.receives: list[Receive] = []
        for n in neighbours:
            source = box_source(n.sent, np.dtype(dtype), rounding, self.loss, gpu_aware)
            target = box_target(n.received, np.dtype(dtype), rounding, gpu_aware)
            self.sends.append(Send(mpi, n.rank, n.send_tag, source, "the border of the grid"))
            self.receives.append(Receive(mpi, n.rank, n.receive_tag, target, "the border of the grid"))
        self.seconds = {"pack": 0.0, "wait": 0.0, "unpack": 0.0}
        self.messages = self.bytes = 0
        # Runs at the latest before MPI is finalised, because MPI was imported earlier.
        weakref.finalize(self, free, [*self.receives, *self.sends])

    def start(self) -> None:
        """Send the current border to all neighbours."""
        began = clock.perf_counter()
        for receive, send in zip(self.receives, self.sends, strict=True):
            receive.start()
            send.pack()
        for send in self.sends:
            self.bytes += send.start()
            self.messages += 1
        sent = clock.perf_counter()
        self.seconds["pack"] += sent - began
        record("pack and send messages", began, sent)

    def finish(self) -> None:
        """Wait for the neighbours' messages and write them into the halo. Raises RunError if one does not respond."""
        before = sum(r.seconds for r in self.receives)
        self.seconds["wait"] += wait_all([*self.receives, *self.sends])
        self.seconds["unpack"] += sum(r.seconds for r in self.receives) - before
