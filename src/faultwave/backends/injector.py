"""Contributions of point sources to the items of a batch, added in every step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

TOGETHER = 1 << 15
"""Numbers of source terms that a processor computes at once, so that they stay in its cache."""


@dataclass(frozen=True)
class Points:
    """Point sources, m in number, in n items of ``buffer``, sorted by item.

    A source of amount a adds a * outer(rows, columns).

    Attributes
    ----------
    buffer : Buffer
        Batch that is changed.
    items : ndarray, (n,)
        Items that contain sources.
    first : ndarray, (n + 1,)
        Sources of item ``items[i]`` are first[i] <= source < first[i + 1].
    rows : ndarray, (m, rows)
        Row factors.
    columns : ndarray, (m, columns)
        Column factors.
    """

    buffer: Any
    items: np.ndarray
    first: np.ndarray
    rows: np.ndarray
    columns: np.ndarray


def inject_on_host(points: Points, amounts: np.ndarray) -> None:
    """Add the sources of amounts (m,) on the processor, in the order of the sources of each item.

    All first sources of items are added, then all second ones, and so on, so that no item occurs twice in one operation.
    ``np.add.at`` would allow that, but takes ten times as long.
    """
    item = np.repeat(np.arange(len(points.items)), np.diff(points.first))
    acting = np.flatnonzero(amounts)
    of = item[acting]
    turn = np.arange(len(of)) - np.searchsorted(of, of)
    sums = np.zeros((len(points.items), points.rows.shape[1], points.columns.shape[1]))
    some = max(1, TOGETHER // max(1, sums[0].size)) if len(sums) else 1
    by_turn = np.argsort(turn, kind="stable")
    counts = np.bincount(turn)
    ends = np.cumsum(counts)
    for first, end in zip(ends - counts, ends, strict=True):
        for i in range(first, end, some):
            listed = by_turn[i : min(i + some, end)]
            part = acting[listed]
            each = amounts[part, None, None] * (points.rows[part, :, None] * points.columns[part, None, :])
            sums[of[listed]] += each
    points.buffer.add(sums, points.items)


__all__ = ["Points", "inject_on_host"]
