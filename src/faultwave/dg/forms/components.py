"""What forms in components of the reference cell share: gradients of its faces, tensors, sums without idle terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from faultwave.dg.forms.plain import DIRECTIONS, Cells, Form
from faultwave.kernels import math as mth

PAIR = ((0, 3, 5), (3, 1, 4), (5, 4, 2))
"""Column of the component ab of a symmetric tensor."""

GRADIENT = np.concatenate([-np.ones((1, 3)), np.eye(3)]) @ DIRECTIONS.T
"""Gradients (4, 3) of the barycentric coordinates along the directions."""


def combine(weights: Sequence[float], values: Sequence[Any]) -> Any:
    """sum_i weights[i] values[i] without the terms and factors that do nothing."""
    total = None
    for w, x in zip(weights, values, strict=True):
        if w == 0.0:
            continue
        if total is None:
            total = x if w == 1.0 else -x if w == -1.0 else w * x
        else:
            total = total + x if w == 1.0 else total - x if w == -1.0 else total + w * x
    return total


def metric(inverse: np.ndarray) -> np.ndarray:
    """(nc, 6) components of J^-1 J^-T."""
    full = np.einsum("nax,nbx->nab", inverse, inverse)
    return full[:, [0, 1, 2, 0, 1, 0], [0, 1, 2, 1, 2, 2]]


def turned(metric: Any, face: int) -> list[Any]:
    """G g of a face from the six components of G."""
    return [combine(GRADIENT[face], [metric[PAIR[a][b]] for b in range(3)]) for a in range(3)]


def inverse(x: Any) -> Any:
    """1/x, 0 for 0: nothing is sheared between fluids."""
    return mth.where(x > 0.0, 1.0 / mth.where(x > 0.0, x, 1.0), 0.0)


class ComponentForm(Form):
    """A form whose faces need no frames; their columns are h, the neighbour's impedances, a, b."""

    def face_constants(self, cells: Cells) -> np.ndarray:
        height = 3.0 * cells.volume[:, None] / cells.areas
        return np.concatenate([height[..., None], self.both_impedances(cells)[1], self.arriving(cells)], 2)
