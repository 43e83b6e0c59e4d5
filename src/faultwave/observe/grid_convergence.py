"""How much records of a grid err, from the same records on two coarser grids (docs/theory/error-estimates.md, "Grids").

What steps in time do is known of each grid and has been taken from its records. What is left is a sum of three kinds of errors of the
spacing h: dispersion, which goes as h to the order of differences; of free surfaces and of borders of rock on the grids' planes, as h^2;
and of borders that lie elsewhere between the points of each grid, as h^2 too, but with nothing in common from grid to grid. The products
of two differences, with themselves and with each other, are sums of what each kind makes of them, so that three numbers tell three sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from faultwave.observe.convergence import Array, Method, lost, relative, telling

BORDERS = 2.0
"""Power of the spacing, in errors at the free surface and at borders of rock."""


@dataclass(frozen=True)
class Kinds:
    """Of mean square errors of one of each kind (3,) on the finest grid: products (3, 3) of differences, rows near-near, far-far and
    near-far; and of the error with the nearer difference (3,)."""

    products: Array
    along: Array

    @classmethod
    def of(cls, spacings: Sequence[float], order: int) -> Kinds:
        """Of the run's spacing and two larger ones."""
        near, far = (h / spacings[0] for h in spacings[1:])
        alike = np.array([[c**power - 1.0 for power in (order, BORDERS)] for c in (near, far)])
        first, second = alike
        unlike = [near ** (2 * BORDERS) + 1.0, far ** (2 * BORDERS) + 1.0, 1.0]
        products = np.column_stack([np.stack([first**2, second**2, first * second]), unlike])
        return cls(products, np.array([*first, -1.0]))

    def sizes(self, near: float, far: float, product: float) -> Array:
        """Mean squares (3,) of the kinds that come nearest to differences of these sizes with this product, each equation relative to
        the sizes: least squares without negative ones."""
        told = np.array([near * near, far * far, near * far])
        measured = np.array([near * near, far * far, product])
        return np.asarray(nnls(self.products / told[:, None], measured / told)[0])


def by_kinds(spacings: Sequence[float], order: int) -> Method:
    """All receivers have one mix of kinds, that of the mean squares of their differences over their records."""
    kinds = Kinds.of(spacings, order)

    def found(ours: Array, near: Array, far: Array, known: Array) -> Array:
        ours, known = ours[: len(near)], known[: len(near)]
        level, cosine = _shared(kinds, ours, near[: len(far)], far)
        square, product = (near**2).sum(0), (known * near).sum(0)
        total = (known**2).sum(0) + level * (2.0 * cosine * product + level * square)
        return np.asarray(np.sqrt(np.maximum(total, 0.0) / (ours**2).sum((0, 2))[:, None]))

    return found


def _shared(kinds: Kinds, ours: Array, near: Array, far: Array) -> tuple[float, float]:
    """The error in space over the nearer difference, and the cosine between both as series."""
    norms = [relative(d, ours) for d in (near, far)]
    counting = telling(*norms)
    by_near, by_far = (float(np.sqrt(np.mean(d[counting] ** 2))) if counting.any() else 0.0 for d in norms)
    if by_near == 0.0 or by_far == 0.0:
        return 0.0, 0.0
    size = (ours[: len(far), counting] ** 2).sum((0, 2))
    product = float(np.mean((near * far)[:, counting].sum((0, 2)) / size))
    x_near, x_far = (float(lost(np.array([d]))[0]) for d in (by_near, by_far))
    sizes = kinds.sizes(x_near, x_far, product / (by_near * by_far) * x_near * x_far)
    total = float(sizes.sum())
    if total == 0.0:
        return 0.0, 0.0
    cosine = float(kinds.along @ sizes) / np.sqrt(total * float(kinds.products[0] @ sizes))
    return float(-np.expm1(-np.sqrt(total))) / by_near, cosine


__all__ = ["Kinds", "by_kinds"]
