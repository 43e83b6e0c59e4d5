"""Inverses and normals that are made when asked for are what whole arrays hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from faultwave.domain.tets.geometry import OnDemand

WHOLE = np.random.default_rng(3).normal(size=(7, 4, 3))
CELLS, FACES = np.array([5, 0, 5]), np.array([3, 1, 0])
MASK = WHOLE[:, :, 0] > 0


@pytest.fixture
def rows() -> OnDemand:
    return OnDemand(lambda some: WHOLE[some].copy(), WHOLE.shape)


@pytest.mark.parametrize(
    "key",
    [
        3, -1, np.int64(2), slice(1, 5), slice(None), CELLS, CELLS[:, None], MASK[:, 0], MASK, (CELLS, FACES), (CELLS, FACES, 2),
        (CELLS, slice(None), 1), (slice(2, 6), 1), (MASK, 2), (CELLS[:, None], FACES[None]), ..., (..., 2), np.zeros(0, int), [1, 4],
    ],
    ids=str,
)  # fmt: skip
def test_every_way_to_ask(rows: OnDemand, key: Any) -> None:
    found = rows[key]
    assert found.shape == WHOLE[key].shape and (found == WHOLE[key]).all()


def test_the_whole(rows: OnDemand) -> None:
    assert len(rows) == 7 and rows.shape == WHOLE.shape and rows.ndim == 3
    assert (np.asarray(rows) == WHOLE).all() and (2.0 * rows - WHOLE == WHOLE).all()
    assert (np.moveaxis(rows, -1, 0) == np.moveaxis(WHOLE, -1, 0)).all()
    assert (np.einsum("nij,nij->n", rows, rows) == np.einsum("nij,nij->n", WHOLE, WHOLE)).all()
    assert np.asarray(OnDemand(lambda some: WHOLE[:0], (0, 4, 3))).shape == (0, 4, 3)


def test_only_what_is_asked_for_is_made() -> None:
    made: list[int] = []

    def of(some: Any) -> np.ndarray:
        found = WHOLE[some]
        made.append(len(found))
        return found

    rows = OnDemand(of, WHOLE.shape)
    rows[CELLS, FACES], rows[1:3], rows[MASK]
    assert made == [3, 2, int(MASK.sum())]
