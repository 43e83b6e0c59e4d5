"""Memory that a process has asked for and does not hold yet."""

from __future__ import annotations

import mmap
import sys

import numpy as np
import pytest

from faultwave.base.processes.host import nonresident_bytes, resident_memory

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell")
SIZE = 64 << 20


def test_what_was_never_written() -> None:
    array = np.frombuffer(mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), np.uint8)
    place = (array.ctypes.data, SIZE)
    before, held = nonresident_bytes([place]), resident_memory()
    assert before is not None and held is not None and 0.9 * SIZE < before <= SIZE
    array[: SIZE // 4] = 1
    after, now = nonresident_bytes([place]), resident_memory()
    assert after is not None and now is not None
    assert before - after == pytest.approx(SIZE // 4, abs=5 << 20) and now - held == pytest.approx(
        SIZE // 4, abs=5 << 20
    )
    assert nonresident_bytes([(place[0] + SIZE // 2, SIZE // 4)]) == pytest.approx(SIZE // 4, abs=5 << 20), (
        "a part of it"
    )
    array[:] = 1
    assert nonresident_bytes([place]) == pytest.approx(0, abs=5 << 20)
    assert nonresident_bytes([]) == 0
