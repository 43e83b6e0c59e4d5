"""Snapshots of fields at multiples of an interval: everything about them that does not depend on the numerical method.

A ``SnapshotPlan`` holds what a case requests. An engine adds the cells or points that it writes. In a run, a ``Schedule`` determines the
times, and a ``SnapshotBuffer`` collects the values of groups of cells that advance with different time steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from faultwave.base.types import Setting
from faultwave.comm import World
from faultwave.engine.capability import CapabilityPlan, Requirements, Writes
from faultwave.observe.dataset import sample_count

ROUNDING = 1e-6
"""Largest relative error of a time at which a group of cells takes a snapshot."""


@dataclass(frozen=True)
class SnapshotPlan(CapabilityPlan):
    """Base class of planned snapshots of an engine.

    Attributes
    ----------
    setting : Setting
        Settings of the series in the case's output.
    fields : tuple of str
        Names of the fields.
    disk : int
        Size of the series on disk [bytes].
    """

    setting: Setting
    fields: tuple[str, ...]
    disk: int

    @property
    def requirements(self) -> Requirements:
        return Requirements(disk=self.disk)


@dataclass(frozen=True)
class Schedule:
    """Times of snapshots: the multiples of an interval [s], from 0 on."""

    interval: float

    def time(self, number: int) -> float:
        """Return the time [s] of a snapshot."""
        return number * self.interval

    def count_before(self, time: float) -> int:
        """Return the number of snapshots before a time [s]."""
        return math.ceil(time / self.interval - 1e-9)

    def steps(self, end_time: float, step: float, steps: int, offset: float = 0.0) -> list[int]:
        """Return the ascending numbers of time steps whose state is nearest to the snapshots until the end of a run.

        Parameters
        ----------
        end_time : float
            End time of the run [s].
        step : float
            Time step [s].
        steps : int
            Number of steps of the run.
        offset : float
            Time in steps by which the state after a step precedes the end of the step.
        """
        numbers = range(sample_count(end_time, self.interval))
        return sorted({min(round(self.time(k) / step + offset), steps) for k in numbers})


class SnapshotBuffer:
    """Collection of the parts of snapshots by group of cells; complete ones are passed to the writers.

    Parameters
    ----------
    interval : float
        Time between snapshots [s].
    groups : sequence of ndarray of int
        Items of each group, whose cells advance together, among the items of a snapshot.
    fields : sequence of str
        Names of the fields.
    rows : int
        Number of values of an item in each field.
    writers : sequence of Writes
        Files of the complete snapshots.
    start : float
        Time of the first snapshot [s]; earlier ones are not taken.
    dtype : dtype
        Number type of incomplete snapshots.
    """

    def __init__(
        self,
        interval: float,
        groups: Sequence[np.ndarray],
        fields: Sequence[str],
        rows: int,
        writers: Sequence[Writes],
        start: float,
        dtype: DTypeLike = np.float64,
    ):
        self.schedule, self.groups, self.fields, self.rows = Schedule(interval), groups, tuple(fields), rows
        self.writers, self.dtype = writers, dtype
        self.active = {group for group, items in enumerate(groups) if len(items)}
        self.due_groups = set(self.active)  # may include groups with items on other processes only
        self.next = [self.schedule.count_before(start)] * len(groups)
        self.pending: dict[int, tuple[set[int], dict[str, np.ndarray]]] = {}

    @property
    def interval(self) -> float:
        """Time between snapshots [s]."""
        return self.schedule.interval

    @property
    def next_number(self) -> int:
        """Number of the first incomplete snapshot."""
        return self.next[min(self.active, default=0)]

    @property
    def samples_complete(self) -> bool:
        """True if every group has delivered the same snapshots."""
        return not self.pending and len({self.next[group] for group in self.due_groups}) <= 1

    def go_on(self, number: int) -> None:
        """Continue at snapshot ``number``; earlier ones exist already."""
        self.next = [number] * len(self.groups)

    def due(self, group: int, start: float, end: float) -> list[tuple[int, float]]:
        """Return (number, time) of the snapshots with start <= time < end that this group has not delivered."""
        if not self.waiting(group, end):
            return []
        numbers = range(self.next[group], self.schedule.count_before(end))
        self.next[group] = numbers.stop
        return [(n, self.schedule.time(n)) for n in numbers]

    def last(self, time: float) -> list[tuple[int, int]]:
        """Return (number, group) of the snapshots at the very end of a run."""
        end = time * (1 + 1e-9) + 1e-9 * self.interval * 2
        return [(number, group) for group in sorted(self.active) for number, _ in self.due(group, time, end)]

    def waiting(self, group: int, end: float) -> bool:
        """Return True if a snapshot before ``end`` is due, without taking it."""
        return group in self.due_groups and self.schedule.count_before(end) > self.next[group]

    def next_due(self, group: int) -> float:
        """Return the time such that steps of a group that end before it contain no snapshot."""
        return self.schedule.time(self.next[group]) * (1.0 - ROUNDING) if group in self.due_groups else math.inf

    def idle(self, until: float) -> bool:
        """Return True if no snapshot is due in steps that end before a time."""
        return not any(self.waiting(group, until * (1 + 1e-9) + 1e-9 * self.interval) for group in self.due_groups)

    def deliver(self, number: int, group: int, values: Mapping[str, np.ndarray]) -> None:
        """Store the ``values`` (items, rows) of one group, and write the snapshot if it is complete."""
        if number not in self.pending:
            total = sum(len(items) for items in self.groups)
            self.pending[number] = (set(), {f: np.zeros((total, self.rows), self.dtype) for f in self.fields})
        done, data = self.pending[number]
        for f in self.fields:
            data[f][self.groups[group]] = values[f]
        done.add(group)
        if done == self.active:
            del self.pending[number]
            for writer in self.writers:
                writer.append(self.schedule.time(number), {f: v.reshape(-1) for f, v in data.items()})


def assemble_blocks(world: World, shape: Sequence[int], place: tuple[slice, ...], block: np.ndarray) -> np.ndarray:
    """Return an array assembled on the first process from a block of each; unspecified elsewhere."""
    if world.size == 1:
        return block
    found = np.zeros(shape, block.dtype)
    for where, part in world.gather((place, block)) or ():
        found[where] = part
    return found
