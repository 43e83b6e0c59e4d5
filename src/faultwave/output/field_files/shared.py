"""Cell field files shared by several processes, each of which writes a contiguous slab of every dataset.

See docs/decisions/0012-shared-files.md for the choice between them.

A process that finds the disk full terminates the run and cannot communicate with the others; the counts show which snapshots are
complete.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal

import numpy as np

from faultwave.base.errors import BackendError, RunError
from faultwave.comm import World
from faultwave.output.atomic import AtomicWriter, remove, translate_os_errors
from faultwave.output.field_files.checksums import MODULUS, snapshot_checksum
from faultwave.output.field_files.fields import NUMBERS, TIME, CellFieldWriter, put, typed_placeholder

if TYPE_CHECKING:
    from mpi4py import MPI


Way = Literal["auto", "mpi", "posix"]

MOST = 1 << 30
"""Maximum size of one call [bytes], since MPI counts in 32 bits."""


class SharedFile:
    """File opened collectively by all processes; ``put`` may be called by any thread of any process at any time."""

    def __init__(self, world: World, path: Path, way: Way = "auto"):
        from mpi4py import MPI

        threads = MPI.Query_thread() >= MPI.THREAD_MULTIPLE
        if way == "mpi" and not threads:
            raise BackendError("output.shared_files: mpi needs an MPI library that supports several threads: use posix")
        self.path, self.file = path, None
        self.way = ("mpi" if threads else "posix") if way == "auto" else way
        if self.way == "mpi":
            try:
                self.file = MPI.File.Open(world.mpi, str(path), MPI.MODE_WRONLY)
            except MPI.Exception as error:
                with translate_os_errors(path):
                    raise _as_system(error) from None
        with translate_os_errors(path):
            self.descriptor = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))

    def put(self, data: np.ndarray, offset: int) -> None:
        """Write all of ``data`` at ``offset`` [bytes] without waiting for other processes; raise OSError on failure."""
        if self.file is None:
            put(self.descriptor, data, offset)
            return
        from mpi4py import MPI

        view, status = np.ascontiguousarray(data).reshape(-1).view(np.uint8), MPI.Status()
        for start in range(0, len(view), MOST):
            piece = view[start : start + MOST]
            try:
                self.file.Write_at(offset + start, piece, status)
            except MPI.Exception as error:
                raise _as_system(error) from None
            if status.Get_count(MPI.BYTE) != len(piece):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def sync(self) -> None:
        """Flush the data written by this process to disk; MPI does not buffer independent writes."""
        os.fsync(self.descriptor)

    def close(self, together: bool = True) -> None:
        """Close the file, collectively unless ``together`` is False, as after a failure the other processes do not know of."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
        if self.file is not None and together:
            self.file.Close()
        self.file = None


def _as_system(error: MPI.Exception) -> OSError:
    """Return the operating system error that caused an MPI error."""
    from mpi4py import MPI

    known = {
        MPI.ERR_NO_SPACE: errno.ENOSPC, MPI.ERR_QUOTA: errno.EDQUOT, MPI.ERR_ACCESS: errno.EACCES,
        MPI.ERR_READ_ONLY: errno.EROFS, MPI.ERR_NO_SUCH_FILE: errno.ENOENT,
    }  # fmt: skip
    text = " ".join(error.Get_error_string().split())
    # MPICH states the system error only in the text
    reported = (n for n in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) if os.strerror(n) in text)
    return OSError(known.get(error.Get_error_class()) or next(reported, errno.EIO), text)


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


Make = Callable[[np.ndarray, np.ndarray, dict[str, np.ndarray]], CellFieldWriter]


