"""How many snapshots each process has written of a file that several write: a small file beside it, with a number a process.

When one of them finds the disk full it ends all, and has no way to ask the others; here it sees what is complete.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from faultwave.comm import World
from faultwave.output.atomic import explaining, remove

NOTHING = np.int64(1) << 62
"""Of a process that has nothing to write."""


class ProgressCounts:
    """Opened by all processes together. ``mine``: snapshots that this one has written, None where it writes none."""

    def __init__(self, world: World, working: Path, mine: int | None):
        self.path, self.rank = working.with_name(f"{working.name}-counts"), world.rank
        world.together(lambda: self._create(world.size))
        with explaining(self.path):
            self._descriptor = os.open(self.path, os.O_RDWR | getattr(os, "O_BINARY", 0))
            self.note(NOTHING if mine is None else mine)

    def _create(self, size: int) -> None:
        with explaining(self.path):
            self.path.write_bytes(np.zeros(size, np.int64).tobytes())

    def note(self, count: int | np.int64) -> None:
        """So many snapshots of this process are written."""
        os.pwrite(self._descriptor, np.int64(count).tobytes(), 8 * self.rank)

    @contextlib.contextmanager
    def complete(self) -> Iterator[int]:
        """How many snapshots all processes have written. Only one process at a time gets beyond this."""
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        try:
            yield int(np.frombuffer(os.pread(self._descriptor, 1 << 20, 0), np.int64).min())
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """This process has no more to write."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def drop(self) -> None:
        """Remove the file; nobody asks any more."""
        self.close()
        remove(self.path)


__all__ = ["ProgressCounts"]
