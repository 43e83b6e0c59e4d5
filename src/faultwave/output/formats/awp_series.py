"""AWP-ODC output: one flat float32 file per component, x fastest, then y, then z downwards, then time.

AWP writes SX, SY, SZ for the requested points and steps, without a header; here an adjacent JSON file describes the contents.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.log import get_logger
from faultwave.observe.snapshots.lattice import Lattice, SeriesFormat
from faultwave.output.atomic import AtomicWriter, atomic_text, remove, replace, translate_os_errors
from faultwave.output.field_files.checksums import (
    MODULUS,
    NOTHING,
    Earlier,
    first_mismatch,
    put_aside,
    snapshot_checksum,
    stored_checksum,
)
from faultwave.output.field_files.fields import lost_snapshots

COMPONENTS = {"v1": "X", "v2": "Y", "v3": "Z"}
DTYPE = np.dtype("<f4")


class AwpWriter(AtomicWriter):
    """Writer of the files STEM followed by X, Y, Z, and of STEM.json; velocities [m/s], vertical positive up.

    ``append``, ``sync_for_checkpoint``, ``close`` and ``abort`` correspond to ``FieldWriter``.
    """

    def __init__(self, stem: str | Path, lattice: Lattice, earlier: Earlier = NOTHING) -> None:
        self.stem, self.lattice = Path(stem), lattice
        self.path = self.stem.with_name(self.stem.name + ".json")
        self.fields = tuple(COMPONENTS)
        self.parts = {n: self.stem.with_name(self.stem.name + c) for n, c in COMPONENTS.items()}
        self.size = 4 * int(np.prod(lattice.shape))
        self.times: list[float] = []
        self.sums: list[int] = []  # checksums of the snapshots
        self._promised, self._open = False, dict[str, int]()
        try:
            with translate_os_errors(self.path):
                if earlier.times:
                    self._go_on(earlier)
                for name, part in self.parts.items():
                    flags = os.O_RDWR | os.O_CREAT | (0 if self.times else os.O_TRUNC) | getattr(os, "O_BINARY", 0)
                    self._open[name] = os.open(self._temporary(part), flags, 0o666)
                    os.ftruncate(self._open[name], len(self.times) * self.size)
                    os.lseek(self._open[name], 0, os.SEEK_END)
        except BaseException:
            self.abort()
            raise

    def _go_on(self, earlier: Earlier) -> None:
        """Continue the files of an earlier run; if they lack its snapshots, rename them or raise InputError."""
        there = {n: self._temporary(p) if self._temporary(p).exists() else p for n, p in self.parts.items()}
        wrong = {p: why for p in there.values() if p.exists() and (why := self._wrong(p, earlier))}
        lost = [p for p in there.values() if not p.exists()]
        if not wrong and not lost:
            wrong = self._other_content(there, earlier)
        if wrong or lost:
            if not earlier.put_aside:
                raise lost_snapshots(self.path, earlier.times, wrong or dict.fromkeys(lost, "is not there"))
            for path in there.values():
                if path.exists():
                    get_logger(__name__).warning("%s is put aside as %s", path, put_aside(path))
            return
        for name, path in there.items():
            if path == self.parts[name]:
                os.replace(path, self._temporary(path))  # the earlier run had finished
        self.times, self._promised = list(earlier.times), True
        self.sums = list(earlier.sums.get(self.path.name, ()))

    def _wrong(self, path: Path, earlier: Earlier) -> str:
        size, needed = path.stat().st_size, len(earlier.times) * self.size
        return f"has {size} bytes of {needed}" if size < needed else ""

    def _other_content(self, there: dict[str, Path], earlier: Earlier) -> dict[Path, str]:
        """Return the discrepancy of files of the right length, found by their checksums, by path."""
        with ExitStack() as stack:
            opened = {n: stack.enter_context(p.open("rb")).fileno() for n, p in there.items()}

            def stored(step: int) -> int | None:
                found = [stored_checksum(n, d, step * self.size, self.size // 4, DTYPE) for n, d in opened.items()]
                return None if None in found else sum(n or 0 for n in found) % MODULUS

            other = first_mismatch(earlier.sums.get(self.path.name, ()), stored)
        if other is None:
            return {}
        return {next(iter(there.values())): f"the snapshot at {earlier.times[other]:g} s differs from the written data"}

    def append(self, time: float, values: Mapping[str, np.ndarray]) -> None:
        """Append the snapshot of one time [s], arrays (nz, ny, nx) with z up, or (ny, nx)."""
        if self.times and not time > self.times[-1]:
            raise ValueError(f"{self.stem.name}: time {time} does not follow {self.times[-1]}")
        sums = 0
        try:
            with translate_os_errors(self.path):
                for name, descriptor in self._open.items():
                    array = np.asarray(values[name]).reshape(self.lattice.shape)
                    downwards = array[::-1] if array.ndim == 3 else array
                    stored = np.ascontiguousarray(downwards, "<f4")
                    sums += snapshot_checksum(name, stored)
                    view = memoryview(stored.tobytes())
                    while len(view):
                        view = view[os.write(descriptor, view) :]
        except BaseException:
            self.abort()
            raise
        self.times.append(float(time))
        self.sums.append(sums % MODULUS)

    def sync_for_checkpoint(self) -> list[float]:
        with translate_os_errors(self.path):
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
    """Read AWP-ODC output written by ``AwpWriter``.

    Returns
    -------
    values : dict of str to ndarray of shape (nt, nz, ny, nx)
        v1, v2, v3 [m/s], z downwards as in the files.
    about : dict
        Contents of STEM.json.

    Raises
    ------
    InputError
        If files are missing or have the wrong size.
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
    lambda series, opening: AwpWriter(f"{opening.stem}-S", series.lattice, opening.earlier),
    tuple(COMPONENTS),
    number_bytes=4,
)
