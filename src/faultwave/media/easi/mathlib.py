"""Mathematical functions that decks may call, in `!FunctionMap` bodies and as additions to Lua's `math` table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import numpy as np

from faultwave.base import formulas


@dataclass(frozen=True)
class MathFunction:
    """Vectorised function and its least and largest number of arguments (``most`` None: any number)."""

    apply: Callable[..., object]
    least: int = 1
    most: int | None = 1

    @property
    def arity(self) -> str:
        if self.most is None:
            return f"at least {self.least} arguments"
        return f"{self.least} argument" + ("s" if self.least != 1 else "")


def round_half_away(x: np.ndarray) -> np.ndarray:
    """Return C's round(): halves go away from zero, unlike NumPy's round-half-even."""
    whole = np.trunc(x)
    return whole + np.where(np.abs(x - whole) >= 0.5, np.copysign(1.0, x), 0.0)


def _many(ufunc: np.ufunc) -> MathFunction:
    return MathFunction(lambda *values: reduce(ufunc, values), 2, None)


FUNCTIONS: dict[str, MathFunction] = {
    "abs": MathFunction(np.abs),
    "acos": MathFunction(np.arccos),
    "asin": MathFunction(np.arcsin),
    "atan": MathFunction(np.arctan),
    "cbrt": MathFunction(np.cbrt),
    "ceil": MathFunction(np.ceil),
    "cos": MathFunction(np.cos),
    "cosh": MathFunction(np.cosh),
    "erf": MathFunction(formulas.erf),
    "exp": MathFunction(np.exp),
    "floor": MathFunction(np.floor),
    "log": MathFunction(np.log),
    "log10": MathFunction(np.log10),
    "log2": MathFunction(np.log2),
    "max": _many(np.maximum),
    "min": _many(np.minimum),
    "pow": MathFunction(np.power, 2, 2),
    "round": MathFunction(round_half_away),
    "sin": MathFunction(np.sin),
    "sinh": MathFunction(np.sinh),
    "sqrt": MathFunction(np.sqrt),
    "tan": MathFunction(np.tan),
    "tanh": MathFunction(np.tanh),
    "trunc": MathFunction(np.trunc),
}

# Functions that the lmathx library adds to Lua's own math table.
LUA_ADDITIONS: dict[str, Callable[..., object]] = {
    **{
        name: FUNCTIONS[name].apply
        for name in ("cbrt", "cosh", "erf", "log10", "log2", "pow", "round", "sinh", "tanh", "trunc")
    },
    "acosh": np.arccosh,
    "asinh": np.arcsinh,
    "atanh": np.arctanh,
    "copysign": np.copysign,
    "erfc": formulas.erfc,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "gamma": formulas.gamma,
    "hypot": np.hypot,
    "lgamma": formulas.log_gamma,
    "log1p": np.log1p,
}
