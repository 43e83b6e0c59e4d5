"""Rows of arrays that the processes of a run hold, put together on the first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from faultwave.comm.world import World


def collect(world: World, items: np.ndarray, values: Sequence[np.ndarray], count: int) -> list[np.ndarray] | None:
    """Arrays with rows for all ``count`` items from those of every process; on the first process, None elsewhere."""
    pieces = world.gather((items, list(values)))
    if pieces is None:
        return None
    found = []
    for i in range(len(values)):
        example = next((v[i] for _, v in pieces if len(v[i])), pieces[0][1][i])
        whole = np.zeros((count, *example.shape[1:]), example.dtype)
        for where, arrays in pieces:
            if len(where):
                whole[where] = arrays[i]
        found.append(whole)
    return found
