"""Processor cores that this process may use.

Once a kernel library binds its threads, the calling thread is bound to one core, and so is everything it starts later. Therefore the
affinity at program start is used.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

MAX_THREADS = 4096
"""Largest number of threads; OpenMP stores thread data on the first thread's stack, which would overflow beyond it."""

_allowed: set[int] = set(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else set()


def allowed() -> set[int]:
    """Return the numbers of the cores, an empty set if the system does not provide them."""
    return set(_allowed)


def count() -> int:
    """Return the number of cores that this process may use."""
    return len(_allowed) or os.cpu_count() or 1


_thread_limits: list[int] = []


def threads() -> int:
    """Return the default number of threads: OMP_NUM_THREADS if set, else one per core, bounded by ``limit_threads``."""
    reported = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    found = int(reported) if reported.isdigit() and int(reported) > 0 else count()
    return min([found, MAX_THREADS, *_thread_limits])


@contextmanager
def limit_threads(most: int | None) -> Iterator[None]:
    """Limit ``threads`` to ``most`` inside the block; None sets no limit."""
    _thread_limits.extend([] if most is None else [most])
    try:
        yield
    finally:
        del _thread_limits[len(_thread_limits) - (most is not None) :]


def restrict_cores(cores: set[int]) -> None:
    """Restrict this process to the given cores from now on."""
    _allowed.intersection_update(cores)
    os.sched_setaffinity(0, _allowed)


def use_all_cores() -> None:
    """Let the calling thread, and what it starts, run on any allowed core."""
    if _allowed:
        os.sched_setaffinity(0, _allowed)
