"""Looking into HDF5 files in a process of its own before this one reads them.

A file that was cut short, damaged or made on purpose can make the C libraries crash, hang or ask for all memory. The child
(``probe_child``) walks through the file once, within limits; a crash there is an error here. A file is probed once, and a sound one
is remembered between runs: as long as its size and times of change stay, it is not looked at again. Nobody can set the time of the last
change of a file's state back, so that what is remembered is what was looked at.
"""

from __future__ import annotations

import functools
import os
import time
from importlib.util import find_spec
from pathlib import Path

from faultwave.base.cache import keep, recall
from faultwave.base.errors import InputError, Problem
from faultwave.base.log import get_logger
from faultwave.base.reader_process import READER, NoAnswer

log = get_logger(__name__)


def probe(path: str | Path, what: str) -> None:
    """Raise InputError where ``path``, which should be ``what``, cannot be read without harm."""
    path = Path(path)
    about = there(path, what)
    wrong = _probed(
        str(path.absolute()), (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
    )
    if wrong:
        raise unsound(path, what, wrong)


def there(path: Path, what: str) -> os.stat_result:
    """What the system knows of the file. Raises InputError where there is none."""
    try:
        about = path.stat()
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from None
    if not path.is_file():
        raise InputError(Problem(str(path), "is no file", what))
    return about


def unsound(path: Path, what: str, wrong: str) -> InputError:
    return InputError(Problem(str(path), f"is no sound {what}: {wrong}", advice="Was it cut short on the way?"))


@functools.lru_cache(maxsize=4096)
def _probed(path: str, version: tuple[int, ...]) -> str:
    """What is wrong with the file, '' where nothing is; ``version``: device, number, size, times of change of content and state [ns]."""
    key = (path, "h5py", _installed("h5py"))
    told = " ".join(map(str, version))
    if recall("sound-files", *key) == told:
        return ""
    started = time.time_ns()
    try:
        _, wrong = READER.ask("probe HDF5", path)
    except OSError as error:  # where no process can be started the file is read as it is
        log.debug("%s is read without a look at it first: %s", path, error)
        return ""
    except NoAnswer as error:
        return str(error)
    if wrong == "" and 0 < version[-1] < started - SETTLED:
        keep(told, "sound-files", *key)
    return wrong or ""


SETTLED = 3_000_000_000
"""How long ago [ns] a file must have been changed to be remembered: file systems keep times in steps of up to two seconds."""


@functools.cache
def _installed(library: str) -> tuple[object, ...]:
    """Which library reads the files: what one version reads another may not."""
    found = find_spec(library)
    if found is None or found.origin is None:
        return ()
    about = os.stat(found.origin)
    return (found.origin, about.st_size, about.st_mtime_ns)
