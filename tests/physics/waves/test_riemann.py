"""The trace form of the face flux, as the kernels compute it, against the Godunov flux built of eigenvectors
(docs/theory/formulation.md, "Riemann problem at faces").
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from faultwave.physics import waves as laws
from faultwave.physics.waves.law import jacobians

from .pores import porous
from .tensors import skewed

SOLID = {
    "rho": 2.0,
    "mu": 3.0,
    "lambda": 1.5,
    "permittivity": 2.0,
    "permeability": 0.7,
    "conductivity": 0.0,
    "Qp": 80.0,
    "Qs": 40.0,
}
OTHER = {"rho": 1.2, "mu": 0.7, "lambda": 2.5, "permittivity": 0.6, "permeability": 1.3, "conductivity": 0.0}
FLUID = {"rho": 1.0, "mu": 0.0, "lambda": 1.7}
DENSE = {"rho": 1.9, "mu": 0.0, "lambda": 0.6}


def own(law: Any, values: dict[str, float]) -> dict[str, Any]:
    known = values | skewed(values, int(10 * values["mu"])) if law.name == "anisotropic" else values
    known = porous(values) if law.name == "poroelastic" else known
    return {p.name: np.asarray(known[p.name]) for p in law.parameters}


def jacobian(law: Any, values: dict[str, float], n: np.ndarray) -> np.ndarray:
    return np.einsum("d,dij->ij", n, jacobians(law, {k: float(v) for k, v in own(law, values).items()}).matrices)


def trace(law: Any, q: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    flux, potential = np.array(law.flux(q, n)), np.array(law.potential(q))
    if law.face_channels < law.channels:  # only tangential components cross
        flux, potential = flux - n * (n @ flux), potential - n * (n @ potential)
    traction, flow = law.sides(flux, potential)
    return np.array(traction), np.array(flow)


def trace_form(law: Any, left: dict, right: dict, a: np.ndarray, b: np.ndarray, n: np.ndarray) -> np.ndarray:
    """F* . n of the left cell from the outgoing waves of both sides."""
    zl, zr = (law.impedance_at(own(law, side), n) for side in (left, right))
    (t, v), (s, u) = trace(law, a, n), trace(law, b, n)

    def z(z: Any, x: Any) -> np.ndarray:
        return np.array(law.apply_impedance(z, n, list(x)))

    arriving, kept = s + z(zr, u), t + z(zr, v)
    jump = z(law.admittance(zl, zr, 1.0), arriving - kept)
    flow, traction = v + jump, t + z(zl, jump)
    flux, potential = law.sides(traction, flow)
    gradient = [[n[x] * p for p in potential] for x in range(3)]
    return -np.array(law.rate(list(flux), gradient, law.constants(own(law, left))))


def eigen(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    speeds, vectors = np.linalg.eig(a)
    still = np.abs(speeds) < 1e-9  # of many zeros rounding makes complex pairs
    vectors[:, still] = np.linalg.svd(a)[2][len(a) - np.count_nonzero(still) :].T
    return speeds.real, vectors.real


def godunov(law: Any, left: dict, right: dict, a: np.ndarray, b: np.ndarray, n: np.ndarray) -> np.ndarray:
    """A_L q* with q* reached from the left by the waves that move left in L and from the right by those moving right in R,
    where both sides share traction and flow."""
    al, ar = jacobian(law, left, n), jacobian(law, right, n)
    (cl, vl), (cr, vr) = eigen(al), eigen(ar)
    back, forth = vl[:, cl < -1e-9], vr[:, cr > 1e-9]

    def interface(v: np.ndarray) -> np.ndarray:
        return np.concatenate([np.concatenate(trace(law, column, n)) for column in v.T]).reshape(v.shape[1], -1).T

    # q_L + back x and q_R - forth y have the same traction and flow.
    system = np.concatenate([interface(back), interface(forth)], 1)
    jump = np.concatenate(trace(law, b, n)) - np.concatenate(trace(law, a, n))
    x = np.linalg.lstsq(system, jump, rcond=None)[0]
    assert np.linalg.norm(system @ x - jump) < 1e-10 * np.linalg.norm(jump)
    return np.asarray(al @ (a + back @ x[: back.shape[1]]))


def states(law: Any, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    n = rng.normal(size=3)
    return rng.normal(size=len(law.quantities)), rng.normal(size=len(law.quantities)), n / np.linalg.norm(n)


PAIRS = [
    ("elastic", SOLID, SOLID), ("elastic", SOLID, OTHER), ("elastic", OTHER, SOLID),
    ("acoustic", FLUID, FLUID), ("acoustic", FLUID, DENSE), ("acoustic", DENSE, FLUID),
    ("maxwell", SOLID, SOLID), ("maxwell", SOLID, OTHER), ("maxwell", OTHER, SOLID),
    ("anisotropic", SOLID, SOLID), ("anisotropic", SOLID, OTHER), ("anisotropic", OTHER, SOLID),
    ("poroelastic", SOLID, SOLID), ("poroelastic", SOLID, OTHER), ("poroelastic", OTHER, SOLID),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name, left, right", PAIRS)
def test_trace_form_is_the_godunov_flux(name: str, left: dict, right: dict, seed: int) -> None:
    law: Any = laws.law(name)
    a, b, n = states(law, seed)
    np.testing.assert_allclose(trace_form(law, left, right, a, b, n), godunov(law, left, right, a, b, n), atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "name, values",
    [("elastic", SOLID), ("acoustic", DENSE), ("maxwell", OTHER), ("anisotropic", SOLID), ("poroelastic", OTHER)],
)
def test_equal_sides_give_the_upwind_flux(name: str, values: dict, seed: int) -> None:
    """(A + |A|)/2 q_L + (A - |A|)/2 q_R."""
    law: Any = laws.law(name)
    a, b, n = states(law, seed)
    matrix = jacobian(law, values, n)
    speeds, vectors = eigen(matrix)
    absolute = vectors @ np.diag(np.abs(speeds)) @ np.linalg.inv(vectors)
    want = 0.5 * (matrix + absolute) @ a + 0.5 * (matrix - absolute) @ b
    np.testing.assert_allclose(trace_form(law, values, values, a, b, n), want, atol=1e-12)


def fluid_state(seed: int, n: np.ndarray) -> np.ndarray:
    """Of the elastic law: isotropic stress, any velocity."""
    rng = np.random.default_rng(seed + 100)
    return np.concatenate([np.full(3, rng.normal()), np.zeros(3), rng.normal(size=3)])


@pytest.mark.parametrize("seed", range(5))
def test_solid_beside_fluid(seed: int) -> None:
    """Normal traction and velocity continuous, no shear traction; solid side slides."""
    law: Any = laws.law("elastic")
    a, _, n = states(law, seed)
    b = fluid_state(seed, n)
    (t, v), (s, u) = trace(law, a, n), trace(law, b, n)
    zp, zs = (float(z) for z in law.impedance(own(law, SOLID)))
    zf = float(law.impedance(own(law, FLUID))[0])
    normal_flow = ((s + zf * u) @ n - (t - zp * v) @ n) / (zp + zf)
    normal_traction = (t - zp * v) @ n + zp * normal_flow
    tangential = v - (v @ n) * n - (t - (t @ n) * n) / zs
    flow, traction = normal_flow * n + tangential, normal_traction * n
    lam, mu, rho = SOLID["lambda"], SOLID["mu"], SOLID["rho"]
    strain = np.outer(n, flow) + np.outer(flow, n)
    stress = -(lam * (n @ flow) * np.eye(3) + mu * strain)
    want = np.concatenate([stress[[0, 1, 2, 0, 1, 0], [0, 1, 2, 1, 2, 2]], -traction / rho])
    np.testing.assert_allclose(trace_form(law, SOLID, FLUID, a, b, n), want, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_fluid_beside_solid(seed: int) -> None:
    """The fluid feels the normal component only: the acoustic law with the solid's P impedance beside it."""
    law: Any = laws.law("elastic")
    a_solid, _, n = states(law, seed)
    fluid = fluid_state(seed, n)
    found = trace_form(law, FLUID, SOLID, fluid, a_solid, n)
    zf, zp = float(law.impedance(own(law, FLUID))[0]), float(law.impedance(own(law, SOLID))[0])
    (t, v), (s, u) = trace(law, fluid, n), trace(law, a_solid, n)
    flow = ((s + zp * u) @ n - (t - zf * v) @ n) / (zp + zf)
    traction = (t - zf * v) @ n + zf * flow
    pressure = -FLUID["lambda"] * flow
    np.testing.assert_allclose(found[:3], pressure, atol=1e-12)
    np.testing.assert_allclose(found[3:6], 0.0, atol=1e-12)
    np.testing.assert_allclose(found[6:], -traction * n / FLUID["rho"], atol=1e-12)


