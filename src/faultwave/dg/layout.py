"""Where everything lies: cells in batches by cluster, wave slots, and the lists of faces between clusters.

Two cells of one cluster exchange waves in place. Each face of a cell has a slot; in even steps a cell works in its own
slots, in odd steps in those of its neighbours. It reads what its neighbour left there in the step before, and leaves its
own wave in the same place, where the neighbour will look next. So every slot is touched by one cell a step, whatever
the order and the threads, and a step of a whole cluster needs no second set of waves.

Where the two sides do not step together (docs/theory/time-stepping.md, "Local time stepping") a cell keeps to its own
slot: towards a slower neighbour its waves are summed in an extra slot and the neighbour's derivative traces are
integrated into its own; a fault face finds in its slot the reply of the friction solve; a boundary face its own wave.
Towards a faster neighbour a cell reads that neighbour's sum. Sums are kept for two steps of the slower side, so
that the faster may go on first.

The cells of a cluster come in three kinds, one after the other: *observed* cells, which are read or changed between a step's
correction and the next prediction; *storing* cells, which store derivatives or their traces besides waves; and plain ones. The
first two kinds are sorted by what they store, so that most batches do the same work. Slot 0 of each of these stores is a dummy
for cells that store nothing: it may be written and is never read (``kernels.language.When``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from faultwave.base.pieces import in_pieces, order_of
from faultwave.comm.exchange import Channel, Kind


@dataclass(frozen=True)
class Ranged:
    """Rows of integers sorted by cluster, each cluster's part padded; ``ranges[c]`` = (begin, end); ``source`` gives
    the original item of each row, -1 for padding."""

    rows: np.ndarray
    source: np.ndarray
    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Border:
    """Faces whose neighbour another process has, k of them: cell and face here; process, cluster, number and face of the
    neighbour; number of the cell here. Numbers are those of the whole mesh: by them both sides order what they exchange."""

    cell: np.ndarray
    face: np.ndarray
    number: np.ndarray
    rank: np.ndarray
    cluster: np.ndarray
    other_number: np.ndarray
    other_face: np.ndarray

    @staticmethod
    def none() -> Border:
        return Border(*(np.zeros(0, np.int64) for _ in range(7)))


@dataclass(frozen=True)
class Layout:
    """Positions and lists; see the module text. ``cell_at`` (positions,) gives the cell, -1 for padding."""

    cell_at: np.ndarray
    position: np.ndarray  # (cells,)
    observed_ranges: tuple[tuple[int, int], ...]
    storing_ranges: tuple[tuple[int, int], ...]
    plain_ranges: tuple[tuple[int, int], ...]
    history: np.ndarray  # (positions,) slot of the stored derivatives; 0 where none
    histories: int
    slow: np.ndarray  # (positions, 4) slot of the derivatives' traces left for a faster neighbour; 0 where none
    slow_slots: int
    friction: (
        np.ndarray
    )  # (positions, 4) slot of the derivatives' traces of both quantities at a fault or solved face; 0 elsewhere
    friction_far: int  # first slot of those that arrive from other processes
    friction_slots: int  # the last is never written
    waves: tuple[np.ndarray, np.ndarray] | None  # ``incoming`` and ``outgoing``; None once an operator has them
    apart: np.ndarray | None  # (positions, 4) ``second_slots`` where some face has friction or is driven
    wave_slots: int
    slower: Ranged  # faces to slower cells: own slot, sums of even and of odd steps of the slower side, its derivatives' traces
    channels: tuple[Channel, ...] = ()  # to other processes

    @property
    def clusters(self) -> int:
        return len(self.storing_ranges)

    @property
    def own(self) -> np.ndarray:
        """(positions, 4) a cell's own slots"""
        return np.arange(4 * len(self.cell_at)).reshape(-1, 4)

    @property
    def second_slots(self) -> np.ndarray:
        """(positions, 4) a second slot for faces with friction; ``own`` elsewhere"""
        return self.own if self.apart is None else self.apart

    @property
    def incoming(self) -> np.ndarray:
        """(2, positions, 4) where the neighbours' waves are, in even and odd steps"""
        return self._waves()[0]

    @property
    def outgoing(self) -> np.ndarray:
        """(2, positions, 4) where the waves of the next step go; ``incoming`` itself where no cell keeps its own"""
        return self._waves()[1]

    def _waves(self) -> tuple[np.ndarray, np.ndarray]:
        if self.waves is None:
            raise ValueError("where waves lie was left to the operator, in its own numbers")
        return self.waves

    def left_to_operator(self) -> Layout:
        """Without what an operator has its own copies of."""
        return replace(self, waves=None)

    def cells_range(self, cluster: int, observed: bool = True) -> tuple[int, int]:
        """All of a cluster's cells, or all but the observed ones."""
        first = self.observed_ranges if observed else self.storing_ranges
        return first[cluster][0], self.plain_ranges[cluster][1]


