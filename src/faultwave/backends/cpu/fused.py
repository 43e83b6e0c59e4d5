"""Formulas of stencils with explicit fused multiply-adds.

A compiler contracts a product and a sum to a fused multiply-add (rounded once) where both stand in the same loop, and chooses one of two
products by their order there. The same formula in loops next to an absorbing layer and far from it would differ in the last bit, and so
would results on different numbers of processes. Hence the generated C text states every fused multiply-add itself, and compilers contract
nothing.
"""

from __future__ import annotations

from faultwave.backends.formula import Formula
from faultwave.kernels.values import ROW, Value


class FusedFormula(Formula):
    """Formula that writes a sum or difference with a product as ``fused(a, b, c)``, a b + c.

    Of two products, the first is fused. Products that are constant along a row are computed before it and count as plain numbers.
    """

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
