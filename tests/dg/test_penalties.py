"""Rusanov's flux: what it adds to Godunov's, its order, its energy, local time steps, backends, and the cases that may have it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from faultwave import backends
from faultwave.base.errors import Problems
from faultwave.case.settings.model import Fault, Numerics
from faultwave.dg.method.predictors import Taylor
from faultwave.dg.operators.scheme import chosen_fluxes
from faultwave.dg.penalties import Sides, penalty_fluxes
from faultwave.dg.penalties.rusanov import Rusanov
from faultwave.physics import waves as laws
from faultwave.physics.waves.law import jacobians
from tests.backends.here import present
from tests.physics.waves.pores import NORMALISED
from tests.physics.waves.tensors import skewed

from .driver import Waves, cube, plane_waves
from .test_forms import rock, stretched
from .test_relaxing import rock as attenuating

OTHERS = present([n for n in backends.names() if n not in ("numpy", "cpu", "numpy-timed")])


@pytest.mark.parametrize("name", ["elastic", "acoustic", "anisotropic", "poroelastic"])
def test_it_adds_half_of_what_the_fastest_wave_has_beyond_each(name: str) -> None:
    """With equal materials Rusanov's flux less Godunov's is (c - |A|)/2 of the jump."""
    law: Any = laws.law(name)
    rng = np.random.default_rng(1)
    material = {p.name: rng.uniform(1.0, 2.0, 1) for p in law.parameters}
    if name == "anisotropic":
        material = {k: np.array([v]) for k, v in skewed({"rho": 1.3, "lambda": 1.7, "mu": 1.1}).items()}
    if name == "poroelastic":
        material = {k: np.array([v]) for k, v in NORMALISED.items()}
    normal = rng.normal(size=(1, 3))
    normal /= np.linalg.norm(normal)
    a = np.einsum("d,dij->ij", normal[0], jacobians(law, {k: float(v[0]) for k, v in material.items()}).matrices)
    speeds, vectors = np.linalg.eig(a)
    upwind = (vectors @ np.diag(np.abs(speeds)) @ np.linalg.inv(vectors)).real
    penalty = Rusanov(law)
    sides = Sides(law, normal, np.zeros((1, 2, 3)), material, material, np.array([0.7]))
    row = penalty.columns.row(penalty.columns.join(penalty.constants(sides))[0])
    jump = rng.normal(size=len(law.quantities))
    want = 0.7 * 0.5 * (law.speed(material)[0] * jump - upwind @ jump)
    np.testing.assert_allclose(penalty.change(list(jump), row), want, atol=1e-12)
    assert np.abs(want).max() > 0.1


def test_all_springs_feel_the_strain_of_what_the_stress_gains() -> None:
    """The field as in elastic rock of the unrelaxed moduli; what it gains beyond that of the flux does sigma : C^-1 : change of work,
    whatever is stored in the springs."""
    material = {k: np.atleast_1d(v).astype(float) for k, v in attenuating().items()}
    law: Any = laws.law("viscoelastic").adapted(material)
    rng = np.random.default_rng(2)
    normal = np.array([[0.6, 0.0, 0.8]])
    sides = Sides(law, normal, np.zeros((1, 2, 3)), material, material, np.array([1.0]))
    whole, field = penalty_fluxes()["rusanov"].make(law), Rusanov(laws.law("elastic"))
    jump = list(rng.normal(size=9))
    rows = [p.columns.row(p.columns.join(p.constants(sides))[0]) for p in (whole, field)]
    found, elastic = np.array(whole.change(jump, rows[0])), np.array(field.change(jump, rows[1]))
    np.testing.assert_allclose(found[:9], elastic, rtol=1e-12)

    def energy(q: np.ndarray) -> float:
        return float(
            sum(
                v
                for k, v in law.energies(list(q), {k: v[0] for k, v in material.items()}).items()
                if k.endswith("energy")
            )
        )

    def product(a: np.ndarray, b: np.ndarray) -> float:
        return 0.5 * (energy(a + b) - energy(a - b))

    state = rng.normal(size=27) * np.repeat([1.0, 0.02], [9, 18])
    state[6:9] = 0.0  # the work on stress alone
    lam, mu = material["lambda"][0], material["mu"][0]
    gained = found[:6]
    volume = gained[:3].sum() / (3 * lam + 2 * mu)
    strain = np.concatenate([(gained[:3] - lam * volume) / (2 * mu), gained[3:] / (2 * mu)])
    work = state[:3] @ strain[:3] + 2.0 * state[3:6] @ strain[3:]
    assert product(state, found) == pytest.approx(work, rel=1e-9)


@pytest.mark.parametrize("law", ["viscoelastic", "poroelastic"])
def test_energy_of_noise_only_falls(law: str) -> None:
    """In rock that relaxes or whose drag is stiff, with several clusters."""
    mesh = stretched(dict.fromkeys("xyz", "free-surface"))
    material = attenuating() if law == "viscoelastic" else NORMALISED | {"viscosity": 1e3}
    waves = Waves(mesh, law, 2, rates=(2,), cfl=0.4, material=material, penalty="rusanov")
    assert waves.layout.clusters > 2
    waves.operator.set_dofs(np.random.default_rng(0).normal(size=waves.operator.dofs().shape))
    energies = [waves.energy()]
    for number in range(1, 9):
        energies.append(waves.run(number * 4 * float(waves.clustering.steps.max())).energy())
    assert (np.diff(energies) < 0).all(), energies


@pytest.mark.parametrize("law", ["viscoelastic", "poroelastic"])
def test_attenuating_and_porous_rock_in_every_form(law: str) -> None:
    """In random rock with several clusters; waves and penalties of all quantities that move."""

    def run(backend: str = "cpu", **more: Any) -> np.ndarray:
        mesh = stretched()
        rng = np.random.default_rng(4)
        material = attenuating() if law == "viscoelastic" else dict(NORMALISED)
        material = material | {"rho": rng.uniform(0.8, 1.4, len(mesh.cells))}
        waves = Waves(
            mesh, law, 3, backend, rates=(2,), cfl=0.4, material=material, keep=(5, 9), **{"penalty": "rusanov"} | more
        )
        assert waves.layout.clusters > 2
        k = np.random.default_rng(1).normal(size=(3, waves.operator.form.Q))
        size = np.where(np.arange(k.shape[1]) < waves.law.visible, 1.0, 0.05)
        waves.start(lambda x: np.cos(x @ k) * size)
        return np.asarray(waves.run(0.03).run(0.06).operator.dofs())

    known = run("numpy", fast=False, predictor=Taylor if law == "viscoelastic" else None)
    scale = np.abs(known).max()
    assert np.abs(run(predictor=Taylor if law == "viscoelastic" else None) - known).max() < 1e-12 * scale
    assert np.abs(run(penalty="") - run()).max() > 1e-3 * scale


def test_plane_waves_converge_at_the_order_of_the_scheme() -> None:
    errors = [
        np.linalg.norm(
            Waves(cube(n), order=3, penalty="rusanov").start(plane_waves(0.0)).run(0.1).errors(plane_waves(0.1))
        )
        for n in (3, 6)
    ]
    assert np.log2(errors[0] / errors[1]) > 2.3, errors
    upwind = Waves(cube(6), order=3).start(plane_waves(0.0)).run(0.1).errors(plane_waves(0.1))
    assert errors[1] < 1.1 * np.linalg.norm(upwind)


def marched(backend: str = "cpu", precision: str = "double", penalty: str = "rusanov", **more: Any) -> Waves:
    """Random rock, a fifth of it fluid, cells of many sizes, several clusters."""
    mesh = stretched()
    settings = {"material": rock(len(mesh.cells)), "cfl": 0.4, "keep": (5, 9), "rates": (2,), **more}
    waves = Waves(mesh, "elastic", 3, backend, precision, penalty=penalty, **settings)
    assert waves.layout.clusters > 2
    return waves.start(plane_waves(0.0, (0.4, -0.2, 0.3))).run(0.05).run(0.12)


def test_every_form_and_backend_gives_the_same() -> None:
    known = marched("numpy", fast=False).operator.dofs()
    scale = np.abs(known).max()
    for fast in (False, True):
        assert np.abs(marched(fast=fast).operator.dofs() - known).max() < 1e-12 * scale, fast
    assert np.abs(marched(penalty="").operator.dofs() - known).max() > 1e-3 * scale
    assert np.abs(marched(precision="single").operator.dofs() - known).max() < 2e-4 * scale


@pytest.mark.parametrize("name", OTHERS)
def test_devices_give_the_same(name: str) -> None:
    known = marched().operator.dofs()
    assert np.abs(marched(name).operator.dofs() - known).max() < 1e-12 * np.abs(known).max()


def test_energy_is_only_lost() -> None:
    """In one material, between walls that keep all of it, with several clusters. Beside Godunov's flux, more of it."""
    lost = []
    for penalty in ("", "rusanov"):
        mesh = stretched(dict.fromkeys("xyz", "free-surface"))
        waves = Waves(mesh, "elastic", 3, rates=(2,), cfl=0.4, penalty=penalty).start(plane_waves(0.0))
        assert waves.layout.clusters > 2
        energy = [waves.energy(), *(waves.run(time).energy() for time in (0.03, 0.06, 0.12))]
        assert (np.diff(energy) < 0).all(), energy
        lost.append(energy[0] - energy[-1])
    assert lost[1] > lost[0]


