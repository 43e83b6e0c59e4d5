"""Runge-Kutta and leapfrog on the dg operator: every law converges, fluxes damp or conserve, backends agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.dg.method.forms import form
from faultwave.dg.operators.method_of_lines import Leapfrog, RungeKutta, halves, has_coupled_reaction
from faultwave.domain.tets.generators.box import Box, box_mesh
from faultwave.domain.tets.mesh import Mesh
from faultwave.physics import waves as laws
from faultwave.verify.cases.maxwell import leapfrog_energy
from faultwave.verify.exact import Medium
from faultwave.verify.exact.cavity import Cavity, PressureRelease
from tests.messages import raises
from tests.physics.waves.tensors import skewed

from .driver import ROCK, Waves, cube, plane_waves
from .test_maxwell import UNIT, error, walls

FLUID = {"rho": 1.0, "lambda": 1.0}
INTEGRATORS = [(RungeKutta, "godunov"), (RungeKutta, "centred"), (Leapfrog, "centred")]
EACH = pytest.mark.parametrize("kind, flux", INTEGRATORS, ids=["rk4", "rk4-centred", "leapfrog"])


def by_lines(kind: Any, flux: str, mesh: Mesh, law: str, order: int, material: dict, **more: Any) -> Waves:
    waves = Waves(mesh, law, order, material=material, cfl=0.25, **more)
    plain = form(waves.law, order, fast=False)
    waves.use(kind(plain, waves.backend, waves.mesh_layout, waves.cells, flux))
    return waves


@EACH
def test_cavity_converges(kind: Any, flux: str) -> None:
    """At order 3: the full rate with the upwind flux, one less is what a centred flux promises on even degrees."""
    mode, errors = Cavity(), []
    for n in (2, 4):
        waves = by_lines(kind, flux, walls(n), "maxwell", 3, UNIT).start(lambda x: mode(x, 0.0)).run(0.5)
        errors.append(error(waves, mode, 0.5))
    assert np.log2(errors[0] / errors[1]) > (2.7 if flux == "godunov" else 2.0), errors
    assert errors[1] < (0.013 if flux == "godunov" else 0.05)


def test_runge_kutta_is_as_exact_as_ader_on_elastic_waves() -> None:
    waves = by_lines(RungeKutta, "godunov", cube(4), "elastic", 3, ROCK).start(plane_waves(0.0)).run(0.5)
    errors = waves.errors(plane_waves(0.5))
    # the table of docs/theory/exact-solutions.md, "Plane waves"
    assert errors[0] <= 1.3 * 1.5e-1 and errors[6] <= 1.3 * 1.8e-1, errors[[0, 6]]


@EACH
def test_a_fluid_box_rings(kind: Any, flux: str) -> None:
    """Pressure-release walls: energy exactly kept by the centred flux, hardly lost by the upwind one."""
    mode = PressureRelease(Medium(1.0, 1.0))
    mesh = box_mesh(Box((3,) * 3, (0,) * 3, (1,) * 3, dict.fromkeys("xyz", "free-surface"), shuffle=True))
    waves = by_lines(kind, flux, mesh, "acoustic", 4, FLUID).start(lambda x: mode(x, 0.0))
    first = waves.energy()
    waves.run(1.0)
    assert np.abs(waves.errors(lambda x: mode(x, 1.0))[0]) < (0.01 if flux == "godunov" else 0.1)
    change = waves.energy() / first - 1
    assert -1e-3 < change <= 1e-9 if flux == "godunov" else abs(change) < (2e-3 if kind is Leapfrog else 1e-4)


@pytest.mark.parametrize(
    "law, material, quantities",
    [("elastic", ROCK, 9), ("acoustic", FLUID, 4), ("maxwell", UNIT, 6), ("anisotropic", skewed(ROCK), 9)],
)
def test_white_noise_keeps_its_energy_with_the_centred_flux(law: str, material: dict, quantities: int) -> None:
    """Also across a jump of impedance: the flux is conservative by its weights, not by symmetry."""
    rng = np.random.default_rng(0)
    mesh = cube(2)
    waves = by_lines(RungeKutta, "centred", mesh, law, 3, material)
    cells = len(mesh.cells)
    for name in waves.material:
        stiffer = name.startswith("c") and law == "anisotropic"  # by one factor, to remain positive definite
        waves.material[name] = waves.material[name] * np.random.default_rng(9 if stiffer else rng).uniform(
            1.0, 3.0, cells
        )
    waves.cells = type(waves.cells)(**{**vars(waves.cells), "material": waves.material})
    waves.use(RungeKutta(form(waves.law, 3, fast=False), waves.backend, waves.mesh_layout, waves.cells, "centred"))
    waves.operator.set_dofs(rng.normal(size=(cells, 10, quantities)))
    history, step = [waves.energy()], 0.02 * waves.march.longest
    for _ in range(50):
        waves.stepper.correct(0, step)
        history.append(waves.energy())
    assert np.abs(np.array(history) / history[0] - 1).max() < 1e-9  # steps so small that time is exact


def test_leapfrog_conserves_its_discrete_energy() -> None:
    drift, swing = leapfrog_energy(steps=2000, windows=2)
    assert drift < 1e-10 and swing < 1e-10


@EACH
@pytest.mark.parametrize(
    "law, material", [("elastic", ROCK), ("anisotropic", skewed(ROCK)), ("maxwell", UNIT | {"conductivity": 0.4})]
)
def test_backends_agree(kind: Any, flux: str, law: str, material: dict) -> None:
    found = []
    mesh = (
        walls(2) if law == "maxwell" else cube(2, boundaries={"x": "symmetry", "y": "absorbing", "z": "free-surface"})
    )
    for backend in ("numpy", "cpu"):
        waves = by_lines(kind, flux, mesh, law, 4, material, backend=backend)
        rng = np.random.default_rng(1)
        waves.operator.set_dofs(rng.normal(size=waves.operator.dofs().shape))
        waves.run(3 * waves.march.longest)
        found.append(waves.operator.dofs())
    np.testing.assert_allclose(found[1], found[0], atol=1e-12 * np.abs(found[0]).max())


@EACH
def test_losses_are_those_of_the_exact_cavity(kind: Any, flux: str) -> None:
    mode = Cavity(conductivity=0.8)
    waves = by_lines(kind, flux, walls(3), "maxwell", 4, UNIT | {"conductivity": 0.8})
    waves.start(lambda x: mode(x, 0.0)).run(0.5)
    assert error(waves, mode, 0.5) < (4e-3 if flux == "godunov" else 2e-2)


def test_every_law_has_two_halves() -> None:
    assert halves(laws.law("elastic")) == halves(laws.law("anisotropic")) == ([6, 7, 8], [0, 1, 2, 3, 4, 5])
    assert halves(laws.law("acoustic")) == ([0], [1, 2, 3])
    assert halves(laws.law("maxwell")) == ([0, 1, 2], [3, 4, 5])
    lossy: Any = laws.law("maxwell").adapted({"conductivity": np.ones(1)})
    assert not has_coupled_reaction(lossy)


def settings(**numerics: Any) -> dict[str, Any]:
    return {
        "law": "maxwell", "end_time": 0.3, "material": {"constant": {"permittivity": 1.0, "permeability": 1.0}},
        "mesh": {"generate": {"shape": "box", "cells": (3, 3, 3), "lower": (0.0,) * 3, "upper": (1.0,) * 3,
                              "boundaries": dict.fromkeys("xyz", "pec")}},
        "numerics": {"order": 4, **numerics}, "output": {"receivers": {"points": [(0.4, 0.3, 0.2)], "interval": 0.01}},
    }  # fmt: skip


@pytest.mark.parametrize("integrator", ("rk4", "leapfrog"))
def test_a_case_chooses_its_integrator_and_samples_between_steps(integrator: str) -> None:
    mode = Cavity()
    sim = fw.simulate(settings(integrator=integrator))
    sim.set_initial(mode)
    sim.run(write=False)
    data = sim.receivers
    assert data is not None and len(data["time"]) == 31
    want = np.concatenate([mode(data["location"], t) for t in data["time"]])
    np.testing.assert_allclose(data["values"][:, 0], want, atol=0.05)


def test_what_cannot_be_combined_is_refused_with_the_reason() -> None:
    for numerics in (
        {"flux": "centred"},
        {"integrator": "leapfrog", "flux": "godunov"},
        {"integrator": "rk4", "cfl": 5.0},
    ):
        with raises(InputError):
            fw.simulate(settings(**numerics))
