"""HDF5 files whose failing writes can be survived.

When a write fails inside the HDF5 library (full disk), it can neither close the file nor let the process end cleanly:
buffers that cannot be flushed crash the interpreter at exit. Here the library writes through a file object that keeps
the first error to itself; whoever writes asks for it with ``check`` and drops the file.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import h5py

from faultwave.base.hdf5 import telling
from faultwave.base.probe import probe
from faultwave.output.atomic import atomic_path


class OpenedHdf5:
    """What reads from ``_file`` until it is closed, by itself at the end of a ``with``. ``what`` it is, in errors; ``_look`` is what is
    read of it at once, which is closed where that fails."""

    what: str

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        probe(self.path, self.what)
        with telling(self.path, self.what):
            self._file = h5py.File(self.path, "r")
            try:
                self._look()
            except BaseException:
                self._file.close()
                raise

    def _look(self) -> None:
        """Read what is always asked for. Raises InputError where the file lacks it."""
        raise NotImplementedError

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class PatientFile:
    """A binary file for h5py that, once a write has failed, accepts and forgets everything that follows.

    error: the first failure, None while all is well.
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
        """As ``readinto``; h5py recognises a file object by having it."""
        data = bytearray(size)
        self.readinto(memoryview(data))
        return bytes(data)

    def readinto(self, buffer: memoryview) -> int:
        """Always fills the buffer: what was forgotten reads as zeros."""
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
        """Nothing is buffered here."""

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def check(self) -> None:
        """Raise the error of the first failed write, if there was one."""
        if self.error is not None:
            raise self.error


@contextlib.contextmanager
def whole_hdf5(path: str | Path) -> Iterator[h5py.File]:
    """An HDF5 file that appears as ``path`` only when the block ends without error; InputError, RunError as atomic."""
    with atomic_path(path) as temporary, contextlib.closing(PatientFile(temporary)) as raw:
        with h5py.File(raw, "w") as file:
            yield file
        raw.check()
