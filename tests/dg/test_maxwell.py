"""The electromagnetic law in the engine: exact cavities with and without loss, local steps, units of time, energy."""

from __future__ import annotations

import numpy as np
import pytest

from faultwave.domain.tets.generators.box import Box, box_mesh
from faultwave.domain.tets.mesh import Mesh, make_mesh
from faultwave.verify.exact.cavity import Cavity

from .driver import Waves

UNIT = {"permittivity": 1.0, "permeability": 1.0, "conductivity": 0.0}


def walls(n: int, kind: str = "pec", **more: object) -> Mesh:
    return box_mesh(Box((n,) * 3, (0,) * 3, (1,) * 3, dict.fromkeys("xyz", kind), shuffle=True, **more))  # type: ignore[arg-type]


def graded(n: int) -> Mesh:
    mesh = walls(n)
    x = mesh.vertices - 0.5
    return make_mesh(0.5 + 0.3 * x + 2.8 * x**3, mesh.cells, mesh.groups, mesh.tags, None, "graded")


def error(waves: Waves, mode: Cavity, time: float) -> float:
    want = mode(waves.points.reshape(-1, 3), time).reshape(waves.values().shape)
    return float(np.sqrt(waves.integral(((waves.values() - want) ** 2).sum(-1)) / waves.integral((want**2).sum(-1))))


@pytest.mark.parametrize("conductivity", (0.5, 4.0))
def test_lossy_cavity_converges_at_the_full_order(conductivity: float) -> None:
    mode, errors = Cavity(conductivity=conductivity), []
    material = UNIT | {"conductivity": conductivity}
    for n in (2, 4):
        waves = Waves(walls(n), "maxwell", 4, material=material, cfl=0.4).start(lambda x: mode(x, 0.0)).run(0.5)
        errors.append(error(waves, mode, 0.5))
    assert errors[1] < 3e-3 and np.log2(errors[0] / errors[1]) > 3.6, errors


@pytest.mark.parametrize("conductivity", (0.0, 0.5))
def test_local_steps_agree_with_global_ones(conductivity: float) -> None:
    mode = Cavity(conductivity=conductivity)
    material = UNIT | {"conductivity": conductivity}
    runs = [Waves(graded(5), "maxwell", 4, rates=r, material=material, cfl=0.4) for r in ((1,), (2,))]
    assert runs[1].layout.clusters >= 3
    for waves in runs:
        waves.start(lambda x: mode(x, 0.0)).run(0.4)
    exact = [error(w, mode, 0.4) for w in runs]
    assert exact[1] == pytest.approx(exact[0], rel=0.1) and exact[0] < 1e-2
    gap = np.sqrt(runs[0].integral(((runs[0].values() - runs[1].values()) ** 2).sum(-1)))
    assert gap < 0.35 * exact[0]


@pytest.mark.parametrize("precision, tolerance", [("double", 1e-12), ("single", 1e-4)])
def test_the_unit_of_time_does_not_matter(precision: str, tolerance: float) -> None:
    mode, found = Cavity(conductivity=0.7), []
    for unit in (1.0, 2.0**-6):
        waves = Waves(
            walls(2), "maxwell", 3, precision=precision, rates=(2,), cfl=0.4, material=UNIT | {"conductivity": 0.7}, time_unit=unit
        )  # fmt: skip
        found.append(waves.start(lambda x: mode(x, 0.0)).run(0.3).values())
    np.testing.assert_allclose(*found, atol=tolerance)


@pytest.mark.parametrize("order", (2, 5))
@pytest.mark.parametrize("kind", ("pec", "pmc"))
def test_energy_of_a_closed_box_does_not_grow(order: int, kind: str) -> None:
    """Ten periods of a resolved mode, the dual one where the walls are magnetic."""
    electric = Cavity()

    def field(x: np.ndarray) -> np.ndarray:
        q = electric(x, 0.0)
        return q if kind == "pec" else np.concatenate([q[:, 3:], q[:, :3]], 1)

    waves = Waves(walls(3 if order < 5 else 2, kind), "maxwell", order, material=UNIT, cfl=0.4).start(field)
    first, period = waves.energy(), 2 * np.pi / electric.frequency
    history = [waves.run(t).energy() for t in np.arange(1, 21) * 0.5 * period]
    assert max(history) <= 1.001 * first and history[-1] > (0.98 if order == 5 else 0.1) * first


def test_absorbing_box_lets_waves_out() -> None:
    def bump(x: np.ndarray) -> np.ndarray:
        e = np.exp(-40 * ((x - 0.5) ** 2).sum(1))[:, None] * np.cross([0.0, 0.0, 1.0], x - 0.5)
        return np.concatenate([e, np.zeros((len(x), 3))], 1)

    waves = Waves(walls(4, "absorbing"), "maxwell", 4, material=UNIT, cfl=0.4).start(bump)
    first = waves.energy()
    assert waves.run(2.0).energy() < 0.02 * first
