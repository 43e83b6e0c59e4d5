"""Accumulating wall-clock timers for reports and the manifest."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

YOUNG = 10.0
"""Age [s] up to which a process has only loaded libraries and read its arguments."""


def startup_age() -> float:
    """Return the age of this process [s] if it is at most ``YOUNG``; 0 if it is older or unknown."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19])
        now = float(Path("/proc/uptime").read_text().split()[0])
        age = now - ticks / os.sysconf("SC_CLK_TCK")
    except (ValueError, IndexError, OSError, AttributeError):
        return 0.0
    return age if 0.0 <= age <= YOUNG else 0.0


@dataclass
class Timer:
    """Accumulated time and number of calls; nested calls count once.

    Attributes
    ----------
    seconds : float
        Time spent [s].
    calls : int
        Number of completed outermost calls.
    """

    seconds: float = 0.0
    calls: int = 0
    _depth: int = field(default=0, repr=False)
    _start: float = field(default=0.0, repr=False)

    def start(self) -> None:
        """Start the timer, or nest a further call."""
        if self._depth == 0:
            self._start = time.perf_counter()
        self._depth += 1

    def stop(self) -> None:
        """Stop the timer, or end a nested call."""
        if self._depth == 0:
            raise RuntimeError("a timer was stopped that is not running")
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._start
            self.calls += 1


class Timers:
    """Named timers, created on first use: ``with timers('predict'): ...``."""

    def __init__(self) -> None:
        self._timers: dict[str, Timer] = {}

    def __getitem__(self, name: str) -> Timer:
        return self._timers.setdefault(name, Timer())

    @contextmanager
    def __call__(self, name: str) -> Iterator[Timer]:
        """Time the body of a ``with`` statement, even if it raises."""
        timer = self[name]
        timer.start()
        try:
            yield timer
        finally:
            timer.stop()

    def seconds(self) -> dict[str, float]:
        """Return the time [s] by name, in order of first use."""
        return {name: timer.seconds for name, timer in self._timers.items()}

    def rows(self, total: float | None = None) -> list[tuple[str, float, float, int]]:
        """Return rows (name, time [s], share of ``total``, calls), the longest first.

        ``total`` [s] defaults to the sum.
        """
        whole = sum(t.seconds for t in self._timers.values()) if total is None else total
        rows = [(n, t.seconds, t.seconds / whole if whole else 0.0, t.calls) for n, t in self._timers.items()]
        return sorted(rows, key=lambda row: -row[1])
