"""Construction of the layout of a mesh: kinds of faces, then the order of the cells, then the slots of their waves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultwave.base.processes.pieces import in_pieces, stable_argsort
from faultwave.comm.exchange import Channel
from faultwave.dg.operators.layout import (
    CellOrder,
    DerivativeSlots,
    FrictionSlots,
    Layout,
    MeshLayout,
    ProcessInterface,
    WaveSlots,
    sort_and_pad,
)

SHARE = 512
"""Number of cells that share a slot for waves that only enter sums and parts, so that it stays in the first-level cache."""


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
) -> MeshLayout:
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
        Slots of a slower cell for the steps of its faster neighbour (``outgoing_waves.cluster_places``).

    Raises
    ------
    ValueError
        If neighbours are more than one cluster apart, or the cells of a fault face belong to two clusters.
    """
    alone, border = border is None, border or ProcessInterface.none()
    faces = FaceKinds.of(cells, border)
    order = _order_cells(cells, faces, curve, lanes, max(clusters, int(cells.cluster.max(initial=0)) + 1), alone)
    numbers = WaveNumbers.of(cells, faces, border, order, parts)
    incoming, outgoing = _wave_paths(cells, faces, order, numbers, parts)
    sums = _nothing((2, len(order.cell_at), 4), np.int32)
    if numbers.sums:
        second = np.where(
            numbers.summed > 0, numbers.summed + numbers.sums, 0
        )  # may need 64 bits where the first do not
        sums = np.stack([_per_position(order, slots) for slots in (numbers.summed, second)])
    history = _per_position(order, _numbers(cells.stored_derivatives, 1, order.placed))
    friction = _per_position(order, _numbers(faces.traced, 1, order.placed))
    mine, at = 1 + int(faces.traced.sum()), (border.cell, border.face)
    summed = numbers.summed[at] + np.array([0, numbers.sums])[:, None]
    sent = InterfaceSlots(_own_slot(order, *at), summed, numbers.parted[at], numbers.arrive[at])
    layout = Layout(
        **vars(order),
        history=DerivativeSlots(history, 1 + int(cells.stored_derivatives.sum())),
        friction=FrictionSlots(friction, mine, mine + int((cells.fault & ~faces.inner).sum()) + 1),
        wave_slots=numbers.trash + 1,
        parts=parts,
        second=_second_slots(faces, order, numbers.first_second),
        channels=_channels(border, cells.cluster[border.cell], sent, parts),
    )
    return MeshLayout(layout, WaveSlots(incoming, outgoing, _per_position(order, numbers.parted), sums))


@dataclass(frozen=True)
class FaceKinds:
    """Kinds of the faces, masks (nc, 4).

    Attributes
    ----------
    inner
        Faces between two cells of this process.
    remote
        Faces to other processes.
    apart
        Faces with friction or prescribed waves.
    traced
        Faces with friction, and solved faces, which need a face time expansion.
    faster, slower
        Other faces to faster and to slower clusters.
    equal
        Other faces between two cells of this process and of one cluster.
    """

    inner: np.ndarray
    remote: np.ndarray
    apart: np.ndarray
    traced: np.ndarray
    faster: np.ndarray
    slower: np.ndarray
    equal: np.ndarray

    @classmethod
    def of(cls, cells: Connections, border: ProcessInterface) -> FaceKinds:
        """Return the kinds of the faces of cells; raises ValueError as ``build_layout`` does."""
        inner, remote = cells.neighbours >= 0, np.zeros(cells.neighbours.shape, bool)
        remote[border.cell, border.face] = True
        apart = cells.fault if cells.driven is None else cells.fault | cells.driven
        traced = cells.fault if cells.solved is None else cells.fault | cells.solved
        later = np.empty(inner.shape, np.int8)  # cluster of the neighbour minus the cell's own, clipped to two

        def compare(piece: slice) -> None:
            own = cells.cluster[piece, None]
            after = np.where(inner[piece], cells.cluster[cells.neighbours[piece]], own) - own
            later[piece] = np.clip(after, -2, 2)

        in_pieces(compare, len(later))
        later[border.cell, border.face] = np.clip(border.cluster - cells.cluster[border.cell], -2, 2)
        regular = (inner | remote) & ~apart
        if wrong := int((np.abs(later)[regular] > 1).sum()):
            raise ValueError(f"{wrong} faces have neighbours that are more than one cluster apart")
        if later[apart & inner].any():
            raise ValueError(
                f"{int(np.count_nonzero(later[apart & inner]))} fault faces have cells in two clusters; both must be in one"
            )
        equal = regular & (later == 0) & ~remote
        return cls(inner, remote, apart, traced, regular & (later < 0), regular & (later > 0), equal)


