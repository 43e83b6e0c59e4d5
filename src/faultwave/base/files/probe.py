"""Probing of external HDF5 files in a child process before this process reads them.

A truncated, damaged or malicious file can make the C libraries crash, hang or exhaust memory. The child (``probe_child``) walks through
the file once, within limits; a crash there is an error here. A sound file is remembered between runs, as long as its size and times of
change stay the same. The time of the last status change cannot be set back, so a remembered file is the one that was probed.
"""

from __future__ import annotations

import functools
import os
import time
from importlib.util import find_spec
from pathlib import Path

from faultwave.base.errors import InputError, Problem
from faultwave.base.files.cache import load_text, store_text
from faultwave.base.files.reader_process import READER, ReaderCrashed
from faultwave.base.log import get_logger

log = get_logger(__name__)


def probe(path: str | Path, what: str) -> None:
    """Raise InputError if a file cannot be read safely; ``what`` is its expected content."""
    path = Path(path)
    about = there(path, what)
    wrong = _probed(
        str(path.absolute()), (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
    )
    if wrong:
        raise invalid_file_error(path, what, wrong)


def there(path: Path, what: str) -> os.stat_result:
    """Return the file status. Raises InputError if the file does not exist."""
    try:
        about = path.stat()
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from None
    if not path.is_file():
        raise InputError(Problem(str(path), "is no file", what))
    return about


def invalid_file_error(path: Path, what: str, wrong: str) -> InputError:
    """Return the error for a file that is not a valid ``what``, with its defect ``wrong``."""
    return InputError(Problem(str(path), f"is no sound {what}: {wrong}", advice="Was it cut short on the way?"))


@functools.lru_cache(maxsize=4096)
def _probed(path: str, version: tuple[int, ...]) -> str:
    """Return the defect of a file, '' if there is none.

    Parameters
    ----------
    path : str
        File.
    version : tuple of int
        Device, inode, size, and times of the last change of content and status [ns].
    """
    key = (path, "h5py", _installed("h5py"))
    reported = " ".join(map(str, version))
    if load_text("sound-files", *key) == reported:
        return ""
    started = time.time_ns()
    try:
        _, wrong = READER.ask("probe HDF5", path)
    except OSError as error:  # without child processes, the file is read directly
        log.debug("%s is read without a look at it first: %s", path, error)
        return ""
    except ReaderCrashed as error:
        return str(error)
    if wrong == "" and 0 < version[-1] < started - SETTLED:
        store_text(reported, "sound-files", *key)
    return wrong or ""


SETTLED = 3_000_000_000
"""Age [ns] of the last change from which a file is remembered.

File systems store times in steps of up to two seconds.
"""


@functools.cache
def _installed(library: str) -> tuple[object, ...]:
    """Return the identity of the library that reads the files, as versions differ in what they accept."""
    found = find_spec(library)
    if found is None or found.origin is None:
        return ()
    about = os.stat(found.origin)
    return (found.origin, about.st_size, about.st_mtime_ns)
