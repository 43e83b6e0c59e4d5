"""Snapshot counts of each process writing a shared file, stored in a small adjacent file with one number per process.

A process that finds the disk full terminates the run and cannot communicate with the others; the counts show which snapshots are
complete.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from faultwave.comm import World
from faultwave.output.atomic import remove, translate_os_errors

NOTHING = np.int64(1) << 62
"""Count of a process that has nothing to write."""


class ProgressCounts:
    """Snapshot counts of the processes that write a shared file.

    Creation is collective. ``mine`` is the number of snapshots this process has written, None if it writes none.
    """

    def __init__(self, world: World, working: Path, mine: int | None):
        self.path, self.rank = working.with_name(f"{working.name}-counts"), world.rank
        world.together(lambda: self._create(world.size))
        with translate_os_errors(self.path):
            self._descriptor = os.open(self.path, os.O_RDWR | getattr(os, "O_BINARY", 0))
            self.note(NOTHING if mine is None else mine)

    def _create(self, size: int) -> None:
        with translate_os_errors(self.path):
            self.path.write_bytes(np.zeros(size, np.int64).tobytes())

    def note(self, count: int | np.int64) -> None:
        """Store the number of snapshots that this process has written."""
        os.pwrite(self._descriptor, np.int64(count).tobytes(), 8 * self.rank)

    @contextlib.contextmanager
    def complete(self) -> Iterator[int]:
        """Yield the number of snapshots that all processes have written, under an exclusive lock."""
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        try:
            yield int(np.frombuffer(os.pread(self._descriptor, 1 << 20, 0), np.int64).min())
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the counts; this process writes nothing more."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def drop(self) -> None:
        """Close and remove the file of counts."""
        self.close()
        remove(self.path)


__all__ = ["ProgressCounts"]
