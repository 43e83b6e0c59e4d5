"""Waves in porous rock: exact plane waves with and without drag, walls, local steps, energy, Darcy's law."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from faultwave.dg.fault.coupling import PoreCoupling
from faultwave.physics import waves as laws
from tests.physics.waves.pores import NORMALISED, SANDSTONE, porous, waves

from .driver import Waves, cube
from .test_operator import graded

LIGHT, HEAVY, STIFF = 0.1, 10.0, 1e6
"""Viscosities whose drag is slow, as fast as the waves, and far faster than any step."""


def plane_wave(viscosity: float, mode: int, k: np.ndarray, time: float, material: Any = NORMALISED) -> Any:
    """Mode 0: fast P, 1: S, 3: slow P. Of unit size."""
    frequency, states = waves(material | {"viscosity": viscosity}, k)
    w, state = frequency[mode], states[:, mode] / np.abs(states[:, mode]).max()
    return lambda x: np.real(np.exp(1j * (w * time - x @ k))[:, None] * state)


DIAGONAL = np.pi * np.ones(3)


def error(viscosity: float, mode: int, order: int, n: int, time: float = 0.1) -> float:
    """The larger of the relative errors of stress and of velocity, all components of each together."""
    run = Waves(cube(n), "poroelastic", order, material=NORMALISED | {"viscosity": viscosity})
    run.start(plane_wave(viscosity, mode, DIAGONAL, 0.0)).run(time)
    values = run.values()
    want = plane_wave(viscosity, mode, DIAGONAL, time)(run.points.reshape(-1, 3)).reshape(values.shape)
    gap, size = run.integral((values - want) ** 2), run.integral(want**2)
    return float(np.sqrt(max(gap[block].sum() / size[block].sum() for block in (slice(0, 6), slice(6, 9)))))


CASES = [(viscosity, mode) for viscosity in (0.0, LIGHT, HEAVY, STIFF) for mode in (0, 1, 3)]
QUICK = {(LIGHT, 3), (STIFF, 0)}


@pytest.mark.parametrize("viscosity, mode", [
    pytest.param(*c, marks=() if c in QUICK else pytest.mark.slow) for c in CASES if c != (STIFF, 3)
])  # fmt: skip
@pytest.mark.parametrize(
    "order", [2, 3, pytest.param(4, marks=pytest.mark.slow), pytest.param(5, marks=pytest.mark.slow)]
)
def test_plane_waves_converge(viscosity: float, mode: int, order: int) -> None:
    """At the order of the scheme, whatever the drag, as far as meshes of these sizes show it."""
    coarse, fine = (error(viscosity, mode, order, n) for n in ((4, 8) if order == 2 else (3, 6)))
    assert np.log2(coarse / fine) > order - 0.7 and fine < 10.0 ** (0.4 - 0.5 * order), (coarse, fine)


def still(material: Any, viscosity: float, time: float, run_for: float, walls: str) -> np.ndarray:
    """Errors of standing P waves along x between walls of one kind, all others planes of symmetry."""
    k = np.array([np.pi, 0.0, 0.0])
    sign = 1.0 if walls == "rigid" else -1.0
    mirror = np.array([1, 1, 1, -1, 1, -1, -1, 1, 1, 1, -1, 1, 1])  # of the quantities where x turns around

    def field(t: float) -> Any:
        one = plane_wave(viscosity, 0, k, t, material)

        def both(x: np.ndarray) -> np.ndarray:
            shifted = x - [1.0, 0.0, 0.0]
            return one(shifted) + sign * mirror * one(shifted * [-1.0, 1.0, 1.0])

        return both

    mesh = cube(3, boundaries={"x": walls, "y": "symmetry", "z": "symmetry"})
    run = Waves(mesh, "poroelastic", 4, material=material | {"viscosity": viscosity}).start(field(time))
    with np.errstate(divide="ignore"):  # shear is zero
        return np.asarray(run.run(run_for).errors(field(time + run_for)))


@pytest.mark.parametrize("walls", ["free-surface", "rigid"])
@pytest.mark.parametrize("viscosity", [LIGHT, HEAVY])
def test_standing_waves_between_walls(walls: str, viscosity: float) -> None:
    """Open walls have neither traction nor pressure, rigid ones neither motion nor flow."""
    found = still(NORMALISED, viscosity, 0.03, 0.1, walls)
    assert found[[0, 6, 9, 10]].max() < 0.03, found


def noise(run: Waves, seed: int = 0) -> Waves:
    dofs = np.random.default_rng(seed).normal(size=run.operator.dofs().shape)
    run.operator.set_dofs(dofs)
    return run


@pytest.mark.parametrize("order, boundary", [(2, "free-surface"), (3, "sealed-surface"), (4, "periodic")])
@pytest.mark.parametrize("viscosity", [0.0, HEAVY, STIFF])
def test_energy_never_grows(order: int, boundary: str, viscosity: float) -> None:
    """Of white noise in rock of many kinds, step by step at the largest steps that cases may ask for."""
    mesh = cube(2, boundaries=dict.fromkeys("xyz", boundary), perturb=0.2)
    rng = np.random.default_rng(1)
    kinds = [porous({"rho": a, "mu": b, "lambda": c}) for a, b, c in rng.uniform(0.5, 2.0, (5, 3))]
    which = rng.integers(0, 5, len(mesh.cells))
    material = {name: np.array([kind[name] for kind in kinds])[which] for name in kinds[0]}
    material["viscosity"] = viscosity * rng.uniform(0.0, 2.0, len(mesh.cells))
    run = noise(Waves(mesh, "poroelastic", order, cfl=0.68, material=material))
    energies = [run.energy()]
    for number in range(1, 25):
        energies.append(run.run(number * float(run.clustering.steps[0])).energy())
    assert (np.diff(energies) < 1e-12 * energies[0]).all() and energies[-1] < 0.5 * energies[0]


@pytest.mark.parametrize("viscosity", [HEAVY, STIFF])
def test_local_steps_agree_with_global_ones_and_conserve_momentum(viscosity: float) -> None:
    exact = plane_wave(viscosity, 0, DIAGONAL, 0.0)
    material = NORMALISED | {"viscosity": viscosity}

    def start(x: np.ndarray) -> np.ndarray:
        return np.asarray(exact(x) + np.array([0.0] * 6 + [0.5, -0.3, 0.2] + [0.0] * 4))

    one, local = (Waves(graded(4), "poroelastic", material=material, rates=r).start(start) for r in ((1,), (2,)))
    assert local.layout.clusters >= 2
    before = local.momentum()
    one.run(0.15)
    local.run(0.04).run(0.15)  # also over a meeting that shortens steps
    np.testing.assert_allclose(local.momentum(), before, atol=1e-12)
    gap = np.sqrt(local.integral((local.values() - one.values()) ** 2))
    size = np.sqrt(local.integral(one.values() ** 2))
    assert (gap[:10] < 0.05 * size[:10].max()).all() and np.isfinite(gap).all(), gap / size


@pytest.mark.parametrize("rates", [(1,), (2,)])
def test_where_drag_is_fast_the_flow_is_darcys(rates: tuple[int, ...]) -> None:
    """w = -(permeability / viscosity) (grad p + rho_f v_t), also in steps of a thousand times its time of decay."""
    along = np.array([np.pi, 0.0, 0.0])
    run = Waves(graded(5), "poroelastic", 4, material=NORMALISED | {"viscosity": STIFF}, rates=rates)
    run.start(plane_wave(STIFF, 0, along, 0.0)).run(0.1)
    drag = STIFF / NORMALISED["permeability"]
    exact = plane_wave(STIFF, 0, along, 0.1)
    points, step = run.points.reshape(-1, 3), 1e-3
    later, earlier = (plane_wave(STIFF, 0, along, 0.1 + dt)(points)[:, 6] for dt in (step, -step))
    east, west = (exact(points + [dx, 0, 0])[:, 9] for dx in (step, -step))
    darcy = -(east - west + NORMALISED["rho_fluid"] * (later - earlier)) / (2 * step * drag)
    np.testing.assert_allclose(exact(points)[:, 10], darcy, atol=1e-4 * np.abs(darcy).max())  # the exact wave obeys it
    found = run.values()[..., 10]
    gap = run.integral((found - darcy.reshape(found.shape)) ** 2) / run.integral(darcy.reshape(found.shape) ** 2)
    assert np.sqrt(gap) < 0.15, np.sqrt(
        gap
    )  # as good as gradients are on this mesh; without decay of what faces add: thousands


def test_slip_by_the_density_of_the_grains() -> None:
    """As decks have it: another eta in the solve for slip, and the same one in what waves feel of a velocity jump."""
    material = {k: np.full((1, 2), v) for k, v in SANDSTONE.items()}
    law: Any = laws.law("poroelastic")
    bulk, grains = (
        c.columns.row(list(c.constants(law, material, np.eye(3)[None])[0]))
        for c in (PoreCoupling(), PoreCoupling(True))
    )
    assert 2.0 * bulk.friction == pytest.approx(3052605.44) and 2.0 * grains.friction == pytest.approx(3648561.36)
    assert bulk.damping == grains.damping and bulk.damping[3] == bulk.friction
    slipping = PoreCoupling(True).slipping(grains, [0.0, 10e6, 0.0, 0.0], 2.0, 0.0)
    assert slipping[1] == pytest.approx(10e6 - 3648561.36)
