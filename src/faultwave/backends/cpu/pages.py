"""Early commitment of memory, in the background while a program still prepares.

The system clears and maps a page at the first write, and in a virtual machine its host may do so again. The first steps of
a run would wait for that page by page. Populating pages changes none of their contents, so that it can run concurrently
with writes to some of them.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Sequence

import numpy as np

POPULATE = 23
"""Value of MADV_POPULATE_WRITE for ``madvise`` (Linux 5.14 and later); older systems refuse it and map pages as usual."""

PAGE, PIECE = 4096, 16 << 20
"""Size of a page, and of one request [bytes]; other threads that map memory wait for the length of a request."""


def populate(arrays: Sequence[np.ndarray]) -> threading.Thread | None:
    """Start a thread that commits the memory of arrays, which may be written meanwhile; None if unsupported."""
    if sys.platform != "linux":
        return None
    thread = threading.Thread(target=_populate, args=(list(arrays),), name="memory", daemon=True)
    thread.start()
    return thread


def _populate(arrays: list[np.ndarray]) -> None:
    library = ctypes.CDLL(None)
    for array in arrays:
        begin = -(-array.ctypes.data // PAGE) * PAGE  # only pages that contain nothing but the array
        end = (array.ctypes.data + array.nbytes) // PAGE * PAGE
        for at in range(begin, end, PIECE):
            if library.madvise(ctypes.c_void_p(at), ctypes.c_size_t(min(PIECE, end - at)), POPULATE):
                return


__all__ = ["populate"]
