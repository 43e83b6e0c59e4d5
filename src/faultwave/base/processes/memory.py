"""Memory use of this process and memory of the machine."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path


def peak_memory() -> int | None:
    """Return the peak resident memory [bytes] of this process, None if the system does not provide it."""
    try:
        import resource
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most  # macOS counts bytes


def machine_memory() -> int | None:
    """Return the memory [bytes] of this machine or the limit of its container or job, None if unknown."""
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
    """Return the current resident memory [bytes] of this process, None if the system does not provide it."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (ValueError, IndexError, OSError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def nonresident_bytes(places: Iterable[tuple[int, int]]) -> int | None:
    """Return the size [bytes] of memory ranges that are allocated but not yet resident.

    Parameters
    ----------
    places : iterable of (int, int)
        Address of the first byte and size [bytes] of each range.

    Returns
    -------
    int or None
        None if the system does not provide it.
    """
    try:
        areas = list(_areas(Path("/proc/self/smaps").read_text()))
    except (ValueError, IndexError, OSError):
        return None
    found, listed = 0, [(begin, begin + size) for begin, size in places]
    for begin, end, held in areas:
        requested = sum(max(0, min(end, b) - max(begin, a)) for a, b in listed)
        found += min(requested, end - begin - held)  # any pages of an area may be the resident ones
    return found


def _areas(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield first address, end address and resident bytes of every mapped memory area."""
    begin = end = 0
    for line in text.splitlines():
        first, *rest = line.split()
        if first == "Rss:":
            yield begin, end, 1024 * int(rest[0])
        elif not first.endswith(":"):
            begin, end = (int(x, 16) for x in first.split("-"))


SMALL = 1 << 29
"""Peak memory [bytes] below which a process skips garbage collection."""


def release_freed() -> None:
    """Return freed memory to the operating system.

    The C library retains memory of freed arrays of some megabytes, and Python retains reference cycles, which large processes collect.
    """
    if (peak_memory() or SMALL) >= SMALL:
        gc.collect()
    with contextlib.suppress(OSError, AttributeError, TypeError):  # other systems do so themselves, or cannot
        ctypes.CDLL(None).malloc_trim(0)


def process_memory_rows(snapshots: bool = False, most: float | None = None) -> list[tuple[str, str]]:
    """Return the row of ``faultwave plan`` on the memory of the process.

    Parameters
    ----------
    snapshots : bool
        True if the process also holds the first snapshots.
    most : float, optional
        Expected memory of the run [bytes], if it exceeds the peak of this process so far.
    """
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
    "nonresident_bytes",
    "process_memory_rows",
]