def ranged(rows: np.ndarray, cluster: np.ndarray, clusters: int, lanes: int, padding: np.ndarray) -> Ranged:
    """Sort rows by cluster (stable) and pad each cluster to a multiple of ``lanes`` with ``padding``."""
    parts, sources, ranges, at = [], [], [], 0
    order = np.argsort(cluster, kind="stable")
    bounds = np.searchsorted(cluster[order], np.arange(clusters + 1))
    for c in range(clusters):
        items = order[bounds[c] : bounds[c + 1]]
        extra = -len(items) % lanes
        parts += [rows[items], np.repeat(padding[None], extra, 0)]
        sources += [items, np.full(extra, -1)]
        ranges.append((at, at + len(items) + extra))
        at += len(items) + extra
    shape = (0, len(padding))
    return Ranged(
        np.concatenate([np.zeros(shape, np.int64), *parts]).astype(np.int64),
        np.concatenate([np.zeros(0, np.int64), *sources]).astype(np.int64),
        tuple(ranges),
    )


@dataclass(frozen=True)
class Connections:
    """How cells (nc,) are connected and which of them store derivatives or are observed: the input of a layout.

    ``neighbours`` (nc, 4): -1 at boundaries and where another process has the cell; ``neighbour_faces`` their local faces; ``cluster``:
    neighbours at most one apart; ``fault`` (nc, 4): faces with friction; ``stored_derivatives``: cells whose time derivatives are read
    (receivers, surfaces); ``observed``: cells whose dofs are read or changed between a correction and the next prediction;
    ``driven`` (nc, 4): faces with a field of their own; ``penalised`` (nc, 4): faces at which jumps are penalised, from both sides;
    ``solved`` (nc, 4): driven boundary faces that leave traces as those with friction do.
    """

    neighbours: np.ndarray
    neighbour_faces: np.ndarray
    cluster: np.ndarray
    fault: np.ndarray
    stored_derivatives: np.ndarray
    observed: np.ndarray | None = None
    driven: np.ndarray | None = None
    penalised: np.ndarray | None = None
    solved: np.ndarray | None = None


def build_layout(
    cells: Connections, curve: np.ndarray, lanes: int, border: Border | None = None, clusters: int = 0
) -> Layout:
    """Lay out cells; ``border``: faces to other processes, ``curve``: permutation of cells along a space-filling curve,
    ``clusters``: how many there are on all processes. Plain cells have no part in what leaves the process: the others go
    first in every step.
    """
    return _Builder(cells, curve, lanes, border or Border.none(), clusters).build()


