"""Memory layout of cells and waves: batches of cells by cluster, wave slots, and messages between processes.

Two cells of one cluster exchange waves in place. Each face of a cell has a slot. In even steps a cell works in its own slots, in odd
steps in the slots of its neighbours: it reads what its neighbour wrote in the previous step and writes its own wave to the same
place, where the neighbour reads next. So every slot is accessed by one cell per step, independent of order and threads, and a step
of a whole cluster needs no second set of waves.

Where the two sides do not step together (docs/theory/time-stepping.md, "Local time stepping") a cell always uses its own slot: on a
fault face it holds the wave that friction returns, on a boundary face the cell's own wave. Towards a slower neighbour, waves are summed
in an extra slot that this neighbour reads; the wave of a single step goes to a slot that is never read. Sums are stored for two steps
of the slower side, so that the faster side may advance first. Towards a faster neighbour, a cell writes one wave for each step of
that neighbour within its own. These waves have ``parts`` consecutive slots, and step n of the faster cell reads slot n modulo
``parts``; the wave of the whole step again goes to a slot that is never read.

The cells of a cluster come in three kinds, one after the other: *observed* cells, which are read or changed between the
correction of a step and the next prediction; *storing* cells, which store derivatives, waves for them or waves of parts of a step,
and with several processes also cells next to other processes or to slower cells; and plain cells. All are sorted by what they
store, cells with derivatives later and cells without parts of steps last, so that most batches do the same work. Slot 0 of each
store is a dummy for cells that store nothing: it may be written and is never read (``kernels.language.When``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from faultwave.base.processes.pieces import in_pieces, stable_argsort
from faultwave.comm.exchange import Channel

SHARE = 512
"""Number of cells that share a slot for waves that only enter sums and parts, so that it stays in the first-level cache."""


@dataclass(frozen=True)
class PaddedRows:
    """Rows of integers sorted by cluster, the rows of each cluster padded.

    Attributes
    ----------
    rows : (m, k) int
        Sorted and padded rows.
    source : (m,) int
        Original index of each row, -1 for padding.
    ranges : tuple of (int, int)
        First and end row of each cluster.
    """

    rows: np.ndarray
    source: np.ndarray
    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class ProcessInterface:
    """Faces between this process and others, k of them.

    Numbers refer to the whole mesh, so that both sides order the exchanged data alike.

    Attributes
    ----------
    cell, face : (k,) int
        Local cell and its face.
    number : (k,) int
        Number of the local cell.
    rank, cluster : (k,) int
        Process and cluster of the neighbour.
    other_number, other_face : (k,) int
        Number of the neighbour and its face.
    """

    cell: np.ndarray
    face: np.ndarray
    number: np.ndarray
    rank: np.ndarray
    cluster: np.ndarray
    other_number: np.ndarray
    other_face: np.ndarray

    @staticmethod
    def none() -> ProcessInterface:
        """Return an empty list of faces."""
        return ProcessInterface(*(np.zeros(0, np.int64) for _ in range(7)))


@dataclass(frozen=True)
class Layout:
    """Positions of cells and lists of slots, as the module text explains.

    ``cell_at`` (positions,) is the cell at each position, -1 for padding.
    """

    cell_at: np.ndarray
    position: np.ndarray  # (cells,)
    observed_ranges: tuple[tuple[int, int], ...]
    storing_ranges: tuple[tuple[int, int], ...]
    plain_ranges: tuple[tuple[int, int], ...]
    history: np.ndarray  # (positions,) slot of the stored derivatives; 0 for none
    histories: int
    split_ends: tuple[int, ...]  # of each cluster: end of the storing cells without derivatives
    whole_begins: tuple[int, ...]  # of each cluster: first storing cell without waves of parts of a step
    parts: int  # slots of the waves of parts of a step
    for_faster: np.ndarray  # (positions, 4) first slot of the waves of parts for a faster neighbour; 0 for none
    sums: np.ndarray  # (2, positions, 4) slots of sums for a slower neighbour, in its even and odd steps; 0 for none
    friction: np.ndarray  # (positions, 4) slot of the face time expansion of a fault or solved face; 0 elsewhere
    friction_far: int  # first slot of expansions that arrive from other processes
    friction_slots: int  # the last is never written
    waves: tuple[np.ndarray, np.ndarray] | None  # ``incoming`` and ``outgoing``; None once an operator has them
    apart: np.ndarray | None  # (positions, 4) ``arriving_slots`` where some face has friction or is driven
    wave_slots: int
    channels: tuple[Channel, ...] = ()  # to other processes

    @property
    def clusters(self) -> int:
        """Number of clusters."""
        return len(self.storing_ranges)

    @property
    def own(self) -> np.ndarray:
        """Slots (positions, 4) of the cells' own waves."""
        return 1 + np.arange(4 * len(self.cell_at)).reshape(-1, 4)

    @property
    def arriving_slots(self) -> np.ndarray:
        """Second slots (positions, 4) of faces with friction or prescribed waves; ``own`` elsewhere."""
        return self.own if self.apart is None else self.apart

    @property
    def incoming(self) -> np.ndarray:
        """Slots (parts, positions, 4) of the neighbours' waves; step n of a cluster reads n modulo parts."""
        return self._waves()[0]

    @property
    def outgoing(self) -> np.ndarray:
        """Slots (2, positions, 4) of the waves of the next step, in even and odd steps.

        It is the array ``incoming`` itself where all cells exchange waves in place.
        """
        return self._waves()[1]

    def _waves(self) -> tuple[np.ndarray, np.ndarray]:
        if self.waves is None:
            raise ValueError("where waves lie was left to the operator, in its own numbers")
        return self.waves

    def without_waves(self) -> Layout:
        """Return the layout without the arrays that an operator has copies of."""
        return replace(self, waves=None)

    def cells_range(self, cluster: int, observed: bool = True) -> tuple[int, int]:
        """Return the range of a cluster's cells, with or without the observed ones."""
        first = self.observed_ranges if observed else self.storing_ranges
        return first[cluster][0], self.plain_ranges[cluster][1]


