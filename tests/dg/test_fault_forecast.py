"""The largest connected piece of a fault that breaks by itself, against a graph library."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from faultwave.dg.fault.loads import FaultPiece, largest_patch, merge_pieces
from faultwave.physics.friction.forecast import pieces
from faultwave.physics.friction.law import Weakening
from faultwave.physics.friction.plausibility import LoadedFault, doubts, rows


def test_pieces_are_the_connected_components() -> None:
    rng = np.random.default_rng(3)
    for count, vertices in ((1, 3), (40, 200), (300, 500), (300, 2000)):
        faces = np.array([rng.choice(vertices, 3, replace=False) for _ in range(count)])
        rows = np.repeat(np.arange(count), 3)
        touches = coo_array((np.ones(3 * count), (rows, faces.reshape(-1))), shape=(count, vertices)).tocsr()
        _, label = connected_components(touches @ touches.T, directed=False)
        first = np.array([np.flatnonzero(label == n)[0] for n in label])
        assert np.array_equal(pieces(faces), first)


def test_a_fault_in_pieces_is_doubted_as_a_whole() -> None:
    """Pieces of which only one is nucleated, forced and breaks by itself."""
    rng, faces, points = np.random.default_rng(1), 40, 6
    count = faces * points
    corners = np.array([[[x, 0, 0], [x + 1, 0, 0], [x, 0, 1]] for x in range(faces)], float) * 1e3
    tau, sigma = rng.uniform(60e6, 80e6, count), np.full(count, -120e6)
    nucleated = tau + np.where(np.arange(count) < 60, 20e6, 0.0)
    strength = {"peak": np.full(count, 81e6), "dynamic": np.full(count, 63e6), "distance": np.full(count, 0.4)}
    forced = np.where(np.arange(count) < 30, 0.5, np.inf)

    def piece(here: slice) -> FaultPiece:
        at = slice(here.start * points, here.stop * points)
        first = here.start == 0
        weakening = Weakening(**{k: v[at] for k, v in strength.items()}, forced=forced[at] if first else None)
        after = Weakening(**{k: 0.9 * v[at] if first else v[at] for k, v in strength.items()}, forced=forced[at])
        constants = (np.full(len(tau[at]), x) for x in (32e9, 0.25, 100.0))
        area = np.full(len(tau[at]), 1e5)
        fault = LoadedFault(
            area, tau[at], nucleated[at], sigma[at], *constants, weakening, 2.0, after if first else None
        )
        return FaultPiece(corners[here], fault)

    whole = merge_pieces([piece(slice(0, 15)), piece(slice(15, 28)), piece(slice(28, 40))])
    assert len(whole.points.tau) == count and np.array_equal(whole.corners, corners)
    np.testing.assert_array_equal(whole.points.weakening.forced, forced)
    wanted = np.where(np.arange(count) < 15 * points, 0.9, 1.0) * strength["peak"]
    np.testing.assert_array_equal(whole.points.nucleated_strength.peak, wanted)
    patch = largest_patch(whole.corners, whole.points)
    np.testing.assert_array_equal(patch, np.flatnonzero(whole.points.starts))
    assert len(patch) >= 60 and rows(whole.points, patch) and doubts(whole.points, patch) is not None
    alone = piece(slice(0, 40))
    assert merge_pieces([alone]) is alone
