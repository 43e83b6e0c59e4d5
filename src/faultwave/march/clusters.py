"""Clustered local time stepping as actors with integer clocks (NUMERICS 4.5).

Clocks count ticks of the smallest step since the last meeting point. A cluster may correct once every neighbour has
predicted as far, and may predict the next step once no faster neighbour still reads what it left for the last; what it
leaves for a slower neighbour is kept apart for two of that neighbour's steps. Where both may be done they are one turn.
"""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from faultwave.base.errors import RunError
from faultwave.comm.exchange import PATIENCE


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
        self.ready: Callable[[int], bool] = lambda cluster: (
            True
        )  # whether what other processes owe a correction is here
        self.waited = 0.0  # seconds in which there was nothing to do but wait for them
        self._late = False

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
        for c in self.clocks:
            c.predicted = c.corrected = c.start = 0
            c.limit = ticks
        idle = 0.0
        while any(c.corrected < ticks for c in self.clocks):
            moved = self._late = False
            for i in range(len(self.clocks)):
                moved |= self._try(i, until)
            if not moved and not self._late:
                raise RuntimeError(f"time stepping is stuck: {self.clocks}")
            idle = 0.0 if moved else self._wait(idle)
        self.time = until

    def _wait(self, idle: float) -> float:
        """Let others have the core for a moment; seconds for which there has been nothing to do, ``idle`` before."""
        started = clock.perf_counter()
        clock.sleep(0)
        while not any(self.ready(i) for i, c in enumerate(self.clocks) if c.predicted > c.corrected):
            clock.sleep(0)
            if idle + clock.perf_counter() - started > PATIENCE:
                raise RunError(f"nothing has come from other processes for {PATIENCE:.0f} s: {self.clocks}")
        spent = clock.perf_counter() - started
        self.waited += spent
        return idle + spent

    def _moment(self, ticks: int, until: float) -> float:
        return until if ticks >= self.clocks[0].limit else self.time + ticks * self.tick

    def _try(self, i: int, until: float) -> bool:
        own = self.clocks[i]
        faster = self.clocks[i - 1] if i else None
        slower = self.clocks[i + 1] if i + 1 < len(self.clocks) else None
        now = own.predicted
        # What I left for the faster cluster is in use until it has corrected as far as I have predicted.
        free = faster is None or faster.corrected >= now
        # My next steps belong to a step that the slower one has begun, or is about to begin.
        known = slower is None or now <= slower.predicted
        more = now < own.limit and free and known
        restart = slower is None or now % slower.rate == 0
        start = self._moment(own.corrected, until)
        following = self._moment(min(now + own.rate, own.limit), until) - self._moment(now, until)
        if now == own.corrected:
            if more:
                self.actions.predict(i, start, following, restart)
                self._begin(own)
            return more
        if not all(n.predicted >= min(now, n.limit) for n in (faster, slower) if n):
            return False
        if now < own.limit and not more:
            return False
        if not self.ready(i):
            self._late = True
            return False
        # The slower cluster may have corrected already; its traces still belong to the step it predicted last.
        offset = start - self._moment(slower.start, until) if slower else 0.0
        step = self._moment(now, until) - start
        own.corrected = now
        if more:
            self.actions.turn(i, start, step, offset, following, restart)
            self._begin(own)
        else:
            self.actions.correct(i, start, step, offset)
        return True

    def _begin(self, own: Clock) -> None:
        own.start, own.predicted = own.predicted, min(own.predicted + own.rate, own.limit)
