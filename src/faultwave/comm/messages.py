"""Messages between processes: one ``Send``, one ``Receive``, and the one loop that waits for them.

Both are persistent requests of MPI: made once, started again and again. A message takes its numbers from a ``Source`` and puts them into a
``Target``, which may be memory of the host or of a device, rounded or not (see ``packing``). Every process that waits gives up after
``PATIENCE`` seconds, with an error that names what has not come and from whom.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import Any, Protocol

import numpy as np

from faultwave.base.asked import command
from faultwave.base.errors import RunError

PATIENCE = 1800.0
"""Seconds without news from another process after which a run gives up."""


class Source(Protocol):
    """Where the numbers of a message come from. ``buffer``: what MPI sends, of ``nbytes`` bytes."""

    buffer: Any
    nbytes: int

    def pack(self, parity: int) -> None:
        """Begin to fill the buffer with the numbers of even (0) or odd (1) steps, as all work asked for so far leaves them."""
        ...

    @property
    def packed(self) -> bool:
        """Whether ``finish`` would return at once."""
        ...

    def finish(self) -> None:
        """Return when MPI may send the buffer."""
        ...


class Target(Protocol):
    """Where the numbers of a message go. ``buffer``: what MPI receives into."""

    buffer: Any

    def ready(self) -> None:
        """Return when MPI may receive into the buffer: nothing reads the message before any more."""
        ...

    def unpack(self) -> None:
        """The message has arrived: put it where kernels asked for from now on read it."""
        ...


class Plain:
    """A contiguous array of the host, sent from and received into as it is."""

    packed = True

    def __init__(self, buffer: np.ndarray):
        self.buffer, self.nbytes = buffer, buffer.nbytes

    def pack(self, parity: int) -> None: ...

    def finish(self) -> None: ...

    def ready(self) -> None: ...

    def unpack(self) -> None: ...


class Send:
    """A message from ``source`` to process ``partner``; ``what`` it holds stands in the error of whoever waits in vain."""

    def __init__(self, mpi: Any, partner: int, tag: int, source: Source, what: str):
        self.rank, self.partner, self.what, self.source = mpi.Get_rank(), partner, what, source
        self._request = mpi.Send_init(source.buffer, partner, tag)

    def pack(self, parity: int = 0) -> None:
        """Begin to pack what is to be sent; the message before must be ``done``."""
        self.source.pack(parity)

    @property
    def packed(self) -> bool:
        """Whether ``start`` would return at once."""
        return self.source.packed

    def start(self) -> int:
        """Send what was packed, once all of it is; the number of bytes."""
        self.source.finish()
        self._request.Start()
        return self.source.nbytes

    def done(self) -> bool:
        """Whether the buffer may be used again; true before the first ``start``."""
        return bool(self._request.Test())

    def awaited(self) -> str:
        """What a process waits for that waits for this message."""
        return f"process {self.partner} to take {self.what}"

    def free(self) -> None:
        """Give the request back to MPI, when the message is done."""
        self._request.Wait()
        self._request.Free()


class Receive:
    """A message from process ``partner`` into ``target``."""

    def __init__(self, mpi: Any, partner: int, tag: int, target: Target, what: str):
        self.rank, self.partner, self.what, self.target = mpi.Get_rank(), partner, what, target
        self._request = mpi.Recv_init(target.buffer, partner, tag)
        self._open = False  # whether MPI may still write into the buffer
        self._due = inf  # when a message that came is to be handed over
        self._arrived = False
        self.seconds = 0.0  # of unpacking

    def start(self) -> None:
        """Let the next message come."""
        self.target.ready()
        self._open, self._due, self._arrived = True, inf, False
        self._request.Start()

    def done(self, delay: Callable[[], float] | None = None) -> bool:
        """Whether the message has come; it is unpacked then. ``delay()`` [s]: how much later than it came it is handed over, where
        benchmarks and tests ask for that."""
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
        return f"{self.what} from process {self.partner}"

    def free(self) -> None:
        """Give the request back to MPI, and with it a message that has not come."""
        if self._open:
            self._request.Cancel()
        self._request.Wait()
        self._request.Free()


Message = Send | Receive


def wait(done: Callable[[], bool], awaited: Callable[[], Iterable[Message]], patience: float | None = None) -> float:
    """Return when ``done()``, and let others have the core meanwhile; the seconds that took. Raises RunError after ``patience`` seconds,
    by default ``PATIENCE``, which names the messages ``awaited()``."""
    started, patience = clock.perf_counter(), PATIENCE if patience is None else patience
    while not done():
        clock.sleep(0)
        if clock.perf_counter() - started > patience:
            raise RunError(_silence(list(awaited()), patience))
    return clock.perf_counter() - started


def wait_all(messages: Sequence[Message], patience: float | None = None) -> float:
    """``wait`` until all messages are done."""
    missing = list(messages)

    def done() -> bool:
        missing[:] = [m for m in missing if not m.done()]
        return not missing

    return wait(done, lambda: missing, patience)


def _silence(awaited: Sequence[Message], patience: float) -> str:
    """What to tell of messages that do not come."""
    if not awaited:
        return f"nothing has come from other processes for {patience:g} s"
    first, others = awaited[0], len(awaited) - 1
    more = f" and for {others} other message{'s' * (others > 1)}" if others else ""
    return (
        f"process {first.rank} has waited {patience:g} s for {first.awaited()}{more}. Process {first.partner} hangs, has died, or its "
        f"network has failed: look at its output and at its node, then go on from the last checkpoint with '{command('resume')}'"
    )


def swap(mpi: Any, tag: int, out: Mapping[int, np.ndarray], into: Mapping[int, np.ndarray], what: str) -> None:
    """Send the arrays ``out`` and receive the arrays ``into``, by process, once."""
    receives = [Receive(mpi, rank, tag, Plain(array), what) for rank, array in into.items()]
    sends = [Send(mpi, rank, tag, Plain(np.ascontiguousarray(array)), what) for rank, array in out.items()]
    messages: list[Message] = [*receives, *sends]
    for message in messages:
        message.start()
    wait_all(messages)
    free(messages)


def free(messages: Iterable[Message]) -> None:
    """Give the requests of messages back to MPI."""
    for message in messages:
        message.free()


__all__ = [
    "PATIENCE", "Message", "Plain", "Receive", "Send", "Source", "Target", "free", "swap", "wait", "wait_all",
]  # fmt: skip
