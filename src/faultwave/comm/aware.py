"""Whether MPI can be given memory of a device.

An MPI that cannot ends the process that tries. So it is asked first, as far as it tells (Open MPI and MPICH answer
``MPIX_Query_...``, Cray's MPICH goes by an environment variable); then a child process, which nobody misses, sends itself a message; only
then do the processes of the run send some to those they will exchange messages with, by the same calls. All come to the same answer:
none sends before all are ready, and whatever goes wrong on one is a no of all.
"""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess
import time as clock
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from faultwave.base.children import without_launcher
from faultwave.base.errors import InputError, Problem
from faultwave.comm.world import World

QUERIES = {"cuda": ("MPIX_Query_cuda_support",), "hip": ("MPIX_Query_rocm_support", "MPIX_Query_hip_support")}
"""What libraries answer, by kind of device; other kinds lend memory that has an address on the host, of which MPI need know nothing."""

CRAY = "MPICH_GPU_SUPPORT_ENABLED"
"""Of the environment: 1 where Cray's MPICH takes memory of devices."""

SIZES = (1 << 10, 1 << 21)
"""Bytes of test messages: one that MPI sends at once, and one of which it asks first whether it is awaited."""

PATIENCE = 120.0
"""Seconds for a child process, and for a message."""

BEGUN, PASSED = "begun", "passed"
"""What a child says: it has a device and an MPI; the message came as it was sent."""


class Lending(Protocol):
    """A device that lends memory."""

    target: Any

    def why_not_lend(self) -> str: ...

    def lend(self, size: int) -> Any: ...

    def upload(self, memory: Any, values: np.ndarray) -> None: ...

    def download(self, memory: Any, values: np.ndarray) -> None: ...


@dataclass(frozen=True)
class Way:
    """How messages between devices go, and why."""

    direct: bool
    why: str

    def __str__(self) -> str:
        return f"{'direct' if self.direct else 'host'} ({self.why})"


def find(world: World, asked: str, device: Lending, command: Sequence[str], partners: Sequence[int]) -> Way:
    """``asked``: auto, direct or host; ``command``: that of a child process which calls ``try_alone``; ``partners``: processes
    that this one will exchange messages with. All processes must ask. Raises InputError where direct is asked for and cannot be."""
    if asked == "host":
        return Way(False, "as asked")
    looks = (
        lambda: _told(world, device),
        lambda: _tried(world, device, command),
        lambda: _met(world, device, partners),
    )
    for look in looks:
        good, why = look()
        if not good:
            break
    if asked == "direct" and not good:
        raise world.everyones(InputError(Problem("numerics.halo", f"direct cannot be: {why}", "auto, host")))
    return Way(good, why)


def _all(world: World, good: bool, why: str) -> tuple[bool, str]:
    """Whether it is so on every process; the words of the first where it is not, else of the first of all."""
    found = world.mpi.allgather((good, why))
    return next(((g, w) for g, w in found if not g), found[0])


def _why_not(action: Callable[[], str]) -> str:
    """What ``action`` says, or what it failed with: a process must not leave the others waiting for its answer."""
    try:
        return action()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _told(world: World, device: Lending) -> tuple[bool, str]:
    if why := _why_not(device.why_not_lend):
        return _all(world, False, why)
    answer, words = says(device.target.dialect)
    return _all(world, answer is not False, words)


def says(kind: str) -> tuple[bool | None, str]:
    """What the MPI library tells of itself, None where that is nothing."""
    from mpi4py import MPI

    if kind not in QUERIES:
        return None, "memory of this device has an address on the host"
    name = MPI.Get_library_version().partition("\n")[0].strip()
    if "CRAY" in name.upper():
        on = os.environ.get(CRAY) == "1"
        return on, f"{name}: {CRAY} is {'' if on else 'not '}1"
    library = ctypes.CDLL(MPI.__file__)  # names are looked for in what it is linked to, too
    asked = [q for q in QUERIES[kind] if hasattr(library, q)]
    yes = [q for q in asked if getattr(library, q)()]
    if not asked:
        return None, f"{name} does not tell"
    return bool(yes), f"{name}: {(yes or asked)[0]}() is {int(bool(yes))}"


def _tried(world: World, device: Lending, command: Sequence[str]) -> tuple[bool, str]:
    """A child of one process of each machine. Where it cannot even begin, as under some launchers, the library's word counts."""
    good, why = _alone_once(tuple(command)) if world.place == 0 else (True, "")
    if good is None:
        kind = device.target.dialect
        good = kind not in QUERIES or bool(says(kind)[0])
    return _all(world, good, why)


