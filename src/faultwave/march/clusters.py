"""Clustered local time stepping as actors with integer clocks (docs/theory/time-stepping.md, "Local time stepping").

Clocks count ticks of the smallest step since the last time at which all clusters met. A cluster may correct once every neighbour has
predicted as far, and may predict the next step once no faster neighbour still reads what it published for the last; what it
publishes for a slower neighbour is kept apart for two of that neighbour's steps. Where both may be done they are done together.

In a run on several processes a prediction may defer cells that neither other clusters nor other processes look at. The corrections of
slower clusters and the cluster's own next one wait for them; all others go first, so that there is work for whenever messages are late.
"""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, repeat
from typing import Protocol


def never() -> bool:
    """No pause."""
    return False


class Actions(Protocol):
    """The physics behind a cluster's step; times in seconds."""

    def predict(self, cluster: int, time: float, step: float, restart: bool) -> None:
        """``restart``: this step begins together with one of the next slower cluster."""

    def correct(self, cluster: int, time: float, step: float) -> None:
        """The step at ``time``."""

    def correct_and_predict(self, cluster: int, time: float, step: float, following: float, restart: bool) -> None:
        """``correct`` of the step at ``time``, then ``predict`` of the one after it, ``following`` long."""


class Overlap(Protocol):
    """What actions do besides in a run on several processes, to compute while messages travel."""

    def ready(self, cluster: int) -> bool:
        """Whether the messages that the next correction of the cluster reads are here."""

    def finish(self, cluster: int) -> bool:
        """Do part of what the last prediction deferred; whether there is more."""

    def early(self, cluster: int, time: float, step: float) -> bool:
        """Do what of the correction needs no messages, once; whether there was anything."""

    def wait(self, clusters: Sequence[int]) -> None:
        """Return when one of the clusters is ready. Raises an error where another process is silent."""


@dataclass
class Clock:
    """Ticks since the last meeting: ``rate`` a step, predicted and corrected so far, ``limit`` at the next meeting."""

    rate: int
    predicted: int = 0
    corrected: int = 0
    limit: int = 0
    deferred: bool = False  # whether the last prediction has deferred cells


