"""The cores this process may use.

Once a library of kernels binds its threads, the thread that called it is bound to one core, and so is whatever it starts
later. What counts is what was allowed when the program started.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

MOST_THREADS = 4096
"""Of a process. OpenMP keeps what it knows of its threads on the stack of the first, which ends the program where it is too small."""

_allowed: set[int] = set(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else set()


def allowed() -> set[int]:
    """Their numbers; empty where the system does not tell."""
    return set(_allowed)


def count() -> int:
    return len(_allowed) or os.cpu_count() or 1


_asked: list[int] = []


def threads() -> int:
    """How many threads to compute with where a case does not say: OMP_NUM_THREADS where it is set, else one a core; never more than
    ``limited`` allows."""
    told = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    found = int(told) if told.isdigit() and int(told) > 0 else count()
    return min([found, MOST_THREADS, *_asked])


@contextmanager
def limited(most: int | None) -> Iterator[None]:
    """Inside, ``threads`` are ``most`` at most; None changes nothing."""
    _asked.extend([] if most is None else [most])
    try:
        yield
    finally:
        del _asked[len(_asked) - (most is not None) :]


def restrict(cores: set[int]) -> None:
    """From now on this process uses only these."""
    _allowed.intersection_update(cores)
    os.sched_setaffinity(0, _allowed)


def roam() -> None:
    """Let the calling thread, and what it starts, run on any of them."""
    if _allowed:
        os.sched_setaffinity(0, _allowed)
