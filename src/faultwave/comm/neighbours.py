"""Values swapped across the border to other processes, while a run is planned: no process speaks to more than touch it."""

from __future__ import annotations

from typing import Any

import numpy as np

from faultwave.comm.world import World

TAG = 10000


class Neighbours:
    """``rank`` (k,): the process across each face of the border; ``mine``, ``theirs`` (k, 2): number and face of the cells
    on both sides, by which both processes order what they send."""

    def __init__(self, world: World, rank: np.ndarray, mine: np.ndarray, theirs: np.ndarray):
        self.world = world
        self._lines: list[tuple[int, np.ndarray, np.ndarray]] = []
        for other in np.unique(rank):
            items = np.flatnonzero(rank == other)
            leave, arrive = (items[np.lexsort((x[items, 1], x[items, 0]))] for x in (mine, theirs))
            self._lines.append((int(other), leave, arrive))

    def swap(self, values: np.ndarray) -> np.ndarray:
        """What the cells beyond the faces have, for ``values`` (k, ...) of the cells here."""
        found, open_ = np.empty_like(values), []
        for other, _, arrive in self._lines:
            into = np.empty((len(arrive), *values.shape[1:]), values.dtype)
            open_.append((self.world.mpi.Irecv(into, other, TAG), into, arrive))
        sent = [self._send(other, np.ascontiguousarray(values[leave])) for other, leave, _ in self._lines]
        for request, into, arrive in open_:
            request.Wait()
            found[arrive] = into
        for request, _ in sent:
            request.Wait()
        return found

    def _send(self, other: int, data: np.ndarray) -> tuple[Any, np.ndarray]:
        return self.world.mpi.Isend(data, other, TAG), data  # the data live as long as the message
