"""One file of cell fields that several processes write: each its own slab, side by side, at places laid out once.

The file's cells are those of the first process, then those of the second and so on; ``global-id`` says which is which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from faultwave.comm import World
from faultwave.output.atomic import WholeOrNothing, explaining
from faultwave.output.fields import CellFieldWriter
from faultwave.output.shared_file import SharedFile, Way

Make = Callable[[np.ndarray, np.ndarray, dict[str, np.ndarray]], CellFieldWriter]


class SlabWriter(WholeOrNothing):
    """This process's part of a file. ``make(points, cells, static)`` opens the whole file, on the first process only;
    points, cells, static: the part of it here. Opening and closing are done by all processes together."""

    def __init__(
        self, world: World, make: Make, points: np.ndarray, cells: np.ndarray, static: Mapping[str, np.ndarray], way: Way = "auto"
    ):  # fmt: skip
        self.world = world
        pieces = world.gather((points, cells, dict(static)))
        self.whole: CellFieldWriter | None = world.together(lambda: make(*_joined(pieces)))  # type: ignore[arg-type]
        counts = world.share([len(c) for _, c, _ in pieces] if pieces is not None else None)
        self.start, self.count = sum(counts[: world.rank]), len(cells)
        found = world.share(None if self.whole is None else self._described(self.whole))
        self.path, working, self.room, self.places, self.dtype, self.times = found
        self.file: SharedFile | None = SharedFile(world, working, way)

    @staticmethod
    def _described(whole: CellFieldWriter) -> tuple[Any, ...]:
        return whole.path, *whole.target(), whole.dtype, list(whole.times)

    def append(self, time: float, values: Mapping[str, np.ndarray]) -> None:
        """As ``CellFieldWriter.append``, of the cells here; no other process is waited for."""
        step = len(self.times)
        if self.file is None:
            raise ValueError(f"{self.path.name} is closed")
        if step >= self.room:
            raise ValueError(f"{self.path.name} has room for {self.room} snapshots")
        with explaining(self.path, "what the last checkpoint needs is kept"):
            for name, array in values.items():
                data = np.asarray(array).astype(self.dtype, copy=False)
                if data.shape != (self.count,):
                    raise ValueError(f"{self.path.name}: '{name}' has shape {data.shape}, expected ({self.count},)")
                self.file.put(data, int(self.places[name][step]) + self.start * self.dtype.itemsize)
        self.times.append(float(time))

    def settle(self) -> list[float]:
        """As ``CellFieldWriter.settle``."""
        if self.file is not None:
            with explaining(self.path):
                self.file.settle()
        if self.whole is not None:
            self.whole.settle()
        return list(self.times)

    def close(self) -> None:
        """Finish the file, together."""
        if self.file is None:
            return
        self._shut(True)
        times = self.world.gather(self.times)  # a process without cells in the file has written no snapshot
        if self.whole is not None and times is not None:
            self.whole.close_with(max(times, key=len))
        self.world.wait()

    def abort(self) -> None:
        """Drop this part; the first process drops the file."""
        self._shut(False)
        if self.whole is not None:
            self.whole.abort()

    def _shut(self, together: bool) -> None:
        if self.file is not None:
            self.file.close(together)
            self.file = None


def _joined(pieces: list[tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]]) -> tuple[Any, Any, Any]:
    before = np.cumsum([0, *(len(points) for points, _, _ in pieces)])
    cells = [c + n for (_, c, _), n in zip(pieces, before[:-1], strict=True)]
    static = {name: np.concatenate([s[name] for _, _, s in pieces]) for name in pieces[0][2]}
    return np.concatenate([p for p, _, _ in pieces]), np.concatenate(cells), static
