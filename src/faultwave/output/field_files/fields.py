"""Writers of fields in time: argument checks, positions of the data in the file, temporary files.

A file is created once, with a fixed position for every value of every snapshot; afterwards snapshots are plain writes at those
positions. Nothing but values changes while a run proceeds: several processes can write their portions, and a file left by a run
that was killed is valid up to the last snapshot written.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import h5py
import numpy as np
from numpy.typing import DTypeLike

from faultwave.base.errors import InputError, Problem, RunError
from faultwave.base.log import get_logger
from faultwave.base.wording import option
from faultwave.output.atomic import AtomicWriter, remove, replace, translate_os_errors
from faultwave.output.field_files.checksums import (
    MODULUS,
    Earlier,
    first_mismatch,
    put_aside,
    snapshot_checksum,
    stored_checksum,
)
from faultwave.output.field_files.hdf5 import open_tolerant

BLOCK = 1 << 24
"""Size of a copied block [bytes]."""

TIME = ""
"""Key of the times themselves, in place of the name of a field."""

Mesh = tuple[np.ndarray, np.ndarray, Mapping[str, np.ndarray]]
"""Points, cells and static fields of a mesh."""

NUMBERS = "global-id"
"""Name of the static field that identifies cells independently of their order."""


def typed_placeholder(shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """Return a broadcast array that has a shape and a type but occupies no memory."""
    return np.broadcast_to(np.zeros((), dtype), shape)


@dataclass(frozen=True)
class ForeignContents:
    """Contents of a file that its writer does not write.

    Attributes
    ----------
    earlier : Earlier
        Snapshots that an earlier run has left under this path, finished or not, and that the file continues.
    mesh : bool
        True if other writers also write the values of the mesh.
    """

    earlier: Earlier = Earlier()
    mesh: bool = False

    @property
    def done(self) -> Sequence[float]:
        """Times of the snapshots that exist already [s]."""
        return self.earlier.times


class FieldWriter(AtomicWriter):
    """Writer of fields with a fixed number of values, one snapshot after the other.

    The file has a temporary name until ``close``; ``abort`` removes it, unless ``sync_for_checkpoint`` promised it to a checkpoint. As a
    context manager the writer closes at the end, saves the complete snapshots if a RunError ends the run, and aborts on any other error.

    Parameters
    ----------
    path : str or Path
        Path of the finished file.
    mesh : Mesh
        Points, cells and static fields, written once. If ``elsewhere.mesh`` is set, only the shapes matter, and, if snapshots exist
        already, the numbers of the cells.
    shape : tuple of int
        Shape of every field.
    fields : sequence of str
        Names of the fields that every ``append`` passes.
    dtype : DTypeLike
        Data type of the values on disk.
    steps : int
        Expected number of snapshots; a wrong guess costs a copy of the file.
    elsewhere : ForeignContents
        Contents written by an earlier run or by other processes.

    Raises
    ------
    InputError
        If the path cannot be written.
    RunError
        If the disk fills.
    """

    def __init__(
        self,
        path: str | Path,
        mesh: Mesh,
        shape: tuple[int, ...],
        fields: Sequence[str],
        dtype: DTypeLike,
        steps: int = 0,
        elsewhere: ForeignContents = ForeignContents(),
    ) -> None:
        self._begin(path, shape, fields, dtype)
        self._fills = not elsewhere.mesh
        try:
            with translate_os_errors(self.path):
                if not (elsewhere.done and self._go_on(elsewhere.earlier, mesh, steps)):
                    self._create(self._working, mesh, max(steps, 1), self._fills)
                if self._capacity < steps:
                    self._resize(steps)
        except BaseException:
            self.abort()
            raise

    def _begin(self, path: str | Path, shape: tuple[int, ...], fields: Sequence[str], dtype: DTypeLike) -> None:
        self.path, self.fields, self.dtype = Path(path), tuple(fields), np.dtype(dtype)
        self.times: list[float] = []
        self.sums: list[int] = []  # checksums of the snapshots
        self.shape, self.cell_count = shape, int(np.prod(shape))
        self._descriptor = -1
        self._promised, self._fills = False, False
        self._capacity, self._places = 0, dict[str, np.ndarray]()

    @classmethod
    def adopted(
        cls, path: str | Path, count: int, fields: Sequence[str], dtype: DTypeLike, times: Sequence[float]
    ) -> Self:
        """Return the writer of a file that other processes have created and filled.

        Parameters
        ----------
        path : str or Path
            Path of the finished file.
        count : int
            Number of cells.
        fields : sequence of str
            Names of the fields.
        dtype : DTypeLike
            Data type of the values on disk.
        times : sequence of float
            Times of the snapshots already written [s].
        """
        writer = cls.__new__(cls)
        writer._begin(path, (count,), fields, dtype)
        writer.times = list(times)
        writer._open(writer._working)
        return writer

    def promise(self) -> None:
        """Mark the file as required by a checkpoint, so that ``abort`` does not remove it."""
        self._promised = True

    def append(self, time: float, values: Mapping[str, np.ndarray]) -> None:
        """Append the snapshot at one time.

        Parameters
        ----------
        time : float
            Time [s], after the previous snapshot.
        values : mapping of str to ndarray
            Values of every field, in SI units.

        Raises
        ------
        ValueError
            If fields are missing or unknown, the time does not increase, or a shape is wrong.
        RunError
            If writing fails. The file is then closed with the earlier snapshots, or removed if there are none.
        """
        if self._descriptor < 0:
            raise ValueError(f"{self.path.name} is closed")
        if self.times and not time > self.times[-1]:
            raise ValueError(f"{self.path.name}: time {time} does not follow {self.times[-1]}")
        if set(values) != set(self.fields):
            raise ValueError(f"{self.path.name}: got fields {sorted(values)}, expected {sorted(self.fields)}")
        arrays = {name: self._checked(name, values[name]).astype(self.dtype, copy=False) for name in self.fields}
        count = len(self.times)
        retained = f"the snapshot at {time:g} s is incomplete; the {count} before it are retained" if count else ""
        try:
            with translate_os_errors(self.path, retained):
                if count == self._capacity:
                    self._resize(2 * self._capacity)
                self._write_step(count, float(time), arrays)
        except RunError:
            self.keep_complete()
            raise
        except BaseException:
            self.abort()
            raise
        self.times.append(float(time))
        self.sums.append(sum(snapshot_checksum(name, values) for name, values in arrays.items()) % MODULUS)

    def sync_for_checkpoint(self) -> list[float]:
        """Flush every snapshot to disk, mark the file as required by a checkpoint and return the times [s]."""
        with translate_os_errors(self.path):
            os.fsync(self._descriptor)
        self._promised = True
        return list(self.times)

    def close(self) -> None:
        """Finish the file and rename it to its final name; do nothing if it is already closed or aborted."""
        if self._descriptor < 0:
            return
        try:
            with translate_os_errors(self.path):
                if len(self.times) < self._capacity:
                    self._resize(len(self.times))
                self._finish()
        except BaseException:
            self.abort()
            raise
        self._shut()
        for path in self._paths():  # the data file first: files that refer to it appear last
            replace(self._temporary(path), path)

    def keep_complete(self) -> None:
        """Close the file with its complete snapshots, on a disk that may be full.

        If a copy without the space reserved for further snapshots does not fit on the disk, the space stays in the file. A file without any
        snapshot is removed.
        """
        if self._descriptor < 0:
            return
        if not self.times:
            self.abort()
            return
        try:
            self._open(self._working)  # not an unfinished copy
            try:
                if len(self.times) < self._capacity:
                    self._resize(len(self.times))
            except (OSError, RuntimeError):
                self._open(self._working)
                self._shorten()
            remove(self._copy)
            self._finish()
            self._shut()
            for path in self._paths():
                os.replace(self._temporary(path), path)
        except (OSError, RuntimeError):
            self.abort()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and issubclass(kind, RunError):
            self.keep_complete()
        else:
            super().__exit__(kind, error, trace)

    def abort(self) -> None:
        """Discard everything written so far, unless a checkpoint requires it; finished files of earlier runs remain untouched."""
        self._shut()
        if not self._promised:
            remove(*(self._temporary(path) for path in self._paths()), self._copy)

    def target(self) -> tuple[Path, int, dict[str, np.ndarray]]:
        """Return the path of the file being written, its capacity in snapshots and the offset of each snapshot by field."""
        return self._working, self._capacity, self._places

    def close_with(self, times: Sequence[float]) -> None:
        """Close a file whose snapshots other processes have written at their positions.

        Parameters
        ----------
        times : sequence of float
            Times of all snapshots [s].
        """
        for step, time in enumerate(times):
            self._write_step(step, time, {})
        self.times = list(times)
        self.close()

    # ---- for the formats ------------------------------------------------------------------------------------------

    @staticmethod
    def per_cell(corners: int) -> int:
        """Return the number of values a field has in a cell with this number of corners or nodes."""
        return 1

    @abstractmethod
    def _write_mesh(self, file: h5py.File, mesh: Mesh, steps: int) -> None:
        """Create the layout of the file for this number of snapshots; ``place`` creates datasets that are filled later."""

    @abstractmethod
    def _read_mesh(self, file: h5py.File) -> Mesh:
        """Return arrays with the shapes and types of the stored mesh, with or without its values."""

    def _fill(self, file: h5py.File, mesh: Mesh) -> None:
        """Write the values of the mesh into the space reserved by the layout."""
        return

    def _numbers(self, file: h5py.File) -> np.ndarray | None:
        """Return the numbers that identify the cells, or None if the file has none."""
        return None

    def mesh_places(self, file: h5py.File) -> dict[str, tuple[int, int, str]]:
        """Return offset, size [bytes] and data type of every mesh dataset that is filled."""
        return {}

    @abstractmethod
    def _find(self, file: h5py.File) -> tuple[int, dict[str, np.ndarray]]:
        """Return the capacity in snapshots and the offset of each snapshot by field; ``TIME`` holds the offset of its time, if any."""

    def _write_step(self, step: int, time: float, values: Mapping[str, np.ndarray]) -> None:
        if TIME in self._places:
            values = {**values, TIME: np.array([time])}
        for name, array in values.items():
            self._put(array, int(self._places[name][step]))

    def _finish(self) -> None:
        """Write what is known only after the last snapshot."""
        return

    def _shorten(self) -> None:
        """Set the snapshot count of the file to the number of complete snapshots, in place, if the format has one."""
        return

    def _data_path(self) -> Path:
        return self.path

    def _paths(self) -> tuple[Path, ...]:
        """Return every file of the format, the HDF5 file first."""
        return (self.path,)

    @staticmethod
    def _temporary(path: Path) -> Path:
        return path.with_name(f".{path.name}.partial")

    # ---- the file -------------------------------------------------------------------------------------------------

    @property
    def _working(self) -> Path:
        return self._temporary(self._data_path())

    @property
    def _copy(self) -> Path:
        return self._working.with_name(self._working.name + "-copy")

    def _create(self, path: Path, mesh: Mesh, steps: int, fills: bool) -> None:
        with open_tolerant(path) as file:
            self._write_mesh(file, mesh, steps)
            if fills:
                self._fill(file, mesh)
        self._open(path)

    def _open(self, path: Path) -> None:
        """Open ``path`` for writing and locate the snapshots in it."""
        with h5py.File(path, "r") as file:
            self._capacity, self._places = self._find(file)
        self._shut()
        self._descriptor = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))

    def _resize(self, steps: int) -> None:
        """Replace the file by one of the same contents with capacity for ``steps`` snapshots."""
        self._copy_from(self._working, steps)

    def _copy_from(self, source: Path, steps: int, mesh: Mesh | None = None, order: np.ndarray | None = None) -> None:
        """Replace the file by one with capacity for ``steps`` snapshots, copied from ``source``.

        Mesh and snapshots come from ``source``; or the mesh is ``mesh``, whose cell i is cell ``order[i]`` of the source.
        """
        with h5py.File(source, "r") as file:
            old_mesh, (_, places), old_places = self._read_mesh(file), self._find(file), self.mesh_places(file)
        old = os.open(source, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            self._create(self._copy, mesh or old_mesh, steps, mesh is not None and self._fills)
            if mesh is None:
                self._copy_mesh(old, old_places)
            size, sums = self.cell_count * self.dtype.itemsize, [0] * len(self.times)
            for step, time in enumerate(self.times):
                self._write_step(step, time, {})
                for name in self.fields:
                    start = int(places[name][step])
                    data = b"".join(os.pread(old, min(BLOCK, size - i), start + i) for i in range(0, size, BLOCK))
                    moved = data if order is None else np.frombuffer(data, self.dtype).reshape(len(order), -1)[order]
                    self._put(moved, int(self._places[name][step]))
                    if order is not None:
                        sums[step] += snapshot_checksum(name, np.asarray(moved))
        finally:
            os.close(old)
        if order is not None:
            self.sums = [n % MODULUS for n in sums]
        os.fsync(self._descriptor)
        os.replace(self._copy, self._working)

    def _copy_mesh(self, old: int, places: Mapping[str, tuple[int, int, str]]) -> None:
        """Copy the mesh datasets from an open file with the same mesh."""
        with h5py.File(self._copy, "r") as file:
            new = self.mesh_places(file)
        for name, (start, size, _) in places.items():
            for i in range(0, size, BLOCK):
                self._put(os.pread(old, min(BLOCK, size - i), start + i), new[name][0] + i)

    def _go_on(self, earlier: Earlier, mesh: Mesh, steps: int) -> bool:
        """Continue the file of an earlier run and return True, or return False if the file was put aside.

        A different number of processes writes its cells in another order (``global-id``); the values are then reordered. Raises
        InputError if no file holds the snapshots and files may not be put aside.
        """
        wrong, done = {}, earlier.times
        for path in (self._working, self._data_path()):
            try:
                order = self._order_in(path, earlier, mesh)
            except FileNotFoundError:
                continue
            except (OSError, KeyError, ValueError) as error:
                wrong[path] = " ".join(str(error).split())
                continue
            self.times, self._promised = list(done), True
            self.sums = list(earlier.sums.get(self.path.name, ()))
            if (order[1:] < order[:-1]).any():
                self._copy_from(path, max(steps, len(done)), mesh, order)
            elif path == self._working:
                self._open(path)
            else:
                self._copy_from(path, max(steps, len(done)))
            return True
        if not earlier.put_aside:
            raise lost_snapshots(self.path, done, wrong)
        for path in wrong:
            get_logger(__name__).warning("%s is put aside as %s: %s", path, put_aside(path), wrong[path])
        return False

    def _order_in(self, path: Path, earlier: Earlier, mesh: Mesh) -> np.ndarray:
        """Return the index of each cell of ``mesh`` in a file that holds the earlier snapshots.

        Raises OSError, KeyError or ValueError if the file does not hold them.
        """
        if not path.exists():
            raise FileNotFoundError(path)
        with h5py.File(path, "r") as file:
            available, places = self._find(file)
            _, cells, _ = self._read_mesh(file)
            order = _order(self._numbers(file), mesh[2].get(NUMBERS))
        if len(cells) * self.per_cell(cells.shape[1]) != self.cell_count or order is None:
            raise ValueError("it belongs to another mesh")
        if not set(self.fields) <= set(places):
            missing = sorted(set(self.fields) - set(places))
            raise ValueError(f"it lacks {', '.join(missing)} in this precision")
        if available < len(earlier.times):
            raise ValueError(f"it contains {available} snapshots, not {len(earlier.times)}")
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            self._check_content(descriptor, places, earlier)
        finally:
            os.close(descriptor)
        return order

    def _check_content(self, descriptor: int, places: Mapping[str, np.ndarray], earlier: Earlier) -> None:
        """Raise ValueError if the snapshots of a file differ from those recorded by the checkpoint or are incomplete."""

        def stored(step: int) -> int | None:
            found = [
                stored_checksum(n, descriptor, int(places[n][step]), self.cell_count, self.dtype) for n in self.fields
            ]
            return None if None in found else sum(n or 0 for n in found) % MODULUS

        other = first_mismatch(earlier.sums.get(self.path.name, ()), stored)
        if other is not None:
            what = "is cut short" if stored(other) is None else "differs from the written data"
            raise ValueError(f"its snapshot at {earlier.times[other]:g} s {what}")

    def _put(self, data: np.ndarray | bytes, offset: int) -> None:
        put(self._descriptor, data, offset)

    def _shut(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _checked(self, name: str, values: np.ndarray) -> np.ndarray:
        values = np.asarray(values)
        if values.shape != self.shape:
            raise ValueError(f"{self.path.name}: '{name}' has shape {values.shape}, expected {self.shape}")
        return values


class CellFieldWriter(FieldWriter):
    """Writer of scalar cell fields on a fixed mesh.

    Parameters
    ----------
    path : str or Path
        Path of the finished file.
    points : ndarray of shape (np, 3)
        Points of the mesh [m].
    cells : ndarray of shape (nc, k)
        Indices into ``points``; k is one of ``CORNERS``, such as 3 for triangles and 4 for tetrahedra.
    static : mapping of str to ndarray of shape (nc,)
        Fields that do not change with time.
    fields, dtype, steps, elsewhere
        See ``FieldWriter``.
    """

    def __init__(
        self,
        path: str | Path,
        points: np.ndarray,
        cells: np.ndarray,
        static: Mapping[str, np.ndarray] | None = None,
        fields: Sequence[str] = (),
        dtype: DTypeLike = np.float32,
        steps: int = 0,
        elsewhere: ForeignContents = ForeignContents(),
    ) -> None:
        self.path = Path(path)
        points, cells = np.asarray(points, dtype=np.float64), np.asarray(cells)
        if points.ndim != 2 or points.shape[1] != 3:
            raise ValueError(f"points of shape {points.shape}, expected (n, 3)")
        if cells.ndim != 2 or cells.shape[1] not in self.CORNERS:
            allowed = " or ".join(f"(n, {corners})" for corners in self.CORNERS)
            raise ValueError(f"cells of shape {cells.shape}, expected {allowed}")
        self.shape = (len(cells),)
        static = {name: self._checked(name, values) for name, values in (static or {}).items()}
        if repeated := set(static) & set(fields):
            raise ValueError(f"fields both static and in time: {', '.join(sorted(repeated))}")
        shape = (len(cells) * self.per_cell(cells.shape[1]),)
        super().__init__(path, (points, cells, static), shape, fields, dtype, steps, elsewhere)

    CORNERS: Collection[int] = (3, 4)
    """Allowed numbers of corners, or nodes, of a cell."""

    GEOMETRY: tuple[str, ...]
    """Names of the datasets that hold the mesh."""

    STATIC: str
    """Name of the group of static fields."""

    @classmethod
    @abstractmethod
    def pieces(cls, mesh: Mesh, point: int, cell: int) -> dict[str, tuple[int, np.ndarray]]:
        """Return the rows that a piece of the mesh contributes to each dataset.

        Parameters
        ----------
        mesh : Mesh
            Piece of the mesh.
        point, cell : int
            Index of its first point and cell in the whole mesh.

        Returns
        -------
        dict of str to (int, ndarray)
            Index of the first row and the rows, by dataset.
        """

    def _static(self, file: h5py.File) -> dict[str, h5py.Dataset]:
        return {name: data for name, data in file.get(self.STATIC, {}).items() if name not in self.fields}

    def _fill(self, file: h5py.File, mesh: Mesh) -> None:
        for name, (first, rows) in self.pieces(mesh, 0, 0).items():
            if len(rows):
                file[name][first : first + len(rows)] = rows

    def _numbers(self, file: h5py.File) -> np.ndarray | None:
        found = self._static(file).get(NUMBERS)
        return None if found is None else np.asarray(found[()])

    def mesh_places(self, file: h5py.File) -> dict[str, tuple[int, int, str]]:
        filled = {n: file[n] for n in (*self.GEOMETRY, *(f"{self.STATIC}/{s}" for s in self._static(file)))}
        return {n: (d.id.get_offset() or 0, d.size * d.dtype.itemsize, d.dtype.str) for n, d in filled.items()}

    def described(self) -> dict[str, tuple[int, int, str]]:
        """Return ``mesh_places`` of the file being written."""
        with h5py.File(self._working, "r") as file:
            return self.mesh_places(file)


def _order(old: np.ndarray | None, new: np.ndarray | None) -> np.ndarray | None:
    """Return the index in ``old`` of each number in ``new``, equal ones in turn, or None if the sets of numbers differ."""
    if old is None or new is None:
        return np.zeros(0, np.int64) if old is None and new is None else None
    before, after = np.argsort(old, kind="stable"), np.argsort(new, kind="stable")
    if len(old) != len(new) or not np.array_equal(old[before], np.asarray(new)[after]):
        return None
    order = np.empty(len(new), np.int64)
    order[after] = before
    return order


def lost_snapshots(path: Path, done: Sequence[float], wrong: Mapping[Path, str]) -> InputError:
    """Return the error of a restart whose output file lacks the snapshots that its checkpoint relies on.

    Parameters
    ----------
    path : Path
        Path of the output file.
    done : sequence of float
        Times of the snapshots written before the checkpoint [s].
    wrong : mapping of Path to str
        Files examined, and why each is unusable.
    """
    times = f"{done[0]:g} to {done[-1]:g} s"
    what = f"lacks the {len(done)} snapshots ({times}) that were written before the checkpoint"
    found = "; ".join(f"{file.name}: {why}" for file, why in wrong.items()) or "the file does not exist"
    advice = (
        f"Restore the file of that run, or continue with {option('put_aside', True)}, which starts a new file "
        "at the time of the checkpoint and renames the old one"
    )
    return InputError(Problem(str(path), f"{what}: {found}", advice=f"{advice}."))


def put(descriptor: int, data: np.ndarray | bytes, offset: int) -> None:
    """Write all of ``data`` at ``offset`` [bytes] of an open file."""
    flat = np.ascontiguousarray(data).reshape(-1) if isinstance(data, np.ndarray) else np.frombuffer(data, np.uint8)
    view = flat.view(np.uint8).data
    done = 0
    while done < len(view):
        done += os.pwrite(descriptor, view[done:], offset + done)


def place(group: h5py.Group, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> None:
    """Create a contiguous dataset whose space in the file is allocated now and whose values are written later."""
    settings = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    settings.set_layout(h5py.h5d.CONTIGUOUS)
    settings.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    settings.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    kind = h5py.h5t.py_create(np.dtype(dtype), logical=True)
    h5py.h5d.create(group.id, name.encode(), kind, h5py.h5s.create_simple(shape), settings)


def contiguous(data: h5py.Dataset, size: int, count: int) -> np.ndarray:
    """Return the offsets in the file of ``count`` consecutive pieces of ``size`` bytes of a dataset."""
    return (data.id.get_offset() or 0) + size * np.arange(count)
