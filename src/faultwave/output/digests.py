"""Checksums of the input files of a run, computed in a background thread of each process.

A file of one piece has the checksum that ``sha256sum`` prints. Each piece of a larger file is hashed separately, and the checksum of the
file is computed from the concatenated piece checksums (a two-level hash tree), so that many processes share the reading.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable
from pathlib import Path

from faultwave.base.processes import host
from faultwave.base.types import Settings
from faultwave.comm import World

PIECE = 1 << 30
"""Size of a piece [bytes]."""

BLOCK = 1 << 20
"""Size of a block read at once [bytes]."""


class Digests:
    """Checksums of files, computed collectively by all processes.

    The first process lists the files. A file that cannot be read is reported in the result and does not stop the run.
    """

    def __init__(self, world: World, paths: Iterable[Path]):
        self.world = world
        self.sizes: dict[Path, int] = world.share({p: p.stat().st_size for p in paths} if world.first else None)
        pieces = [(path, start) for path, size in self.sizes.items() for start in range(0, max(size, 1), PIECE)]
        self._mine = pieces[world.rank :: world.size]
        self._found: list[tuple[Path, int, bytes | str]] = []
        self._told: dict[str, Settings] | None = None
        self._thread = threading.Thread(target=self._work, name="faultwave-digests", daemon=True)
        if self._mine:
            self._thread.start()

    def _work(self) -> None:
        host.use_all_cores()
        for path, start in self._mine:
            try:
                self._found.append((path, start, _digest(path, start)))
            except OSError as error:
                self._found.append((path, start, error.strerror or str(error)))

    def before(self) -> dict[str, Settings]:
        """Return the size [bytes] of each file, available before any checksum."""
        return {str(path): {"bytes": size} for path, size in self.sizes.items()}

    def found(self) -> dict[str, Settings]:
        """Return sizes and hexadecimal checksums on the first process; wait until they are complete.

        Collective: all processes must call it.
        """
        if self._told is None:
            self._told = self._gathered()
        return self._told

    def _gathered(self) -> dict[str, Settings]:
        if self._mine:
            self._thread.join()
        reported = self.world.gather(self._found)
        found = self.before()
        parts = sorted((str(path), start, part) for each in reported or [] for path, start, part in each)
        for path, entry in found.items():
            mine = [part for name, _, part in parts if name == path]
            wrong = [part for part in mine if isinstance(part, str)]
            if wrong:
                entry["unreadable"] = wrong[0]
            elif len(mine) == 1:
                entry["sha256"] = mine[0].hex()
            else:
                entry[f"sha256_of_pieces_of_{PIECE}_bytes"] = hashlib.sha256(b"".join(mine)).hexdigest()
        return found


def _digest(path: Path, start: int) -> bytes:
    """Return the SHA-256 of the piece of a file that begins at ``start``."""
    made, left = hashlib.sha256(), PIECE
    with open(path, "rb") as file:
        file.seek(start)
        while left and (block := file.read(min(BLOCK, left))):
            made.update(block)
            left -= len(block)
    return made.digest()
