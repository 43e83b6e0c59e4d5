"""Background writing of output: one thread that runs tasks in order while the next time steps are computed.

The amount of queued data is limited: a caller that submits more than the disk can take is blocked, so memory never runs out.
"""

from __future__ import annotations

import threading
import time as clock
from collections import deque
from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np

from faultwave.base.processes import host
from faultwave.base.spans import OUTPUT, record
from faultwave.observe.snapshots.fields import WRITE_BUFFER

Task = Callable[[], None]


class Background:
    """Thread that runs tasks one after the other.

    The first task that fails ends the thread: later tasks are dropped, and the next ``submit`` or ``wait`` raises its error.

    Attributes
    ----------
    limit : int
        Maximum size of queued data [bytes].
    waited : float
        Time that callers were blocked [s].
    busy : float
        Time that the thread worked [s].
    """

    def __init__(self, limit: int = WRITE_BUFFER):
        self.limit, self.waited, self.busy = limit, 0.0, 0.0
        self._tasks: deque[tuple[Task, int]] = deque()
        self._bytes, self._working, self._closed = 0, False, False
        self._error: BaseException | None = None
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def submit(self, task: Task, size: int) -> None:
        """Queue a task that holds ``size`` bytes, after waiting until they fit within the limit."""
        started = clock.perf_counter()
        with self._changed:
            self._changed.wait_for(lambda: self._error or not self._bytes or self._bytes + size <= self.limit)
            self._raise()
            self._tasks.append((task, size))
            self._bytes += size
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="faultwave-output", daemon=True)
                self._thread.start()
            self._changed.notify_all()
        self._count_waiting(started)

    def wait(self) -> None:
        """Wait until all queued tasks are done."""
        started = clock.perf_counter()
        with self._changed:
            self._changed.wait_for(lambda: self._error or not (self._tasks or self._working))
            self._raise()
        self._count_waiting(started)

    def _count_waiting(self, started: float) -> None:
        now = clock.perf_counter()
        self.waited += now - started
        record("wait for output", started, now)

    def close(self) -> None:
        """Stop the thread after the current task and drop the queued ones."""
        with self._changed:
            self._closed = True
            self._tasks.clear()
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        host.use_all_cores()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._tasks or self._closed)
                if not self._tasks:
                    return
                task, size = self._tasks.popleft()
                self._working = True
            started = clock.perf_counter()
            error: BaseException | None = None
            try:
                task()
            except BaseException as caught:  # raised by the next call of submit or wait
                error = caught
            del task  # releases the arrays that the task holds
            ended = clock.perf_counter()
            record("write", started, ended, OUTPUT)
            with self._changed:
                self.busy += ended - started
                self._bytes -= size
                self._working = False
                if error is not None:
                    self._error = error
                    self._tasks.clear()
                self._changed.notify_all()
                if error is not None:
                    return


class Appends(Protocol):
    """Interface of objects that accept snapshots."""

    def append(self, time: float, values: Mapping[str, np.ndarray]) -> None: ...


class BackgroundWriter:
    """Writer that appends snapshots to ``writer`` in the background.

    The caller must not modify the arrays after passing them.
    """

    def __init__(self, writer: Appends, background: Background):
        self.writer, self.background = writer, background

    def append(self, time: float, values: Mapping[str, np.ndarray]) -> None:
        size = sum(v.nbytes for v in values.values())
        self.background.submit(lambda: self.writer.append(time, values), size)
