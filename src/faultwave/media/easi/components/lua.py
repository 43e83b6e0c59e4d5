"""`!LuaMap`: a Lua function of one point, run in a separate process in a sandbox without files, modules or Python."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.media.easi.component import Batch, Builder, Component, Values, tag
from faultwave.media.easi.lua_child import MISSING, NO_LUPA
from faultwave.media.easi.lua_process import LUA, Script, ScriptError
from faultwave.media.easi.source import Block

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
