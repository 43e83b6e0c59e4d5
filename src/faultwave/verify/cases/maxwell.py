"""Electromagnetic cavities: errors and rates of a standing wave, resonance frequencies, and energy.

Modes: docs/theory/exact-solutions.md, "Electromagnetic cavity".
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from faultwave.base.types import Settings
from faultwave.observe.resonances import resonances
from faultwave.verify import convergence, setups
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_least, at_most, rate
from faultwave.verify.cases.energy import noise
from faultwave.verify.exact.cavity import Cavity

END = 1.0
GRIDS: dict[int, tuple[int, ...]] = {2: (2, 4, 8), 3: (2, 4, 8), 4: (2, 4, 8), 5: (2, 4), 6: (2, 4)}
# Relative L2 error of all quantities together at t = 1, CFL 0.5, six tetrahedra a brick.
TABLE: dict[int, dict[int, float]] = {
    2: {2: 3.2e-1, 4: 8.0e-2, 8: 1.93e-2},
    3: {2: 7.9e-2, 4: 1.01e-2, 8: 1.29e-3},
    4: {2: 1.7e-2, 4: 1.13e-3, 8: 7.2e-5},
    5: {2: 3.2e-3, 4: 1.1e-4},
}
CONDUCTING = dict.fromkeys(("x", "y", "z"), "pec")


def closed_cube(n: int, order: int, end_time: float, **more: object) -> Settings:
    """Return the case of the unit cube with conducting walls, n bricks a side, unit permittivity and permeability."""
    mesh = setups.box((n,) * 3, (0.0,) * 3, (1.0,) * 3, CONDUCTING, shuffle=True)
    material = {"constant": {"permittivity": 1.0, "permeability": 1.0}}
    return setups.settings("maxwell", mesh, material, end_time, order, **more)


def error(order: int, n: int) -> float:
    """Return the relative L2 error of E and H together at the end."""
    sim = setups.started(closed_cube(n, order, END), Cavity()).run(write=False)
    squares = exact_squares()
    # The error of a vanishing quantity is absolute.
    weighted = sim.error(Cavity()) ** 2 * np.where(squares > 1e-20, squares, 1.0)
    return float(np.sqrt(weighted.sum() / squares.sum()))


def exact_squares() -> np.ndarray:
    """Return the integral of the square of every quantity at the end."""
    x, w = np.polynomial.legendre.leggauss(12)
    grid = np.stack(np.meshgrid(*[(x + 1) / 2] * 3, indexing="ij"), -1).reshape(-1, 3)
    weight = np.einsum("i,j,k->ijk", w, w, w).reshape(-1) / 8
    return np.asarray((weight[:, None] * Cavity()(grid, END) ** 2).sum(0))


def bump(points: np.ndarray, t: float) -> np.ndarray:
    """Return a smooth field that excites many modes; tangential E vanishes on the walls."""
    x, y, z = (points[:, i] for i in range(3))
    walls = [4 * u * (1 - u) for u in (x, y, z)]
    skew = [1 + 0.5 * x + 0.3 * y, 0.7 + 0.4 * z - 0.5 * x, 1.2 - 0.6 * y + 0.2 * z]
    field = [skew[i] * walls[(i + 1) % 3] * walls[(i + 2) % 3] for i in range(3)]
    return np.stack([*field, *[np.zeros(len(points))] * 3], 1)


def frequencies(order: int = 4, n: int = 4, time: float = 30.0) -> list[Row]:
    """Judge the five lowest resonance frequencies at three probes against pi sqrt(m^2 + n^2 + p^2)."""
    points = [(0.23, 0.31, 0.42), (0.61, 0.27, 0.18), (0.37, 0.66, 0.59)]
    receivers = {"points": points, "interval": 0.02}
    sim = setups.started(closed_cube(n, order, time, output={"receivers": receivers}), bump).run(write=False)
    data = sim.receivers
    assert data is not None
    found = resonances(data["values"][:, :, :6].reshape(len(data["time"]), -1), 0.02, (0.6, 1.3))
    measured = np.array([r.frequency for r in found])
    rows = []
    for square in (2, 3, 5):
        exact = np.sqrt(square) / 2
        nearest = measured[np.argmin(np.abs(measured - exact))] if len(measured) else np.nan
        rows.append(at_most(f"frequency pi sqrt{square}: relative error", abs(nearest / exact - 1), 1e-4))
    return rows


def run(progress: Progress, grids: Mapping[int, tuple[int, ...]] = GRIDS) -> Result:
    """Judge errors against the table, rates and frequencies."""
    found: dict[int, dict[int, np.ndarray]] = {}
    for order, sizes in grids.items():
        found[order] = {}
        for n in sizes:
            progress(f"order {order}, {n}^3 bricks")
            found[order][n] = np.array([error(order, n)])
    table = {o: {n: (v,) for n, v in row.items()} for o, row in TABLE.items()}
    rows = convergence.table_rows(found, ("E, H",), table)
    for order, errors in found.items():
        coarse, fine = sorted(errors)[-2:]
        observed = rate(errors[coarse][0], errors[fine][0], fine / coarse)
        limit = convergence.rate_limit(order)
        rows.append(at_least(f"O={order} rate, n={coarse} to {fine}", observed, limit, order))
    if 5 in found and 6 in found:
        rows.append(at_most("O=6 error over that of O=5, n=4", found[6][4][0] / found[5][4][0], 1.0))
    progress("frequencies")
    return Result(tuple(rows + frequencies()), tuple(convergence.table_text(found, ("E, H",))))


def leapfrog_energy(steps: int, windows: int, order: int = 3) -> tuple[float, float]:
    """Return the drift and the fluctuation of the discrete energy of white noise in a conducting cube.

    The drift is the largest slope of a line fitted to each window [fraction per 10^4 steps], the fluctuation the largest relative change
    from step to step. The energy that leapfrog conserves is sum |J| (eps E^n.E^n + mu H^(n-1/2).H^(n+1/2)) / 2
    (docs/theory/time-stepping.md, "Method of lines").
    """
    numerics = {"integrator": "leapfrog"}
    sim = setups.started(closed_cube(1, order, 1e9, numerics=numerics), noise(6))
    op, stepper, step = sim.solver.operator, sim.solver.stepper, setups.largest_step(sim)
    volume = sim.plan.geometry.volume[:, None, None]

    def energy() -> float:
        now = op.dofs()
        stepper.run_stage(op.half_step(step))
        ahead = op.dofs()
        op.set_dofs(now)
        return float(3.0 * (volume * (now[..., :3] ** 2 + ahead[..., 3:] * (2 * now[..., 3:] - ahead[..., 3:]))).sum())

    found = []
    every = max(1, steps // (windows * 50))
    for i in range(steps + 1):
        if i % every == 0:
            found.append(energy())
        stepper.correct(0, step)
    total = np.array(found) / found[0]
    parts = np.array_split(total, windows)
    slopes = [np.polyfit(np.arange(len(p)) * every, p, 1)[0] * 1e4 for p in parts]
    return float(np.abs(slopes).max()), float(np.abs(np.diff(total)).max())


def centred_growth(order: int, integrator: str, flux: str, steps: int = 2000) -> float:
    """Return the largest growth per step of the energy of white noise, over intervals of a hundred steps."""
    sim = setups.started(closed_cube(2, order, 1e9, numerics={"integrator": integrator, "flux": flux}), noise(6))
    total = setups.energies_every(sim, 100 * setups.largest_step(sim), steps // 100)
    return float(np.log(total[1:] / total[:-1]).max()) / 100


def run_energy(progress: Progress, orders: tuple[int, ...] = (2, 3, 4, 5, 6), steps: int = 100_000) -> Result:
    """Judge the energy of resolved modes and white noise with ADER, noise with Runge-Kutta, and leapfrog over many steps."""
    rows = []
    mode = Cavity()
    period = 2 * np.pi / mode.frequency
    for order in orders:
        progress(f"order {order}")
        sim = setups.started(closed_cube(4 if order <= 4 else 2, order, 10 * period), mode)
        total = setups.energies_every(sim, period / 8, 80)
        rows.append(at_most(f"O={order} largest E(t)/E(0), 10 periods", float((total / total[0]).max()), 1.001))
        for integrator, flux in (("ader", "godunov"), ("rk4", "godunov"), ("rk4", "centred")):
            growth = centred_growth(order, integrator, flux, 10_000 if integrator == "ader" else 2000)
            limit = 1e-12 if order <= 4 else 1e-4
            rows.append(at_most(f"O={order} white noise, {integrator} {flux}: growth of E a step", growth, limit))
    progress("leapfrog")
    drift, _ = leapfrog_energy(steps, max(1, steps // 10_000))
    rows.append(at_most(f"leapfrog, {steps} steps: drift of its energy a 10^4 steps", drift, 1e-10))
    return Result(tuple(rows))


ENERGY = VerificationCase("maxwell-energy", "conducting cube: energy with every integrator and flux", run_energy, 6.0)
CAVITY = VerificationCase(
    "maxwell-cavity", "conducting cube, orders 2 to 6: errors, rates, frequencies of resonance", run, 2.0
)
