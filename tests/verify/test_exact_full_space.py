"""Point sources in a full space: equations, static and far-field limits, symmetries, independence of quadrature."""

import numpy as np
import pytest

from faultwave.verify.exact import Medium
from faultwave.verify.exact.full_space import FullSpace, tensor
from faultwave.verify.exact.time_functions import brune, gaussian, numerical, ricker
from tests.messages import raises

from .residual import difference, elastic_residual

ROCK = Medium(rho=2.0, lam=3.0, mu=1.5)
MOMENT = tensor(xx=0.3, yy=-1.0, zz=0.4, xy=0.8, yz=-0.2, xz=0.5)
FORCE = (0.3, -1.0, 0.6)
PULSE = gaussian(0.4, 1.5)
SOURCES = [FullSpace(ROCK, PULSE, moment=MOMENT, location=(0.1, 0.2, -0.1)), FullSpace(ROCK, PULSE, force=FORCE)]


def sphere(n=20, low=0.7, high=4.0):
    rng = np.random.default_rng(8)
    x = rng.normal(size=(n, 3))
    return x / np.linalg.norm(x, axis=1)[:, None] * rng.uniform(low, high, (n, 1))


@pytest.mark.parametrize("source", SOURCES, ids=["moment", "force"])
def test_solves_the_equations(source):
    for t in (1.3, 2.2, 4.0):
        assert elastic_residual(source, ROCK, sphere(), t, 8e-3, 8e-3) < 1e-7


@pytest.mark.parametrize("source", SOURCES, ids=["moment", "force"])
def test_velocity_is_the_rate_of_displacement(source):
    times = np.linspace(0.5, 5, 13)
    rate = difference(lambda s: source.displacement(sphere(), times + s), 0.02)
    velocity = source.velocity(sphere(), times)
    np.testing.assert_allclose(rate, velocity, atol=1e-7 * np.abs(velocity).max())


def test_force_on_a_small_sphere_balances_the_source():
    """Net traction through a shrinking sphere plus the force is the momentum rate inside, which vanishes with r^2."""
    source = FullSpace(ROCK, PULSE, force=FORCE)
    theta, w = np.polynomial.legendre.leggauss(12)
    phi = np.arange(24) * 2 * np.pi / 24
    s = np.sqrt(1 - theta**2)
    normal = np.stack(
        [np.outer(s, np.cos(phi)).ravel(), np.outer(s, np.sin(phi)).ravel(), np.repeat(theta, 24)], axis=1
    )
    area = np.repeat(w, 24) * 2 * np.pi / 24
    off = []
    for r in (4e-2, 2e-2):
        sig = source.stress(normal * r, [1.6])[:, 0]
        full = sig[:, [0, 3, 5, 3, 1, 4, 5, 4, 2]].reshape(-1, 3, 3)
        total = r**2 * np.einsum("n,nij,nj->i", area, full, normal) + np.array(FORCE) * PULSE.value(np.array(1.6))
        off.append(np.linalg.norm(total))
    assert off[1] < 2e-3
    assert off[0] / off[1] == pytest.approx(4.0, rel=0.1)


def test_moment_tensor_is_a_dipole_of_forces():
    """u of M_xy = [u of force x at y=-h/2 ... +h/2] / h and its transpose, in the limit."""
    source = FullSpace(ROCK, PULSE, moment=tensor(xy=1.0))
    h, points, times = 2e-3, sphere(8), np.linspace(1, 4, 7)
    stf = numerical(PULSE.integral, 0.4, -5.0)  # the forces of a dipole act with the moment, not its rate
    total = 0.0
    for force, axis in (((1.0, 0, 0), 1), ((0, 1.0, 0), 0)):
        for sign in (1, -1):
            at = tuple(sign * 0.5 * h * np.eye(3)[axis])
            total = total + sign / h * FullSpace(ROCK, stf, force=force, location=at).displacement(points, times)
    u = source.displacement(points, times)
    np.testing.assert_allclose(total, u, atol=2e-5 * np.abs(u).max())


def test_static_limit_is_kelvins_solution():
    source = FullSpace(ROCK, numerical(PULSE.integral, 0.4, -5.0), force=FORCE)
    x = sphere(10)
    r, f = np.linalg.norm(x, axis=1)[:, None], np.array(FORCE)
    nu = ROCK.lam / (2 * (ROCK.lam + ROCK.mu))
    kelvin = ((3 - 4 * nu) * f / r + x * (x @ f)[:, None] / r**3) / (16 * np.pi * ROCK.mu * (1 - nu))
    np.testing.assert_allclose(source.displacement(x, [60.0])[:, 0], kelvin, rtol=1e-9, atol=1e-12)


