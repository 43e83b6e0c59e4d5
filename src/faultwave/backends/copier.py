"""Sampling: repeated copies of selected items of buffers to successive places of stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Part:
    """Selection of a buffer, and the store that has a slot for each item in every sample.

    Attributes
    ----------
    buffer : Buffer
        Source.
    items : ndarray, (n,)
        Items that are copied.
    rows : slice
        Rows of each item.
    store : Store
        Destination.
    some : ndarray, (n, m), optional
        Entries of these rows (flattened, row-major) that are copied of each item. Default: all.
    """

    buffer: Any
    items: np.ndarray
    rows: slice
    store: Any
    some: np.ndarray | None = None

    def chosen(self, numbers: np.ndarray) -> np.ndarray:
        """Return the entries of ``numbers`` (n, rows, ...) that are copied."""
        flat = numbers.reshape(len(numbers), -1)
        return flat if self.some is None else np.take_along_axis(flat, self.some, 1)


def copied(parts: Sequence[Part], reading: int) -> None:
    """Copy sample number ``reading``, part by part, on the processor."""
    for p in parts:
        if count := len(p.items):
            values = p.buffer.get(p.items, p.rows)
            p.store.put(p.chosen(values), np.arange(reading * count, (reading + 1) * count))


__all__ = ["Part", "copied"]