def sort_and_pad(rows: np.ndarray, cluster: np.ndarray, clusters: int, lanes: int, padding: np.ndarray) -> PaddedRows:
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
    return PaddedRows(
        np.concatenate([np.zeros(shape, np.int64), *parts]).astype(np.int64),
        np.concatenate([np.zeros(0, np.int64), *sources]).astype(np.int64),
        tuple(ranges),
    )


def part_slots(first: np.ndarray, parts: int) -> np.ndarray:
    """Return the slots (positions, 4 parts) of waves of parts of a step, part after part.

    Parameters
    ----------
    first : (positions, 4) int
        Slot of the first part of each face, 0 for none, which stays 0.
    parts : int
        Number of parts.
    """
    return np.concatenate([np.where(first > 0, first + p, 0) for p in range(parts)], 1)


@dataclass(frozen=True)
class Connections:
    """Connections of cells (nc,) and what they store: the input of a layout.

    Attributes
    ----------
    neighbours, neighbour_faces : (nc, 4) int
        Neighbours and their local faces; -1 at boundaries and where another process has the cell.
    cluster : (nc,) int
        Cluster of each cell; neighbours are at most one apart.
    fault : (nc, 4) bool
        Faces with friction.
    stored_derivatives : (nc,) bool
        Cells whose time derivatives are read (receivers, surfaces).
    observed : (nc,) bool, optional
        Cells whose degrees of freedom are read or changed between a correction and the next prediction.
    driven : (nc, 4) bool, optional
        Faces with prescribed waves.
    penalised : (nc, 4) bool, optional
        Faces at which jumps are penalised, from both sides.
    solved : (nc, 4) bool, optional
        Boundary faces with prescribed waves that need a face time expansion, as faces with friction do.
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
    cells: Connections,
    curve: np.ndarray,
    lanes: int,
    border: ProcessInterface | None = None,
    clusters: int = 0,
    parts: int = 2,
) -> Layout:
    """Build the layout of cells, wave slots and messages.

    Plain cells contribute nothing to other processes: all other cells go first in every step.

    Parameters
    ----------
    cells : Connections
        Connections of the cells.
    curve : (nc,) int
        Permutation of the cells along a space-filling curve.
    lanes : int
        Cells per batch, to whose multiples clusters are padded.
    border : ProcessInterface, optional
        Faces to other processes.
    clusters : int
        Number of clusters on all processes.
    parts : int
        Slots of a slower cell for the steps of its faster neighbour (``lts_exchange.places``).

    Raises
    ------
    ValueError
        If neighbours are more than one cluster apart, or the cells of a fault face belong to two clusters.
    """
    return _Builder(cells, curve, lanes, border, clusters, parts).build()


class _Builder:
    """Builder of a layout: kinds of faces, then positions of cells, then slots of faces."""

    def __init__(
        self,
        cells: Connections,
        curve: np.ndarray,
        lanes: int,
        border: ProcessInterface | None,
        clusters: int,
        parts: int,
    ):
        self.alone, self.border = border is None, border or ProcessInterface.none()
        self.cells, self.lanes, self.parts = cells, lanes, parts
        self.clusters = max(clusters, int(cells.cluster.max(initial=0)) + 1)
        self._kinds_of_faces()
        self._place_cells(curve)
        self._number_waves()

    def _kinds_of_faces(self) -> None:
        """Mark the faces (nc, 4) to other processes, to faster and slower clusters, and with friction or prescribed waves."""
        x, border = self.cells, self.border
        shape = x.neighbours.shape
        self.inner, self.remote = x.neighbours >= 0, np.zeros(shape, bool)
        self.remote[border.cell, border.face] = True
        self.fault_or_driven = x.fault if x.driven is None else x.fault | x.driven
        self.traced = x.fault if x.solved is None else x.fault | x.solved
        later = np.empty(shape, np.int8)  # cluster of the neighbour minus the cell's own, clipped to two

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
        """Sort the cells by cluster and kind, then by what they store, then along the curve."""
        x = self.cells
        count = len(x.cluster)
        observed = np.zeros(count, bool) if x.observed is None else x.observed
        penalised = np.zeros_like(x.fault) if x.penalised is None else x.penalised
        # Traces of the first faces cost most (dense matrices): cells that store them are grouped.
        faces = (3, 2, 1, 0)
        marks = [made[:, f] for made in (self.slower, self.faster) for f in faces]
        marks += [penalised[:, f] for f in faces] + [x.stored_derivatives] + [self.traced[:, f] for f in faces]
        if self.traced.any():  # most cells at a fault have no faster neighbours
            derivatives = penalised.any(1) | x.stored_derivatives | self.traced.any(1)
            marks += [derivatives & ~self.faster.any(1)]
        amount = np.zeros(count, np.int32)
        for bit, mask in enumerate(marks):
            if mask.any():
                amount |= mask.astype(np.int32) << bit
        stores = (amount >> 4 > 0) | self.remote.any(1)
        if not self.alone:  # data from other processes is free for reuse once these cells are corrected
            stores |= self.slower.any(1)
        self.group = 3 * x.cluster + np.where(observed, 0, np.where(stores, 1, 2))
        order = curve[stable_argsort((self.group << len(marks) | amount)[curve])]
        placed = sort_and_pad(order[:, None], self.group[order], 3 * self.clusters, self.lanes, np.array([-1]))
        self.ranges, self.cell_at = placed.ranges, placed.rows[:, 0]
        self.placement = self.cell_at[self.cell_at >= 0]
        self.position = np.empty(count, np.int64)
        self.position[self.placement] = np.flatnonzero(self.cell_at >= 0)
        stored, last = stores & ~observed, len(marks) - 1
        # A mixed vector does the work of both kinds: derivatives at the end of the split cells, parts at the end of the cells with parts.
        self.split_ends = self._ends(stored, amount >> 8 == 0, up=False)
        self.whole_begins = self._ends(stored, (amount >> last == 0) | (not self.traced.any()), up=True)

    def _ends(self, stored: np.ndarray, first: np.ndarray, up: bool) -> tuple[int, ...]:
        """Return the end of the ``first`` (nc,) cells among each cluster's ``stored`` cells, rounded up or down to whole vectors."""
        clusters = self.cells.cluster
        counts = (np.bincount(clusters[some], minlength=self.clusters) for some in (stored & first, stored))
        lanes, more = self.lanes, self.lanes - 1 if up else 0
        return tuple(
            begin + (int(n) + more) // lanes * lanes if n < of else end
            for (begin, end), n, of in zip(self.ranges[1::3], *counts, strict=True)
        )

    def _number_waves(self) -> None:
        """Assign numbers to the wave slots.

        Order: the dummy, each cell's own slots, sums for slower cells twice, second slots of faces with friction or prescribed
        waves, waves of parts of a step, arriving waves.
        """
        border, size = self.border, len(self.cell_at)
        self.first_sum, self.sums = 1 + 4 * size, int(self.slower.sum())
        self.summed = _numbers(self.slower, self.first_sum, self.placement)
        self.first_second = self.first_sum + 2 * self.sums
        first_part = self.first_second + int(self.fault_or_driven.sum())
        self.parted = _numbers(self.faster, first_part, self.placement, self.parts)
        arrivals = first_part + self.parts * int(self.faster.sum())
        self.late = self.slower[border.cell, border.face]
        late = arrivals + int((~self.late).sum())
        self.arrive = _nothing(self.inner.shape)
        if len(border.cell):
            here = self.cells.cluster[border.cell]
            self.arrive = np.zeros(self.inner.shape, np.int64)
            self.arrive[border.cell, border.face] = _received(border, here, self.late, (arrivals, late), self.parts)
        self.first_spare = late + self.parts * int(self.late.sum())
        self.trash = self.first_spare + -(-size // SHARE)

    def _inside(self, cell: np.ndarray, face: np.ndarray) -> np.ndarray:
        """Return the cells' own slots of faces."""
        return np.asarray(1 + 4 * self.position[cell] + face)

    def _places(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the slots where waves are read, (parts, positions, 4), and written, (2, positions, 4)."""
        x, size = self.cells, len(self.cell_at)
        elsewhere = self.faster | self.slower | self.remote
        kind = np.int32 if self.trash <= np.iinfo(np.int32).max else np.int64
        outgoing = np.empty((2, size, 4), kind)
        incoming = np.empty((self.parts, size, 4), kind) if elsewhere.any() else outgoing

        def place(piece: slice) -> None:
            real = self.cell_at[piece] >= 0
            cell = self.cell_at[piece][real]
            near, face = x.neighbours[cell], x.neighbour_faces[cell]
            outgoing[:, piece] = 1 + 4 * np.arange(piece.start, piece.stop)[:, None] + np.arange(4)
            outgoing[1, piece][real] = np.where(self.equal[cell], self._inside(near, face), outgoing[1, piece][real])
            spare = self.first_spare + (piece.start + np.flatnonzero(real)[:, None]) // SHARE
            unread = self.slower[cell] | self.faster[cell]
            outgoing[:, piece][:, real] = np.where(unread, spare, outgoing[:, piece][:, real])
            if incoming is outgoing:
                return
            part, total = self.parted[near, face], self.summed[near, face]
            for turn in range(self.parts):
                incoming[turn, piece] = outgoing[turn % 2, piece]
                late = np.where(self.remote[cell], self.arrive[cell], part) + turn
                early = np.where(self.remote[cell], self.arrive[cell], total + turn % 2 * self.sums)
                slots = np.where(self.slower[cell], late, early)
                incoming[turn, piece][real] = np.where(elsewhere[cell], slots, outgoing[turn % 2, piece][real])

        in_pieces(place, size)
        return incoming, outgoing

    def _apart(self) -> np.ndarray | None:
        """Return ``Layout.apart``."""
        if not self.fault_or_driven.any():
            return None
        apart = 1 + np.arange(4 * len(self.cell_at)).reshape(-1, 4)
        second = _numbers(self.fault_or_driven, self.first_second, self.placement)[self.placement]
        marked = self.fault_or_driven[self.placement]
        rows = apart[self.position[self.placement]]
        rows[marked] = second[marked]
        apart[self.position[self.placement]] = rows
        return _narrow(apart)

    def _per_position(self, numbers: np.ndarray) -> np.ndarray:
        """Return numbers of cells (nc, ...) by position, 0 for padding."""
        if not numbers.any():
            return _nothing((len(self.cell_at), *numbers.shape[1:]), np.int32)
        found = np.zeros((len(self.cell_at), *numbers.shape[1:]), np.int64)
        found[self.position] = numbers
        return _narrow(found)

    def build(self) -> Layout:
        x, border = self.cells, self.border
        history = self._per_position(_numbers(x.stored_derivatives, 1, self.placement))
        friction = self._per_position(_numbers(self.traced, 1, self.placement))
        mine, at = 1 + int(self.traced.sum()), (border.cell, border.face)
        later = np.array([0, self.sums])[:, None]
        sums = _nothing((2, len(self.cell_at), 4), np.int32)
        if self.sums:
            second = np.where(self.summed > 0, self.summed + self.sums, 0)  # may need 64 bits where the first do not
            sums = np.stack([self._per_position(slots) for slots in (self.summed, second)])
        sent = InterfaceSlots(self._inside(*at), self.summed[at] + later, self.parted[at], self.arrive[at])
        return Layout(
            self.cell_at, self.position, self.ranges[0::3], self.ranges[1::3], self.ranges[2::3],
            history, 1 + int(x.stored_derivatives.sum()), self.split_ends, self.whole_begins, self.parts, self._per_position(self.parted),
            sums, friction, mine, mine + int((x.fault & ~self.inner).sum()) + 1,
            self._places(), self._apart(), self.trash + 1, _channels(border, x.cluster[border.cell], sent, self.parts),
        )  # fmt: skip


@dataclass(frozen=True)
class InterfaceSlots:
    """Slots of the waves sent and received through the k faces to other processes.

    Attributes
    ----------
    own : (k,) int
        Own waves.
    summed : (2, k) int
        Sums of waves.
    parts : (k,) int
        First slot of the waves of parts of a step.
    arrive : (k,) int
        First slot of the arriving waves.
    """

    own: np.ndarray
    summed: np.ndarray
    parts: np.ndarray
    arrive: np.ndarray


def _nothing(shape: tuple[int, ...], kind: type[np.generic] = np.int64) -> np.ndarray:
    """Return an array of zeros that occupies no memory."""
    return np.broadcast_to(kind(0), shape)


def _narrow(slots: np.ndarray) -> np.ndarray:
    """Return slots as 32-bit integers where they fit, because a large mesh stores five such arrays."""
    return slots.astype(np.int32) if slots.max(initial=0) <= np.iinfo(np.int32).max else slots


def _numbers(mask: np.ndarray, start: int, order: np.ndarray, width: int = 1) -> np.ndarray:
    """Assign numbers to the marked entries from ``start`` in steps of ``width``; 0 elsewhere.

    Cells are numbered in ``order``, so that neighbours in the layout get consecutive slots.
    """
    if not mask.any():
        return _nothing(mask.shape)
    result = np.zeros(mask.shape, np.int64)
    row, *face = np.nonzero(mask[order])
    result[(order[row], *face)] = start + width * np.arange(len(row))
    return result


def _along(border: ProcessInterface, here: np.ndarray, number: np.ndarray, face: np.ndarray) -> np.ndarray:
    """Return the order of faces by channel and, within one, by number and face of the sender's cell."""
    return np.lexsort((face, number, border.cluster, here, border.rank))


def _received(
    border: ProcessInterface, here: np.ndarray, late: np.ndarray, first: tuple[int, int], parts: int
) -> np.ndarray:
    """Return the slots (k,) of arriving waves, consecutive within a channel and in the order of the sender.

    Waves are numbered from ``first[0]``, and parts of the steps of slower cells (marked ``late``) from ``first[1]``.
    """
    order = _along(border, here, border.other_number, border.other_face)
    slots = np.empty(len(here), np.int64)
    for mask, start, width in ((~late, first[0], 1), (late, first[1], parts)):
        mine = order[mask[order]]
        slots[mine] = start + width * np.arange(len(mine))
    return slots


def _channels(border: ProcessInterface, here: np.ndarray, slots: InterfaceSlots, parts: int) -> tuple[Channel, ...]:
    """Return the messages by process and by the clusters of both sides; ``here`` (k,) are the local ones."""
    order, found = _along(border, here, border.number, border.face), []
    keys = np.stack([border.rank, here, border.cluster], 1)[order]
    new = np.append(True, (keys[1:] != keys[:-1]).any(1)) if len(keys) else np.zeros(0, bool)
    starts = np.flatnonzero(new)
    for faces, (rank, mine, other) in zip(np.split(order, starts)[1:], keys[starts].tolist(), strict=True):
        source = np.stack([slots.own] * 2)[:, faces] if mine == other else slots.summed[:, faces]
        if other < mine:
            source = np.stack([(slots.parts[faces, None] + np.arange(parts)).reshape(-1)] * 2)
        at = border.cell[faces], border.face[faces]
        arriving = len(faces) * (parts if other > mine else 1)
        found.append(Channel(rank, mine, other, "wave", source, "wave", int(slots.arrive[faces].min()), *at, arriving))
    return tuple(found)
