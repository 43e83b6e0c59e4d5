"""Performance model of planned kernels.

The roofline (``Target.roof``) is a bound by bandwidth and peak flops of the data sheet. The model adds costs of the schedule: numbers read
and written in shared memory, with a fixed bandwidth per multiprocessor and cycle; the memory latency in each phase that reads memory; and
the barrier at the end of each phase. Groups that are resident on a multiprocessor hide each other's latencies (Little's law): g groups,
each of which takes the time T alone, of which t on the busiest unit, complete at the rate min(g / T, 1 / t). Latencies are assumed equal
on all devices; the model has not been compared with measurements.
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
"""Cycles that a phase waits for memory that it reads, and overhead of any phase: shared-memory latency, barrier, slowest thread."""


@dataclass(frozen=True)
class Modelled:
    """Modelled performance of a kernel.

    Attributes
    ----------
    rate : float
        Items per second.
    limit : {"memory", "arithmetic", "fast memory", "waiting"}
        Busiest unit, or "waiting" if latencies limit the rate.
    near : int
        Shared-memory traffic of an item [bytes].
    """

    rate: float
    limit: str
    near: int


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
    """Return the modelled rate if a group of ``share`` items waits for ``waits`` cycles."""
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
    """Return how many numbers of an item are read or written in shared memory."""
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
            for first in range(0, p.rows, ROWS):  # a thread reads a number once for a block of rows
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
