"""Signals that request the program to stop, and the watchdog process that ends it within two seconds of one.

Python runs signal handlers between two of its own instructions. A library that meshes, sorts or compiles for a minute delays them, and one
that catches every exception swallows what they raise. Therefore a second process, forked at program start, receives the number of each
signal through a pipe that the low-level handler writes to. If the program has not ended ``GRACE`` later, the watchdog requests a thread of
the program to end it, with the exit code of the signal; if that thread does not run either, because a library holds Python's lock, the
watchdog kills the program. Both report what is left on disk, remove scratch folders and end all children.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import mmap
import os
import select
import shutil
import signal
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

from faultwave.base.processes import signals

AT_ONCE = 128 + signal.SIGINT
"""Exit code of a program that ended at once by an unknown signal, the code of shells for Ctrl-C."""

TRY_AGAIN = 75
"""Exit code of a run that can be resumed, or that a scheduler's SIGUSR1 stopped before it began.

It is EX_TEMPFAIL of sysexits.h.
"""

PR_SET_PDEATHSIG = 1
"""Option of prctl(2) for the signal that a process receives when its parent dies."""

LAUNCHED_BY_FAULTWAVE = "FAULTWAVE_RELAUNCHED"
"""Environment variable of processes whose launcher this program started.

For them, SIGUSR1 stands for any signal that the program received.
"""

STOPS = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP})


class StopSignal(KeyboardInterrupt):
    """Raised if signal ``number`` stops the program and no result is saved.

    As a KeyboardInterrupt it passes handlers of ordinary errors, which would take it for a defect of a file.
    """

    def __init__(self, text: str, number: int):
        super().__init__(text)
        self.number = int(number)

    def __reduce__(self) -> tuple[type[StopSignal], tuple[str, int]]:
        return type(self), (str(self), self.number)

    @property
    def code(self) -> int:
        """Exit code of shells for this signal.

        For SIGUSR1, by which schedulers announce the end of a job, the code for trying again.
        """
        if self.number == signal.SIGUSR1 and LAUNCHED_BY_FAULTWAVE not in os.environ:
            return TRY_AGAIN
        return 128 + self.number


def stop_signals() -> list[int]:
    """Return the signals that stop a run: SIGINT, SIGTERM, SIGUSR1, and SIGHUP unless nohup ignores it.

    Launchers forward SIGUSR1; SIGHUP means that the terminal was lost.
    """
    found = [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1]
    return [*found, signal.SIGHUP] if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN else [*found]


def detach_lost_terminal() -> None:
    """Redirect the streams of a lost terminal to nowhere.

    Writing to it would otherwise end the program before it saves its output.
    """
    for number in (0, 1, 2):
        with contextlib.suppress(OSError):  # the stream may be closed
            if stat.S_ISCHR(os.fstat(number).st_mode) and not os.isatty(number):
                nowhere = os.open(os.devnull, os.O_RDWR)
                os.dup2(nowhere, number)
                os.close(nowhere)


GRACE = 1.2
"""Time [s] in which a stopped program may end by itself and clean up."""

LAST = 0.4
"""Further time [s] in which its thread may end it."""

PAGE_SIZE = 1 << 16
"""Size [bytes] of the memory shared with the watchdog process."""

NEW_PHASE = 0xFF
"""Byte in the pipe that resets the count of signals."""

SET_UP = "nothing was computed and no files remain; run the same command to start again"


class Watchdog:
    """Watchdog of this program.

    Attributes
    ----------
    needed : int
        Number of signals that end the program now.
    sentence : str
        Message on what is left on disk, shown in that case.
    """

    def __init__(self) -> None:
        self.page: mmap.mmap | None = None
        self.pipe = -1
        self.pid = 0
        self.needed, self.sentence = 1, SET_UP
        self.scratch: list[str] = []
        self.lock = threading.Lock()

    def start(self) -> None:
        """Start the watchdog process, once per program and only if processes can be forked."""
        if self.page is not None or not hasattr(os, "fork"):
            return
        page = mmap.mmap(-1, PAGE_SIZE)
        heard, self.pipe = os.pipe()
        ask, requested = os.pipe()
        parent = os.getpid()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        self.pid = os.fork()
        if not self.pid:
            _watch(parent, heard, requested, page)
        os.close(heard)
        os.close(requested)
        self.page = page
        self._tell()
        os.set_blocking(self.pipe, False)
        signal.set_wakeup_fd(self.pipe, warn_on_full_buffer=False)
        threading.Thread(target=self._end_on_request, args=(ask,), name="faultwave-end", daemon=True).start()

    @contextlib.contextmanager
    def phase(self, needed: int, sentence: str) -> Iterator[None]:
        """Set the number of signals that end the program and the message shown then, until the end of the block."""
        before = self.needed, self.sentence
        self.needed, self.sentence = needed, sentence
        self._tell(True)
        try:
            yield
        finally:
            self.needed, self.sentence = before
            self._tell(True)

    @contextlib.contextmanager
    def removing(self, folder: str | Path) -> Iterator[None]:
        """Remove ``folder`` if the program is ended before the end of the block."""
        with self.lock:
            self.scratch.append(str(folder))
            self._tell()
        try:
            yield
        finally:
            with self.lock:
                self.scratch.remove(str(folder))
                self._tell()

    def _tell(self, new_phase: bool = False) -> None:
        if self.page is None or self.pid == 0:
            return
        reported = json.dumps([self.needed, self.sentence, self.scratch]).encode()
        if len(reported) + 8 <= PAGE_SIZE:
            self.page[: len(reported) + 8] = len(reported).to_bytes(8, "little") + reported
        if new_phase:
            with contextlib.suppress(OSError):
                os.write(self.pipe, bytes([NEW_PHASE]))

    def _end_on_request(self, ask: int) -> None:
        """End this program when the watchdog process requests it; runs in a thread."""
        reported = os.read(ask, 1)
        if reported and self.page is not None:
            end_children(os.getpid(), self.pid)
            _clean_up(self.page, reported[0])
            os._exit(128 + reported[0])


def _watch(parent: int, heard: int, requests: int, page: mmap.mmap) -> NoReturn:
    """Run the watchdog process of ``parent`` until that has ended."""
    with contextlib.suppress(BaseException):
        os.setsid()
        for number in (*signals.STOPS, signal.SIGQUIT, signal.SIGTSTP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 0)
        os.dup2(nowhere, 1)
        _close_all_but(2, heard, requests)
        _watch_signals(parent, heard, requests, page)
    os._exit(0)


def _close_all_but(*retained: int) -> None:
    begin = 3
    for number in (*sorted(k for k in retained if k >= 3), 1 << 12):
        os.closerange(begin, number)
        begin = number + 1


def _watch_signals(parent: int, heard: int, requests: int, page: mmap.mmap) -> None:
    count, number, deadline = 0, 0, 0.0
    while True:
        wait = max(0.0, deadline - time.monotonic()) if deadline else None
        if select.select([heard], [], [], wait)[0]:
            reported = os.read(heard, 100)
            if not reported:
                return
            for byte in reported:
                if byte == NEW_PHASE:
                    count = 0
                elif byte in signals.STOPS:
                    count, number = count + 1, byte
                    if count >= _read_page(page)[0] and not deadline:
                        deadline = time.monotonic() + GRACE
            continue
        os.write(requests, bytes([number]))
        if select.select([heard], [], [], LAST)[0] and _ended(heard):
            return
        children = descendants(parent, os.getpid())
        for pid in (parent, *children):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        _clean_up(page, number)
        return


def _ended(heard: int) -> bool:
    """Return True if the other end of the pipe is closed, after reading its content."""
    while select.select([heard], [], [], LAST)[0]:
        if not os.read(heard, 100):
            return True
    return False


def _read_page(page: mmap.mmap) -> tuple[int, str, list[str]]:
    for _ in range(50):
        length = int.from_bytes(page[:8], "little")
        try:
            needed, sentence, scratch = json.loads(page[8 : 8 + length])
        except ValueError:  # the page is being rewritten
            time.sleep(0.001)
            continue
        return needed, sentence, scratch
    return 1, SET_UP, []


def _clean_up(page: mmap.mmap, number: int) -> None:
    """Remove scratch folders and report what is left on disk."""
    _, sentence, scratch = _read_page(page)
    for folder in scratch:
        shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        os.write(2, f"\nstopped by {signal.Signals(number).name} in the middle of a long task: {sentence}\n".encode())


def end_children(parent: int, but: int) -> None:
    """Kill all descendants of process ``parent`` except ``but``."""
    for pid in descendants(parent, but):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def descendants(parent: int, but: int) -> list[int]:
    """Return all descendants of process ``parent``, if the system lists them in /proc."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if entry.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{entry}/stat", "rb") as file:
                    above = int(file.read().rpartition(b")")[2].split()[1])
                children.setdefault(above, []).append(int(entry))
    found: list[int] = []
    left = [parent]
    while left:
        below = [pid for pid in children.get(left.pop(), ()) if pid not in (but, *found)]
        found += below
        left += below
    return found


WATCHDOG = Watchdog()
"""Watchdog of this program; if it was not started, phases and scratch folders are recorded without effect."""


def end_with_parent(parent: int) -> Callable[[], None] | None:
    """Return a function that makes a child on Linux end with its parent, to be called before it executes a program.

    The parent may be killed without a chance to stop the child.
    """
    if sys.platform != "linux":
        return None
    control = getattr(ctypes.CDLL(None), "prctl", None)

    def bind() -> None:
        if control is not None:
            control(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
            if os.getppid() != parent:  # the parent died before
                os._exit(1)

    return bind
