"""Climb the ladders: every problem, engine, order and precision from its coarsest size until the finest error asked for, or the budget."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from faultwave.bench.accuracy.problem import AccuracyProblem, Point, Setting

BRIEF, REPEATS = 2.0, 3
"""Runs shorter than so many core-seconds are repeated, and medians taken."""


@dataclass(frozen=True)
class Ask:
    """What is measured. ``budget``: core-seconds that no run should exceed; ``engines`` and ``orders``: only these, none for all."""

    problems: tuple[AccuracyProblem, ...]
    budget: float = 40.0
    engines: tuple[str, ...] = ()
    orders: tuple[int, ...] = ()


def absent(problem: AccuracyProblem) -> bool:
    """Whether a module that it needs is missing."""
    return bool(problem.needs) and importlib.util.find_spec(problem.needs) is None


def measure(ask: Ask, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Every problem with its points, as they are kept."""
    found = []
    for problem in ask.problems:
        if absent(problem):
            say(f"{problem.name}: left out, it needs {problem.needs}")
            continue
        points: list[Point] = []
        for (engine, order, precision), sizes in problem.ladders.items():
            if (ask.engines and engine not in ask.engines) or (ask.orders and order not in ask.orders):
                continue
            rungs = [Setting(engine, order, n, precision) for n in sizes]  # type: ignore[arg-type]
            points += climb(problem, rungs, ask.budget, say)
        found.append(as_kept(problem, points))
    return found


def climb(problem: AccuracyProblem, rungs: Iterable[Setting], budget: float, say: Callable[[str], None]) -> list[Point]:
    """Points of one ladder."""
    points: list[Point] = []
    for rung in rungs:
        if points:
            last = points[-1]
            expected = last.core_seconds * (rung.size / last.setting.size) ** 4
            if expected > budget or max(last.errors) < 0.5 * min(problem.levels):
                break
        say(f"{problem.name}: {rung.engine}, order {rung.order}, {rung.precision}, {rung.size}")
        points.append(repeated(problem, rung))
    return points


def repeated(problem: AccuracyProblem, setting: Setting) -> Point:
    """One point; its cost the median of a few runs where these are brief."""
    first = problem.run(setting)  # compiles, too
    if first.core_seconds > BRIEF:
        return first
    seconds = [problem.run(setting).core_seconds for _ in range(REPEATS)]
    return replace(first, core_seconds=float(np.median(seconds)))


def as_kept(problem: AccuracyProblem, points: Iterable[Point]) -> dict[str, Any]:
    """A problem as the file has it."""
    told = {name: getattr(problem, name) for name in ("name", "title", "distances", "volume_time", "levels", "unit")}
    return told | {"points": [_plain(p) for p in points]}


def _plain(point: Point) -> dict[str, Any]:
    return {
        **asdict(point.setting), "points": round(point.points, 4), "core_seconds": float(f"{point.core_seconds:.4g}"),
        "updates": float(f"{point.updates:.5g}"), "errors": [float(f"{e:.4g}") for e in point.errors],
    }  # fmt: skip