def _order_cells(
    cells: Connections, faces: FaceKinds, curve: np.ndarray, lanes: int, clusters: int, alone: bool
) -> CellOrder:
    """Sort the cells by cluster and kind, then by what they store, then along the curve.

    ``alone`` is True if no other process has cells.
    """
    count = len(cells.cluster)
    observed = np.zeros(count, bool) if cells.observed is None else cells.observed
    marks = _marks(cells, faces)
    amount = np.zeros(count, np.int32)
    for bit, mask in enumerate(marks):
        if mask.any():
            amount |= mask.astype(np.int32) << bit
    stores = (amount >> 4 > 0) | faces.remote.any(1)
    if not alone:  # data from other processes is free for reuse once these cells are corrected
        stores |= faces.slower.any(1)
    group = 3 * cells.cluster + np.where(observed, 0, np.where(stores, 1, 2))
    order = curve[stable_argsort((group << len(marks) | amount)[curve])]
    placed = sort_and_pad(order[:, None], group[order], 3 * clusters, lanes, np.array([-1]))
    ranges, cell_at = placed.ranges, placed.rows[:, 0]
    position = np.empty(count, np.int64)
    position[cell_at[cell_at >= 0]] = np.flatnonzero(cell_at >= 0)
    stored = stores & ~observed

    def ends(first: np.ndarray, more: int) -> tuple[int, ...]:
        """Return the end of the ``first`` (nc,) stored cells of each cluster, in whole vectors after adding ``more`` cells."""
        counts = (np.bincount(cells.cluster[some], minlength=clusters) for some in (stored & first, stored))
        return tuple(
            begin + (int(n) + more) // lanes * lanes if n < of else end
            for (begin, end), n, of in zip(ranges[1::3], *counts, strict=True)
        )

    # A mixed vector does the work of both kinds: derivatives at the end of the split cells, parts at the end of the cells with parts.
    split_ends = ends(amount >> 8 == 0, 0)
    whole_begins = ends((amount >> (len(marks) - 1) == 0) | (not faces.traced.any()), lanes - 1)
    return CellOrder(cell_at, position, ranges[0::3], ranges[1::3], ranges[2::3], split_ends, whole_begins)


def _marks(cells: Connections, faces: FaceKinds) -> list[np.ndarray]:
    """Return the masks (nc,) of the data that cells store, which sort them; later ones count more."""
    penalised = np.zeros_like(cells.fault) if cells.penalised is None else cells.penalised
    # Traces of the first faces cost most (dense matrices): cells that store them are grouped.
    backwards = (3, 2, 1, 0)
    marks = [made[:, f] for made in (faces.slower, faces.faster) for f in backwards]
    marks += [penalised[:, f] for f in backwards] + [cells.stored_derivatives] + [faces.traced[:, f] for f in backwards]
    if faces.traced.any():  # most cells at a fault have no faster neighbours
        derivatives = penalised.any(1) | cells.stored_derivatives | faces.traced.any(1)
        marks += [derivatives & ~faces.faster.any(1)]
    return marks