def test_far_field_radiation():
    """Aki & Richards 4.32: far from a double couple only 1/r terms remain."""
    source = FullSpace(ROCK, PULSE, moment=tensor(xy=1.0))
    direction = np.array([0.6, 0.64, 0.48])
    x = direction * 1e5
    gamma = 2 * direction[0] * direction[1]
    p_time, s_time = 1e5 / ROCK.cp + 1.7, 1e5 / ROCK.cs + 1.7
    p = source.displacement(x, [p_time])[0, 0]
    np.testing.assert_allclose(
        p, direction * gamma * PULSE.value(1.7) / (4 * np.pi * ROCK.rho * ROCK.cp**3 * 1e5), atol=1e-4 * np.abs(p).max()
    )
    s = source.displacement(x, [s_time])[0, 0]
    shear = np.array([direction[1], direction[0], 0.0]) - direction * gamma
    np.testing.assert_allclose(
        s, shear * PULSE.value(1.7) / (4 * np.pi * ROCK.rho * ROCK.cs**3 * 1e5), atol=1e-4 * np.abs(s).max()
    )


def test_explosion_is_radial_and_has_no_shear_wave():
    source = FullSpace(ROCK, PULSE, moment=tensor(xx=1.0, yy=1.0, zz=1.0))
    x = sphere(6, 5.0, 5.0)
    v = source.velocity(x, np.linspace(0, 9, 90))
    transverse = np.cross(v, x[:, None])
    assert np.abs(transverse).max() < 1e-12 * np.abs(v).max()
    after_p = source.velocity(x, [5.0 / ROCK.cs + 1.5])
    assert np.abs(after_p).max() < 1e-4 * np.abs(v).max()
    u = np.einsum("nmi,ni->nm", source.displacement(x, np.linspace(0, 9, 90)), x)
    assert u.max() > 0 and u[:, -1].min() > 0


def test_reciprocity_and_rotation():
    times = np.linspace(1, 5, 9)
    a, b = (0.3, -0.2, 0.5), (2.0, 1.0, -1.0)
    there = FullSpace(ROCK, PULSE, force=(1, 0, 0), location=a).velocity([b], times)[0, :, 2]
    back = FullSpace(ROCK, PULSE, force=(0, 0, 1), location=b).velocity([a], times)[0, :, 0]
    np.testing.assert_allclose(there, back, atol=1e-13)
    q = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))[0]
    turned = tuple(tuple(row) for row in q @ np.array(MOMENT) @ q.T)
    original = FullSpace(ROCK, PULSE, moment=MOMENT).velocity(sphere(5), times)
    rotated = FullSpace(ROCK, PULSE, moment=turned).velocity(sphere(5) @ q.T, times)
    np.testing.assert_allclose(rotated, original @ q.T, atol=1e-13)


@pytest.mark.parametrize("stf", [brune(0.5, 0.2), gaussian(0.3, 1.0), ricker(1.5, 1.0)], ids=range(3))
def test_time_functions_are_consistent(stf):
    t = np.linspace(0.4, 3.0, 27)
    np.testing.assert_allclose(difference(lambda s: stf.integral(t + s), 0.01), stf.value(t), atol=1e-7)
    np.testing.assert_allclose(difference(lambda s: stf.value(t + s), 0.01), stf.derivative(t), atol=1e-6)


def test_numerical_time_function_gives_the_same_seismograms():
    exact = brune(0.5, 0.2)
    sampled = numerical(exact.value, 0.5, 0.2, (0.2,))
    times, x = np.linspace(0.0, 6.0, 40), sphere(4)
    a = FullSpace(ROCK, exact, moment=MOMENT)
    b = FullSpace(ROCK, sampled, moment=MOMENT)
    u = a.displacement(x, times)
    np.testing.assert_allclose(b.displacement(x, times), u, atol=1e-9 * np.abs(u).max())


def test_nothing_moves_before_the_p_wave():
    source = FullSpace(ROCK, brune(0.5, 0.2), moment=MOMENT)
    x = sphere(6, 3.0, 3.0)
    assert np.abs(source(x, 0.2 + 3.0 / ROCK.cp - 1e-6)).max() == 0.0
    assert np.abs(source(x, 0.2 + 3.0 / ROCK.cp + 0.1)).max() > 0.0


def test_wrong_sources_are_refused():
    with raises(ValueError):
        FullSpace(ROCK, PULSE)
    with raises(ValueError):
        FullSpace(ROCK, PULSE, moment=((0, 1, 0), (0, 0, 0), (0, 0, 0)))
    with raises(ValueError):
        tensor(xx=1.0, zy=2.0)
