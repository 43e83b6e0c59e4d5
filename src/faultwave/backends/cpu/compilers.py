"""Concurrent compiler processes, one per core, that end with the program."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path

from faultwave.base.errors import BackendError
from faultwave.base.processes import host

Job = tuple[Callable[[], Path], "Future[Path]"]


class Compilers:
    """Threads that wait for compilers.

    ``concurrent.futures`` would finish its whole queue before the program ends, even after Ctrl-C. Here compilers are stopped
    and queued jobs are dropped.
    """

    def __init__(self, count: int):
        self.jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self.running: set[subprocess.Popen[str]] = set()
        self.ended, self.lock = False, threading.Lock()
        names = [f"compiler {i}" for i in range(count)]
        self.threads = [threading.Thread(target=self._work, name=name, daemon=True) for name in names]
        for thread in self.threads:
            thread.start()

    def submit(self, job: Callable[[], Path]) -> Future[Path]:
        future: Future[Path] = Future()
        self.jobs.put((job, future))
        return future

    def _work(self) -> None:
        host.use_all_cores()
        while (given := self.jobs.get()) is not None:
            job, future = given
            if self.ended or not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(job())
            except BaseException as error:
                future.set_exception(error)

    def run(self, command: Sequence[str]) -> tuple[int, str]:
        """Return the exit status and error output of a compiler; raise BackendError once the program is ending."""
        with self.lock:
            if self.ended:
                raise BackendError("the program ends before its kernels are compiled")
            # A compiler is several processes, which are stopped together.
            quiet, heard = subprocess.DEVNULL, subprocess.PIPE
            process = subprocess.Popen(command, stdout=quiet, stderr=heard, text=True, start_new_session=True)
            self.running.add(process)
        try:
            said = process.communicate()[1]
        finally:
            self.running.discard(process)
        return process.returncode, said

    def end(self) -> None:
        """Stop all compilers, drop queued jobs, and wait until the threads have cleaned up."""
        with self.lock:
            self.ended = True
            for process in list(self.running):
                with contextlib.suppress(OSError):  # the process may have ended
                    os.killpg(process.pid, signal.SIGTERM)
        for _ in self.threads:
            self.jobs.put(None)
        for thread in self.threads:
            thread.join()


@functools.cache
def compilers() -> Compilers:
    """Return the compilers of this process."""
    made = Compilers(host.core_count())
    atexit.register(made.end)
    return made


__all__ = ["Compilers", "compilers"]
