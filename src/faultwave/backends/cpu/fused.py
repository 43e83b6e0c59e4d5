"""Stencil formulas in which fused multiply-add operations are chosen by the formula and not by the compiler.

A compiler joins a product and a sum (fused multiply-add, rounded once) where both stand in the same loop, and one of two products by
their order there. The same formula next to an absorbing layer and without one would differ in its last bit, and so would results on
different numbers of processes. So sources of stencils say themselves what is joined, and compilers join nothing.
"""

from __future__ import annotations

from faultwave.backends.formula import Formula
from faultwave.kernels.values import ROW, Value


class FusedFormula(Formula):
    """Formula that writes a sum or difference with a product as ``fused(a, b, c)``, a b + c.

    Of two products the first is fused. Products that are the same for a whole row are computed before it, like other numbers.
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
