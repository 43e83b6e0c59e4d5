"""Value numbering: one number for what is computed alike, the same results as the formula, time in proportion to its nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from faultwave.kernels import math as m
from faultwave.kernels.count import cost
from faultwave.kernels.expr import Expr, wrap
from faultwave.kernels.language import Kernel
from faultwave.kernels.stencil import Stencil
from faultwave.kernels.stencil import cost as stencil_cost
from faultwave.kernels.values import FREE, ROW, Numbering
from tests.kernels.formulas import Program, calls, formula, nested, programs

NUMPY: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative, "lt": np.less,
    "le": np.less_equal, "and": np.logical_and, "or": np.logical_or, "not": np.logical_not, "where": np.where,
}  # fmt: skip


def evaluate(numbering: Numbering, number: int, known: dict[int, Any]) -> Any:
    """A value by its operation alone; ``known``: inputs, variables and what was computed before."""
    value = numbering.values[number]
    if number not in known and value.op == "const":
        known[number] = value.content
    elif number not in known and value.op == "result":
        at, _ = value.content
        known |= zip(numbering.loops[at].results, repeated(numbering, at, known), strict=True)
    elif number not in known:
        arguments = [evaluate(numbering, a, known) for a in value.args]
        known[number] = (NUMPY.get(value.op) or getattr(m, value.op))(*arguments)
    return known[number]


def repeated(numbering: Numbering, at: int, known: dict[int, Any]) -> list[Any]:
    """The results of a loop; an item that is not active any more keeps what it has."""
    loop = numbering.loops[at]
    now, running = [evaluate(numbering, n, known) for n in loop.initial], True
    for _ in range(loop.maximum):
        outside = {n: x for n, x in known.items() if loop.key not in numbering.values[n].depends}
        inside = outside | dict(zip(loop.variables, now, strict=True))
        running = running & evaluate(numbering, loop.active, inside)
        new = [evaluate(numbering, n, inside) for n in loop.values]
        now = [np.where(running, a, b) for a, b in zip(new, now, strict=True)]
    return now


@settings(max_examples=200)
@given(programs())
def test_numbered_values_compute_what_the_formula_computes(program: Program) -> None:
    inputs = np.random.default_rng(program.seed).uniform(-1.0, 1.0, (program.inputs, 7))
    numbering = Numbering()
    nodes = [Expr("input", value=i) for i in range(program.inputs)]
    results = [numbering.number(wrap(e)) for e in formula(program, nodes)]
    known = {numbering.number(e): x for e, x in zip(nodes, inputs, strict=True)}
    for number, want in zip(results, formula(program, list(inputs)), strict=True):
        np.testing.assert_array_equal(np.broadcast_to(evaluate(numbering, number, known), 7), np.broadcast_to(want, 7))


@settings(max_examples=100)
@given(programs())
def test_every_value_is_there_once_and_after_its_operands(program: Program) -> None:
    numbering = Numbering()
    for e in formula(program, [Expr("input", value=i) for i in range(program.inputs)]):
        numbering.number(wrap(e))
    assert all(a < n for n, v in enumerate(numbering.values) for a in v.args)
    found = [(v.op, v.args, repr(v.content)) for v in numbering.values]
    assert len(set(found)) == len(found)


def test_equal_operations_are_one_value_and_others_are_not() -> None:
    x, y = Expr("input", value="x"), Expr("input", value="y")
    number = Numbering().number
    assert number(x * y + 1.0) == number(Expr("input", value="x") * y + 1.0)
    different = [x * y, y * x, x + y, x - y, -x, m.exp(x), m.minimum(x, y), x < y, x <= y, wrap(0.0), wrap(-0.0)]
    assert len({number(e) for e in different}) == len(different)
    assert number(wrap(float("nan"))) == number(wrap(float("nan")))


def test_values_depend_on_the_row_and_on_the_loops_around_them() -> None:
    row, one = Expr("input", value="row"), Expr("input", value="one")
    inside: list[Expr] = []

    def step(x: Any) -> Any:
        inside.extend([x + one, one * 2.0])
        return (inside[0] * row,), x > one

    (result,) = m.iterate(step, (one,), 5)
    numbering = Numbering(lambda key: key == "row")

    def depends(e: Expr) -> frozenset:
        return numbering.values[numbering.number(e)].depends

    assert depends(result) == {ROW} and depends(one * one) == frozenset() and depends(row + one) == {ROW}
    assert depends(inside[0]) == {numbering.loops[0].key} and depends(inside[1]) == frozenset()


def test_loops_are_their_own() -> None:
    x = Expr("input", value="x")

    def halved() -> Expr:
        return m.iterate(lambda v: ((0.5 * v,), v > 1.0), (x,), 9)[0]

    one, other = halved(), halved()
    number = Numbering().number
    assert number(one) != number(other) and number(one) == number(one)


def test_replaced_values_enter_what_is_computed_from_them() -> None:
    x, y = Expr("input", value="x"), Expr("input", value="y")
    plain = Numbering()
    before = [plain.number(e) for e in (x, x + y, m.sqrt(x + y), y)]
    after = plain.replacing({plain.number(x + y): plain.number(y)})
    assert [after.number(e) for e in (x, x + y, y)] == [before[0], before[3], before[3]]
    assert after.number(m.sqrt(x + y)) == plain.number(m.sqrt(y)) != before[2]


# ---- the rule by which operations count -----------------------------------------------------------------------------

OPERATIONS: dict[str, tuple[int, Callable[[Any, Any], Any]]] = {
    "sum": (1, lambda x, y: x + y),
    "difference": (1, lambda x, y: x - y),
    "product": (1, lambda x, y: x * y),
    "quotient": (1, lambda x, y: x / y),
    "negative": (0, lambda x, y: -x),
    "absolute": (0, lambda x, y: m.abs(x)),
    "choice": (0, lambda x, y: m.where((x < y) & ~(y <= 3.0) | (x > 1.0), x, y)),
    "root": (1, lambda x, y: m.sqrt(x)),
    "function": (1, lambda x, y: m.asinh(x)),
    "function of two": (1, lambda x, y: m.hypot(x, y)),
    "maximum": (1, lambda x, y: m.maximum(x, y)),
    "square of a sum": (2, lambda x, y: (x + y) * (x + y)),
    "rounds of a loop": (2, lambda x, y: m.iterate(lambda v: ((v * y,), v - y > 0.0), (x,), 9)[0]),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_kernels_and_stencils_count_by_one_rule(name: str) -> None:
    flops, function = OPERATIONS[name]
    k = Kernel("counted")
    x, y = k.batch("first", 3, 1), k.batch("second", 3, 1, "inout")
    k.pointwise(lambda a, b: [[function(a[0], b[0])]], [x, y], [y])
    assert cost(k).flops == 3 * flops
    assert stencil_cost(Stencil("s", lambda p: {"b": function(p.at("a"), p.at("b"))}))[0] == flops


def test_only_what_is_no_arithmetic_is_free() -> None:
    assert {"const", "input", "variable", "result", "neg", "abs", "where", "lt", "le", "and", "or", "not"} == FREE


# ---- time ------------------------------------------------------------------------------------------------------------


def count_kernel(depth: int) -> Callable[[], Any]:
    k = Kernel("nested")
    y = k.batch("values", 2, 1, "inout")
    k.pointwise(lambda v: [[nested(v[0], depth)]], [y], [y])
    return lambda: cost(k)


def count_stencil(depth: int) -> Callable[[], Any]:
    stencil = Stencil("nested", lambda p: {"a": nested(p.at("a"), depth)})
    return lambda: stencil_cost(stencil)


@pytest.mark.parametrize("make", [count_kernel, count_stencil])
def test_counting_takes_time_in_proportion_to_nodes(make: Callable[[int], Callable[[], Any]]) -> None:
    """y <- y^2 + y/2 uses every value three times: going along every use would take 3^depth visits."""
    low, middle, high = (calls(make(depth)) for depth in (1, 7, 13))
    assert high - middle <= 1.2 * (middle - low)
    low, middle, high = (calls(make(depth)) for depth in (1, 41, 81))
    assert high - middle <= 1.2 * (middle - low)


def test_nested_formulas_count_every_value_once() -> None:
    assert count_kernel(40)().flops == 2 * 3 * 40
    assert count_stencil(40)()[0] == 3 * 40


def test_formulas_may_be_deep() -> None:
    assert count_kernel(20_000)().flops == 2 * 3 * 20_000
    x = Expr("input", value=0)
    for _ in range(2_000):  # a loop that begins with what the loop before it found
        (x,) = m.iterate(lambda v: ((0.5 * v,), v > 1.0), (x,), 3)
    assert Numbering().number(x) > 2_000
