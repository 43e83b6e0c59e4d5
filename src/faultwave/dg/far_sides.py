"""What is read at fault faces whose minus side another process has.

Both processes come to the same readings of a cluster, in the same order. The one with the minus side sends what it sees of
each; the owner puts the two together where all clusters have met, when every message is on its way: so nobody waits for
anybody in between.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from faultwave.comm import World

TAG = 20000
"""Above those of the waves."""


class FarSides:
    """Messages of readings between processes; ``tag`` tells several probes of one pair apart."""

    def __init__(self, world: World):
        self.world = world
        self._asked: deque[tuple[list[Any], Callable[[], None]]] = deque()
        self._told: deque[tuple[Any, np.ndarray]] = deque()

    def tell(self, rank: int, tag: int, values: np.ndarray) -> None:
        """Send what is seen from here."""
        values = np.ascontiguousarray(values, float)
        self._told.append((self.world.mpi.Isend(values, rank, TAG + tag), values))

    def ask(self, sources: Sequence[tuple[int, np.ndarray]], tag: int, then: Callable[[], None]) -> None:
        """Receive from each rank into its array, and call ``then`` at the next ``settle``."""
        self._asked.append(([self.world.mpi.Irecv(into, rank, TAG + tag) for rank, into in sources], then))

    def settle(self) -> None:
        """Finish everything asked for so far; when all processes have done the same steps."""
        while self._asked:
            requests, then = self._asked.popleft()
            for request in requests:
                request.Wait()
            then()
        while self._told:
            self._told.popleft()[0].Wait()
