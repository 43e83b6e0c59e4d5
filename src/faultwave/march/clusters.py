"""Clustered local time stepping as actors with integer clocks (NUMERICS 4.5).

Clocks count ticks of the smallest step since the last meeting point. A cluster may correct once every neighbour has
predicted as far, and may predict the next step once no faster neighbour still reads what it left for the last; what it
leaves for a slower neighbour is kept apart for two of that neighbour's steps. Where both may be done they are one turn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class Actions(Protocol):
    """The physics behind a cluster's step; times in seconds."""

    def predict(self, cluster: int, time: float, step: float, restart: bool) -> None:
        """``restart``: this step begins together with one of the next slower cluster."""

    def correct(self, cluster: int, time: float, step: float, offset: float) -> None:
        """``offset``: start of this step after the start of the slower neighbour's current step."""

    def turn(self, cluster: int, time: float, step: float, offset: float, following: float, restart: bool) -> None:
        """``correct`` of the step at ``time``, then ``predict`` of the one after it, ``following`` long."""


@dataclass
class Clock:
    """Ticks since the last meeting point: ``rate`` a step, predicted and corrected so far, ``start`` of the last step
    predicted, ``limit`` at the meeting."""

    rate: int
    predicted: int = 0
    corrected: int = 0
    start: int = 0
    limit: int = 0


class March:
    """Advances clusters whose steps are ``tick * rate``; neighbours in the list are neighbours in space."""

    def __init__(self, tick: float, rates: Sequence[int], actions: Actions, time: float = 0.0):
        self.tick, self.time, self.actions = tick, time, actions
        self.clocks = [Clock(rate) for rate in rates]

    @property
    def longest(self) -> float:
        """Step of the slowest cluster: all clusters meet every so often without shortening a step."""
        return self.tick * max(c.rate for c in self.clocks)

    def advance(self, until: float) -> None:
        """Step every cluster to ``until``; only the last step of each may be shortened.

        A time (all but) reached takes no step; ValueError for one that has passed.
        """
        ticks = math.ceil((until - self.time) / self.tick - 1e-9)
        if ticks < 0:
            raise ValueError(f"cannot march back from {self.time} to {until}")
        for clock in self.clocks:
            clock.predicted = clock.corrected = clock.start = 0
            clock.limit = ticks
        while any(clock.corrected < ticks for clock in self.clocks):
            moved = False
            for i in range(len(self.clocks)):
                moved |= self._try(i, until)
            if not moved:
                raise RuntimeError(f"time stepping is stuck: {self.clocks}")
        self.time = until

    def _moment(self, ticks: int, until: float) -> float:
        return until if ticks >= self.clocks[0].limit else self.time + ticks * self.tick

    def _try(self, i: int, until: float) -> bool:
        clock = self.clocks[i]
        faster = self.clocks[i - 1] if i else None
        slower = self.clocks[i + 1] if i + 1 < len(self.clocks) else None
        now = clock.predicted
        # What I left for the faster cluster is in use until it has corrected as far as I have predicted.
        free = faster is None or faster.corrected >= now
        # My next steps belong to a step that the slower one has begun, or is about to begin.
        known = slower is None or now <= slower.predicted
        more = now < clock.limit and free and known
        restart = slower is None or now % slower.rate == 0
        start = self._moment(clock.corrected, until)
        following = self._moment(min(now + clock.rate, clock.limit), until) - self._moment(now, until)
        if now == clock.corrected:
            if more:
                self.actions.predict(i, start, following, restart)
                self._begin(clock)
            return more
        if not all(n.predicted >= min(now, n.limit) for n in (faster, slower) if n):
            return False
        if now < clock.limit and not more:
            return False
        # The slower cluster may have corrected already; its traces still belong to the step it predicted last.
        offset = start - self._moment(slower.start, until) if slower else 0.0
        step = self._moment(now, until) - start
        clock.corrected = now
        if more:
            self.actions.turn(i, start, step, offset, following, restart)
            self._begin(clock)
        else:
            self.actions.correct(i, start, step, offset)
        return True

    def _begin(self, clock: Clock) -> None:
        clock.start, clock.predicted = clock.predicted, min(clock.predicted + clock.rate, clock.limit)
