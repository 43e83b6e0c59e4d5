"""HDF5 files that survive failing writes.

If a write fails inside the HDF5 library (full disk), the library can neither close the file nor let the process end cleanly: buffers
that cannot be flushed crash the interpreter at exit. Here the library writes through a file object that stores the first error;
``check`` raises it, and the writer then discards the file.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import h5py

from faultwave.base.files.hdf5 import naming_file_errors
from faultwave.base.files.probe import probe
from faultwave.output.atomic import atomic_path


class Hdf5Reader:
    """Base class of readers of an HDF5 file, usable as a context manager.

    Subclasses read from ``_file``. ``what`` names the kind of file in error messages; ``_look`` reads what is needed immediately, and the
    file is closed if that fails.
    """

    what: str

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        probe(self.path, self.what)
        with naming_file_errors(self.path, self.what):
            self._file = h5py.File(self.path, "r")
            try:
                self._look()
            except BaseException:
                self._file.close()
                raise

    def _look(self) -> None:
        """Read what every user of the file needs, or raise InputError if it is missing."""
        raise NotImplementedError

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class FaultTolerantFile:
    """Binary file object for h5py that silently discards all writes after the first that failed.

    Attributes
    ----------
    error : OSError or None
        First failure.
    """

    def __init__(self, path: str | Path) -> None:
        self.error: OSError | None = None
        self._at = 0
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o666)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at}.get(whence)
        self._at = offset + (os.fstat(self._descriptor).st_size if start is None else start)
        return self._at

    def tell(self) -> int:
        return self._at

    def write(self, data: bytes | memoryview) -> int:
        view = memoryview(data).cast("B")
        done = 0
        while self.error is None and done < len(view):
            try:
                os.lseek(self._descriptor, self._at + done, os.SEEK_SET)
                done += os.write(self._descriptor, view[done:])
            except OSError as error:
                self.error = error
        self._at += len(view)
        return len(view)

    def read(self, size: int) -> bytes:
        """Return ``size`` bytes; h5py recognises a file object by this method."""
        data = bytearray(size)
        self.readinto(memoryview(data))
        return bytes(data)

    def readinto(self, buffer: memoryview) -> int:
        """Fill the whole buffer, with zeros beyond the end of the file, where discarded data would be."""
        view = memoryview(buffer).cast("B")
        os.lseek(self._descriptor, self._at, os.SEEK_SET)
        data = os.read(self._descriptor, len(view))
        while len(data) < len(view) and (more := os.read(self._descriptor, len(view) - len(data))):
            data += more
        view[:] = data + bytes(len(view) - len(data))
        self._at += len(view)
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        size = self._at if size is None else size
        if self.error is None:
            try:
                os.ftruncate(self._descriptor, size)
            except OSError as error:
                self.error = error
        return size

    def flush(self) -> None:
        """Do nothing, since no data is buffered here."""

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def check(self) -> None:
        """Raise the error of the first failed write, if any."""
        if self.error is not None:
            raise self.error


@contextlib.contextmanager
def open_tolerant(path: str | Path) -> Iterator[h5py.File]:
    """Yield a new HDF5 file at ``path``; raise the OSError of the first failed write, also if the library fails because of it."""
    with contextlib.closing(FaultTolerantFile(path)) as raw:
        try:
            with h5py.File(raw, "w") as file:
                yield file
        except Exception as error:  # the library read back zeros in place of data that were not written
            if raw.error is not None:
                raise raw.error from error
            raise
        raw.check()


@contextlib.contextmanager
def atomic_hdf5(path: str | Path) -> Iterator[h5py.File]:
    """Yield an HDF5 file that appears as ``path`` only if the block ends without error.

    Raises InputError and RunError like ``atomic_path``.
    """
    with atomic_path(path) as temporary, open_tolerant(temporary) as file:
        yield file
