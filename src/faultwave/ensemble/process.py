"""Processes in which members run: one that stays for many members, or an MPI launcher for each.

Every executor calls ``compute_member`` in one of its workers: threads of this process, processes of mpi4py, workers of Dask, jobs of
Slurm. The member itself runs in a process of its own: a crash, a system that ends a process for want of memory, or a time limit
affects nothing else.
"""

from __future__ import annotations

import itertools
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, cast

from faultwave.base.errors import FaultwaveError, InputError, RunError
from faultwave.base.processes import host
from faultwave.base.processes.signals import end_with_parent
from faultwave.comm.launcher import mpiexec
from faultwave.comm.world import FIRST_PROCESS
from faultwave.ensemble.folder import EnsembleFolder, Kind, Record
from faultwave.ensemble.tasks import FilesChanged, Task, compute
from faultwave.ensemble.worker import read_message, write_message
from faultwave.output.atomic import NotWritten

WORKER = "faultwave.ensemble.worker"
GRACE = 5.0
"""Time [s] in which an idle process ends after its input is closed."""
LONGEST = 2000
"""Largest number of characters of a reason."""


class ProcessEnded(Exception):
    """Raised if the process of a member ended without a result; the text states how."""


class OutOfTime(Exception):
    """Raised if a member exceeds its time limit."""


class MemberProcess:
    """Process that computes members one after the other.

    Parameters
    ----------
    threads : int
        Number of threads.
    worker : int
        Number of the worker on this machine, by which graphics processors are assigned in cyclic order.
    """

    def __init__(self, threads: int, worker: int = 0):
        self.threads = threads
        self.log: IO[bytes] = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [*host.PYTHON, "-m", WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            env=environment(threads, worker),
            start_new_session=True,  # Ctrl-C concerns the ensemble, which ends its processes itself
        )
        self.ready = False
        _processes.add(self)

    def call(self, function: Callable[[Any], Any], argument: object, limit: float | None = None) -> Any:
        """Return ``function(argument)``, computed in the process.

        Raises
        ------
        FaultwaveError
            If the function fails.
        ProcessEnded
            If the process ends.
        OutOfTime
            If it takes longer than ``limit`` [s]; the process is then ended.
        """
        calls, replies = cast(BinaryIO, self.process.stdin), cast(BinaryIO, self.process.stdout)
        try:
            if not self.ready:
                read_message(replies)
                self.ready = True
            write_message(calls, (function, argument))
            if limit is not None and not select.select([replies], [], [], limit)[0]:
                self.kill()
                raise OutOfTime
            done, result = read_message(replies)
        except (EOFError, BrokenPipeError):
            self.process.wait()
            raise ProcessEnded(_end(self.process.returncode, self.log)) from None
        if not done:
            raise result
        return result

    @property
    def alive(self) -> bool:
        """True if the process runs."""
        return self.process.poll() is None

    def kill(self) -> None:
        """End the process and its children at once."""
        _kill_group(self.process)

    def close(self) -> None:
        """Let the process end, by force if it does not."""
        with suppress(OSError, ValueError):
            if self.process.stdin is not None:
                self.process.stdin.close()
        try:
            self.process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self.kill()
        self.log.close()


_processes: weakref.WeakSet[MemberProcess] = weakref.WeakSet()
_launched: set[subprocess.Popen[bytes]] = set()
_own = threading.local()
_workers = itertools.count()


def worker_number() -> int:
    """Return the number of the calling thread among those that compute members in this process."""
    if not hasattr(_own, "worker"):
        _own.worker = next(_workers)
    number: int = _own.worker
    return number


def own_process(threads: int) -> MemberProcess:
    """Return the process of the calling thread, a new one if it has ended or has another number of threads."""
    found: MemberProcess | None = getattr(_own, "process", None)
    if found is not None and found.alive and found.threads == threads:
        return found
    if found is not None:
        found.close()
    made = _own.process = MemberProcess(threads, worker_number())
    return made


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """End a process that leads a session, and its children, at once."""
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def close_processes() -> None:
    """End the processes of all threads and of all MPI launchers, also in the middle of a member."""
    for launcher in list(_launched):
        _kill_group(launcher)
    for process in list(_processes):
        process.kill()
        process.close()
        _processes.discard(process)


