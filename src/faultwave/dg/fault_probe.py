"""Reading a fault at chosen points, at the time its cells have reached: what is asked for in steps is copied there and worked out later,
many readings at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.dg.fault import Fault
from faultwave.dg.fault_values import FaultValues
from faultwave.dg.sample_buffer import Brought, SampleBuffer, Source

Then = Callable[[np.ndarray], None]

Raw = list[np.ndarray]
"""Readings (readings, n, ...): of friction's buffers as ``FaultValues.kept`` lists them, or dofs of both sides."""


@dataclass
class Asked:
    """So many readings, one after the other, of the same quantities for the same receiver."""

    names: tuple[str, ...]
    then: Then
    count: int = 1


class FaultProbe:
    """Points of fault faces ``items`` (n,), see ``FaultValues``.

    ``tag`` tells the probes of one fault apart, in the same way on every process that reads the same faces. ``late``: what is asked
    for has the waves of the reading before, as SeisSol's receivers take the waves where a step begins and friction where it ends.
    ``from_waves``: see ``FaultValues``. ``patient``: nobody looks at single readings, so that they may wait for as many as
    there is room for.
    """

    def __init__(
        self,
        fault: Fault,
        items: np.ndarray,
        points: np.ndarray,
        exact: bool,
        from_velocity: bool,
        tag: int = 0,
        late: bool = False,
        from_waves: bool = False,
        patient: bool = False,
    ):
        self.tag, self.late = tag, late
        self.patient = patient and not fault.operator.backend.asynchronous  # devices bring them meanwhile
        self.before: list[np.ndarray] = []  # both sides at the reading before
        self.fault, self.items = fault, np.asarray(items)
        self.values = FaultValues(fault, self.items, points, exact, from_velocity, from_waves)
        faces = fault.faces
        far, own = faces.far[self.items], faces.cells[self.items, 0] >= 0
        self.owned = np.flatnonzero(own)
        self.read_for_others = {int(r): np.flatnonzero((far == r) & ~own) for r in np.unique(far[~own])}
        self.missing = {int(r): np.flatnonzero((far == r) & own) for r in np.unique(far[own]) if r >= 0}
        self.sample_buffer = SampleBuffer(fault.operator.backend, self._sources())
        self.asked: list[Asked] = []
        self.brought: deque[tuple[list[Asked], Brought]] = deque()

    @property
    def nearest(self) -> np.ndarray:
        """Number of the friction point nearest to each point, (n, q)."""
        return self.values.nearest.T

    def _sources(self) -> list[list[Source]]:
        """What is read: what friction has left, and the dofs of both sides; once their cells have predicted, those that the
        derivatives begin with, where all cells keep theirs."""
        op, where = self.fault.operator, self.fault.item[self.items]
        numbers, readers = op.form.b3 * op.form.Q, self.values.readers
        changed = [(self.fault.buffers[name], some) for name, some in self.values.kept]
        given = [Source(b, where, b.nbytes // b.items // 8, fixed=True, some=some) for b, some in changed]
        now = [Source(op.q, r.position, numbers) for r in readers]
        if not op.predictor.starts_with_state or not all((r.slots > 0).all() for r in readers):
            return [[*given, *now]]
        before = [Source(op.history, r.slots, numbers, slice(0, numbers)) for r in readers]
        return [[*given, *now], [*given, *before]]

    def read(self, names: Sequence[str]) -> dict[str, np.ndarray]:
        """Quantities (n, q) by name; every side must be here."""
        kept, dofs = self._raw([s.fetch().values()[None] for s in self.sample_buffer.ways[0]])
        sides = [self.values.side(side, of_side)[..., 0, :] for side, of_side in enumerate(dofs)]
        found = self.values(names, self.values.seen([v[0] for v in kept]), sides)
        return {name: v.T for name, v in zip(names, found, strict=True)}

    def ask(self, names: Sequence[str], then: Then) -> None:
        """Hand the quantities of now, or where ``Fault.predicted`` of before the cells predicted, to ``then`` when the readings are worked
        out: many at once (names, readings, n, q), at a ``Fault.finish_reads`` that waits for them at the latest, and in their order. Faces
        owned elsewhere are only seen for their owner."""
        if self.sample_buffer.full:
            self.finish_reads(wait=not self.fault.operator.backend.asynchronous)
        self.sample_buffer.take(int(self.fault.predicted), self.fault.replayed)
        last = self.asked[-1] if self.asked else None
        if last is not None and last.then is then and last.names == names:
            last.count += 1
            return
        self.asked.append(Asked(tuple(names), then))
        self.fault.reading[self] = None

    def begin(self) -> None:
        """The reading before the next one is now."""
        readers = self.values.readers if self.late else []
        self.before = [self.values.side(side, r.raw()[None]) for side, r in enumerate(readers)]

    def bring(self) -> None:
        """Begin to bring what was asked for; the next reading is the first of a new sample buffer."""
        if self.asked:
            self.brought.append((self.asked, self.sample_buffer.bring()))
            self.asked = []

    def finish_reads(self, wait: bool = True) -> bool:
        """Work out what was asked for, without ``wait`` what of it is here; whether that was all."""
        if self.patient and not wait:
            return False
        self.bring()
        while self.brought and (wait or self.brought[0][1].here):
            asked, brought = self.brought.popleft()
            kept, dofs = self._raw(brought.values())
            sides = [self.values.side(side, of_side) for side, of_side in enumerate(dofs)]
            if self.late:
                sides = self._delayed(sides)
            if self.read_for_others or self.missing:
                each = [run for run in asked for _ in range(run.count)]
                for i, run in enumerate(each):
                    self._share(run, [v[i] for v in kept], [s[..., i, :] for s in sides])
            else:
                self._work_out(asked, kept, sides)
        return not self.brought

    def _raw(self, values: list[np.ndarray]) -> tuple[Raw, Raw]:
        """What a sample buffer brought, (readings, n, ...): of friction, and the dofs of each side, nothing where it is not here."""
        count, form = len(self.values.kept), self.fault.operator.form
        sides, shape = iter(values[count:]), (len(values[0]), -1, form.b3, form.Q)
        dofs = [next(sides).reshape(shape) if len(r) else np.zeros((shape[0], 0, *shape[2:])) for r in self.values.rows]
        return values[:count], dofs

    def _delayed(self, sides: list[np.ndarray]) -> list[np.ndarray]:
        """Sides (..., readings, n) in the reading before each; the first of all has its own."""
        before = self.before or [s[..., :1, :] for s in sides]
        self.before = [s[..., -1:, :] for s in sides]
        return [np.concatenate([b, s[..., :-1, :]], -2) for b, s in zip(before, sides, strict=True)]

    def _share(self, asked: Asked, kept: Raw, sides: list[np.ndarray]) -> None:
        """One reading (n, ...) of faces whose other side another process sees."""
        seen = self.values.seen(kept)
        for rank, rows in self.read_for_others.items():
            self.fault.far.send(rank, self.tag, sides[1][..., rows])

        def finish() -> None:
            for rank, into in sources:
                sides[1][..., self.missing[rank]] = into
            self._hand(asked, self.values(asked.names, seen, sides), 1)

        shape = 2, self.fault.coupling.channels, self.values.points
        sources = [(rank, np.empty((*shape, len(rows)))) for rank, rows in self.missing.items()]
        if sources:
            self.fault.far.receive(sources, self.tag, finish)
        elif len(self.owned):
            finish()

    def _work_out(self, asked: list[Asked], kept: Raw, sides: list[np.ndarray]) -> None:
        """Readings of faces that are wholly here, those of the same quantities together."""
        number = np.repeat(np.arange(len(asked)), [run.count for run in asked])  # of what asked for each reading
        for names in dict.fromkeys(run.names for run in asked):
            alike = [i for i, run in enumerate(asked) if run.names == names]
            some: slice | np.ndarray = slice(None) if len(alike) == len(asked) else np.isin(number, alike)
            mine, both = [v[some] for v in kept], [s[..., some, :] for s in sides]
            values = self.values.times(len(mine[0]))
            seen = values.seen([v.reshape(-1, v.shape[-1]) for v in mine])
            found = values(names, seen, [s.reshape(*s.shape[:-2], -1) for s in both])
            at = 0
            for run in (asked[i] for i in alike):
                n = len(self.items)
                self._hand(run, found[..., at * n : (at + run.count) * n], run.count)
                at += run.count

    def _hand(self, asked: Asked, found: np.ndarray, readings: int) -> None:
        """Quantities (names, q, readings times n) to whom asked for them."""
        asked.then(found.reshape(*found.shape[:2], readings, -1).transpose(0, 2, 3, 1))


__all__ = ["FaultProbe"]