@dataclass(frozen=True)
class WaveNumbers:
    """Numbers of the wave slots, and the slots (nc, 4) of faces, 0 for none.

    Order: the dummy, each cell's own slots, sums for slower cells twice, second slots of faces with friction or prescribed
    waves, waves of parts of a step, arriving waves, slots that are never read.

    Attributes
    ----------
    sums : int
        Number of faces to slower cells.
    summed
        Slots of sums, in even steps of the slower cell.
    first_second : int
        First of the second slots.
    parted
        First slots of the waves of parts of a step.
    arrive
        First slots of the waves that arrive from other processes.
    first_spare, trash : int
        First slot that is never read, and the last.
    """

    sums: int
    summed: np.ndarray
    first_second: int
    parted: np.ndarray
    arrive: np.ndarray
    first_spare: int
    trash: int

    @classmethod
    def of(
        cls, cells: Connections, faces: FaceKinds, border: ProcessInterface, order: CellOrder, parts: int
    ) -> WaveNumbers:
        """Assign numbers to the wave slots of the faces of cells."""
        size, shape = len(order.cell_at), faces.inner.shape
        first_sum, sums = 1 + 4 * size, int(faces.slower.sum())
        first_second = first_sum + 2 * sums
        first_part = first_second + int(faces.apart.sum())
        arrivals = first_part + parts * int(faces.faster.sum())
        late = faces.slower[border.cell, border.face]
        first_late = arrivals + int((~late).sum())
        arrive = _nothing(shape)
        if len(border.cell):
            here = cells.cluster[border.cell]
            arrive = np.zeros(shape, np.int64)
            arrive[border.cell, border.face] = _received(border, here, late, (arrivals, first_late), parts)
        first_spare = first_late + parts * int(late.sum())
        summed = _numbers(faces.slower, first_sum, order.placed)
        parted = _numbers(faces.faster, first_part, order.placed, parts)
        return cls(sums, summed, first_second, parted, arrive, first_spare, first_spare + -(-size // SHARE))


def _own_slot(order: CellOrder, cell: np.ndarray, face: np.ndarray) -> np.ndarray:
    """Return the cells' own slots of faces."""
    return np.asarray(1 + 4 * order.position[cell] + face)


def _wave_paths(
    cells: Connections, faces: FaceKinds, order: CellOrder, numbers: WaveNumbers, parts: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``WaveSlots.incoming`` and ``WaveSlots.outgoing``."""
    size = len(order.cell_at)
    elsewhere = faces.faster | faces.slower | faces.remote
    kind = np.int32 if numbers.trash <= np.iinfo(np.int32).max else np.int64
    outgoing = np.empty((2, size, 4), kind)
    incoming = np.empty((parts, size, 4), kind) if elsewhere.any() else outgoing

    def place(piece: slice) -> None:
        real = order.cell_at[piece] >= 0
        cell = order.cell_at[piece][real]
        near, face = cells.neighbours[cell], cells.neighbour_faces[cell]
        outgoing[:, piece] = 1 + 4 * np.arange(piece.start, piece.stop)[:, None] + np.arange(4)
        outgoing[1, piece][real] = np.where(faces.equal[cell], _own_slot(order, near, face), outgoing[1, piece][real])
        spare = numbers.first_spare + (piece.start + np.flatnonzero(real)[:, None]) // SHARE
        unread = faces.slower[cell] | faces.faster[cell]
        outgoing[:, piece][:, real] = np.where(unread, spare, outgoing[:, piece][:, real])
        if incoming is outgoing:
            return
        part, total = numbers.parted[near, face], numbers.summed[near, face]
        for turn in range(parts):
            incoming[turn, piece] = outgoing[turn % 2, piece]
            late = np.where(faces.remote[cell], numbers.arrive[cell], part) + turn
            early = np.where(faces.remote[cell], numbers.arrive[cell], total + turn % 2 * numbers.sums)
            slots = np.where(faces.slower[cell], late, early)
            incoming[turn, piece][real] = np.where(elsewhere[cell], slots, outgoing[turn % 2, piece][real])

    in_pieces(place, size)
    return incoming, outgoing


def _second_slots(faces: FaceKinds, order: CellOrder, first: int) -> np.ndarray | None:
    """Return ``Layout.second``, with numbers from ``first`` on."""
    if not faces.apart.any():
        return None
    found, placed = order.own, order.placed
    marked, rows = faces.apart[placed], found[order.position[placed]]
    rows[marked] = _numbers(faces.apart, first, placed)[placed][marked]
    found[order.position[placed]] = rows
    return _narrow(found)


def _per_position(order: CellOrder, numbers: np.ndarray) -> np.ndarray:
    """Return numbers of cells (nc, ...) by position, 0 for padding."""
    if not numbers.any():
        return _nothing((len(order.cell_at), *numbers.shape[1:]), np.int32)
    found = np.zeros((len(order.cell_at), *numbers.shape[1:]), np.int64)
    found[order.position] = numbers
    return _narrow(found)


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
