"""Generalised Maxwell bodies: what they are made of, what they store and lose, and the frequencies at which their waves decay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from faultwave.case.settings.initial import PlaneWave
from faultwave.media.attenuation import Mechanisms, Spectrum, maxwell_elements
from faultwave.physics.waves import law as find_law
from faultwave.physics.waves.law import jacobians
from faultwave.physics.waves.plane_waves import plane_waves
from faultwave.physics.waves.viscoelastic import Viscoelastic, element_names
from faultwave.verify.exact.plane_waves import AttenuatedWaves, Wave

K = (np.pi, np.pi, np.pi)


def body(qp: float = 20.0, qs: float = 10.0, count: int = 3, mu: float = 1.0) -> dict[str, float]:
    """rho 1, lambda 2 and mu 1 at 1 Hz, of constant Q over two decades."""
    made = Mechanisms(Spectrum(0.1, 10.0, 1.0), count)
    rock = {n: np.array([v]) for n, v in {"lambda": 2.0, "mu": mu, "Qp": qp, "Qs": qs}.items()}
    found = maxwell_elements(made, rock)
    values = {"rho": 1.0, "lambda": float(found.lam[0]), "mu": float(found.mu[0]), "Qp": qp, "Qs": qs}
    for i, rate in enumerate(made.rates):
        numbers = (found.element_lam[0, i], found.element_mu[0, i], rate)
        values |= dict(zip(element_names(i + 1), map(float, numbers), strict=True))
    return values


def law_of(values: dict[str, float]) -> Any:
    law: Any = find_law("viscoelastic")
    return law.adapted({n: np.array([v]) for n, v in values.items()})


def matrix_of_energy(law: Any, values: dict[str, float], names: tuple[str, ...]) -> np.ndarray:
    def amount(q: np.ndarray) -> float:
        return sum(float(v) for k, v in law.energies(list(q), values).items() if k in names)

    unit = np.eye(len(law.quantities))
    single = np.array([amount(e) for e in unit])
    pairs = np.array([[amount(a + b) for b in unit] for a in unit])
    return np.asarray(pairs - single[:, None] - single)


ENERGIES = ("elastic_energy", "elastic_kinetic_energy", "acoustic_energy", "acoustic_kinetic_energy")


def test_elements_are_memories() -> None:
    law = law_of(body())
    assert law.elements == 3 and len(law.quantities) == 27 and law.visible == 9
    assert law.quantities[9:15] == tuple(f"element1_{c}" for c in ("xx", "yy", "zz", "xy", "yz", "xz"))
    assert law.longest_step() * 20 * np.pi == pytest.approx(np.pi / 2)
    plain: Any = find_law("viscoelastic")
    assert plain.elements == 0 and plain.visible == 9 and plain.longest_step() == np.inf


def test_without_elements_it_is_elastic() -> None:
    values, elastic = body(), find_law("elastic")
    plain: Any = Viscoelastic()
    known = {n: values[n] for n in ("rho", "lambda", "mu")}
    np.testing.assert_array_equal(jacobians(plain, values).matrices, jacobians(elastic, known).matrices)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("mu", [1.0, 0.0])
def test_energy_symmetrises_the_waves_and_is_lost_as_told(count: int, mu: float) -> None:
    """E = q H q / 2: H A is symmetric, and dE/dt = q H R q of the reaction R is the power, never a gain."""
    values = body(count=count, mu=mu)
    law = law_of(values)
    hessian = matrix_of_energy(law, values, ENERGIES)
    states = np.eye(len(law.quantities)) if mu else without_shear(law)
    for a in jacobians(law, values).matrices:
        product = states.T @ hessian @ a @ states
        np.testing.assert_allclose(product, product.T, atol=1e-12 * np.abs(product).max())
    rates = [float(r) for r in law.rates({n: np.asarray(v) for n, v in values.items()})]
    reaction = np.array([law.reaction(list(e), rates) for e in np.eye(len(law.quantities))]).T
    lost = -(states.T @ hessian @ reaction @ states)
    power = states.T @ matrix_of_energy(law, values, ("attenuation_power",)) @ states
    np.testing.assert_allclose(lost + lost.T, power, atol=1e-9 * np.abs(power).max())
    assert np.abs(power).max() > 0 and np.linalg.eigvalsh(power).min() > -1e-9 * np.abs(power).max()
    assert np.linalg.eigvalsh(states.T @ hessian @ states).min() > 0


def without_shear(law: Any) -> np.ndarray:
    """Columns are the states of a fluid: pressures and velocities."""
    columns = []
    for first in (0, *range(9, len(law.quantities), 6)):
        columns.append(np.isin(np.arange(len(law.quantities)), first + np.arange(3)).astype(float))
    return np.concatenate([np.array(columns).T, np.eye(len(law.quantities))[:, 6:9]], 1)


def test_complex_frequencies_of_plane_waves() -> None:
    """Against numbers found with the dispersion relation and, independently, as eigenvalues of the first-order system."""
    exact = AttenuatedWaves(body(), [])
    back = (-np.pi, -np.pi, -np.pi)
    for wave, wanted in (
        (Wave("P", K), 10.98488087631 + 0.27721321562j),
        (Wave("S", back, polarisation=(1.0, -1.0, 0.0)), 5.39438851766 + 0.29126842162j),
    ):
        found = exact.frequency(wave)
        assert abs(found - wanted) < 1e-10
        law, values = law_of(body()), body()
        a = np.einsum("d,dij->ij", wave.wavevector, jacobians(law, values).matrices)
        rates = [float(r) for r in law.rates({n: np.asarray(v) for n, v in values.items()})]
        reaction = np.array([law.reaction(list(e), rates) for e in np.eye(27)]).T
        # q = r exp(i (w t - k.x)): i w r = i A r + R r
        assert np.abs(np.linalg.eigvals(a - 1j * reaction) - found).min() < 1e-10
        state = exact._state(wave)[1]
        np.testing.assert_allclose((a - 1j * reaction) @ state, found * state, atol=1e-12)


def test_plane_waves_of_a_case_decay() -> None:
    """Those that a case starts from, found from the law's matrices, are the exact ones, found from the modulus."""
    values = body()
    material = {n: np.array([v]) for n, v in values.items()}
    points = np.random.default_rng(0).uniform(-1, 1, (5, 3))
    for mode, across in (("P", None), ("S", (1.0, -1.0, 0.0))):
        asked = PlaneWave(mode=mode, k=K, amplitude=0.3, polarisation=across, phase=0.2)
        exact = AttenuatedWaves(values, [Wave(mode, K, 0.3, across, 0.2)])  # type: ignore[arg-type]
        for time in (0.0, 0.7):
            found = plane_waves(law_of(values), material, [asked], points, time)
            np.testing.assert_allclose(found, exact(points, time), atol=1e-12)


@pytest.mark.parametrize("kind, q, speed", [("P", 120.0, 2.0), ("S", 60.0, 1.0)])
def test_phase_speed_and_quality_of_waves(kind: Any, q: float, speed: float) -> None:
    """Speed as given at the reference frequency; 2 Im w / Re w is 1/Q within 5 % over the band."""
    exact, across = AttenuatedWaves(body(120.0, 60.0), []), (0.0, 1.0, 0.0) if kind == "S" else None
    for f in np.geomspace(0.1, 10.0, 21):
        w = exact.frequency(Wave(kind, (2 * np.pi * f / speed, 0.0, 0.0), polarisation=across))
        assert 2 * w.imag / w.real * q == pytest.approx(1.0, abs=0.051)
    k = 2 * np.pi / speed
    w = exact.frequency(Wave(kind, (k, 0.0, 0.0), polarisation=across))
    assert w.real / k == pytest.approx(speed, rel=1e-4)
