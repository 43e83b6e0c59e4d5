"""Checksums of the files a run reads, made beside the run: a thread of each process takes its share of the pieces.

A file of one piece has the checksum that ``sha256sum`` shows. Of a larger one each piece is summed by itself, and the file's is that of the
pieces' own, one after the other (a hash tree of two levels), so that many processes share the reading.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from faultwave.base import cores
from faultwave.comm import World

PIECE = 1 << 30
"""Bytes."""

BLOCK = 1 << 20
"""Bytes read at once."""


class Digests:
    """Begun by all processes together, for the files that the first one names; a file that cannot be read is noted and stops nothing."""

    def __init__(self, world: World, paths: Iterable[Path]):
        self.world = world
        self.sizes: dict[Path, int] = world.share({p: p.stat().st_size for p in paths} if world.first else None)
        pieces = [(path, start) for path, size in self.sizes.items() for start in range(0, max(size, 1), PIECE)]
        self._mine = pieces[world.rank :: world.size]
        self._found: list[tuple[Path, int, bytes | str]] = []
        self._told: dict[str, dict[str, Any]] | None = None
        self._thread = threading.Thread(target=self._work, name="faultwave-digests", daemon=True)
        if self._mine:
            self._thread.start()

    def _work(self) -> None:
        cores.roam()
        for path, start in self._mine:
            try:
                self._found.append((path, start, _digest(path, start)))
            except OSError as error:
                self._found.append((path, start, error.strerror or str(error)))

    def before(self) -> dict[str, dict[str, Any]]:
        """What is known of each file at once: its size [bytes]."""
        return {str(path): {"bytes": size} for path, size in self.sizes.items()}

    def found(self) -> dict[str, dict[str, Any]]:
        """Return sizes and hexadecimal checksums, on the first process; all must ask. Waits until they are all made, once."""
        if self._told is None:
            self._told = self._gathered()
        return self._told

    def _gathered(self) -> dict[str, dict[str, Any]]:
        if self._mine:
            self._thread.join()
        told = self.world.gather(self._found)
        found = self.before()
        parts = sorted((str(path), start, part) for each in told or [] for path, start, part in each)
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
    """Of the piece that begins there."""
    made, left = hashlib.sha256(), PIECE
    with open(path, "rb") as file:
        file.seek(start)
        while left and (block := file.read(min(BLOCK, left))):
            made.update(block)
            left -= len(block)
    return made.digest()