class March:
    """Advances clusters whose steps are ``tick * rate``; neighbours in the list are neighbours in space."""

    def __init__(self, tick: float, rates: Sequence[int], actions: Actions, time: float = 0.0):
        self.tick, self.time, self.actions = tick, time, actions
        self.clocks = [Clock(rate) for rate in rates]
        self._largest = max(rates)  # ticks
        # When the steps of the next faster cluster end within a whole step of each, after its start [s].
        self._within = [
            tuple(min(t, slow) * tick for t in range(fast, slow + fast, fast)) for fast, slow in pairwise(rates)
        ]
        self._ends = [time]  # of the largest steps that are taken at once
        self.overlap: Overlap | None = None  # of computing and messages, with other processes
        self.waited = 0.0  # seconds in which there was nothing to do but wait for messages
        self._late: list[int] = []
        self._whole = True  # whether the last steps are as long as the others
        self._until = time  # the next meeting

    @property
    def longest(self) -> float:
        """Step of the slowest cluster: all clusters meet every so often without shortening a step."""
        return self.tick * self._largest

    def time_after(self, steps: int) -> float:
        """The time after so many largest steps, added one by one: where ``advance`` is then called with it, every moment is the same to
        the last bit as if they had been taken one by one."""
        self._ends = list(accumulate(repeat(self.longest, steps), initial=self.time))
        return self._ends[-1]

    def moment(self, ticks: int) -> float:
        """So many ticks after ``time``."""
        ends = self._ends if self._ends[0] == self.time else [self.time]
        whole = min(ticks // self._largest, len(ends) - 1)
        return ends[whole] + (ticks - whole * self._largest) * self.tick

    def ends_within(self, cluster: int) -> tuple[float, ...]:
        """When the steps of the next faster cluster end within the step that a cluster is about to predict, after its start [s]."""
        if not cluster:
            return ()
        own, rate = self.clocks[cluster], self.clocks[cluster - 1].rate
        begin, end = own.predicted, own.predicted + own.rate
        if end < own.limit or end == own.limit and self._whole:
            return self._within[cluster - 1]
        end = min(end, own.limit)
        return tuple(self._span(begin, min(t, end), self._until) for t in range(begin + rate, end + rate, rate))

    def advance(self, until: float, pause: Callable[[], bool] = never) -> None:
        """Step every cluster to ``until``; only the last step of each may be shortened. Once ``pause()`` is true, to the next time before
        it at which all can meet.

        A time (all but) reached takes no step; ValueError for one that has passed.
        """
        if self._ends[0] != self.time or self._ends[-1] != until:
            self._ends = [self.time, until] if until == self.time + self.longest else [self.time]
        ticks = (
            len(self._ends) - 1
        ) * self._largest  # known, where rounding could make it one more, at late times above all
        self._whole = ticks > 0
        if not self._whole:
            ticks = math.ceil((until - self.time) / self.tick - 1e-9)
            self._whole = abs(self.time + ticks * self.tick - until) <= 1e-9 * self.tick
        if ticks < 0:
            raise ValueError(f"cannot march back from {self.time} to {until}")
        for c in self.clocks:
            c.predicted = c.corrected = 0
            c.limit = ticks
        self._until = until
        turns = range(len(self.clocks))
        while True:
            if pause():
                self._until = until = self._earlier(until)
            self._late = []
            for i in turns:  # the fastest that can
                if self._try(i, until):
                    break
            else:
                if all(c.corrected >= c.limit for c in self.clocks):
                    break
                if not self._work(until):
                    raise RuntimeError(f"time stepping is stuck: {self.clocks}")
        self.time = until

    def _earlier(self, until: float) -> float:
        """Let all clusters meet as soon as they can, before ``until``; returns that time."""
        steps = -(-max(c.predicted for c in self.clocks) // self._largest)
        ticks = max(1, steps) * self._largest
        if ticks >= self.clocks[0].limit:
            return until
        for c in self.clocks:
            c.limit = ticks
        return self.moment(ticks)

    def _work(self, until: float) -> bool:
        """While messages are late: what can be done early, what was deferred, and only then wait. False where nothing can be done."""
        overlap = self.overlap
        if overlap is None:
            return False
        for i in self._late:
            own = self.clocks[i]
            if overlap.early(i, self._moment(own.corrected, until), self._span(own.corrected, own.predicted, until)):
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
        """Seconds between two clocks: to the last bit the same for steps of as many ticks, but for one that is shortened."""
        if end < self.clocks[0].limit or self._whole:
            return (end - ticks) * self.tick
        return until - self._moment(ticks, until)

    def _try(self, i: int, until: float) -> bool:
        own = self.clocks[i]
        if own.deferred:
            return False
        faster = self.clocks[i - 1] if i else None
        slower = self.clocks[i + 1] if i + 1 < len(self.clocks) else None
        now = own.predicted
        # What I published for the faster cluster is in use until it has corrected as far as I have predicted.
        free = faster is None or faster.corrected >= now
        # My next steps belong to a step that the slower one has begun, or is about to begin.
        known = slower is None or now <= slower.predicted
        more = now < own.limit and free and known
        if now == own.corrected:
            if more:
                self.actions.predict(i, self._moment(now, until), *self._next(own, slower, until))
                self._begin(own)
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
        if self.overlap is not None and not self.overlap.ready(i):
            self._late.append(i)
            return False
        start, step = self._moment(own.corrected, until), self._span(own.corrected, now, until)
        own.corrected = now
        if more:
            self.actions.correct_and_predict(i, start, step, *self._next(own, slower, until))
            self._begin(own)
        else:
            self.actions.correct(i, start, step)
        return True

    def _next(self, own: Clock, slower: Clock | None, until: float) -> tuple[float, bool]:
        """Length of a cluster's next step, and whether it begins together with one of the next slower cluster."""
        now = own.predicted
        restart = slower is None or now % slower.rate == 0
        return self._span(now, min(now + own.rate, own.limit), until), restart

    def _begin(self, own: Clock) -> None:
        own.predicted = min(own.predicted + own.rate, own.limit)
        own.deferred = self.overlap is not None
