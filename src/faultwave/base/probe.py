"""Looking into HDF5 and NetCDF files in a process of its own before this one reads them.

A file that was cut short, damaged or made on purpose can make the C libraries crash, hang or ask for all memory. The child
(``probe_child``) walks through the file once, within limits; a crash there is an error here. A file is probed once: as long as its
size and time of change stay, it is not looked at again.
"""

from __future__ import annotations

import functools
import signal
import subprocess
from pathlib import Path
from typing import Literal

from faultwave.base import probe_child
from faultwave.base.children import PYTHON, without_launcher
from faultwave.base.errors import InputError, Problem
from faultwave.base.log import get_logger

Library = Literal["h5py", "netCDF4"]
PATIENCE = 120.0
"""Seconds that a child may wait for its turn, the disk and its libraries; its processor time is limited more closely."""

log = get_logger(__name__)


def probe(path: str | Path, what: str, library: Library = "h5py") -> None:
    """Raise InputError where ``path``, which should be ``what``, cannot be read by ``library`` without harm."""
    path = Path(path)
    try:
        about = path.stat()
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from None
    if not path.is_file():
        raise InputError(Problem(str(path), "is no file", what))
    wrong = _probed(str(path.absolute()), library, about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns)
    if wrong:
        raise InputError(Problem(str(path), f"is no sound {what}: {wrong}", advice="Was it cut short on the way?"))


@functools.lru_cache(maxsize=4096)
def _probed(path: str, library: str, device: int, number: int, size: int, changed: int) -> str:
    """What is wrong with the file, '' where nothing is; the arguments after ``library`` tell its versions apart."""
    command = [*PYTHON, probe_child.__file__, library, path]
    try:
        child = subprocess.run(
            command, env=without_launcher(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, errors="replace", timeout=PATIENCE, cwd="/",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"reading it does not come to an end within {PATIENCE:g} s"
    except OSError as error:  # where no process can be started the file is read as it is
        log.debug("%s is read without a look at it first: %s", path, error)
        return ""
    if child.returncode == -signal.SIGXCPU:
        return "reading it does not come to an end"
    if child.returncode < 0:
        return f"it makes the {library} library crash ({signal.Signals(-child.returncode).name})"
    if child.returncode == 1:
        return child.stdout.strip().splitlines()[-1][:500] if child.stdout.strip() else "the library could not tell"
    if child.returncode:
        log.debug("%s is read without a look at it first: the child ended with %s", path, child.returncode)
    return ""
