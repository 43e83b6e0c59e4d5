"""Error estimates of grid records, from the same records on two coarser grids (docs/theory/error-estimates.md, "Grids").

The error of time stepping is known for each grid and has been removed from its records. The remainder is a sum of three kinds of errors
in the spacing h: dispersion, of the order of the differences; errors of free surfaces and of material interfaces on grid planes, of order
h^2; and errors of interfaces between grid points, of order h^2 too, but uncorrelated from grid to grid. The products of the two
differences, with themselves and with each other, are linear in the mean squares of the three kinds, so that three numbers determine three
sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from faultwave.observe.error_estimates.convergence import (
    Array,
    Method,
    accumulated_error,
    informative_receivers,
    relative,
)

BORDERS = 2.0
"""Power of the spacing in errors of free surfaces and material interfaces."""


@dataclass(frozen=True)
class Kinds:
    """Response of the differences to a unit mean square error of each kind on the finest grid.

    Attributes
    ----------
    products : ndarray of shape (3, 3)
        Products of differences (near-near, far-far, near-far) by kind of error.
    along : ndarray of shape (3,)
        Product of the error with the nearer difference, by kind.
    """

    products: Array
    along: Array

    @classmethod
    def of(cls, spacings: Sequence[float], order: int) -> Kinds:
        """Return the coefficients for the spacing of the run followed by two larger ones."""
        near, far = (h / spacings[0] for h in spacings[1:])
        alike = np.array([[c**power - 1.0 for power in (order, BORDERS)] for c in (near, far)])
        first, second = alike
        unlike = [near ** (2 * BORDERS) + 1.0, far ** (2 * BORDERS) + 1.0, 1.0]
        products = np.column_stack([np.stack([first**2, second**2, first * second]), unlike])
        return cls(products, np.array([*first, -1.0]))

    def sizes(self, near: float, far: float, product: float) -> Array:
        """Return the mean squares (3,) of the kinds by non-negative least squares, with relative equations."""
        reported = np.array([near * near, far * far, near * far])
        measured = np.array([near * near, far * far, product])
        return np.asarray(nnls(self.products / reported[:, None], measured / reported)[0])


def fit_error_kinds(spacings: Sequence[float], order: int) -> Method:
    """Return the method that assumes one mix of error kinds at all receivers, from the mean squares of their differences."""
    kinds = Kinds.of(spacings, order)

    def found(ours: Array, near: Array, far: Array, known: Array) -> Array:
        ours, known = ours[: len(near)], known[: len(near)]
        level, cosine = _shared(kinds, ours, near[: len(far)], far)
        square, product = (near**2).sum(0), (known * near).sum(0)
        total = (known**2).sum(0) + level * (2.0 * cosine * product + level * square)
        return np.asarray(np.sqrt(np.maximum(total, 0.0) / (ours**2).sum((0, 2))[:, None]))

    return found


def _shared(kinds: Kinds, ours: Array, near: Array, far: Array) -> tuple[float, float]:
    """Return the ratio of the spatial error to the nearer difference, and the cosine between both as time series."""
    norms = [relative(d, ours) for d in (near, far)]
    counting = informative_receivers(*norms)
    by_near, by_far = (float(np.sqrt(np.mean(d[counting] ** 2))) if counting.any() else 0.0 for d in norms)
    if by_near == 0.0 or by_far == 0.0:
        return 0.0, 0.0
    size = (ours[: len(far), counting] ** 2).sum((0, 2))
    product = float(np.mean((near * far)[:, counting].sum((0, 2)) / size))
    x_near, x_far = (float(accumulated_error(np.array([d]))[0]) for d in (by_near, by_far))
    sizes = kinds.sizes(x_near, x_far, product / (by_near * by_far) * x_near * x_far)
    total = float(sizes.sum())
    if total == 0.0:
        return 0.0, 0.0
    cosine = float(kinds.along @ sizes) / np.sqrt(total * float(kinds.products[0] @ sizes))
    return float(-np.expm1(-np.sqrt(total))) / by_near, cosine


__all__ = ["Kinds", "fit_error_kinds"]
