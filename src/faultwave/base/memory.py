"""Memory of this process and of its machine."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
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


def release_freed() -> None:
    """Give freed memory back to the system: a C library keeps what many arrays of some megabytes have left."""
    with contextlib.suppress(OSError, AttributeError, TypeError):  # other systems do it by themselves, or have no way
        ctypes.CDLL(None).malloc_trim(0)


def whole_memory_rows(snapshots: bool = False) -> list[tuple[str, str]]:
    """For ``faultwave plan``, whose process holds by then what that of a run does, with ``snapshots`` also the first of these.
    Later ones that wait to be written come on top."""
    most = peak_memory()
    with_what = (
        "with libraries, mesh, plan and first snapshots"
        if snapshots
        else "with libraries, mesh and plan, before output"
    )
    return [] if most is None else [("memory of the process", f"{most / 2**20:,.0f} MiB {with_what}")]


__all__ = ["machine_memory", "peak_memory", "release_freed", "whole_memory_rows"]
