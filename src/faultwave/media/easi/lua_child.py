"""Process in which Lua runs, started as ``python -P lua_child.py ROOT``.

Of the package it imports only mathematical functions that a script uses. Requests arrive as a line of JSON and columns
of doubles, answers are returned in the same form (see ``lua_process``). The processor time of a request is limited by a
timer of the system, whose signal ends the process even inside a function of Lua's C library.
"""

from __future__ import annotations

import contextlib
import json
import re
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

if TYPE_CHECKING:
    from faultwave.base.types import Settings


IDLE = 10.0
"""Time [s] without a request after which the process ends."""

MEMORY = 1 << 32
"""Address space [bytes] that the process may use in addition to the memory of its scripts."""

LONGEST = 500
"""Largest number of characters of a message."""

NO_LUPA, BROKEN, MISSING = -1, -2, -3
"""Codes of an answer in place of the index of a point: Lua not installed, invalid text, no function f."""

_STANDARD = re.compile(
    r"\bmath\s*\.\s*(?:abs|acos|asin|atan|ceil|cos|deg|exp|floor|fmod|huge|log|max|maxinteger|min|mininteger|modf|pi|rad|sin|sqrt|tan"
    r"|tointeger|type|ult)\b"
)
"""Functions available in every Lua; for other mathematical functions the package's own are loaded."""

# Loads the deck's text into an environment of its own and returns a function that applies it to columns of points.
# Everything it needs is local, so the deck can neither see nor replace it.
_DRIVER = """
function(text, additions, limit)
  local load, pcall, type, tostring, sethook, error = load, pcall, type, tostring, debug.sethook, error
  string.dump = nil  -- methods of texts reach this table
  local function copy(library)
    local result = {}
    for name, value in pairs(library) do result[name] = value end
    return result
  end
  local environment = {
    math = copy(math), string = copy(string), table = copy(table), pairs = pairs, ipairs = ipairs, next = next,
    type = type, tonumber = tonumber, tostring = tostring, select = select, error = error, assert = assert,
    unpack = table.unpack or unpack,
  }
  for name, value in pairs(additions) do environment.math[name] = value end
  local function text_of(value)  -- an address would differ from point to point
    if type(value) == "string" or type(value) == "number" then return tostring(value) end
    return "error(...) with a " .. type(value)
  end
  local function stop() error("more than " .. limit .. " instructions for one point", 0) end
  local function guarded(f, argument)
    sethook(stop, "", limit)
    local good, value = pcall(f, argument)
    sethook()
    return good, value
  end
  local chunk, message = load(text, "=deck", "t", environment)
  if not chunk then return nil, message end
  local good, value = guarded(chunk)
  if not good then return nil, text_of(value) end
  local f = environment.f
  if type(f) ~= "function" then return nil, false end
  return function(count, names, columns, wanted, results)
    for i = 1, count do
      local x = {}
      for k = 1, #names do
        local value = columns[k][i]
        x[k] = value
        x[names[k]] = value
      end
      local good, value = guarded(f, x)
      if not good then return i, text_of(value) end
      if type(value) ~= "table" then return i, "f returned a " .. type(value) .. " instead of a table" end
      for k = 1, #wanted do
        local number = value[wanted[k]]
        if type(number) ~= "number" then
          return i, "f returned no number for '" .. wanted[k] .. "' but a " .. type(number)
        end
        results[k][i] = number + 0.0
      end
    end
    return 0, ""
  end
end
"""


class Failure(Exception):
    """Failure returned in place of numbers: a code or the number of a point, and a message."""


def deny(obj: object, name: object, is_setting: bool) -> NoReturn:
    """Reject every access of a script to attributes of Python objects."""
    raise AttributeError("Python objects are not accessible from Lua")


def runtime_class() -> Any:
    """Return Lua 5.4 if the wheel has it, as in the reference builds, else the newest available."""
    try:
        from lupa.lua54 import LuaRuntime
    except ImportError:
        try:
            from lupa import LuaRuntime
        except ImportError:
            raise Failure(NO_LUPA, "") from None
    return LuaRuntime


