"""Checks of the benchmarks: ``general`` applies to all, the others are chosen by each benchmark, and rupture times of another code.

Limits come from physics or published results, with separate tolerances for quick and full runs; none is the result of an earlier run.
"""

from __future__ import annotations

import numpy as np

from faultwave.output.results import load_results
from faultwave.output.trace import Trace
from faultwave.verify.case import Row, at_least, at_most, cases_folder
from faultwave.verify.scec.benchmark import Array, Check, Place, undisturbed
from faultwave.verify.scec.measure import Measured, Run, differences, lattice

CONVERGED = (0.15, 0.03)
"""Limits of the RMS difference of rupture times at two resolutions over their mean, quick and full.

Day et al. (2005) assess codes in this way. The difference falls with the third power of the spacing over the cohesive zone, so the error
of elements 1.5 times as large is 3.4 times as large. For a coarser run with a smaller factor r the limit is scaled by
(r^3 - 1)/(1.5^3 - 1), which allows the finer run the same error.
"""

BUDGET = (0.15, 0.03)
"""Limits of the relative energy missing from the waves compared with the work done on the fault, quick and full.

Stress steps excite waves that elements do not resolve, and the upwind flux dissipates their energy.
"""

SYMMETRY = (0.02, 0.01)
SHARES = 0.05
FASTEST = 1.05
"""Limit of the front speed over the P speed: sampled on triangles of finite size, a front may seem a little too fast."""


def general(measured: Measured) -> list[Row]:
    """Return the rows on convergence, energy budget and causality."""
    return [*converged(measured), budget(measured), causal(measured)]


def converged(measured: Measured) -> list[Row]:
    """Return the rows that compare rupture times and moment of both resolutions."""
    fine, coarse = measured.fine, measured.coarse
    limit = CONVERGED[0 if measured.quick else 1] * (fine.resolution.coarser**3 - 1) / (1.5**3 - 1)
    rows = []
    for name, rupture in fine.ruptures.items():
        other, size = coarse.ruptures[name], coarse.resolution.size
        label = f" on {name}" if len(fine.ruptures) > 1 else ""
        if np.isfinite(rupture.time).any() or np.isfinite(other.time).any():
            difference, mean = differences(rupture, other, size)
            rows.append(at_most(f"rupture times{label}, two resolutions, RMS over mean", difference / mean, limit))
        shares = abs(rupture.ruptured - other.ruptured)
        rows.append(at_most(f"ruptured share{label}, two resolutions, difference", shares, SHARES))
    return rows


def moment(run: Run) -> float:
    """Return the seismic moment at the end of a run [N m]."""
    return float(run.energies["seismic_moment"][-1])


def balance(measured: Measured) -> tuple[float, float]:
    """Return the energy of the waves over the work that drove them, and the time of evaluation [s].

    The time is the last one before waves reach an absorbing side. The plastic work, less the work of the initial stress, has left
    the waves and is added to their energy.
    """
    energies, until = measured.fine.energies, undisturbed(measured.benchmark)
    time = energies["time"]
    at = int(np.flatnonzero(time <= max(until, time[1]))[-1])
    waves, work = (
        energies["elastic_energy"][at] + energies["elastic_kinetic_energy"][at],
        energies["total_frictional_work"][at],
    )
    if "plastic_work" in energies:
        waves = waves + energies["plastic_work"][at] - energies["initial_stress_work"][at]
    return float(waves / work) if work > 0 else float("nan"), float(time[at])


def budget(measured: Measured) -> Row:
    """Return the row on the energy budget.

    Until waves leave the box, their energy equals the work done on the fault, less plastic dissipation.
    """
    share, time = balance(measured)
    limit = BUDGET[0 if measured.quick else 1]
    return at_most(f"energy budget at {time:.1f} s, |waves/work - 1|", abs(share - 1), limit)


def causal(measured: Measured) -> Row:
    """Return the row on causality: the front leaves the nucleation nowhere faster than P waves."""
    benchmark, fastest = measured.benchmark, 0.0
    start = benchmark.start
    centre = benchmark.fault(start.fault).point(*start.place)
    for rupture in measured.fine.ruptures.values():
        fault = rupture.fault
        points = np.array([fault.point(s, d) for s, d in rupture.places])
        away = np.linalg.norm(points - centre, axis=1) - start.radius
        later = np.isfinite(rupture.time) & (away > measured.fine.resolution.size)
        if later.any():
            fastest = max(fastest, float((away[later] / np.maximum(rupture.time[later], 1e-9)).max()))
    return at_most("fastest mean speed from the nucleation zone, over P", fastest / benchmark.speeds[0], FASTEST)


