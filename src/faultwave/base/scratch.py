"""Folders for files of a moment, which are gone after the program, however it ends."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from faultwave.base.watchdog import WATCHDOG


@contextmanager
def scratch_folder(inside: str | Path | None = None) -> Iterator[Path]:
    """Make a folder that is removed at the end of the block, or where a signal ends the program within it.

    Parameters
    ----------
    inside : folder in which it is made; the system's own for temporary files where there is none
    """
    with tempfile.TemporaryDirectory(prefix="faultwave-", dir=inside) as folder, WATCHDOG.removing(folder):
        yield Path(folder)


__all__ = ["scratch_folder"]
