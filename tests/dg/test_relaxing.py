"""Attenuating cells: the fast form and its predictor against the plain one, against exact waves, and what they store and lose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

from faultwave.dg.method.forms.elastic import ContravariantViscoelastic
from faultwave.dg.method.predictors import Taylor
from faultwave.dg.method.predictors.relaxing import decayed_power
from faultwave.media.attenuation import Mechanisms, Spectrum, maxwell_elements
from faultwave.physics.waves.viscoelastic import LARGEST_STEP, element_names
from faultwave.verify.exact.plane_waves import AttenuatedWaves, Wave

from .driver import Waves, cube
from .test_forms import stretched

K = (np.pi, np.pi, np.pi)
BACK = (-np.pi, -np.pi, -np.pi)


def rock(centre: float = 1.0, cells: int = 1, mixed: bool = False, qs: float = 10.0, count: int = 3) -> dict[str, Any]:
    """rho 1, lambda 2, mu 1; ``mixed``: random solids and fluids."""
    rng = np.random.default_rng(3)
    lam, mu, rho = np.full(cells, 2.0), np.ones(cells), np.ones(cells)
    if mixed:
        mu = np.where(rng.random(cells) < 0.2, 0.0, rng.uniform(0.5, 1.5, cells))
        lam, rho = rng.uniform(1.0, 3.0, cells), rng.uniform(0.5, 2.0, cells)
    made = Mechanisms(Spectrum(0.1 * centre, 10.0 * centre, centre), count)
    found = maxwell_elements(made, {"lambda": lam, "mu": mu, "Qp": np.full(cells, 1.5 * qs), "Qs": np.full(cells, qs)})
    values = {"rho": rho, "lambda": found.lam, "mu": found.mu, "Qp": 1.5 * qs, "Qs": qs}
    for i, rate in enumerate(made.rates):
        numbers = (found.element_lam[:, i], found.element_mu[:, i], np.full(cells, rate))
        values |= dict(zip(element_names(i + 1), numbers, strict=True))
    return values


def of_one_cell(material: dict[str, Any]) -> dict[str, float]:
    return {n: float(np.ravel(v)[0]) for n, v in material.items()}


def anything(quantities: int) -> Any:
    """A smooth field of every quantity."""
    k = np.random.default_rng(1).normal(size=(3, quantities))
    return lambda x: np.cos(x @ k + np.arange(quantities)) * np.where(np.arange(quantities) < 9, 1.0, 0.1)


def marched(order: int, until: tuple[float, ...] = (0.05, 0.12), centre: float = 1.0, **more: Any) -> np.ndarray:
    mesh = stretched()
    material = rock(centre, len(mesh.cells), mixed=True)
    waves = Waves(mesh, "viscoelastic", order, rates=(2,), material=material, cfl=0.4, keep=(5, 9), **more)
    assert waves.layout.clusters >= 3 and waves.law.elements == 3
    waves.start(anything(27))
    for time in until:
        waves.run(time)
    return np.asarray(waves.operator.dofs())


@pytest.mark.parametrize("rate", [1e-9, 0.3, 1.0, 7.0, 300.0])
@pytest.mark.parametrize("power", [0, 1, 4])
def test_decayed_powers(rate: float, power: int) -> None:
    factorial = float(np.prod(np.arange(1, power + 1)))
    wanted = quad(lambda s: np.exp(-rate * (1.3 - s)) * s**power / factorial, 0, 1.3, epsabs=0, epsrel=1e-12, limit=200)
    assert decayed_power(rate, power, 1.3) == pytest.approx(wanted[0], rel=1e-9)
    assert decayed_power(rate, power, 0.0) == 0.0


def test_the_fast_form_gives_what_the_plain_one_gives() -> None:
    """With the same predictor, beside fluids, at every boundary, with local time steps."""
    plain = marched(3, fast=False)
    fast = marched(3, predictor=Taylor)
    assert np.abs(plain).max() > 0.1
    assert 0.0 < np.abs(fast - plain).max() <= 1e-12 * np.abs(plain).max()


@pytest.mark.parametrize("order", [2, 3])
def test_exact_relaxation_is_the_limit_of_the_series(order: int) -> None:
    """The two predictors differ by rate times step, of terms beyond the order: slow elements, no difference."""
    found = []
    for centre in (0.02, 0.004):
        series, exact = marched(order, centre=centre, predictor=Taylor), marched(order, centre=centre)
        found.append(np.abs(exact - series).max() / np.abs(series).max())
    assert found[0] < 10.0 ** (-1 - 2 * order)
    assert found[1] < 0.25 * found[0]


def test_the_unit_of_time_changes_nothing() -> None:
    one, other = marched(2), marched(2, time_unit=0.003)
    assert np.abs(one - other).max() <= 1e-12 * np.abs(one).max()


def test_single_precision_is_near() -> None:
    one, other = marched(2), marched(2, precision="single")
    assert 0.0 < np.abs(one - other).max() <= 1e-4 * np.abs(one).max()


@pytest.mark.parametrize("order, grids", [(3, (4, 8)), (4, (4, 8))])
def test_plane_waves_converge(order: int, grids: tuple[int, int]) -> None:
    """P and S waves that decay, of Q 15 and 10 in the middle of the band; memories converge with the field."""
    material = rock()
    law_waves = [Wave("P", K), Wave("S", BACK, polarisation=(1.0, -1.0, 0.0), phase=0.4)]
    exact, errors = AttenuatedWaves(of_one_cell(material), law_waves), []
    for n in grids:
        waves = Waves(cube(n), "viscoelastic", order, material=material)
        assert isinstance(waves.operator.form, ContravariantViscoelastic)
        errors.append(waves.start(lambda x: exact(x, 0.0)).run(0.2).errors(lambda x: exact(x, 0.2)))
    rates = np.log2(errors[0] / errors[1])
    assert rates[:9].min() > order - 0.6 and errors[1][:9].max() < 0.3
    assert rates[9:].min() > order - 1.1


def test_energy_only_falls_and_by_what_is_told() -> None:
    """Smooth waves in a closed box: what is left and what the dashpots took is what there was."""
    waves = Waves(cube(3), "viscoelastic", 5, material=rock())
    exact = AttenuatedWaves(of_one_cell(rock()), [Wave("S", K, polarisation=(1.0, -1.0, 0.0))])
    waves.start(lambda x: exact(x, 0.0))
    times, stored, power = np.linspace(0, 0.4, 41), [], []
    for time in times:
        waves.run(time)
        stored.append(waves.energy())
        power.append(float(waves.integral(waves.densities()["attenuation_power"])))
    assert (np.diff(stored) < 0).all() and stored[-1] < 0.85 * stored[0]
    lost = np.concatenate([[0.0], np.cumsum(0.5 * np.diff(times) * (np.array(power)[1:] + power[:-1]))])
    missing = 1.0 - (stored + lost) / stored[0]  # what the upwind flux takes
    assert -1e-4 < missing.min() and missing.max() < 6e-3


@pytest.mark.parametrize("order, precision", [(2, "single"), (3, "double")])
def test_noise_decays_at_the_longest_step(order: int, precision: str) -> None:
    """Strong attenuation, steps as long as the fastest element allows, two steps of different length."""
    mesh = stretched(dict.fromkeys("xyz", "free-surface"))
    probe = Waves(mesh, "viscoelastic", order, material=rock(qs=5.0), rates=(2,))
    longest = float(probe.clustering.steps.max())
    centre = LARGEST_STEP / longest / (20.0 * np.pi)
    waves = Waves(mesh, "viscoelastic", order, material=rock(centre, qs=5.0), rates=(2,), precision=precision)
    assert waves.layout.clusters > 1
    noise = np.random.default_rng(0)
    waves.start(lambda x: noise.normal(size=(len(x), 27)))
    energies = [waves.energy()]
    for _ in range(8):
        waves.run(waves.march.time + 10 * longest)
        energies.append(waves.energy())
    assert (np.diff(energies) < 0).all(), energies
