"""Cost in core-seconds of reaching an error, interpolated on the ladders; tables of the documentation and the file that ``plan`` reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.types import Record
from faultwave.base.version import __version__
from faultwave.bench.results import Measured
from faultwave.output.manifest import machine

FORMAT = "faultwave-bench-accuracy-1"
KEPT = "measured.json"
Kept = Record
Series = tuple[str, int, str]
"""Engine, order, precision."""


def written(found: Sequence[Kept]) -> Measured:
    """Return the content of the results file."""
    now = datetime.now(UTC).strftime("%Y-%m-%d")
    return {"format": FORMAT, "date": now, "version": __version__, "cpu": machine()["cpu"], "problems": list(found)}


def read(path: Path | None = None) -> Measured:
    """Return the content of a file of ``faultwave bench accuracy --json``; without a path, of the one in the package."""
    try:
        text = (
            resources.files(__package__).joinpath(KEPT).read_text("utf-8") if path is None else path.read_text("utf-8")
        )
        table: Measured = json.loads(text)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise InputError(Problem(str(path or KEPT), f"cannot be read: {reason}")) from error
    if table.get("format") != FORMAT:
        raise InputError(Problem(str(path or KEPT), "is not a file of faultwave bench accuracy --json"))
    return table


def problem_of(table: Kept, name: str) -> Kept | None:
    """Return one problem of a file, or None if it was not measured."""
    return next((p for p in table["problems"] if p["name"] == name), None)


def series(problem: Kept) -> Iterator[tuple[Series, list[Kept]]]:
    """Yield the points of every ladder, coarsest first."""
    groups: dict[Series, list[Kept]] = {}
    for point in problem["points"]:
        groups.setdefault((point["engine"], point["order"], point["precision"]), []).append(point)
    for key, points in groups.items():
        yield key, sorted(points, key=lambda p: float(p["points"]))


def cost(points: Sequence[Kept], error: float, at: int) -> float:
    """Return the core-seconds to reach an error, interpolated logarithmically between the points of a ladder.

    Parameters
    ----------
    points : sequence
        Points of a ladder, coarsest first.
    error : float
        Error to reach.
    at : int
        Index of the distance.

    Returns
    -------
    float
        NaN if the error of the finest run is larger; the cost of the coarsest run if its error is smaller.
    """
    errors = np.array([p["errors"][at] for p in points])
    seconds = np.array([p["core_seconds"] for p in points])
    below = np.flatnonzero(errors <= error)
    if not len(below):
        return float("nan")
    k = int(below[0])
    if k == 0:
        return float(seconds[0])
    share = np.log(errors[k - 1] / error) / np.log(errors[k - 1] / errors[k])
    return float(np.exp((1 - share) * np.log(seconds[k - 1]) + share * np.log(seconds[k])))


def markdown(table: Kept) -> str:
    """Return a table for each problem: rows are engines, orders and precisions, columns are errors at each distance."""
    lines = [
        f"{table['date']}, {table['cpu']}, one core, Faultwave {table['version']}: processor time of time stepping in seconds. "
        "*below*: the coarsest run errs by less; a dash: the finest run that was tried errs by more.",
    ]
    for problem in table["problems"]:
        lines += ["", *_of_problem(problem)]
    return "\n".join(lines)


def _of_problem(problem: Kept) -> list[str]:
    levels, distances = problem["levels"], problem["distances"]
    names = [f"{level_name(problem, e)}, {distance_name(problem, d)}" for d in distances for e in levels]
    title = problem["title"][:1].upper() + problem["title"][1:]
    rows = [f"**{title}**", "", _row("", *names), _row("---", *["---:"] * len(names))]
    best = [_cheapest(problem, e, i) for i in range(len(distances)) for e in levels]
    for key, points in series(problem):
        cells = [_cell(points, e, i) for i in range(len(distances)) for e in levels]
        marked = [f"**{c}**" if winner == key else c for c, winner in zip(cells, best, strict=True)]
        rows.append(_row(series_name(key), *marked))
    return rows


def _cell(points: Sequence[Kept], error: float, at: int) -> str:
    seconds = cost(points, error, at)
    if not np.isfinite(seconds):
        return "-"
    return ("below " if points[0]["errors"][at] <= error else "") + f"{seconds:.2g}"


def _cheapest(problem: Kept, error: float, at: int) -> Series | None:
    costs = {key: cost(points, error, at) for key, points in series(problem)}
    known = {key: value for key, value in costs.items() if np.isfinite(value)}
    return min(known, key=known.__getitem__) if known else None


def level_name(problem: Kept, error: float) -> str:
    """Return an error level as text, in percent or milliseconds."""
    return f"{1000 * error:g} ms" if problem["unit"] == "s" else f"{100 * error:g} %"


def distance_name(problem: Kept, distance: float) -> str:
    """Return a propagation distance in words, in seconds or wavelengths."""
    return f"{distance:g} s" if problem["unit"] == "s" else f"{distance:.2g} wavelengths"


def series_name(key: Series) -> str:
    """Return engine, order and precision in words."""
    engine, order, precision = key
    return f"{engine}, order {order}, {precision}"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