def additions(text: str) -> dict[str, Callable[..., float]]:
    """Return the mathematical functions that Lua lacks; none if the text uses only functions that Lua has."""
    if not re.search(r"\bmath\b", _STANDARD.sub("", text)) and "_ENV" not in text:
        return {}
    from faultwave.media.easi.mathlib import LUA_ADDITIONS

    def scalar(function: Callable[..., Any]) -> Callable[..., float]:
        def call(*values: float) -> float:
            with np.errstate(all="ignore"):
                return float(function(*(np.float64(v) for v in values)))

        return call

    return {name: scalar(function) for name, function in LUA_ADDITIONS.items()}


class Script:
    """Loaded text with the Lua runtime in which it runs; raises Failure if it cannot be loaded."""

    def __init__(self, text: str, instructions: int, memory: int):
        self.runtime = runtime_class()(
            register_eval=False,
            register_builtins=False,
            unpack_returned_tuples=True,
            attribute_filter=deny,
            max_memory=memory,
        )
        loaded = self.runtime.eval(_DRIVER)(text, self.runtime.table_from(additions(text)), instructions)
        if isinstance(loaded, tuple):
            raise Failure(MISSING, "") if loaded[1] is False else Failure(BROKEN, str(loaded[1]))
        self.loaded = loaded

    def apply(self, names: list[str], columns: np.ndarray, wanted: list[str]) -> np.ndarray:
        """Return the results of f (len(wanted), n) for columns (len(names), n).

        Raises Failure with the number of a point, from 1.
        """
        table, count = self.runtime.table_from, columns.shape[1]
        results = [table([]) for _ in wanted]
        given = table([table(column.tolist()) for column in columns])
        failed, message = self.loaded(count, table(names), given, table(wanted), table(results))
        if failed:
            raise Failure(failed, str(message))
        return np.array([np.fromiter(result.values(), np.float64, count) for result in results]).reshape(-1, count)


def limit_memory(more: int) -> None:
    """Limit the address space of this process, if the system supports it."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = MEMORY + more
        resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def answer(request: Settings, scripts: dict[int, Script], data: bytes) -> np.ndarray:
    """Evaluate a script at the points of a request and return the values as columns."""
    if request["script"] not in scripts:
        scripts[request["script"]] = Script(request["text"], request["instructions"], request["memory"])
    columns = np.frombuffer(data).reshape(len(request["names"]), request["count"])
    if not request["count"]:
        return np.empty((len(request["wanted"]), 0))
    return scripts[request["script"]].apply(request["names"], columns, request["wanted"])


def serve() -> None:
    """Answer requests until there are none."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the requesting process ends first, then this one
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    given, out = sys.stdin.buffer, sys.stdout.buffer
    scripts: dict[int, Script] = {}
    while select.select([given], [], [], IDLE)[0]:
        line = given.readline()
        if not line:
            return
        requested = json.loads(line)
        data = given.read(8 * len(requested["names"]) * requested["count"])
        limit_memory(requested["memory"] * (1 + len(scripts)))
        signal.setitimer(signal.ITIMER_PROF, requested["seconds"])
        begun, failed, message, found = time.process_time(), 0, "", np.empty(0)
        try:
            found = answer(requested, scripts, data)
        except Failure as failure:
            failed, message = failure.args
        except MemoryError:
            failed, message = BROKEN, "not enough memory"
        except Exception as error:  # lupa raises exceptions of both languages
            failed, message = BROKEN, str(error)
        signal.setitimer(signal.ITIMER_PROF, 0)
        reported = {"failed": failed, "message": message[:LONGEST], "seconds": time.process_time() - begun}
        out.write(json.dumps(reported).encode() + b"\n")
        if not failed:
            out.write(found.tobytes())
        out.flush()


if __name__ == "__main__":
    sys.path.append(sys.argv[1])
    serve()