def ruptures(fault: str, share: float, quick: float | None = None) -> Check:
    """Return a check that at least this share of the fault ruptures.

    ``quick`` is the share for a quick run that ends before the front has crossed the fault.
    """

    def check(m: Measured) -> Row:
        wanted = quick if quick is not None and m.quick else share
        return at_least(f"ruptured share of {fault}", m.fine.ruptures[fault].ruptured, wanted)

    return check


def stays(fault: str, share: float) -> Check:
    """Return a check that at most this share of the fault ruptures."""
    return lambda m: at_most(f"ruptured share of {fault}", m.fine.ruptures[fault].ruptured, share)


def earlier(fault: str, first: Place, second: Place, why: str) -> Check:
    """Return a check that rupture reaches the first position before the second."""

    def check(m: Measured) -> Row:
        a, b = (m.fine.ruptures[fault].at(*place) for place in (first, second))
        b = np.inf if np.isnan(b) else b  # not reached within the simulated time
        return at_least(f"earlier {why}, by [s]", b - a, 0.0)

    return check


def symmetric(fault: str = "main", centre: float = 0.0, above: float = np.inf) -> Check:
    """Return a check that rupture times are symmetric along strike about ``centre``, for distances down dip below ``above``."""

    def check(m: Measured) -> Row:
        s, d = lattice(m.fine.ruptures[fault].fault, m.fine.resolution.size)
        d = d[d < above]
        return _mirrored(m, fault, (s, d), (2 * centre - s, d), "along strike")

    return check


def symmetric_down_dip(centre: float, fault: str = "main") -> Check:
    """Return a check that rupture times are symmetric down dip about ``centre``."""

    def check(m: Measured) -> Row:
        s, d = lattice(m.fine.ruptures[fault].fault, m.fine.resolution.size)
        return _mirrored(m, fault, (s, d), (s, 2 * centre - d), "down dip")

    return check


def _mirrored(m: Measured, fault: str, here: tuple[Array, Array], there: tuple[Array, Array], way: str) -> Row:
    rupture = m.fine.ruptures[fault]
    time, image = rupture.on(*here), rupture.on(*there)
    both = np.isfinite(time) & np.isfinite(image)
    value = np.sqrt(np.mean((time - image)[both] ** 2)) / time[both].mean() if both.any() else np.nan
    limit = SYMMETRY[0 if m.quick else 1]
    return at_most(f"rupture times against their mirror image {way}, RMS over mean", value, limit)


def speed_between(m: Measured, fault: str, first: Place, second: Place) -> float:
    """Return the mean rupture speed between two positions [m/s]."""
    rupture = m.fine.ruptures[fault]
    time = rupture.at(*second) - rupture.at(*first)
    return float(np.hypot(second[0] - first[0], second[1] - first[1]) / time) if time > 0 else float("nan")


def slower(fault: str, first: Place, second: Place, why: str) -> Check:
    """Return a check that the mean rupture speed between two positions is below the S speed."""

    def check(m: Measured) -> Row:
        return at_most(
            f"rupture speed {why}, over S", speed_between(m, fault, first, second) / m.benchmark.speeds[1], 1.0
        )

    return check


def faster(fault: str, first: Place, second: Place, why: str) -> Check:
    """Return a check that the mean rupture speed between two positions is above the S speed."""

    def check(m: Measured) -> Row:
        return at_least(
            f"rupture speed {why}, over S", speed_between(m, fault, first, second) / m.benchmark.speeds[1], 1.0
        )

    return check


LIMIT = 0.08
"""Largest relative difference of rupture times, for quick and full runs.

The decks have meshes of 1 km: at mirrored points of a symmetric nucleation their own times differ by 4.5 % (tpv5), and runs on finer
meshes rupture earlier than both.
"""


def against_reference(measured: Measured) -> list[Row]:
    """Return a row with the largest relative difference of rupture times on the main fault; none without a reference."""
    benchmark, folder = measured.benchmark, cases_folder()
    if not benchmark.reference or folder is None:
        return []
    results = folder / benchmark.reference / "reference-head"
    if not results.is_dir():
        return []
    fault = next(iter(measured.fine.ruptures.values()))
    worst = []
    for trace in load_results(results).traces["faultreceiver"].values():
        time = _rupture_time(trace)
        if time > 0.1 and np.isfinite(trace.location).all():
            s, d = fault.fault.places(trace.location[None])[0]
            worst.append(abs(fault.at(s, d) - time) / time)
    if not worst:
        return []
    label = (
        f"rupture times at {len(worst)} points against the deck '{benchmark.reference}', largest relative difference"
    )
    return [at_most(label, max(worst), LIMIT)]


def _rupture_time(trace: Trace) -> float:
    return float(trace.columns["RT"][-1]) if "RT" in trace.columns else 0.0
