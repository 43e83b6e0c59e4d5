"""`!LuaMap`: a Lua function of one point, run in a sandbox without files, processes, modules or Python."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.media.easi.component import Batch, Builder, Component, Values, tag
from faultwave.media.easi.mathlib import LUA_ADDITIONS
from faultwave.media.easi.source import Block
from faultwave.media.points import Floats

INSTRUCTION_LIMIT = 50_000_000  # per point: stops endless loops, far above any sensible map
MEMORY_LIMIT = 1 << 29  # bytes per map
CHUNK = 20_000  # points handed over at once; bounds the memory of the Lua tables

# Loads the deck's text into an environment of its own and returns a function that applies it to columns of points.
# Everything it needs is local, so the deck can neither see nor replace it.
_DRIVER = """
function(text, additions, limit)
  local load, pcall, type, tostring, sethook, error = load, pcall, type, tostring, debug.sethook, error
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
  environment.string.dump = nil
  for name, value in pairs(additions) do environment.math[name] = value end
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
  if not good then return nil, tostring(value) end
  local f = environment.f
  if type(f) ~= "function" then return nil, "missing" end
  return function(count, names, columns, wanted, results)
    for i = 1, count do
      local x = {}
      for k = 1, #names do
        local value = columns[k][i]
        x[k] = value
        x[names[k]] = value
      end
      local good, value = guarded(f, x)
      if not good then return i, tostring(value) end
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


def _deny(obj: object, name: object, is_setting: bool) -> NoReturn:
    raise AttributeError("Python objects are not open to Lua")


def _runtime_class() -> Any:
    """Lua 5.4 if the wheel has it, as the reference builds use, else the newest there is."""
    try:
        from lupa.lua54 import LuaRuntime
    except ImportError:
        try:
            from lupa import LuaRuntime
        except ImportError:
            raise InputError(Problem("!LuaMap", "needs the package lupa", advice="pip install lupa")) from None
    return LuaRuntime


@cache
def _additions() -> dict[str, Any]:
    def scalar(function: Any) -> Any:
        def call(*values: float) -> float:
            with np.errstate(all="ignore"):
                return float(function(*(np.float64(v) for v in values)))

        return call

    return {name: scalar(function) for name, function in LUA_ADDITIONS.items()}


@tag("!LuaMap")
@dataclass(frozen=True, kw_only=True)
class LuaMap(Component):
    """``f(x)`` for each point; ``x`` is indexed by name and by position in the sorted dimensions."""

    keys = frozenset({"returns", "function", "components"})

    runtime: Any
    apply: Any
    inputs: tuple[str, ...]
    body: Block

    @classmethod
    def build(cls, block: Block, inputs: tuple[str, ...], builder: Builder) -> Component:
        given = block.require("returns")
        returns = given.names("'returns'") if given.is_list else [given.text("'returns'")]
        body = block.require("function")
        runtime = _runtime_class()(
            register_eval=False,
            register_builtins=False,
            unpack_returned_tuples=True,
            attribute_filter=_deny,
            max_memory=MEMORY_LIMIT,
        )
        additions = runtime.table_from(_additions())
        loaded = runtime.eval(_DRIVER)(body.text("'function'"), additions, INSTRUCTION_LIMIT)
        if isinstance(loaded, tuple):
            raise InputError(cls._problem(body, str(loaded[1])))
        outputs = tuple(sorted(returns))
        children = builder.children(block, outputs)
        return cls(
            where=block.where,
            outputs=outputs,
            children=children,
            runtime=runtime,
            apply=loaded,
            inputs=inputs,
            body=body,
        )

    @staticmethod
    def _problem(body: Block, message: str) -> Problem:
        if message == "missing":
            return Problem(body.where, "the Lua text defines no function f", "function f(x) ... end")
        where, text = _place(body, message)
        return Problem(where, f"Lua: {text}")

    def transform(self, batch: Batch, wanted: Iterable[str]) -> Values:
        names = tuple(wanted)
        result = {name: np.empty(len(batch)) for name in names}
        for first in range(0, len(batch), CHUNK):
            part = slice(first, min(first + CHUNK, len(batch)))
            for name, values in zip(names, self._chunk(batch, part, names), strict=True):
                result[name][part] = values
        return result

    def _chunk(self, batch: Batch, part: slice, names: tuple[str, ...]) -> list[Floats]:
        table = self.runtime.table_from
        columns = table([table(batch.columns[name][part].tolist()) for name in self.inputs])
        outputs = [table([]) for _ in names]
        count = part.stop - part.start
        failed, message = self.apply(count, table(self.inputs), columns, table(names), table(outputs))
        if failed:
            bad = np.zeros(len(batch), dtype=bool)
            bad[part.start + failed - 1] = True
            where, text = _place(self.body, str(message))
            raise batch.failure(where, f"Lua: {text}", bad)
        return [np.fromiter(output.values(), dtype=np.float64, count=count) for output in outputs]


def _place(body: Block, message: str) -> tuple[str, str]:
    """Lua's 'deck:3: text' as the place in the YAML file and the text."""
    match = re.match(r"deck:(\d+): (.*)", message, re.DOTALL)
    if match is None:
        return body.where, message
    lines = body.text().split("\n")
    line = min(int(match.group(1)), len(lines))
    start = sum(len(text) + 1 for text in lines[: line - 1])
    indent = len(lines[line - 1]) - len(lines[line - 1].lstrip())
    return body.locate(start + indent), match.group(2)
