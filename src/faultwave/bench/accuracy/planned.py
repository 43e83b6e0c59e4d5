"""Predicted accuracy of a planned case, and settings that reach a requested accuracy, from the measured table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.bench.accuracy.problem import energetic_frequency
from faultwave.bench.accuracy.propose import Estimate, Waves, estimate, like, most_accurate, proposals
from faultwave.bench.accuracy.table import Kept, Series, series_name
from faultwave.dg.checks.accuracy import edge_length, resolved_frequency, within_region
from faultwave.fd.plan import sample_coarse_lattice, settings_are_consistent
from faultwave.physics.sources.spectrum import spectrum

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from faultwave.case.settings.model import Case

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


def source_frequency(made: Any) -> float:
    """Return the frequency [Hz] below which the point sources of a plan radiate 95 % of their wave energy.

    Raises
    ------
    InputError
        If there are no point sources, or if their spectrum does not decay at high frequencies.
    """
    parts = made.parts.values() if isinstance(made.parts, Mapping) else made.parts
    sources = next((p.sources for p in parts if p.name in SOURCES), None)
    if sources is None or not len(sources):
        raise InputError(
            Problem(
                "--accuracy",
                "the case has no point sources whose spectrum tells a frequency",
                advice="Give --frequency.",
            )
        )
    end = made.case.end_time
    frequencies, amplitudes = spectrum(sources, end / SAMPLES, end)
    velocity = frequencies * amplitudes
    if velocity[-len(velocity) // 10 :].max() > UNBOUNDED * velocity.max():
        what = "the sources radiate at all frequencies alike: none is the highest that matters"
        raise InputError(Problem("--accuracy", what, advice="Give --frequency."))
    return energetic_frequency(frequencies, amplitudes)


def waves_of(made: Any, frequency: float) -> tuple[Waves, Series, float, float]:
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
    if case.engine == "fd":
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


def possible(case: Any, key: Series) -> bool:
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
        case.grid.model_copy(update={"order": order}),
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


def section(made: Any, table: Kept, wanted: float, frequency: float | None = None) -> tuple[str, Rows]:
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
        what = "waves alone; what a rupture errs by is not in it: see points per cohesive zone, and rupture times of TPV5 in the table"
        rows.append(("judged are", what))
    if different := unlike(made.case):
        what = f"the default of {', '.join(different)}; this case says otherwise, and errs otherwise"
        rows.append(("measured with", what))
    found = proposals(table, waves, wanted, lambda other: possible(made.case, other))
    for proposal in found[:BEST]:
        reported = _describe(proposal, waves, proposal.series, proposal.points)
        rows.append((f"for {100 * wanted:g} %", f"{reported}; {_sizes(proposal, slowest / f)}"))
    if not found:
        what = f"no setting of the engine {key[0]} that was measured, and that the case can have, errs so little at that distance"
        rows.append((f"for {100 * wanted:g} %", what))
        best = most_accurate(table, waves, lambda other: possible(made.case, other))
        if best is not None:
            reported = _describe(best, waves, best.series, best.points)
            rows.append(("the least", f"{reported}; {_sizes(best, slowest / f)}"))
    return f"accuracy of seismograms, {100 * wanted:g} % asked for", rows


def _describe(found: Estimate | None, waves: Waves, key: Series, points: float) -> str:
    text = f"{series_name(key)}, {points:.3g} points a wavelength"
    if found is None:
        return f"{text}: outside of what was measured"
    far = ", farther than was measured" if found.beyond else ", nearer than was measured" if found.nearer else ""
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
