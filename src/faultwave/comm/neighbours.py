"""Values exchanged across the border between processes while a run is planned: a process speaks only to those it touches."""

from __future__ import annotations

import numpy as np

from faultwave.comm.messages import swap
from faultwave.comm.world import World

TAG = 10000


class Neighbours:
    """``rank`` (k,): the process across each face of the border; ``mine``, ``theirs`` (k, 2): number and face of the cells
    on both sides, by which both processes order what they send."""

    def __init__(self, world: World, rank: np.ndarray, mine: np.ndarray, theirs: np.ndarray):
        self.world = world
        self._sent: dict[int, np.ndarray] = {}  # rank -> items in the order in which they are sent
        self._received: dict[int, np.ndarray] = {}
        for other in np.unique(rank):
            items = np.flatnonzero(rank == other)
            for order, x in ((self._sent, mine), (self._received, theirs)):
                order[int(other)] = items[np.lexsort((x[items, 1], x[items, 0]))]

    def swap(self, values: np.ndarray) -> np.ndarray:
        """What the cells beyond the faces have, for ``values`` (k, ...) of the cells here."""
        found = np.empty_like(values)
        out = {rank: values[items] for rank, items in self._sent.items()}
        into = {rank: np.empty((len(x), *values.shape[1:]), values.dtype) for rank, x in self._received.items()}
        if out:
            swap(self.world.mpi, TAG, out, into, "values at the border of the mesh")
        for rank, items in self._received.items():
            found[items] = into[rank]
        return found
