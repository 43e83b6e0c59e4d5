"""Messages between processes: sending, receiving and waiting, values across borders, and assembly of distributed arrays.

Both are persistent MPI requests, created once and started repeatedly. A message reads its numbers from a ``Source`` and writes them to a
``Target``, in host or device memory, compressed or not (see ``packing``). A waiting process gives up after ``PATIENCE`` seconds, with an
error that names the missing message and its sender.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from faultwave.base.errors import RunError
from faultwave.base.spans import WAITING
from faultwave.base.wording import command
from faultwave.comm.world import World

if TYPE_CHECKING:
    from mpi4py import MPI


PATIENCE = 1800.0
"""Time without news from another process after which a run gives up [s]."""


class Source(Protocol):
    """Origin of the numbers of a message; MPI sends ``buffer``, of ``nbytes`` bytes."""

    buffer: Any
    nbytes: int

    def pack(self, parity: int) -> None:
        """Begin to fill the buffer with the numbers of even (0) or odd (1) steps, after all work submitted so far."""
        ...

    @property
    def packed(self) -> bool:
        """True if ``finish`` would return at once."""
        ...

    def finish(self) -> None:
        """Wait until MPI may send the buffer."""
        ...


class Target(Protocol):
    """Destination of the numbers of a message; MPI receives into ``buffer``."""

    buffer: Any

    def ready(self) -> None:
        """Wait until MPI may receive into the buffer, because nothing reads the previous message any more."""
        ...

    def unpack(self) -> None:
        """Copy the arrived message to where kernels submitted from now on read it."""
        ...


class Plain:
    """Contiguous host array that is sent from and received into directly."""

    packed = True

    def __init__(self, buffer: np.ndarray):
        self.buffer, self.nbytes = buffer, buffer.nbytes

    def pack(self, parity: int) -> None: ...

    def finish(self) -> None: ...

    def ready(self) -> None: ...

    def unpack(self) -> None: ...


class Send:
    """Message to another process.

    Parameters
    ----------
    mpi : mpi4py communicator
        Communicator.
    partner : int
        Rank of the receiver.
    tag : int
        Tag of the message.
    source : Source
        Origin of the numbers.
    what : str
        Description of the content for errors.
    """

    def __init__(self, mpi: MPI.Comm, partner: int, tag: int, source: Source, what: str):
        self.rank, self.partner, self.what, self.source = mpi.Get_rank(), partner, what, source
        self._request = mpi.Send_init(source.buffer, partner, tag)

    def pack(self, parity: int = 0) -> None:
        """Begin to pack the next message; the previous one must be ``done``."""
        self.source.pack(parity)

    @property
    def packed(self) -> bool:
        """True if ``start`` would return at once."""
        return self.source.packed

    def start(self) -> int:
        """Send the message once it is packed, and return its size [bytes]."""
        self.source.finish()
        self._request.Start()
        return self.source.nbytes

    def done(self) -> bool:
        """Return True if the buffer may be reused; True before the first ``start``."""
        return bool(self._request.Test())

    def awaited(self) -> str:
        """Describe what a process is waiting for, for errors."""
        return f"process {self.partner} to take {self.what}"

    def free(self) -> None:
        """Wait for the message and release its MPI request."""
        self._request.Wait()
        self._request.Free()


class Receive:
    """Message from another process.

    Parameters
    ----------
    mpi : mpi4py communicator
        Communicator.
    partner : int
        Rank of the sender.
    tag : int
        Tag of the message.
    target : Target
        Destination of the numbers.
    what : str
        Description of the content for errors.
    """

    def __init__(self, mpi: MPI.Comm, partner: int, tag: int, target: Target, what: str):
        self.rank, self.partner, self.what, self.target = mpi.Get_rank(), partner, what, target
        self._request = mpi.Recv_init(target.buffer, partner, tag)
        self._open = False  # True while MPI may write into the buffer
        self._due = inf  # time at which an arrived message is delivered
        self._arrived = False
        self.seconds = 0.0  # time of unpacking [s]

    def start(self) -> None:
        """Post the receive of the next message."""
        self.target.ready()
        self._open, self._due, self._arrived = True, inf, False
        self._request.Start()

    def done(self, delay: Callable[[], float] | None = None) -> bool:
        """Return True if the message has arrived, and unpack it then.

        Parameters
        ----------
        delay : callable, optional
            Returns an artificial delay [s] of the delivery, for benchmarks and tests.
        """
        if self._arrived:
            return True
        if self._open and self._request.Test():
            self._open = False
            self._due = 0.0 if delay is None else clock.perf_counter() + delay()
        if self._open or (self._due and clock.perf_counter() < self._due):
            return False
        self._arrived, started = True, clock.perf_counter()
        self.target.unpack()
        self.seconds += clock.perf_counter() - started
        return True

    def awaited(self) -> str:
        """Describe what a process is waiting for, for errors."""
        return f"{self.what} from process {self.partner}"

    def free(self) -> None:
        """Release the MPI request, and cancel a message that has not arrived."""
        if self._open:
            self._request.Cancel()
        self._request.Wait()
        self._request.Free()


Message = Send | Receive


def wait(done: Callable[[], bool], awaited: Callable[[], Iterable[Message]], patience: float | None = None) -> float:
    """Wait until ``done()`` returns True, yielding the core meanwhile.

    Parameters
    ----------
    done : callable
        Condition to wait for.
    awaited : callable
        Returns the missing messages, for the error.
    patience : float, optional
        Time limit [s], by default ``PATIENCE``.

    Returns
    -------
    float
        Time spent [s], without the time of the successful ``done()``.

    Raises
    ------
    RunError
        After the time limit.
    """
    if done():
        return 0.0
    started, patience = clock.perf_counter(), PATIENCE if patience is None else patience
    while True:
        clock.sleep(0)
        now = clock.perf_counter()
        if done():  # may unpack a message, which is not waiting
            break
        if now - started > patience:
            raise RunError(_timeout_text(list(awaited()), patience))
    WAITING.add("wait for messages", started, now)
    return now - started


def wait_all(messages: Sequence[Message], patience: float | None = None) -> float:
    """Wait until all messages are done and return the time spent [s]; see ``wait``."""
    missing = list(messages)

    def done() -> bool:
        missing[:] = [m for m in missing if not m.done()]
        return not missing

    return wait(done, lambda: missing, patience)


def _timeout_text(awaited: Sequence[Message], patience: float) -> str:
    """Return the error text for messages that do not arrive."""
    if not awaited:
        return f"no message has arrived from other processes for {patience:g} s"
    first, others = awaited[0], len(awaited) - 1
    more = f" and for {others} other message{'s' * (others > 1)}" if others else ""
    return (
        f"process {first.rank} has waited {patience:g} s for {first.awaited()}{more}. Process {first.partner} "
        "hangs, has died, or its network has failed: check its output and its node, then continue from the "
        f"last checkpoint with '{command('resume')}'"
    )


def swap(mpi: MPI.Comm, tag: int, out: Mapping[int, np.ndarray], into: Mapping[int, np.ndarray], what: str) -> None:
    """Send and receive arrays once.

    Parameters
    ----------
    mpi : mpi4py communicator
        Communicator.
    tag : int
        Tag of the messages.
    out, into : mapping of int to ndarray
        Arrays to send and to receive into, by rank.
    what : str
        Description of the content for errors.
    """
    receives = [Receive(mpi, rank, tag, Plain(array), what) for rank, array in into.items()]
    sends = [Send(mpi, rank, tag, Plain(np.ascontiguousarray(array)), what) for rank, array in out.items()]
    messages: list[Message] = [*receives, *sends]
    for message in messages:
        message.start()
    wait_all(messages)
    free(messages)


def free(messages: Iterable[Message]) -> None:
    """Release the MPI requests of messages."""
    for message in messages:
        message.free()


# fmt: skip


NEIGHBOUR_TAG = 10000


class Neighbours:
    """Exchange of values across the border faces of a mesh partition.

    Parameters
    ----------
    world : World
        Processes of the run.
    rank : ndarray of int, shape (k,)
        Rank of the process across each border face.
    mine, theirs : ndarray of int, shape (k, 2)
        Cell number and local face on this and on the other side; both processes order their values by them.
    """

    def __init__(self, world: World, rank: np.ndarray, mine: np.ndarray, theirs: np.ndarray):
        self.world = world
        self._sent: dict[int, np.ndarray] = {}  # rank -> items in the order in which they are sent
        self._received: dict[int, np.ndarray] = {}
        for other in np.unique(rank):
            items = np.flatnonzero(rank == other)
            for order, x in ((self._sent, mine), (self._received, theirs)):
                order[int(other)] = items[np.lexsort((x[items, 1], x[items, 0]))]

    def swap(self, values: np.ndarray) -> np.ndarray:
        """Return the values of the cells across the faces, given ``values`` (k, ...) of the cells here."""
        found = np.empty_like(values)
        out = {rank: values[items] for rank, items in self._sent.items()}
        into = {rank: np.empty((len(x), *values.shape[1:]), values.dtype) for rank, x in self._received.items()}
        if out:
            swap(self.world.mpi, NEIGHBOUR_TAG, out, into, "values at the border of the mesh")
        for rank, items in self._received.items():
            found[items] = into[rank]
        return found


def gather_rows(world: World, items: np.ndarray, values: Sequence[np.ndarray], count: int) -> list[np.ndarray] | None:
    """Gather rows from all processes into whole arrays (collective).

    Parameters
    ----------
    world : World
        Processes of the run.
    items : ndarray of int, shape (n,)
        Row of each local item in the whole arrays.
    values : sequence of ndarray, shape (n, ...)
        Local rows.
    count : int
        Number of rows of the whole arrays.

    Returns
    -------
    list of ndarray or None
        Whole arrays (count, ...) on process 0, None elsewhere.
    """
    pieces = world.gather((items, list(values)))
    if pieces is None:
        return None
    found = []
    for i in range(len(values)):
        example = next((v[i] for _, v in pieces if len(v[i])), pieces[0][1][i])
        whole = np.zeros((count, *example.shape[1:]), example.dtype)
        for where, arrays in pieces:
            if len(where):
                whole[where] = arrays[i]
        found.append(whole)
    return found
