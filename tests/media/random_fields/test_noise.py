"""White noise on a lattice: the published numbers of the generator, and independence of how the noise is read."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

from faultwave.media.random_fields.noise import key_of, lattice_noise, philox


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_the_generator_returns_the_published_words(counter, key, expected):
    words = philox([np.array([word], np.uint64) for word in counter], key)
    assert tuple(int(word[0]) for word in words) == expected


@pytest.mark.parametrize("dimensions", [2, 3])
def test_noise_is_a_function_of_the_lattice_point(dimensions):
    first = np.array([[-9], [5], [-3]])[:dimensions]
    whole = lattice_noise(first, 21, (7, 8))[0]
    for shift in range(8):
        part = lattice_noise(first + shift, 6, (7, 8))[0]
        np.testing.assert_array_equal(part, whole[(slice(shift, shift + 6),) * dimensions])
    both = lattice_noise(np.concatenate([first, first + 3], axis=1), 6, (7, 8))
    np.testing.assert_array_equal(both[1], whole[(slice(3, 9),) * dimensions])


def test_noise_is_standard_normal_and_white():
    noise = lattice_noise(np.array([[-20], [-20], [10]]), 40, (1, 2))[0]
    assert kstest(noise.ravel(), "norm").pvalue > 1e-3
    for axis in range(3):
        ahead, behind = np.moveaxis(noise, axis, 0)[1:], np.moveaxis(noise, axis, 0)[:-1]
        assert abs((ahead * behind).mean()) < 4 / np.sqrt(ahead.size)


def test_seeds_names_and_levels_have_keys_of_their_own():
    keys = {key_of(seed, name, level) for seed in (0, 1, 2**40) for name in ("a", "b", "ab") for level in range(12)}
    assert len(keys) == 3 * 3 * 12
