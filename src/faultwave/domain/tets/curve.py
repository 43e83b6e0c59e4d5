"""Order along a Hilbert curve, so that cells that are close in space are close in memory."""

from __future__ import annotations

import numpy as np

from faultwave.base.processes.pieces import map_chunks, stable_argsort
from faultwave.domain.tets.mesh import Floats, Integers

BITS = 20


def hilbert_order(points: Floats) -> Integers:
    """Return the permutation (n,) that orders points (n, 3) along a three-dimensional Hilbert curve.

    Points are placed on a grid of 2^20 cells in each direction of their bounding cube; ties keep their order. The
    transformation is Skilling's (AIP Conf. Proc. 707, 381, 2004), vectorised over all points.
    """
    low = points.min(axis=0)
    span = float(np.ptp(points, axis=0).max()) or 1.0
    return stable_argsort(map_chunks(lambda piece: _keys(points[piece], low, span), len(points)))


def _keys(points: Floats, low: Floats, span: float) -> Integers:
    """Return the position (n,) of points (n, 3) along the curve, with three bits for each of the twenty levels."""
    x = np.minimum((points - low) / span * 2**BITS, 2**BITS - 1).astype(np.int32).T.copy()
    for level in range(BITS - 1, 0, -1):
        low_bits = np.int32((1 << level) - 1)
        for i in range(3):
            high = (x[i] >> level) & 1  # 1: invert the lower bits, else exchange them with the bits of the first axis
            exchange = (x[0] ^ x[i]) & low_bits & (high - 1)
            x[0] ^= exchange | (low_bits & -high)
            x[i] ^= exchange
    x[1] ^= x[0]
    x[2] ^= x[1]
    flip = np.zeros_like(x[0])
    for level in range(BITS - 1, 0, -1):
        flip ^= np.int32((1 << level) - 1) & -((x[2] >> level) & 1)
    x ^= flip
    first, second, third = (_spread(axis.astype(np.int64)) for axis in x)
    return np.asarray(first << 2 | second << 1 | third)


def _spread(x: Integers) -> Integers:
    """Return integers of twenty bits with two zeros inserted between consecutive bits."""
    for shift, retained in ((32, 0x1F00000000FFFF), (16, 0x1F0000FF0000FF), (8, 0x100F00F00F00F00F), (4, 0x10C30C30C30C30C3),
                        (2, 0x1249249249249249)):  # fmt: skip
        x = (x | x << shift) & retained
    return x
