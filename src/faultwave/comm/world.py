"""Processes of a run: a single process without MPI, or several under an MPI launcher through mpi4py."""

from __future__ import annotations

import functools
import os
import sys
import time as clock
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from faultwave.base.errors import BackendError, FaultwaveError, Interrupted
from faultwave.base.processes import signals
from faultwave.base.spans import WAITING
from faultwave.base.wording import command

if TYPE_CHECKING:
    from mpi4py import MPI

LAUNCHED = ("PMI_SIZE", "PMIX_RANK", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_SIZE", "PALS_NODEID")
"""Environment variables that MPI launchers set in their processes."""

FIRST_PROCESS = "FAULTWAVE_FIRST_PROCESS"
"""Environment variable with the number of processes on this machine that come before those of this run in an ensemble."""

FORWARDED = 0.3
"""Time [s] in which a launcher can forward the reason for an abort; it may discard output it has not read by then."""

PATIENCE = 5.0
"""Time [s] that a failed process waits for the others to receive its error."""


@contextmanager
def waiting_for_others() -> Iterator[None]:
    """Count the time of a collective operation as waiting."""
    started = clock.perf_counter()
    yield
    WAITING.add("wait for all processes", started, clock.perf_counter())


class World:
    """Process ``rank`` of ``size`` and its collective operations.

    ``mpi`` is the mpi4py communicator, None for a single process.
    """

    def __init__(self, mpi: Any = None):
        self.mpi = mpi
        self.rank: int = 0 if mpi is None else mpi.Get_rank()
        self.size: int = 1 if mpi is None else mpi.Get_size()
        self._common: BaseException | None = None

    @functools.cached_property
    def local_rank(self) -> int:
        """Rank of this process among those on its machine (collective)."""
        if self.mpi is None:
            return 0
        from mpi4py import MPI

        near = self.mpi.Split_type(MPI.COMM_TYPE_SHARED)
        number = int(near.Get_rank())
        near.Free()
        return number

    @property
    def device_number(self) -> int:
        """Number of the device of this process, in cyclic order of those on its machine (collective).

        Members of an ensemble that run at the same time on one machine have different numbers.
        """
        return int(os.environ.get(FIRST_PROCESS, "0")) + self.local_rank

    @property
    def first(self) -> bool:
        """True on process 0, which communicates with the user."""
        return self.rank == 0

    def gather(self, value: Any) -> list[Any] | None:
        """Return the values of all processes in rank order on process 0, None elsewhere."""
        if self.mpi is None:
            return [value]
        with waiting_for_others():
            found: list[Any] | None = self.mpi.gather(value, root=0)
        return found

    def counts(self, count: int) -> list[int]:
        """Return the counts of all processes in rank order, on every process."""
        if self.mpi is None:
            return [count]
        with waiting_for_others():
            found: list[int] = self.mpi.allgather(count)
        return found

    def broadcast(self, value: Any) -> Any:
        """Broadcast the value of process 0."""
        if self.mpi is None:
            return value
        with waiting_for_others():
            return self.mpi.bcast(value, root=0)

    def largest(self, values: Sequence[float]) -> list[float]:
        """Return the maximum of each value over all processes, on every process."""
        if self.mpi is None:
            return list(values)
        import numpy as np
        from mpi4py import MPI

        mine, found = np.array(values, float), np.empty(len(values))
        with waiting_for_others():
            self.mpi.Allreduce(mine, found, MPI.MAX)
        return [float(v) for v in found]

    def total(self, counts: Any) -> Any:
        """Return sums (n,) over all processes, on every process.

        Unsigned integers wrap around. The values must be exact in any order of summation.
        """
        if self.mpi is None:
            return counts
        from mpi4py import MPI

        found = counts.copy()
        with waiting_for_others():
            self.mpi.Allreduce(MPI.IN_PLACE, found, MPI.SUM)
        return found

    def any(self, here: bool) -> bool:
        """Return True if ``here`` is true on any process."""
        return bool(self.largest([float(here)])[0])

    def wait(self) -> None:
        """Wait until every process has arrived here."""
        if self.mpi is not None:
            with waiting_for_others():
                self.mpi.Barrier()

    def together(self, action: Callable[[], object]) -> Any:
        """Execute ``action`` on process 0 only and return its result there; all processes raise its error."""
        error, result = None, None
        if self.first:
            try:
                result = action()
            except Exception as caught:
                error = caught
        error = self.broadcast(error)
        if error is not None:
            raise self.mark_raised_everywhere(error)
        self.wait()
        return result

    def agree(self, action: Callable[[], object]) -> Any:
        """Execute ``action`` on every process; all raise a user error that any of them raises.

        If the others cannot receive the error, because they wait inside ``action`` for the failed process, it ends the run.
        """
        if self.mpi is None:
            return action()
        try:
            return self._agree(action, self.mpi.Dup())  # separate from messages of an unfinished action
        except BaseException as error:
            self.abort(error)
            raise

    def _agree(self, action: Callable[[], object], apart: MPI.Comm) -> Any:
        error, result = None, None
        try:
            result = action()
        except FaultwaveError as caught:
            error = caught
        met, deadline = apart.Ibarrier(), clock.perf_counter() + PATIENCE
        while not met.Test():
            try:
                clock.sleep(1e-3)
            except FaultwaveError as caught:  # a signal requested a stop while it waits
                error = error or caught
            if error is not None and clock.perf_counter() > deadline:
                raise error
        for found in apart.allgather(error):
            if found is not None:
                raise self.mark_raised_everywhere(found)
        apart.Free()
        return result

    def mark_raised_everywhere(self, error: BaseException) -> BaseException:
        """Mark an error as raised by every process, so that no process is aborted for it, and return it."""
        self._common = error
        return error

    def is_raised_everywhere(self, error: BaseException) -> bool:
        """Return True if the error was marked by ``mark_raised_everywhere``."""
        return error is self._common

    def abort(self, error: BaseException) -> None:
        """Abort every process of the run and print the reason.

        It returns only if there are no other processes, or if they raise the same error.
        """
        if self.mpi is None or self.size == 1 or self.is_raised_everywhere(error):
            return
        try:
            text = _error_text(error)
            why = "ends the run" if isinstance(error, Interrupted | KeyboardInterrupt) else "failed and ends the run"
            sys.stderr.write(f"\nprocess {self.rank} of {self.size} {why}:\n{text}\n")
            sys.stderr.flush()
            clock.sleep(FORWARDED)
        finally:  # even if standard error is closed
            self.mpi.Abort(getattr(error, "code", signals.AT_ONCE if isinstance(error, KeyboardInterrupt) else 1))


def _error_text(error: BaseException) -> str:
    """Return the text of an error for the user, without a traceback for user errors and failed messages."""
    if isinstance(error, FaultwaveError) or (isinstance(error, KeyboardInterrupt) and str(error)):
        return str(error)
    if type(error).__module__.partition(".")[0] == "mpi4py":
        return (
            f"a message to or from another process failed ({' '.join(str(error).split())}): it has died, or "
            "its network has failed. Check its output and its node, then continue from the last checkpoint "
            f"with '{command('resume')}'"
        )
    return "".join(traceback.format_exception(error))


def launched() -> bool:
    """Return True if an MPI launcher started this process."""
    if any(name in os.environ for name in LAUNCHED):
        return True
    return (
        int(os.environ.get("SLURM_NTASKS", "1")) > 1 and "SLURM_STEP_ID" in os.environ and "SLURM_PROCID" in os.environ
    )


@cache
def world() -> World:
    """Return the processes that this one belongs to. Raises BackendError under a launcher without mpi4py."""
    if not launched():
        return World()
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        text = f"started by an MPI launcher, but mpi4py does not load ({error}): pip install 'faultwave[mpi]'"
        raise BackendError(text) from None
    return World(MPI.COMM_WORLD)
