"""`!LuaMap`: values, inputs by name and position, errors with places, and the walls of the sandbox."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.media.easi.components import lua

pytest.importorskip("lupa")


def model(body: str, returns: str = "p") -> str:
    lines = "\n".join("  " + line for line in body.splitlines())
    return f"!LuaMap\nreturns: {returns}\nfunction: |\n{lines}\n"


def test_inputs_by_name_and_sorted_position(easi, at):
    field = easi(model("function f(x)\n  return {p = x['z'] * 100 + x[1] * 10 + x.y, q = x[3]}\nend", "[q, p]"))
    assert field.parameters == {"p", "q"}
    assert at(field, "p", [[1, 2, 3], [4, 5, 6]]) == [312, 645]
    assert at(field, "q", [[1, 2, 3]]) == [3]


def test_parents_and_children(easi, at):
    field = easi("""
        !FunctionMap
        map: {b: return z;, A: return x;}
        components: !LuaMap
          returns: [w]
          function: |
            local scale = 2
            function f(x) return {w = scale * (x[1] + 100 * x[2])} end
          components: !FunctionMap {map: {p: return w + 1;}}
    """)
    assert at(field, "p", [[1, 0, 3]]) == [2 * 301 + 1]


def test_math_has_c_functions_too(easi, at):
    field = easi(model(
        "function f(x)\n return {p = math.erf(x[1]) + math.pow(2, 3) + math.cosh(0) + math.round(2.5) "
        "+ math.log10(100) + math.floor(1.5) + math.max(1, 2), q = math.acosh(0.5)}\nend", "[p, q]"))  # fmt: skip
    assert at(field, "p", [[0.3, 0, 0]])[0] == pytest.approx(math.erf(0.3) + 8 + 1 + 3 + 2 + 1 + 2, rel=1e-15)
    assert math.isnan(at(field, "q", [[0, 0, 0]])[0])


def test_agrees_with_function_map_on_many_points(easi):
    points = np.random.default_rng(1).uniform(-1e4, 1e4, (lua.LARGEST + 17, 3))
    groups = np.ones(len(points), dtype=int)
    scripted = easi(model("function f(x)\n if x.z < 0 then return {p = x.x / x.y} end\n return {p = 2 * x.z}\nend"))
    values = scripted.evaluate(points, groups, ["p"])["p"]
    formula = easi("!FunctionMap {map: {p: 'if (z < 0) { return x / y; } return 2 * z;'}}")
    np.testing.assert_array_equal(values, formula.evaluate(points, groups, ["p"])["p"])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("function f(x)\n  return {p = }\nend", r"model.yaml:5:5: Lua: unexpected symbol"),
        ("g = 1", r"model.yaml:3:11: the Lua text defines no function f"),
        ("error('no')", r"model.yaml:4:3: Lua: no"),
    ],
)
def test_wrong_text_is_told_when_read(easi, body, message):
    with pytest.raises(InputError, match=message):
        easi(model(body))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("function f(x)\n\n  return {p = x.nothing + 1}\nend", r"model.yaml:6:5: Lua: attempt to perform arithmetic"),
        ("function f(x) return {q = 1} end", "returned no number for 'p' but a nil"),
        ("function f(x) return {p = 'one'} end", "returned no number for 'p' but a string"),
        ("function f(x) return 1 end", "f returned a number instead of a table"),
        ("function f(x) error({}) end", r"Lua: error\(...\) with a table"),
        ("function f(x)\n if x.x > 1 then error('deep') end\n return {p = 1}\nend", "deep"),
    ],
)
def test_failure_at_a_point_is_told_with_coordinates(easi, at, body, message):
    field = easi(model(body))
    with pytest.raises(InputError, match=message) as caught:
        at(field, "p", [[2, 3, 4]])
    assert "at 1 point(s): (2, 3, 4)" in str(caught.value)


@pytest.mark.parametrize(
    "expression",
    [
        "os.time()", "io.open('/etc/passwd')", "require('os')", "load('return 1')()", "debug.getinfo(1)",
        "python.eval('1')", "package.path", "_G.os.time()", "dofile('x')", "string.dump(f)", "collectgarbage()",
        "math.erf.__globals__", "getmetatable('').__index", "rawget(_ENV, 'x')", "coroutine.create(f)",
    ],
)  # fmt: skip
def test_nothing_outside_the_sandbox_is_reached(easi, at, expression):
    field = easi(model(f"function f(x)\n  local y = {expression}\n  return {{p = 1}}\nend"))
    with pytest.raises(InputError, match="Lua: "):
        at(field, "p", [[0, 0, 0]])


def test_library_changes_stay_inside(easi, at):
    easi(model("math.floor = nil\nstring.format = nil\nfunction f(x) return {p = 1} end"))
    assert at(easi(model("function f(x) return {p = math.floor(2.5)} end")), "p", [[0, 0, 0]]) == [2]


def test_endless_loops_and_hoarding_end(easi, at, monkeypatch):
    monkeypatch.setattr(lua, "INSTRUCTION_LIMIT", 100_000)
    with pytest.raises(InputError, match="more than 100000 instructions"):
        at(easi(model("function f(x) while true do end end")), "p", [[0, 0, 0]])
    with pytest.raises(InputError, match="more than 100000 instructions"):
        easi(model("while true do end"))
    # the limit is for one point, not for all together
    busy = easi(model("function f(x) local s = 0 for i = 1, 5000 do s = s + i end return {p = s} end"))
    assert at(busy, "p", np.zeros((50, 3))) == [12502500.0] * 50
    monkeypatch.setattr(lua, "MEMORY_LIMIT", 20_000_000)
    with pytest.raises(InputError, match="memory"):
        at(easi(model("function f(x) return {p = #string.rep('a', 1000000000)} end")), "p", [[0, 0, 0]])


ENDLESS = {
    "rep": "string.rep('', 1e15)",
    "move": "table.move({}, 1, 1e15, 2, {})",
    "find": "string.find(string.rep('a', 5000), '.-.-.-.-.-.-b')",
    "gsub": "string.gsub(string.rep('a', 1e5), 'a.-a.-b', '')",
    "method": "(''):rep(1e15, '')",
    "sort": "(function() local t = {} for i = 1, 3e5 do t[i] = i end local a = setmetatable and 1 "
    "while true do table.concat(t) end end)()",
    "format": "(function() local s = string.rep('%s', 200) while true do s:rep(1e5):len() end end)()",
}  # fmt: skip


@pytest.mark.parametrize("name", ENDLESS)
def test_what_never_returns_from_luas_own_library_ends(easi, at, monkeypatch, name):
    """Hooks that count instructions are not called there."""
    monkeypatch.setattr(lua, "SECONDS", 0.3)
    monkeypatch.setattr(lua, "SLOWEST", 1e9)
    field = easi(model(f"function f(x)\n if x.x > 0 then local y = {ENDLESS[name]} end\n return {{p = 1}}\nend"))
    begun = time.monotonic()
    with pytest.raises(InputError, match=r"does not finish within 0.3 s at a point|instructions") as caught:
        at(field, "p", [[0, 0, 0], [7, 8, 9]])
    assert time.monotonic() - begun < 10 and "(7, 8, 9)" in str(caught.value)
    assert at(field, "p", [[0, 0, 0]]) == [1]  # another process goes on
    with pytest.raises(InputError, match=r"does not finish|instructions"):
        easi(model(f"local y = {ENDLESS[name]}\nfunction f(x) return {{p = 1}} end"))


def test_a_slow_script_is_refused_before_a_mesh_of_points(easi, at, monkeypatch):
    monkeypatch.setattr(lua, "SECONDS", 0.5)
    monkeypatch.setattr(lua, "SLOWEST", 1e-5)
    field = easi(model("function f(x) local s = 0 for i = 1, 100000 do s = s + i end return {p = s} end"))
    with pytest.raises(InputError, match=r"s a point \(at most 1e-05 s\)"):
        at(field, "p", np.zeros((2000, 3)))


def test_an_interrupted_script_leaves_no_answer_behind(easi, at, monkeypatch):
    field = easi(model("function f(x) return {p = x.x} end"))
    assert at(field, "p", [[1, 0, 0]]) == [1]

    def interrupted(*given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(lua.LuaProcess, "_line", interrupted)
        at(field, "p", [[2, 0, 0]])
    assert at(field, "p", [[3, 0, 0]]) == [3]


def test_a_process_that_was_killed_comes_again(easi, at):
    field = easi(model("function f(x) return {p = x.x} end"))
    assert at(field, "p", [[1, 0, 0]]) == [1]
    lua.LUA.process.kill()
    lua.LUA.process.wait()
    assert at(field, "p", [[2, 0, 0]]) == [2]
