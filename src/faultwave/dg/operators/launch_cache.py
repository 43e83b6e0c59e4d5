"""Cache of the kernel launches of a step with all their arguments, as clusters repeat steps with equal arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Prepared = Callable[[], None]
"""Kernel launch with all its arguments."""

KEPT_STEPS = 256
"""Largest number of prepared steps of a cluster; the steps of a run differ in a few numbers that recur."""


@dataclass(frozen=True)
class PreparedStep:
    """Launches of one step of a cluster.

    Attributes
    ----------
    special : tuple of Prepared
        Launches on cells that publish more than waves.
    plain : tuple of int
        Range of the plain cells, which publish waves only.
    whole : Prepared
        Launch on all plain cells.
    part : callable
        Launch on a range of the plain cells.
    """

    special: tuple[Prepared, ...]
    plain: tuple[int, int]
    whole: Prepared
    part: Callable[[int, int], None]


@dataclass
class DeferredCells:
    """Plain cells that a started step has not processed yet, from index ``at`` on."""

    at: int
    step: PreparedStep


__all__ = ["KEPT_STEPS", "PreparedStep", "DeferredCells"]
