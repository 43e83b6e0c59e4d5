"""The process that opens files which others wrote (``probe_child``), and how it is asked."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import threading
from typing import Any

from faultwave.base import probe_child
from faultwave.base.children import PYTHON, without_launcher


class ReaderProcess:
    """A process that answers questions on files; it goes when nothing is asked for a while, and comes again."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.owner = 0
        self.lock = threading.Lock()

    def ask(self, task: str, path: str, **wanted: Any) -> tuple[bytearray, str | None]:
        """What it sends, and what is wrong with the file: '' where nothing is, None where the library is not there.
        Raises OSError where no process can be started."""
        with self.lock:
            for _ in range(2):  # it may go just when it is asked
                try:
                    return self._answer(json.dumps([task, path, wanted]))
                except (EOFError, BrokenPipeError, ValueError):
                    continue
        raise OSError("the child process does not answer")

    def _answer(self, question: str) -> tuple[bytearray, str | None]:
        process = self._running()
        assert process.stdin is not None
        process.stdin.write(question.encode() + b"\n")
        process.stdin.flush()
        sent = bytearray()
        while piece := self._piece():
            sent += piece
        wrong: str | None = json.loads(self._piece())
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
        if self.process is None or self.owner != os.getpid() or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [*PYTHON, probe_child.__file__], env=without_launcher() | {"OPENBLAS_NUM_THREADS": "1"}, cwd="/",
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            self.owner = os.getpid()
        return self.process


READER = ReaderProcess()