class SharedFieldWriter(AtomicWriter):
    """Portion of a shared file that is written by this process. Opening and closing are collective.

    Parameters
    ----------
    world : World
        Processes.
    make : callable
        ``make(points, cells, static)`` creates the file, on the first process only, for a mesh of which it receives the shapes and, if
        ``goes_on``, the numbers of the cells.
    points, cells, static
        Local portion of the mesh.
    way : Way
        Method of writing to the shared file.
    goes_on : bool
        True if the file of an earlier run is continued.
    """

    def __init__(
        self, world: World, make: Make, points: np.ndarray, cells: np.ndarray, static: Mapping[str, np.ndarray], way: Way = "auto",
        goes_on: bool = False,
    ):  # fmt: skip
        self.world = world
        pieces = world.gather(_Piece.of(points, cells, static, goes_on))
        self.whole: CellFieldWriter | None = world.together(lambda: make(*_joined(pieces)))  # type: ignore[arg-type]
        counts = world.broadcast([(p.points, p.cells) for p in pieces] if pieces is not None else None)
        point, self.start = (sum(c[k] for c in counts[: world.rank]) for k in (0, 1))
        found = world.broadcast(None if self.whole is None else self._described(self.whole))
        self.path, working, self.capacity, self.places, self.dtype, self.times, mesh, self.kind = found
        self.each = self.kind.per_cell(cells.shape[1])
        self.count = len(cells) * self.each
        self.sums: list[int] = [] if self.whole is None else list(self.whole.sums)  # checksums of the local portion
        self.sums += [0] * (len(self.times) - len(self.sums))
        self.total, self.promised = sum(count for _, count in counts) * self.each, bool(self.times)
        self.counts = ProgressCounts(world, working, len(self.times) if self.count else None)
        self.file: SharedFile | None = SharedFile(world, working, way)
        try:
            with translate_os_errors(self.path):
                self._put_mesh(self.kind.pieces((points, cells, static), point, self.start), mesh)
        except BaseException:
            self.abort()
            raise

    def _put_mesh(
        self, pieces: Mapping[str, tuple[int, np.ndarray]], places: Mapping[str, tuple[int, int, str]]
    ) -> None:
        """Write the rows of each dataset at their position, from the given first row on."""
        assert self.file is not None
        for name, (first, rows) in pieces.items():
            offset, _, number = places[name]
            data = np.ascontiguousarray(rows, np.dtype(number))
            if len(data):
                self.file.put(data, offset + first * (data.nbytes // len(data)))

    @staticmethod
    def _described(whole: CellFieldWriter) -> tuple[object, ...]:
        return whole.path, *whole.target(), whole.dtype, list(whole.times), whole.described(), type(whole)

    def append(self, time: float, values: Mapping[str, np.ndarray]) -> None:
        """Append the snapshot of the local cells without waiting for other processes; see ``CellFieldWriter.append``."""
        step = len(self.times)
        if self.file is None:
            raise ValueError(f"{self.path.name} is closed")
        if step >= self.capacity:
            raise ValueError(f"{self.path.name} can store {self.capacity} snapshots")
        if TIME in self.places and self.start == 0:
            values = {**values, TIME: np.array([time])}
        with translate_os_errors(self.path, "the snapshots that all processes have written are retained"):
            for name, array in values.items():
                self.file.put(*self._at(name, np.asarray(array), step))
            self.counts.note(step + 1)
        self.times.append(float(time))
        parts = {n: np.asarray(v).astype(self.dtype, copy=False) for n, v in values.items() if n != TIME}
        first, total = self.start * self.each, self.total
        self.sums.append(sum(snapshot_checksum(n, part, first, total) for n, part in parts.items()) % MODULUS)

    def _at(self, name: str, array: np.ndarray, step: int) -> tuple[np.ndarray, int]:
        """Return the values of a field as stored in the file, and their offset [bytes]."""
        if name == TIME:
            return array, int(self.places[name][step])
        data = array.astype(self.dtype, copy=False)
        if data.shape != (self.count,):
            raise ValueError(f"{self.path.name}: '{name}' has shape {data.shape}, expected ({self.count},)")
        return data, int(self.places[name][step]) + self.start * self.each * self.dtype.itemsize

    def sync_for_checkpoint(self) -> list[float]:
        """Flush the local snapshots to disk; see ``CellFieldWriter.sync_for_checkpoint``."""
        if self.file is not None:
            with translate_os_errors(self.path):
                self.file.sync()
        if self.whole is not None:
            self.whole.sync_for_checkpoint()
        self.promised = True
        return list(self.times)

    def close(self) -> None:
        """Finish the file; collective."""
        if self.file is None:
            return
        self._shut(True)
        times = self.world.gather(self.times)  # a process without cells in the file has written no snapshot
        self.counts.close()
        if self.whole is not None and times is not None:
            self.whole.close_with(max(times, key=len))
            self.counts.drop()
        self.world.wait()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, RunError):
            self.keep_complete()
        else:
            super().__exit__(kind, error, trace)

    def keep_complete(self) -> None:
        """Close the file with the snapshots that all processes have written, without involving the others."""
        if self.file is None:
            return
        self._shut(False)
        with suppress(OSError, RuntimeError), self.counts.complete() as complete:
            fields = [name for name in self.places if name != TIME]
            whole = self.kind.adopted(
                self.path, self.total, fields, self.dtype, self.times[:complete]
            )  # raises if the file has been finished already
            if self.promised:
                whole.promise()
            whole.keep_complete()
            remove(self.counts.path)
        self.counts.close()

    def abort(self) -> None:
        """Discard the local portion; the first process discards the file."""
        self._shut(False)
        if self.whole is not None:
            self.whole.abort()
            self.counts.drop()

    def _shut(self, together: bool) -> None:
        if self.file is not None:
            self.file.close(together)
            self.file = None


@dataclass(frozen=True)
class _Piece:
    """Description of a portion of the mesh that is sent to the first process.

    Attributes
    ----------
    points, cells : int
        Numbers of points and cells.
    corners : int
        Number of corners of a cell.
    static : dict of str to dtype
        Data types of the static fields.
    numbers : ndarray, optional
        Numbers of the cells, if an earlier file is continued.
    """

    points: int
    cells: int
    corners: int
    static: dict[str, np.dtype]
    numbers: np.ndarray | None

    @staticmethod
    def of(points: np.ndarray, cells: np.ndarray, static: Mapping[str, np.ndarray], goes_on: bool) -> _Piece:
        numbers = static.get(NUMBERS) if goes_on else None
        return _Piece(len(points), len(cells), cells.shape[1], {n: v.dtype for n, v in static.items()}, numbers)


def _joined(pieces: list[_Piece]) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Return the whole mesh as arrays of the right shape without values, except the numbers of cells, if known."""
    points, cells = sum(p.points for p in pieces), sum(p.cells for p in pieces)
    static = {n: typed_placeholder((cells,), np.result_type(*(p.static[n] for p in pieces))) for n in pieces[0].static}
    numbers = [p.numbers for p in pieces if p.numbers is not None]
    if numbers:
        static[NUMBERS] = np.concatenate(numbers)
    return typed_placeholder((points, 3), np.float64), typed_placeholder((cells, pieces[0].corners), np.int64), static
