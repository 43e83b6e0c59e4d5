"""Formulas of stencils whose products and sums are joined as the formula says, not as a compiler finds them.

A compiler joins a product and a sum (fused multiply-add, rounded once) where both stand in the same loop, and one of two products by
their order there. The same formula beside an absorbing layer and without one would differ in its last bit, and so would results on
different numbers of processes. So sources of stencils say themselves what is joined, and compilers join nothing.
"""

from __future__ import annotations

from faultwave.backends.formula import Formula
from faultwave.kernels.values import ROW, Value


class FusedFormula(Formula):
    """Writes a sum or difference with a product as ``fused(a, b, c)``, a b + c; of two products the first is joined. Products that are the
    same for a whole row are numbers like others: they are worked out before it."""

    def text(self, value: Value, args: tuple[str, ...]) -> str:
        if value.op in ("add", "sub"):
            for place in (0, 1):
                product = self.numbering.values[value.args[place]]
                if product.op == "mul" and ROW in product.depends:
                    a, b = (self._known(n) for n in product.args)
                    other = args[1 - place]
                    if value.op == "add":
                        return f"fused({a}, {b}, {other})"
                    return f"fused({a}, {b}, -{other})" if place == 0 else f"fused(-{a}, {b}, {other})"
        return super().text(value, args)


__all__ = ["FusedFormula"]
