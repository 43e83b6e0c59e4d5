"""What a stencil does more than another one: points in a layer go the same way as those beside it, with detours.

A loop that takes detours where a layer is reads, along a whole row, with the same instructions; processors fetch ahead for each
instruction by itself, so a loop of its own for the one vector of a layer finds nothing in the caches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from faultwave.kernels.expr import Expr
from faultwave.kernels.stencil import Stencil, record
from faultwave.kernels.values import Numbering


@dataclass(frozen=True)
class Stretch:
    """``value`` of the plain stencil is replaced by ``total``, its sum with what is written to ``array``."""

    array: str
    value: Expr
    written: Expr
    total: Expr


@dataclass(frozen=True)
class Detours:
    """Values replaced, and factors of what is written at last, by array."""

    stretches: tuple[Stretch, ...]
    factors: Mapping[str, Expr]


def detours(plain: Stencil, other: Stencil) -> Detours | None:
    """The detours by which ``plain`` becomes ``other``; None where that is not all there is between them."""
    (_, before), (_, after) = record(plain), record(other)
    numbering = Numbering()
    number = numbering.number
    more = {number(value): name for name, value in after.items() if name not in before}
    stretches: dict[str, Stretch] = {}
    for node in _nodes(after.values()):
        for value, written in (node.args, node.args[::-1]) if node.op == "add" else ():
            name = more.get(number(written))
            if name is not None:
                stretches[name] = Stretch(name, value, written, node)
    replaced = {number(s.value): number(s.total) for s in stretches.values()}
    if not len(replaced) == len(stretches) == len(more) or not before.keys() <= after.keys():
        return None
    stretched = numbering.replacing(replaced)
    factors = {}
    for name, value in before.items():
        wanted, found = after[name], stretched.number(value)
        if wanted.op == "mul" and number(wanted.args[1]) == found:
            factors[name], wanted = wanted.args
        if number(wanted) != found:
            return None
    return Detours(tuple(stretches.values()), factors)


def alike(one: Stencil, other: Stencil) -> bool:
    """Whether two stencils do the same with the arrays they name."""
    number = Numbering().number
    first, second = ({name: number(value) for name, value in record(s)[1].items()} for s in (one, other))
    return first == second


def _nodes(values: object) -> Iterator[Expr]:
    """All values that others are made of, each once."""
    waiting, seen = list(values), set()  # type: ignore[call-overload]
    while waiting:
        node = waiting.pop()
        if node.id not in seen:
            seen.add(node.id)
            waiting += node.args
            yield node


__all__ = ["Detours", "Stretch", "alike", "detours"]
