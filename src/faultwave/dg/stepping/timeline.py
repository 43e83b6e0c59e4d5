"""Wall-clock time that a run spends in its sections."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator
from contextlib import contextmanager

from faultwave.backends.base import LaunchQueue

UNTIMED = ""
"""Section outside of all timings; the other sections are names in the manifest's ``timings_s``."""


class Timeline:
    """Timer of a run.

    Attributes
    ----------
    seconds : dict of str to float
        Time spent in each section [s].
    wall : dict of str to float
        Time of the setup and of all steps [s].
    """

    def __init__(self, queue: LaunchQueue | None, started: float):
        """Start the timer; ``started`` is the reading of ``time.perf_counter`` at the start of the setup, which ends now."""
        self._queue = queue
        self.seconds = {"predict": 0.0, "correct": 0.0, "fault": 0.0, "observe": 0.0}
        self._section, self._entered = UNTIMED, clock.perf_counter()
        self.wall = {"setup": self._entered - started, "stepping": 0.0}

    def start_timer(self, section: str) -> None:
        """Switch the timer to a section; launches that were deferred count for the section that issued them."""
        if section == self._section:
            return
        now = clock.perf_counter()
        if self._queue is not None:
            now -= self._queue.computed
            self._queue.section = self.seconds, section
        self.seconds[self._section] = self.seconds.get(self._section, 0.0) + now - self._entered
        self._section, self._entered = section, now

    @contextmanager
    def observing(self) -> Iterator[None]:
        """Count the time spent inside the context as observation."""
        before = self._section
        self.start_timer("observe")
        try:
            yield
        finally:
            self.start_timer(before)

    def timings(self) -> dict[str, float]:
        """Return the seconds spent in the setup, in all steps, and in each section."""
        return {**self.wall, **{name: spent for name, spent in self.seconds.items() if name != UNTIMED}}
