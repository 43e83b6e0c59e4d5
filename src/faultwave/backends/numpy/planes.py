"""Products of matrices and planes with NumPy (see ``backends.plane_product``)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from faultwave.backends.base import Band


def plane_product(rows: Band, columns: Band, values: np.ndarray, into: np.ndarray) -> Callable[[], None]:
    """Return the product, which applies the row matrix first and sums in the order of the weights."""
    across = np.zeros((into.shape[0], values.shape[1]), values.dtype)
    down, over = (
        [(first + n, w.astype(values.dtype)) for n, w in enumerate(all_.T)] for first, all_ in (rows, columns)
    )

    def product() -> None:
        across[...] = into[...] = 0
        for at, weight in down:
            across[...] += weight[:, None] * values[at]
        for at, weight in over:
            into[...] += weight * across[:, at]

    return product


__all__ = ["plane_product"]
