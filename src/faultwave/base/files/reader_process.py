"""Client of the child process that opens external files (``probe_child``)."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import struct
import subprocess
import threading

from faultwave.base.files import probe_child
from faultwave.base.processes.children import PYTHON, without_launcher
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
        raise ReaderCrashed("the process that reads it ends without an answer")

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
            raise ValueError(f"the answer to question {answered} came to question {number}")
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
            raise OSError("the process that reads files ends before it is asked") from None
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
