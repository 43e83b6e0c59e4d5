"""Writing behind the run's back: one thread that does what it is handed, in order, while the next steps are computed.

What waits is bounded: whoever hands over more than the disk can take is held up, so memory never runs out.
"""

from __future__ import annotations

import threading
import time as clock
from collections import deque
from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np

from faultwave.base import cores
from faultwave.observe.fields import WRITE_BUFFER

Task = Callable[[], None]


class Background:
    """Runs tasks one after the other in a thread. The first that fails ends it: later ones are dropped, and its error is
    raised by the next ``submit`` or ``wait``.

    waited: seconds the callers were held up; busy: seconds the thread worked.
    """

    def __init__(self, limit: int = WRITE_BUFFER):
        self.limit, self.waited, self.busy = limit, 0.0, 0.0
        self._tasks: deque[tuple[Task, int]] = deque()
        self._bytes, self._working, self._closed = 0, False, False
        self._error: BaseException | None = None
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def submit(self, task: Task, size: int) -> None:
        """Hand over a task that holds ``size`` bytes; waits while they have no room beside what waits already."""
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
        self.waited += clock.perf_counter() - started

    def wait(self) -> None:
        """Return when everything handed over is done."""
        started = clock.perf_counter()
        with self._changed:
            self._changed.wait_for(lambda: self._error or not (self._tasks or self._working))
            self._raise()
        self.waited += clock.perf_counter() - started

    def close(self) -> None:
        """Stop the thread after the task at work; what waits is dropped."""
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
        cores.roam()
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
            except BaseException as caught:  # told to whoever comes next
                error = caught
            del task  # and with it the arrays it holds
            with self._changed:
                self.busy += clock.perf_counter() - started
                self._bytes -= size
                self._working = False
                if error is not None:
                    self._error = error
                    self._tasks.clear()
                self._changed.notify_all()
                if error is not None:
                    return


class Appends(Protocol):
    """What takes snapshots."""

    def append(self, time: float, values: Mapping[str, np.ndarray]) -> None: ...


class Behind:
    """Snapshots for ``writer``, written in the background. The arrays belong to it once handed over."""

    def __init__(self, writer: Appends, background: Background):
        self.writer, self.background = writer, background

    def append(self, time: float, values: Mapping[str, np.ndarray]) -> None:
        size = sum(v.nbytes for v in values.values())
        self.background.submit(lambda: self.writer.append(time, values), size)
