"""Rusanov's flux: what it adds to Godunov's, its order, its energy, local time steps, backends, and the cases that may have it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from faultwave import backends
from faultwave.base.errors import Problems
from faultwave.case.model import Fault, Numerics
from faultwave.dg.penalties import Sides, penalty_fluxes
from faultwave.dg.penalties.choice import chosen_fluxes
from faultwave.dg.penalties.rusanov import Rusanov
from faultwave.physics import waves as laws
from faultwave.physics.waves.law import jacobians
from tests.backends.here import present
from tests.physics.waves.tensors import skewed

from .driver import Waves, cube, plane_waves
from .test_forms import rock, stretched

OTHERS = present([n for n in backends.names() if n not in ("numpy", "cpu", "numpy-timed")])


@pytest.mark.parametrize("name", ["elastic", "acoustic", "anisotropic"])
def test_it_adds_half_of_what_the_fastest_wave_has_beyond_each(name: str) -> None:
    """With equal materials Rusanov's flux less Godunov's is (c - |A|)/2 of the jump."""
    law: Any = laws.law(name)
    rng = np.random.default_rng(1)
    material = {p.name: rng.uniform(1.0, 2.0, 1) for p in law.parameters}
    if name == "anisotropic":
        material = {k: np.array([v]) for k, v in skewed({"rho": 1.3, "lambda": 1.7, "mu": 1.1}).items()}
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
