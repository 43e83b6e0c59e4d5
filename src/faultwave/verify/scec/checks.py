"""Checks of benchmarks; ``general`` applies to all, and each benchmark chooses others.

Limits are physics or published facts, and tolerances of a first look and of a full one; none is a result of an earlier run.
"""

from __future__ import annotations

import numpy as np

from faultwave.verify.case import Row, at_least, at_most
from faultwave.verify.scec.benchmark import Array, Check, Place
from faultwave.verify.scec.box import undisturbed
from faultwave.verify.scec.measure import Measured, Run, differences, lattice

CONVERGED = (0.15, 0.03)
"""RMS difference of rupture times of two resolutions over their mean, quick and full.

Day et al. (2005) use this measure; it falls with the third power of the spacing over the cohesive zone, and elements 1.5 times as large
have 3.4 times the error. If the other run is coarser by a factor r only, the limit is reduced by (r^3 - 1)/(1.5^3 - 1), which
corresponds to the same error of the finer run.
"""

BUDGET = (0.15, 0.03)
"""Largest missing fraction of the wave energy relative to the work, quick and full.

Steps of stress excite waves that elements do not resolve, and the upwind flux dissipates their energy.
"""

SYMMETRY = (0.02, 0.01)
SHARES = 0.05
FASTEST = 1.05
"""Largest rupture speed over the P speed: on triangles of finite size a front may seem slightly too fast."""


def general(measured: Measured) -> list[Row]:
    """Convergence, energy budget and causality."""
    return [*converged(measured), budget(measured), causal(measured)]


def converged(measured: Measured) -> list[Row]:
    """Rupture times and moment of both resolutions."""
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
    """Seismic moment at the end [N m]."""
    return float(run.energies["seismic_moment"][-1])


def balance(measured: Measured) -> tuple[float, float]:
    """Return the ratio of wave energy to work, and its time [s]: the last before waves reach an absorbing side.

    The plastic work, less that of the initial stress, is subtracted from the work.
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
    """Waves hold all the work done on the fault, but for what yielding took, as long as none has left the box."""
    share, time = balance(measured)
    limit = BUDGET[0 if measured.quick else 1]
    return at_most(f"energy budget at {time:.1f} s, |waves/work - 1|", abs(share - 1), limit)


def causal(measured: Measured) -> Row:
    """The front goes out from where it starts, nowhere faster than P waves."""
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
    """At least this share of the fault ruptures; ``quick``: by the end of a quick run that ends before the front has crossed the fault."""

    def check(m: Measured) -> Row:
        wanted = quick if quick is not None and m.quick else share
        return at_least(f"ruptured share of {fault}", m.fine.ruptures[fault].ruptured, wanted)

    return check


def stays(fault: str, share: float) -> Check:
    """At most this share of the fault ruptures."""
    return lambda m: at_most(f"ruptured share of {fault}", m.fine.ruptures[fault].ruptured, share)


def earlier(fault: str, first: Place, second: Place, why: str) -> Check:
    """Rupture reaches one place before the other."""

    def check(m: Measured) -> Row:
        a, b = (m.fine.ruptures[fault].at(*place) for place in (first, second))
        b = np.inf if np.isnan(b) else b  # not within the time that was simulated
        return at_least(f"earlier {why}, by [s]", b - a, 0.0)

    return check


def symmetric(fault: str = "main", centre: float = 0.0, above: float = np.inf) -> Check:
    """Rupture times are those of the mirror image along strike; ``above`` this distance down dip."""

    def check(m: Measured) -> Row:
        s, d = lattice(m.fine.ruptures[fault].fault, m.fine.resolution.size)
        d = d[d < above]
        return _mirrored(m, fault, (s, d), (2 * centre - s, d), "along strike")

    return check


def symmetric_down_dip(centre: float, fault: str = "main") -> Check:
    """Rupture times are those of the mirror image down dip."""

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
    """Mean rupture speed between two places [m/s]."""
    rupture = m.fine.ruptures[fault]
    time = rupture.at(*second) - rupture.at(*first)
    return float(np.hypot(second[0] - first[0], second[1] - first[1]) / time) if time > 0 else float("nan")


def slower(fault: str, first: Place, second: Place, why: str) -> Check:
    """Mean rupture speed between two places below that of S waves."""

    def check(m: Measured) -> Row:
        return at_most(
            f"rupture speed {why}, over S", speed_between(m, fault, first, second) / m.benchmark.speeds[1], 1.0
        )

    return check


def faster(fault: str, first: Place, second: Place, why: str) -> Check:
    """Mean rupture speed between two places above that of S waves."""

    def check(m: Measured) -> Row:
        return at_least(
            f"rupture speed {why}, over S", speed_between(m, fault, first, second) / m.benchmark.speeds[1], 1.0
        )

    return check
