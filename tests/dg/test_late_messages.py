"""Messages that are late, in a time that only work and waiting move: what of their delay a schedule leaves to see.

The other process is the mirror image of this one: it sends when this one sends.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from faultwave.dg.stepping import local_time_stepping
from faultwave.dg.stepping.local_time_stepping import LocalTimeStepping

PIECES = 8


class Mirror:
    """Steps of clusters whose ``special`` cells come first and whose ``plain`` ones, and ``friction``, may wait [s]; every
    message takes ``delay``."""

    def __init__(self, rates: list[int], special: list[float], plain: list[float], friction: list[float], delay: float):
        self.rates, self.special, self.plain, self.friction, self.delay = rates, special, plain, friction, delay
        count = len(rates)
        self.time, self.at_once, self.overlap = 0.0, False, self
        self.left, self.steps, self.solved = [0] * count, [0] * count, [False] * count
        self.whole = [0] * count  # steps that every cell has predicted
        self.sent, self.sums = [0.0] * count, [0.0] * count  # when waves and traces went, when sums did

    def _begin(self, c: int) -> None:
        self.time += self.special[c]
        self.steps[c] += 1
        self.sent[c], self.left[c] = self.time, PIECES
        if c + 1 < len(self.rates) and self.steps[c] * self.rates[c] % self.rates[c + 1] == 0:
            self.sums[c] = self.time
        if self.at_once:
            while self.finish(c):
                pass

    def _solve(self, c: int) -> None:
        self.time += 0.0 if self.solved[c] else self.friction[c]
        self.solved[c] = False

    def predict(self, cluster: int, time: float, step: float, restart: bool) -> None:
        self._begin(cluster)

    def correct(self, cluster: int, time: float, step: float) -> None:
        self._check(cluster)
        self._solve(cluster)
        self.time += 0.3 * (self.special[cluster] + self.plain[cluster])

    def correct_and_predict(self, cluster: int, time: float, step: float, following: float, restart: bool) -> None:
        self._check(cluster)
        self._solve(cluster)
        self._begin(cluster)

    def _check(self, c: int) -> None:
        """What a correction reads is there: messages, all waves of the step, all sums of the faster cluster's."""
        end = self.steps[c] * self.rates[c]
        assert self.ready(c)
        assert all(self.whole[i] * self.rates[i] >= end for i in (c, c - 1) if i >= 0)

    def ready(self, cluster: int) -> bool:
        return self.time >= self.arrival(cluster)

    def arrival(self, cluster: int) -> float:
        needed = [self.sent[cluster], *self.sent[cluster + 1 : cluster + 2], *self.sums[max(cluster - 1, 0) : cluster]]
        return max(needed) + self.delay

    def finish(self, cluster: int) -> bool:
        if not self.left[cluster]:
            return False
        self.time += self.plain[cluster] / PIECES
        self.left[cluster] -= 1
        self.whole[cluster] += not self.left[cluster]
        return self.left[cluster] > 0

    def advance_local_friction(self, cluster: int, time: float, step: float) -> bool:
        if self.solved[cluster] or not self.friction[cluster] or self.at_once:
            return False
        self.time += self.friction[cluster]
        self.solved[cluster] = True
        return True

    def wait(self, clusters: Sequence[int]) -> None:
        self.time = min(map(self.arrival, clusters))


def spent(monkeypatch: pytest.MonkeyPatch, ladder: str, delay: float, at_once: bool = False) -> tuple[float, float]:
    """Time of 8 largest steps, and how much of it was waiting."""
    rates, special, plain, friction = LADDERS[ladder]
    mirror = Mirror(rates, special, plain, friction, delay)
    mirror.at_once = at_once
    monkeypatch.setattr(local_time_stepping, "clock", SimpleNamespace(perf_counter=lambda: mirror.time))
    march = LocalTimeStepping(1.0, rates)
    for _ in range(8):
        march.advance(march.time + march.longest, mirror)
    return mirror.time, march.waited


# Milliseconds of special and plain cells and of friction by cluster; those of several clusters are TPV5's on two processes.
LADDERS = {
    "one": ([1], [0.5], [5.0], [0.0]),
    "fault in the fastest": ([1, 2, 4, 8, 16], [2.0, 1.0, 0.5, 0.5, 0.2], [1.5, 3.0, 0.8, 1.5, 0.7], [1.5, 0, 0, 0, 0]),
    "nothing in the fastest": ([1, 2, 4], [0.1, 0.5, 1.0], [0.0, 4.0, 10.0], [0.0, 0.0, 0.0]),
    "three to one": ([1, 3], [0.2, 0.5], [1.0, 9.0], [0.0, 0.0]),
}


def interior(ladder: str) -> float:
    """Plain cells and friction of a fastest step, of all clusters."""
    rates, _, plain, friction = LADDERS[ladder]
    return sum((p + f) / r for r, p, f in zip(rates, plain, friction, strict=True))


@pytest.mark.parametrize("ladder", LADDERS)
def test_a_delay_shorter_than_the_interior_is_hidden(monkeypatch: pytest.MonkeyPatch, ladder: str) -> None:
    alone, _ = spent(monkeypatch, ladder, 0.0)
    for share in (0.3, 0.6, 0.9):
        late, waited = spent(monkeypatch, ladder, share * interior(ladder))
        assert late < 1.03 * alone and waited < 0.03 * alone


def test_without_deferred_work_the_same_delay_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this is for, and that the measure can fail."""
    for ladder in ("fault in the fastest", "nothing in the fastest"):
        alone, _ = spent(monkeypatch, ladder, 0.0, at_once=True)
        late, waited = spent(monkeypatch, ladder, 0.9 * interior(ladder), at_once=True)
        assert late > 1.1 * alone and waited > 0.1 * alone
