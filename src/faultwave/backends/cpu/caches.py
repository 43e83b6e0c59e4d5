"""What is known of the caches of this machine."""

from __future__ import annotations

import functools
import os


@functools.cache
def first_cache_bytes() -> int:
    """Of one core, for numbers; 0 where the system does not say."""
    try:
        return max(0, os.sysconf("SC_LEVEL1_DCACHE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return 0


__all__ = ["first_cache_bytes"]
