"""Errors that say where, what was given, what is allowed and what to do.

Input is checked to the end before anything is raised, so that a user sees every problem at once: rooms add to a
``Problems`` collector and the caller raises one ``InputError`` for all of them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from faultwave.base import html

SHOWN = 500
"""Places at most that a problem keeps."""
Places = Any
"""A list or an array (n, 2 or 3)."""
LONG_WORD = re.compile(r"\S{500,}")
"""Found in damaged files; of these an error shows both ends."""


def _ends(word: re.Match[str]) -> str:
    return f"{word[0][:80]}...{word[0][-80:]}"


def as_places(points: Places) -> tuple[tuple[float, ...], ...]:
    """Points (n, 2 or 3) [m] as a problem keeps them: of many, some from the first to the last."""
    return tuple(tuple(float(x) for x in point) for point in points[:: 1 + len(points) // (SHOWN + 1)])


@dataclass(frozen=True)
class Problem:
    """One thing wrong with the input: ``where`` is a file:line, a settings path or coordinates; ``places``: x, y and maybe z [m] of what is
    wrong there, for pictures."""

    where: str
    what: str
    allowed: str = ""
    advice: str = ""
    severity: Literal["error", "warning"] = "error"
    places: tuple[tuple[float, ...], ...] = field(default=(), compare=False, repr=False)

    def __str__(self) -> str:
        text = f"{self.where}: {LONG_WORD.sub(_ends, self.what)}"
        if self.allowed:
            text += f" (allowed: {self.allowed})"
        if self.advice:
            text += f". {self.advice}"
        return text


class FaultwaveError(Exception):
    """Base of every error the product raises on purpose; its text is meant for users. ``code``: with which the program ends."""

    code = 1


class InputError(FaultwaveError):
    """What the user wrote cannot be run; carries every problem found."""

    code = 2

    def __init__(self, problems: Problem | Iterable[Problem]):
        self.problems = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(str(p) for p in self.problems))

    def __reduce__(self) -> tuple[type[InputError], tuple[tuple[Problem, ...]]]:
        return type(self), (self.problems,)  # as it is when sent to another process


class NotBuiltError(InputError):
    """The request is understood but that feature does not exist in this version."""


class BackendError(FaultwaveError):
    """A backend is absent or failed; the text says what to install."""


class RunError(FaultwaveError):
    """A run stopped: blow-up, full disk, interrupt."""


class Interrupted(RunError):
    """Somebody told a run to stop; nothing is wrong, and it can go on (75 is EX_TEMPFAIL of sysexits.h: try again)."""

    code = 75


class Problems:
    """Collects problems until the whole input has been looked at."""

    def __init__(self) -> None:
        self.items: list[Problem] = []
        self.notes: list[str] = []  # what was chosen for the case, and why

    def error(self, where: str, what: str, allowed: str = "", advice: str = "", places: Places = ()) -> None:
        self.items.append(Problem(where, what, allowed, advice, places=as_places(places)))

    def warn(self, where: str, what: str, allowed: str = "", advice: str = "") -> None:
        self.items.append(Problem(where, what, allowed, advice, "warning"))

    def extend(self, problems: Iterable[Problem]) -> None:
        self.items.extend(problems)

    def __repr__(self) -> str:
        return "\n".join(f"{p.severity}: {p}" for p in self.items) or "no problems: this case can run"

    def _repr_html_(self) -> str:
        if not self.items:
            return html.paragraphs([repr(self)])
        rows = [(p.severity, p.where, p.what, p.allowed, p.advice) for p in self.items]
        counts = f"{len(self.errors)} errors, {len(self.warnings)} warnings"
        return html.table(counts, rows, ("", "where", "what", "allowed", "advice"))

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(p for p in self.items if p.severity == "error")

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return tuple(p for p in self.items if p.severity == "warning")

    def raise_errors(self) -> None:
        """Raise one InputError with all errors, each once, if there are any."""
        if self.errors:
            raise InputError(dict.fromkeys(self.errors))


def suggest(word: str, candidates: Iterable[str]) -> str:
    """Return 'did you mean ...?' for a mistyped word, or an empty string where nothing else is near."""
    names = [n for n in candidates if n != word]
    lowered = {n.lower(): n for n in reversed(names)}  # of spellings that differ by case, the first
    near = difflib.get_close_matches(word.lower(), lowered, n=1, cutoff=0.6)
    return f"did you mean '{lowered[near[0]]}'?" if near else ""
