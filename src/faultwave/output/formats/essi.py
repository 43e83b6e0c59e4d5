"""SW4's files for soil and structures (its command ``ssioutput``): velocities of a block of the ground in one HDF5 file, which its
converters turn into input of OpenSees and ESSI.

``vel_0 ijk layout``, ``vel_1``, ``vel_2`` (samples, nx, ny, nz) along x north, y east and z down, as SW4 has them; ``z coordinates``
(nx, ny, nz); ``ESSI xyz grid spacing``, ``ESSI xyz origin``, ``Grid lon-lat origin``, ``Grid azimuth``, ``time start``, ``timestep`` and
``cycle start, end``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import h5py
import numpy as np

from faultwave.base.errors import InputError, Problem, RunError
from faultwave.base.log import get_logger
from faultwave.observe.grid_formats import SeriesFormat
from faultwave.observe.lattice import Lattice
from faultwave.output.atomic import WholeOrNothing, explaining, remove, replace

FIELDS = ("v1", "v2", "v3")
LAYOUTS = {"vel_0 ijk layout": ("v2", 1.0), "vel_1 ijk layout": ("v1", 1.0), "vel_2 ijk layout": ("v3", -1.0)}
"""Datasets: which velocity, and its sign."""


class EssiWriter(WholeOrNothing):
    """STEM.essi. ``append``, ``sync_for_checkpoint``, ``close`` and ``abort`` are those of ``FieldWriter``. The file is laid out once, with
    room for ``count`` snapshots, which are plain writes: a killed run leaves it sound."""

    def __init__(self, stem: str | Path, lattice: Lattice, count: int, done: Sequence[float] = ()) -> None:
        self.path = Path(stem).with_name(Path(stem).name + ".essi")
        if len(lattice.shape) != 3:
            what, allowed = "the format essi is of the volume, not of a surface", "output.volume.formats: [essi]"
            raise InputError(Problem("output", what, allowed))
        self.lattice, self.fields, self.count = lattice, FIELDS, count
        self.times, self._promised, self._descriptor = list[float](), False, -1
        self._temporary = self.path.with_name(f".{self.path.name}.partial")
        try:
            with explaining(self.path):
                if done and self.path.exists() and not self._temporary.exists():
                    replace(self.path, self._temporary)  # of a run that had finished
                if done and self._temporary.exists():
                    self.times, self._promised = list(done), True
                else:
                    if done:
                        get_logger(__name__).warning(
                            "%s: the %d snapshots written before are gone", self.path, len(done)
                        )
                    self._begin()
                with h5py.File(self._temporary, "r") as file:
                    self._places = {name: file[name].id.get_offset() for name in LAYOUTS}
                    self.count = len(file["vel_0 ijk layout"])
                self._descriptor = os.open(self._temporary, os.O_RDWR | getattr(os, "O_BINARY", 0))
        except BaseException:
            self.abort()
            raise

    def _begin(self) -> None:
        """A new file with all that is known before the first snapshot."""
        lattice = self.lattice
        nz, ny, nx = lattice.shape
        x, y, z = (lattice.nodes(axis) for axis in "xyz")
        degrees = [float(lattice.degrees[n][0, 0]) if n in lattice.degrees else 0.0 for n in ("longitude", "latitude")]
        with h5py.File(self._temporary, "w") as file:
            for name in LAYOUTS:
                early = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                early.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
                room = h5py.h5s.create_simple((self.count, ny, nx, nz))
                h5py.h5d.create(file.id, name.encode(), h5py.h5t.IEEE_F32LE, room, early)
            file["z coordinates"] = np.broadcast_to(-z[::-1], (ny, nx, nz)).astype(float)
            file["ESSI xyz grid spacing"] = [float(lattice.spacing)]
            file["ESSI xyz origin"] = [float(y[0]), float(x[0]), float(-z[-1])]
            file["Grid lon-lat origin"], file["Grid azimuth"] = degrees, [0.0]
            file["time start"], file["timestep"], file["cycle start, end"] = [0.0], [0.0], [0, 0]

    def append(self, time: float, values: Mapping[str, np.ndarray]) -> None:
        """Add the snapshot of one time [s]: arrays (nz, ny, nx), z up."""
        number = len(self.times)
        if number and not time > self.times[-1]:
            raise ValueError(f"{self.path.name}: time {time} does not follow {self.times[-1]}")
        if number >= self.count:
            raise RunError(
                f"{self.path.name} has room for {self.count} snapshots; a run that goes on for longer needs another folder"
            )
        try:
            with explaining(self.path):
                for name, (field, sign) in LAYOUTS.items():
                    block = np.asarray(values[field]).reshape(self.lattice.shape)[::-1].transpose(1, 2, 0)
                    view = memoryview(np.ascontiguousarray(sign * block, "<f4").tobytes())
                    at = self._places[name] + number * len(view)
                    while len(view):
                        written = os.pwrite(self._descriptor, view, at)
                        view, at = view[written:], at + written
        except BaseException:
            self.abort()
            raise
        self.times.append(float(time))

    def sync_for_checkpoint(self) -> list[float]:
        with explaining(self.path):
            os.fsync(self._descriptor)
        self._promised = True
        return list(self.times)

    def close(self) -> None:
        if self._descriptor < 0:
            return
        self._shut()
        step = (self.times[-1] - self.times[0]) / (len(self.times) - 1) if len(self.times) > 1 else 0.0
        with explaining(self.path), h5py.File(self._temporary, "r+") as file:
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
    lambda series, opening: EssiWriter(opening.stem, series.lattice, series.count, opening.done),
    FIELDS,
    number_bytes=4,
)
