"""Whether MPI is GPU-aware: whether it can send from and receive into memory of a device.

An MPI that cannot ends the process that tries. So the library is asked first, as far as it tells (Open MPI and MPICH answer
``MPIX_Query_...``, Cray's MPICH goes by an environment variable); then a child process, whose end harms nobody, sends itself a message;
only then do the processes of the run send some to those they will exchange messages with, by the same calls as the run. All come to the
same answer: none sends before all are ready, and whatever goes wrong on one process is a no for all.
"""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from faultwave.base.children import without_launcher
from faultwave.base.errors import InputError, Problem, RunError
from faultwave.comm.messages import Receive, Send, free, wait_all
from faultwave.comm.world import World

QUERIES = {"cuda": ("MPIX_Query_cuda_support",), "hip": ("MPIX_Query_rocm_support", "MPIX_Query_hip_support")}
"""What libraries answer, by kind of device; other kinds share memory that has an address on the host, which any MPI can use."""

CRAY = "MPICH_GPU_SUPPORT_ENABLED"
"""Of the environment: 1 where Cray's MPICH takes memory of devices."""

SIZES = (1 << 10, 1 << 21)
"""Bytes of test messages: one that MPI sends at once, and one of which it asks first whether it is awaited."""

PATIENCE = 120.0
"""Seconds for a child process, and for a test message."""

BEGUN, PASSED = "begun", "passed"
"""What a child prints: it has a device and an MPI; the message came as it was sent."""


class Lending(Protocol):
    """A device that lends memory."""

    target: Any

    def why_not_gpu_aware(self) -> str: ...

    def gpu_aware_buffer(self, size: int) -> Any: ...

    def upload(self, memory: Any, values: np.ndarray) -> None: ...

    def download(self, memory: Any, values: np.ndarray) -> None: ...


@dataclass(frozen=True)
class HaloPath:
    """How messages between devices travel, and why: ``gpu_aware``, MPI is given memory of the device, else pinned memory of the host."""

    gpu_aware: bool
    reason: str

    def __str__(self) -> str:
        return f"{'direct' if self.gpu_aware else 'host'} ({self.reason})"


def find(world: World, asked: str, device: Lending, command: Sequence[str], partners: Sequence[int]) -> HaloPath:
    """``asked``: auto, direct or host; ``command``: that of a child process which calls ``try_alone``; ``partners``: processes
    that this one will exchange messages with. All processes must ask. Raises InputError where direct is asked for and cannot be."""
    if asked == "host":
        return HaloPath(False, "as asked")
    checks = (
        lambda: _library_can(world, device),
        lambda: _child_can(world, device, command),
        lambda: _partners_can(world, device, partners),
    )
    for check in checks:
        good, why = check()
        if not good:
            break
    if asked == "direct" and not good:
        raise world.raised_by_all(InputError(Problem("numerics.halo", f"direct cannot be: {why}", "auto, host")))
    return HaloPath(good, why)


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


def _library_can(world: World, device: Lending) -> tuple[bool, str]:
    if why := _why_not(device.why_not_gpu_aware):
        return _all(world, False, why)
    answer, words = library_says(device.target.dialect)
    return _all(world, answer is not False, words)


def library_says(kind: str) -> tuple[bool | None, str]:
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


def _child_can(world: World, device: Lending, command: Sequence[str]) -> tuple[bool, str]:
    """A child of one process of each machine. Where it cannot even begin, as under some launchers, the library's word counts."""
    good, why = _ask_child_once(tuple(command)) if world.local_rank == 0 else (True, "")
    if good is None:
        kind = device.target.dialect
        good = kind not in QUERIES or bool(library_says(kind)[0])
    return _all(world, good, why)


def ask_child(command: Sequence[str]) -> tuple[bool | None, str]:
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
            "the library does not say that it takes memory of devices, and no child process could be started to try",
        )
    end = f"signal {-child.returncode}" if child.returncode < 0 else f"exit code {child.returncode}"
    return False, f"a test message in a child process did not arrive (it ended with {end})"


@functools.cache
def _ask_child_once(command: tuple[str, ...]) -> tuple[bool | None, str]:
    """What is found once holds for later runs of this process."""
    return ask_child(command)


