"""Attenuating rock on tetrahedra: convergence rates of decaying plane waves, and growth of white noise at the longest steps.

P and S waves of Q 20 and 10 in the periodic cube of ``plane_wave``; the fastest element's rate is 63, ten times the waves' frequencies.
Theory: docs/theory/attenuation.md.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from faultwave.base.types import Settings
from faultwave.media.attenuation import Mechanisms, Spectrum, maxwell_elements
from faultwave.physics.waves.viscoelastic import element_names
from faultwave.verify import convergence, setups
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_most, near
from faultwave.verify.cases.energy import FREE, noise
from faultwave.verify.exact.plane_waves import AttenuatedWaves, Wave

ROCK = {"rho": 1.0, "lambda": 2.0, "mu": 1.0, "Qp": 20.0, "Qs": 10.0}
BAND = {"low": 0.1, "high": 10.0, "reference": 1.0}
FREQUENCIES = {"P": 10.98488087631 + 0.27721321562j, "S": 5.39438851766 + 0.29126842162j}
"""Complex frequencies of the waves, found as eigenvalues of the first-order system."""
K, BACK = (np.pi, np.pi, np.pi), (-np.pi, -np.pi, -np.pi)
WAVES = {"P": Wave("P", K), "S": Wave("S", BACK, polarisation=(1.0, -1.0, 0.0))}
END = 0.5
GRIDS: dict[int, tuple[int, ...]] = {2: (4, 8, 16), 3: (4, 8), 4: (4, 8), 5: (4, 8), 6: (4, 8), 7: (4, 8), 8: (4, 8)}
NAMES = ("s_xx", "v1")
NOISE_UP_TO = 6
"""Highest order tested with white noise, which higher orders do not resolve."""


def exact(rock: Mapping[str, float] = ROCK, band: Mapping[str, float] = BAND) -> AttenuatedWaves:
    """Return the exact waves in the generalised Maxwell body that approximates the rock with three elements."""
    made = Mechanisms(Spectrum(band["low"], band["high"], band["reference"]), 3)
    found = maxwell_elements(made, {name: np.array([v]) for name, v in rock.items()})
    values = dict(rock) | {"lambda": float(found.lam[0]), "mu": float(found.mu[0])}
    for i, rate in enumerate(made.rates):
        numbers = (found.element_lam[0, i], found.element_mu[0, i], rate)
        values |= dict(zip(element_names(i + 1), map(float, numbers), strict=True))
    return AttenuatedWaves(values, tuple(WAVES.values()))


def case_settings(order: int, n: int, **more: object) -> Settings:
    """Return the case of the periodic cube [-1, 1]^3 with n bricks a side."""
    mesh = setups.box((n,) * 3, (-1.0,) * 3, (1.0,) * 3, setups.periodic(), shuffle=True)
    return setups.settings("viscoelastic", mesh, {"constant": ROCK}, END, order, attenuation=BAND, **more)


def _frequency_rows() -> list[Row]:
    solution = exact()
    return [
        near(f"{kind}: |w - that of the first-order system|", abs(solution.frequency(WAVES[kind]) - w), 0.0, 1e-9)
        for kind, w in FREQUENCIES.items()
    ]


def noise_growth(order: int, steps: int = 1000) -> float:
    """Return the largest growth of energy per step for white noise in a free cube of Q 5.

    The band reaches so high that the relaxation rate of the fastest element lies at the stability limit of the time step.
    """
    mesh = setups.box((2, 2, 2), (0.0, 0.0, 0.0), (1.0, 1.0, 1.0), FREE, shuffle=True)
    rock = ROCK | {"Qp": 7.0, "Qs": 5.0}

    def made(high: float) -> Settings:
        band = {"attenuation": {"high": high}}
        return setups.settings("viscoelastic", mesh, {"constant": rock}, 1e9, order, **band)

    step = setups.largest_step(setups.started(made(1e-3)))
    sim = setups.started(made(0.25 / step), noise(27))
    total = setups.energies_every(sim, 50 * setups.largest_step(sim), steps // 50)
    return float(np.log(total[1:] / total[:-1]).max()) / 50


def measure(grids: Mapping[int, tuple[int, ...]], progress: Progress) -> dict[int, dict[int, np.ndarray]]:
    """Return the errors of the quantities in NAMES for every order and grid."""
    solution = exact()
    found: dict[int, dict[int, np.ndarray]] = {}
    for order, sizes in grids.items():
        found[order] = {}
        for n in sizes:
            progress(f"order {order}, {n}^3 bricks")
            found[order][n] = setups.errors(case_settings(order, n), solution)[[0, 6]]
    return found


def run(progress: Progress, grids: Mapping[int, tuple[int, ...]] = GRIDS) -> Result:
    """Judge frequencies, errors and rates, and the growth of noise."""
    found = measure(grids, progress)
    rows = _frequency_rows() + convergence.rate_rows(found, NAMES)
    for order in grids:
        if order <= NOISE_UP_TO:
            progress(f"order {order}, noise")
            rows.append(at_most(f"O={order} white noise, largest growth of E a step", noise_growth(order), 1e-12))
    return Result(tuple(rows), tuple(convergence.table_text(found, NAMES)))


ATTENUATION = VerificationCase("attenuation", "attenuating rock: plane waves at their rates, noise decays", run, 6.0)
