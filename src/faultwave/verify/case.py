"""Verification cases: named runs that return measured and expected numbers.

One file in ``verify/cases`` per case (or family of cases); every module-level ``VerificationCase`` there is found.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from faultwave.base.registry import pick, scan

Progress = Callable[[str], None]
"""Told one line of text at every step of a long case."""


@dataclass(frozen=True)
class Row:
    """One judged number. ``expected`` and ``limit`` are None where there is none; NaN never passes."""

    quantity: str
    measured: float
    expected: float | None
    limit: float | None
    ok: bool


@dataclass(frozen=True)
class Result:
    """Rows, remarks that do not decide, and why nothing was run (``skipped``) where that is so."""

    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    skipped: str = ""

    @property
    def status(self) -> Literal["passed", "failed", "skipped"]:
        if self.skipped:
            return "skipped"
        return "passed" if self.rows and all(row.ok for row in self.rows) else "failed"

    @property
    def exit_code(self) -> int:
        """1 when it fell short, else 0; a case skipped for want of its files is no failure."""
        return int(self.status == "failed")


@dataclass(frozen=True)
class VerificationCase:
    """``run(progress)`` does the work. ``minutes`` is roughly how long it takes on two cores."""

    name: str
    title: str
    run: Callable[[Progress], Result]
    minutes: float = 1.0


def cases() -> dict[str, VerificationCase]:
    """Every verification case by name."""
    return scan("faultwave.verify.cases", VerificationCase)


def find(name: str) -> VerificationCase:
    """The case called ``name``; InputError with the names there are and the nearest one."""
    return pick(cases(), name, "verification", "verify")


def at_most(quantity: str, measured: float, limit: float, expected: float | None = None) -> Row:
    """Passes where measured <= limit."""
    return Row(quantity, float(measured), expected, limit, bool(measured <= limit))


def at_least(quantity: str, measured: float, limit: float, expected: float | None = None) -> Row:
    """Passes where measured >= limit."""
    return Row(quantity, float(measured), expected, limit, bool(measured >= limit))


def near(quantity: str, measured: float, expected: float, tolerance: float) -> Row:
    """Passes where |measured - expected| <= tolerance; the limit shown is the tolerance."""
    return Row(quantity, float(measured), expected, tolerance, bool(abs(measured - expected) <= tolerance))


def rate(coarse: float, fine: float, refinement: float = 2.0) -> float:
    """Observed order of convergence between two grids; NaN where an error is not positive."""
    if not (coarse > 0 and fine > 0):
        return math.nan
    return math.log(coarse / fine) / math.log(refinement)
