"""Wall-clock time that a run spends in its sections, in each time cluster, and in waiting for other processes."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from faultwave.backends.base import LaunchQueue
from faultwave.base import spans
from faultwave.base.spans import NO_CLUSTER, WAITING

UNTIMED = ""
"""Section of all that has no section of its own; the others are names in the manifest's ``timings_s``, where this one is 'other'."""


class Timeline:
    """Timer of a run.

    Time spent waiting for other processes counts for no section. The sections, ``wait`` and ``other`` in ``timings()``
    add up to the time of the steps.

    Attributes
    ----------
    wall : dict of str to float
        Time of the setup and of all steps [s], including those before a restart.
    spent, waited : float
        Time of the steps of this process since its start, and the time spent waiting therein [s].
    """

    def __init__(self, sections: Sequence[str], started: float, queue: LaunchQueue | None = None, clusters: int = 0):
        """Start the timer.

        Parameters
        ----------
        sections : sequence of str
            Names of the sections.
        started : float
            Reading of ``time.perf_counter`` at the start of the setup, which ends now.
        queue : LaunchQueue, optional
            Queue of launches of the backend; launches that were deferred count for the section that issued them.
        clusters : int
            Number of time clusters.
        """
        self._queue, self._record = queue, spans.recorder()
        # Of each cluster, the last of no cluster.
        self._sums: list[dict[str, float]] = [{} for _ in range(clusters + 1)]
        self._earlier = dict.fromkeys(sections, 0.0)
        self._outside = dict.fromkeys(sections, 0.0)  # outside of ``stepping``, in measurements before a run
        self._since = clock.perf_counter()
        self._entered = self._reading(self._since)
        # Clock, spent, waited, stepping and waiting when the steps began, while they last.
        self._begun: tuple[float, float, float, float, float] | None = None
        self._enter(UNTIMED, NO_CLUSTER)
        self.spent = self.waited = 0.0
        self.wall = {"setup": self._since - started, "stepping": 0.0}

    def _reading(self, now: float) -> float:
        """Return the reading of a clock that stands still while queued launches are executed and while the process waits."""
        return now - WAITING.seconds - (self._queue.computed if self._queue is not None else 0.0)

    @property
    def seconds(self) -> dict[str, float]:
        """Time spent in each section [s], including steps outside of ``stepping``."""
        return {name: spent + self._outside.get(name, 0.0) for name, spent in self.seconds_of_steps().items()}

    def seconds_of_steps(self) -> dict[str, float]:
        """Return the time spent in each section of the steps, in waiting, and in all else [s]."""
        found = dict(self._earlier)
        for sums in self._sums:
            for name, spent in sums.items():
                found[name] = found.get(name, 0.0) + spent
        found["wait"] = found.get("wait", 0.0) + self.waited
        found["other"] = found.get("other", 0.0) + found.pop(UNTIMED, 0.0)
        return found

    @property
    def busy(self) -> float:
        """Time of the steps of this process that was not spent waiting [s]."""
        return self.spent - self.waited

    def cluster_seconds(self) -> list[float]:
        """Return the time spent on each time cluster [s]."""
        return [sum(sums.values()) for sums in self._sums[:-1]]

    def start_timer(self, section: str, cluster: int = NO_CLUSTER) -> float:
        """Switch the timer to a section of a cluster, and return the reading of ``time.perf_counter``."""
        now = clock.perf_counter()
        if section != self._section or cluster != self._cluster:
            self._charge(now)
            self._enter(section, cluster)
        return now

    def _enter(self, section: str, cluster: int) -> None:
        self._section, self._cluster = section, cluster
        self._current = self._outside if self._begun is None else self._sums[cluster]
        if self._queue is not None:
            self._queue.section = self._current, section, cluster

    def _charge(self, now: float) -> None:
        """Add the time since the last call to the sum of the present section."""
        reading, section = self._reading(now), self._section
        self._current[section] = self._current.get(section, 0.0) + reading - self._entered
        if self._record is not None and section != UNTIMED:
            self._record.add(section, self._since, now, self._cluster)
        self._since, self._entered = now, reading

    @contextmanager
    def observing(self) -> Iterator[None]:
        """Count the time spent inside the context as observation."""
        before = self._section, self._cluster
        self.start_timer("observe")
        try:
            yield
        finally:
            self.start_timer(*before)

    @contextmanager
    def stepping(self) -> Iterator[None]:
        """Count the time spent inside the context as time of the steps."""
        self.start_timer(UNTIMED)
        if self._queue is not None:
            self._queue.flush()  # launches before the first step
        self._record, self._since = spans.recorder(), clock.perf_counter()
        self._entered = self._reading(self._since)
        self._begun = self._since, self.spent, self.waited, self.wall["stepping"], WAITING.seconds
        self._enter(UNTIMED, NO_CLUSTER)
        try:
            yield
            if self._queue is not None:
                self._queue.flush()
        finally:
            now = self.start_timer(UNTIMED)
            self._charge(now)
            self.lap(now)
            self._begun = None
            self._enter(UNTIMED, NO_CLUSTER)

    def lap(self, now: float | None = None) -> float:
        """Update the sums and return the time since the steps began [s], up to a reading of ``time.perf_counter``."""
        if self._begun is None:
            return 0.0
        begun, spent, waited, stepping, waiting = self._begun
        since = (clock.perf_counter() if now is None else now) - begun
        self.spent, self.waited = spent + since, waited + WAITING.seconds - waiting
        self.wall["stepping"] = stepping + since
        return since

    def restore(self, wall: Mapping[str, float], seconds: Mapping[str, float]) -> None:
        """Continue the sums of the run that a checkpoint belongs to."""
        self.wall |= {name: spent for name, spent in wall.items() if name != "setup"}
        self._earlier |= {name: spent for name, spent in seconds.items() if name != UNTIMED}

    def timings(self) -> dict[str, float]:
        """Return the seconds spent in the setup, in all steps, in each section, in waiting, and in all else."""
        return {**self.wall, **self.seconds_of_steps()}
