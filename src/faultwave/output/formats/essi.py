"""SW4's files for soil-structure interaction (command ``ssioutput``): velocities of a block of the ground in one HDF5 file.

SW4's converters turn the file into input of OpenSees and ESSI. Datasets: ``vel_0 ijk layout``, ``vel_1``, ``vel_2`` (samples, nx, ny, nz)
along x north, y east and z down, as in SW4; ``z coordinates`` (nx, ny, nz); ``ESSI xyz grid spacing``, ``ESSI xyz origin``,
``Grid lon-lat origin``, ``Grid azimuth``, ``time start``, ``timestep`` and ``cycle start, end``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import h5py
import numpy as np

from faultwave.base.errors import InputError, Problem, RunError
from faultwave.base.log import get_logger
from faultwave.observe.snapshots.lattice import Lattice, SeriesFormat
from faultwave.output.atomic import AtomicWriter, remove, replace, translate_os_errors
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

FIELDS = ("v1", "v2", "v3")
LAYOUTS = {"vel_0 ijk layout": ("v2", 1.0), "vel_1 ijk layout": ("v1", 1.0), "vel_2 ijk layout": ("v3", -1.0)}
"""Velocity component and its sign, by dataset."""


class EssiWriter(AtomicWriter):
    """Writer of STEM.essi.

    ``append``, ``sync_for_checkpoint``, ``close`` and ``abort`` correspond to ``FieldWriter``. The file is created once with space for
    ``count`` snapshots, which are plain writes: a killed run leaves a valid file.
    """

    def __init__(self, stem: str | Path, lattice: Lattice, count: int, earlier: Earlier = NOTHING) -> None:
        self.path = Path(stem).with_name(Path(stem).name + ".essi")
        if len(lattice.shape) != 3:
            what, allowed = "the format essi applies to the volume, not to a surface", "output.volume.formats: [essi]"
            raise InputError(Problem("output", what, allowed))
        self.lattice, self.fields, self.count = lattice, FIELDS, count
        self.times, self._promised, self._descriptor = list[float](), False, -1
        self.sums: list[int] = []  # checksums of the snapshots
        self._temporary = self.path.with_name(f".{self.path.name}.partial")
        try:
            with translate_os_errors(self.path):
                if not (earlier.times and self._go_on(earlier)):
                    self._begin()
                with h5py.File(self._temporary, "r") as file:
                    self._places = {name: file[name].id.get_offset() for name in LAYOUTS}
                    self.count = len(file["vel_0 ijk layout"])
                self._descriptor = os.open(self._temporary, os.O_RDWR | getattr(os, "O_BINARY", 0))
        except BaseException:
            self.abort()
            raise

    def _go_on(self, earlier: Earlier) -> bool:
        """Continue the file of an earlier run and return True.

        If it lacks the snapshots, it is renamed and the result is False, or InputError is raised.
        """
        path = self._temporary if self._temporary.exists() else self.path
        wrong = {path: why} if path.exists() and (why := self._wrong(path, earlier)) else {}
        if wrong or not path.exists():
            if not earlier.put_aside:
                raise lost_snapshots(self.path, earlier.times, wrong)
            if path.exists():
                get_logger(__name__).warning("%s is put aside as %s: %s", path, put_aside(path), wrong[path])
            return False
        if path == self.path:
            replace(self.path, self._temporary)  # the earlier run had finished
        self.times, self._promised = list(earlier.times), True
        self.sums = list(earlier.sums.get(self.path.name, ()))
        return True

    def _wrong(self, path: Path, earlier: Earlier) -> str:
        """Return why a file does not hold the earlier snapshots, or an empty string if it does."""
        count = int(np.prod(self.lattice.shape))
        try:
            with h5py.File(path, "r") as file:
                places = {name: file[name].id.get_offset() for name in LAYOUTS}
                available = min(len(file[name]) for name in LAYOUTS)
        except (OSError, KeyError, ValueError) as error:
            return " ".join(str(error).split())
        if available < len(earlier.times):
            return f"it contains {available} snapshots, not {len(earlier.times)}"
        with path.open("rb") as opened:

            def stored(step: int) -> int | None:
                at = {n: int(p) + 4 * count * step for n, p in places.items()}
                found = [stored_checksum(n, opened.fileno(), p, count, np.dtype("<f4")) for n, p in at.items()]
                return None if None in found else sum(n or 0 for n in found) % MODULUS

            other = first_mismatch(earlier.sums.get(self.path.name, ()), stored)
        return "" if other is None else f"its snapshot at {earlier.times[other]:g} s differs from the written data"

    def _begin(self) -> None:
        """Create the file with everything that is known before the first snapshot."""
        lattice = self.lattice
        nz, ny, nx = lattice.shape
        x, y, z = (lattice.nodes(axis) for axis in "xyz")
        degrees = [float(lattice.degrees[n][0, 0]) if n in lattice.degrees else 0.0 for n in ("longitude", "latitude")]
        with h5py.File(self._temporary, "w") as file:
            for name in LAYOUTS:
                early = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                early.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
                available = h5py.h5s.create_simple((self.count, ny, nx, nz))
                h5py.h5d.create(file.id, name.encode(), h5py.h5t.IEEE_F32LE, available, early)
            file["z coordinates"] = np.broadcast_to(-z[::-1], (ny, nx, nz)).astype(float)
            file["ESSI xyz grid spacing"] = [float(lattice.spacing)]
            file["ESSI xyz origin"] = [float(y[0]), float(x[0]), float(-z[-1])]
            file["Grid lon-lat origin"], file["Grid azimuth"] = degrees, [0.0]
            file["time start"], file["timestep"], file["cycle start, end"] = [0.0], [0.0], [0, 0]

    def append(self, time: float, values: Mapping[str, np.ndarray]) -> None:
        """Append the snapshot of one time [s], arrays (nz, ny, nx) with z up."""
        number = len(self.times)
        if number and not time > self.times[-1]:
            raise ValueError(f"{self.path.name}: time {time} does not follow {self.times[-1]}")
        if number >= self.count:
            raise RunError(f"{self.path.name} can store {self.count} snapshots; a longer run needs another folder")
        sums = 0
        try:
            with translate_os_errors(self.path):
                for name, (field, sign) in LAYOUTS.items():
                    block = np.asarray(values[field]).reshape(self.lattice.shape)[::-1].transpose(1, 2, 0)
                    stored = np.ascontiguousarray(sign * block, "<f4")
                    sums += snapshot_checksum(name, stored)
                    view = memoryview(stored.tobytes())
                    at = self._places[name] + number * len(view)
                    while len(view):
                        written = os.pwrite(self._descriptor, view, at)
                        view, at = view[written:], at + written
        except BaseException:
            self.abort()
            raise
        self.times.append(float(time))
        self.sums.append(sums % MODULUS)

    def sync_for_checkpoint(self) -> list[float]:
        with translate_os_errors(self.path):
            os.fsync(self._descriptor)
        self._promised = True
        return list(self.times)

    def close(self) -> None:
        if self._descriptor < 0:
            return
        self._shut()
        step = (self.times[-1] - self.times[0]) / (len(self.times) - 1) if len(self.times) > 1 else 0.0
        with translate_os_errors(self.path), h5py.File(self._temporary, "r+") as file:
            file["time start"][...], file["timestep"][...] = self.times[0] if self.times else 0.0, step
            file["cycle start, end"][...] = [0, max(len(self.times) - 1, 0)]
        replace(self._temporary, self.path)

    def abort(self) -> None:
        self._shut()
        if not self._promised:
            remove(self._temporary)

    def _shut(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1


ESSI = SeriesFormat(
    "essi",
    lambda series, opening: EssiWriter(opening.stem, series.lattice, series.count, opening.earlier),
    FIELDS,
    number_bytes=4,
)
