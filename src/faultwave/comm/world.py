"""The processes of a run. Alone, nothing of MPI is touched; under a launcher mpi4py binds whatever MPI there is."""

from __future__ import annotations

import functools
import os
import sys
import time as clock
import traceback
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from faultwave.base import signals
from faultwave.base.asked import command
from faultwave.base.errors import BackendError, FaultwaveError, Interrupted

LAUNCHED = ("PMI_SIZE", "PMIX_RANK", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_SIZE", "PALS_NODEID")
"""What launchers put into the environment of their processes."""

FORWARDED = 0.3
"""Seconds that a launcher gets to pass on why a process ends all others: what it has not read by then it may throw away."""

PATIENCE = 5.0
"""Seconds that a process with an error waits for the others to learn of it."""


class World:
    """This process (``rank`` of ``size``) and what all do together; ``mpi`` is mpi4py's communicator, None alone."""

    def __init__(self, mpi: Any = None):
        self.mpi = mpi
        self.rank: int = 0 if mpi is None else mpi.Get_rank()
        self.size: int = 1 if mpi is None else mpi.Get_size()
        self._common: BaseException | None = None

    @functools.cached_property
    def local_rank(self) -> int:
        """Number of this process among those on its machine. All processes must ask."""
        if self.mpi is None:
            return 0
        from mpi4py import MPI

        near = self.mpi.Split_type(MPI.COMM_TYPE_SHARED)
        number = int(near.Get_rank())
        near.Free()
        return number

    @property
    def first(self) -> bool:
        """Whether this is the process that talks to the user."""
        return self.rank == 0

    def gather(self, value: Any) -> list[Any] | None:
        """Every process's value, in order, on the first; None elsewhere."""
        return [value] if self.mpi is None else self.mpi.gather(value, root=0)

    def counts(self, count: int) -> list[int]:
        """Every process's count, in order, everywhere."""
        return [count] if self.mpi is None else self.mpi.allgather(count)

    def share(self, value: Any) -> Any:
        """The first process's value, everywhere."""
        return value if self.mpi is None else self.mpi.bcast(value, root=0)

    def largest(self, values: Sequence[float]) -> list[float]:
        """The largest of each value over all processes, everywhere."""
        if self.mpi is None:
            return list(values)
        import numpy as np
        from mpi4py import MPI

        mine, found = np.array(values, float), np.empty(len(values))
        self.mpi.Allreduce(mine, found, MPI.MAX)
        return [float(v) for v in found]

    def total(self, counts: Any) -> Any:
        """Sums (n,) over all processes, everywhere, which must not depend on their order; unsigned numbers wrap around."""
        if self.mpi is None:
            return counts
        from mpi4py import MPI

        found = counts.copy()
        self.mpi.Allreduce(MPI.IN_PLACE, found, MPI.SUM)
        return found

    def any(self, here: bool) -> bool:
        """Whether it is so on one of the processes."""
        return bool(self.largest([float(here)])[0])

    def wait(self) -> None:
        """Return when every process has come here."""
        if self.mpi is not None:
            self.mpi.Barrier()

    def together(self, action: Callable[[], Any]) -> Any:
        """Do ``action`` on the first process only; all raise its error."""
        error, result = None, None
        if self.first:
            try:
                result = action()
            except Exception as caught:
                error = caught
        error = self.share(error)
        if error is not None:
            raise self.raised_by_all(error)
        self.wait()
        return result

    def agree(self, action: Callable[[], Any]) -> Any:
        """Do ``action`` on every process; all raise an error meant for the user that one of them has. Where the others do not
        learn of it, because they wait inside ``action`` for the one that failed, it ends the run."""
        if self.mpi is None:
            return action()
        try:
            return self._agree(action, self.mpi.Dup())  # apart from messages of an action that is unfinished
        except BaseException as error:
            self.abort(error)
            raise

    def _agree(self, action: Callable[[], Any], apart: Any) -> Any:
        error, result = None, None
        try:
            result = action()
        except FaultwaveError as caught:
            error = caught
        met, deadline = apart.Ibarrier(), clock.perf_counter() + PATIENCE
        while not met.Test():
            try:
                clock.sleep(1e-3)
            except FaultwaveError as caught:  # a signal told it to stop while it waits
                error = error or caught
            if error is not None and clock.perf_counter() > deadline:
                raise error
        for found in apart.allgather(error):
            if found is not None:
                raise self.raised_by_all(found)
        apart.Free()
        return result

    def raised_by_all(self, error: BaseException) -> BaseException:
        """The error, which every process raises now, so that none has to be ended for it."""
        self._common = error
        return error

    def is_raised_by_all(self, error: BaseException) -> bool:
        """Whether it is such an error."""
        return error is self._common

    def abort(self, error: BaseException) -> None:
        """End every process of the run at once, the reason on the terminal; returns only where there are no others, or where they
        have the same error."""
        if self.mpi is None or self.size == 1 or self.is_raised_by_all(error):
            return
        try:
            text = _told(error)
            why = "ends the run" if isinstance(error, Interrupted | KeyboardInterrupt) else "failed and ends the run"
            sys.stderr.write(f"\nprocess {self.rank} of {self.size} {why}:\n{text}\n")
            sys.stderr.flush()
            clock.sleep(FORWARDED)
        finally:  # also where nobody listens any more
            self.mpi.Abort(getattr(error, "code", signals.AT_ONCE if isinstance(error, KeyboardInterrupt) else 1))


def _told(error: BaseException) -> str:
    """What a user is told of an error: what can be acted on needs no trace, nor do messages to a process that has died."""
    if isinstance(error, FaultwaveError) or (isinstance(error, KeyboardInterrupt) and str(error)):
        return str(error)
    if type(error).__module__.partition(".")[0] == "mpi4py":
        return (
            f"a message to or from another process failed ({' '.join(str(error).split())}): it has died, or its network has failed. "
            f"Look at its output and at its node, then go on from the last checkpoint with '{command('resume')}'"
        )
    return "".join(traceback.format_exception(error))


def launched() -> bool:
    """Whether an MPI launcher started this process."""
    if any(name in os.environ for name in LAUNCHED):
        return True
    return (
        int(os.environ.get("SLURM_NTASKS", "1")) > 1 and "SLURM_STEP_ID" in os.environ and "SLURM_PROCID" in os.environ
    )


@cache
def world() -> World:
    """The processes this one belongs to. Raises BackendError under a launcher without mpi4py."""
    if not launched():
        return World()
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        text = f"started by an MPI launcher, but mpi4py does not load ({error}): pip install 'faultwave[mpi]'"
        raise BackendError(text) from None
    return World(MPI.COMM_WORLD)
