"""Checksums of the contents of files."""

from __future__ import annotations

import functools
import hashlib
import time
from pathlib import Path

from faultwave.base.errors import InputError, Problem

SETTLED = 2.0
"""Age of a file [s] from which equal sizes and times mean equal contents; file systems do not separate times that are closer."""


def hash_file(path: str | Path) -> str:
    """Return the hexadecimal SHA-256 of a file, or raise InputError if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from error


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, computed once as long as the file system reports no change.

    A file that changed a moment ago is always read again.
    """
    state = path.stat()
    if abs(time.time() - max(state.st_mtime, state.st_ctime)) < SETTLED:
        return hash_file(path)
    return _hashed(str(path), state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)


@functools.lru_cache(maxsize=65536)
def _hashed(path: str, number: int, size: int, written: int, changed: int) -> str:
    return hash_file(path)
