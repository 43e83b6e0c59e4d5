"""Waves to and from other processes: persistent messages straight into the stores they are read from (NUMERICS 4.6).

A channel is what two clusters on two processes owe each other: one message each way, once a step of the slower of both
where it is the faster's sum, else once a step of the sender. Messages are received where kernels read them; the next one
is asked for once a message has been used up, so none is ever overwritten. Whoever sends copies first and goes on; two
copies of each message may be on their way, so that nobody waits for a process that is less than a step behind. A device's numbers
come while it steps the cells behind the border; a message leaves when somebody looks and they are there, at the latest before the
next correction.

Every process steps every cluster, those it has no cells of too, and so knows without asking which message comes next.
"""

from __future__ import annotations

import time as clock
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Literal

import numpy as np

from faultwave.base.errors import RunError
from faultwave.comm.compression import Loss, codec
from faultwave.comm.slots import Leaving, Left, Slots
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
    cells: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))  # and faces whose waves are sent
    faces: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def count(self) -> int:
        """Faces."""
        return self.send_slots.shape[1]


PATIENCE = 1800.0
"""Seconds without news from other processes after which a run gives up."""


class _Copy:
    """A message as it travels: numbers, what they are packed into, the request that sends it."""

    def __init__(self, numbers: np.ndarray, packed: np.ndarray, mpi: Any, rank: int, tag: int):
        self.numbers, self.packed = numbers, packed
        self.request = mpi.Send_init(packed, rank, tag)


class _Line:
    """A channel at work."""

    def __init__(self, channel: Channel, stores: dict[Kind, Slots], mpi: Any, halo: str, loss: Loss):
        self.channel, self.source, self.target = channel, stores[channel.send], stores[channel.receive]
        shape = channel.count, self.source.width
        self.into = self.target.landing(channel.first, channel.count)
        exact = channel.send == "fault"  # friction sees every digit
        self.packing, self.unpacking = (None if exact else codec(halo, x) for x in (shape, self.into.shape))
        self.loss = loss
        self.error: np.ndarray | None = None  # of what was sent last
        self.got = np.empty(self.unpacking.size, np.uint8) if self.unpacking else self.into
        # Tags tell the channels of a pair of processes apart; both name the sender's cluster first.
        tag = lambda a, b: 4 * a + (3 if channel.send == "fault" else b - a + 1)  # noqa: E731
        self.copies = []
        for _ in range(2):
            numbers: np.ndarray = np.empty(shape, self.source.dtype)
            packed = np.empty(self.packing.size, np.uint8) if self.packing else numbers
            self.copies.append(_Copy(numbers, packed, mpi, channel.rank, tag(channel.cluster, channel.other)))
        self.receiving = mpi.Recv_init(self.got, channel.rank, tag(channel.other, channel.cluster))
        self.arrived, self.due = False, inf
        self.leaving: Leaving | None = None  # what has not been sent yet
        self.receiving.Start()

    def free(self) -> None:
        """Return when the copy to be sent next may be filled: at once unless the other process is more than a step behind."""
        self.copies[0].request.Wait()

    def copy(self, turn: int) -> None:
        """Begin to copy what is to be sent."""
        self.leaving = self.source.copy(self.channel.send_slots[turn], self.copies[0].numbers)

    def push(self) -> int:
        """Send it, and wait for it where it is not here yet; how many bytes."""
        copy, leaving = self.copies[0], self.leaving or Left()
        self.copies.reverse()
        leaving.finish()
        self.leaving = None
        if self.packing:
            self.packing.pack(copy.numbers, copy.packed)
            self.error = self.packing.unpack(copy.packed) - copy.numbers
            self.loss.add(self.error, copy.numbers)
        copy.request.Start()
        return copy.packed.nbytes

    def here(self, delay: Callable[[], float] | None) -> bool:
        """Whether the message is; ``delay()`` [s] after it has come, where messages are to be late."""
        if self.arrived:
            return True
        if self.due == inf and self.receiving.Test():
            self.due = 0.0 if delay is None else clock.perf_counter() + delay()
        if self.due == inf or (self.due and clock.perf_counter() < self.due):
            return False
        self.arrived = True
        if self.unpacking:
            self.into[:] = self.unpacking.unpack(self.got)
        self.target.landed(self.channel.first, self.into)
        return True

    def ask(self) -> None:
        self.arrived, self.due = False, inf
        self.receiving.Start()

    def end(self) -> None:
        """Give the messages back."""
        self.receiving.Cancel()
        self.receiving.Wait()
        self.receiving.Free()
        for copy in self.copies:
            copy.request.Wait()
            copy.request.Free()


