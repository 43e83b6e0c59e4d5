"""Clustered local time stepping as actors with integer clocks (docs/theory/time-stepping.md, "Local time stepping").

Clocks count ticks of the smallest step since the last time at which all clusters met. A cluster may correct once every
neighbour has predicted as far, and may predict the next step once no faster neighbour still reads the data it published
for the last step; data for a slower neighbour stay valid for two of that neighbour's steps. If both are permitted, they
are done in one pass.

In a run on several processes a prediction may defer cells that neither other clusters nor other processes read. The
corrections of slower clusters and the cluster's own next one wait for them; all others go first, so that there is work
to do when messages are late.
"""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, repeat
from typing import Protocol


def never() -> bool:
    """Return False: no pause."""
    return False


class Actions(Protocol):
    """Computations of a cluster's step; times in seconds."""

    @property
    def overlap(self) -> Overlap | None:
        """Actions that overlap with messages, in runs on several processes."""

    def predict(self, cluster: int, time: float, step: float, restart: bool) -> None:
        """Predict the step at ``time``; ``restart`` if it begins together with a step of the next slower cluster."""

    def correct(self, cluster: int, time: float, step: float) -> None:
        """Correct the step at ``time``."""

    def correct_and_predict(self, cluster: int, time: float, step: float, following: float, restart: bool) -> None:
        """Correct the step at ``time`` and predict the next one, of length ``following`` [s]."""


class Overlap(Protocol):
    """Actions that overlap computation with messages in a run on several processes."""

    def ready(self, cluster: int) -> bool:
        """Return True if the messages that the next correction of the cluster reads have arrived."""

    def finish(self, cluster: int) -> bool:
        """Compute a part of the cells that the last prediction deferred; return True if cells remain."""

    def advance_local_friction(self, cluster: int, time: float, step: float) -> bool:
        """Compute the part of the correction that needs no messages, once; return True if there was any."""

    def wait(self, clusters: Sequence[int]) -> None:
        """Wait until one of the clusters is ready. Raises an error if another process does not respond."""


@dataclass
class Clock:
    """Clock of a cluster, in ticks since the last meeting of all clusters.

    Attributes
    ----------
    rate : int
        Length of a step.
    predicted, corrected : int
        Time up to which the cluster has predicted and corrected.
    limit : int
        Time of the next meeting.
    """

    rate: int
    predicted: int = 0
    corrected: int = 0
    limit: int = 0
    deferred: bool = False  # True if the last prediction has deferred cells


