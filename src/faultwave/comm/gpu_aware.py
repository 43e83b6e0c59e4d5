"""Detection of GPU-aware MPI, which can send from and receive into device memory.

An MPI library without this ability ends the process that tries. Therefore the library is queried first, as far as it answers
(Open MPI and MPICH provide ``MPIX_Query_...``, Cray MPICH uses an environment variable). Then a child process, whose crash is harmless,
sends itself a message. Finally the processes of the run exchange test messages with their later partners, by the same calls as the run.
All processes reach the same result: none sends before all are ready, and any failure on one process is a no for all.
"""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from faultwave.base.errors import InputError, Problem, RunError
from faultwave.base.processes.host import without_launcher
from faultwave.comm.messages import Receive, Send, free, wait_all
from faultwave.comm.world import World

if TYPE_CHECKING:
    from mpi4py import MPI

QUERIES = {"cuda": ("MPIX_Query_cuda_support",), "hip": ("MPIX_Query_rocm_support", "MPIX_Query_hip_support")}
"""Query functions of MPI libraries by kind of device; other kinds have host addresses, which any MPI accepts."""

CRAY = "MPICH_GPU_SUPPORT_ENABLED"
"""Environment variable that is 1 if Cray MPICH accepts device memory."""

SIZES = (1 << 10, 1 << 21)
"""Sizes of test messages [bytes]: one for the eager and one for the rendezvous protocol of MPI."""

PATIENCE = 120.0
"""Time limit of the child process, and of a test message [s]."""

BEGUN, PASSED = "begun", "passed"
"""Output of the child process: it has a device and MPI; the message arrived intact."""


class DeviceMemoryProvider(Protocol):
    """Device that provides memory for messages."""

    target: Any

    def why_not_gpu_aware(self) -> str: ...

    def gpu_aware_buffer(self, size: int) -> Any: ...

    def upload(self, memory: Any, values: np.ndarray) -> None: ...

    def download(self, memory: Any, values: np.ndarray) -> None: ...


@dataclass(frozen=True)
class HaloPath:
    """Path of messages between devices, and the reason for its choice.

    Attributes
    ----------
    gpu_aware : bool
        True if MPI reads and writes device memory, False if messages pass through pinned host memory.
    reason : str
        Explanation for the user.
    """

    gpu_aware: bool
    reason: str

    def __str__(self) -> str:
        return f"{'direct' if self.gpu_aware else 'host'} ({self.reason})"


def choose_halo_path(
    world: World, wanted: str, device: DeviceMemoryProvider, command: Sequence[str], partners: Sequence[int]
) -> HaloPath:
    """Determine if messages between devices are staged in host memory or sent directly (collective).

    Parameters
    ----------
    wanted : {'auto', 'direct', 'host'}
        Requested path.
    device : DeviceMemoryProvider
        Device of this process.
    command : sequence of str
        Command of a child process that calls ``try_alone``.
    partners : sequence of int
        Ranks that this process will exchange messages with.

    Raises
    ------
    InputError
        If ``direct`` is requested and impossible.
    """
    if wanted == "host":
        return HaloPath(False, "as requested")
    checks = (
        lambda: _library_can(world, device),
        lambda: _child_can(world, device, command),
        lambda: _partners_can(world, device, partners),
    )
    for check in checks:
        good, why = check()
        if not good:
            break
    if wanted == "direct" and not good:
        raise world.mark_raised_everywhere(
            InputError(Problem("numerics.halo", f"direct is not possible: {why}", "auto, host"))
        )
    return HaloPath(good, why)


def _all(world: World, good: bool, why: str) -> tuple[bool, str]:
    """Return True if all processes agree, with the reason of the first dissenter, else of process 0 (collective)."""
    found = world.mpi.allgather((good, why))
    return next(((g, w) for g, w in found if not g), found[0])


def _why_not(action: Callable[[], str]) -> str:
    """Return the result of ``action``, or its error as text, because a process must not leave the others waiting."""
    try:
        return action()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _library_can(world: World, device: DeviceMemoryProvider) -> tuple[bool, str]:
    if why := _why_not(device.why_not_gpu_aware):
        return _all(world, False, why)
    answer, words = query_library(device.target.dialect)
    return _all(world, answer is not False, words)


def query_library(kind: str) -> tuple[bool | None, str]:
    """Return the ability that the MPI library reports (None if unknown), and an explanation."""
    from mpi4py import MPI

    if kind not in QUERIES:
        return None, "memory of this device is addressable by the host"
    name = MPI.Get_library_version().partition("\n")[0].strip()
    if "CRAY" in name.upper():
        on = os.environ.get(CRAY) == "1"
        return on, f"{name}: {CRAY} is {'' if on else 'not '}1"
    library = ctypes.CDLL(MPI.__file__)  # names are also searched in the libraries it is linked to
    requested = [q for q in QUERIES[kind] if hasattr(library, q)]
    yes = [q for q in requested if getattr(library, q)()]
    if not requested:
        return None, f"{name} does not report it"
    return bool(yes), f"{name}: {(yes or requested)[0]}() is {int(bool(yes))}"


