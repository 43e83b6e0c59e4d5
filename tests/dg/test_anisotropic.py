"""Waves in anisotropic solids: equal to the elastic law's where the tensor is isotropic, plane waves, frames, energy, integrators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from faultwave.case.settings.initial import PlaneWave
from faultwave.dg.method.forms import form
from faultwave.dg.operators.method_of_lines import RungeKutta
from faultwave.domain.tets.mesh import make_mesh
from faultwave.physics.waves import law as find_law
from faultwave.physics.waves.anisotropic import isotropic
from faultwave.physics.waves.plane_waves import plane_waves
from tests.physics.waves.tensors import rotation, skewed, turned

from .driver import ROCK, Waves, cube
from .test_forms import SIDES, stretched

SKEWED = skewed(ROCK, seed=1, share=0.8)


def rock(cells: int, kinds: int = 6) -> dict[str, np.ndarray]:
    """One of a few random tensors in each cell."""
    several = [skewed({"rho": 1.0 + 0.2 * i, "lambda": 2.0 - 0.2 * i, "mu": 1.0}, i, 0.7) for i in range(kinds)]
    which = np.random.default_rng(3).integers(0, kinds, cells)
    return {name: np.array([v[name] for v in several])[which] for name in several[0]}


def bump(x: np.ndarray) -> np.ndarray:
    shape = np.exp(-4 * (x**2).sum(1))[:, None]
    return np.concatenate([0.4 * shape * np.arange(-2, 4), shape * [1.0, -0.5, 0.3]], 1)


@pytest.mark.parametrize("fast, penalty", [(False, ""), (True, ""), (True, "rusanov")])
def test_isotropic_tensors_run_as_the_elastic_law(fast: bool, penalty: str) -> None:
    """Every boundary, material of its own in every cell, local time steps."""
    mesh = stretched()
    rng = np.random.default_rng(2)
    material = {name: rng.uniform(1.0, 2.0, len(mesh.cells)) for name in ROCK}
    runs = [
        Waves(mesh, law, 3, rates=(2,), cfl=0.4, material=values, fast=fast, penalty=penalty)
        .start(bump)
        .run(0.05)
        .run(0.15)
        for law, values in (("elastic", material), ("anisotropic", isotropic(material)))
    ]
    one, other = (run.operator.dofs() for run in runs)
    np.testing.assert_allclose(other, one, atol=1e-12 * np.abs(one).max())


def wave_field(k: np.ndarray, mode: str, polarisation: Any, time: float) -> Any:
    material = {name: np.array([v]) for name, v in SKEWED.items()}
    across = None if mode == "P" else polarisation
    wave = PlaneWave(k=tuple(k.tolist()), mode=mode, polarisation=across, amplitude=1.0, phase=0.3)  # type: ignore[arg-type]
    return lambda x: plane_waves(find_law("anisotropic"), material, [wave], x, time)


DIRECTIONS = [((1, 0, 0), "P"), ((0, 1, -1), "S"), ((1, 1, 1), "S")]


LATER = [pytest.param(n, True, marks=pytest.mark.slow) for n in (5, 6)]


@pytest.mark.parametrize("order, fast", [(2, True), (3, True), (3, False), (4, True), *LATER])
@pytest.mark.parametrize("direction, mode", DIRECTIONS)
def test_plane_waves_converge(direction: tuple[int, ...], mode: str, order: int, fast: bool) -> None:
    k, until, errors = np.pi * np.array(direction, float), 0.1, []
    sizes = (4, 8) if order < 5 else (2, 4)
    for n in sizes:
        waves = Waves(cube(n), "anisotropic", order, material=SKEWED, fast=fast)
        waves.start(wave_field(k, mode, (1.0, 0.4, -0.2), 0.0)).run(until)
        want, got = wave_field(k, mode, (1.0, 0.4, -0.2), until)(waves.points.reshape(-1, 3)), waves.values()
        difference = (got.reshape(want.shape) - want) ** 2
        errors.append(np.sqrt(difference.sum() / (want**2).sum()))
    assert np.log2(errors[0] / errors[1]) > order - 0.6, errors


@pytest.mark.parametrize("fast", [False, True])
def test_a_turned_rock_moves_alike(fast: bool) -> None:
    """Mesh, tensors and motion turned together: the same motion, turned."""
    r, mesh = rotation(4), cube(2, boundaries=SIDES, perturb=0.2)
    other = make_mesh(mesh.vertices @ r.T, mesh.cells, mesh.groups, mesh.tags, None, "turned")
    material = rock(len(mesh.cells))
    kinds = [turned({k: v[c] for k, v in material.items()}, r) for c in range(len(mesh.cells))]
    tilted = {name: np.array([v[name] for v in kinds]) for name in material}
    place = ((0, 3, 5), (3, 1, 4), (5, 4, 2))

    def rotated(q: np.ndarray) -> np.ndarray:
        stress = np.stack([np.stack([q[..., place[i][j]] for j in range(3)], -1) for i in range(3)], -2)
        stress = r @ stress @ r.T
        six = [stress[..., i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))]
        return np.concatenate([np.stack(six, -1), q[..., 6:] @ r.T], -1)

    one = Waves(mesh, "anisotropic", 3, material=material, rates=(2,), fast=fast).start(bump).run(0.2)
    two = Waves(other, "anisotropic", 3, material=tilted, rates=(2,), fast=fast)
    two.start(lambda x: rotated(bump(x @ r))).run(0.2)
    want = rotated(one.operator.dofs())
    np.testing.assert_allclose(two.operator.dofs(), want, atol=1e-9 * np.abs(want).max())


@pytest.mark.parametrize("sides", ["free-surface", "rigid", "symmetry"])
def test_energy_of_a_closed_box_does_not_grow(sides: str) -> None:
    """Nothing leaves, nothing is pushed in: after many crossings some is left, and at a free surface all momentum."""
    mesh = cube(2, boundaries=dict.fromkeys("xyz", sides), perturb=0.2)
    waves = Waves(mesh, "anisotropic", 3, material=rock(len(mesh.cells)), rates=(2,)).start(bump)
    first, momentum = waves.energy(), waves.momentum()
    history = [waves.run(t).energy() for t in np.arange(1, 16) * 0.5]
    assert (np.diff([first, *history]) <= 1e-3 * first).all() and history[0] > 0.3 * first
    if sides == "free-surface":
        np.testing.assert_allclose(waves.momentum(), momentum, atol=1e-12)


def test_runge_kutta_gives_what_ader_gives() -> None:
    """With every boundary, upwind, in small steps."""
    mesh = cube(2, boundaries=SIDES, perturb=0.1)
    material = rock(len(mesh.cells))
    runs = []
    for lines in (False, True):
        waves = Waves(mesh, "anisotropic", 4, material=material, cfl=0.1)
        if lines:
            plain = form(waves.law, 4, fast=False)
            waves.use(RungeKutta(plain, waves.backend, waves.mesh_layout, waves.cells, "godunov"))
        runs.append(waves.start(bump).run(0.3).operator.dofs())
    np.testing.assert_allclose(runs[1], runs[0], atol=2e-3 * np.abs(runs[0]).max())


def test_single_is_near_double() -> None:
    mesh = stretched()
    runs = [
        Waves(mesh, "anisotropic", 3, precision=p, material=rock(len(mesh.cells)), rates=(2,)).start(bump).run(0.1)
        for p in ("single", "double")
    ]
    np.testing.assert_allclose(*[r.operator.dofs() for r in runs], atol=1e-4)
