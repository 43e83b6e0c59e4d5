"""What ``tools/fuzz.py`` knows of a reader of input files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


class Silent(Exception):
    """Something plainly wrong was taken without a word."""


@dataclass(frozen=True)
class Reader:
    """``seeds`` writes sound files into a folder; ``read`` reads one; ``suffix`` of its name; ``named``: an error names the file."""

    seeds: Callable[[Path], Iterable[Path]]
    read: Callable[[Path], Any]
    suffix: str = ""
    named: bool = True


def finite(what: str, values: Any) -> None:
    """Raise Silent unless all values are finite."""
    if not np.isfinite(np.asarray(values, float)).all():
        raise Silent(f"{what} is not finite")


def texts(*contents: str) -> Callable[[Path], list[Path]]:
    """Return a function that writes one sound file for each text."""

    def write(folder: Path) -> list[Path]:
        paths = [folder / f"seed{i}" for i in range(len(contents))]
        for path, text in zip(paths, contents, strict=True):
            path.write_text(text)
        return paths

    return write


def by(write: Callable[[Path], Any]) -> Callable[[Path], list[Path]]:
    """Return a function that writes a sound file by ``write``."""

    def seeds(folder: Path) -> list[Path]:
        write(folder / "seed")
        return [folder / "seed"]

    return seeds


SOUND = Path(__file__).resolve().parents[1] / "tests" / "fuzz" / "sound"
"""Sound files that hold times, names or measured numbers, which would be others at each run."""


def stored(name: str) -> Callable[[Path], list[Path]]:
    """Return a function that names a stored sound file."""
    return lambda folder: [SOUND / name]
