"""`!LuaMap`: a Lua function of one point, run in a separate process, which is ended if a script takes too long.

Only numbers travel between the processes.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import select
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import faultwave
from faultwave.base.errors import InputError, Problem
from faultwave.base.processes.host import PYTHON, without_launcher
from faultwave.media.easi import lua_child
from faultwave.media.easi.component import Batch, Builder, Component, Values, tag
from faultwave.media.easi.lua_child import MISSING, NO_LUPA
from faultwave.media.easi.source import Block
from faultwave.media.points import Floats

SECONDS = 2.0
"""Largest processor time [s] of a request, loading of the script included, and thus of a point."""

SLOWEST = 0.05
"""Largest processor time [s] per point, on average over at least ``SECONDS`` / 5 of work."""

AIM = 0.3
"""Processor time [s] for which requests are sized."""

PATIENCE = 120.0
"""Largest wall time [s] without an answer, generous for a busy machine."""

LARGEST = 20_000
"""Largest number of points of a request."""


class ScriptError(Exception):
    """Failure of a script.

    Attributes
    ----------
    message : str
    point : int or None
        Index of the point, None if the script could not be loaded.
    code : int
        Code of a failure during loading (see ``lua_child``), or 0.
    costly : bool
        True if the failure took so long that no other point should be tried.
    """

    def __init__(self, message: str, point: int | None = None, code: int = 0, costly: bool = True):
        super().__init__(message)
        self.message, self.point, self.code, self.costly = message, point, code, costly


class _ProcessEnded(Exception):
    """Process that ended without an answer, with the reason if known."""


_numbers = itertools.count()


@dataclass(frozen=True)
class Script:
    """Text that defines ``f(x)``, with its limits per point: ``instructions`` and ``memory`` [bytes]."""

    text: str
    instructions: int
    memory: int
    number: int = field(default_factory=lambda: next(_numbers))


class LuaProcess:
    """Process that runs scripts, restarted on demand."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.owner = 0
        self.lock = threading.Lock()
        self.buffer = bytearray()

    def load(self, script: Script) -> None:
        """Load a script; raises ScriptError if that fails."""
        with self.lock:
            self._ask(script, (), np.empty((0, 0)), ())

    def apply(self, script: Script, names: Sequence[str], columns: Floats, wanted: Sequence[str]) -> Floats:
        """Return the results of a script at points.

        Parameters
        ----------
        script : Script
        names : sequence of str
            Names of the columns in ``x``.
        columns : ndarray (len(names), n)
        wanted : sequence of str
            Names of the values that ``f`` returns.

        Returns
        -------
        ndarray (len(wanted), n)

        Raises
        ------
        ScriptError
            With the index of the first point that fails.
        """
        total = columns.shape[1]
        found, done, size = np.empty((len(wanted), total)), 0, 1
        while done < total:
            end = min(done + size, total)
            try:
                with self.lock:
                    values, seconds = self._ask(script, names, columns[:, done:end], wanted)
            except ScriptError as error:
                raise ScriptError(error.message, done + (error.point or 0), error.code, error.costly) from None
            count = end - done
            if seconds > max(SECONDS / 5, SLOWEST * count):
                raise ScriptError(f"takes {seconds / count:.2g} s a point (at most {SLOWEST:g} s)", done)
            found[:, done:end], done = values, end
            size = int(min(LARGEST, 4 * size, max(1.0, AIM * count / max(seconds, 1e-9))))
        return found

    def _ask(
        self, script: Script, names: Sequence[str], columns: Floats, wanted: Sequence[str]
    ) -> tuple[Floats, float]:
        """Return the values (len(wanted), n) and their processor time [s]; raises ScriptError."""
        for last in (False, True):
            try:
                return self._answer(script, names, columns, wanted)
            except (_ProcessEnded, OSError) as error:
                status = self.end()
                if isinstance(error, _ProcessEnded) and (status == -signal.SIGPROF or error.args):
                    raise ScriptError(f"does not finish within {SECONDS:g} s at a point", 0) from None
                if last:  # the process may have ended at the moment of the request
                    what = "could not be run" if isinstance(error, OSError) else "made Lua crash"
                    how = signal.Signals(-status).name if status < 0 else f"exit code {status}"
                    raise ScriptError(f"{what}: {error if str(error) else how}", 0) from None
            except BaseException:  # after an interruption, outstanding output would be taken for the next answer
                self.end()
                raise
        raise AssertionError

    def _answer(
        self, script: Script, names: Sequence[str], columns: Floats, wanted: Sequence[str]
    ) -> tuple[Floats, float]:
        process, count = self._running(), columns.shape[1]
        requested = {
            "script": script.number, "text": script.text, "instructions": script.instructions, "memory": script.memory,
            "names": list(names), "wanted": list(wanted), "count": count, "seconds": SECONDS,
        }  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(json.dumps(requested).encode() + b"\n" + np.ascontiguousarray(columns, float).tobytes())
        process.stdin.flush()
        deadline = time.monotonic() + PATIENCE
        reported = json.loads(self._line(deadline))
        if reported["failed"]:
            code = int(reported["failed"])
            raise ScriptError(
                str(reported["message"]), code - 1 if code > 0 else None, min(code, 0), reported["seconds"] > AIM
            )
        data = self._bytes(8 * len(wanted) * count, deadline)
        return np.frombuffer(data).reshape(len(wanted), count), float(reported["seconds"])

    def _line(self, deadline: float) -> bytes:
        while b"\n" not in self.buffer:
            self._more(deadline)
        line, _, rest = bytes(self.buffer).partition(b"\n")
        self.buffer = bytearray(rest)
        return line

    def _bytes(self, count: int, deadline: float) -> bytes:
        while len(self.buffer) < count:
            self._more(deadline)
        found = bytes(self.buffer[:count])
        del self.buffer[:count]
        return found

    def _more(self, deadline: float) -> None:
        assert self.process is not None and self.process.stdout is not None
        pipe = self.process.stdout.fileno()
        if not select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise _ProcessEnded("no answer")
        piece = os.read(pipe, 1 << 20)
        if not piece:
            raise _ProcessEnded
        self.buffer += piece

    def _running(self) -> subprocess.Popen[bytes]:
        """Return the process, started if there is none; raises OSError if that fails."""
        if self.process is not None and self.owner == os.getpid() and self.process.poll() is None:
            return self.process
        root = str(Path(faultwave.__file__).parents[1])
        self.buffer = bytearray()
        self.owner = os.getpid()
        self.process = subprocess.Popen(
            [*PYTHON, lua_child.__file__, root], env=without_launcher() | {"OPENBLAS_NUM_THREADS": "1"}, cwd="/",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return self.process

    def end(self) -> int:
        """End the process and return its exit status; 0 if there is none."""
        process, self.process = self.process, None
        self.buffer = bytearray()
        if process is None or self.owner != os.getpid():
            return 0
        with contextlib.suppress(subprocess.TimeoutExpired):  # it may be about to end by itself
            process.wait(0.05)
        process.kill()
        status = process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        return status


LUA = LuaProcess()


INSTRUCTION_LIMIT = 50_000_000  # per point: stops endless loops, far above any sensible map
MEMORY_LIMIT = 1 << 29  # bytes per map


@tag("!LuaMap")
@dataclass(frozen=True, kw_only=True)
class LuaMap(Component):
    """Map by a Lua function ``f(x)`` of each point.

    ``x`` is indexed by name and by position in the sorted dimensions.
    """

    keys = frozenset({"returns", "function", "components"})

    script: Script
    inputs: tuple[str, ...]
    body: Block

    @classmethod
    def build(cls, block: Block, inputs: tuple[str, ...], builder: Builder) -> Component:
        given = block.require("returns")
        returns = given.names("'returns'") if given.is_list else [given.text("'returns'")]
        body = block.require("function")
        script = Script(body.text("'function'"), INSTRUCTION_LIMIT, MEMORY_LIMIT)
        try:
            LUA.load(script)
        except ScriptError as error:
            raise InputError(cls._problem(body, error)) from None
        outputs = tuple(sorted(returns))
        children = builder.children(block, outputs)
        return cls(where=block.where, outputs=outputs, children=children, script=script, inputs=inputs, body=body)

    @staticmethod
    def _problem(body: Block, error: ScriptError) -> Problem:
        if error.code == NO_LUPA:
            return Problem("!LuaMap", "needs the package lupa", advice="pip install lupa")
        if error.code == MISSING:
            return Problem(body.where, "the Lua text defines no function f", "function f(x) ... end")
        where, text = _place(body, error.message)
        return Problem(where, f"Lua: {text}")

    def transform(self, batch: Batch, wanted: Iterable[str]) -> Values:
        names = tuple(wanted)
        columns = np.array([batch.columns[name] for name in self.inputs], float).reshape(len(self.inputs), len(batch))
        try:
            found = LUA.apply(self.script, self.inputs, columns, names)
        except ScriptError as error:
            bad = np.zeros(len(batch), dtype=bool)
            bad[error.point or 0] = True
            where, text = _place(self.body, error.message)
            failure = batch.failure(where, f"Lua: {text}", bad)
            if error.costly:  # raised as an error of the script, which ends the search for other points
                raise InputError(failure.problems) from None
            raise failure from None
        return dict(zip(names, found, strict=True))


def _place(body: Block, message: str) -> tuple[str, str]:
    """Return the place in the YAML file and the text of Lua's message 'deck:3: text'."""
    match = re.match(r"deck:(\d+): (.*)", message, re.DOTALL)
    if match is None:
        return body.where, message
    lines = body.text().split("\n")
    line = min(int(match.group(1)), len(lines))
    start = sum(len(text) + 1 for text in lines[: line - 1])
    indent = len(lines[line - 1]) - len(lines[line - 1].lstrip())
    return body.locate(start + indent), match.group(2)
