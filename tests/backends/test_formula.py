"""Formulas in the text of every backend: each value is written once, in time proportional to their number."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faultwave import backends
from faultwave.backends.cpu import stencil as cpu_stencil
from faultwave.backends.cpu.lower import lower as lower_cpu
from faultwave.backends.device.lower import lower as lower_device
from faultwave.backends.device.stencil import lower_launch
from faultwave.backends.device.target import TARGETS
from faultwave.backends.grid import GridArrays
from faultwave.dg.fault.points import point_rule
from faultwave.dg.fault.rupture import FrictionOptions, FrictionSizes, rupture
from faultwave.dg.method.predictors.taylor import face_rows
from faultwave.kernels import math as m
from faultwave.kernels.language import Kernel
from faultwave.kernels.stencil import Box, Launch, Layout, Program, Stencil
from faultwave.physics.friction import laws as friction_laws
from tests.backends.here import present
from tests.kernels import formulas
from tests.kernels.formulas import calls, nested

DEVICES = {"cuda": "sm_90", "hip": "gfx90a", "opencl": "opencl"}


def kernel(depth: int) -> Kernel:
    k = Kernel("nested")
    y = k.batch("values", 4, 1, "inout")
    k.pointwise(lambda v: [[nested(v[0], depth)]], [y], [y])
    return k


def stencils(depth: int) -> tuple[Program, GridArrays]:
    box = Box((0, 0, 0), (4, 4, 8))
    stencil = Stencil("nested", lambda p: {"a": nested(p.at("a"), depth)})
    program = Program("nested", box, {"a": Layout(box)}, [[Launch(stencil, box)]], {})
    return program, GridArrays(program, np.float64, 4)


def stencil_on(device: str) -> Callable[[int], str]:
    def text(depth: int) -> str:
        program, arrays = stencils(depth)
        return lower_launch(program, arrays, program.levels[0][0], "nested", TARGETS[DEVICES[device]]).text

    return text


TEXTS: dict[str, Callable[[int], str]] = {
    "cpu": lambda depth: lower_cpu(kernel(depth), "double", 4),
    "cpu stencil": lambda depth: cpu_stencil.lower(*stencils(depth), 4),
    **{d: lambda depth, d=d: lower_device(kernel(depth), TARGETS[DEVICES[d]], False)[0] for d in DEVICES},  # type: ignore[misc]
    **{f"{d} stencil": stencil_on(d) for d in DEVICES},
}


def named(where: str, depth: int) -> int:
    """Values of the formula: a square, a half and a sum a level, from one input and one constant. Stencils on processors have it once for a
    plane and once for two planes at once, which share the constant; sums join the squares there."""
    one = 2 + 3 * depth
    return 3 * (one - depth) - 1 if where == "cpu stencil" else one


def emitted(text: str) -> int:
    """Values that get a name. One that a compiler has to keep (HOLD) is no constant."""
    return len(re.findall(r"^\s*(?:const )?VM? f[\d_]+ = ", text, re.MULTILINE))


@pytest.mark.parametrize("where", TEXTS)
def test_a_value_used_three_times_is_written_once(where: str) -> None:
    """y <- y^2 + y/2: walking every use took 3^40 steps."""
    text = TEXTS[where]
    assert emitted(text(7)) == named(where, 7)
    low, middle, high = (calls(lambda depth=depth: text(depth)) for depth in (1, 7, 13))  # type: ignore[misc]
    assert high - middle <= 1.2 * (middle - low)
    assert emitted(text(40)) == named(where, 40)
    middle, high, highest = (calls(lambda depth=depth: text(depth)) for depth in (40, 80, 120))  # type: ignore[misc]
    assert highest - high <= 1.2 * (high - middle)


@pytest.mark.parametrize("where", TEXTS)
def test_formulas_may_be_deep(where: str) -> None:
    assert emitted(TEXTS[where](5_000)) == named(where, 5_000)


@pytest.mark.parametrize("name", friction_laws())
def test_friction_writes_every_value_once(name: str) -> None:
    """No two lines of a formula compute the same from the same; what loops change is not the same."""
    law, order = friction_laws()[name], 3
    constants = {c.name: c.default if c.default is not None else 1.0 for c in law.constants}
    points = len(point_rule("symmetric", order - 1).weights)
    made = rupture(law, constants, FrictionSizes(tuple(face_rows(order)), points, 1, FrictionOptions(order)))
    for text in (lower_cpu(made, "double", 4), lower_device(made, TARGETS["sm_90"], False)[0]):
        changing = set(re.findall(r"^ *VM? (f\d+_\d+) = ", text, re.MULTILINE))
        lines = re.findall(r"^ *const VM? (f\d+_)\d+ = (.*);", text, re.MULTILINE)
        same = [line for line in lines if not changing.intersection(re.findall(r"\w+", line[1]))]
        assert len(same) > 200 and len(set(same)) == len(same)


def test_what_no_row_changes_stands_before_the_rows() -> None:
    k = Kernel("hoisted")
    x, one = k.batch("rows", 5, 1, "inout"), k.batch("one", 1, 1)
    k.pointwise(lambda x, z: [[m.sqrt(z[0]) * x[0]]], [x, one], [x])
    text = lower_cpu(k, "double", 4)
    assert text.index("v_sqrt(f1") < text.index("for (int r = 0; r < 5") < text.index("rows[0 + 0 + r * 1] =")


@pytest.mark.parametrize("name", present([n for n in backends.names() if n != "numpy"]))
@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(programs=st.lists(formulas.programs(), min_size=8, max_size=8))
def test_random_formulas_agree_with_numpy(name: str, programs: list[formulas.Program]) -> None:
    """Each output within rounding of the reference: sums may be fused with products."""

    def function(x: Any, one: Any) -> list[Any]:
        return [[formulas.formula(p, [x[0], x[1], one[0]][: p.inputs])[-1] for p in programs]]

    k = Kernel("random")
    x, one, out = k.batch("rows", 3, 2), k.batch("one", 1, 1), k.batch("out", 3, len(programs), "out")
    k.pointwise(function, [x, one], [out])
    found = []
    for backend in (backends.make("numpy"), backends.make(name, "double", 1)):
        rng = np.random.default_rng(programs[0].seed)
        made: dict[str, Any] = {a.name: backend.batch(32, a.rows, a.cols) for a in k.arguments}
        for a in ("rows", "one"):
            made[a].put(rng.uniform(-1.0, 1.0, (32, k.arrays[a].rows, k.arrays[a].cols)))
        backend.compile([k])["random"](made)(0, 32)
        backend.finish()
        found.append(made["out"].get())
    np.testing.assert_allclose(found[1], found[0], atol=1e-12)


@pytest.mark.parametrize("name", present([n for n in backends.names() if n != "numpy"]))
def test_rows_that_write_much_read_before_they_write(name: str) -> None:
    """Each number of a row becomes its neighbour, in place: from so many on, numbers are written as soon as they are known."""
    count = 48
    k = Kernel("shifted")
    x = k.batch("rows", 3, count, "inout")
    k.pointwise(lambda row: [[2.0 * row[(i + 1) % count] + row[i - 7] for i in range(count)]], [x], [x])
    backend = backends.make(name, "double", 1)
    values = np.random.default_rng(0).uniform(-1.0, 1.0, (32, 3, count))
    buffer = backend.batch(32, 3, count)
    buffer.put(values)
    backend.compile([k])["shifted"]({"rows": buffer})(0, 32)
    backend.finish()
    np.testing.assert_allclose(buffer.get(), 2.0 * np.roll(values, -1, 2) + np.roll(values, 7, 2), atol=1e-14)
