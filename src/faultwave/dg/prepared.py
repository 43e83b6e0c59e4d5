"""Launches of a step that clusters take again and again, with all that they are given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Prepared = Callable[[], None]
"""A launch with all that it is given."""

KEPT_STEPS = 256
"""Steps of a cluster that are kept prepared at most; those of a run differ in a few numbers that come again and again."""


@dataclass(frozen=True)
class PreparedStep:
    """``special``: launches on cells that leave more than waves; ``whole``: the one on all plain cells, the range ``plain``, and ``part`` on
    some of these."""

    special: tuple[Prepared, ...]
    plain: tuple[int, int]
    whole: Prepared
    part: Callable[[int, int], None]


@dataclass
class Remaining:
    """Plain cells from ``at`` on that a step has left for later."""

    at: int
    step: PreparedStep


__all__ = ["KEPT_STEPS", "PreparedStep", "Remaining"]
