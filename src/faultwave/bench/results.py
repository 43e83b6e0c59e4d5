"""Numbers that go into a benchmark and come out of it: counts checked, results as JSON, tables in pages, figures."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.processes.host import MAX_THREADS
from faultwave.base.types import Settings
from faultwave.output.atomic import atomic_text

Measured: TypeAlias = Settings
"""Results of one measurement by name: plain data, as written to JSON and read back (docs/benchmarks.md explains each key)."""


def check_counts(problems: Problems, **counts: int | None) -> None:
    """Report options by name whose number is below 1, or above the OpenMP limit for ``threads``; None is skipped."""
    for name, number in counts.items():
        if number is not None and number < 1:
            problems.error(f"--{name}", f"is {number}", "at least 1")
        elif name == "threads" and number is not None and number > MAX_THREADS:
            problems.error("--threads", f"is {number}", f"1 to {MAX_THREADS}")


@dataclass(frozen=True)
class Files:
    """Output files: the page to ``write`` the table into, ``json`` and ``picture``; None if not requested."""

    write: Path | None = None
    json: Path | None = None
    picture: Path | None = None

    def problems(self, name: str) -> list[Problem]:
        """Return the problems of the output files before the benchmark runs: missing folders or table markers."""
        problems = Problems()
        if self.write is not None:
            try:
                around(self.write, name)
            except InputError as error:
                problems.extend(error.problems)
        for file in (self.json, self.picture):
            if file is not None and not file.absolute().parent.is_dir():
                advice = "Create the folder first."
                problems.error(str(file), "cannot be written: the folder does not exist", advice=advice)
            elif file is not None and file.is_dir():
                problems.error(str(file), "is a folder", "a file")
        return problems.items

    def check(self) -> None:
        """Raise InputError with all problems of files that contain no table."""
        problems = Problems()
        problems.extend(self.problems(""))
        problems.raise_errors()

    def keep(
        self, found: object, draw: Callable[[Path], Path] | None = None, table: tuple[str, str] | None = None
    ) -> list[Path]:
        """Write the requested files and return the figures: ``found`` as JSON, the ``table`` (name, text), and ``draw(path)``."""
        if self.write is not None and table is not None:
            name, text = table
            insert(self.write, text, name)
        if self.json is not None:
            write_json(self.json, found)
        return [draw(self.picture)] if self.picture is not None and draw is not None else []


def write_json(path: Path, found: object) -> Path:
    """Write results as JSON, atomically."""
    with atomic_text(path) as file:
        json.dump(found, file, indent=1)
        file.write("\n")
    return path


def markers(name: str) -> tuple[str, str]:
    """Return the marker lines that enclose a table in a file."""
    return f"<!-- {name} table: begin -->", f"<!-- {name} table: end -->"


def around(path: Path, name: str) -> tuple[str, str]:
    """Return the text before and after the table; raise InputError for a file without markers."""
    opening, closing = markers(name)
    try:
        before = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from error
    head, begin, rest = before.partition(opening)
    _, end, tail = rest.partition(closing)
    if not (begin and end):
        raise InputError(Problem(str(path), "has no markers for the table", f"lines '{opening}' and '{closing}'"))
    return head, tail


def insert(path: Path, text: str, name: str) -> None:
    """Insert ``text`` between the markers of a file; raise InputError if it has none."""
    (head, tail), (opening, closing) = around(path, name), markers(name)
    with atomic_text(path) as file:
        file.write(f"{head}{opening}\n{text}\n{closing}{tail}")
