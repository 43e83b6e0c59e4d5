"""AWP-ODC's outputs: a flat file of float32 a component, x fastest, then y, then z downwards, then time.

AWP writes SX, SY, SZ of the points and steps asked for, without a header; here a text beside them says what they hold.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.log import get_logger
from faultwave.observe.grid_formats import SeriesFormat
from faultwave.observe.lattice import Lattice
from faultwave.output.atomic import WholeOrNothing, atomic_text, explaining, remove, replace

COMPONENTS = {"v1": "X", "v2": "Y", "v3": "Z"}


class AwpWriter(WholeOrNothing):
    """Files STEM followed by X, Y, Z, and STEM.json; velocities [m/s], vertical positive up.

    ``append``, ``sync_for_checkpoint``, ``close`` and ``abort`` are those of ``FieldWriter``.
    """

    def __init__(self, stem: str | Path, lattice: Lattice, done: Sequence[float] = ()) -> None:
        self.stem, self.lattice = Path(stem), lattice
        self.path = self.stem.with_name(self.stem.name + ".json")
        self.fields = tuple(COMPONENTS)
        self.parts = {n: self.stem.with_name(self.stem.name + c) for n, c in COMPONENTS.items()}
        self.size = 4 * int(np.prod(lattice.shape))
        self.times: list[float] = []
        self._promised, self._open = False, dict[str, int]()
        try:
            with explaining(self.path):
                for part in self.parts.values():
                    if done and part.exists() and not self._temporary(part).exists():
                        os.replace(part, self._temporary(part))  # of a run that had finished
                kept = [self._temporary(p) for p in self.parts.values()]
                if done and all(p.exists() and p.stat().st_size >= len(done) * self.size for p in kept):
                    self.times, self._promised = list(done), True
                elif done:
                    get_logger(__name__).warning("%s: the %d snapshots written before are gone", self.stem, len(done))
                for name, part in self.parts.items():
                    flags = os.O_RDWR | os.O_CREAT | (0 if self.times else os.O_TRUNC) | getattr(os, "O_BINARY", 0)
                    self._open[name] = os.open(self._temporary(part), flags, 0o666)
                    os.ftruncate(self._open[name], len(self.times) * self.size)
                    os.lseek(self._open[name], 0, os.SEEK_END)
        except BaseException:
            self.abort()
            raise

    def append(self, time: float, values: Mapping[str, np.ndarray]) -> None:
        """Add the snapshot of one time [s]: arrays (nz, ny, nx), z up, or (ny, nx)."""
        if self.times and not time > self.times[-1]:
            raise ValueError(f"{self.stem.name}: time {time} does not follow {self.times[-1]}")
        try:
            with explaining(self.path):
                for name, descriptor in self._open.items():
                    array = np.asarray(values[name]).reshape(self.lattice.shape)
                    downwards = array[::-1] if array.ndim == 3 else array
                    view = memoryview(np.ascontiguousarray(downwards, "<f4").tobytes())
                    while len(view):
                        view = view[os.write(descriptor, view) :]
        except BaseException:
            self.abort()
            raise
        self.times.append(float(time))

    def sync_for_checkpoint(self) -> list[float]:
        with explaining(self.path):
            for descriptor in self._open.values():
                os.fsync(descriptor)
        self._promised = True
        return list(self.times)

    def close(self) -> None:
        if not self._open:
            return
        self._shut()
        for part in self.parts.values():
            replace(self._temporary(part), part)
        nz, ny, nx = (1, *self.lattice.shape)[-3:]
        top = (*self.lattice.origin[:2], float(self.lattice.nodes("z")[-1]))
        about = {
            "format": "float32, little endian, x fastest, then y, then z downwards, then time", "unit": "m/s",
            "vertical": "Z is positive up", "nx": nx, "ny": ny, "nz": nz, "spacing_m": self.lattice.spacing,
            "first_point_m": list(top), "times_s": self.times, "files": [p.name for p in self.parts.values()],
        }  # fmt: skip
        with atomic_text(self.path) as file:
            json.dump(about, file, indent=1)

    def abort(self) -> None:
        self._shut()
        if not self._promised:
            remove(*(self._temporary(p) for p in self.parts.values()))

    def _shut(self) -> None:
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open = {}

    @staticmethod
    def _temporary(path: Path) -> Path:
        return path.with_name(f".{path.name}.partial")


def read_awp(stem: str | Path) -> tuple[dict[str, np.ndarray], dict[str, object]]:
    """Arrays (nt, nz, ny, nx) of v1, v2, v3, z downwards as in the files, and what STEM.json says of them.

    Raises InputError where files are missing or their sizes do not fit.
    """
    stem = Path(stem)
    path = stem.with_name(stem.name + ".json")
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        shape = (len(about["times_s"]), about["nz"], about["ny"], about["nx"])
        found = {n: np.fromfile(stem.with_name(stem.name + c), "<f4").reshape(shape) for n, c in COMPONENTS.items()}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(Problem(str(path), f"cannot be read with its files: {error}")) from None
    return found, about


AWP = SeriesFormat(
    "awp",
    lambda series, opening: AwpWriter(f"{opening.stem}-S", series.lattice, opening.done),
    tuple(COMPONENTS),
    number_bytes=4,
)
