"""Probing of external files in a child process (``probe_child``) before this process reads them.

A truncated, damaged or malicious file can make the C libraries crash, hang or exhaust memory. The child (``probe_child``) walks through
the file once, within limits; a crash there is an error here. A sound file is remembered between runs, as long as its size and times of
change stay the same. The time of the last status change cannot be set back, so a remembered file is the one that was probed.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import os
import struct
import subprocess
import threading
import time
from importlib.util import find_spec
from pathlib import Path

from faultwave.base.errors import InputError, Problem
from faultwave.base.files import probe_child
from faultwave.base.files.cache import load_text, store_text
from faultwave.base.log import get_logger
from faultwave.base.processes.host import PYTHON, without_launcher
from faultwave.base.types import Settings


class ReaderCrashed(Exception):
    """Raised if the child process ended twice while it worked on a file."""


class ReaderProcess:
    """Child process that answers requests on files; it exits when idle and is restarted when needed."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.owner = 0
        self.lock = threading.Lock()
        self.numbers = itertools.count(1)

    def ask(self, task: str, path: str, **wanted: object) -> tuple[bytearray, str | None]:
        """Send a request and return the answer.

        Returns
        -------
        (bytearray, str or None)
            Data, and the defect of the file: '' if there is none, None if the library is not installed.

        Raises
        ------
        OSError
            If no process can be started.
        ReaderCrashed
            If the process ends before it answers.
        """
        with self.lock:
            for _ in range(2):  # the process may exit just as it receives the request
                process = self._running()
                try:
                    return self._answer(process, task, path, wanted)
                except (EOFError, BrokenPipeError, ValueError):
                    self._end()
                except BaseException:  # an interruption: pending data would be taken for the next answer
                    self._end()
                    raise
        raise ReaderCrashed("the process that reads it ended without a reply")

    def _answer(
        self, process: subprocess.Popen[bytes], task: str, path: str, wanted: Settings
    ) -> tuple[bytearray, str | None]:
        number = next(self.numbers)
        assert process.stdin is not None
        process.stdin.write(json.dumps([number, task, path, wanted]).encode() + b"\n")
        process.stdin.flush()
        sent = bytearray()
        while piece := self._piece():
            sent += piece
        answered, wrong = json.loads(self._piece())
        if answered != number:
            raise ValueError(f"reply {answered} arrived for request {number}")
        return sent, wrong

    def _piece(self) -> bytes:
        assert self.process is not None and self.process.stdout is not None
        head = self.process.stdout.read(4)
        length = struct.unpack("<I", head)[0] if len(head) == 4 else 0
        piece = self.process.stdout.read(length)
        if len(head) < 4 or len(piece) < length:
            raise EOFError
        return piece

    def _running(self) -> subprocess.Popen[bytes]:
        """Return the process, starting it if necessary. Raises OSError if that fails."""
        if self.process is not None and self.owner == os.getpid() and self.process.poll() is None:
            return self.process
        if not hasattr(os, "fork"):
            raise OSError("this system cannot copy a process")
        self.process = process = subprocess.Popen(
            [*PYTHON, probe_child.__file__], env=without_launcher() | {"OPENBLAS_NUM_THREADS": "1"}, cwd="/",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.owner = os.getpid()
        try:
            self._piece()  # startup message of the process
        except EOFError:
            self._end()
            raise OSError("the process that reads files ended before a request") from None
        except BaseException:
            self._end()
            raise
        return process

    def _end(self) -> None:
        process, self.process = self.process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # unsent data are discarded
                    pipe.close()


READER = ReaderProcess()


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
    return InputError(
        Problem(str(path), f"is not a valid {what}: {wrong}", advice="Was the file truncated during a transfer?")
    )


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
        log.debug("%s is read without a check in a child process: %s", path, error)
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