class Exchange:
    """All channels of a process. ``rates``: steps of the clusters in ticks; ``limit()``: ticks to the meeting point;
    ``turns``: where each cluster's sums are now, in even or odd slots; ``halo``: how waves are packed."""

    def __init__(
        self, world: World, channels: Sequence[Channel], stores: dict[Kind, Slots], rates: Sequence[int],
        limit: Callable[[], int], turns: Sequence[int], halo: str = "exact",
    ):  # fmt: skip
        self.loss = Loss()
        self.world, self.rates, self.limit, self.turns = world, list(rates), limit, turns
        mpi = world.mpi.Dup()  # nobody else's messages, though another run of this process may have the same tags
        self.lines = [_Line(c, stores, mpi, halo, self.loss) for c in channels]
        clusters = range(len(rates))
        self.equal = [[x for x in self._of(c) if x.channel.other == c] for c in clusters]
        self.slower = [[x for x in self._of(c) if x.channel.other > c] for c in clusters]
        self.faster = [[x for x in self._of(c) if x.channel.other < c] for c in clusters]
        self.predicted = [0] * len(rates)
        self.corrected = [0] * len(rates)
        self.limits = [0] * len(rates)
        self.sent: dict[int, list[int]] = {}  # rank -> messages, bytes
        self.seconds = 0.0  # of copying and sending
        self.calls = {name: [0, 0.0] for name in ("send", "test", "receive")}  # how often, seconds
        self.waited = 0.0  # seconds in which nothing else was done
        self.delay: Callable[[], float] | None = None  # how late [s] the next message is to be, to see what is hidden
        weakref.finalize(self, _free, self.lines)  # at the latest before MPI ends, which was loaded earlier

    def _of(self, cluster: int) -> list[_Line]:
        return [x for x in self.lines if x.channel.cluster == cluster]

    def border_predicted(self, cluster: int) -> None:
        """The cells at the border have left their waves, traces and sums: send them while the others follow."""
        if self.predicted[cluster] >= self.limits[cluster]:  # the first step after a meeting
            self.predicted[cluster] = self.corrected[cluster] = 0
            self.limits[cluster] = self.limit()
        self.predicted[cluster] = min(self.predicted[cluster] + self.rates[cluster], self.limits[cluster])
        self._push(self._due(cluster, self.predicted[cluster]))

    def _due(self, cluster: int, ticks: int) -> list[_Line]:
        """Channels with a message each way for the step that ends then."""
        lines = self.equal[cluster] + self.faster[cluster]
        return lines + self.slower[cluster] if self._ends_slow_step(cluster, ticks) else lines

    def early(self, cluster: int) -> bool:
        """Whether friction of a cluster may be solved before its messages are here: none of them is about it."""
        return all(x.channel.send != "fault" for x in self.equal[cluster])

    def poll(self) -> None:
        """Let MPI move what it can; between pieces of work."""
        self._leave(self.lines)
        started = clock.perf_counter()
        for x in self.lines:
            x.here(self.delay)
        self._called("test", len(self.lines), started)

    def errors(self, cluster: int) -> Iterator[tuple[Channel, np.ndarray]]:
        """What the others have not got of the waves of the cluster's step, (faces, numbers); once."""
        mine = self._of(cluster)
        self._leave(mine, must=True)
        for x in mine:
            if x.error is not None:
                yield x.channel, x.error
                x.error = None

    def ready(self, cluster: int) -> bool:
        """Whether everything the next correction of a cluster reads is here; never waits."""
        lines = self.equal[cluster] + self.faster[cluster] + self.slower[cluster]
        self._leave(self.lines)  # those of other clusters, too: somebody may wait for them while this one waits
        if not lines:
            return True
        if any(x.leaving for x in lines):
            return False
        started = clock.perf_counter()
        found = all(x.here(self.delay) for x in lines)
        self._called("test", 1, started)
        return found

    def used(self, cluster: int) -> None:
        """A cluster has corrected its border: ask for what comes next."""
        started = clock.perf_counter()
        self.corrected[cluster] = min(self.corrected[cluster] + self.rates[cluster], self.limits[cluster])
        lines = self._due(cluster, self.corrected[cluster])
        for x in lines:
            x.ask()
        self._called("receive", len(lines), started)

    def _ends_slow_step(self, cluster: int, ticks: int) -> bool:
        if cluster + 1 >= len(self.rates):
            return False
        return ticks % self.rates[cluster + 1] == 0 or ticks >= self.limits[cluster]

    def _push(self, lines: Sequence[_Line]) -> None:
        self._leave(lines, must=True)
        begun = clock.perf_counter()
        for x in lines:
            x.free()
        started = clock.perf_counter()
        self.waited += started - begun
        for x in lines:
            x.copy(self.turns[x.channel.cluster])
        self.seconds += clock.perf_counter() - started
        self._leave(lines)

    def _leave(self, lines: Sequence[_Line], must: bool = False) -> None:
        """Send what is here of what has not been sent, with ``must`` all of it."""
        going = [x for x in lines if x.leaving is not None and (must or x.leaving.here)]
        started = clock.perf_counter()
        for x in going:
            count = self.sent.setdefault(x.channel.rank, [0, 0])
            count[0] += 1
            count[1] += x.push()
        if going:
            self.seconds += clock.perf_counter() - started
            self._called("send", len(going), started)

    def _called(self, name: str, times: int, started: float) -> None:
        call = self.calls[name]
        call[0] += times
        call[1] += clock.perf_counter() - started

    def wait(self) -> None:
        """Return when everything that was sent to this process is here. Raises RunError where nothing comes any more."""
        self._leave(self.lines, must=True)
        started = clock.perf_counter()
        while not all(x.here(self.delay) for x in self.lines):
            clock.sleep(0)
            if clock.perf_counter() - started > PATIENCE:
                raise RunError(f"nothing has come from other processes for {PATIENCE:.0f} s")
        self.waited += clock.perf_counter() - started


def _free(lines: list[_Line]) -> None:
    """Give the messages back."""
    for x in lines:
        x.end()


class Stages(Exchange):
    """Messages of integrators whose every stage reads the traces the others have left for it: one cluster, and nothing
    ahead of time."""

    def send(self) -> None:
        """The traces of this stage are there."""
        self._push(self.lines)

    def ask(self) -> None:
        """A stage has used what came: ask for the next."""
        for x in self.lines:
            x.ask()

    def border_predicted(self, cluster: int) -> None:
        return

    poll = lambda self: None  # noqa: E731

    used = border_predicted

    def ready(self, cluster: int) -> bool:
        return True