def alone(command: Sequence[str]) -> tuple[bool | None, str]:
    """Whether the child's message came; None where it did not come to send one."""
    try:
        child = subprocess.run(command, env=without_launcher(), capture_output=True, text=True, timeout=PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as error:
        return False, f"a test message in a child process did not arrive ({type(error).__name__})"
    lines = child.stdout.split()
    if PASSED in lines:
        return True, ""
    if BEGUN not in lines:
        return (
            None,
            "the library does not say that it takes memory of devices, and no child process could be started to try it",
        )
    end = f"signal {-child.returncode}" if child.returncode < 0 else f"exit code {child.returncode}"
    return False, f"a test message in a child process did not arrive (it ended with {end})"


@functools.cache
def _alone_once(command: tuple[str, ...]) -> tuple[bool | None, str]:
    """What is found once holds for later runs of this process."""
    return alone(command)


def try_alone(device: Lending) -> bool:
    """What the child does: messages to itself."""
    from mpi4py import MPI

    print(BEGUN, flush=True)
    trials = prepared(MPI.COMM_SELF, device, (0,))
    good = not arrived(trials, device)
    print(PASSED if good else "failed", flush=True)
    return good


def _met(world: World, device: Lending, partners: Sequence[int]) -> tuple[bool, str]:
    """Messages between those who will exchange them. None is sent before all are ready to receive."""
    mpi, trials = world.mpi.Dup(), list[Trial]()

    def ready() -> str:
        trials.extend(prepared(mpi, device, partners))
        return ""

    why = _why_not(ready)
    good, why = _all(world, not why, why)
    if good:
        why = _why_not(lambda: arrived(trials, device))
        answer, words = says(device.target.dialect)
        told = words if answer else f"a test message between devices arrived; {words}"
        good, why = _all(world, not why, why or told)
    if good:  # else MPI may still be about to write there
        for trial in trials:
            trial.free()
        mpi.Free()
    else:
        _LOST.append((mpi, trials))
    return good, why


_LOST: list[Any] = []
"""Messages that did not come: their memory stays."""


@dataclass
class Trial:
    """Messages of ``nbytes`` to and from a process, as the run sends them: requests that are started again and again."""

    rank: int  # of this process
    partner: int
    nbytes: int
    out: Any
    into: Any
    requests: list[Any]

    def start(self, device: Lending, turn: int) -> None:
        device.upload(self.out.memory, pattern(self.rank + turn, self.nbytes))
        device.upload(self.into.memory, np.full(self.nbytes, 255, np.uint8))
        for memory, sent in ((self.out, True), (self.into, False)):
            memory.give(sent).wait()
        for request in self.requests:
            request.Start()

    def sound(self, device: Lending, turn: int) -> bool:
        """Once it is here: whether it is what was sent."""
        self.into.take(True)
        self.out.take(False)
        found = np.zeros(self.nbytes, np.uint8)
        device.download(self.into.memory, found)
        return bool(np.array_equal(found, pattern(self.partner + turn, self.nbytes)))

    def free(self) -> None:
        for request in self.requests:
            request.Free()


def prepared(mpi: Any, device: Lending, partners: Sequence[int]) -> list[Trial]:
    """Messages of each size with each partner, from memory of the device to memory of the device. Nothing is sent."""
    made = []
    for partner in partners:
        for tag, nbytes in enumerate(SIZES):
            out, into = device.lend(nbytes), device.lend(nbytes)
            requests = [mpi.Recv_init(into.buffer, partner, tag), mpi.Send_init(out.buffer, partner, tag)]
            made.append(Trial(mpi.Get_rank(), partner, nbytes, out, into, requests))
    return made


def arrived(trials: Sequence[Trial], device: Lending) -> str:
    """Send each twice; why not, where one does not arrive as it was sent."""
    for turn in range(2):
        for trial in trials:
            trial.start(device, turn)
        waiting, deadline = list(trials), clock.perf_counter() + PATIENCE
        while waiting := [t for t in waiting if not all(r.Test() for r in t.requests)]:
            if clock.perf_counter() > deadline:
                return f"a test message between devices did not arrive within {PATIENCE:.0f} s"
            clock.sleep(0)
        if not all(t.sound(device, turn) for t in trials):
            return "a test message between devices arrived, but not as it was sent"
    return ""


def pattern(rank: int, nbytes: int) -> np.ndarray:
    """Bytes that tell their place and sender."""
    return ((np.arange(nbytes) * 7 + 31 * rank) % 251).astype(np.uint8)


__all__ = ["Way", "alone", "arrived", "find", "prepared", "says", "try_alone"]
