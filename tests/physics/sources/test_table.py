"""Sources as columns: the same as each of them alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultwave.physics.sources.point import Functions, PointSource, Sources
from faultwave.physics.sources.spectrum import lowpassed, lowpassed_function
from faultwave.physics.sources.time_functions import SUMMED, Brune, Ricker, SampledFunctions, Samples, Triangle


def records(seed: int, count: int) -> list[PointSource]:
    rng = np.random.default_rng(seed)
    functions = [Brune(0.3), Triangle(1.0), Ricker(0.5)]

    def function(n: int):
        if n % 3 == 0:
            return functions[n % 2]
        samples = rng.normal(size=rng.integers(2, 5 * SUMMED))
        return Samples(samples.astype(np.float32) if n % 3 == 1 else samples, float(rng.uniform(0.01, 0.2)))

    return [
        PointSource(
            rng.normal(size=3), function(n), moment=rng.normal(size=6), force=rng.normal(size=3), potency=rng.normal(size=6),
            shear_modulus=None if n % 4 else float(rng.uniform(1, 9)), onset=float(rng.normal()), name=f"a subfault {n}",
        )
        for n in range(count)
    ]  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 40))
def test_a_table_is_its_records(seed: int, count: int) -> None:
    each = records(seed, count)
    table = Sources.joined([Sources.of(each[: count // 2]), Sources.of(each[count // 2 :])])
    times = np.linspace(-2.0, 6.0, 23)
    until = table.released(times)
    tensors = table.moment_tensors(2.0, np.arange(1.0, count + 1.0))
    assert len(table) == count and list(table.names) == [s.name for s in each]
    for n, source in enumerate(each):
        same = table[n]
        assert np.array_equal(until[n], source.function.integral(times - source.onset))
        assert np.array_equal(same.integral(0.1, times), source.integral(0.1, times))
        assert np.allclose(tensors[n], source.moment_tensor(2.0, n + 1.0), rtol=1e-14)
        assert (same.shear_modulus, same.onset, same.name) == (source.shear_modulus, source.onset, source.name)
        assert np.array_equal(same.location, source.location) and np.array_equal(same.force, source.force)
        assert table.end[n] == source.onset + source.function.end


def test_chosen_ones_and_their_own_times() -> None:
    each = records(3, 20)
    table, some = Sources.of(each), np.array([11, 2, 7])
    assert [s.name for s in table.chosen(some)] == [each[n].name for n in some]
    assert [s.name for s in table[4:6]] == [each[4].name, each[5].name]
    windows = np.array([[0.0, 1.0], [0.5, 0.6], [-1.0, 9.0]])
    found = np.diff(table.released(windows, some), axis=1)[:, 0]
    assert found == pytest.approx([float(each[n].integral(*w)) for n, w in zip(some, windows, strict=True)], abs=1e-14)


def test_a_function_that_many_share_is_kept_once() -> None:
    functions = Functions.of(
        [Brune(0.3), Triangle(1.0), Brune(0.3), Samples(np.ones(4), 0.1), Samples(np.ones(9), 0.2)]
    )
    assert len(functions.groups) == 3 and functions.one(2) == Brune(0.3)
    assert functions.one(4).end == pytest.approx(1.6)


def test_what_tells_sources_apart() -> None:
    """The table's numbers change with each property of each source."""
    each = records(5, 6)
    first = Sources.of(each).identity()
    assert first.shape == (6, 30)
    changed = {
        "location": np.ones(3), "moment": np.ones(6), "force": np.ones(3), "potency": np.ones(6), "porous": np.ones(7),
        "shear_modulus": 2.5, "onset": 7.0,
        "function": Triangle(0.123),
    }  # fmt: skip
    for name, value in changed.items():
        other = [*each]
        other[4] = PointSource(**{**{f: getattr(each[4], f) for f in changed}, name: value})
        rows = (Sources.of(other).identity() != first).any(1)
        assert rows.tolist() == [False] * 4 + [True, False], name


def test_functions_of_very_different_lengths() -> None:
    """Of a length beyond what is worked on at once, too."""
    rng = np.random.default_rng(1)
    samples = [rng.normal(size=n) for n in (2, 40_000, 17, 16, 33)]
    table = SampledFunctions.of(samples, [0.1, 0.2, 0.3, 0.4, 0.5])
    for row, values in enumerate(samples):
        times = table.interval[row] * np.arange(len(values))
        expected = np.concatenate([[0.0], np.cumsum(0.5 * (values[1:] + values[:-1]))]) * table.interval[row]
        assert table.integral(np.array([row]), times[None])[0] == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_low_pass_of_many_is_that_of_each() -> None:
    each = records(8, 12)
    table = lowpassed(each, 1.5, 4.0)
    times = np.linspace(0.0, 5.0, 50)
    for n, source in enumerate(each):
        alone = lowpassed_function(source.function, 1.5, 4.0 - source.onset)
        assert table[n].function.integral(times) == pytest.approx(alone.integral(times), rel=1e-5, abs=1e-7)
