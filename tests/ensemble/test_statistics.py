"""Statistics without stored members: the same for every order, and those of NumPy."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from faultwave.ensemble.statistics import ACCURACY, SMALLEST, Moments, MomentTree, Sketch, Statistics

VALUES = arrays(np.float64, st.tuples(st.integers(1, 30), st.just(3)), elements=st.one_of(
    st.floats(-1e6, 1e6, allow_subnormal=False), st.just(float("nan"))))  # fmt: skip
LEVELS = {"slip": (0.0, 2.5)}


def statistics_of(values: np.ndarray, order: np.ndarray) -> Statistics:
    found = Statistics()
    for member in order:
        found.add(int(member), f"digest {member}", {"slip": values[member]}, LEVELS, True)
    return found


def numbers(found: Statistics) -> list[np.ndarray]:
    m = found.maps["slip"]
    total = m.moments.total()
    return [
        total.count,
        total.mean,
        total.deviation,
        m.above,
        m.least,
        m.most,
        m.sketch.percentiles([0, 16, 50, 84, 100]),
    ]


@given(values=VALUES, seed=st.integers(0, 2**32))
def test_statistics_do_not_depend_on_the_order(values, seed):
    count = len(values)
    expected = numbers(statistics_of(values, np.arange(count)))
    found = numbers(statistics_of(values, np.random.default_rng(seed).permutation(count)))
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_array_equal(a, b)


@given(values=VALUES, seed=st.integers(0, 2**32))
def test_statistics_go_on_from_their_file(tmp_path_factory, values, seed):
    order = np.random.default_rng(seed).permutation(len(values))
    path = tmp_path_factory.mktemp("state") / "state.npz"
    first = statistics_of(values, order[: len(order) // 2])
    first.save(path)
    again = Statistics.load(path)
    for member in order:  # those that are there already are ignored
        again.add(int(member), f"digest {member}", {"slip": values[member]}, LEVELS, True)
    for a, b in zip(numbers(statistics_of(values, order)), numbers(again), strict=True):
        np.testing.assert_array_equal(a, b)
    assert again.members == {int(m): f"digest {m}" for m in order}


@given(values=VALUES)
def test_moments_are_those_of_numpy(values):
    tree = MomentTree()
    for member, row in enumerate(values):
        tree.add(member, Moments.of(row))
    total = tree.total()
    for place, column in enumerate(values.T):
        known = column[np.isfinite(column)]
        assert total.count[place] == len(known)
        if len(known):
            np.testing.assert_allclose(total.mean[place], known.mean(), rtol=1e-10, atol=1e-9)
        if len(known) > 1:
            np.testing.assert_allclose(total.deviation[place], known.std(ddof=1), rtol=1e-7, atol=1e-6)


@given(values=VALUES, percentile=st.floats(0, 100))
def test_percentiles_are_within_their_accuracy(values, percentile):
    sketch = Sketch.empty(3)
    for row in values:
        sketch.add(row)
    (found,) = sketch.percentiles([percentile])
    with patch("faultwave.ensemble.statistics.BLOCK", 2):
        np.testing.assert_array_equal(sketch.percentiles([percentile])[0], found)
    for place, column in enumerate(values.T):
        known = np.sort(column[np.isfinite(column)])
        if not len(known):
            assert np.isnan(found[place])
            continue
        # NumPy interpolates between the same two values, each of which is accurate; 1e-8 is that of the rank.
        next_to_it = [np.percentile(known, percentile, method=way) for way in ("lower", "higher")]
        exact, size = np.percentile(known, percentile), np.abs(next_to_it).max()
        assert abs(found[place] - exact) <= (1.0001 * ACCURACY + 1e-8) * size + SMALLEST


def test_means_of_large_offsets_lose_nothing():
    """The sum of squares of values around 1e8 with a deviation of 1 would lose all digits."""
    values = 1e8 + np.random.default_rng(0).standard_normal((1000, 1))
    tree = MomentTree()
    for member, row in enumerate(values):
        tree.add(member, Moments.of(row))
    np.testing.assert_allclose(tree.total().deviation, values.std(0, ddof=1), rtol=1e-9)


def test_a_damaged_file_is_no_statistics(tmp_path):
    (tmp_path / "state.npz").write_bytes(b"PK damaged")
    assert Statistics.load(tmp_path / "state.npz").members == {}
    assert Statistics.load(tmp_path / "missing.npz").members == {}
