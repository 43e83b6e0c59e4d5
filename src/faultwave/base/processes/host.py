"""Host that the program runs on: cores, memory, and child processes isolated from MPI launchers.

Once a kernel library binds its threads, the calling thread is bound to one core, and so is everything it starts later. Therefore the
affinity at program start is used.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

PYTHON = (sys.executable, "-P")
"""Command prefix of Python children.

-P removes the working folder and the script's folder from the import path, where anybody could have placed a file named like an imported
module.
"""

LAUNCHERS = (
    "PMI_", "PMI2_", "PMIX_", "HYDI_", "HYDRA_", "MPI_LOCAL", "OMPI_COMM_WORLD_", "OMPI_UNIVERSE_", "OMPI_MCA_ess_", "OMPI_MCA_orte_",
    "PRTE_", "PALS_", "SLURM_",
)  # fmt: skip
"""Prefixes of environment variables by which a process recognises that an MPI launcher started it."""


def without_launcher() -> dict[str, str]:
    """Return the environment without variables of MPI launchers, since the child is not a process of the run.

    Python processes started by the child do not import from the working folder either.
    """
    return {k: v for k, v in os.environ.items() if not k.startswith(LAUNCHERS)} | {"PYTHONSAFEPATH": "1"}


MAX_THREADS = 4096
"""Largest number of threads; OpenMP stores thread data on the first thread's stack, which would overflow beyond it."""

_allowed_cores: set[int] = set(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else set()


def allowed_cores() -> set[int]:
    """Return the numbers of the cores, an empty set if the system does not provide them."""
    return set(_allowed_cores)


def core_count() -> int:
    """Return the number of cores that this process may use."""
    return len(_allowed_cores) or os.cpu_count() or 1


_thread_limits: list[int] = []


def thread_count() -> int:
    """Return the default number of threads: OMP_NUM_THREADS if set, else one per core, bounded by ``limit_threads``."""
    reported = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    found = int(reported) if reported.isdigit() and int(reported) > 0 else core_count()
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
    _allowed_cores.intersection_update(cores)
    os.sched_setaffinity(0, _allowed_cores)


def use_all_cores() -> None:
    """Let the calling thread, and what it starts, run on any allowed core."""
    if _allowed_cores:
        os.sched_setaffinity(0, _allowed_cores)


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
