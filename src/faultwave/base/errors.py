"""Errors that state the place, the given value, the allowed values and advice; several are collected before they are raised.

Input is checked completely before anything is raised, so that a user sees every problem at once: packages add to a ``Problems`` collector
and the caller raises one ``InputError`` for all of them.

Readers check what they read and name the file. Values that pass these checks can still be unusable, such as a time axis that runs
backwards; the resulting errors become messages here, where the files of a run are used.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from faultwave.base import wording
from faultwave.base.wording import printable

SHOWN = 500
"""Largest number of places that a problem stores."""
Places = Any
"""List or array of points (n, 2 or 3)."""
LONG_WORD = re.compile(r"\S{500,}")
"""Very long word, as damaged files contain; errors show only its two ends."""


def _ends(word: re.Match[str]) -> str:
    return f"{word[0][:80]}...{word[0][-80:]}"


def without_repeated_place(place: str, what: str) -> str:
    """Return the text without the setting's name if the place is that name, as in cases without a file."""
    for between in (": ", " "):
        if what.startswith(place + between):
            return what[len(place + between) :]
    return what


def as_places(points: Places) -> tuple[tuple[float, ...], ...]:
    """Return points (n, 2 or 3) [m] as tuples, evenly thinned out to at most ``SHOWN``."""
    return tuple(tuple(float(x) for x in point) for point in points[:: 1 + len(points) // (SHOWN + 1)])


@dataclass(frozen=True)
class Problem:
    """Single problem of the input.

    Attributes
    ----------
    where : str
        File and line, path of a setting, or coordinates.
    what : str
        Description of the problem.
    allowed : str
        Allowed values.
    advice : str
        Suggested remedy.
    severity : {'error', 'warning'}
        Severity.
    places : tuple of tuple of float
        Coordinates x, y and optionally z [m] of the problem, for pictures.
    """

    where: str
    what: str
    allowed: str = ""
    advice: str = ""
    severity: Literal["error", "warning"] = "error"
    places: tuple[tuple[float, ...], ...] = field(default=(), compare=False, repr=False)

    def __str__(self) -> str:
        text = f"{self.where}: {LONG_WORD.sub(_ends, without_repeated_place(self.where, self.what))}"
        if self.allowed:
            text += f" (allowed: {self.allowed})"
        if self.advice:
            text += f". {self.advice}"
        return text


class FaultwaveError(Exception):
    """Base of all intended errors, with a text for users; ``code`` is the exit code of the program."""

    code = 1


class InputError(FaultwaveError):
    """Raised if the input cannot be run; carries every problem found."""

    code = 2

    def __init__(self, problems: Problem | Iterable[Problem]):
        self.problems = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(str(p) for p in self.problems))

    def __reduce__(self) -> tuple[type[InputError], tuple[tuple[Problem, ...]]]:
        return type(self), (self.problems,)  # preserves the problems when sent to another process


class NotBuiltError(InputError):
    """Raised if a request is understood but not available in this version."""


class BackendError(FaultwaveError):
    """Raised if a backend is absent or failed; the text states what to install."""


class RunError(FaultwaveError):
    """Raised if a run stopped: blow-up, full disk, interrupt."""


class Interrupted(RunError):
    """Raised if a run was requested to stop and can be resumed.

    The exit code 75 is EX_TEMPFAIL of sysexits.h: try again.
    """

    code = 75


class Problems:
    """Collector of problems and notes on the whole input."""

    def __init__(self) -> None:
        self.items: list[Problem] = []
        self.notes: list[str] = []  # automatic choices for the case, with reasons

    def error(self, where: str, what: str, allowed: str = "", advice: str = "", places: Places = ()) -> None:
        """Add an error.

        Parameters
        ----------
        where : str
            File and line, path of a setting, or coordinates.
        what : str
            Description of the problem.
        allowed, advice : str
            Allowed values and suggested remedy.
        places : array_like, shape (n, 2) or (n, 3)
            Coordinates of the problem [m], for pictures.
        """
        self.items.append(Problem(where, what, allowed, advice, places=as_places(places)))

    def warn(self, where: str, what: str, allowed: str = "", advice: str = "") -> None:
        """Add a warning; parameters as for ``error``."""
        self.items.append(Problem(where, what, allowed, advice, "warning"))

    def extend(self, problems: Iterable[Problem]) -> None:
        """Add several problems."""
        self.items.extend(problems)

    def __repr__(self) -> str:
        return "\n".join(f"{p.severity}: {p}" for p in self.items) or "no problems: this case can run"

    def _repr_html_(self) -> str:
        if not self.items:
            return wording.html_paragraphs([repr(self)])
        rows = [(p.severity, p.where, p.what, p.allowed, p.advice) for p in self.items]
        counts = f"{len(self.errors)} errors, {len(self.warnings)} warnings"
        return wording.html_table(counts, rows, ("", "where", "what", "allowed", "advice"))

    @property
    def errors(self) -> tuple[Problem, ...]:
        """Collected errors."""
        return tuple(p for p in self.items if p.severity == "error")

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Collected warnings."""
        return tuple(p for p in self.items if p.severity == "warning")

    def raise_errors(self) -> None:
        """Raise one InputError with all distinct errors, if there are any."""
        if self.errors:
            raise InputError(dict.fromkeys(self.errors))


def suggest(word: str, candidates: Iterable[str]) -> str:
    """Return 'did you mean ...?' for a mistyped word, or an empty text if no candidate is similar."""
    names = [n for n in candidates if n != word]
    lowered = {n.lower(): n for n in reversed(names)}  # of spellings that differ in case, the first
    near = difflib.get_close_matches(word.lower(), lowered, n=1, cutoff=0.6)
    return f"did you mean '{lowered[near[0]]}'?" if near else ""


class collect_problems:
    """Collects the problems of an InputError raised inside the block, so that checking continues."""

    def __init__(self, problems: Problems):
        self.problems = problems

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, InputError):
            self.problems.extend(error.problems)
            return True
        return False


VALUE_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    BufferError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""Exceptions that libraries and arrays raise for unsuitable values."""
LONGEST = 200  # characters of a library's message


@contextmanager
def describe_bad_values(where: str, failed: str) -> Iterator[None]:
    """Turn any error caused by values of files within the block into an InputError.

    Parameters
    ----------
    where : str
        Folder or path of the files.
    failed : str
        Failed action, such as 'cannot be drawn'.
    """
    try:
        yield
    except FaultwaveError:
        raise
    except VALUE_ERRORS as error:
        said = printable(" ".join(str(error).split()))[:LONGEST]
        what = f"{failed}: its values are inconsistent ({type(error).__name__}: {said})"
        advice = "The files are damaged or belong to another run: restore them, or run again."
        raise InputError(Problem(where, what, advice=advice)) from error
