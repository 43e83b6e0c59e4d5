"""A thread that keeps messages moving while kernels run (progress mode ``thread``).

MPI moves data only while somebody calls it. Polling, that is whoever steps the clusters, between two kernels; the thread does
it all the time, on cores set aside for it.
"""

from __future__ import annotations

import atexit
import os
import threading
import time as clock
from collections.abc import Callable, Sequence

from faultwave.base import cores as available
from faultwave.base.errors import BackendError, InputError, Problem
from faultwave.comm.world import World

TAG = 30000
"""No message has it: probing for one makes MPI move the others."""

PAUSE = 3e-5
"""Seconds between two probes of a thread that shares its cores with others."""


def set_aside(world: World, asked: Sequence[int] | None) -> tuple[int, ...]:
    """Take cores from this process for its thread, before it counts its cores; those that were taken.

    Where nothing is asked for it is the last of the process's own cores, unless the launcher has bound it to none of its
    own: then the thread runs where the system puts it. Raises InputError for cores the process may not use.
    """
    if not hasattr(os, "sched_getaffinity"):
        return ()
    allowed = available.allowed()
    if asked is not None:
        if wrong := sorted(set(asked) - allowed):
            what = f"process {world.rank} may not use core{'s' * (len(wrong) > 1)} {', '.join(map(str, wrong))}"
            raise InputError(Problem("numerics.progress_cores", what, ", ".join(map(str, sorted(allowed)))))
        cores = set(asked)
    else:
        cores = {max(allowed)} if len(allowed) > 1 and not _shared(world, allowed) else set()
    if cores and allowed - cores:
        available.restrict(allowed - cores)
    return tuple(sorted(cores))


def _shared(world: World, allowed: set[int]) -> bool:
    """Whether another process on this machine has one of the cores."""
    from mpi4py import MPI

    node = world.mpi.Split_type(MPI.COMM_TYPE_SHARED)
    others = [mask for i, mask in enumerate(node.allgather(sorted(allowed))) if i != node.Get_rank()]
    node.Free()
    return any(allowed & set(mask) for mask in others)


class ProgressThread:
    """Runs from its making until ``close``; on ``cores`` where there are any."""

    def __init__(self, world: World, cores: Sequence[int], attach: Callable[[], None] | None = None):
        """``attach()``: done first, where messages are a device's."""
        from mpi4py import MPI

        if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
            raise BackendError(
                "progress mode 'thread' needs an MPI that several threads may call: take progress: polling"
            )
        self.mpi, self.cores, self.attach, self.looks = world.mpi, tuple(cores), attach, 0
        self._pause = 0.0 if self.cores else PAUSE
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="faultwave-progress", daemon=True)
        self._thread.start()
        atexit.register(self.close)  # before MPI ends, which was loaded earlier

    def _work(self) -> None:
        if self.cores:
            os.sched_setaffinity(0, self.cores)
        if self.attach is not None:
            self.attach()
        while not self._stop.is_set():
            self.mpi.Iprobe(tag=TAG)
            self.looks += 1
            clock.sleep(self._pause)

    def close(self) -> None:
        """Stop it."""
        self._stop.set()
        self._thread.join()
