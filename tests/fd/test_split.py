"""Split nodes: differences beside the plane, energy of waves and friction, backends, and what a fault that does not slip is."""

import dataclasses

import numpy as np
import pytest

from faultwave import backends
from faultwave.fd import fault
from faultwave.fd.method import split_nodes
from faultwave.fd.method.grid import SIDES
from faultwave.fd.method.program import fields
from faultwave.fd.method.split_nodes import FaultPlane, high
from faultwave.fd.method.stencils import NORMAL, SHEAR, VELOCITY
from faultwave.fd.operators.points import norm_weights
from faultwave.physics.friction import law

from .setups import LAM, MU, RHO, runner, scheme

SHAPE = (20, 24, 40)
GIVEN = {"mu_s": 0.6, "mu_d": 0.2, "d_c": 0.1, "cohesion": 0.0, "forced_rupture_time": 1e9, "friction": 0.6}
REST = {"stress_n": -1e6, "stress1": 0.62e6, "stress2": 0.05e6}
CONSTANTS = {"forced_rupture_ramp": 0.0, "healing_threshold": -1.0}


def plane(axis):
    return FaultPlane(axis, 12 if axis == "y" else 20, (5, 6), (21, 18))


def of(axis):
    made = scheme(SHAPE, dict.fromkeys(SIDES, "rigid") | {"z+": "free-surface"}, courant=0.47)
    return dataclasses.replace(made, fault=plane(axis))


def sliding(axis, sign=1.0):
    return fault.Sliding(plane(axis), law("linear-slip-weakening"), CONSTANTS, sign)


def array(name, axis):
    """The array of a quantity, parameters of the law among them."""
    given = name in law("linear-slip-weakening").kernel_parameters
    return fault.array_at(fault.parameter(name) if given else name, axis)


def names(s):
    return (*fields(False), *(high(n) for n in s.fault.doubled))


def made(axis, backend="cpu", precision="double", slips=True, seed=1, **given):
    """A box of random motion with a fault, which may slip but for the nodes around it."""
    s = of(axis)
    r = runner(s, backend, precision, observers=[fault.observer(s, sliding(axis), s.grid.box)])
    for a in s.fault.sliding:
        for name, value in (GIVEN | REST | given).items():
            r.view(array(name, a))[...] = value
        where = (slice(3, None), slice(None), slice(3, -3)) if axis == "y" else (slice(3, None), slice(3, -3))
        r.view(fault.array_at(fault.SLIPS, a))[where] = float(slips)
    numbers = np.random.default_rng(seed)
    for name in VELOCITY:
        planes = SHAPE[0] + (name != "w")
        r.view(name, 2)[2 : 2 + planes, 2:-2, 2:-2] = 0.01 * numbers.normal(size=(planes, *SHAPE[1:]))
    at = slice(s.fault.index, s.fault.index + 5)
    for name in s.fault.sliding.values():
        r.view(high(name), 2)[...] = r.view(name, 2)[:, at] if axis == "y" else r.view(name, 2)[:, :, at]
    return s, r


def taken(s, r):
    return {n: np.array(r.view(n, 2)[2 : SHAPE[0] + 3, 2:-2, 2:-2]) for n in names(s)}


def step(r, count=1):
    r.run(count, np.zeros((len(r.program.levels), count, 1)))


def energy(s, before, now):
    """Of velocities ``now`` and the stresses half a step before and after: what leapfrog keeps."""
    p, total = s.fault, 0.0

    def weight(name, upper):
        z = np.array([float(norm_weights(s, name, k)) for k in range(SHAPE[0] + 1)])[:, None, None]
        if name in ("w", "sxz", "syz"):
            z[-1] = 0.0
        shares = split_nodes.shares(p, name, SHAPE["zyx".index(p.axis)])
        return z * (split_nodes.upper_side_norm(p, name) if upper else shares)

    for upper in (False, True):

        def get(found, name, upper=upper):
            if upper and name in p.doubled:
                return found[high(name)]
            at = slice(p.index, p.index + 1) if upper else slice(None)
            return found[name][:, at] if p.axis == "y" else found[name][:, :, at]

        for name in VELOCITY:
            total += 0.5 * RHO * (weight(name, upper) * get(now, name) ** 2).sum()
        a, b = ([get(found, name) for name in NORMAL] for found in (before, now))
        square = sum(x * y for x, y in zip(a, b, strict=True)) - LAM / (3 * LAM + 2 * MU) * sum(a) * sum(b)
        total += (weight("szz", upper) * square).sum() / (4 * MU)
        for name in SHEAR:
            total += (weight(name, upper) * get(before, name) * get(now, name)).sum() / (2 * MU)
    return total * s.grid.spacing**3