def try_alone(device: Lending) -> bool:
    """What the child does: messages to itself."""
    from mpi4py import MPI

    print(BEGUN, flush=True)
    trials = prepared(MPI.COMM_SELF, device, (0,))
    good = not why_not_arrived(trials)
    print(PASSED if good else "failed", flush=True)
    return good


def _partners_can(world: World, device: Lending, partners: Sequence[int]) -> tuple[bool, str]:
    """Messages between those who will exchange them. None is sent before all are ready to receive."""
    mpi, trials = world.mpi.Dup(), list[Trial]()

    def ready() -> str:
        trials.extend(prepared(mpi, device, partners))
        return ""

    why = _why_not(ready)
    good, why = _all(world, not why, why)
    if good:
        why = _why_not(lambda: why_not_arrived(trials))
        answer, words = library_says(device.target.dialect)
        words = words if answer else f"a test message between devices arrived; {words}"
        good, why = _all(world, not why, why or words)
    if good:  # else MPI may still be about to write there
        for trial in trials:
            free(trial.messages)
        mpi.Free()
    else:
        _KEPT.append((mpi, trials))
    return good, why


_KEPT: list[Any] = []
"""Messages that did not come: their memory stays."""


class PatternSource:
    """A pattern of bytes of this process in memory of the device, another one in odd steps."""

    packed = False

    def __init__(self, device: Lending, rank: int, nbytes: int):
        self.device, self.rank, self.nbytes, self.memory = device, rank, nbytes, device.gpu_aware_buffer(nbytes)
        self.buffer = self.memory.buffer

    def pack(self, parity: int) -> None:
        self.memory.take(False)
        self.device.upload(self.memory.memory, pattern(self.rank + parity, self.nbytes))
        self.crossing = self.memory.give(True)

    def finish(self) -> None:
        self.crossing.wait()


class PatternTarget:
    """Memory of the device that the pattern of a ``partner`` comes to; ``found``: its bytes."""

    def __init__(self, device: Lending, partner: int, nbytes: int):
        self.device, self.partner, self.memory = device, partner, device.gpu_aware_buffer(nbytes)
        self.buffer, self.found = self.memory.buffer, np.zeros(nbytes, np.uint8)

    def ready(self) -> None:
        self.memory.take(False)
        self.device.upload(self.memory.memory, np.full(len(self.found), 255, np.uint8))
        self.memory.give(False).wait()

    def unpack(self) -> None:
        self.memory.take(True)
        self.device.download(self.memory.memory, self.found)

    def sound(self, parity: int) -> bool:
        """Whether it is what was sent."""
        return bool(np.array_equal(self.found, pattern(self.partner + parity, len(self.found))))


@dataclass
class Trial:
    """Messages to and from a process, as the run sends them: requests that are started again and again."""

    send: Send
    receive: Receive
    target: PatternTarget

    @property
    def messages(self) -> tuple[Send | Receive, ...]:
        return self.send, self.receive


def prepared(mpi: Any, device: Lending, partners: Sequence[int]) -> list[Trial]:
    """Messages of each size with each partner, from memory of the device to memory of the device. Nothing is sent."""
    made, what = [], "a test message between devices"
    for partner in partners:
        for tag, nbytes in enumerate(SIZES):
            source, target = PatternSource(device, mpi.Get_rank(), nbytes), PatternTarget(device, partner, nbytes)
            receive = Receive(mpi, partner, tag, target, what)
            made.append(Trial(Send(mpi, partner, tag, source, what), receive, target))
    return made


def why_not_arrived(trials: Sequence[Trial]) -> str:
    """Send each twice; why not, where one does not arrive as it was sent."""
    for parity in range(2):
        for trial in trials:
            trial.receive.start()
            trial.send.pack(parity)
            trial.send.start()
        try:
            wait_all([m for t in trials for m in t.messages], PATIENCE)
        except RunError:
            return f"a test message between devices did not arrive within {PATIENCE:g} s"
        if not all(t.target.sound(parity) for t in trials):
            return "a test message between devices arrived, but not as it was sent"
    return ""


def pattern(rank: int, nbytes: int) -> np.ndarray:
    """Bytes that tell their place and sender."""
    return ((np.arange(nbytes) * 7 + 31 * rank) % 251).astype(np.uint8)


__all__ = ["HaloPath", "ask_child", "find", "library_says", "prepared", "try_alone", "why_not_arrived"]
