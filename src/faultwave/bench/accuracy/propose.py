"""Settings that reach an accuracy, from the table: what a case's own settings promise, and what to set instead.

Errors are read off the ladders of the problems that are like the case, in logarithms between points per wavelength and between
distances, and the worst problem counts. Nothing is promised beyond the points that were measured; what is farther away than was measured
grows as between the two largest distances and in proportion to the distance at least, what is nearer errs as at the smallest, and both are
marked. (Errors at the largest distance, told from the two before it, are then 0.94 to 2.9 times the measured ones over the table, and
0.6 to 1.9 times without that least growth.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.bench.accuracy.table import Kept, Series, problem_of, series
from faultwave.fd.block_layout import LEASTS

LAWS: Mapping[str, tuple[str, ...]] = {
    "elastic": ("full-space", "loh1"), "viscoelastic": ("full-space", "loh1"), "maxwell": ("cavity",),
}  # fmt: skip
"""Problems that are like a law's cases; the second only where the material changes."""


@dataclass(frozen=True)
class Waves:
    """What accuracy depends on: the law, whether the material changes, how many wavelengths the records have gone at their end, and the
    box and time in cubic wavelengths times periods. ``across``: the box's shortest side in wavelengths."""

    law: str
    varied: bool
    distance: float
    volume_time: float
    across: float = np.inf


@dataclass(frozen=True)
class Estimate:
    """A setting's error at the end of the records and its core-seconds on the table's machine. ``beyond`` and ``nearer``: the
    distance is larger, or smaller, than any measured."""

    series: Series
    points: float
    error: float
    core_seconds: float
    beyond: bool
    nearer: bool


def accuracy(text: str) -> float:
    """'1%', '1 %' or '0.01' as a share."""
    try:
        number = text.strip()
        value = 0.01 * float(number[:-1]) if number.endswith("%") else float(number)
    except ValueError:
        value = -1.0
    if not 0 < value < 1:
        raise InputError(Problem("--accuracy", f"is '{text}'", "a share of the seismograms' size, as 1% or 0.01"))
    return value


def like(table: Kept, waves: Waves) -> list[Kept]:
    """The problems of a table by which a case is judged. InputError where there are none."""
    names = LAWS.get(waves.law, ())
    found = [problem_of(table, name) for name in (names if waves.varied else names[:1])]
    known = [problem for problem in found if problem is not None]
    if not known:
        raise InputError(Problem("--accuracy", f"has not been measured for the {waves.law} law", ", ".join(LAWS)))
    return known


def estimate(table: Kept, waves: Waves, key: Series, points: float) -> Estimate | None:
    """Of one setting; None outside of what was measured."""
    errors, seconds, beyond, nearer = [], [], False, False
    for problem in like(table, waves):
        ladder = dict(series(problem)).get(key)
        if ladder is None or not ladder[0]["points"] <= points <= ladder[-1]["points"]:
            return None
        known = np.log([p["points"] for p in ladder])
        at = [
            float(np.interp(np.log(points), known, np.log([p["errors"][i] for p in ladder])))
            for i in range(len(problem["distances"]))
        ]
        errors.append(_at_distance(problem["distances"], at, waves.distance))
        beyond |= waves.distance > 1.05 * problem["distances"][-1]
        nearer |= waves.distance < problem["distances"][0] / 1.05
        cost = np.exp(np.interp(np.log(points), known, np.log([p["core_seconds"] for p in ladder])))
        seconds.append(float(cost) / problem["volume_time"])
    return Estimate(key, points, max(errors), max(seconds) * waves.volume_time, beyond, nearer)


def _at_distance(distances: Sequence[float], logs: Sequence[float], distance: float) -> float:
    """Error at a distance; beyond the last it grows as between the last two, in proportion to the distance at least: phases drift apart
    with every wavelength; before the first it is as there."""
    x = np.log(distances)
    if distance <= distances[-1]:
        return float(np.exp(np.interp(np.log(distance), x, logs)))
    slope = 1.0 if len(distances) == 1 else max(1.0, (logs[-1] - logs[-2]) / (x[-1] - x[-2]))
    return float(np.exp(logs[-1] + slope * (np.log(distance) - x[-1])))


def fewest(key: Series, waves: Waves) -> float:
    """Points per wavelength of the coarsest grid, or of elements as large as the box, that fits into it."""
    engine, order, _ = key
    return (LEASTS[order] if engine == "fd" else order) / waves.across


def proposals(table: Kept, waves: Waves, wanted: float, possible: Callable[[Series], bool]) -> list[Estimate]:
    """The cheapest setting of every engine, order and precision that errs by at most ``wanted``, fits into the box and is ``possible``;
    cheapest first."""
    found = []
    for key, ladder in _ladders(table, waves, possible):
        for points in np.geomspace(*ladder, 200).clip(*ladder):
            made = estimate(table, waves, key, float(points))
            if made is not None and made.error <= wanted:
                found.append(made)
                break
    return sorted(found, key=lambda e: e.core_seconds)


def most_accurate(table: Kept, waves: Waves, possible: Callable[[Series], bool]) -> Estimate | None:
    """The setting that errs least of all that were measured, fit into the box and are ``possible``; None where there is none."""
    made = [
        estimate(table, waves, key, float(points))
        for key, ladder in _ladders(table, waves, possible)
        for points in np.geomspace(*ladder, 200).clip(*ladder)
    ]
    return min((e for e in made if e is not None), key=lambda e: e.error, default=None)


def _ladders(
    table: Kept, waves: Waves, possible: Callable[[Series], bool]
) -> Iterator[tuple[Series, tuple[float, float]]]:
    """Series that fit into the box and are ``possible``, with their fewest and most points per wavelength."""
    for key, ladder in series(like(table, waves)[0]):
        first, last = max(ladder[0]["points"], fewest(key, waves)), ladder[-1]["points"]
        if first <= last and possible(key):
            yield key, (first, last)
