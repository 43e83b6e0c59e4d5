"""Exchange of values across process borders while a run is planned; a process communicates only with adjacent ones."""

from __future__ import annotations

import numpy as np

from faultwave.comm.messages import swap
from faultwave.comm.world import World

TAG = 10000


class Neighbours:
    """Exchange of values across the border faces of a mesh partition.

    Parameters
    ----------
    world : World
        Processes of the run.
    rank : ndarray of int, shape (k,)
        Rank of the process across each border face.
    mine, theirs : ndarray of int, shape (k, 2)
        Cell number and local face on this and on the other side; both processes order their values by them.
    """

    def __init__(self, world: World, rank: np.ndarray, mine: np.ndarray, theirs: np.ndarray):
        self.world = world
        self._sent: dict[int, np.ndarray] = {}  # rank -> items in the order in which they are sent
        self._received: dict[int, np.ndarray] = {}
        for other in np.unique(rank):
            items = np.flatnonzero(rank == other)
            for order, x in ((self._sent, mine), (self._received, theirs)):
                order[int(other)] = items[np.lexsort((x[items, 1], x[items, 0]))]

    def swap(self, values: np.ndarray) -> np.ndarray:
        """Return the values of the cells across the faces, given ``values`` (k, ...) of the cells here."""
        found = np.empty_like(values)
        out = {rank: values[items] for rank, items in self._sent.items()}
        into = {rank: np.empty((len(x), *values.shape[1:]), values.dtype) for rank, x in self._received.items()}
        if out:
            swap(self.world.mpi, TAG, out, into, "values at the border of the mesh")
        for rank, items in self._received.items():
            found[items] = into[rank]
        return found
