"""Arrays whose rows are computed on access, for quantities that follow cheaply from the corners of a cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from faultwave.base.processes.pieces import map_chunks

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


class OnDemand(NDArrayOperatorsMixin):
    """Array-like (n, ...) of doubles whose rows are computed by ``of(rows)``, for a slice or indices (k,).

    Operations on the whole array compute all rows, each time again.
    """

    dtype = np.dtype(np.float64)

    def __init__(self, of: Callable[[slice | np.ndarray | int], np.ndarray], shape: tuple[int, ...]):
        self.of, self.shape, self.ndim = of, shape, len(shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> np.ndarray:
        """Return rows as for an array."""
        rows, *inner = key if isinstance(key, tuple) else (key,)
        if isinstance(rows, np.ndarray) and rows.dtype == bool:
            inner = [*np.nonzero(rows), *inner]
            rows = inner.pop(0)
        if isinstance(rows, slice):
            return np.asarray(self.of(rows)[(slice(None), *inner)])
        if rows is None or rows is Ellipsis:
            return np.asarray(np.asarray(self)[key])
        numbers = np.asarray(rows)
        places = np.arange(numbers.size).reshape(numbers.shape)
        return np.asarray(self.of(numbers.reshape(-1))[(places, *inner)])

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        made = map_chunks(self.of, len(self)) if len(self) else np.zeros(self.shape)
        return made if dtype is None else made.astype(dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **options: object) -> Any:
        arrays = [np.asarray(x) if isinstance(x, OnDemand) else x for x in inputs]
        return getattr(ufunc, method)(*arrays, **options)


__all__ = ["OnDemand"]
