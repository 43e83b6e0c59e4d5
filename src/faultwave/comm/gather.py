"""Assembly of distributed arrays on process 0."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from faultwave.comm.world import World


def collect(world: World, items: np.ndarray, values: Sequence[np.ndarray], count: int) -> list[np.ndarray] | None:
    """Gather rows from all processes into whole arrays (collective).

    Parameters
    ----------
    world : World
        Processes of the run.
    items : ndarray of int, shape (n,)
        Row of each local item in the whole arrays.
    values : sequence of ndarray, shape (n, ...)
        Local rows.
    count : int
        Number of rows of the whole arrays.

    Returns
    -------
    list of ndarray or None
        Whole arrays (count, ...) on process 0, None elsewhere.
    """
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