class _Builder:
    """A layout being made: kinds of faces, then places of cells, then slots of faces."""

    def __init__(self, cells: Connections, curve: np.ndarray, lanes: int, border: Border, clusters: int):
        self.cells, self.lanes, self.border = cells, lanes, border
        self.clusters = max(clusters, int(cells.cluster.max(initial=0)) + 1)
        self._kinds_of_faces()
        self._place_cells(curve)
        self._number_waves()

    def _kinds_of_faces(self) -> None:
        """Masks (nc, 4): faces to cells of other processes, of faster and of slower clusters, and with friction or driven."""
        x, border = self.cells, self.border
        shape = x.neighbours.shape
        self.inner, self.remote = x.neighbours >= 0, np.zeros(shape, bool)
        self.remote[border.cell, border.face] = True
        self.fault_or_driven = x.fault if x.driven is None else x.fault | x.driven
        self.traced = x.fault if x.solved is None else x.fault | x.solved
        later = np.empty(shape, np.int8)  # how many clusters the neighbour's comes after the cell's own, at most two

        def compare(piece: slice) -> None:
            own = x.cluster[piece, None]
            after = np.where(self.inner[piece], x.cluster[x.neighbours[piece]], own) - own
            later[piece] = np.clip(after, -2, 2)

        in_pieces(compare, len(later))
        later[border.cell, border.face] = np.clip(border.cluster - x.cluster[border.cell], -2, 2)
        regular = (self.inner | self.remote) & ~self.fault_or_driven
        if (np.abs(later)[regular] > 1).any():
            raise ValueError("neighbours more than one cluster apart")
        if later[self.fault_or_driven & self.inner].any():
            raise ValueError("the two cells of a fault face must be in one cluster")
        self.faster, self.slower = regular & (later < 0), regular & (later > 0)
        self.equal = regular & (later == 0) & ~self.remote

    def _place_cells(self, curve: np.ndarray) -> None:
        """Order of the cells: by cluster and kind, then by what they store, then along the curve."""
        x = self.cells
        count = len(x.cluster)
        observed = np.zeros(count, bool) if x.observed is None else x.observed
        penalised = np.zeros_like(x.fault) if x.penalised is None else x.penalised
        # Traces of the first faces cost most (dense matrices): cells that store those come first, together.
        marks = [penalised[:, f] for f in (3, 2, 1, 0)] + [x.stored_derivatives]
        marks += [made[:, f] for f in (3, 2, 1, 0) for made in (self.traced, self.faster)]
        amount = np.zeros(count, np.int32)
        for bit, mask in enumerate(marks):
            if mask.any():
                amount |= mask.astype(np.int32) << bit
        stores = (amount > 0) | self.remote.any(1)
        self.group = 3 * x.cluster + np.where(observed, 0, np.where(stores, 1, 2))
        order = curve[order_of((self.group << len(marks) | amount)[curve])]
        placed = ranged(order[:, None], self.group[order], 3 * self.clusters, self.lanes, np.array([-1]))
        self.ranges, self.cell_at = placed.ranges, placed.rows[:, 0]
        self.placement = self.cell_at[self.cell_at >= 0]
        self.position = np.empty(count, np.int64)
        self.position[self.placement] = np.flatnonzero(self.cell_at >= 0)

    def _number_waves(self) -> None:
        """Slots of waves: each cell's own, sums for slower cells twice, a second one for faces with friction or driven, arrivals."""
        border, size = self.border, len(self.cell_at)
        self.sums = 4 * size, int(self.slower.sum())  # first, how many
        self.summed = _numbers(self.slower, 0, self.placement)
        self.first_second = 4 * size + 2 * self.sums[1]
        self.late = self.slower[border.cell, border.face]
        self.waves_end, self.series_end = (
            self.first_second + int(self.fault_or_driven.sum()),
            1 + int(self.faster.sum()),
        )
        self.arrive = _nothing(self.inner.shape)
        if len(border.cell):
            here = self.cells.cluster[border.cell]
            self.arrive = np.zeros(self.inner.shape, np.int64)
            self.arrive[border.cell, border.face] = _received(border, here, self.late, self.waves_end, self.series_end)
        self.trash = self.waves_end + int((~self.late).sum())

    def _inside(self, cell: np.ndarray, face: np.ndarray) -> np.ndarray:
        """A cell's own slots."""
        return np.asarray(4 * self.position[cell] + face)

    def _places(self) -> tuple[np.ndarray, np.ndarray]:
        """Where waves are and where they go, (2, positions, 4) in even and in odd steps."""
        x, size, (first, count) = self.cells, len(self.cell_at), self.sums
        summed = self.faster | (self.remote & ~self.slower)
        kind = np.int32 if self.trash <= np.iinfo(np.int32).max else np.int64
        outgoing = np.empty((2, size, 4), kind)
        incoming = np.empty((2, size, 4), kind) if summed.any() else outgoing

        def place(piece: slice) -> None:
            real = self.cell_at[piece] >= 0
            cell = self.cell_at[piece][real]
            near, face = x.neighbours[cell], x.neighbour_faces[cell]
            outgoing[:, piece] = 4 * np.arange(piece.start, piece.stop)[:, None] + np.arange(4)
            outgoing[1, piece][real] = np.where(self.equal[cell], self._inside(near, face), outgoing[1, piece][real])
            if incoming is outgoing:
                return
            for parity in range(2):
                incoming[parity, piece] = outgoing[parity, piece]
                sums = np.where(
                    self.remote[cell], self.arrive[cell],
                    first + parity * count + np.where(self.inner[cell], self.summed[near, face], 0),
                )  # fmt: skip
                incoming[parity, piece][real] = np.where(summed[cell], sums, outgoing[parity, piece][real])

        in_pieces(place, size)
        return incoming, outgoing

    def _apart(self) -> np.ndarray | None:
        """``Layout.apart``."""
        if not self.fault_or_driven.any():
            return None
        apart = np.arange(4 * len(self.cell_at)).reshape(-1, 4)
        second = _numbers(self.fault_or_driven, self.first_second, self.placement)[self.placement]
        marked = self.fault_or_driven[self.placement]
        rows = apart[self.position[self.placement]]
        rows[marked] = second[marked]
        apart[self.position[self.placement]] = rows
        return _narrow(apart)

    def _to_slower(self, slow_number: np.ndarray) -> Ranged:
        x = self.cells
        c, f = np.nonzero(self.slower[self.placement])
        c = self.placement[c]
        even = self.sums[0] + self.summed[c, f]
        near_slow = np.where(
            self.inner[c, f], slow_number[x.neighbours[c, f], x.neighbour_faces[c, f]], self.arrive[c, f]
        )
        rows = np.stack([self._inside(c, f), even, even + self.sums[1], near_slow], 1)
        which = 2 * x.cluster[c] + (self.group[c] % 3 == 2)
        padding = np.array([self.trash, self.trash, self.trash, 0])
        return ranged(rows, which, 2 * self.clusters, self.lanes, padding)

    def _per_position(self, numbers: np.ndarray) -> np.ndarray:
        """Numbers of cells (nc, ...) by position, 0 for padding."""
        if not numbers.any():
            return _nothing((len(self.cell_at), *numbers.shape[1:]), np.int32)
        found = np.zeros((len(self.cell_at), *numbers.shape[1:]), np.int64)
        found[self.position] = numbers
        return _narrow(found)

    def build(self) -> Layout:
        x, border = self.cells, self.border
        incoming, outgoing = self._places()
        history = self._per_position(_numbers(x.stored_derivatives, 1, self.placement))
        slow_number = _numbers(self.faster, 1, self.placement)
        friction = self._per_position(_numbers(self.traced, 1, self.placement))
        mine, at = 1 + int(self.traced.sum()), (border.cell, border.face)
        summed = self.sums[0] + self.summed[at] + np.array([0, self.sums[1]])[:, None]
        sent = Sent(self._inside(*at), summed, slow_number[at], self.arrive[at])
        return Layout(
            self.cell_at, self.position, self.ranges[0::3], self.ranges[1::3], self.ranges[2::3],
            history, 1 + int(x.stored_derivatives.sum()), self._per_position(slow_number), self.series_end + int(self.late.sum()),
            friction, mine, mine + int((x.fault & ~self.inner).sum()) + 1,
            (incoming, outgoing), self._apart(), self.trash + 1, self._to_slower(slow_number),
            _channels(border, x.cluster[border.cell], sent),
        )  # fmt: skip


