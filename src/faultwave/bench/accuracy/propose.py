"""Settings that reach a given accuracy according to the measured table.

Errors are interpolated on the ladders of the problems that resemble the case, logarithmically in points per
wavelength and in distance; the problem with the largest error decides. Nothing is predicted outside the measured
points per wavelength. Beyond the largest measured distance errors grow as between the two largest distances, and at
least in proportion to the distance; below the smallest distance they are those at the smallest. Both are marked.
(Errors at the largest distance, predicted from the two smaller ones, are 0.94 to 2.9 times the measured
ones over the table, and 0.6 to 1.9 times without the minimum growth.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.bench.accuracy.table import Kept, Series, problem_of, series
from faultwave.fd.blocks.layout import LEASTS

LAWS: Mapping[str, tuple[str, ...]] = {
    "elastic": ("full-space", "loh1"), "viscoelastic": ("full-space", "loh1"), "maxwell": ("cavity",),
}  # fmt: skip
"""Problems that resemble the cases of a wave law; the second applies only if the material varies."""


@dataclass(frozen=True)
class Waves:
    """Properties of a case on which its accuracy depends.

    Attributes
    ----------
    law : str
        Name of the wave law.
    varied : bool
        True if the material varies in space.
    distance : float
        Number of wavelengths that waves have propagated at the end of the records.
    volume_time : float
        Volume of the box in cubic wavelengths times the duration in periods.
    across : float
        Shortest side of the box in wavelengths.
    """

    law: str
    varied: bool
    distance: float
    volume_time: float
    across: float = np.inf


@dataclass(frozen=True)
class Estimate:
    """Predicted error of a setting at the end of the records, and its cost on the machine of the table.

    Attributes
    ----------
    series : tuple
        Engine, order and precision.
    points : float
        Points per wavelength.
    error : float
        Relative error.
    core_seconds : float
        Cost on the machine of the table [s].
    beyond, nearer : bool
        True if the distance is larger, or smaller, than all measured ones.
    """

    series: Series
    points: float
    error: float
    core_seconds: float
    beyond: bool
    nearer: bool


def accuracy(text: str) -> float:
    """Return '1%', '1 %' or '0.01' as a fraction; raise InputError unless it lies between 0 and 1."""
    try:
        number = text.strip()
        value = 0.01 * float(number[:-1]) if number.endswith("%") else float(number)
    except ValueError:
        value = -1.0
    if not 0 < value < 1:
        raise InputError(Problem("--accuracy", f"is '{text}'", "a share of the seismograms' size, as 1% or 0.01"))
    return value


def like(table: Kept, waves: Waves) -> list[Kept]:
    """Return the problems of a table that resemble a case; raise InputError if there are none."""
    names = LAWS.get(waves.law, ())
    found = [problem_of(table, name) for name in (names if waves.varied else names[:1])]
    known = [problem for problem in found if problem is not None]
    if not known:
        raise InputError(Problem("--accuracy", f"has not been measured for the {waves.law} law", ", ".join(LAWS)))
    return known


def estimate(table: Kept, waves: Waves, key: Series, points: float) -> Estimate | None:
    """Return the estimate of one setting, or None outside the measured range."""
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
    """Return the error at a distance, with constant extrapolation below the first distance.

    Beyond the last distance it grows as between the last two, and at least in proportion to the distance, because phase errors accumulate
    with every wavelength.
    """
    x = np.log(distances)
    if distance <= distances[-1]:
        return float(np.exp(np.interp(np.log(distance), x, logs)))
    slope = 1.0 if len(distances) == 1 else max(1.0, (logs[-1] - logs[-2]) / (x[-1] - x[-2]))
    return float(np.exp(logs[-1] + slope * (np.log(distance) - x[-1])))


def fewest(key: Series, waves: Waves) -> float:
    """Return the points per wavelength of the coarsest grid that fits into the box, or of elements as large as the box."""
    engine, order, _ = key
    return (LEASTS[order] if engine == "fd" else order) / waves.across


def proposals(table: Kept, waves: Waves, wanted: float, possible: Callable[[Series], bool]) -> list[Estimate]:
    """Return the cheapest setting of every engine, order and precision whose error is at most ``wanted``, cheapest first.

    Settings must fit into the box and be ``possible``.
    """
    found = []
    for key, ladder in _ladders(table, waves, possible):
        for points in np.geomspace(*ladder, 200).clip(*ladder):
            made = estimate(table, waves, key, float(points))
            if made is not None and made.error <= wanted:
                found.append(made)
                break
    return sorted(found, key=lambda e: e.core_seconds)


def most_accurate(table: Kept, waves: Waves, possible: Callable[[Series], bool]) -> Estimate | None:
    """Return the most accurate of all measured settings that fit into the box and are ``possible``; None if there is none."""
    made = [
        estimate(table, waves, key, float(points))
        for key, ladder in _ladders(table, waves, possible)
        for points in np.geomspace(*ladder, 200).clip(*ladder)
    ]
    return min((e for e in made if e is not None), key=lambda e: e.error, default=None)


def _ladders(
    table: Kept, waves: Waves, possible: Callable[[Series], bool]
) -> Iterator[tuple[Series, tuple[float, float]]]:
    """Yield the series that fit into the box and are ``possible``, with their fewest and most points per wavelength."""
    for key, ladder in series(like(table, waves)[0]):
        first, last = max(ladder[0]["points"], fewest(key, waves)), ladder[-1]["points"]
        if first <= last and possible(key):
            yield key, (first, last)
