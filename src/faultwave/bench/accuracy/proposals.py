"""Predicted accuracy of a planned case, and settings that reach a requested accuracy, from the measured table.

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
from typing import TYPE_CHECKING

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.bench.accuracy.problem import energetic_frequency
from faultwave.bench.accuracy.table import Kept, Series, problem_of, series, series_name
from faultwave.dg.checks.accuracy import edge_length, resolved_frequency, within_region
from faultwave.fd.blocks.layout import LEASTS
from faultwave.fd.capability import FdPlan
from faultwave.fd.planning.case_input import settings_are_consistent
from faultwave.fd.planning.grid_layout import sample_coarse_lattice
from faultwave.physics.sources.spectrum import spectrum

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from faultwave.case.settings.model import Case
    from faultwave.dg.planning.plan import Plan as DgPlan


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
        raise InputError(
            Problem("--accuracy", f"is '{text}'", "a fraction of the seismograms' amplitude, as 1% or 0.01")
        )
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


COUNTED = 10.0
"""Points per wavelength by which ``resolved_frequency`` is defined."""
SOURCES = ("sources", "point_sources")
"""Names of the capabilities that hold point sources."""
SAMPLES = 4096
"""Number of samples of the source time functions over the run."""
UNBOUNDED = 0.05
"""Largest amplitude of the velocity spectrum at its end, relative to its peak, for a spectrum that counts as bounded."""
BEST = 3
VARIED = 0.01
"""Relative range of the wave speed above which a material counts as varying."""
Rows = list[tuple[str, ...]]


def source_frequency(made: DgPlan | FdPlan) -> float:
    """Return the frequency [Hz] below which the point sources of a plan radiate 95 % of their wave energy.

    Raises
    ------
    InputError
        If there are no point sources, or if their spectrum does not decay at high frequencies.
    """
    parts = made.parts.values() if isinstance(made.parts, Mapping) else made.parts
    sources = next((getattr(p, "sources", None) for p in parts if p.name in SOURCES), None)
    if sources is None or not len(sources):
        raise InputError(
            Problem(
                "--accuracy",
                "the case has no point sources from whose spectrum a frequency follows",
                advice="Give --frequency.",
            )
        )
    end = made.case.end_time
    frequencies, amplitudes = spectrum(sources, end / SAMPLES, end)
    velocity = frequencies * amplitudes
    if velocity[-len(velocity) // 10 :].max() > UNBOUNDED * velocity.max():
        what = "the sources radiate equally at all frequencies, so that no highest relevant frequency exists"
        raise InputError(Problem("--accuracy", what, advice="Give --frequency."))
    return energetic_frequency(frequencies, amplitudes)


def waves_of(made: DgPlan | FdPlan, frequency: float) -> tuple[Waves, Series, float, float]:
    """Return the properties of a planned case that determine its accuracy.

    Returns
    -------
    waves : Waves
        Wave law, variation of the material, distance and volume in wavelengths.
    series : tuple
        Engine, order and precision.
    points : float
        Fewest points per wavelength.
    slowest : float
        Slowest wave speed [m/s].
    """
    case = made.case
    periods, precision = case.end_time * frequency, case.numerics.precision
    if isinstance(made, FdPlan):
        worst = min(made.blocks, key=lambda b: b.medium.slowest / b.scheme.grid.spacing)
        slow, spacing = float(worst.medium.slowest), float(worst.scheme.grid.spacing)
        blocks = [(b.scheme.grid.box.points * b.scheme.grid.spacing**3, float(b.medium.slowest)) for b in made.blocks]
        size = sum(volume * (frequency / speed) ** 3 for volume, speed in blocks)
        look = sample_coarse_lattice(made.material, made.lower, made.upper, made.scheme.grid)
        fast, shear = (np.sqrt(m / look["rho"]) for m in (look["lambda"] + 2 * look["mu"], look["mu"]))
        across = float((made.upper - made.lower).min()) * frequency / slow
        varied = changes(fast) or changes(np.where(shear > 0, shear, fast))
        waves = Waves("elastic", varied, periods, size * periods, across)
        return waves, ("fd", worst.scheme.order, precision), slow / spacing / frequency, slow
    order, inner = case.numerics.order, within_region(case, made.geometry.centroids)
    volume = made.geometry.volume[inner]
    edge = edge_length(volume)
    resolved = resolved_frequency(made.law, {name: v[inner] for name, v in made.material.items()}, edge, order)
    speed = COUNTED * resolved * edge / order
    slow = float(speed.min())
    size = float((volume * (frequency / speed) ** 3).sum())
    across = float(np.ptp(made.mesh.vertices, axis=0).min()) * frequency / slow
    varied = changes(speed) or changes(made.law.speed(made.material))
    waves = Waves(made.law.name, varied, periods, size * periods, across)
    return waves, ("dg", order, precision), COUNTED * float(resolved.min()) / frequency, slow


def changes(speed: ArrayLike) -> bool:
    """Return True if the speed of one kind of wave varies in space."""
    return float(np.ptp(speed)) > VARIED * float(np.max(speed))


def possible(case: Case, key: Series) -> bool:
    """Return True if a case can be run with this engine, order and precision.

    A case is written for one engine; with fd, other settings of the case may exclude an order.
    """
    engine, order, precision = key
    if engine != case.engine:
        return False
    if engine == "dg":
        return True
    numerics, grid = (
        case.numerics.model_copy(update={"precision": precision}),
        case.grid and case.grid.model_copy(update={"order": order}),
    )
    return settings_are_consistent(case.model_copy(update={"numerics": numerics, "grid": grid}))


def unlike(case: Case) -> list[str]:
    """Return the settings that influence errors and differ from the defaults, with which the table was measured."""
    numerics, grid = case.numerics, case.grid
    set_by = {
        "numerics.cfl": numerics.cfl is not None,
        "numerics.integrator": numerics.integrator != "ader",
        "numerics.flux": numerics.flux is not None,
        "grid.time_dispersion": grid is not None and grid.time_dispersion is not None,
    }
    return [name for name, given in set_by.items() if given]


def section(made: DgPlan | FdPlan, table: Kept, wanted: float, frequency: float | None = None) -> tuple[str, Rows]:
    """Return the title and rows that ``faultwave plan`` shows."""
    f = source_frequency(made) if frequency is None else frequency
    waves, key, points, slowest = waves_of(made, f)
    names = ", ".join(p["name"] for p in like(table, waves))
    band = "" if frequency is not None else ", 95 % of what the sources radiate (--frequency for another)"
    rows: Rows = [
        ("waves", f"up to {f:.3g} Hz{band}, {waves.distance:.3g} wavelengths on their way by the end"),
        ("judged by", f"{names} of faultwave bench accuracy, {table['cpu']}"),
        ("this case", _describe(estimate(table, waves, key, points), waves, key, points)),
    ]
    if made.case.fault is not None:
        what = (
            "waves only, without errors of the rupture: see points per cohesive zone, and rupture times of "
            "TPV5 in the table"
        )
        rows.append(("judged are", what))
    if different := unlike(made.case):
        what = f"measured with the default of {', '.join(different)}, which this case changes: its errors differ"
        rows.append(("measured with", what))
    found = proposals(table, waves, wanted, lambda other: possible(made.case, other))
    for proposal in found[:BEST]:
        reported = _describe(proposal, waves, proposal.series, proposal.points)
        rows.append((f"for {100 * wanted:g} %", f"{reported}; {_sizes(proposal, slowest / f)}"))
    if not found:
        what = f"no measured setting of the engine {key[0]} that suits this case is that accurate at this distance"
        rows.append((f"for {100 * wanted:g} %", what))
        best = most_accurate(table, waves, lambda other: possible(made.case, other))
        if best is not None:
            reported = _describe(best, waves, best.series, best.points)
            rows.append(("the least", f"{reported}; {_sizes(best, slowest / f)}"))
    return f"accuracy of seismograms, {100 * wanted:g} % requested", rows


def _describe(found: Estimate | None, waves: Waves, key: Series, points: float) -> str:
    text = f"{series_name(key)}, {points:.3g} points a wavelength"
    if found is None:
        return f"{text}: outside of the measured range"
    far = ", farther than measured" if found.beyond else ", nearer than measured" if found.nearer else ""
    return f"{text}: error about {100 * found.error:.2g} %{far}, {found.core_seconds:.2g} core-seconds"


def _sizes(proposal: Estimate, wavelength: float) -> str:
    """Return the settings as text, for the shortest wavelength [m]."""
    engine, order, precision = proposal.series
    if engine == "fd":
        return f"grid.spacing {_metres(wavelength / proposal.points)}, grid.order {order}"
    return f"edges of {_metres(order * wavelength / proposal.points)} where waves are slowest, --order {order} --precision {precision}"


def _metres(length: float) -> str:
    """Return a length with three digits in the notation of a case: without commas, and without an exponent unless that is shorter."""
    return f"{float(f'{length:.3g}'):g} m"
