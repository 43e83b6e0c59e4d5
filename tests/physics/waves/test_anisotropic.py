"""Anisotropic solids: isotropic tensors, known speeds and impedances, frames, the largest speed, bad stiffness."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from faultwave.physics import waves as laws
from faultwave.physics.waves.anisotropic import (
    CONSTANTS,
    acoustic_tensor,
    isotropic,
    stiffness,
    unpacked,
)

from .tensors import TRANSVERSE, rotation, skewed, turned

LAW: Any = laws.law("anisotropic")
ROCK = {"rho": 2670.0, "lambda": 32.5e9, "mu": 32.0e9}


def one(values: dict[str, Any]) -> dict[str, np.ndarray]:
    return {k: np.array([float(v)]) for k, v in values.items()}


def unit(seed: int) -> np.ndarray:
    n = np.random.default_rng(seed).normal(size=(1, 3))
    return np.asarray(n / np.linalg.norm(n))


def speeds(values: dict[str, Any], n: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt(np.linalg.eigvalsh(acoustic_tensor(one(values), n))[0] / values["rho"]))


def test_speeds_and_impedance_of_transversely_isotropic_rock() -> None:
    """Computed once by hand from Christoffel's equation."""
    x, z, diagonal = np.array([[1.0, 0, 0]]), np.array([[0, 0, 1.0]]), np.ones((1, 3)) / np.sqrt(3)
    np.testing.assert_allclose(speeds(TRANSVERSE, x), [3464.102, 4018.476, 6000.0], rtol=2e-7)
    np.testing.assert_allclose(speeds(TRANSVERSE, z), [3464.102, 3464.102, 5091.751], rtol=2e-7)
    np.testing.assert_allclose(speeds(TRANSVERSE, diagonal), [3167.808161, 3842.581437, 5882.768631], rtol=1e-9)
    a, b, c, d = 12143715.77, 1768745.89, 2298196.07, 10524095.67
    found = unpacked(LAW.impedance_at(one(TRANSVERSE), diagonal))[0]
    np.testing.assert_allclose(found, [[a, b, c], [b, a, c], [c, c, d]], rtol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_isotropic_tensors_are_elastic(seed: int) -> None:
    """Rates, impedance, largest speed and energies of the elastic law."""
    elastic: Any = laws.law("elastic")
    n, values, same = unit(seed), one(ROCK), one(isotropic(ROCK))
    rng = np.random.default_rng(seed)
    gradient, divergence = rng.normal(size=(3, 3)), rng.normal(size=3)
    rates = [
        np.squeeze(law.rate(divergence, gradient, law.constants(v))) for law, v in ((elastic, values), (LAW, same))
    ]
    np.testing.assert_allclose(rates[1], rates[0], rtol=1e-12)
    found, want = (
        np.array(law.apply_impedance(law.impedance_at(v, n)[0], n[0], [0.3, -0.7, 1.1]))
        for law, v in ((LAW, same), (elastic, values))
    )
    np.testing.assert_allclose(found, want, rtol=1e-12)
    np.testing.assert_allclose(LAW.speed(same), elastic.speed(values), rtol=1e-15)
    q = [*1e6 * rng.normal(size=6), *rng.normal(size=3)]
    mine, theirs = LAW.energies(q, same), elastic.energies(q, values)
    for name, value in mine.items():
        np.testing.assert_allclose(value, theirs[name], rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_a_turned_rock_is_the_same_rock(seed: int) -> None:
    r, n = rotation(seed), unit(seed + 10)
    tilted = turned(TRANSVERSE, r)
    z, across = (unpacked(LAW.impedance_at(one(v), d))[0] for v, d in ((TRANSVERSE, n), (tilted, n @ r.T)))
    np.testing.assert_allclose(across, r @ z @ r.T, rtol=1e-10, atol=1e-10 * np.abs(z).max())
    np.testing.assert_allclose(LAW.speed(one(tilted)), LAW.speed(one(TRANSVERSE)), rtol=1e-9)
    values = np.linalg.eigvalsh(stiffness(one(tilted))[0])
    np.testing.assert_allclose(values, np.linalg.eigvalsh(stiffness(one(TRANSVERSE))[0]), rtol=1e-10)


def test_no_direction_is_faster_than_the_largest_speed() -> None:
    """Random tensors, even ones whose fastest wave is no P wave, against many directions; reached, so that steps are not too short."""
    rng = np.random.default_rng(5)
    root = rng.normal(size=(40, 6, 6))
    c = root @ root.transpose(0, 2, 1)
    many = {name: c[:, int(name[1]) - 1, int(name[2]) - 1] for name in CONSTANTS} | {"rho": rng.uniform(1, 2, 40)}
    directions = rng.normal(size=(4000, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    found = LAW.speed(many)
    for k in range(40):
        values = {name: v[k : k + 1] for name, v in many.items()}
        most = np.sqrt(np.linalg.eigvalsh(acoustic_tensor(values, directions))[:, -1].max() / values["rho"][0])
        assert most <= found[k] <= 1.01 * most


def test_a_stiffness_that_is_not_positive_is_told_with_its_eigenvalues() -> None:
    good = skewed(ROCK)
    values = {k: np.array([v, v, v]) for k, v in good.items()}
    values["c44"][1] = -1e9
    values["c12"][2] = 400e9
    ((bad, told, allowed),) = LAW.wrong(values)
    assert bad.tolist() == [False, True, True]
    assert "eigenvalues -" in told(1) and told(1).count(",") == 5 and "> 0" in allowed


@pytest.mark.parametrize("seed", range(3))
def test_nothing_crosses_a_plane_of_symmetry_and_nothing_rubs_on_it(seed: int) -> None:
    n, values = unit(seed), one(skewed(ROCK, seed))
    z = unpacked(LAW.impedance_at(values, n))[0]
    w = np.random.default_rng(seed + 50).normal(size=3)
    back = np.array(LAW.incoming(LAW.mix(LAW.boundaries["symmetry"], values, n)[0], n[0], w))
    flow, traction = np.linalg.solve(2 * z, back - w), (back + w) / 2
    assert abs(flow @ n[0]) < 1e-13 * np.abs(flow).max()
    np.testing.assert_allclose(traction - (traction @ n[0]) * n[0], 0.0, atol=1e-13)
