"""White noise on an unbounded lattice: a function of the seed and the indices of a lattice point, computed where it is needed.

The numbers are those of Philox4x32-10 [1]_, a generator whose output is a function of a counter and a key. The counter is
the index of the lattice point, so that no number depends on those before it, on processes or on the order of evaluation.

References
----------
.. [1] Salmon, Moraes, Dror & Shaw (2011), Parallel random numbers: as easy as 1, 2, 3, SC11.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
"""Unsigned 32-bit words, stored in 64 bits so that products need no special care."""

_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL = 0x9E3779B9, 0xBB67AE85
_LOW, _SHIFT = np.uint64(0xFFFFFFFF), np.uint64(32)
_ROUNDS = 10


def philox(counter: Sequence[Words], key: tuple[int, int]) -> tuple[Words, Words, Words, Words]:
    """Return the four words of Philox4x32-10 for each counter.

    Parameters
    ----------
    counter : sequence of four ndarray
        Words of the counters, which are broadcast against each other.
    key : tuple of int
        Two words of the key.

    Returns
    -------
    tuple of four ndarray
        Words of the result.
    """
    a, b, c, d = np.broadcast_arrays(*counter)
    for number in range(_ROUNDS):
        first, second = ((key[n] + number * _WEYL[n]) & 0xFFFFFFFF for n in (0, 1))
        upper, lower = a * _MULTIPLIERS[0], c * _MULTIPLIERS[1]
        a, b, c, d = (
            (lower >> _SHIFT) ^ b ^ np.uint64(first),
            lower & _LOW,
            (upper >> _SHIFT) ^ d ^ np.uint64(second),
            upper & _LOW,
        )
    return a, b, c, d


def key_of(seed: int, name: str, level: int) -> tuple[int, int]:
    """Return the key of the noise of one level of a named field."""
    sequence = np.random.SeedSequence(seed, spawn_key=(level, *name.encode()))
    first, second = sequence.generate_state(2)
    return int(first), int(second)


def lattice_noise(first: NDArray[np.int64], count: int, key: tuple[int, int]) -> NDArray[np.float64]:
    """Return independent standard normal numbers at the points of several cubic parts of the lattice.

    Parameters
    ----------
    first : ndarray (d, n)
        Indices of the first point of each part along two or three axes; indices are distinct modulo 2^32.
    count : int
        Number of points along each axis of a part.
    key : tuple of int
        Key of the noise.

    Returns
    -------
    ndarray (n,) + (count,) * d
    """
    dimensions, parts = first.shape
    low = first[-1] // 4  # one counter supplies four neighbours along the last axis
    groups = (count + 2) // 4 + 1
    axes = [start[:, None] + np.arange(count) for start in first[:-1]] + [low[:, None] + np.arange(groups)]
    counter = [np.zeros((1,) * (dimensions + 1), np.uint64)] * 4
    for axis, indices in enumerate(axes):
        shape = [1] * dimensions
        shape[axis] = indices.shape[1]
        counter[axis] = (indices.astype(np.uint64) & _LOW).reshape(parts, *shape)
    words = np.stack(philox(counter, key), axis=-1)
    words = words.reshape(*words.shape[:-2], 4 * groups)
    chosen = (first[-1] - 4 * low)[:, None] + np.arange(count)
    chosen = chosen.reshape(parts, *(1,) * (dimensions - 1), count)
    from scipy.special import ndtri  # takes long to import, and few runs need it

    return np.asarray(ndtri((np.take_along_axis(words, chosen, -1) + 0.5) * 2.0**-32))