def environment(threads: int, first: int) -> dict[str, str]:
    """Return the environment of a member's process.

    It has no traces of a launcher, the number of threads, and the number of the first process of the member on this machine.
    """
    counts = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    counts[FIRST_PROCESS] = str(first)
    paths = [p for p in sys.path if p and Path(p, "faultwave").is_dir()]
    known = os.environ.get("PYTHONPATH", "")
    found = os.pathsep.join(dict.fromkeys([*paths[:1], *filter(None, known.split(os.pathsep))]))
    return host.without_launcher() | counts | ({"PYTHONPATH": found} if found else {})


def _end(code: int, log: IO[bytes]) -> str:
    """Return the text on the end of a process, with the last line that it wrote."""
    log.seek(0)
    lines = log.read()[-LONGEST:].decode(errors="replace").strip().splitlines()
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        how = f"its process was ended by {name}" + (
            ", as a system without memory does" if -code == signal.SIGKILL else ""
        )
    else:
        how = f"its process ended with exit code {code}"
    return how + (f": {lines[-1]}" if lines else "")


@dataclass(frozen=True)
class Outcome:
    """Outcome of an attempt to compute a member.

    Attributes
    ----------
    member : int
        Number of the member.
    status : {'done', 'failed', 'killed', 'elsewhere', 'not stored'}
        Status; 'killed' if its process ended, 'elsewhere' if another process computes it, 'not stored' if the results could not be written.
    reason : str
        Reason of anything but success.
    seconds : float
        Wall-clock time [s].
    """

    member: int
    status: Literal["done", "failed", "killed", "elsewhere", "not stored"]
    reason: str = ""
    seconds: float = 0.0


def compute_member(task: Task) -> Outcome:
    """Compute a member in a process of its own and record its result or its failure.

    It never raises: the executor may be in another process or on another machine.
    """
    folder = EnsembleFolder(task.folder)
    try:
        with folder.claim(task.member) as mine:
            if not mine:
                return Outcome(task.member, "elsewhere", "another process computes it")
            known = folder.record(task.member)
            if known is not None and known.status == "done" and folder.is_current(known, task.digest, {}):
                return Outcome(task.member, "done")  # another job has finished it in the meantime
            return _attempt(folder, task)
    except FaultwaveError as error:
        return Outcome(task.member, "not stored", str(error))


def _attempt(folder: EnsembleFolder, task: Task) -> Outcome:
    begun = time.perf_counter()
    kind: Kind
    try:
        record: Record = (
            compute_with_mpi(task) if task.processes > 1 else own_process(task.threads).call(compute, task, task.limit)
        )
        return Outcome(task.member, "done", seconds=record.seconds)
    except OutOfTime:
        kind, reason = "time limit", f"exceeded the time limit of {task.limit:g} s"
    except (ProcessEnded, FilesChanged) as error:
        return Outcome(task.member, "killed", str(error), time.perf_counter() - begun)
    except NotWritten as error:
        return Outcome(task.member, "not stored", str(error))
    except FaultwaveError as error:
        kind = "input" if isinstance(error, InputError) else "run" if isinstance(error, RunError) else "error"
        reason = str(error)
    seconds = time.perf_counter() - begun
    fail(folder, task, kind, reason, seconds)
    return Outcome(task.member, "failed", reason, seconds)


def fail(folder: EnsembleFolder, task: Task, kind: Kind, reason: str, seconds: float) -> None:
    """Record the failure of a member."""
    folder.write(
        Record(
            task.member, task.digest, "failed", kind, reason[:LONGEST], seconds, time.time(),
            limit=task.limit if kind == "time limit" else None,
        )
    )  # fmt: skip


def compute_with_mpi(task: Task) -> Record:
    """Compute a member on several processes of an MPI launcher."""
    with tempfile.TemporaryDirectory(prefix="faultwave-member-") as scratch, tempfile.TemporaryFile() as log:
        path = Path(scratch, "task")
        path.write_bytes(pickle.dumps(task))
        command = [mpiexec(), "-n", str(task.processes), *host.PYTHON, "-m", WORKER, str(path)]
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment(task.threads, worker_number() * task.processes),
            start_new_session=True,
            preexec_fn=end_with_parent(os.getpid()),
        )
        _launched.add(process)
        try:
            process.wait(task.limit)
        except subprocess.TimeoutExpired:
            raise OutOfTime from None
        finally:
            _launched.discard(process)
            _kill_group(process)
        try:
            done, result = pickle.loads(path.with_suffix(".reply").read_bytes())
        except (OSError, EOFError, pickle.UnpicklingError):
            raise ProcessEnded(_end(process.returncode, log)) from None
    if not done:
        raise result
    record: Record = result
    return record
