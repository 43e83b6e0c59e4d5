"""Rows of ``faultwave plan`` that do not depend on the numerical method."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from faultwave.engine.capability import CapabilityPlan
from faultwave.engine.forecast import RunTime

Rows = list[tuple[str, ...]]


def capability_rows(plan: Any, parts: Iterable[CapabilityPlan]) -> dict[str, Rows]:
    """Return the rows of all capabilities of a plan by section."""
    found: dict[str, Rows] = {}
    for part in parts:
        for section, rows in part.report(plan).items():
            found.setdefault(section, []).extend(rows)
    return found


def note_rows(plan: Any) -> Rows:
    """Return the automatic choices for a case, with their reasons."""
    return [tuple(note.split(": ", 1)) for note in plan.notes]


def cost_rows(backend: str, measured: str, found: RunTime) -> Rows:
    """Return the rows on the measured cost of a run."""
    return [("backend", backend), ("measured", measured), *found.rows()]


def filled(*sections: tuple[str, Rows]) -> list[tuple[str, Rows]]:
    """Return the sections that have rows."""
    return [(name, rows) for name, rows in sections if rows]
