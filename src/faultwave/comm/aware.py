"""Whether MPI can be given memory of a device.

An MPI that cannot ends the process that tries. So it is asked first, as far as it tells (Open MPI and MPICH answer
``MPIX_Query_...``, Cray's MPICH goes by an environment variable); then a child process, which nobody misses, sends itself a message; only
then do the processes of the run send one to their neighbours. All come to the same answer.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.comm.world import World

QUERIES = {"cuda": ("MPIX_Query_cuda_support",), "hip": ("MPIX_Query_rocm_support", "MPIX_Query_hip_support")}
"""What libraries answer, by kind of device; other kinds lend memory that has an address on the host, of which MPI need know nothing."""

CRAY = "MPICH_GPU_SUPPORT_ENABLED"
"""Of the environment: 1 where Cray's MPICH takes memory of devices."""

SIZES = (1 << 10, 1 << 21)
"""Bytes of test messages: one that MPI sends at once, and one of which it asks first whether it is awaited."""

PATIENCE = 120.0
"""Seconds for a child process."""

LAUNCHERS = (
    "PMI_", "PMI2_", "PMIX_", "HYDI_", "HYDRA_", "MPI_LOCAL", "OMPI_COMM_WORLD_", "OMPI_UNIVERSE_", "OMPI_MCA_ess_", "OMPI_MCA_orte_",
    "PRTE_", "PALS_", "SLURM_",
)  # fmt: skip
"""How names begin in the environment by which a process knows that it was launched."""

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


def find(world: World, asked: str, device: Lending, command: Sequence[str]) -> Way:
    """``asked``: auto, direct or host; ``command``: that of a child process which calls ``try_alone``. All processes must ask. Raises
    InputError where direct is asked for and cannot be."""
    if asked == "host":
        return Way(False, "as asked")
    for look in (lambda: _told(world, device), lambda: _tried(world, device, command), lambda: _met(world, device)):
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


def _told(world: World, device: Lending) -> tuple[bool, str]:
    why = device.why_not_lend()
    if why:
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
    good, why = alone(command) if world.place == 0 else (True, "")
    if good is None:
        kind = device.target.dialect
        good = kind not in QUERIES or bool(says(kind)[0])
    return _all(world, good, why)


def alone(command: Sequence[str]) -> tuple[bool | None, str]:
    """Whether the child's message came; None where it did not come to send one."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(LAUNCHERS)}
    try:
        child = subprocess.run(command, env=kept, capture_output=True, text=True, timeout=PATIENCE)
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


def try_alone(device: Lending) -> bool:
    """What the child does: a message to itself."""
    from mpi4py import MPI

    print(BEGUN, flush=True)
    good = arrives(MPI.COMM_SELF, device)
    print(PASSED if good else "failed", flush=True)
    return good


def _met(world: World, device: Lending) -> tuple[bool, str]:
    mpi = world.mpi.Dup()
    good = arrives(mpi, device)
    mpi.Free()
    answer, words = says(device.target.dialect)
    told = words if answer else f"a test message between devices arrived; {words}"
    return _all(world, good, told if good else "a test message between devices arrived, but not as it was sent")


def arrives(mpi: Any, device: Lending) -> bool:
    """Whether messages to the next process arrive as they are sent, from memory of the device to memory of the device."""
    rank, size = mpi.Get_rank(), mpi.Get_size()
    good = True
    for nbytes in SIZES:
        out, into = device.lend(nbytes), device.lend(nbytes)
        device.upload(out.memory, pattern(rank, nbytes))
        device.upload(into.memory, np.full(nbytes, 255, np.uint8))
        out.give(True).wait()
        into.give(False).wait()
        requests = [mpi.Irecv(into.buffer, (rank - 1) % size, 0), mpi.Isend(out.buffer, (rank + 1) % size, 0)]
        for request in requests:
            request.Wait()
        into.take(True)
        found = np.zeros(nbytes, np.uint8)
        device.download(into.memory, found)
        good = good and bool(np.array_equal(found, pattern((rank - 1) % size, nbytes)))
        out.take(False)
    return good


def pattern(rank: int, nbytes: int) -> np.ndarray:
    """Bytes that tell their place and sender."""
    return ((np.arange(nbytes) * 7 + 31 * rank) % 251).astype(np.uint8)


__all__ = ["Way", "alone", "arrives", "find", "says", "try_alone"]