def test_momentum_is_kept_with_local_time_steps() -> None:
    """Whatever a face takes from one cell the other gets, in clusters of different steps, too."""
    mesh = cube(4, perturb=0.15, seed=4)
    rng = np.random.default_rng(3)
    solid = {
        "rho": 1.0,
        "lambda": rng.uniform(1.0, 30.0, len(mesh.cells)),
        "mu": rng.uniform(0.5, 9.0, len(mesh.cells)),
    }
    waves = Waves(mesh, "elastic", 3, rates=(2,), cfl=0.4, material=solid, penalty="rusanov")
    assert waves.layout.clusters > 1
    waves.start(plane_waves(0.0, (0.4, -0.2, 0.3)))
    momentum = waves.momentum()
    waves.run(0.03).run(0.1)
    np.testing.assert_allclose(waves.momentum(), momentum, atol=1e-12 * np.abs(momentum).max())


def chosen(law: str = "elastic", fault: bool = True, **numerics: Any) -> tuple[tuple[str, str], str]:
    case: Any = SimpleNamespace(
        numerics=Numerics.model_validate(numerics), fault=Fault.model_construct() if fault else None
    )
    problems = Problems()
    found = chosen_fluxes(case, laws.law(law), problems)
    return found, " ".join(f"{p.where}: {p.what}" for p in problems.errors)


def test_what_a_case_may_ask_for() -> None:
    assert set(penalty_fluxes()) == {"rusanov"}
    assert chosen() == (("godunov", "godunov"), "")
    assert chosen(flux="rusanov") == (("rusanov", "rusanov"), "")
    assert chosen(flux="upwind", flux_near_faults="rusanov") == (("godunov", "rusanov"), "")
    assert chosen(flux="rusanov", flux_near_faults="godunov") == (("rusanov", "godunov"), "")
    assert "not for the maxwell law" in chosen("maxwell", False, flux="rusanov")[1]
    told = chosen(flux="rusanow", flux_near_faults="centred")[1]
    assert (
        "numerics.flux: unknown flux 'rusanow'" in told and "numerics.flux_near_faults: unknown flux 'centred'" in told
    )
    assert "the case has no fault" in chosen(fault=False, flux_near_faults="rusanov")[1]
    for integrator in ("rk4", "leapfrog"):
        with pytest.raises(ValueError, match="rusanov"):
            Numerics.model_validate({"integrator": integrator, "flux": "rusanov"})
