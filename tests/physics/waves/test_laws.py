"""Every law: Jacobians, hyperbolicity, linearity, impedances, energy; known entries of those whose formulas are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultwave.base.errors import InputError
from faultwave.physics import waves as laws
from faultwave.physics.waves.law import LAYER, jacobians
from tests.messages import raises

from .pores import porous
from .tensors import skewed

LAWS = pytest.mark.parametrize("law", laws.laws().values(), ids=lambda law: law.name)
FLUID = {"rho": 1000.0, "mu": 0.0, "lambda": 2.25e9}
GLASS = {"permittivity": 4.0 * 8.854e-12, "permeability": 1.257e-6, "conductivity": 0.3}
QUALITY = {"Qp": 80.0, "Qs": 40.0}
ROCK = {"rho": 2670.0, "mu": 32.0e9, "lambda": 32.5e9} | GLASS | QUALITY
SOFT = {"rho": 2000.0, "mu": 1.0e9, "lambda": 6.0e9}
# Numbers near one, so that stress and velocity compare; the last has a negative lambda but is stable (> -2/3 mu).
NEAR_ONE = {
    "rho": 2.0,
    "mu": 3.0,
    "lambda": 1.5,
    "permittivity": 2.0,
    "permeability": 0.7,
    "conductivity": 0.4,
} | QUALITY
FAST = {"rho": 0.7, "mu": 5.0, "lambda": 0.9, "permittivity": 0.6, "permeability": 0.3, "conductivity": 0.0} | QUALITY
NEGATIVE = {
    "rho": 2.0,
    "mu": 3.0,
    "lambda": -1.5,
    "permittivity": 0.6,
    "permeability": 0.3,
    "conductivity": 0.0,
} | QUALITY


def own(law: Any, values: dict[str, float]) -> dict[str, float]:
    known = values | skewed(values) if law.name == "anisotropic" and "c11" not in values else values
    known = porous(values) if law.name == "poroelastic" else known
    return {p.name: known[p.name] for p in law.parameters}


def along(law: Any, values: dict[str, float], n: np.ndarray) -> np.ndarray:
    return np.einsum("d,dij->ij", n, jacobians(law, own(law, values)).matrices)


def unit(seed: int) -> np.ndarray:
    n = np.random.default_rng(seed).normal(size=3)
    return np.asarray(n / np.linalg.norm(n))


def test_registry() -> None:
    assert {"elastic", "acoustic", "anisotropic", "maxwell", "poroelastic"} <= set(laws.laws())
    assert laws.law("elastic").name == "elastic"
    with raises(InputError):
        laws.law("elastics")


@LAWS
def test_names_are_consistent(law: Any) -> None:
    assert len(set(law.quantities)) == len(law.quantities)
    zeros = [0.0] * len(law.quantities)
    values = {k: np.asarray(v) for k, v in own(law, ROCK).items()}
    assert len(law.flux(zeros, [1.0, 0.0, 0.0])) == len(law.potential(zeros)) == law.channels
    gradient = [[0.0] * law.channels] * 3
    assert len(law.rate([0.0] * law.channels, gradient, law.constants(values))) == len(law.quantities)
    assert law.face_channels in (law.channels, law.channels - 1)
    mechanical = {"free-surface", "absorbing", "rigid", "symmetry"}
    assert (mechanical if "force" in law.point_sources else {"pec", "pmc", "absorbing"}) <= set(law.boundaries)
    rates = law.rates(values)
    assert len(law.reaction(zeros, rates or [0.0])) == len(law.quantities)


def test_maxwell_jacobians_are_those_of_the_sheet() -> None:
    """A_d[E_i, H_k] = -eps_idk / permittivity, A_d[H_i, E_k] = eps_idk / permeability."""
    law: Any = laws.law("maxwell")
    values = own(law, NEAR_ONE)
    levi = np.zeros((3, 3, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        levi[i, j, k], levi[i, k, j] = 1.0, -1.0
    found = jacobians(law, values).matrices
    for d in range(3):
        want = np.zeros((6, 6))
        want[:3, 3:], want[3:, :3] = -levi[:, d] / values["permittivity"], levi[:, d] / values["permeability"]
        np.testing.assert_allclose(found[d], want, rtol=1e-15)


def test_matched_layer_is_the_stretched_medium() -> None:
    """Its reaction, Laplace transformed with every memory at rest, is i w s_y s_z / s_x - i w (and cyclic)."""
    law: Any = laws.law("maxwell")
    base = {k: np.array([v]) for k, v in own(law, FAST).items()}
    for damping, shift in (
        ((0.7, 0.0, 0.0), 0.3),
        ((0.7, 1.1, 0.0), 0.0),
        ((0.7, 1.1, 0.4), 0.0),
        ((0.0, 0.0, 0.9), 0.2),
    ):
        values = base | {n: np.array([v]) for n, v in zip(LAYER, (*damping, shift), strict=True)}
        layer = law.adapted(values)
        assert layer.quantities[:6] == law.quantities and len(layer.quantities) == 12 and layer.visible == 6
        rates = [float(r[0]) for r in layer.rates(values)]
        matrix = np.array([layer.reaction(list(e), rates) for e in np.eye(12)]).T
        iw = 1.3j
        s = 1 + np.array(damping) / (shift + iw)
        for i in range(6):
            j, k = (i % 3 + 1) % 3, (i % 3 + 2) % 3
            memory = matrix[6 + i, i] / (iw - matrix[6 + i, 6 + i])  # of a unit field
            found = iw - matrix[i, i] - matrix[i, 6 + i] * memory
            assert found == pytest.approx(iw * s[j] * s[k] / s[i % 3], rel=1e-12)
            assert np.count_nonzero(np.delete(matrix[i], [i, 6 + i])) == 0
        assert float(layer.stiffness(values)[0]) == pytest.approx(shift + sum(damping))


def test_conductivity_takes_the_electric_field_only_where_there_is_some() -> None:
    law: Any = laws.law("maxwell")
    values = {k: np.array([v]) for k, v in own(law, NEAR_ONE).items()}
    lossy = law.adapted(values)
    rates = lossy.rates(values)
    change = lossy.reaction([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [float(r[0]) for r in rates])
    np.testing.assert_allclose(change, [-0.2, -0.4, -0.6, 0, 0, 0])  # sigma / eps = 0.2
    assert law.adapted(values | {"conductivity": np.zeros(1)}).rates(values) == ()


def test_elastic_jacobians() -> None:
    """Entry by entry as in docs/theory/formulation.md, "Laws as flux and potential"; y and z by cyclic renaming."""
    law: Any = laws.law("elastic")
    lam, mu, r = ROCK["lambda"], ROCK["mu"], ROCK["rho"]
    q = law.quantities.index
    found = jacobians(law, ROCK).matrices
    axes = "xyz"
    for d, x in enumerate(axes):
        want = np.zeros((9, 9))
        for i, name in enumerate(("s_xx", "s_yy", "s_zz")):
            want[q(name), 6 + d] = -(lam + 2 * mu) if i == d else -lam
        want[6 + d, q(f"s_{x}{x}")] = -1 / r
        for i, y in enumerate(axes):
            if i != d:
                shear = next(s for s in ("s_xy", "s_yz", "s_xz") if x in s and y in s)
                want[q(shear), 6 + i] = -mu
                want[6 + i, q(shear)] = -1 / r
        np.testing.assert_allclose(found[d], want, rtol=1e-15)
        assert np.count_nonzero(found[d]) == 8


def test_acoustic_jacobians() -> None:
    found = jacobians(laws.law("acoustic"), own(laws.law("acoustic"), FLUID)).matrices
    for d in range(3):
        want = np.zeros((4, 4))
        want[0, 1 + d], want[1 + d, 0] = -FLUID["lambda"], -1 / FLUID["rho"]
        np.testing.assert_allclose(found[d], want, rtol=1e-15)


@pytest.mark.parametrize("values", (ROCK, SOFT, NEGATIVE, FLUID))
def test_elastic_speeds(values: dict[str, float]) -> None:
    law: Any = laws.law("elastic")
    cp = np.sqrt((values["lambda"] + 2 * values["mu"]) / values["rho"])
    cs = np.sqrt(values["mu"] / values["rho"])
    assert float(law.speed({k: np.asarray(v) for k, v in values.items()})) == pytest.approx(cp, rel=1e-14)
    for seed in range(4):
        found = np.linalg.eigvals(along(law, values, unit(seed)))
        # A fluid in the elastic law has velocities driven by shear stress: a defective zero eigenvalue, good to a root.
        loose = cp * (1e-6 if values is FLUID else 1e-12)
        np.testing.assert_allclose(np.sort(found.real), [-cp, -cs, -cs, 0, 0, 0, cs, cs, cp], atol=loose)
        assert np.abs(found.imag).max() <= loose


@LAWS
@pytest.mark.parametrize("values", (NEAR_ONE, FAST))
def test_hyperbolic_in_every_direction(law: Any, values: dict[str, float]) -> None:
    """Real speeds, in pairs, at most the bound the time step uses, and a full set of eigenvectors."""
    bound = float(law.speed({k: np.asarray(v) for k, v in own(law, values).items()}))
    for seed in range(6):
        a = along(law, values, unit(seed))
        speeds, vectors = np.linalg.eig(a)
        assert np.abs(speeds.imag).max() < 1e-9 * bound
        np.testing.assert_allclose(np.sort(speeds.real), -np.sort(speeds.real)[::-1], atol=1e-9 * bound)
        assert np.abs(speeds).max() <= bound * (1 + 1e-12)
        assert law.directional or np.abs(speeds).max() == pytest.approx(bound, rel=1e-12)
        assert np.linalg.cond(vectors) < 1e4


@LAWS
@given(seed=st.integers(0, 2**32 - 1), a=st.floats(-5, 5), b=st.floats(-5, 5))
def test_rate_flux_and_potential_are_linear(law: Any, seed: int, a: float, b: float) -> None:
    rng = np.random.default_rng(seed)
    m, size = law.channels, len(law.quantities)
    material = law.constants({k: np.asarray(v) for k, v in own(law, NEGATIVE).items()})
    x, y = rng.normal(size=(2, 4 * m))
    p, q, n, k = rng.normal(size=size), rng.normal(size=size), rng.normal(size=3), rng.normal(size=3)

    def rate(v: np.ndarray) -> np.ndarray:
        return np.array(law.rate(list(v[:m]), [list(v[m + m * d : 2 * m + m * d]) for d in range(3)], material))

    np.testing.assert_allclose(rate(a * x + b * y), a * rate(x) + b * rate(y), atol=1e-11)
    np.testing.assert_allclose(
        law.flux(a * p + b * q, n), a * np.array(law.flux(p, n)) + b * np.array(law.flux(q, n)), atol=1e-11
    )
    np.testing.assert_allclose(
        law.flux(q, a * n + b * k), a * np.array(law.flux(q, n)) + b * np.array(law.flux(q, k)), atol=1e-11
    )
    np.testing.assert_allclose(
        law.potential(a * p + b * q), a * np.array(law.potential(p)) + b * np.array(law.potential(q)), atol=1e-11
    )


@LAWS
@pytest.mark.parametrize("seed", range(3))
def test_impedance_is_symmetric_positive_and_links_outgoing_waves(law: Any, seed: int) -> None:
    """On eigenvectors of waves leaving along n, T = -Z v; on those coming in, T = Z v."""
    values = own(law, NEAR_ONE)
    n = unit(seed)
    z = law.impedance_at({k: np.asarray(v) for k, v in values.items()}, n)
    size = law.channels
    matrix = np.array([law.apply_impedance(z, n, list(e)) for e in np.eye(size)]).T
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-14)
    assert np.linalg.eigvalsh(matrix).min() > 0
    speeds, vectors = np.linalg.eig(along(law, values, n))
    seen = 0
    for c, v in zip(speeds.real, vectors.T.real, strict=True):
        if abs(c) > 1e-6:
            traction, flow = (np.array(x) for x in law.sides(law.flux(v, n), law.potential(v)))
            np.testing.assert_allclose(traction, -np.sign(c) * matrix @ flow, atol=1e-10)
            seen += 1
    assert seen == 2 * law.face_channels


@LAWS
@pytest.mark.parametrize("values", (NEAR_ONE, FAST))
def test_energy_is_positive_and_symmetrises_the_equations(law: Any, values: dict[str, float]) -> None:
    """E = q H q / 2 with H > 0 and H A symmetric: no waves without energy, none that gain any."""
    values = own(law, values)
    size = len(law.quantities)

    def energy(q: np.ndarray) -> float:
        found = law.energies(list(q), values)
        return sum(float(v) for k, v in found.items() if k.endswith("energy"))

    unitary = np.eye(size)
    single = [energy(e) for e in unitary]
    hessian = np.array(
        [
            [energy(a + b) - x - y for b, y in zip(unitary, single, strict=True)]
            for a, x in zip(unitary, single, strict=True)
        ]
    )
    np.testing.assert_allclose(np.diag(hessian), 2 * np.array(single), rtol=1e-12)
    assert np.linalg.eigvalsh(hessian / np.sqrt(np.outer(np.diag(hessian), np.diag(hessian)))).min() > 0
    for a in jacobians(law, values).matrices:
        product = hessian @ a
        np.testing.assert_allclose(product, product.T, atol=1e-12 * np.abs(product).max())


def test_energies_of_fluid_cells_of_the_elastic_law() -> None:
    """Counted as acoustic and equal to those of the acoustic law, with the pressure the mean of the stresses."""
    elastic: Any = laws.law("elastic")
    acoustic: Any = laws.law("acoustic")
    rng = np.random.default_rng(0)
    sigma, v = rng.normal(size=(4, 2)), rng.normal(size=(4, 2, 3))
    q = np.concatenate([np.repeat(sigma[..., None], 3, -1), np.zeros((4, 2, 3)), v], -1)
    values = {k: np.full((4, 1), x) for k, x in FLUID.items()}
    mine = elastic.energies(np.moveaxis(q, -1, 0), values)
    theirs = acoustic.energies([sigma, *np.moveaxis(v, -1, 0)], values)
    for name, want in theirs.items():
        np.testing.assert_allclose(mine[name], want, rtol=1e-14)
    assert not mine["elastic_energy"].any() and not mine["elastic_kinetic_energy"].any()


def test_elastic_energy_by_hand() -> None:
    """Uniaxial strain e: s_xx = (l + 2m) e, s_yy = s_zz = l e, energy (l + 2m) e^2/2; pure shear: s^2/(2m)."""
    law: Any = laws.law("elastic")
    lam, mu, rho = ROCK["lambda"], ROCK["mu"], ROCK["rho"]
    e, s = 1e-4, 5e6
    q = np.zeros((1, 3, 9))
    q[0, 0, :3] = (lam + 2 * mu) * e, lam * e, lam * e
    q[0, 1, 4] = s
    q[0, 2, 6:] = 3.0, 4.0, 0.0
    found = law.energies(np.moveaxis(q, -1, 0), {k: np.array([[v]]) for k, v in ROCK.items()})
    np.testing.assert_allclose(
        found["elastic_energy"][0], [(lam + 2 * mu) * e**2 / 2, s**2 / (2 * mu), 0.0], rtol=1e-12
    )
    np.testing.assert_allclose(found["elastic_kinetic_energy"][0], [0, 0, 12.5 * rho])
    np.testing.assert_allclose([found[f"momentum{a}"][0, 2] for a in "XYZ"], [3 * rho, 4 * rho, 0])


@LAWS
def test_sources(law: Any) -> None:
    """A force accelerates by f/rho; a moment tensor takes its stress away."""
    values = own(law, ROCK)
    moment, force = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), np.array([7.0, 8.0, 9.0])
    found = law.source(moment, force, values)
    if law.point_sources == ("current",):
        np.testing.assert_allclose(found, [*(-force / values["permittivity"]), 0, 0, 0])
        return
    if law.name == "poroelastic":  # rock and fluid together
        gained = law.energies(list(found), values)
        np.testing.assert_allclose([gained[f"momentum{x}"] for x in "XYZ"], force)
        np.testing.assert_allclose([*found[:6], found[9]], [*-moment, 0.0])
        return
    np.testing.assert_allclose(found[-3:], force / ROCK["rho"])
    np.testing.assert_allclose(found[:-3], -moment if law.channels == 3 else [-2.0])
