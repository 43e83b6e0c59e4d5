"""Order along a Hilbert curve: cells that are near in space become near in memory."""

from __future__ import annotations

import numpy as np

from faultwave.domain.tets.mesh import Floats, Integers

BITS = 20


def hilbert_order(points: Floats) -> Integers:
    """Permutation (n,) that visits points (n, 3) along a three-dimensional Hilbert curve.

    Points are placed on a grid of 2^20 cells in each direction of their bounding cube; ties keep their order. The
    transformation is Skilling's (AIP Conf. Proc. 707, 381, 2004), done for all points at once.
    """
    low = points.min(axis=0)
    span = float(np.ptp(points, axis=0).max()) or 1.0
    x = np.minimum((points - low) / span * 2**BITS, 2**BITS - 1).astype(np.int64).T.copy()
    q = 1 << (BITS - 1)
    while q > 1:
        low_bits = q - 1
        for i in range(3):
            high = (x[i] & q) != 0
            exchange = (x[0] ^ x[i]) & low_bits
            x[0] ^= np.where(high, low_bits, exchange)
            x[i] ^= np.where(high, 0, exchange)
        q >>= 1
    x[1] ^= x[0]
    x[2] ^= x[1]
    flip = np.zeros_like(x[0])
    q = 1 << (BITS - 1)
    while q > 1:
        flip ^= np.where(x[2] & q, q - 1, 0)
        q >>= 1
    x ^= flip
    key = np.zeros_like(x[0])
    for bit in range(BITS - 1, -1, -1):
        for i in range(3):
            key = (key << 1) | ((x[i] >> bit) & 1)
    return np.argsort(key, kind="stable").astype(np.int64)
