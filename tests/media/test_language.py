"""The function language: agreement with Python's arithmetic, control flow by masks, errors with places."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultwave.base.errors import InputError
from faultwave.media.easi.language import compile_program, parse, parse_expression
from faultwave.media.easi.source import Source
from faultwave.media.field import Expression

X = np.array([-3.5, -1.0, -0.25, 0.0, 0.5, 1.0, 2.0, 7.25])
Y = np.array([2.0, -0.5, 1.5, 3.0, 0.0, 1.0, -4.0, 0.125])


def run(text: str, **columns: np.ndarray) -> np.ndarray:
    given_columns = columns or {"x": X, "y": Y}
    count = len(next(iter(given_columns.values())))
    program = parse(text, tuple(given_columns), Source.of(Path("f"), text).place)
    values, returned = compile_program(program)(given_columns, count)
    assert returned.all()
    assert values.shape == (count,)
    return values


def fails(text: str, inputs: tuple[str, ...] = ("x", "y")) -> str:
    with pytest.raises(InputError) as caught:
        parse(text, inputs, Source.of(Path("f"), text).place)
    return str(caught.value)


# -- random expressions: the same text is valid in both languages, and means the same -------------------------------
numbers = st.integers(0, 99).map(str) | st.floats(0, 50, width=16).map(lambda v: f"{v:.4f}") | st.just("3.")
leaves = numbers | st.sampled_from(["x", "y"])


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/"]), inner).map(" ".join),
        inner.map(lambda e: f"({e})"),
        inner.map(lambda e: f"-({e})"),
        st.tuples(st.sampled_from(["abs", "sqrt", "exp", "tanh", "floor"]), inner).map(lambda t: f"{t[0]}({t[1]})"),
        st.tuples(st.sampled_from(["min", "max", "pow"]), inner, inner).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
    )


expressions = st.recursive(leaves, _larger, max_leaves=12)
NAMES = {
    "abs": np.abs, "sqrt": np.sqrt, "exp": np.exp, "tanh": np.tanh, "floor": np.floor,
    "min": np.minimum, "max": np.maximum, "pow": np.power,
}  # fmt: skip


def python_value(text: str, x: float, y: float) -> float:
    """Python's own parser and evaluator on IEEE doubles, so that 1/0 is inf as in the language."""
    doubles = re.sub(r"\d+(\.\d*)?", r"N(\g<0>)", text)
    with np.errstate(all="ignore"):
        return float(eval(doubles, {"__builtins__": {}}, {**NAMES, "N": np.float64, "x": x, "y": y}))


@settings(max_examples=150, deadline=None)
@given(expressions)
def test_expressions_mean_what_python_means(text: str) -> None:
    expected = [python_value(text, x, y) for x, y in zip(X, Y, strict=True)]
    np.testing.assert_allclose(run(f"return {text};"), expected, rtol=1e-13, atol=0)


@settings(max_examples=100, deadline=None)
@given(expressions, expressions, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), expressions, expressions)
def test_branches_take_each_point_its_own_way(a: str, b: str, comparison: str, yes: str, no: str) -> None:
    body = f"u = {a}; if (u {comparison} {b}) {{ v = {yes}; }} else {{ return {no}; }} return v + u;"
    expected = []
    for x, y in zip(X, Y, strict=True):
        u, limit = python_value(a, x, y), python_value(b, x, y)
        truth = eval(f"u {comparison} limit", {"u": u, "limit": limit})
        with np.errstate(all="ignore"):
            expected.append(np.float64(python_value(yes, x, y)) + u if truth else python_value(no, x, y))
    agree = np.isclose(run(body), expected, rtol=1e-12, atol=0, equal_nan=True)
    # Rounding may flip the comparison of two numbers that are equal but for it; nothing else may differ.
    for k in np.flatnonzero(~agree):
        assert math.isclose(python_value(a, X[k], Y[k]), python_value(b, X[k], Y[k]), rel_tol=1e-12)


def test_left_associative_with_note_of_what_others_regroup() -> None:
    np.testing.assert_array_equal(run("return x - 2 - 3;"), X - 5)
    np.testing.assert_array_equal(run("return 8 / 4 / 2 + 0*x;"), np.ones(8))
    np.testing.assert_array_equal(run("return 8 / 4 * 2 + 0*x;"), np.full(8, 4.0))
    np.testing.assert_array_equal(run("return 2 - 3 + 4 + 0*x;"), np.full(8, 3.0))

    def regrouped(text: str) -> tuple[int, ...]:
        return parse_expression(text, ("x",), str).regrouped

    assert regrouped("x - 2 - 3") == (6,)
    assert regrouped("x / 2 * 3") == (6,)
    assert regrouped("x - 2 + 3") == (6,)
    for same in ("(x - 2) - 3", "x + 2 - 3", "x * 2 / 3", "x - 2 * 3", "x - (2 - 3)", "2 * x / 3 - 1"):
        assert regrouped(same) == (), same


