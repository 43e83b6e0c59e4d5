"""Waves to and from other processes: persistent messages from and into the stores of waves.

A channel is what two clusters on two processes owe each other: one message each way, once a step of the slower of both
where it is the faster's sum, else once a step of the sender. Messages are received where kernels read them; the next one
is asked for once a message has been used up, so none is ever overwritten. Whoever sends copies first and goes on; two
copies of each message may be on their way, so that nobody waits for a process that is less than a step behind. A device packs while
it steps the cells behind the border; a message leaves when somebody looks and it is packed, at the latest before the next correction.

Every process steps every cluster, those it has no cells of too, and so knows without asking which message comes next.
"""

from __future__ import annotations

import time as clock
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Literal

import numpy as np

from faultwave.base.errors import RunError
from faultwave.comm.compression import Loss
from faultwave.comm.messages import Outgoing
from faultwave.comm.slots import Place, Slots
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


class _Line:
    """A channel at work: messages sent, two of which may be on their way, and messages received, each with its request."""

    def __init__(
        self, channel: Channel, stores: dict[Kind, Slots], mpi: Any, rounding: str, loss: Loss, errors: Place | None
    ):
        self.channel = channel
        rounding = "exact" if channel.send == "fault" else rounding  # friction sees every digit
        # Tags tell the channels of a pair of processes apart; both name the sender's cluster first.
        tag = lambda a, b: 4 * a + (3 if channel.send == "fault" else b - a + 1)  # noqa: E731
        sent = tag(channel.cluster, channel.other)
        out = [stores[channel.send].outgoing(channel.send_slots, rounding, loss, errors) for _ in range(2)]
        self.out = [(x, mpi.Send_init(x.buffer, channel.rank, sent)) for x in out]
        got = tag(channel.other, channel.cluster)
        into = stores[channel.receive].incoming(channel.first, channel.count, rounding)
        self.into = [(x, mpi.Recv_init(x.buffer, channel.rank, got)) for x in into]
        self.leaving: Outgoing | None = None  # what has not been sent yet
        self.arrived, self.due = False, inf
        self._receive()

    def _receive(self) -> None:
        message, request = self.into[0]
        message.ready()
        request.Start()

    def free(self) -> None:
        """Return when the message to be sent next may be filled: at once unless the other process is more than a step behind."""
        self.out[0][1].Wait()

    def fill(self, turn: int) -> None:
        """Begin to fill what is to be sent."""
        self.leaving, _ = self.out[0]
        self.leaving.fill(turn)

    def push(self) -> int:
        """Send it, and wait for it where it is not here yet; how many bytes."""
        message, request = self.out[0]
        self.out.reverse()
        message.finish()
        self.leaving = None
        request.Start()
        return message.nbytes

    def here(self, delay: Callable[[], float] | None) -> bool:
        """Whether the message is; ``delay()`` [s] after it has come, where messages are to be late."""
        if self.arrived:
            return True
        message, request = self.into[0]
        if self.due == inf and request.Test():
            self.due = 0.0 if delay is None else clock.perf_counter() + delay()
        if self.due == inf or (self.due and clock.perf_counter() < self.due):
            return False
        self.arrived = True
        message.landed()
        return True

    def ask(self) -> None:
        """What came has been used: receive the next."""
        self.arrived, self.due = False, inf
        self.into.append(self.into.pop(0))
        self._receive()

    def end(self) -> None:
        """Give the messages back."""
        if self.due == inf:  # one that has come is not under way any more, and what is not cannot be cancelled
            self.into[0][1].Cancel()
        for _, request in (*self.into, *self.out):
            request.Wait()
            request.Free()


class Exchange:
    """All channels of a process. ``rates``: steps of the clusters in ticks; ``limit()``: ticks to the meeting point;
    ``turns``: where each cluster's sums are now, in even or odd slots; ``rounding``: how waves are packed."""

    def __init__(
        self, world: World, channels: Sequence[Channel], stores: dict[Kind, Slots], rates: Sequence[int],
        limit: Callable[[], int], turns: Sequence[int], rounding: str = "exact",
        errors: Callable[[Channel], Place] | None = None,
    ):  # fmt: skip
        """``errors``: where what rounding takes from the waves of a channel is left."""
        self.loss = Loss()
        self.world, self.rates, self.limit, self.turns = world, list(rates), limit, turns
        mpi = world.mpi.Dup()  # nobody else's messages, though another run of this process may have the same tags
        self.lines = []
        for c in channels:
            place = errors(c) if errors is not None and c.send != "fault" else None
            self.lines.append(_Line(c, stores, mpi, rounding, self.loss, place))
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

    def all_sent(self, cluster: int) -> None:
        """Return when all waves of the cluster's step are on their way, and what they have lost is known."""
        self._leave(self._of(cluster), must=True)

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
            x.fill(self.turns[x.channel.cluster])
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
