"""Readings of a fault at chosen points, collected on the backend during steps and evaluated later, many at once.

A device has to stop for a reading that the host waits for. With a sample buffer it only copies some numbers within its
own memory, which can be part of steps that are recorded and replayed. A host backend copies the numbers quickly and
continues its steps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from faultwave.backends import Awaited, Backend, Part
from faultwave.backends.base import Buffer, Store
from faultwave.dg.fault.faces import Fault
from faultwave.dg.fault.values import FaultValues, ReadingMode

ROOM = 16 << 20
"""Largest size of a sample buffer [bytes]."""

MOST, LEAST = 512, 8
"""Largest number of readings in a sample buffer, and smallest number for which one is used."""


@dataclass(frozen=True)
class Source:
    """Numbers to read from a buffer.

    Attributes
    ----------
    buffer : buffer or store
        Buffer on the backend.
    items : ndarray (n,)
        Items to read.
    numbers : int
        Numbers in each item.
    rows : slice
        Rows to read.
    fixed : bool
        True if the buffer is in double precision in all runs.
    some : ndarray (n, m), optional
        Numbers to read of each item; all by default.
    """

    buffer: Buffer
    items: np.ndarray
    numbers: int
    rows: slice = field(default_factory=lambda: slice(None))
    fixed: bool = False
    some: np.ndarray | None = None

    @property
    def size(self) -> int:
        """Count of numbers that are read of an item."""
        return self.numbers if self.some is None else self.some.shape[1]

    def fetch(self) -> Awaited:
        """Start to read the present numbers (n, size)."""
        return Flat(self.buffer.fetch(self.items, self.rows), self.some)


@dataclass(frozen=True)
class Flat:
    """Pending read (n, ...) that is delivered as (n, numbers), or as the selected numbers ``some`` (n, m)."""

    awaited: Awaited
    some: np.ndarray | None

    @property
    def here(self) -> bool:
        """True if the values have arrived on the host."""
        return self.awaited.here

    def values(self) -> np.ndarray:
        """Return the values (n, numbers), and wait for them if necessary."""
        found = self.awaited.values()
        found = found.reshape(len(found), -1)
        return found if self.some is None else np.take_along_axis(found, self.some, 1)


class SampleBuffer:
    """Sample buffer of some sources.

    Parameters
    ----------
    backend : Backend
        Backend of the sources.
    ways : sequence of sequences of Source
        Alternative lists of sources with equal counts of numbers; each reading uses one.

    Attributes
    ----------
    nbytes : int
        Size of one reading [bytes].
    """

    def __init__(self, backend: Backend, ways: Sequence[Sequence[Source]]):
        self.backend, self.ways = backend, [[s for s in sources if len(s.items)] for sources in ways]
        self.sources = self.ways[0]
        self.count = 0  # number of readings in the sample buffer
        own = np.dtype(backend.dtype).itemsize
        self.nbytes = sum(len(s.items) * s.size * (8 if s.fixed else own) for s in self.sources)
        self.length = min(MOST, ROOM // max(1, self.nbytes))
        self.worthwhile, self.length = self.length >= LEAST, max(1, self.length)
        self.stores: list[Store] = []
        if self.worthwhile:
            self.stores = [backend.store(self.length * len(s.items), s.size, s.fixed) for s in self.sources]
            self.copy = [
                backend.copier(
                    [Part(s.buffer, s.items, s.rows, t, s.some) for s, t in zip(sources, self.stores, strict=True)]
                )
                for sources in self.ways
            ]
        self.parts: list[list[Awaited]] = []

    def take(self, way: int = 0, copied: bool = False) -> None:
        """Take a reading from the sources ``ways[way]``; ``copied`` if a replay has already written it."""
        if not self.worthwhile:
            self.parts.append([s.fetch() for s in self.ways[way]])
        elif not copied:
            self.copy[way](self.count)
        self.count += 1

    @property
    def full(self) -> bool:
        """True if there is no space for another reading."""
        return self.count >= self.length

    def bring(self) -> PendingSamples:
        """Start to copy all readings to the host; the next reading starts a new set."""
        if self.worthwhile and self.count:
            pairs = zip(self.sources, self.stores, strict=True)
            self.parts = [[store.fetch(slice(0, self.count * len(s.items))) for s, store in pairs]]
        made = PendingSamples(self.parts, self.count, [len(s.items) for s in self.sources])
        self.parts, self.count = [], 0
        return made


class PendingSamples:
    """Pending ``count`` readings of one sample buffer."""

    def __init__(self, parts: list[list[Awaited]], count: int, lengths: list[int]):
        self.parts, self.count, self.lengths = parts, count, lengths

    @property
    def here(self) -> bool:
        """True if all readings have arrived on the host."""
        return all(a.here for part in self.parts for a in part)

    def values(self) -> list[np.ndarray]:
        """Return the readings (count, n, numbers) of each source."""
        brought = [[a.values().reshape(-1) for a in awaited] for awaited in zip(*self.parts, strict=True)]
        values = [each[0] if len(each) == 1 else np.concatenate(each) for each in brought]
        return [v.reshape(self.count, n, -1) for v, n in zip(values, self.lengths, strict=True)]


Then = Callable[[np.ndarray], None]

Raw = list[np.ndarray]
"""Arrays (readings, n, ...): friction buffers in the order in which ``FaultValues`` lists them, or degrees of freedom of both sides."""


@dataclass
class ReadingRequest:
    """Consecutive readings of the same quantities for the same receiver: their ``names``, consumer ``then`` and ``count``."""

    names: tuple[str, ...]
    then: Then
    count: int = 1


class FaultProbe:
    """Probe that reads quantities at points of the fault faces ``items`` (n,).

    Parameters
    ----------
    fault : Fault
        Friction solver.
    items : (n,) int
        Faces.
    points : (n, q, 2) or (q, 2) float
        Points in face coordinates.
    mode : ReadingMode
        Way in which the quantities are computed.
    tag : int
        Number that distinguishes the probes of one fault, the same on every process that reads the same faces.
    late : bool
        Combine friction with the waves of the previous reading, as SeisSol's receivers do: they take the waves at the start of a step
        and friction at its end.
    patient : bool
        Let readings wait until the sample buffer is full, because no single reading is needed early.
    """

    def __init__(
        self,
        fault: Fault,
        items: np.ndarray,
        points: np.ndarray,
        mode: ReadingMode,
        tag: int = 0,
        late: bool = False,
        patient: bool = False,
    ):
        self.tag, self.late = tag, late
        self.patient = (
            patient and not fault.operator.backend.capabilities.asynchronous
        )  # devices copy readings during the steps
        self.before: list[np.ndarray] = []  # both sides at the previous reading
        self.fault, self.items = fault, np.asarray(items)
        self.values = FaultValues(fault, self.items, points, mode)
        faces = fault.faces
        far, own = faces.far[self.items], faces.cells[self.items, 0] >= 0
        self.owned = np.flatnonzero(own)
        self.rows_read_for = {int(r): np.flatnonzero((far == r) & ~own) for r in np.unique(far[~own])}
        self.missing = {int(r): np.flatnonzero((far == r) & own) for r in np.unique(far[own]) if r >= 0}
        self.sample_buffer = SampleBuffer(fault.operator.backend, self._sources())
        self.asked: list[ReadingRequest] = []
        self.brought: deque[tuple[list[ReadingRequest], PendingSamples]] = deque()

    @property
    def nearest(self) -> np.ndarray:
        """Index of the friction point nearest to each point, (n, q)."""
        return self.values.nearest.T

    def _sources(self) -> list[list[Source]]:
        """Return the buffers to read for each reading: friction and the degrees of freedom of both sides.

        A second list reads the state before the prediction from the stored derivatives, where all cells store them.
        """
        op, where = self.fault.operator, self.fault.item[self.items]
        numbers, readers = op.form.b3 * op.form.Q, self.values.readers
        changed = [(self.fault.buffers[name], some) for name, some in self.values.buffers]
        given = [Source(b, where, b.nbytes // b.items // 8, fixed=True, some=some) for b, some in changed]
        now = [Source(op.q, r.position, numbers) for r in readers]
        if not op.predictor.starts_with_state or not all((r.slots > 0).all() for r in readers):
            return [[*given, *now]]
        before = [Source(op.history, r.slots, numbers, slice(0, numbers)) for r in readers]
        return [[*given, *now], [*given, *before]]

    def read(self, names: Sequence[str]) -> dict[str, np.ndarray]:
        """Return quantities (n, q) by name at once; both sides of every face must be local."""
        retained, dofs = self._raw([s.fetch().values()[None] for s in self.sample_buffer.ways[0]])
        sides = [self.values.side(side, of_side)[..., 0, :] for side, of_side in enumerate(dofs)]
        found = self.values(names, self.values.seen([v[0] for v in retained]), sides)
        return {name: v.T for name, v in zip(names, found, strict=True)}

    def ask(self, names: Sequence[str], then: Then) -> None:
        """Request a reading of the present state and pass its result to ``then`` later.

        If ``Fault.predicted`` is set, the state is the one before the last prediction. Readings are evaluated in their order, many at
        once, at the latest in a ``Fault.finish_reads`` that waits. ``then`` receives an array (names, readings, n, q). Faces owned
        elsewhere are read only for their owner.
        """
        if self.sample_buffer.full:
            self.finish_reads(wait=not self.fault.operator.backend.capabilities.asynchronous)
        self.sample_buffer.take(int(self.fault.predicted), self.fault.replayed)
        last = self.asked[-1] if self.asked else None
        if last is not None and last.then is then and last.names == names:
            last.count += 1
            return
        self.asked.append(ReadingRequest(tuple(names), then))
        self.fault.reading[self] = None

    def begin(self) -> None:
        """Take the present state as the reading that precedes the first one."""
        readers = self.values.readers if self.late else []
        self.before = [self.values.side(side, r.raw()[None]) for side, r in enumerate(readers)]

    def bring(self) -> None:
        """Start the copy of the requested readings to the host and continue with a new sample buffer."""
        if self.asked:
            self.brought.append((self.asked, self.sample_buffer.bring()))
            self.asked = []

    def finish_reads(self, wait: bool = True) -> bool:
        """Evaluate the requested readings, without ``wait`` only those already copied; return True if none are left."""
        if self.patient and not wait:
            return False
        self.bring()
        while self.brought and (wait or self.brought[0][1].here):
            requested, brought = self.brought.popleft()
            retained, dofs = self._raw(brought.values())
            sides = [self.values.side(side, of_side) for side, of_side in enumerate(dofs)]
            if self.late:
                sides = self._delayed(sides)
            if self.rows_read_for or self.missing:
                each = [run for run in requested for _ in range(run.count)]
                for i, run in enumerate(each):
                    self._share(run, [v[i] for v in retained], [s[..., i, :] for s in sides])
            else:
                self._work_out(requested, retained, sides)
        return not self.brought

    def _raw(self, values: list[np.ndarray]) -> tuple[Raw, Raw]:
        """Split the values of a sample buffer into friction arrays and degrees of freedom of each side, (readings, n, ...).

        Sides on other processes have no rows.
        """
        count, form = len(self.values.buffers), self.fault.operator.form
        sides, shape = iter(values[count:]), (len(values[0]), -1, form.b3, form.Q)
        dofs = [next(sides).reshape(shape) if len(r) else np.zeros((shape[0], 0, *shape[2:])) for r in self.values.rows]
        return values[:count], dofs

    def _delayed(self, sides: list[np.ndarray]) -> list[np.ndarray]:
        """Return the sides (..., readings, n) shifted by one reading; the very first reading uses its own."""
        before = self.before or [s[..., :1, :] for s in sides]
        self.before = [s[..., -1:, :] for s in sides]
        return [np.concatenate([b, s[..., :-1, :]], -2) for b, s in zip(before, sides, strict=True)]

    def _share(self, asked: ReadingRequest, raw: Raw, sides: list[np.ndarray]) -> None:
        """Exchange one reading (n, ...) of faces whose other side is on another process, and evaluate it."""
        seen = self.values.seen(raw)
        for rank, rows in self.rows_read_for.items():
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

    def _work_out(self, asked: list[ReadingRequest], raw: Raw, sides: list[np.ndarray]) -> None:
        """Evaluate readings of faces whose two sides are local, grouped by requested quantities."""
        number = np.repeat(np.arange(len(asked)), [run.count for run in asked])  # request of each reading
        for names in dict.fromkeys(run.names for run in asked):
            alike = [i for i, run in enumerate(asked) if run.names == names]
            some: slice | np.ndarray = slice(None) if len(alike) == len(asked) else np.isin(number, alike)
            mine, both = [v[some] for v in raw], [s[..., some, :] for s in sides]
            values = self.values.times(len(mine[0]))
            seen = values.seen([v.reshape(-1, v.shape[-1]) for v in mine])
            found = values(names, seen, [s.reshape(*s.shape[:-2], -1) for s in both])
            at = 0
            for run in (asked[i] for i in alike):
                n = len(self.items)
                self._hand(run, found[..., at * n : (at + run.count) * n], run.count)
                at += run.count

    def _hand(self, asked: ReadingRequest, found: np.ndarray, readings: int) -> None:
        """Pass quantities (names, q, readings times n) to the consumer as (names, readings, n, q)."""
        asked.then(found.reshape(*found.shape[:2], readings, -1).transpose(0, 2, 3, 1))
