"""What is read at fault faces whose minus side another process has.

Both processes come to the same readings of a cluster, in the same order. The one with the minus side sends what it sees of
each; the owner puts the two together where all clusters have met, when every message is on its way: so nobody waits for
anybody in between.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import numpy as np

from faultwave.comm import World
from faultwave.comm.messages import Plain, Receive, Send, free, wait_all

TAG = 20000
"""Above those of the waves."""

WHAT = "readings of the other side of a fault"


class FarSides:
    """Messages of readings between processes; ``tag`` tells several probes of one pair of processes apart."""

    def __init__(self, world: World):
        self.world = world
        self._receives: deque[tuple[list[Receive], Callable[[], None]]] = deque()
        self._sends: list[Send] = []

    def send(self, rank: int, tag: int, values: np.ndarray) -> None:
        """Send what is seen from here."""
        source = Plain(np.ascontiguousarray(values, float))
        self._sends.append(Send(self.world.mpi, rank, TAG + tag, source, WHAT))
        self._sends[-1].start()

    def receive(self, sources: Sequence[tuple[int, np.ndarray]], tag: int, then: Callable[[], None]) -> None:
        """Receive from each rank into its array, and call ``then`` at the next ``finish``."""
        made = [Receive(self.world.mpi, rank, TAG + tag, Plain(into), WHAT) for rank, into in sources]
        for message in made:
            message.start()
        self._receives.append((made, then))

    def finish(self) -> None:
        """Wait for all messages so far, and put readings together; when all processes have done the same steps."""
        while self._receives:
            receives, then = self._receives.popleft()
            wait_all(receives)
            free(receives)
            then()
        wait_all(self._sends)
        free(self._sends)
        self._sends = []
