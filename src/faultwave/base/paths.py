"""Asking for files by names that users wrote."""

from __future__ import annotations

import difflib
import itertools
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from faultwave.base.errors import suggest

MOST_FILES = 5000
"""Of a folder that are looked through for a similar name."""
ALIKE = 0.75
"""Likeness of names, with and without their ending, from which one is taken for the other misspelt."""

_of_case: ContextVar[tuple[Path, ...]] = ContextVar("of_case", default=())


_read: ContextVar[list[Path] | None] = ContextVar("read", default=None)


@contextmanager
def noting_files() -> Iterator[list[Path]]:
    """Collect the files that are read within although no setting names them, as those that an easi model names."""
    found: list[Path] = []
    token = _read.set(found)
    try:
        yield found
    finally:
        _read.reset(token)


def note_file(path: Path) -> Path:
    """Note a file that another file names, for ``noting_files``; returns it."""
    found = _read.get()
    if found is not None and path.absolute() not in found:
        found.append(path.absolute())
    return path


@contextmanager
def beside_case(files: Sequence[Path]) -> Iterator[None]:
    """Within it, files that other files name are looked for beside the case's own ``files``, too."""
    token = _of_case.set(tuple(file.parent for file in files))
    try:
        yield
    finally:
        _of_case.reset(token)


def places_of(name: Path, beside: Path) -> list[Path]:
    """Where a file may be that another file in the folder ``beside`` names: there, beside the case, in the working folder."""
    if name.is_absolute():
        return [name]
    return list(dict.fromkeys(folder / name for folder in (beside, *_of_case.get(), Path.cwd())))


def is_file(path: Path) -> bool:
    """Whether there is a file of this name; also False for what can be no name, such as a text of thousands of letters."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def shown(name: object, most: int = 60) -> str:
    """A name for messages, cut where it is too long to read."""
    text = str(name)
    return text if len(text) <= most else f"{text[: most - 3]}..."


def similar(tried: Sequence[Path]) -> str:
    """'did you mean ...?' for a file beside those that are not there; empty where none is called alike."""
    for path in tried:
        try:
            with os.scandir(path.parent) as found:
                names = [entry.name for entry in itertools.islice(found, MOST_FILES) if entry.is_file()]
        except (OSError, ValueError):
            continue
        near = [name for name in names if min(likeness(path.name, name), likeness(path.stem, Path(name).stem)) >= ALIKE]
        if near:
            return suggest(path.name, near)
    return ""


def likeness(one: str, other: str) -> float:
    """0 to 1: how much of two texts is the same, whatever their case."""
    return difflib.SequenceMatcher(None, one.lower(), other.lower()).ratio()


def looked_for(tried: Sequence[Path]) -> str:
    """Advice where a file was found in no folder."""
    near = similar(tried)
    return "Looked for " + " and ".join(shown(path, 500) for path in tried) + (f"; {near}" if near else "")


__all__ = ["beside_case", "is_file", "looked_for", "note_file", "noting_files", "places_of", "shown", "similar"]