class LocalTimeStepping:
    """Local time stepping of clusters with steps ``tick * rate`` [s]; adjacent clusters in the list are neighbours in space."""

    def __init__(self, tick: float, rates: Sequence[int], time: float = 0.0):
        self.tick, self.time = tick, time
        self.clocks = [Clock(rate) for rate in rates]
        self._largest = max(rates)  # ticks
        # When the steps of the next faster cluster end within a whole step of each, after its start [s].
        self._within = [
            tuple(min(t, slow) * tick for t in range(fast, slow + fast, fast)) for fast, slow in pairwise(rates)
        ]
        self._ends = [time]  # ends of the largest steps that are taken at once
        self.waited = 0.0  # time spent in waiting for messages only [s]
        self._late: list[int] = []
        self._whole = True  # True if the last steps are not shortened
        self._until = time  # the next meeting

    @property
    def longest(self) -> float:
        """Step of the slowest cluster [s]: the interval at which all clusters meet without shortening a step."""
        return self.tick * self._largest

    def time_after(self, steps: int) -> float:
        """Return the time after ``steps`` largest steps, added one by one.

        A subsequent ``advance`` to this time visits the same moments as single steps do, bit for bit.
        """
        self._ends = list(accumulate(repeat(self.longest, steps), initial=self.time))
        return self._ends[-1]

    def moment(self, ticks: int) -> float:
        """Return the time of a number of ticks after ``time``."""
        ends = self._ends if self._ends[0] == self.time else [self.time]
        whole = min(ticks // self._largest, len(ends) - 1)
        return ends[whole] + (ticks - whole * self._largest) * self.tick

    def ends_within(self, cluster: int) -> tuple[float, ...]:
        """Return the ends of the next faster cluster's steps within a cluster's next predicted step, after its start [s]."""
        if not cluster:
            return ()
        own, rate = self.clocks[cluster], self.clocks[cluster - 1].rate
        begin, end = own.predicted, own.predicted + own.rate
        if end < own.limit or end == own.limit and self._whole:
            return self._within[cluster - 1]
        end = min(end, own.limit)
        return tuple(self._span(begin, min(t, end), self._until) for t in range(begin + rate, end + rate, rate))

    def advance(self, until: float, actions: Actions, pause: Callable[[], bool] = never) -> None:
        """Step every cluster to ``until`` with ``actions``; only the last step of each may be shortened.

        Once ``pause()`` returns True, clusters step to the next earlier time at which all can meet. A time that is
        (almost) reached takes no step.

        Raises
        ------
        ValueError
            If the time has passed.
        """
        if self._ends[0] != self.time or self._ends[-1] != until:
            self._ends = [self.time, until] if until == self.time + self.longest else [self.time]
        ticks = (
            len(self._ends) - 1
        ) * self._largest  # exact; computed from times it could be one more by rounding, above all at late times
        self._whole = ticks > 0
        if not self._whole:
            ticks = math.ceil((until - self.time) / self.tick - 1e-9)
            self._whole = abs(self.time + ticks * self.tick - until) <= 1e-9 * self.tick
        if ticks < 0:
            raise ValueError(f"cannot march back from {self.time:g} s to {until:g} s")
        for c in self.clocks:
            c.predicted = c.corrected = 0
            c.limit = ticks
        self._until = until
        turns = range(len(self.clocks))
        while True:
            if pause():
                self._until = until = self._earlier(until)
            self._late = []
            for i in turns:  # the fastest cluster that can act
                if self._try(i, until, actions):
                    break
            else:
                if all(c.corrected >= c.limit for c in self.clocks):
                    break
                if not self._work(until, actions.overlap):
                    raise RuntimeError(f"time stepping is stuck: {self.clocks}")
        self.time = until

    def _earlier(self, until: float) -> float:
        """Let all clusters meet as soon as possible before ``until``, and return that time."""
        steps = -(-max(c.predicted for c in self.clocks) // self._largest)
        ticks = max(1, steps) * self._largest
        if ticks >= self.clocks[0].limit:
            return until
        for c in self.clocks:
            c.limit = ticks
        return self.moment(ticks)

    def _work(self, until: float, overlap: Overlap | None) -> bool:
        """Work while messages are late: friction that needs no messages first, then deferred cells; wait only if neither is left.

        Returns False if there is nothing to do.
        """
        if overlap is None:
            return False
        for i in self._late:
            own = self.clocks[i]
            if overlap.advance_local_friction(
                i, self._moment(own.corrected, until), self._span(own.corrected, own.predicted, until)
            ):
                return True
        for i, c in enumerate(self.clocks):
            if c.deferred:
                c.deferred = overlap.finish(i)
                return True
        if self._late:
            started = clock.perf_counter()
            overlap.wait(self._late)
            self.waited += clock.perf_counter() - started
        return bool(self._late)

    def _moment(self, ticks: int, until: float) -> float:
        return until if ticks >= self.clocks[0].limit else self.moment(ticks)

    def _span(self, ticks: int, end: int, until: float) -> float:
        """Return the seconds between two clocks, bitwise equal for steps of as many ticks except a shortened one."""
        if end < self.clocks[0].limit or self._whole:
            return (end - ticks) * self.tick
        return until - self._moment(ticks, until)

    def _try(self, i: int, until: float, actions: Actions) -> bool:
        own = self.clocks[i]
        if own.deferred:
            return False
        faster = self.clocks[i - 1] if i else None
        slower = self.clocks[i + 1] if i + 1 < len(self.clocks) else None
        now = own.predicted
        # The faster cluster reads the data of the last step until it has corrected as far as this one has predicted.
        free = faster is None or faster.corrected >= now
        # The next steps belong to a step that the slower cluster has begun or is about to begin.
        known = slower is None or now <= slower.predicted
        more = now < own.limit and free and known
        if now == own.corrected:
            if more:
                actions.predict(i, self._moment(now, until), *self._next(own, slower, until))
                self._begin(own, actions)
            return more
        if now < own.limit and not more:
            return False
        if faster is not None:
            if faster.predicted < now:
                return False
            if faster.deferred and faster.corrected < now:  # sums of its last step are not complete
                return False
        if slower is not None and slower.predicted < now:
            return False
        if actions.overlap is not None and not actions.overlap.ready(i):
            self._late.append(i)
            return False
        start, step = self._moment(own.corrected, until), self._span(own.corrected, now, until)
        own.corrected = now
        if more:
            actions.correct_and_predict(i, start, step, *self._next(own, slower, until))
            self._begin(own, actions)
        else:
            actions.correct(i, start, step)
        return True

    def _next(self, own: Clock, slower: Clock | None, until: float) -> tuple[float, bool]:
        """Return the length of a cluster's next step, and True if it begins together with a step of the next slower cluster."""
        now = own.predicted
        restart = slower is None or now % slower.rate == 0
        return self._span(now, min(now + own.rate, own.limit), until), restart

    def _begin(self, own: Clock, actions: Actions) -> None:
        own.predicted = min(own.predicted + own.rate, own.limit)
        own.deferred = actions.overlap is not None
