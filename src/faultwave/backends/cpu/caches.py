"""Cache sizes of this machine."""

from __future__ import annotations

import functools
import os


@functools.cache
def first_cache_bytes() -> int:
    """Return the first-level data cache of one core [bytes]; 0 if the system does not report it."""
    try:
        return max(0, os.sysconf("SC_LEVEL1_DCACHE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return 0


__all__ = ["first_cache_bytes"]