def work(s, r):
    """Done against the change of traction."""
    total = 0.0
    for axis, velocity in s.fault.sliding.items():
        planes = np.arange(s.fault.box.lo[0], s.fault.box.hi[0])
        shares = np.where((axis == "z") & (planes == SHAPE[0]), 0.0, norm_weights(s, velocity, planes))
        total += float((shares[:, None, None] * r.view(fault.array_at("work", axis))).sum())
    return total * s.grid.spacing**2


def test_differences_fit_each_other_by_parts():
    count, p = 30, FaultPlane("y", 14, (0, 0), (1, 1))
    lines = split_nodes.lines(p, count)
    up, down = np.zeros((count, count)), np.zeros((count, count))
    for n in range(4):
        for row in range(3, count - 3):
            up[row, row - 1 + n] += lines[f"split_forward{n}"][row]
            down[row, row - 2 + n] += lines[f"split_backward{n}"][row]
    inner, norm = slice(8, 20), np.ones(count)
    for row, weight in split_nodes.WEIGHTS.items():
        norm[14 + row] = weight
    np.testing.assert_allclose((norm[:, None] * down + up.T)[inner, inner], 0, atol=1e-15)
    x = np.arange(count)
    np.testing.assert_allclose((up @ x)[inner], 1, atol=1e-14)
    np.testing.assert_allclose((down @ (x + 0.5))[inner], 1, atol=1e-14)


@pytest.mark.parametrize("axis", "xy")
@pytest.mark.parametrize("slips", [False, True])
def test_energy_is_kept_without_friction(axis, slips):
    s, r = made(axis, slips=slips, friction=0.0, mu_s=0.0, mu_d=0.0, stress1=0.0, stress2=0.0)
    found = []
    for count in (1, 100, 200):
        step(r, count)
        before = taken(s, r)
        step(r)
        found.append(energy(s, before, taken(s, r)))
    np.testing.assert_allclose(found, found[0], rtol=1e-13)


@pytest.mark.parametrize("axis", "xy")
def test_friction_takes_what_waves_lose(axis):
    s, r = made(axis)
    found = []
    for count in (1, 50, 100):
        step(r, count)
        before = taken(s, r)
        step(r)
        found.append((energy(s, before, taken(s, r)), work(s, r)))
    slip = r.view(fault.array_at("accumulated_slip", "z"))
    assert slip.max() > 0 and abs(found[2][1] - found[0][1]) > 1e-3 * found[0][0]
    np.testing.assert_allclose([e + w for e, w in found], sum(found[0]), rtol=1e-12)


@pytest.mark.parametrize("axis", "xy")
@pytest.mark.parametrize("backend", ["cpu", "opencl"])
def test_backends_agree(axis, backend):
    lacking = backends.missing(backend)
    if lacking:
        pytest.skip(lacking)
    (s, one), (_, other) = made(axis, "numpy"), made(axis, backend)
    for r in (one, other):
        step(r, 12)
    for name in (*names(s), *(fault.array_at(n, "z") for n in ("slip1", "slip2", "friction", "work", "ruptured"))):
        a, b = np.array(one.view(name)), np.array(other.view(name))
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-11 * max(np.abs(a).max(), 1e-30), err_msg=name)


def test_sides_exchange_their_names():
    """The plus side is a matter of names: with the other one traction at rest acts the other way."""
    found = []
    for sign in (1.0, -1.0):
        s = of("y")
        r = runner(s, "cpu", "double", observers=[fault.observer(s, sliding("y", sign), s.grid.box)])
        for a in s.fault.sliding:
            rest = REST | {"stress1": sign * 0.8e6, "stress2": sign * 0.1e6}
            for name, value in (GIVEN | rest).items():
                r.view(array(name, a))[...] = value
            r.view(fault.array_at(fault.SLIPS, a))[3:, :, 3:-3] = 1.0
        step(r, 30)
        found.append((taken(s, r), np.array(r.view(fault.array_at("slip1", "x")))))
    (a, slip), (b, other) = found
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)
    np.testing.assert_array_equal(slip, -other)
    assert slip.max() > 0
