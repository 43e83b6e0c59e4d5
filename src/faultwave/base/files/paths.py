"""Search for files by names that users wrote."""

from __future__ import annotations

import difflib
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from faultwave.base.errors import suggest

MAX_FILES = 5000
"""Largest number of files of a folder that are compared with a misspelt name."""
ALIKE = 0.75
"""Similarity of names, with and without their suffix, above which one is taken for a misspelling of the other."""

_of_case: ContextVar[tuple[Path, ...]] = ContextVar("of_case", default=())
_report: ContextVar[Callable[[Path], object] | None] = ContextVar("report", default=None)


@contextmanager
def reporting_files(report: Callable[[Path], object]) -> Iterator[None]:
    """Within the block, call ``report`` with every path that only another file names, before it is opened or found missing."""
    token = _report.set(report)
    try:
        yield
    finally:
        _report.reset(token)


@contextmanager
def recording_files() -> Iterator[list[Path]]:
    """Collect the files read within the block that no setting names, such as includes of an easi model."""
    found: list[Path] = []

    def record(path: Path) -> None:
        if path not in found and is_file(path):
            found.append(path)

    with reporting_files(record):
        yield found


def record_file(path: Path) -> Path:
    """Record a file that another file names, for ``recording_files``, and return it."""
    report = _report.get()
    if report is not None:
        report(path.absolute())
    return path


def first_file(candidates: Iterable[Path]) -> Path | None:
    """Return the first of the candidate paths that is a file, None if none is; all paths up to it are recorded."""
    return next((path for path in map(record_file, candidates) if is_file(path)), None)


@contextmanager
def searching_case_folders(files: Sequence[Path]) -> Iterator[None]:
    """Within the block, also search for files named by other files in the folders of the case's own ``files``."""
    token = _of_case.set(tuple(file.parent for file in files))
    try:
        yield
    finally:
        _of_case.reset(token)


def search_folders() -> tuple[str, ...]:
    """Return the folders in which files named by other files are searched, apart from those of the other files."""
    return tuple(str(folder) for folder in (*_of_case.get(), Path.cwd()))


def candidate_paths(name: Path, adjacent: Path) -> list[Path]:
    """Return the candidate paths of a file that another file names.

    They are next to that file, next to the case, and in the working folder.
    """
    if name.is_absolute():
        return [name]
    return list(dict.fromkeys(folder / name for folder in (adjacent, *_of_case.get(), Path.cwd())))


def is_file(path: Path) -> bool:
    """Return True if the file exists; False also for invalid names, such as texts of thousands of characters."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def existing_folder(path: Path) -> Path:
    """Return the nearest path that exists, upwards from an absolute path: the folder whose disk a new file or folder would use."""
    while not path.exists():
        path = path.parent
    return path


def shown(name: object, most: int = 60) -> str:
    """Return a name for messages, truncated if it is too long."""
    text = str(name)
    return text if len(text) <= most else f"{text[: most - 3]}..."


def similar(tried: Sequence[Path]) -> str:
    """Return 'did you mean ...?' for an existing file with a name similar to the missing ones, else an empty text."""
    for path in tried:
        try:
            with os.scandir(path.parent) as found:
                names = [entry.name for entry in itertools.islice(found, MAX_FILES) if entry.is_file()]
        except (OSError, ValueError):
            continue
        near = [
            name
            for name in names
            if min(name_similarity(path.name, name), name_similarity(path.stem, Path(name).stem)) >= ALIKE
        ]
        if near:
            return suggest(path.name, near)
    return ""


def name_similarity(one: str, other: str) -> float:
    """Return the similarity of two texts from 0 to 1, ignoring case."""
    return difflib.SequenceMatcher(None, one.lower(), other.lower()).ratio()


def search_advice(tried: Sequence[Path]) -> str:
    """Return advice for a file that was not found in any folder."""
    near = similar(tried)
    return "Looked for " + " and ".join(shown(path, 500) for path in tried) + (f"; {near}" if near else "")
