"""Exchange of readings at fault faces whose minus side belongs to another process.

Both processes make the same readings of a cluster in the same order. The process of the minus side sends its part of each reading; the
owner combines both parts when all clusters are at the same time and every message has been sent, so that no process waits
in between.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import numpy as np

from faultwave.comm import World
from faultwave.comm.messages import Plain, Receive, Send, free, wait_all

TAG = 20000
"""First message tag, larger than all tags of waves."""

WHAT = "readings of the other side of a fault"


class RemoteFaultSides:
    """Messages of readings between processes; ``tag`` distinguishes the probes of one pair of processes."""

    def __init__(self, world: World):
        self.world = world
        self._receives: deque[tuple[list[Receive], Callable[[], None]]] = deque()
        self._sends: list[Send] = []

    def send(self, rank: int, tag: int, values: np.ndarray) -> None:
        """Send the local part of a reading to process ``rank``."""
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
        """Wait for all messages and combine the readings; called when all processes have done the same steps."""
        while self._receives:
            receives, then = self._receives.popleft()
            wait_all(receives)
            free(receives)
            then()
        wait_all(self._sends)
        free(self._sends)
        self._sends = []
