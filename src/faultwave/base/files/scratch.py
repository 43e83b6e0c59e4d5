"""Temporary folders that are removed when the program ends, even by a signal."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from faultwave.base.processes.watchdog import WATCHDOG


@contextmanager
def scratch_folder(inside: str | Path | None = None) -> Iterator[Path]:
    """Create a folder that is removed at the end of the block, or when a signal ends the program within it.

    Parameters
    ----------
    inside : str or Path, optional
        Parent folder; by default the system's folder for temporary files.
    """
    with tempfile.TemporaryDirectory(prefix="faultwave-", dir=inside) as folder, WATCHDOG.removing(folder):
        yield Path(folder)


__all__ = ["scratch_folder"]
