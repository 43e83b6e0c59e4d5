"""What point sources add to the items of a batch, step after step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

TOGETHER = 1 << 22
"""Numbers of sources that a processor works out at once."""


@dataclass(frozen=True)
class Points:
    """m sources in n items of ``buffer``, those of an item one after the other: of item ``items[i]`` the sources from ``first[i]`` to
    ``first[i + 1]``, (n + 1,). A source of amount a adds a times ``rows`` (m, rows) times ``columns`` (m, columns)."""

    buffer: Any
    items: np.ndarray
    first: np.ndarray
    rows: np.ndarray
    columns: np.ndarray


def injected(points: Points, amounts: np.ndarray) -> None:
    """What a processor does with amounts (m,): sums of an item in the order of its sources."""
    item = np.repeat(np.arange(len(points.items)), np.diff(points.first))
    acting = np.flatnonzero(amounts)
    sums = np.zeros((len(points.items), points.rows.shape[1], points.columns.shape[1]))
    some = max(1, TOGETHER // max(1, sums[0].size)) if len(sums) else 1
    for part in (acting[i : i + some] for i in range(0, len(acting), some)):
        each = amounts[part, None, None] * (points.rows[part, :, None] * points.columns[part, None, :])
        np.add.at(sums, item[part], each)
    points.buffer.add(sums, points.items)


__all__ = ["Points", "injected"]
