"""Readings: some items of some buffers copied to the next places of stores, many times over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Part:
    """``rows`` of the ``items`` (n,) of a buffer, and the store that has a slot for each of them in every reading. ``some`` (n, m): numbers
    of these rows, counted one row after the other, that are copied of each item; None: all."""

    buffer: Any
    items: np.ndarray
    rows: slice
    store: Any
    some: np.ndarray | None = None

    def chosen(self, numbers: np.ndarray) -> np.ndarray:
        """What is copied of ``numbers`` (n, rows, ...) of the items."""
        flat = numbers.reshape(len(numbers), -1)
        return flat if self.some is None else np.take_along_axis(flat, self.some, 1)


def copied(parts: Sequence[Part], reading: int) -> None:
    """What a processor does: reading number ``reading``, part by part."""
    for p in parts:
        if count := len(p.items):
            values = p.buffer.get(p.items, p.rows)
            p.store.put(p.chosen(values), np.arange(reading * count, (reading + 1) * count))


__all__ = ["Part", "copied"]
