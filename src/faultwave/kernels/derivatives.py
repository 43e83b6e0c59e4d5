"""Reverse-mode derivatives of recorded formulas, evaluated on arrays.

The derivatives come from the same recorded formula as the generated code. Results of iterations (``math.iterate``) count as constants:
a formula that solves an equation by iteration must end with one more step of Newton's method outside of the iteration, whose
derivatives are those of the solution (``physics.friction.solvers.differentiable_rate``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.kernels.expr import Expr, Key
from faultwave.kernels.math import NUMPY
from faultwave.kernels.values import NumberedLoop, Numbering

Array = np.ndarray | float
"""Value of an operation: an array, or a plain number if it depends on no array."""
Partials = Callable[[Sequence[Array], Array], Sequence[Array | None]]
"""Partial derivatives of an operation from the values of its operands and its own; None for conditions."""

_VALUES: Mapping[str, Callable[..., Array]] = {
    **NUMPY,
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative, "where": np.where, "lt": np.less,
    "le": np.less_equal, "and": np.logical_and, "or": np.logical_or, "not": np.logical_not,
}  # fmt: skip

_PARTIALS: dict[str, Partials] = {
    "add": lambda x, y: (1.0, 1.0),
    "sub": lambda x, y: (1.0, -1.0),
    "mul": lambda x, y: (x[1], x[0]),
    "div": lambda x, y: (1.0 / x[1], -y / x[1]),
    "neg": lambda x, y: (-1.0,),
    "sqrt": lambda x, y: (np.where(np.greater(y, 0.0), 0.5 / y, 0.0),),
    "exp": lambda x, y: (y,),
    "log": lambda x, y: (1.0 / x[0],),
    "log1p": lambda x, y: (1.0 / (1.0 + x[0]),),
    "expm1": lambda x, y: (1.0 + y,),
    "sinh": lambda x, y: (np.cosh(x[0]),),
    "cosh": lambda x, y: (np.sinh(x[0]),),
    "tanh": lambda x, y: (1.0 - y * y,),
    "asinh": lambda x, y: (1.0 / np.sqrt(1.0 + x[0] * x[0]),),
    "asin": lambda x, y: (1.0 / np.sqrt(1.0 - x[0] * x[0]),),
    "atan": lambda x, y: (1.0 / (1.0 + x[0] * x[0]),),
    "sin": lambda x, y: (np.cos(x[0]),),
    "cos": lambda x, y: (-np.sin(x[0]),),
    "erf": lambda x, y: (2.0 / np.sqrt(np.pi) * np.exp(-x[0] * x[0]),),
    "abs": lambda x, y: (np.sign(x[0]),),
    "pow": lambda x, y: (x[1] * np.power(x[0], x[1] - 1.0), np.where(np.greater(x[0], 0.0), y * np.log(x[0]), 0.0)),
    "hypot": lambda x, y: tuple(np.where(np.greater(y, 0.0), v / y, 0.0) for v in x),
    "minimum": lambda x, y: (np.where(x[0] <= x[1], 1.0, 0.0), np.where(x[0] <= x[1], 0.0, 1.0)),
    "maximum": lambda x, y: (np.where(x[0] >= x[1], 1.0, 0.0), np.where(x[0] >= x[1], 0.0, 1.0)),
    "where": lambda x, y: (None, np.where(x[0], 1.0, 0.0), np.where(x[0], 0.0, 1.0)),
}
_LEAVES = frozenset(("const", "input", "variable", "result"))


@dataclass(frozen=True)
class Evaluation:
    """Values of a formula's operations, by number, for derivatives at the same inputs."""

    values: Mapping[int, Array]
    outputs: Mapping[str, Array]


