"""Looking into HDF5 and NetCDF files in a process of its own before this one reads them.

A file that was cut short, damaged or made on purpose can make the C libraries crash, hang or ask for all memory. The child
(``probe_child``) walks through the file once, within limits; a crash there is an error here. A file is probed once, and a sound one
is remembered between runs: as long as its size and times of change stay, it is not looked at again. Nobody can set the time of the last
change of a file's state back, so that what is remembered is what was looked at.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from faultwave.base import probe_child
from faultwave.base.cache import keep, recall
from faultwave.base.children import PYTHON, without_launcher
from faultwave.base.errors import InputError, Problem
from faultwave.base.log import get_logger

Library = Literal["h5py", "netCDF4"]

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
    wrong = _probed(
        str(path.absolute()), library, (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
    )
    if wrong:
        raise InputError(Problem(str(path), f"is no sound {what}: {wrong}", advice="Was it cut short on the way?"))


@functools.lru_cache(maxsize=4096)
def _probed(path: str, library: str, version: tuple[int, ...]) -> str:
    """What is wrong with the file, '' where nothing is; ``version``: device, number, size, times of change of content and state [ns]."""
    key = (path, library, _installed(library))
    told = " ".join(map(str, version))
    if recall("sound-files", *key) == told:
        return ""
    started = time.time_ns()
    try:
        wrong = _CHILD.ask(library, path)
    except OSError as error:  # where no process can be started the file is read as it is
        log.debug("%s is read without a look at it first: %s", path, error)
        return ""
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


class _Child:
    """A process that answers what is wrong with files; it goes when nothing is asked for a while, and comes again."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None
        self.owner = 0
        self.lock = threading.Lock()

    def ask(self, library: str, path: str) -> str | None:
        """What is wrong, '' where nothing is, None where the library is not there. Raises OSError where no process can be started."""
        with self.lock:
            for _ in range(2):  # it may go just when it is asked
                line = self._line(json.dumps([library, path]))
                if line:
                    said: str | None = json.loads(line)
                    return said
        raise OSError("the child process does not answer")

    def _line(self, question: str) -> str:
        process = self._running()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(question + "\n")
            process.stdin.flush()
            return process.stdout.readline()
        except (BrokenPipeError, ValueError):
            return ""

    def _running(self) -> subprocess.Popen[str]:
        if self.process is None or self.owner != os.getpid() or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [*PYTHON, probe_child.__file__], env=without_launcher() | {"OPENBLAS_NUM_THREADS": "1"}, text=True, cwd="/",
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            self.owner = os.getpid()
        return self.process


_CHILD = _Child()
