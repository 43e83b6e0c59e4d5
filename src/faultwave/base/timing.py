"""Accumulating wall-clock timers: where a run spends its time, for reports and the manifest."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

YOUNG = 10.0
"""Seconds: a process that is not older has done nothing yet but load libraries and read what it was given."""


def young_age() -> float:
    """Seconds since this process began, if it is a young one; else 0, and where the system does not say."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19])
        now = float(Path("/proc/uptime").read_text().split()[0])
        age = now - ticks / os.sysconf("SC_CLK_TCK")
    except (ValueError, IndexError, OSError, AttributeError):
        return 0.0
    return age if 0.0 <= age <= YOUNG else 0.0


@dataclass
class Timer:
    """Seconds spent and how often; may be entered while running (a recursive call counts once)."""

    seconds: float = 0.0
    calls: int = 0
    _depth: int = field(default=0, repr=False)
    _start: float = field(default=0.0, repr=False)

    def start(self) -> None:
        if self._depth == 0:
            self._start = time.perf_counter()
        self._depth += 1

    def stop(self) -> None:
        if self._depth == 0:
            raise RuntimeError("a timer was stopped that is not running")
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._start
            self.calls += 1


class Timers:
    """Named timers, made on first use: ``with timers('predict'): ...``."""

    def __init__(self) -> None:
        self._timers: dict[str, Timer] = {}

    def __getitem__(self, name: str) -> Timer:
        return self._timers.setdefault(name, Timer())

    @contextmanager
    def __call__(self, name: str) -> Iterator[Timer]:
        """Time the body of a ``with`` statement, also when it raises."""
        timer = self[name]
        timer.start()
        try:
            yield timer
        finally:
            timer.stop()

    def seconds(self) -> dict[str, float]:
        """Name -> seconds, in order of first use."""
        return {name: timer.seconds for name, timer in self._timers.items()}

    def rows(self, total: float | None = None) -> list[tuple[str, float, float, int]]:
        """(name, seconds, share of ``total``, calls), the longest first; ``total`` defaults to the sum [s]."""
        whole = sum(t.seconds for t in self._timers.values()) if total is None else total
        rows = [(n, t.seconds, t.seconds / whole if whole else 0.0, t.calls) for n, t in self._timers.items()]
        return sorted(rows, key=lambda row: -row[1])
