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

from dataclasses import dataclass

import numpy as np

from faultwave.comm.exchange import Channel


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
class CellOrder:
    """Order of the cells, as the module text explains.

    Attributes
    ----------
    cell_at : (positions,) int
        Cell at each position, -1 for padding.
    position : (cells,) int
        Position of each cell.
    observed_ranges, storing_ranges, plain_ranges : tuple of (int, int)
        First and end position of the cells of each kind, by cluster.
    split_ends : tuple of int
        End of the storing cells without derivatives, by cluster.
    whole_begins : tuple of int
        First storing cell without waves of parts of a step, by cluster.
    """

    cell_at: np.ndarray
    position: np.ndarray
    observed_ranges: tuple[tuple[int, int], ...]
    storing_ranges: tuple[tuple[int, int], ...]
    plain_ranges: tuple[tuple[int, int], ...]
    split_ends: tuple[int, ...]
    whole_begins: tuple[int, ...]

    @property
    def clusters(self) -> int:
        """Number of clusters."""
        return len(self.storing_ranges)

    @property
    def placed(self) -> np.ndarray:
        """Cells (nc,) in their order."""
        return self.cell_at[self.cell_at >= 0]

    @property
    def own(self) -> np.ndarray:
        """Slots (positions, 4) of the cells' own waves."""
        return 1 + np.arange(4 * len(self.cell_at)).reshape(-1, 4)

    def cells_range(self, cluster: int, observed: bool = True) -> tuple[int, int]:
        """Return the range of a cluster's cells, with or without the observed ones."""
        first = self.observed_ranges if observed else self.storing_ranges
        return first[cluster][0], self.plain_ranges[cluster][1]


@dataclass(frozen=True)
class DerivativeSlots:
    """Slots of stored time derivatives.

    Attributes
    ----------
    slots : (positions,) int
        Slot of each cell; 0 for none.
    count : int
        Number of slots.
    """

    slots: np.ndarray
    count: int


@dataclass(frozen=True)
class FrictionSlots:
    """Slots of the time expansions of faces with friction and of solved faces.

    Attributes
    ----------
    slots : (positions, 4) int
        Slot of each face; 0 for none.
    far : int
        First slot of expansions that arrive from other processes.
    count : int
        Number of slots; the last is never written.
    """

    slots: np.ndarray
    far: int
    count: int


@dataclass(frozen=True)
class Layout(CellOrder):
    """Order of the cells with the lists of slots that are read during a run.

    Attributes
    ----------
    history : DerivativeSlots
    friction : FrictionSlots
    wave_slots : int
        Number of slots of waves.
    parts : int
        Number of slots of the waves of parts of a step.
    second : (positions, 4) int or None
        Slots of the second waves of faces (see ``arriving_slots``); None if no face has friction or prescribed waves.
    channels : tuple of Channel
        Messages to other processes.
    """

    history: DerivativeSlots
    friction: FrictionSlots
    wave_slots: int
    parts: int
    second: np.ndarray | None = None
    channels: tuple[Channel, ...] = ()

    @property
    def arriving_slots(self) -> np.ndarray:
        """Second slots (positions, 4) of faces with friction or prescribed waves; ``own`` elsewhere."""
        return self.own if self.second is None else self.second


@dataclass(frozen=True)
class WaveSlots:
    """Slots of the waves that the cells read and write.

    Attributes
    ----------
    incoming : (parts, positions, 4) int
        Slots of the neighbours' waves; step n of a cluster reads n modulo parts.
    outgoing : (2, positions, 4) int
        Slots of the waves of the next step, in even and odd steps. It is the array ``incoming`` itself where all cells exchange waves in
        place.
    for_faster : (positions, 4) int
        First slot of the waves of parts of a step for a faster neighbour; 0 for none.
    sums : (2, positions, 4) int
        Slots of sums for a slower neighbour, in its even and odd steps; 0 for none.
    """

    incoming: np.ndarray
    outgoing: np.ndarray
    for_faster: np.ndarray
    sums: np.ndarray


@dataclass(frozen=True)
class MeshLayout:
    """Layout of the cells of a process, and the slots of their waves, which are needed until buffers hold them."""

    cells: Layout
    waves: WaveSlots


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
