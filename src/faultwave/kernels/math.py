"""Functions of kernel formulas: on NumPy arrays they compute, on ``Expr`` they record."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from faultwave.base import formulas
from faultwave.kernels.expr import Condition, Expr, Loop, Number, Other, Value, mask, wrap

NUMPY: dict[str, Callable[..., np.ndarray]] = {
    "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "log1p": np.log1p, "expm1": np.expm1, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "asin": np.arcsin, "atan": np.arctan, "sin": np.sin,
    "cos": np.cos, "erf": formulas.erf, "abs": np.abs, "pow": np.power, "hypot": np.hypot,
    "minimum": np.minimum, "maximum": np.maximum,
}  # fmt: skip
"""Functions of NumPy that compute the functions of this module, by name."""


def _call(name: str, *args: Number) -> Any:
    if any(isinstance(a, Expr) for a in args):
        return Expr(name, tuple(wrap(a) for a in args))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        return NUMPY[name](*args)


def named(label: str, value: Value) -> Value:
    """Return ``value`` unchanged, to be printed under the name ``label`` where it is a recorded operation.

    Names appear in printed formulas only (``kernels.mathematics``). Generated code, fingerprints and results do not depend on them.
    """
    if isinstance(value, Expr) and value.args:
        value.label = label
    return value


def sqrt(x: Value) -> Value:
    """Return the square root."""
    return _call("sqrt", x)


def exp(x: Value) -> Value:
    """Return the exponential function."""
    return _call("exp", x)


def log(x: Value) -> Value:
    """Return the natural logarithm."""
    return _call("log", x)


def log1p(x: Value) -> Value:
    """Return the natural logarithm of 1 + x, accurate for small x."""
    return _call("log1p", x)


def expm1(x: Value) -> Value:
    """Return the exponential function minus 1, accurate for small x."""
    return _call("expm1", x)


def sinh(x: Value) -> Value:
    """Return the hyperbolic sine."""
    return _call("sinh", x)


def cosh(x: Value) -> Value:
    """Return the hyperbolic cosine."""
    return _call("cosh", x)


def tanh(x: Value) -> Value:
    """Return the hyperbolic tangent."""
    return _call("tanh", x)


def asinh(x: Value) -> Value:
    """Return the inverse hyperbolic sine."""
    return _call("asinh", x)


def asin(x: Value) -> Value:
    """Return the inverse sine [rad]."""
    return _call("asin", x)


def atan(x: Value) -> Value:
    """Return the inverse tangent [rad]."""
    return _call("atan", x)


def sin(x: Value) -> Value:
    """Return the sine."""
    return _call("sin", x)


def cos(x: Value) -> Value:
    """Return the cosine."""
    return _call("cos", x)


def erf(x: Value) -> Value:
    """Return the error function."""
    return _call("erf", x)


def abs(x: Value) -> Value:
    """Return the absolute value."""
    return _call("abs", x)


def pow(x: Value, y: Other) -> Value | Other:
    """Return x to the power of y."""
    return _call("pow", x, y)


def hypot(x: Value, y: Other) -> Value | Other:
    """Return sqrt(x^2 + y^2)."""
    return _call("hypot", x, y)


def minimum(x: Value, y: Other) -> Value | Other:
    """Return the smaller of x and y."""
    return _call("minimum", x, y)


def maximum(x: Value, y: Other) -> Value | Other:
    """Return the larger of x and y."""
    return _call("maximum", x, y)


def where(condition: Any, x: Any, y: Any) -> Any:
    """Return x where the condition holds, else y; both are evaluated.

    Conditions are built with <, <=, >, >=, &, | and ~.
    """
    if any(isinstance(a, Expr) for a in (condition, x, y)):
        return Expr("where", (mask(condition), wrap(x), wrap(y)))
    return np.where(condition, x, y)


def iterate(
    step: Callable[..., tuple[Sequence[Any], Condition]], initial: Sequence[Any], maximum: int, keep_last: bool = False
) -> tuple[Number, ...]:
    """Repeat ``values, active = step(*values)`` at most ``maximum`` times, item by item.

    An item's values change only in rounds where it is active, with ``keep_last`` also in the round that ends it; it stays out once it
    was not active. The loop ends when no item is active.
    """
    if any(isinstance(a, Expr) for a in initial):
        return Loop(tuple(wrap(a) for a in initial), maximum, step, keep_last).results()
    values = tuple(np.asarray(v) for v in initial)
    running: Any = True
    for _ in range(maximum):
        with np.errstate(all="ignore"):
            new, active = step(*values)
        after = running & active
        changing = running if keep_last else after
        values = tuple(np.where(changing, n, v) for n, v in zip(new, values, strict=True))
        running = after
        if not np.any(running):
            break
    return values
