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

The cells of a cluster come in three kinds, one after the other: those somebody looks at between a step's correction and
the next prediction, others that leave more than waves, and plain ones. The first two kinds are sorted by what each
leaves, so that most batches do the same work. Slot 0 of what they leave is nobody's (``kernels.language.When``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
    watched_ranges: tuple[tuple[int, int], ...]
    keep_ranges: tuple[tuple[int, int], ...]
    plain_ranges: tuple[tuple[int, int], ...]
    history: np.ndarray  # (positions,) slot of the stored derivatives; 0 where none
    histories: int
    slow: np.ndarray  # (positions, 4) slot of the derivatives' traces left for a faster neighbour; 0 where none
    slow_slots: int
    friction: (
        np.ndarray
    )  # (positions, 4) slot of the derivatives' traces of both quantities at a fault face; 0 elsewhere
    friction_far: int  # first slot of those that arrive from other processes
    friction_slots: int  # the last is never written
    own: np.ndarray  # (positions, 4) a cell's own slots
    incoming: np.ndarray  # (2, positions, 4) where the neighbours' waves are, in even and odd steps
    outgoing: np.ndarray  # (2, positions, 4) where the waves of the next step go; ``incoming`` but for kept cells
    aside: np.ndarray  # (positions, 4) a second slot for faces with friction; ``own`` elsewhere
    wave_slots: int
    slower: Ranged  # faces to slower cells: own slot, sums of even and of odd steps of the slower side, its derivatives' traces
    channels: tuple[Channel, ...] = ()  # to other processes

    @property
    def clusters(self) -> int:
        return len(self.keep_ranges)

    def sums(self, cluster: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Ranges of ``slower``: of a cluster's special cells, those at the border among them, and of its plain ones."""
        return self.slower.ranges[2 * cluster], self.slower.ranges[2 * cluster + 1]

    def slower_range(self, cluster: int) -> tuple[int, int]:
        """Both of these."""
        special, plain = self.sums(cluster)
        return special[0], plain[1]

    def cells_range(self, cluster: int, watched: bool = True) -> tuple[int, int]:
        """All of a cluster's cells, or all but those that are looked at."""
        first = self.watched_ranges if watched else self.keep_ranges
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


def build_layout(
    neighbours: np.ndarray,
    neighbour_faces: np.ndarray,
    cluster: np.ndarray,
    fault: np.ndarray,
    keep: np.ndarray,
    curve: np.ndarray,
    lanes: int,
    border: Border | None = None,
    clusters: int = 0,
    watched: np.ndarray | None = None,
    driven: np.ndarray | None = None,
) -> Layout:
    """Lay out cells (nc,) with face neighbours (nc, 4), -1 at boundaries and where ``border`` names another process.

    cluster (nc,): neighbours at most one apart; fault (nc, 4): faces with friction; driven (nc, 4): faces with a field of
    their own; keep (nc,): cells whose derivatives are wanted (receivers, surfaces); watched (nc,): cells whose dofs are
    read or changed between a correction and the next prediction; curve: permutation of cells along a space-filling curve;
    clusters: how many there are on all processes. Plain cells have no part in what leaves the process: the others go
    first in every step.
    """
    cells, clusters = len(cluster), max(clusters, int(cluster.max(initial=0)) + 1)
    border = border or Border.none()
    remote = np.zeros(neighbours.shape, bool)
    remote[border.cell, border.face] = True
    other = np.where(neighbours >= 0, cluster[neighbours], cluster[:, None])
    other[border.cell, border.face] = border.cluster
    apart = fault if driven is None else fault | driven
    watched = np.zeros(cells, bool) if watched is None else watched
    regular = ((neighbours >= 0) | remote) & ~apart
    if (np.abs(other - cluster[:, None])[regular] > 1).any():
        raise ValueError("neighbours more than one cluster apart")
    if (other != cluster[:, None])[apart & (neighbours >= 0)].any():
        raise ValueError("the two cells of a fault face must be in one cluster")
    faster, slower = regular & (other < cluster[:, None]), regular & (other > cluster[:, None])
    leaves = keep | faster.any(1) | fault.any(1) | remote.any(1)

    rank = np.empty(cells, np.int64)
    rank[curve] = np.arange(cells)
    group = 3 * cluster + np.where(watched, 0, np.where(leaves, 1, 2))
    # Traces of the first faces cost most (dense matrices): cells that leave those stay together first.
    left = np.stack([keep, *[made[:, f] for f in (3, 2, 1, 0) for made in (fault, faster)]], 1)
    amount = left @ (1 << np.arange(9))
    order = np.lexsort((rank, amount, group))
    placed = ranged(order[:, None], group[order], 3 * clusters, lanes, np.array([-1]))
    cell_at = placed.rows[:, 0]
    position = np.empty(cells, np.int64)
    placement = cell_at[cell_at >= 0]
    position[placement] = np.flatnonzero(cell_at >= 0)

    size = len(cell_at)
    own = np.arange(4 * size).reshape(size, 4)
    summed = _numbers(slower, 0, placement)
    count = int(slower.sum())
    aside = own.copy()
    aside[position] = np.where(apart, _numbers(apart, 4 * size + 2 * count, placement), own[position])
    here, late = cluster[border.cell], slower[border.cell, border.face]
    waves_end, series_end = 4 * size + 2 * count + int(apart.sum()), 1 + int(faster.sum())
    arrive = np.zeros(neighbours.shape, np.int64)
    arrive[border.cell, border.face] = _received(border, here, late, waves_end, series_end)
    trash = waves_end + int((~late).sum())
    inside = own[position]
    there = np.where(neighbours >= 0, inside[neighbours, neighbour_faces], 0)
    near_summed = np.where(neighbours >= 0, summed[neighbours, neighbour_faces], 0)
    equal = regular & ~faster & ~slower & ~remote
    incoming, outgoing = np.stack([own, own]), np.stack([own, own])
    outgoing[1, position] = np.where(equal, there, inside)
    for turn in range(2):
        sums = 4 * size + turn * count + near_summed
        sums = np.where(remote, arrive, sums)
        incoming[turn, position] = np.where(faster | (remote & ~slower), sums, outgoing[turn, position])

    history, slow, friction = np.zeros(size, np.int64), np.zeros((size, 4), np.int64), np.zeros((size, 4), np.int64)
    history[position] = _numbers(keep, 1, placement)
    slow_number = _numbers(faster, 1, placement)
    slow[position], friction[position] = slow_number, _numbers(fault, 1, placement)
    mine = 1 + int(fault.sum())
    near_slow = np.where(neighbours >= 0, slow_number[neighbours, neighbour_faces], arrive)

    c, f = np.nonzero(slower[placement])
    c = placement[c]
    even = 4 * size + summed[c, f]
    to_slower = ranged(
        np.stack([inside[c, f], even, even + count, near_slow[c, f]], 1), 2 * cluster[c] + (group[c] % 3 == 2), 2 * clusters,
        lanes, np.array([trash, trash, trash, 0]),
    )  # fmt: skip
    return Layout(
        cell_at, position, placed.ranges[0::3], placed.ranges[1::3], placed.ranges[2::3], history, 1 + int(keep.sum()),
        slow, series_end + int(late.sum()), friction, mine,
        mine + int((fault & (neighbours < 0)).sum()) + 1, own, incoming, outgoing, aside, trash + 1,
        to_slower,
        _channels(border, here, arrive, inside, 4 * size + summed + np.array([0, count])[:, None, None], slow_number),
    )  # fmt: skip


def _numbers(mask: np.ndarray, start: int, order: np.ndarray) -> np.ndarray:
    """Consecutive numbers from ``start`` where the mask holds, 0 elsewhere; cells in ``order``, so that neighbours in the
    layout find theirs side by side."""
    chosen, result = mask[order], np.zeros(mask.shape, np.int64)
    numbers = np.zeros(mask.shape, np.int64)
    numbers[chosen] = start + np.arange(chosen.sum())
    result[order] = numbers
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


def _channels(
    border: Border, here: np.ndarray, arrive: np.ndarray, own: np.ndarray, summed: np.ndarray, slow: np.ndarray
) -> tuple[Channel, ...]:
    """``own``, ``slow`` (nc, 4): slots of waves and of derivatives' traces; ``summed`` (2, nc, 4): of sums."""
    order, found = _along(border, here, border.number, border.face), []
    keys = np.stack([border.rank, here, border.cluster], 1)[order]
    new = np.append(True, (keys[1:] != keys[:-1]).any(1)) if len(keys) else np.zeros(0, bool)
    starts = np.flatnonzero(new)
    for faces, (rank, mine, other) in zip(np.split(order, starts)[1:], keys[starts].tolist(), strict=True):
        at = border.cell[faces], border.face[faces]
        source = np.stack([own, own]) if mine == other else summed if other > mine else np.stack([slow, slow])
        sent: Kind = "series" if other < mine else "wave"
        got: Kind = "series" if other > mine else "wave"
        found.append(Channel(rank, mine, other, sent, source[:, *at], got, int(arrive[at].min()), *at))
    return tuple(found)
