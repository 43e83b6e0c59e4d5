"""The largest connected piece of a fault that breaks by itself, against a graph library."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from faultwave.dg.fault_forecast import _pieces


def test_pieces_are_the_connected_components() -> None:
    rng = np.random.default_rng(3)
    for count, vertices in ((1, 3), (40, 200), (300, 500), (300, 2000)):
        faces = np.array([rng.choice(vertices, 3, replace=False) for _ in range(count)])
        rows = np.repeat(np.arange(count), 3)
        touches = coo_array((np.ones(3 * count), (rows, faces.reshape(-1))), shape=(count, vertices)).tocsr()
        _, label = connected_components(touches @ touches.T, directed=False)
        first = np.array([np.flatnonzero(label == n)[0] for n in label])
        assert np.array_equal(_pieces(faces), first)
