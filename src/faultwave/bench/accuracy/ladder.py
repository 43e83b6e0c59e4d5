"""Runs every problem, engine, order and precision from its coarsest size until the finest error level or the budget is reached."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TypeVar

import numpy as np

from faultwave.base.errors import Problems
from faultwave.bench.accuracy.problem import AccuracyProblem, Point, Setting
from faultwave.bench.results import Files, Measured

BRIEF, REPEATS = 2.0, 3
"""Duration [core-seconds] below which a run is repeated, and number of repeats, of which the median cost is taken."""


@dataclass(frozen=True)
class Ask:
    """Selection of the measurements.

    Attributes
    ----------
    problems : tuple of AccuracyProblem
    budget : float
        Core-seconds that no run should exceed.
    engines, orders : tuple
        Engines and orders to measure; empty for all.
    """

    problems: tuple[AccuracyProblem, ...]
    budget: float = 40.0
    engines: tuple[str, ...] = ()
    orders: tuple[int, ...] = ()


def check(ask: Ask, files: Files) -> None:
    """Check that the requested engines and orders have ladders and that the ``files`` can be written at the end.

    Raises
    ------
    InputError
        If an engine, an order or their combination has no ladder in the chosen problems, or a file cannot be written.
    """
    there = [key[:2] for problem in ask.problems for key in problem.ladders]
    names = ", ".join(problem.name for problem in ask.problems)
    problems = Problems()
    problems.extend(files.problems("accuracy"))
    _check_known("--engine", ask.engines, {engine for engine, _ in there}, names, problems)
    _check_known("--order", ask.orders, {order for _, order in there}, names, problems)
    problems.raise_errors()
    if not any(_is_requested(ask, *key) for key in there):
        pairs = ", ".join(f"{engine} {order}" for engine, order in sorted(set(there)))
        problems.error("--order", f"no ladder of {names} has this engine and order together", pairs)
    problems.raise_errors()


T = TypeVar("T", str, int)


def _check_known(where: str, requested: Sequence[T], known: set[T], names: str, problems: Problems) -> None:
    """Report an error for every requested value that was not measured on the problems called ``names``."""
    for one in requested:
        if one not in known:
            problems.error(where, f"{one} is not measured on {names}", ", ".join(map(str, sorted(known))))


def _is_requested(ask: Ask, engine: str, order: int) -> bool:
    return (not ask.engines or engine in ask.engines) and (not ask.orders or order in ask.orders)


def absent(problem: AccuracyProblem) -> bool:
    """Return True if a module that the problem needs is missing."""
    return bool(problem.needs) and importlib.util.find_spec(problem.needs) is None


def measure(ask: Ask, say: Callable[[str], None]) -> list[Measured]:
    """Measure all problems; return those with at least one point in the format of the results file."""
    found = []
    for problem in ask.problems:
        if absent(problem):
            say(f"{problem.name}: left out, it needs {problem.needs}")
            continue
        points: list[Point] = []
        for (engine, order, precision), sizes in problem.ladders.items():
            if not _is_requested(ask, engine, order):
                continue
            rungs = [Setting(engine, order, n, precision) for n in sizes]  # type: ignore[arg-type]
            points += climb(problem, rungs, ask.budget * problem.budgets, say)
        if points:
            found.append(result_record(problem, points))
    return found


def climb(problem: AccuracyProblem, rungs: Iterable[Setting], budget: float, say: Callable[[str], None]) -> list[Point]:
    """Return the points of one ladder."""
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
    """Return one point; its cost is the median of several runs if these are short."""
    first = problem.run(setting)  # compiles, too
    if first.core_seconds > BRIEF:
        return first
    seconds = [problem.run(setting).core_seconds for _ in range(REPEATS)]
    return replace(first, core_seconds=float(np.median(seconds)))


def result_record(problem: AccuracyProblem, points: Iterable[Point]) -> Measured:
    """Return a problem with its points in the format of the results file."""
    reported = {
        name: getattr(problem, name) for name in ("name", "title", "distances", "volume_time", "levels", "unit")
    }
    return reported | {"points": [_plain(p) for p in points]}


def _plain(point: Point) -> Measured:
    return {
        **asdict(point.setting), "points": round(point.points, 4), "core_seconds": float(f"{point.core_seconds:.4g}"),
        "updates": float(f"{point.updates:.5g}"), "errors": [float(f"{e:.4g}") for e in point.errors],
    }  # fmt: skip
