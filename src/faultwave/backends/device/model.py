"""Performance model of planned kernels: an estimate, not a bound.

A bound (``Target.roof``) takes bytes and flops at the data sheet's best. The model adds what the shape of a kernel costs. The threads
of a group read and write numbers in fast memory, of which a multiprocessor moves a fixed number of bytes per cycle. And a group waits:
for memory in every phase that reads it, and for the slowest thread at the end of every phase. Groups that are on a multiprocessor
together fill each other's waits (Little's law): g groups, each of which takes T alone, of which it works t on the busiest unit, are
done at the rate min(g / T, 1 / t). Latencies are assumed to be the same everywhere; nothing of this has been measured yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.backends.device.schedule import ROWS, Phase, Plan
from faultwave.backends.device.target import Target
from faultwave.backends.device.tasks import Copy, Dense, Product, Task
from faultwave.kernels.language import Gather, Pointwise, Repeat, Scatter, View

LATENCY, PHASE = 600.0, 60.0
"""Cycles that a phase waits for memory it reads, and that any phase costs: fast memory's latency, a barrier, the slowest thread."""


@dataclass(frozen=True)
class Modelled:
    """Items a second by the model, and the unit that is busiest: 'memory', 'arithmetic', 'fast memory', or 'waiting' for any."""

    rate: float
    limit: str
    near: int  # bytes in fast memory of an item


def modelled(plan: Plan, groups: int, moved: int, flops: int) -> Modelled:
    """Return the modelled rate of a kernel with ``groups`` groups per multiprocessor, and bytes and flops per item."""
    t, single = plan.target, plan.size == 4
    near = plan.size * _near(plan, plan.phases)
    return _rate(t, plan.share, max(1, groups), _waits(plan, plan.phases), moved, flops, near, single)


def streamed(target: Target, threads: int, moved: int, flops: int, single: bool) -> Modelled:
    """Return the modelled rate of a stencil with ``threads`` threads per multiprocessor, each waiting for its plane."""
    return _rate(target, 1, threads, LATENCY, moved, flops, 0, single)


def _rate(
    t: Target, share: int, groups: int, waits: float, moved: int, flops: int, near: int, single: bool
) -> Modelled:
    """``waits``: cycles in which a group of ``share`` items waits."""
    cycles = {
        "memory": share * moved * t.units * t.clock / t.bandwidth,
        "arithmetic": share * flops * t.units * t.clock / t.peak[single],
        "fast memory": share * near / t.near,
    }
    busiest = max(cycles, key=lambda n: cycles[n])
    alone = (waits + sum(cycles.values())) / groups
    limit = "waiting" if alone > cycles[busiest] else busiest
    return Modelled(t.units * t.clock * share / max(alone, cycles[busiest]), limit, near)


def _waits(plan: Plan, phases: Sequence[Phase]) -> float:
    far = {a.name for a in plan.kernel.arguments}
    total = 0.0
    for phase in phases:
        tasks = [p.task for p in phase]
        reads = any(isinstance(x.work, Gather) or any(r.name in far for r in x.reads) for x in tasks)
        total += PHASE + (LATENCY if reads else 0.0)
        for p in phase:
            times = p.task.work.count if isinstance(p.task.work, Repeat) else 1
            total += times * _waits(plan, p.phases)
    return total


def _near(plan: Plan, phases: Sequence[Phase]) -> int:
    """Numbers of an item that are read or written in fast memory."""
    total = 0
    for placed in (p for phase in phases for p in phase):
        times = placed.task.work.count if isinstance(placed.task.work, Repeat) else 1
        total += times * _near(plan, placed.phases) if placed.phases else _numbers(plan, placed.task)
    return total


def _numbers(plan: Plan, task: Task) -> int:
    def here(v: View, count: int) -> int:
        return count if v.array.name in plan.places else 0

    match task.work:
        case Product() as p:
            total = here(p.out, p.rows * len(p.columns) * (2 if p.accumulate else 1))
            for first in range(0, p.rows, ROWS):  # a thread reads a number once for so many rows
                for term in p.terms:
                    used = int(np.count_nonzero(term.matrix[first : first + ROWS].any(0)))
                    total += here(term.inp, used * len(term.columns))
            return total
        case Dense(s):
            rows, used = s.matrix.rows, s.matrix.cols  # type: ignore[union-attr]
            return here(s.inp, rows * used * len(s.columns)) + here(s.out, rows * len(s.columns))
        case Pointwise() as s:
            return sum(here(v, s.rows * v.cols) for v in (*s.ins, *s.outs))
        case Gather() as s:
            return here(s.out, s.out.rows * s.out.cols)
        case Scatter() as s:
            return here(s.inp, s.inp.rows * s.inp.cols)
        case Copy() as c:
            return c.inner.rows * c.inner.cols
    return 0


__all__ = ["LATENCY", "PHASE", "Modelled", "modelled", "streamed"]
