"""Codecs of messages: numbers that are not finite arrive as such, and cost the others nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from faultwave.comm.compression import CompressionLoss, codec

NAMES = ["single", "zfp-8", "zfp-9", "zfp-13", "zfp-24", "zfp-63", "zfp-64"]


def passed(name: str, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the other process gets, and the bytes that travelled."""
    if name != "single":
        pytest.importorskip("zfpy")
    made: Any = codec(name, values.shape)
    packed = np.full(made.size, 255, np.uint8)
    made.pack(values, packed)
    return made.unpack(packed), packed


@pytest.mark.parametrize("shape", [(1, 1), (2, 1), (5, 7), (17, 30), (1000, 3)])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", NAMES)
def test_numbers_that_are_not_finite_arrive_as_such(name: str, bad: float, shape: tuple[int, int]) -> None:
    """With ZFP a block of four numbers of one column, among them the bad one; all others are what they are without it."""
    values = np.random.default_rng(1).normal(size=shape) * 10.0 ** np.arange(shape[1])
    clean, _ = passed(name, values)
    assert np.isfinite(clean).all()
    spoilt = values.copy()
    places = np.array([0, values.size // 2, values.size - 1])
    spoilt.T.flat[places] = bad
    found, _ = passed(name, spoilt)
    wrong = ~np.isfinite(found.T.reshape(-1))
    size = 1 if name == "single" else 4
    blocks = np.isin(np.arange(values.size) // size, places // size)
    np.testing.assert_array_equal(wrong, blocks)
    np.testing.assert_array_equal(found.T.flat[~blocks], clean.T.flat[~blocks])


@pytest.mark.parametrize("name", NAMES[1:])
@pytest.mark.parametrize("value", [0.0, 5e-324, 1e-290, -1e-200, 1.0, -1.0, 1e308, -8e307])
def test_finite_numbers_are_never_taken_for_others(name: str, value: float) -> None:
    """However small or large; the first bits of their blocks are those that ZFP writes."""
    values = np.zeros((9, 2))
    values[::3] = value
    found, packed = passed(name, values)
    assert np.isfinite(found).all()
    import zfpy

    small = np.where(np.abs(values) < 2.0**-900, 0.0, values)
    raw = zfpy.compress_numpy(np.ascontiguousarray(small.T).reshape(-1), rate=int(name[4:]), write_header=False)
    assert packed.tobytes() == raw


def test_numbers_that_are_not_finite_do_not_count_as_loss() -> None:
    loss = CompressionLoss()
    values = np.array([[1.0, np.nan], [2.0, np.inf]])
    loss.add(np.array([[0.5, np.nan], [0.0, np.nan]]), values)
    assert loss.total() == (0.25, 0.0625, 2)
