"""Clustered local time stepping as actors with integer clocks (NUMERICS 4.5).

Clocks count ticks of the smallest step since the last meeting point. A cluster may predict while no neighbour would
miss data it still has to read, and may correct once every neighbour has predicted far enough.
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


@dataclass
class Clock:
    """Ticks since the last meeting point: ``rate`` a step, predicted and corrected so far, ``start`` of the last step
    predicted, ``limit`` at the meeting."""

    rate: int
    predicted: int = 0
    corrected: int = 0
    start: int = 0
    limit: int = 0

    @property
    def reach(self) -> int:
        """Where the next correction will end."""
        return min(self.corrected + self.rate, self.limit)


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

    def _neighbours(self, i: int) -> list[Clock]:
        return [self.clocks[j] for j in (i - 1, i + 1) if 0 <= j < len(self.clocks)]

    def _moment(self, ticks: int, until: float) -> float:
        return until if ticks >= self.clocks[0].limit else self.time + ticks * self.tick

    def _try(self, i: int, until: float) -> bool:
        clock, near = self.clocks[i], self._neighbours(i)
        start = self._moment(clock.corrected, until)
        step = self._moment(clock.reach, until) - start
        slower = self.clocks[i + 1] if i + 1 < len(self.clocks) else None
        if clock.predicted == clock.corrected:
            if clock.corrected >= clock.limit or not all(clock.predicted < n.reach for n in near):
                return False
            self.actions.predict(i, start, step, slower is None or slower.corrected == clock.corrected)
            clock.start, clock.predicted = clock.corrected, clock.reach
            return True
        if not all(n.predicted >= min(clock.predicted, n.limit) for n in near):
            return False
        # The slower cluster may have corrected already; its traces still belong to the step it predicted last.
        offset = start - self._moment(slower.start, until) if slower else 0.0
        self.actions.correct(i, start, step, offset)
        clock.corrected = clock.predicted
        return True
