"""Readings: some items of some buffers copied to the next places of stores, many times over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Part:
    """``rows`` of the ``items`` (n,) of a buffer, and the store that has a slot for each of them in every reading."""

    buffer: Any
    items: np.ndarray
    rows: slice
    store: Any


def copied(parts: Sequence[Part], reading: int) -> None:
    """What a processor does: reading number ``reading``, part by part."""
    for p in parts:
        if count := len(p.items):
            values = p.buffer.get(p.items, p.rows)
            p.store.put(values.reshape(count, -1), np.arange(reading * count, (reading + 1) * count))


__all__ = ["Part", "copied"]
