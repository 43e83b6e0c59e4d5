"""Compilation of syntax trees of the function language to functions on whole NumPy columns.

Control flow becomes masks: both branches of an ``if`` are computed for all points and each point uses the values of its
own path. Division by zero and overflow give infinities as in the language's C arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from faultwave.media.easi.language import Assign, Binary, Call, Expression, If, Name, Number, Program, Return, Statement
from faultwave.media.easi.mathlib import FUNCTIONS
from faultwave.media.points import Floats

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Mask = NDArray[np.bool_]
Evaluator = Callable[[Mapping[str, Any]], Any]

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "==": np.equal,
    "!=": np.not_equal,
    "<=": np.less_equal,
    ">=": np.greater_equal,
    "<": np.less,
    ">": np.greater,
    "&&": np.logical_and,
    "||": np.logical_or,
}


def _evaluator(tree: Expression) -> Evaluator:
    """Return a closure that computes ``tree`` from the variables' columns.

    Constants stay scalars until they meet a column.
    """
    if isinstance(tree, Number):
        value = np.float64(tree.value)  # not a Python float: 1/0 must be inf, not an exception
        return lambda variables: value
    if isinstance(tree, Name):
        name = tree.name
        return lambda variables: variables[name]
    if isinstance(tree, Binary):
        return _chain(tree)
    if isinstance(tree, Call):
        function, arguments = FUNCTIONS[tree.function].apply, [_evaluator(a) for a in tree.arguments]
        return lambda variables: function(*(a(variables) for a in arguments))
    operand = _evaluator(tree.operand)
    return lambda variables: np.negative(operand(variables))


def _chain(tree: Binary) -> Evaluator:
    """Return a closure for a left-deep chain such as a+b+c+..., as a loop not limited by Python's stack."""
    links = []
    start: Expression = tree
    while isinstance(start, Binary):
        links.append((_OPERATORS[start.operator], _evaluator(start.right)))
        start = start.left
    links.reverse()
    first = _evaluator(start)

    def evaluate(variables: Mapping[str, Any]) -> Any:
        value = first(variables)
        for operate, right in links:
            value = operate(value, right(variables))
        return value

    return evaluate


@dataclass
class _State:
    """State of one call: variables, returned values and the points that have returned."""

    count: int
    variables: dict[str, Any]
    result: Any = None
    returned: Mask = field(init=False)

    def __post_init__(self) -> None:
        self.returned = np.zeros(self.count, dtype=bool)

    def give(self, value: ArrayLike, live: Mask) -> None:
        if live.all():
            self.result = np.broadcast_to(value, self.count)
        else:
            if self.result is None:
                self.result = np.full(self.count, np.nan)
            self.result = np.where(live, value, self.result)
        self.returned |= live

    def assign(self, name: str, value: ArrayLike, live: Mask) -> None:
        # A variable first assigned on one path is undefined (NaN) on the others.
        whole = live.all()
        self.variables[name] = value if whole else np.where(live, value, self.variables.get(name, np.nan))


Step = Callable[[_State, Mask], Mask]


def _step(statement: Statement) -> Step:
    """Return a closure that runs a statement for the live points and returns the mask of points still live after it."""
    if isinstance(statement, If):
        condition = _evaluator(statement.condition)
        then, otherwise = _sequence(statement.then), _sequence(statement.otherwise)

        def branch(state: _State, live: Mask) -> Mask:
            truth = np.broadcast_to(condition(state.variables), state.count)
            yes, no = live & truth, live & ~truth
            return then(state, yes) | otherwise(state, no)

        return branch
    value = _evaluator(statement.value)
    if isinstance(statement, Assign):
        name = statement.name

        def assign(state: _State, live: Mask) -> Mask:
            state.assign(name, value(state.variables), live)
            return live

        return assign
    if isinstance(statement, Return):

        def give(state: _State, live: Mask) -> Mask:
            state.give(value(state.variables), live)
            return np.zeros_like(live)

        return give
    return lambda state, live: live


def _sequence(statements: tuple[Statement, ...]) -> Step:
    steps = [_step(s) for s in statements]

    def run(state: _State, live: Mask) -> Mask:
        for step in steps:
            if not live.any():
                break
            live = step(state, live)
        return live

    return run


def compile_program(program: Program) -> Callable[[Mapping[str, Floats], int], tuple[Floats, Mask]]:
    """Return a vectorised function ``f(columns, count) -> (values (count,), returned (count,))``.

    ``columns`` maps every input to a (count,) array. ``returned`` is False where a point's path ended without
    ``return``; its value is NaN.
    """
    run = _sequence(program.statements)

    def function(columns: Mapping[str, Floats], count: int) -> tuple[Floats, Mask]:
        state = _State(count, dict(columns))
        with np.errstate(all="ignore"):
            run(state, np.ones(count, dtype=bool))
        values = np.full(count, np.nan) if state.result is None else state.result
        return np.asarray(values, dtype=np.float64), state.returned

    return function