class DifferentiableFormula:
    """Formula whose outputs and their derivatives are evaluated on arrays.

    Parameters
    ----------
    outputs : mapping of str to Expr
        Recorded expressions by name.
    variables : callable
        Returns True for the key of an input with respect to which the formula is differentiated.
    """

    def __init__(self, outputs: Mapping[str, Expr], variables: Callable[[Key], bool]):
        self._numbering = Numbering()
        self.outputs = {name: self._numbering.number(value) for name, value in outputs.items()}
        self._values = self._numbering.values
        self._order = self._ancestors(self.outputs.values())
        self._bodies = {n: self._body(loop) for n, loop in enumerate(self._numbering.loops)}
        varying = set[int]()
        for n in self._order:
            v = self._values[n]
            if (v.op == "input" and variables(v.content)) or (v.op not in _LEAVES and varying.intersection(v.args)):
                varying.add(n)
        self._varying = frozenset(varying)

    @property
    def inputs(self) -> dict[Key, int]:
        """Numbers of the inputs by key."""
        return {self._values[n].content: n for n in self._order if self._values[n].op == "input"}

    def evaluate(self, inputs: Mapping[Key, Array]) -> Evaluation:
        """Return the outputs at given inputs."""
        found = dict[int, Array]()
        with np.errstate(all="ignore"):
            self._fill(self._order, inputs, found)
        return Evaluation(found, {name: found[n] for name, n in self.outputs.items()})

    def pull_back(self, at: Evaluation, adjoints: Mapping[str, np.ndarray]) -> dict[Key, np.ndarray]:
        """Return the derivatives of sum(adjoint * output) over the outputs with respect to each input, item by item.

        Parameters
        ----------
        at : Evaluation
        adjoints : mapping of str to ndarray
            Weight of each output; outputs without one have the weight zero.
        """
        sums = dict[int, Array]()
        for name, weight in adjoints.items():
            if (n := self.outputs[name]) in self._varying:
                sums[n] = sums.get(n, 0.0) + weight
        found = dict[Key, np.ndarray]()
        with np.errstate(all="ignore"):
            for n in reversed(self._order):
                if n not in sums:
                    continue
                value = self._values[n]
                adjoint = sums.pop(n)
                if value.op == "input":
                    found[value.content] = np.asarray(adjoint)
                    continue
                partials = _PARTIALS[value.op]([at.values[a] for a in value.args], at.values[n])
                for a, partial in zip(value.args, partials, strict=True):
                    if partial is not None and a in self._varying:
                        # zero times an infinite slope, as of a branch that was not chosen, is zero
                        sums[a] = sums.get(a, 0.0) + np.where(np.equal(adjoint, 0.0), 0.0, adjoint * partial)
        return found

    def _ancestors(self, wanted: Iterable[int]) -> list[int]:
        """Return the numbers of the values needed for some, operands first, without those inside of iterations."""
        needed, waiting = set[int](), list(wanted)
        while waiting:
            n = waiting.pop()
            if n in needed:
                continue
            needed.add(n)
            waiting += self._operands(n)
        return sorted(n for n in needed if not self._inside(n))

    def _operands(self, number: int) -> Sequence[int]:
        value = self._values[number]
        if value.op != "result":
            return value.args
        loop = self._numbering.loops[value.content[0]]
        return (*loop.initial, *loop.values, loop.active)

    def _inside(self, number: int, loop: int | None = None) -> bool:
        """Return True if a value depends on the variables of an iteration, or of some other one than ``loop``."""
        keys = {k for k in self._values[number].depends if isinstance(k, int)}
        return bool(keys - {loop})

    def _body(self, loop: NumberedLoop) -> list[int]:
        """Return the numbers of the values that one pass of an iteration computes."""
        needed, waiting = set[int](), [*loop.values, loop.active]
        while waiting:
            n = waiting.pop()
            if n not in needed and loop.key in self._values[n].depends:
                needed.add(n)
                waiting += self._operands(n)
        return sorted(n for n in needed if not self._inside(n, loop.key))

    def _fill(self, order: Sequence[int], inputs: Mapping[Key, Array], found: dict[int, Array]) -> None:
        for n in order:
            value = self._values[n]
            match value.op:
                case "const":
                    found[n] = value.content
                case "input":
                    found[n] = inputs[value.content]
                case "variable":
                    pass  # set by the iteration
                case "result":
                    if n not in found:
                        self._iterate(value.content[0], inputs, found)
                case _:
                    found[n] = _VALUES[value.op](*[found[a] for a in value.args])

    def _iterate(self, number: int, inputs: Mapping[Key, Array], found: dict[int, Array]) -> None:
        """Run an iteration on all items until none is active, and store its results."""
        loop = self._numbering.loops[number]
        now: list[Array] = [found[n] for n in loop.initial]
        running: Array = True
        for _ in range(loop.maximum):
            inner = found | dict(zip(loop.variables, now, strict=True))
            self._fill(self._bodies[number], inputs, inner)
            after = np.logical_and(running, inner[loop.active])
            changing = running if loop.keep_last else after
            now = [np.where(changing, inner[n], v) for n, v in zip(loop.values, now, strict=True)]
            running = after
            if not np.any(running):
                break
        found |= dict(zip(loop.results, now, strict=True))
