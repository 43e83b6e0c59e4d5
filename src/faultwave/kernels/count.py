"""Flops and bytes of a kernel per item, derived from its statements."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultwave.kernels import values
from faultwave.kernels.language import (
    Array,
    Contract,
    Gather,
    Kernel,
    Pointwise,
    Repeat,
    Scatter,
    Statement,
    When,
    WhenAny,
    touched,
)
from faultwave.kernels.values import Numbering


@dataclass(frozen=True)
class Cost:
    """Cost of a kernel per item.

    Attributes
    ----------
    flops : int
        One for each addition, multiplication, division, root or function. Iterations count once, and so do values that are
        the same for every row or occur repeatedly in a formula.
    numbers : int
        Numbers moved between memory and the kernel.
    indices, fixed, narrow : int
        Slot numbers among them, and numbers that are always double or always single precision.
    """

    flops: int
    numbers: int
    indices: int = 0
    fixed: int = 0
    narrow: int = 0

    def bytes(self, real: int, index: int) -> int:
        """Return the bytes moved, for ``real`` bytes per number in the run's precision and ``index`` bytes per slot number."""
        own = self.numbers - self.indices - self.fixed - self.narrow
        return index * self.indices + 8 * self.fixed + 4 * self.narrow + real * own


Share = Callable[[When | WhenAny], float]
"""Function that returns the fraction of items for which a conditional statement is executed."""


def _always(statement: When | WhenAny) -> float:
    return 1.0


def cost(kernel: Kernel, share: Share = _always) -> Cost:
    """Return the cost of a kernel per item; ``share`` is the fraction of items of each conditional statement."""
    shares = _shares(kernel, share)
    wide, slim = (
        round(
            sum(
                shares.get(a.name, 1.0) * _moved(a)
                for a in kernel.arguments
                if a.space == "batch" and a.narrow == narrow
            )
        )
        for narrow in (False, True)
    )
    stores, narrow = (round(_slots(kernel.statements, share, narrow)) for narrow in (False, True))
    indices = sum(_moved(a) for a in kernel.arguments if a.space == "index")
    fixed = wide if kernel.fixed else 0
    numbers = wide + slim + indices + stores + narrow
    return Cost(round(flops(kernel.statements, share)), numbers, indices, fixed, slim + narrow)


def _shares(kernel: Kernel, share: Callable[[Any], float]) -> dict[str, float]:
    """Return the fraction of items for which each occasional batch argument is moved."""
    found: dict[str, float] = {}
    for s in kernel.statements:
        for name in touched(s) if isinstance(s, WhenAny) else ():
            if name in kernel.occasional:
                found[name] = max(found.get(name, 0.0), share(s))
    return found


def _moved(a: Array) -> int:
    if a.space != "batch":
        return a.cols if a.space == "index" else 0
    return a.rows * a.cols * (2 if a.intent == "inout" else 1)


def _slots(statements: Iterable[Statement], share: Share, narrow: bool) -> float:
    """Return the numbers moved to and from narrow stores, or (``narrow`` False) to and from all others."""
    total = 0.0
    for s in statements:
        if isinstance(s, Gather | Scatter):
            if s.store.narrow != narrow:
                continue
            twice = 2 if isinstance(s, Scatter) and s.accumulate else 1
            total += twice * s.store.rows * s.store.cols
        elif isinstance(s, Repeat):
            total += s.count * _slots(s.body, share, narrow)
        elif isinstance(s, When | WhenAny):
            total += share(s) * _slots(s.body, share, narrow)
    return total


def flops(statements: Iterable[Statement], share: Share = _always) -> float:
    """Return the flops of a list of statements, per item."""
    total = 0.0
    for s in statements:
        if isinstance(s, Contract):
            nonzeros = s.matrix.rows * s.matrix.cols if isinstance(s.matrix, Array) else int(np.count_nonzero(s.matrix))
            total += 2 * nonzeros * len(s.columns)
        elif isinstance(s, Pointwise):
            once, each = _formula(s)
            total += once + s.rows * each
        elif isinstance(s, Repeat):
            total += s.count * flops(s.body, share)
        elif isinstance(s, When | WhenAny):
            total += share(s) * flops(s.body, share)
    return total


def _formula(s: Pointwise) -> tuple[int, int]:
    """Return the operations that are the same for every row, and those that depend on the row."""
    varies = [s.rows > 1 and v.rows > 1 and v.array.space != "scalar" for v in s.ins]
    numbering = Numbering(lambda key: varies[key[0]])
    for result in (e for columns in s.recorded() for e in columns):
        numbering.number(result)
    return values.flops(v for v in numbering.values if not v.depends), values.flops(
        v for v in numbering.values if v.depends
    )
