"""Thread that progresses messages while kernels run (progress mode ``thread``).

MPI moves data only during MPI calls. With polling, the process that steps the clusters makes these calls between two kernels; the
thread makes them continuously, on cores reserved for it.
"""

from __future__ import annotations

import atexit
import os
import threading
import time as clock
from collections.abc import Callable, Sequence

from faultwave.base.errors import BackendError, InputError, Problem
from faultwave.base.processes import host as available
from faultwave.comm.world import World

TAG = 30000
"""Tag that no message has; probing for it makes MPI progress the others."""

PAUSE = 3e-5
"""Time between two probes of a thread that shares its cores [s]."""


def reserve_cores(world: World, requested: Sequence[int] | None) -> tuple[int, ...]:
    """Reserve cores of this process for its progress thread, before the process counts its cores.

    Parameters
    ----------
    world : World
        Processes of the run.
    requested : sequence of int or None
        Requested cores. None for the last core of this process, or no core if another process may use the same cores:
        the operating system then places the thread.

    Returns
    -------
    tuple of int
        Reserved cores.

    Raises
    ------
    InputError
        If the process may not use a requested core.
    """
    if not hasattr(os, "sched_getaffinity"):
        return ()
    allowed = available.allowed_cores()
    if requested is not None:
        if wrong := sorted(set(requested) - allowed):
            what = f"process {world.rank} may not use core{'s' * (len(wrong) > 1)} {', '.join(map(str, wrong))}"
            raise InputError(Problem("numerics.progress_cores", what, ", ".join(map(str, sorted(allowed)))))
        cores = set(requested)
    else:
        cores = {max(allowed)} if len(allowed) > 1 and not _shared(world, allowed) else set()
    if cores and allowed - cores:
        available.restrict_cores(allowed - cores)
    return tuple(sorted(cores))


def _shared(world: World, allowed: set[int]) -> bool:
    """Return True if another process on this machine may use one of the cores (collective)."""
    from mpi4py import MPI

    node = world.mpi.Split_type(MPI.COMM_TYPE_SHARED)
    others = [mask for i, mask in enumerate(node.allgather(sorted(allowed))) if i != node.Get_rank()]
    node.Free()
    return any(allowed & set(mask) for mask in others)


class ProgressThread:
    """Thread that progresses messages from its creation until ``close``.

    Attributes
    ----------
    cores : tuple of int
        Cores it is bound to; empty if it shares the process's cores.
    looks : int
        Number of probes so far.
    """

    def __init__(self, world: World, cores: Sequence[int], attach: Callable[[], None] | None = None):
        """Start the thread; it calls ``attach()`` first if messages belong to a device."""
        from mpi4py import MPI

        if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
            raise BackendError(
                "progress mode 'thread' needs an MPI library that supports several threads: use progress: polling"
            )
        self.mpi, self.cores, self.attach, self.looks = world.mpi, tuple(cores), attach, 0
        self._pause = 0.0 if self.cores else PAUSE
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="faultwave-progress", daemon=True)
        self._thread.start()
        atexit.register(self.close)  # before MPI is finalised, which was imported earlier

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
        """Stop the thread."""
        self._stop.set()
        self._thread.join()
