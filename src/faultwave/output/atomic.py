"""Atomic creation of files, which are written under a temporary name in the same folder and then renamed.

Errors of the file system become errors a user can act on: a path that cannot be written is a ``WriteRefused`` (an ``InputError``), a
disk that fills while writing a ``WriteFailed`` (a ``RunError``); both are ``NotWritten``, name the path and state which files are safe.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from faultwave.base.errors import FaultwaveError, InputError, Problem, RunError

_FULL = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file exceeds the size limit of the system or shell (ulimit -f)",
}
_REFUSED = {
    errno.EACCES: "permission denied",
    errno.EPERM: "operation not permitted",
    errno.EROFS: "the file system is read-only",
    errno.ENOENT: "the folder does not exist",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
    errno.EISDIR: "it is a folder",
    errno.ENAMETOOLONG: "the name is too long",
}


class NotWritten(FaultwaveError):
    """Raised if a file could not be written, in this process or another one."""


class WriteRefused(NotWritten, InputError):
    """Raised if a path cannot be written at all."""


class WriteFailed(NotWritten, RunError):
    """Raised if writing failed on the way, on a full disk for instance."""


class AtomicWriter(ABC):
    """Context manager of a writer, closed at the end of its block and aborted if an error leaves the block."""

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def abort(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()


def temporary_name(path: Path) -> Path:
    """Return the name under which ``path`` is written until complete; hidden, so that no tool takes it for a result."""
    return path.with_name(f".{path.name}.partial-{os.getpid()}")


def error_number(error: BaseException) -> int | None:
    """Return the system error number of an exception, or None; h5py often states it only in the text."""
    number = getattr(error, "errno", None)
    if number is not None:
        return int(number)
    match = re.search(r"errno\s*=?\s*(\d+)", str(error), re.IGNORECASE)
    return int(match.group(1)) if match else None


def user_error_for(error: BaseException, path: Path, retained: str = "") -> NotWritten:
    """Return the error to show for a failed write of ``path``, with a statement of which files are safe on disk."""
    retained = retained or "the unfinished file was removed; completed files are retained"
    number = error_number(error)
    if number in _REFUSED:
        advice = "Choose another output folder, or change its permissions."
        return WriteRefused(Problem(str(path), f"cannot be written: {_REFUSED[number]}", advice=advice))
    reason = _FULL[number] if number in _FULL else f"writing failed: {str(error).strip() or type(error).__name__}"
    advice = " Free some space or write less often." if number in _FULL else ""
    return WriteFailed(f"{path}: {reason}; {retained}.{advice}")


@contextlib.contextmanager
def translate_os_errors(path: Path, retained: str = "") -> Iterator[None]:
    """Convert OSError, and the RuntimeError that h5py raises on a failed flush, into the error of ``user_error_for``."""
    try:
        yield
    except FaultwaveError:
        raise
    except (OSError, RuntimeError) as error:
        if isinstance(error, NotImplementedError | RecursionError):
            raise  # mistakes in the program, not in the file system
        raise user_error_for(error, path, retained) from error


def remove(*paths: Path) -> None:
    """Remove files if they exist; never raises, as it runs while another error is on its way."""
    for path in paths:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def remove_partial(folder: Path, name: str = "*") -> None:
    """Remove the temporary files that killed processes have left of the files with a name in a folder; none may be written now."""
    remove(*folder.glob(f".{name}.partial-*"))


SIDE_BY_SIDE = 16
"""Number of files that are flushed to the disk concurrently."""

_finishing: ContextVar[_Finishing | None] = ContextVar("finishing", default=None)


class _Finishing:
    """Finished files that are being flushed to the disk, by their temporary names."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(SIDE_BY_SIDE, "faultwave-disk")
        self.files: dict[Path, Future[None]] = {}


@contextlib.contextmanager
def concurrent_flush() -> Iterator[None]:
    """Flush the files that this thread finishes inside the block concurrently.

    A disk needs some milliseconds to confirm a flush, which would add up. At the end of the block all files have their final
    names; the first error is raised.
    """
    finishing = _Finishing()
    before = _finishing.set(finishing)
    try:
        yield
    finally:
        _finishing.reset(before)
        finishing.pool.shutdown()
    for done in finishing.files.values():
        done.result()


def replace(temporary: Path, path: Path) -> None:
    """Rename a finished file to its final name after its bytes reached the disk, deferred inside ``concurrent_flush``."""
    finishing = _finishing.get()
    if finishing is None:
        _replace(temporary, path)
    else:
        finishing.files[temporary] = finishing.pool.submit(_replace, temporary, path)


def _replace(temporary: Path, path: Path) -> None:
    with translate_os_errors(path):
        try:
            with open(temporary, "rb") as file:
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except OSError:
            remove(temporary)
            raise


@contextlib.contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path to write to; rename it to ``path`` at the end, or remove it on any error."""
    path = Path(path)
    temporary = temporary_name(path)
    finishing = _finishing.get()
    if finishing is not None and temporary in finishing.files:  # the same file again
        finishing.files[temporary].result()
    try:
        with translate_os_errors(path):
            yield temporary
    except BaseException:
        remove(temporary)
        raise
    replace(temporary, path)


@contextlib.contextmanager
def atomic_text(path: str | Path) -> Iterator[IO[str]]:
    r"""Open a text file (UTF-8, newline '\n') that appears as ``path`` only if the block ends without error."""
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as file:
        yield file
