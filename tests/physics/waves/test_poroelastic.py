"""Biot's equations: frequencies, impedances and energies that are known, the drag, open and sealed faces, limits of materials."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from faultwave.case.settings.initial import PlaneWave
from faultwave.dg.checks.accuracy import resolved_frequency
from faultwave.physics import waves as laws
from faultwave.physics.waves.plane_waves import plane_waves

from .pores import NORMALISED, SANDSTONE, matrices, porous, waves

DIAGONAL = np.pi * np.ones(3)


def arrays(values: dict[str, float]) -> dict[str, np.ndarray]:
    return {k: np.array([v]) for k, v in values.items()}


@pytest.mark.parametrize("change, size, expected", [
    ({}, 1.0, {0: 11.74831113394 + 2.16895e-4j, 1: 6.18100566739 + 1.451578708e-3j, 2: 6.18100566739 + 1.451578708e-3j,
               3: 4.45988544914 + 0.01623471764j}),
    ({"viscosity": 0.0}, 1.0, {0: 11.74831183632, 1: 6.18101288320, 3: 4.45991473169}),
])  # fmt: skip
def test_frequencies_of_a_normalised_material(change: dict, size: float, expected: dict[int, complex]) -> None:
    found = waves(NORMALISED | change, DIAGONAL)[0]
    for number, frequency in expected.items():
        assert found[number] == pytest.approx(frequency, rel=2e-9, abs=1e-9)
    if not change:  # what shears the fluid against the frame decays without waves
        assert min(abs(found - 0.03000006839j)) < 1e-10


@pytest.mark.parametrize("change, expected", [
    ({"viscosity": 0.0}, [19.53641090781, 5.74598758398, 11.40827022230]),
    ({}, [18.73419901542 + 3.79648e-5j, 10.67145963752 + 2.22066e-5j, 9.80192e-5j, 366300.366j]),
    ({"permeability": 6e-9}, [18.87928264718 + 0.31691072567j, 10.73018993127 + 0.20665794267j, 1.01025689j, 34.98595829j]),
])  # fmt: skip
def test_frequencies_of_sandstone(change: dict, expected: list[complex]) -> None:
    """The slow wave runs without drag and diffuses with it; rates differ by ten orders of magnitude."""
    found = waves(SANDSTONE | change, DIAGONAL / 1000)[0]
    for frequency in expected:
        assert min(abs(found - frequency)) < 5e-6 * abs(frequency) + 1e-10


def test_impedance_and_speeds_of_sandstone() -> None:
    law: Any = laws.law("poroelastic")
    values = arrays(SANDSTONE)
    impedance = [float(z[0]) for z in law.impedance(values)]
    assert impedance == pytest.approx([5602961.69, 1525733.10, 5538601.64, 3052605.44], abs=0.01)
    assert float(law.speed(values)[0]) == pytest.approx(3590.3293, abs=1e-4)
    rates = law.adapted(values).rates(values)
    assert float(rates[0][0]) == pytest.approx(3.663004e5, rel=1e-6)


def test_drag_decays_at_one_rate_and_leaves_the_momentum() -> None:
    values = arrays(NORMALISED)
    law: Any = laws.law("poroelastic").adapted(values)
    assert law.decays and not law.adapted(values | {"viscosity": np.zeros(1)}).decays
    _, reaction = matrices(NORMALISED)
    material = [float(c[0]) for c in law.constants(values)]
    projection = np.array([law.decaying(list(e), material) for e in np.eye(13)], float).T
    np.testing.assert_allclose(projection @ projection, projection, atol=1e-15)
    rate = float(law.decay(law.rates(values))[0])
    np.testing.assert_allclose(reaction, -rate * projection, atol=1e-15)
    q = np.random.default_rng(0).normal(size=13)
    change = law.energies(list(reaction @ q), NORMALISED)
    assert [change[f"momentum{x}"] for x in "XYZ"] == pytest.approx([0.0, 0.0, 0.0], abs=1e-15)


def test_energy_is_lost_as_the_drag_says() -> None:
    """dE/dt = -(viscosity / permeability) |w|^2 where nothing varies in space."""
    law: Any = laws.law("poroelastic")
    _, reaction = matrices(NORMALISED)
    q, step = np.random.default_rng(3).normal(size=13), 1e-6

    def energy(state: np.ndarray) -> float:
        found = law.energies(list(state), NORMALISED)
        return float(found["elastic_energy"] + found["elastic_kinetic_energy"])

    lost = (energy(q - step * reaction @ q) - energy(q + step * reaction @ q)) / (2 * step)
    assert lost == pytest.approx(0.1 * (q[10:] ** 2).sum(), rel=1e-8)
    viscous = law.adapted(arrays(NORMALISED))
    assert viscous.energies(list(q), NORMALISED)["drag_power"] == pytest.approx(lost, rel=1e-8)


def test_energy_by_hand() -> None:
    """Undrained compression by a volume strain e: K_u e^2/2 with Gassmann's K_u = K + alpha^2 M, all motion together."""
    law: Any = laws.law("poroelastic")
    v = SANDSTONE
    drained = v["lambda"] + 2 * v["mu"] / 3
    alpha = 1 - drained / v["bulk_solid"]
    storage = 1 / ((alpha - v["porosity"]) / v["bulk_solid"] + v["porosity"] / v["bulk_fluid"])
    strain, undrained = 1e-4, drained + alpha**2 * storage
    q = np.zeros(13)
    q[:3], q[9], q[6] = undrained * strain, -alpha * storage * strain, 2.0
    found = law.energies(list(q), v)
    assert found["elastic_energy"] == pytest.approx(undrained * strain**2 / 2, rel=1e-12)
    density = 0.6 * v["rho"] + 0.4 * v["rho_fluid"]
    assert found["elastic_kinetic_energy"] == pytest.approx(2.0 * density)
    assert found["momentumX"] == pytest.approx(2.0 * density)


