"""Multithreaded work on long arrays in cache-sized pieces; NumPy releases Python's lock while it computes.

The work on a piece must not depend on where it begins: then results are the same for any size and any number of threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np

from faultwave.base.processes import host

CHUNK_SIZE = 1 << 14
"""Number of items in a piece; the data of a cell processed at once take some hundred bytes."""

BUCKET = 1 << 18
"""Number of keys that are sorted at once."""


def in_pieces(work: Callable[[slice], None], count: int, size: int = CHUNK_SIZE) -> None:
    """Call ``work`` on consecutive pieces of a range, on all threads of the program.

    Parameters
    ----------
    work : callable
        ``work(piece)`` processes a slice of items.
    count : int
        Number of items.
    size : int
        Number of items in a piece.

    Raises
    ------
    BaseException
        First exception that ``work`` raised.
    """
    if count <= size or host.thread_count() < 2:
        for start in range(0, count, size):
            work(slice(start, min(start + size, count)))
        return
    starts, lock = iter(range(0, count, size)), threading.Lock()
    errors: list[BaseException] = []

    def take() -> None:
        while not errors:
            with lock:
                start = next(starts, None)
            if start is None:
                return
            try:
                work(slice(start, min(start + size, count)))
            except BaseException as error:
                errors.append(error)

    def help_out() -> None:
        host.use_all_cores()
        take()

    number = min(host.thread_count(), -(-count // size)) - 1
    helpers = [threading.Thread(target=help_out, name="faultwave-pieces", daemon=True) for _ in range(number)]
    for helper in helpers:
        helper.start()
    try:
        take()
    except BaseException as error:  # on an interruption, helpers finish their pieces
        errors.append(error)
    for helper in helpers:
        helper.join()
    if errors:
        raise errors[0]


def map_chunks(work: Callable[[slice], np.ndarray], count: int, size: int = CHUNK_SIZE) -> np.ndarray:
    """Return an array assembled from the results of ``work`` on consecutive pieces.

    Parameters
    ----------
    work : callable
        ``work(piece)`` returns the rows of a slice of items.
    count : int
        Number of items.
    size : int
        Number of items in a piece.

    Returns
    -------
    ndarray, shape (count, ...)
    """
    first = work(slice(0, min(size, count)))
    made = np.empty((count, *first.shape[1:]), first.dtype)
    made[: len(first)] = first

    def fill(piece: slice) -> None:
        rows = slice(piece.start + len(first), piece.stop + len(first))
        made[rows] = work(rows)

    in_pieces(fill, count - len(first), size)
    return made


def stable_argsort(keys: np.ndarray) -> np.ndarray:
    """Return ``np.argsort(keys, kind="stable")`` of integers (n,), by sorting cache-sized buckets."""
    buckets = -(-len(keys) // BUCKET)
    if buckets < 2:
        return np.argsort(keys, kind="stable")
    some = np.sort(keys[:: max(1, len(keys) // (64 * buckets))])
    bounds = np.unique(some[:: max(1, len(some) // buckets)][1:])
    if not len(bounds):
        return np.argsort(keys, kind="stable")
    bucket = map_chunks(lambda p: np.searchsorted(bounds, keys[p], side="right").astype(np.uint16), len(keys))
    members = np.argsort(bucket, kind="stable")  # counting sort for 16-bit integers
    ends = np.cumsum(np.bincount(bucket, minlength=len(bounds) + 1))

    def sort(which: slice) -> None:
        for i in range(which.start, which.stop):
            part = slice(ends[i - 1] if i else 0, ends[i])
            mine = members[part]
            members[part] = mine[np.argsort(keys[mine], kind="stable")]

    in_pieces(sort, len(ends), 1)
    return members