def test_functions() -> None:
    np.testing.assert_array_equal(
        run("return round(x);", x=np.array([0.5, -0.5, 1.5, 2.5, -2.5, 0.49999999999999994, 3.2])),
        [1, -1, 2, 3, -3, 0, 3],  # C's round: halves away from zero
    )
    np.testing.assert_array_equal(run("return max(x, y, 0);"), np.maximum(np.maximum(X, Y), 0))
    np.testing.assert_array_equal(run("return trunc(x) + cbrt(8);"), np.trunc(X) + 2)
    assert run("return pow(10,6);")[0] == 1e6
    assert run("return erf(1) + log2(8) + log10(1000) + ceil(1.2);")[0] == pytest.approx(math.erf(1) + 8)
    assert run("return acos(1)+asin(0)+atan(0)+sinh(0)+cosh(0)+tan(0)+sin(0)+cos(0)+log(1)+tanh(0);")[0] == 2


def test_conditions_join_and_nest() -> None:
    inside = (X > -1) & (Y < 2) | (X == -3.5)
    for text in (
        "x > -1 && y < 2 || x == 0-3.5",
        "((x > -1) && (y < 2)) || (x == -3.5)",
        "((x+0) > -1 && y < 2) || x == -3.5",
    ):
        np.testing.assert_array_equal(run(f"if ({text}) {{ return 1; }} return 0;"), inside.astype(float))


def test_nested_ifs_without_else_if() -> None:
    text = "if (x < 0) { return 1; } else { if (x < 1) { a = 2; } else { a = 3; } a = a * 10; } return a + x;"
    np.testing.assert_array_equal(run(text), np.where(X < 0, 1, np.where(X < 1, 20 + X, 30 + X)))


def test_names_may_begin_with_keywords_and_locals_hide_inputs() -> None:
    np.testing.assert_array_equal(
        run("ifx = x; elsewhere = 2; returned = 1; return ifx*elsewhere+returned;"), 2 * X + 1
    )
    np.testing.assert_array_equal(run("if (x > 0) { x = 0; } return x;"), np.minimum(X, 0))


def test_division_by_zero_is_infinite() -> None:
    values = run("return tanh(1/(x-2)) + 1/0;", x=np.array([2.0]))
    assert values[0] == np.inf


def test_long_chains_do_not_exhaust_the_stack() -> None:
    text = "return " + " + ".join(["x"] * 5000) + ";"
    np.testing.assert_allclose(run(text), 5000 * X)


def test_points_that_never_return_are_marked() -> None:
    program = parse("if (x > 0) { return 1; }", ("x",), str)
    values, returned = compile_program(program)({"x": X}, len(X))
    np.testing.assert_array_equal(returned, X > 0)
    assert np.isnan(values[~returned]).all()


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("return 1e3;", "f:1:8", "pow(10,6)"),
        ("return 2.5e-7*x;", "f:1:8", "'2.5e-7' is not a number"),
        ("return .5;", "f:1:8", "Write 0.5"),
        ("return x % 2;", "f:1:10", "no remainder"),
        ("# note\nreturn x;", "f:1:1", "no comments"),
        ("return xx;", "f:1:8", "did you mean 'x'"),
        ("return sqr(x);", "f:1:8", "did you mean 'sqrt'"),
        ("return pow(x);", "f:1:8", "2 arguments"),
        ("return min(x);", "f:1:8", "at least 2 arguments"),
        ("return x", "f:1:9", "expected ';'"),
        ("a = x;\nreturn a +;", "f:2:11", "found ';'"),
        ("if (x > 0) { return 1;", "f:1:23", "expected '}'"),
        ("if (x) { return 1; }", "f:1:5", "is a number"),
        ("return x > 0;", "f:1:8", "no numerical value"),
        ("return (x > 0) + 1;", "f:1:8", "takes numbers"),
        ("if (x && y > 1) { return 1; }", "f:1:5", "takes conditions"),
        ("if (x < y < 1) { return 1; }", "f:1:5", "takes numbers"),
        ("if (x > 0) { return 1; } else if (x < 0) { return 2; }", "f:1:31", "else { if"),
        ("else { return 1; }", "f:1:1", "without 'if'"),
        ("a = a + 1; return a;", "f:1:5", "unknown name 'a'"),
        ("a = x;", "f:1:7", "never returns"),
        ("return x ^ 2;", "f:1:10", "pow(a, b)"),
        ("return (x;", "f:1:10", "to close the bracket"),
        ("return if;", "f:1:8", "found 'if'"),
        ("", "f:1:1", "never returns"),
        ("return " + "(" * 500 + "x" + ")" * 500 + ";", "f:1:", "levels deep"),
    ],
)
def test_errors_say_where_and_what(text: str, place: str, message: str) -> None:
    told = fails(text)
    assert told.startswith(place), told
    assert message in told


@pytest.mark.parametrize(
    ("text", "expected"), (("1e8", 1e8), ("2.5E-3 * x", 2.5e-3), ("-x / 1.e+2", -1e-2), ("1e3-1e2", 900.0))
)
def test_exponents_in_native_cases(text: str, expected: float) -> None:
    """Settings of a case take numbers with exponents; files for easi do not, as the reference implementation."""
    field = Expression.of({"p": text})
    assert field.evaluate(np.ones((1, 3)), np.zeros(1, np.int64), ["p"])["p"] == pytest.approx([expected], rel=1e-15)
    assert "is not a number" in fails(f"return {text};")


@pytest.mark.parametrize("text", ("1e", "1e+", "1e5x", "1e5.5", "1ee5"))
def test_what_is_no_exponent(text: str) -> None:
    with pytest.raises(InputError, match=re.escape("(allowed: digits[.digits][e[+-]digits])")):
        Expression.of({"p": text})
