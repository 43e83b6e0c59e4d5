"""Fresh memory, taken from the system while a program still prepares.

The system clears a page and hands it out when somebody first writes to it, and in a virtual machine its host may do so once more. The first
steps of a run would wait for that, page by page. Asking for many pages at once changes none of their numbers, so that it can be done beside
what already writes to some of them.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Sequence

import numpy as np

POPULATE = 23
"""What ``madvise`` calls it since Linux 5.14 (MADV_POPULATE_WRITE); older systems refuse and hand pages out as ever."""

PAGE, PIECE = 4096, 16 << 20
"""Bytes of a page, and of what is asked for at once: others who map memory wait for so long."""


def populate(arrays: Sequence[np.ndarray]) -> threading.Thread | None:
    """Begin to take the memory of the arrays, which may be written to meanwhile; the thread that does, None where a system cannot."""
    if sys.platform != "linux":
        return None
    thread = threading.Thread(target=_populate, args=(list(arrays),), name="memory", daemon=True)
    thread.start()
    return thread


def _populate(arrays: list[np.ndarray]) -> None:
    library = ctypes.CDLL(None)
    for array in arrays:
        begin = -(-array.ctypes.data // PAGE) * PAGE  # pages that are the array's alone
        end = (array.ctypes.data + array.nbytes) // PAGE * PAGE
        for at in range(begin, end, PIECE):
            if library.madvise(ctypes.c_void_p(at), ctypes.c_size_t(min(PIECE, end - at)), POPULATE):
                return


__all__ = ["populate"]