def _child_can(world: World, device: DeviceMemoryProvider, command: Sequence[str]) -> tuple[bool, str]:
    """Test with a child process of one process per machine (collective).

    If the child cannot even start, as under some launchers, the library's answer counts.
    """
    good, why = _query_child_once(tuple(command)) if world.local_rank == 0 else (True, "")
    if good is None:
        kind = device.target.dialect
        good = kind not in QUERIES or bool(query_library(kind)[0])
    return _all(world, good, why)


def query_child(command: Sequence[str]) -> tuple[bool | None, str]:
    """Return True if the child's message arrived, None if the child could not start, and an explanation."""
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
            "the library does not report support for device memory, and no child process could be started to test it",
        )
    end = f"signal {-child.returncode}" if child.returncode < 0 else f"exit code {child.returncode}"
    return False, f"a test message in a child process did not arrive (it ended with {end})"


@functools.cache
def _query_child_once(command: tuple[str, ...]) -> tuple[bool | None, str]:
    """Return the cached result of ``query_child``, which holds for later runs of this process."""
    return query_child(command)


def try_alone(device: DeviceMemoryProvider) -> bool:
    """Send test messages to this process itself, in the child process."""
    from mpi4py import MPI

    print(BEGUN, flush=True)
    trials = prepare_trials(MPI.COMM_SELF, device, (0,))
    good = not failed_trial(trials)
    print(PASSED if good else "failed", flush=True)
    return good


def _partners_can(world: World, device: DeviceMemoryProvider, partners: Sequence[int]) -> tuple[bool, str]:
    """Test with messages between the actual partners (collective); none is sent before all are ready to receive."""
    mpi, trials = world.mpi.Dup(), list[Trial]()

    def ready() -> str:
        trials.extend(prepare_trials(mpi, device, partners))
        return ""

    why = _why_not(ready)
    good, why = _all(world, not why, why)
    if good:
        why = _why_not(lambda: failed_trial(trials))
        answer, words = query_library(device.target.dialect)
        words = words if answer else f"a test message between devices arrived; {words}"
        good, why = _all(world, not why, why or words)
    if good:  # otherwise MPI may still write there
        for trial in trials:
            free(trial.messages)
        mpi.Free()
    else:
        _ABANDONED.append((mpi, trials))
    return good, why


_ABANDONED: list[object] = []
"""Failed test messages, whose memory must stay allocated."""


class PatternSource:
    """Pattern of bytes of this process in device memory, with another pattern in odd steps."""

    packed = False

    def __init__(self, device: DeviceMemoryProvider, rank: int, nbytes: int):
        self.device, self.rank, self.nbytes, self.memory = device, rank, nbytes, device.gpu_aware_buffer(nbytes)
        self.buffer = self.memory.buffer

    def pack(self, parity: int) -> None:
        self.memory.take(False)
        self.device.upload(self.memory.memory, pattern(self.rank + parity, self.nbytes))
        self.crossing = self.memory.give(True)

    def finish(self) -> None:
        self.crossing.wait()


class PatternTarget:
    """Device memory that receives the pattern of a ``partner``; ``found`` holds its bytes."""

    def __init__(self, device: DeviceMemoryProvider, partner: int, nbytes: int):
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
        """Return True if the received pattern is the one that was sent."""
        return bool(np.array_equal(self.found, pattern(self.partner + parity, len(self.found))))


@dataclass
class Trial:
    """Test messages to and from a process, as persistent requests like the messages of a run."""

    send: Send
    receive: Receive
    target: PatternTarget

    @property
    def messages(self) -> tuple[Send | Receive, ...]:
        return self.send, self.receive


def prepare_trials(mpi: MPI.Comm, device: DeviceMemoryProvider, partners: Sequence[int]) -> list[Trial]:
    """Create messages of each size with each partner, between device memories, without sending them."""
    made, what = [], "a test message between devices"
    for partner in partners:
        for tag, nbytes in enumerate(SIZES):
            source, target = PatternSource(device, mpi.Get_rank(), nbytes), PatternTarget(device, partner, nbytes)
            receive = Receive(mpi, partner, tag, target, what)
            made.append(Trial(Send(mpi, partner, tag, source, what), receive, target))
    return made


def failed_trial(trials: Sequence[Trial]) -> str:
    """Send each message twice and return why one failed to arrive intact, or an empty text."""
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
    """Return bytes that depend on their position and the sender's rank."""
    return ((np.arange(nbytes) * 7 + 31 * rank) % 251).astype(np.uint8)