@pytest.mark.parametrize("seed", range(3))
def test_at_a_sealed_face_nothing_flows_and_no_traction_acts(seed: int) -> None:
    law: Any = laws.law("poroelastic")
    rng = np.random.default_rng(seed)
    n = rng.normal(size=3)
    n /= np.linalg.norm(n)
    values = arrays(porous({"rho": 2.0, "mu": 3.0, "lambda": 1.5}))
    z = [float(x[0]) for x in law.impedance(values)]
    matrix = np.array([law.apply_impedance(z, n, list(e)) for e in np.eye(4)]).T
    w = rng.normal(size=4)
    mix = law.mix(law.boundaries["sealed-surface"], values, n[None])[0]
    flow = np.linalg.solve(2 * matrix, np.array(law.incoming(mix, n, w)) - w)
    traction = w + matrix @ flow
    np.testing.assert_allclose([*traction[:3], flow[3]], 0.0, atol=1e-13)
    assert abs(traction[3]) > 0.1 and np.abs(flow[:3]).max() > 0.1


def test_admittance_is_the_inverse() -> None:
    law: Any = laws.law("poroelastic")
    n = np.array([0.6, 0.0, 0.8])
    own, other = (law.impedance_at(arrays(porous({"rho": r, "mu": 3.0, "lambda": 1.5})), n[None]) for r in (2.0, 0.7))
    y, x = law.admittance(own, other, 3.0)[0], np.array([1.0, -2.0, 0.5, 4.0])
    both = np.array(law.apply_impedance((own + other)[0], n, list(x)))
    np.testing.assert_allclose(law.apply_impedance(y, n, list(both)), 3.0 * x, rtol=1e-13)


def test_frames_stiffer_than_their_grains_are_told() -> None:
    law: Any = laws.law("poroelastic")
    values = {k: np.full(3, v) for k, v in SANDSTONE.items()}
    values["lambda"] = np.array([5.28e9, 7.8e9, -5e9])
    ((bad, told, allowed),) = law.wrong(values)
    assert bad.tolist() == [False, True, True]
    assert "1.207e+10" in told(1) and "1.2e+10" in told(1) and "bulk_solid" in allowed


@pytest.mark.parametrize("mode, number", [("P", 0), ("S", 1), ("slow-P", 3)])
@pytest.mark.parametrize("change", [{}, {"viscosity": 0.0}, {"viscosity": 12.0}])
def test_plane_waves_are_those_of_the_equations(mode: str, number: int, change: dict[str, float]) -> None:
    """q_t = E q - A_d q_d, by differences in space and time; amplitudes and phases are those asked for."""
    material = NORMALISED | change
    law: Any = laws.law("poroelastic").adapted(arrays(material))
    k = np.array([0.5, -0.3, 0.4])
    across = np.array([0.3, 0.5, 0.0])
    given = {"k": k.tolist(), "mode": mode, "origin": (0.1, 0.2, 0.3)}
    if mode == "S":
        given["polarisation"] = across.tolist()
    wave = PlaneWave.model_validate(given | {"amplitude": 0.7, "phase": 0.4})
    at = np.random.default_rng(0).normal(size=(4, 3))

    def field(x: np.ndarray, t: float) -> np.ndarray:
        return plane_waves(law, arrays(material), [wave], x, t)

    a, e = matrices(material)
    h = 1e-4
    slope = np.stack([(field(at + h * d, 0.3) - field(at - h * d, 0.3)) / (2 * h) for d in np.eye(3)])
    rate = (field(at, 0.3 + h) - field(at, 0.3 - h)) / (2 * h)
    want = field(at, 0.3) @ e.T - np.einsum("dij,dnj->ni", a, slope)
    np.testing.assert_allclose(rate, want, atol=1e-6 * np.abs(want).max())
    direction = (k if mode != "S" else across - (across @ k) / (k @ k) * k).astype(float)
    direction /= np.linalg.norm(direction)
    start = field(at, 0.0)[:, 6:9]
    np.testing.assert_allclose(start, 0.7 * np.outer(np.cos((at - [0.1, 0.2, 0.3]) @ k + 0.4), direction), atol=1e-12)
    grown = field(at, 1.0), waves(material, k)[0][number]
    assert np.isfinite(grown[0]).all() and grown[1].imag >= -1e-12


def test_a_slow_wave_in_stiff_drag_diffuses() -> None:
    material = SANDSTONE
    law: Any = laws.law("poroelastic").adapted(arrays(material))
    k = DIAGONAL / 1000
    wave = PlaneWave.model_validate({"k": k.tolist(), "mode": "slow-P"})
    first, later = (plane_waves(law, arrays(material), [wave], np.zeros((1, 3)), t)[0] for t in (0.0, 1000.0))
    np.testing.assert_allclose(later[9], first[9] * np.exp(-9.80192e-5 * 1000.0), rtol=1e-5)


def test_frame_and_fluid_shear_as_one_in_sandstone() -> None:
    """The S speed that resolution and reports count with is that of the bulk density, as the drag has it."""
    law, values = laws.law("poroelastic"), arrays(SANDSTONE)
    speed = float(np.sqrt(values["mu"] / law.density(values))[0])
    along = DIAGONAL / 1000.0
    assert speed == pytest.approx(waves(SANDSTONE, along)[0][1].real / np.linalg.norm(along), rel=1e-4)
    frequency = resolved_frequency(law, values, np.array([100.0]), 4)
    assert frequency[0] == pytest.approx(speed * 4 / 100.0 / 10.0)