@dataclass(frozen=True)
class Sent:
    """Slots of what the faces (k,) of the border send, their ``own`` waves, sums ``summed`` (2, k) and derivatives' traces ``slow``, and of
    what arrives there."""

    own: np.ndarray
    summed: np.ndarray
    slow: np.ndarray
    arrive: np.ndarray


def _nothing(shape: tuple[int, ...], kind: Any = np.int64) -> np.ndarray:
    """Zeros that take no memory."""
    return np.broadcast_to(kind(0), shape)


def _narrow(slots: np.ndarray) -> np.ndarray:
    """Slots in half the memory, where their numbers allow it: a large mesh keeps five such arrays."""
    return slots.astype(np.int32) if slots.max(initial=0) <= np.iinfo(np.int32).max else slots


def _numbers(mask: np.ndarray, start: int, order: np.ndarray) -> np.ndarray:
    """Consecutive numbers from ``start`` where the mask holds, 0 elsewhere; cells in ``order``, so that neighbours in the
    layout find theirs side by side."""
    if not mask.any():
        return _nothing(mask.shape)
    result = np.zeros(mask.shape, np.int64)
    row, *face = np.nonzero(mask[order])
    result[(order[row], *face)] = start + np.arange(len(row))
    return result


def _along(border: Border, here: np.ndarray, number: np.ndarray, face: np.ndarray) -> np.ndarray:
    """Order of the border's faces by channel and, within one, by (number, face) of the sender's cell."""
    return np.lexsort((face, number, border.cluster, here, border.rank))


def _received(border: Border, here: np.ndarray, late: np.ndarray, waves: int, series: int) -> np.ndarray:
    """Slots (k,) of what arrives, those of a channel side by side as the other process sends them: waves from one number
    on, derivatives' traces of slower cells (``late``) from another."""
    order = _along(border, here, border.other_number, border.other_face)
    slots = np.empty(len(here), np.int64)
    for mask, start in ((~late, waves), (late, series)):
        mine = order[mask[order]]
        slots[mine] = start + np.arange(len(mine))
    return slots


def _channels(border: Border, here: np.ndarray, slots: Sent) -> tuple[Channel, ...]:
    """By process and clusters, those of a cluster ``here`` (k,) and there."""
    order, found = _along(border, here, border.number, border.face), []
    keys = np.stack([border.rank, here, border.cluster], 1)[order]
    new = np.append(True, (keys[1:] != keys[:-1]).any(1)) if len(keys) else np.zeros(0, bool)
    starts = np.flatnonzero(new)
    for faces, (rank, mine, other) in zip(np.split(order, starts)[1:], keys[starts].tolist(), strict=True):
        source = (
            np.stack([slots.own] * 2) if mine == other else slots.summed if other > mine else np.stack([slots.slow] * 2)
        )
        sent: Kind = "series" if other < mine else "wave"
        got: Kind = "series" if other > mine else "wave"
        at = border.cell[faces], border.face[faces]
        found.append(Channel(rank, mine, other, sent, source[:, faces], got, int(slots.arrive[faces].min()), *at))
    return tuple(found)
