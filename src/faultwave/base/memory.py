"""Memory of this process and of its machine."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path


def peak_memory() -> int | None:
    """The most memory [bytes] that this process has held so far; None where the system does not say."""
    try:
        import resource
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most  # macOS counts bytes


def machine_memory() -> int | None:
    """Memory [bytes] of this machine, or what its container or job may have of it; None where the system does not say."""
    try:
        found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None
    try:
        allowed = int(Path("/sys/fs/cgroup/memory.max").read_text())  # "max" where there is no limit
    except (ValueError, OSError):
        return found
    return min(found, allowed)


def resident_memory() -> int | None:
    """Memory [bytes] that this process holds now; None where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (ValueError, IndexError, OSError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def untouched(places: Iterable[tuple[int, int]]) -> int | None:
    """Bytes of memory that lies at ``places``, first byte and size of each, and which the process does not hold before it writes there;
    None where the system does not say."""
    try:
        areas = list(_areas(Path("/proc/self/smaps").read_text()))
    except (ValueError, IndexError, OSError):
        return None
    found, listed = 0, [(begin, begin + size) for begin, size in places]
    for begin, end, held in areas:
        asked = sum(max(0, min(end, b) - max(begin, a)) for a, b in listed)
        found += min(asked, end - begin - held)  # what is held of an area may be any of it
    return found


def _areas(text: str) -> Iterator[tuple[int, int, int]]:
    """First byte, end, and bytes that are held, of every area of memory that the system tells of."""
    begin = end = 0
    for line in text.splitlines():
        first, *rest = line.split()
        if first == "Rss:":
            yield begin, end, 1024 * int(rest[0])
        elif not first.endswith(":"):
            begin, end = (int(x, 16) for x in first.split("-"))


SMALL = 1 << 29
"""Bytes of a process that need not look for a few of them."""


def release_freed() -> None:
    """Give freed memory back to the system: a C library keeps what many arrays of some megabytes have left, Python what refers to itself,
    which a large process looks for."""
    if (peak_memory() or SMALL) >= SMALL:
        gc.collect()
    with contextlib.suppress(OSError, AttributeError, TypeError):  # other systems do it by themselves, or have no way
        ctypes.CDLL(None).malloc_trim(0)


def whole_memory_rows(snapshots: bool = False, most: float | None = None) -> list[tuple[str, str]]:
    """For ``faultwave plan``, whose process holds by then what that of a run does, with ``snapshots`` also the first of these.
    ``most`` [bytes]: what a run will hold, where that is more than this process has held so far."""
    most = peak_memory() if most is None else most
    with_what = (
        "with libraries, mesh, plan and first snapshots"
        if snapshots
        else "with libraries, mesh and plan, before output"
    )
    return [] if most is None else [("memory of the process", f"{most / 2**20:,.0f} MiB {with_what}")]


__all__ = [
    "SMALL",
    "machine_memory",
    "peak_memory",
    "release_freed",
    "resident_memory",
    "untouched",
    "whole_memory_rows",
]
