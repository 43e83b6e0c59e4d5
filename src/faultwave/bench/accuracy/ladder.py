"""Climb the ladders: every problem, engine, order and precision from its coarsest size until the finest error asked for, or the budget."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from faultwave.base.errors import Problems
from faultwave.bench.accuracy.problem import AccuracyProblem, Point, Setting
from faultwave.bench.kept import Files

BRIEF, REPEATS = 2.0, 3
"""Runs shorter than so many core-seconds are repeated, and medians taken."""


@dataclass(frozen=True)
class Ask:
    """What is measured. ``budget``: core-seconds that no run should exceed; ``engines`` and ``orders``: only these, none for all."""

    problems: tuple[AccuracyProblem, ...]
    budget: float = 40.0
    engines: tuple[str, ...] = ()
    orders: tuple[int, ...] = ()


def check(ask: Ask, files: Files) -> None:
    """InputError for engines and orders that no ladder of the chosen problems has, one by one and together, and for ``files`` that cannot
    be written at the end."""
    there = [key[:2] for problem in ask.problems for key in problem.ladders]
    names = ", ".join(problem.name for problem in ask.problems)
    problems = Problems()
    problems.extend(files.problems("accuracy"))
    wrong: tuple[tuple[str, Sequence[Any], set[Any]], ...] = (
        ("--engine", ask.engines, {engine for engine, _ in there}),
        ("--order", ask.orders, {order for _, order in there}),
    )
    for where, asked, known in wrong:
        for one in asked:
            if one not in known:
                problems.error(where, f"{one} is not measured on {names}", ", ".join(map(str, sorted(known))))
    problems.raise_errors()
    if not any(_asked(ask, *key) for key in there):
        pairs = ", ".join(f"{engine} {order}" for engine, order in sorted(set(there)))
        problems.error("--order", f"no ladder of {names} has this engine and order together", pairs)
    problems.raise_errors()


def _asked(ask: Ask, engine: str, order: int) -> bool:
    return (not ask.engines or engine in ask.engines) and (not ask.orders or order in ask.orders)


def absent(problem: AccuracyProblem) -> bool:
    """Whether a module that it needs is missing."""
    return bool(problem.needs) and importlib.util.find_spec(problem.needs) is None


def measure(ask: Ask, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Every problem of which something was measured, with its points, as they are kept."""
    found = []
    for problem in ask.problems:
        if absent(problem):
            say(f"{problem.name}: left out, it needs {problem.needs}")
            continue
        points: list[Point] = []
        for (engine, order, precision), sizes in problem.ladders.items():
            if not _asked(ask, engine, order):
                continue
            rungs = [Setting(engine, order, n, precision) for n in sizes]  # type: ignore[arg-type]
            points += climb(problem, rungs, ask.budget * problem.budgets, say)
        if points:
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
