"""Terms that the stencil of an absorbing layer adds to the plain stencil, found by comparing both.

Points inside and outside a layer are updated in one loop, which computes the added terms only in the layer, so that a row
is read by the same instructions along its whole length. Processors prefetch per instruction: a separate loop for the one
vector of a layer would find nothing in the caches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from faultwave.backends.cpu.two_planes import recorded
from faultwave.kernels.expr import Expr
from faultwave.kernels.stencil import Stencil, record
from faultwave.kernels.values import Numbering


@dataclass(frozen=True)
class AddedTerm:
    """``value`` of the plain stencil is replaced by ``total``, its sum with what is written to ``array`` on a ``plane`` above the point."""

    array: str
    plane: int
    value: Expr
    written: Expr
    total: Expr


@dataclass(frozen=True)
class LayerTerms:
    """Terms added to values of the plain stencil, and factors of what it writes, by array and plane."""

    added: tuple[AddedTerm, ...]
    factors: Mapping[tuple[str, int], Expr]


def layer_terms(plain: Stencil, layer: Stencil, planes: int = 1) -> LayerTerms | None:
    """Return the terms that turn ``plain`` into ``layer``, on one plane or two.

    Returns None if they differ in more than added terms and factors, or if terms are added to a product: without a layer the
    sum that uses the product would be fused with it and round differently (see ``fused``).
    """
    (_, before), (_, after) = recorded(plain, planes), recorded(layer, planes)
    numbering = Numbering()
    number = numbering.number
    more = {number(value): name for name, value in after.items() if name not in before}
    added: dict[tuple[str, int], AddedTerm] = {}
    for node in _nodes(after.values()):
        for value, written in (node.args, node.args[::-1]) if node.op == "add" else ():
            name = more.get(number(written))
            if name is not None:
                added[name] = AddedTerm(*name, value, written, node)
    replaced = {number(s.value): number(s.total) for s in added.values()}
    if not len(replaced) == len(added) == len(more) or not before.keys() <= after.keys():
        return None
    if any(s.value.op == "mul" for s in added.values()):
        return None
    replacing = numbering.replacing(replaced)
    factors = {}
    for name, value in before.items():
        wanted, found = after[name], replacing.number(value)
        if wanted.op == "mul" and number(wanted.args[1]) == found:
            factors[name], wanted = wanted.args
        if number(wanted) != found:
            return None
    return LayerTerms(tuple(added.values()), factors)


def same_formulas(one: Stencil, other: Stencil) -> bool:
    """Return True if two stencils have the same formulas."""
    number = Numbering().number
    first, second = ({name: number(value) for name, value in record(s)[1].items()} for s in (one, other))
    return first == second


def _nodes(values: object) -> Iterator[Expr]:
    """Yield all nodes that values depend on, each once."""
    waiting, seen = list(values), set()  # type: ignore[call-overload]
    while waiting:
        node = waiting.pop()
        if node.id not in seen:
            seen.add(node.id)
            waiting += node.args
            yield node


__all__ = ["AddedTerm", "LayerTerms", "layer_terms", "same_formulas"]