@pytest.mark.parametrize("law", laws.laws().values(), ids=lambda law: law.name)
@pytest.mark.parametrize("seed", range(3))
def test_boundary_states(law: Any, seed: int) -> None:
    """Waves that come back make T* = 0 at a free surface, v* = 0 at a rigid wall, and so on."""
    q, _, n = states(law, seed)
    values = SOLID if law.channels >= 3 else FLUID
    z = law.impedance_at(own(law, values), n)
    matrix = np.array([law.apply_impedance(z, n, list(e)) for e in np.eye(law.channels)]).T
    t, v = trace(law, q, n)
    w = t - matrix @ v
    for name, state in law.boundaries.items():
        mix = law.mix(state, {k: v[None] for k, v in own(law, values).items()}, n[None])[0]
        arriving = np.array(law.incoming(mix, n, w))
        flow = np.linalg.solve(2 * matrix, arriving - w)
        traction = w + matrix @ flow
        if name in ("free-surface", "pec"):
            np.testing.assert_allclose(traction, 0.0, atol=1e-13)
        elif name in ("rigid", "pmc") or (name == "symmetry" and law.channels == 1):
            np.testing.assert_allclose(flow, 0.0, atol=1e-13)
        elif name == "absorbing":
            np.testing.assert_allclose(traction, w / 2, atol=1e-13)
        elif name == "symmetry":
            assert flow[:3] @ n == pytest.approx(0.0, abs=1e-13)
            np.testing.assert_allclose(traction[:3] - (traction[:3] @ n) * n, 0.0, atol=1e-13)
            np.testing.assert_allclose(flow[3:], 0.0, atol=1e-13)
        elif name == "sealed-surface":
            np.testing.assert_allclose([*traction[:3], flow[3]], 0.0, atol=1e-13)
        else:
            pytest.fail(f"no test of boundary {name}")
        assert traction @ (flow if law.channels == 3 else flow) <= 1e-12  # walls do no work on the cell
