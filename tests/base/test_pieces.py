"""Work on pieces of arrays gives the same as on the whole, whatever the number of threads."""

import threading

import numpy as np
import pytest

from faultwave.base.processes import host, pieces


@pytest.fixture(params=[1, 3])
def threads(request, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", str(request.param))
    return request.param


def test_every_item_is_in_one_piece(threads):
    seen = np.zeros(1000, int)

    def work(piece):
        seen[piece] += 1

    pieces.in_pieces(work, len(seen), 64)
    assert (seen == 1).all()


def test_pieces_are_put_together_in_their_order(threads):
    given = np.random.default_rng(1).normal(size=(1001, 3))
    assert (pieces.map_chunks(lambda piece: 2 * given[piece, 1:], len(given), 100) == 2 * given[:, 1:]).all()
    assert pieces.map_chunks(lambda piece: given[piece], 0).shape == (0, 3)


def test_an_error_in_a_piece_is_raised_and_ends_the_others(threads):
    begun = []

    def work(piece):
        begun.append(piece.start)
        if piece.start >= 20:
            raise ValueError(f"piece {piece.start}")

    with pytest.raises(ValueError, match="piece"):
        pieces.in_pieces(work, 10_000, 10)
    assert len(begun) < 1000
    assert threading.active_count() < 50


@pytest.mark.parametrize("largest", [3, 1000, 2**60])
def test_whole_numbers_are_ordered_as_by_a_stable_sort(threads, largest, monkeypatch):
    monkeypatch.setattr(pieces, "BUCKET", 256)
    keys = np.random.default_rng(2).integers(0, largest, 10_000)
    assert (pieces.stable_argsort(keys) == np.argsort(keys, kind="stable")).all()


def test_threads_are_limited_for_a_while(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "6")
    assert host.thread_count() == 6
    with host.limit_threads(None), host.limit_threads(2):
        assert host.thread_count() == 2
        with host.limit_threads(4):
            assert host.thread_count() == 2
    assert host.thread_count() == 6
