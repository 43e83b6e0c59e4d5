"""Sources and receivers beside the free surface, and the surface itself: a mirror that loses nothing."""

import numpy as np
import pytest

from faultwave.fd.method.differences import WHOLE
from faultwave.fd.method.effective_medium import Medium
from faultwave.fd.method.grid import HALF
from faultwave.fd.method.stencils import SHEAR, STRESS, VELOCITY
from faultwave.fd.operators.operator import Machine, Operator
from faultwave.fd.operators.points import ACROSS, MARGIN, RECORDED, interpolation_stencils, norm_weights
from faultwave.run import simulate

from .setups import LAM, MU, RHO, VP, VS, runner, scheme

DEPTHS = np.array([0.0, 5.0, 30.0, 70.0, 140.0, 250.0, 777.0])


def polynomial(place, power):
    """x^a y^b z^c (n,) of places (n, 3), lengths in units of 100 m, z from the surface."""
    return np.prod((np.asarray(place) / 100.0) ** np.array(power), axis=-1)


def places_of(of, name, points):
    """Where points (..., 3) of a quantity lie (x, y, z); those above the last plane on the surface."""
    places = of.grid.place(points, HALF[name])
    places[..., 2] = np.minimum(places[..., 2], of.grid.upper[2])
    return places - [0, 0, of.grid.upper[2]]


@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.parametrize("power", [(0, 0, 0), (1, 2, 0), (3, 1, 2), (2, 3, 3), (0, 1, 1)])
def test_cubic_polynomials_are_read_exactly_at_any_depth(name, power):
    """Shear across the surface is that of one that is zero there."""
    of = scheme((12, 14, 13))
    if name in ACROSS:
        power = (power[0], power[1], max(1, power[2]))
    points = np.stack([np.linspace(560.0, 690.0, 7), np.linspace(580.0, 655.0, 7), of.grid.upper[2] - DEPTHS], 1)
    s = interpolation_stencils(of, name, points)
    assert (s.points >= 0).all() and (s.points < np.array(of.filled(of.grid.box).hi)).all()
    values = polynomial(places_of(of, name, s.points), power)
    found = np.concatenate([(s.value * values).sum(1)[:, None], (s.slope * values[:, None]).sum(2)], 1)
    below = points - [0, 0, of.grid.upper[2]]
    expected = [polynomial(below, power)]
    for k in range(3):
        lower = np.array(power) - np.eye(3, dtype=int)[k]
        expected.append(power[k] * polynomial(below, np.maximum(lower, 0)) / 100.0)
    assert found == pytest.approx(np.stack(expected, 1), abs=1e-9 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("name", [n for n in RECORDED if n not in WHOLE])
def test_what_lives_on_the_surface_is_read_there_as_it_is(name):
    of = scheme((12, 14, 13))
    s = interpolation_stencils(of, name, np.array([[620.0, 580.0, of.grid.upper[2]]]))
    assert (np.abs(s.value[s.points[..., 0] != 12]) < 1e-14).all() and s.value.sum() == pytest.approx(1.0)


def test_what_shears_across_the_surface_pushes_nothing_on_it():
    """Not even by what the grid has there; a quarter of a spacing down that counts as anything else."""
    of = scheme((12, 14, 13))
    for name in ACROSS:
        places = np.array([[620.0, 580.0, of.grid.upper[2] - depth] for depth in (0.0, 20.0, 25.0, 30.0)])
        s = interpolation_stencils(of, name, places)
        on = np.where(s.points[..., 0] == of.grid.shape[0] - 1, s.value, 0.0).sum(1)
        plain = [(1 - d) * (2 - d) * (3 - d) / 6 for d in (0.0, 0.2, 0.25, 0.3)]
        assert on == pytest.approx(np.array(plain) - [1.0, 0.2, 0.0, 0.0], abs=1e-12)
        assert np.abs(s.value[0]).max() < 1e-12 < np.abs(s.value[1]).max()


def weights(of, name):
    """Of all planes of a quantity, that on the surface included."""
    return norm_weights(of, name, np.arange(of.grid.shape[0] + (name not in WHOLE)))[:, None, None]


def planes_of(made, name):
    """All points of a quantity."""
    return made.view(name, 1)[1 : -1 if name in WHOLE else None, 1:-1, 1:-1]


def rough(made, rng):
    """Fields of random numbers, which are kept in the grid, too."""
    fields = {}
    for name in (*VELOCITY, *STRESS):
        view = planes_of(made, name)
        view[...] = rng.normal(size=view.shape) * (1.0 if name in VELOCITY else 1.6e7)
        fields[name] = np.array(view)
    return fields


def product(of, fields, others):
    """Twice the energy that two states have in common: the weights in which the grid, free surface included, is its own mirror."""
    total = 0.0
    for name in VELOCITY:
        total += RHO * (weights(of, name) * fields[name] * others[name]).sum()
    trace = [sum(f[n] for n in ("sxx", "syy", "szz")) for f in (fields, others)]
    for n in ("sxx", "syy", "szz"):
        total += (weights(of, n) * fields[n] * (others[n] - LAM / (3 * LAM + 2 * MU) * trace[1])).sum() / (2 * MU)
    for name in ("sxy", "sxz", "syz"):
        total += (weights(of, name) * fields[name] * others[name]).sum() / MU
    return total


def test_a_box_with_a_free_surface_keeps_its_energy():
    """What leapfrog keeps: stresses now, velocities half a step before times those half a step after. Rough fields, to rounding."""
    sides = dict.fromkeys(("x-", "x+", "y-", "y+"), "periodic") | {"z-": "rigid"}
    of, rng = scheme((11, 12, 14), sides), np.random.default_rng(3)
    made, kept = runner(of, "numpy", "double"), []
    rough(made, rng)
    made.run(1, np.zeros((2, 1, 1)))
    for _ in range(60):
        now = {n: np.array(planes_of(made, n)) for n in (*VELOCITY, *STRESS)}
        made.run(1, np.zeros((2, 1, 1)))
        after = {n: np.array(planes_of(made, n)) if n in VELOCITY else now[n] for n in now}
        kept.append(product(of, now, after))
    assert np.ptp(kept) < 1e-12 * kept[0] and kept[0] > 0


def test_energies_that_users_see_are_those_that_the_grid_keeps():
    """Of rough fields, beside a free surface, where not every plane weighs a whole cell."""
    of, rng = scheme((9, 10, 11)), np.random.default_rng(4)
    names = {"lam": LAM, "mu2": 2 * MU, **dict.fromkeys(("mu_xy", "mu_xz", "mu_yz"), MU)}
    names |= dict.fromkeys(("b_x", "b_y", "b_z"), 1 / RHO)
    shape = of.filled(of.grid.box).shape
    medium = Medium({n: np.full(shape, v) for n, v in names.items()}, VP, VS, (0.0, 0.0, 0.0), 0.0, VS)
    made = Operator(of, medium, machine=Machine("numpy", "double"))
    fields = rough(made.runner, rng)
    energies, volume = made.energies(), of.grid.spacing**3
    whole = energies["elastic_energy"] + energies["elastic_kinetic_energy"]
    assert whole == pytest.approx(0.5 * volume * product(of, fields, fields), rel=1e-12)
    for name, axis in VELOCITY.items():
        expected = volume * RHO * (weights(of, name) * fields[name]).sum()
        assert energies[f"momentum{axis.upper()}"] == pytest.approx(expected, rel=1e-10)
    made.runner.view("mu2", 1)[...] = 0.0  # a fluid, whose normal stresses' mean is minus the pressure
    shear = sum((weights(of, n) * fields[n] ** 2).sum() for n in ("sxy", "sxz", "syz")) / (2 * MU)
    pressure = sum(fields[n] for n in ("sxx", "syy", "szz")) / 3
    expected = volume * (shear + (weights(of, "szz") * pressure**2).sum() / (2 * LAM))
    assert made.energies()["elastic_energy"] == pytest.approx(expected, rel=1e-12)


def test_energies_do_not_depend_on_threads_and_blocks_of_rows(monkeypatch):
    """In a grid that is half water, where some planes have both; water has no shear stress."""
    of, rng = scheme((9, 10, 11)), np.random.default_rng(5)
    shape = of.filled(of.grid.box).shape
    rock = np.arange(shape[2]) > 4 + np.arange(shape[0])[:, None, None] % 2
    values = {"lam": LAM, "mu2": 2 * MU * rock, **dict.fromkeys(("mu_xy", "mu_xz", "mu_yz"), MU * rock)}
    values |= dict.fromkeys(("b_x", "b_y", "b_z"), 1 / RHO)
    medium = Medium({n: np.broadcast_to(v, shape).copy() for n, v in values.items()}, VP, VS, (0.0, 0.0, 0.0), 0.0, VS)
    made = Operator(of, medium, machine=Machine("numpy", "double"))
    fields = rough(made.runner, rng)
    whole = made.energies()
    normal = [fields[n] for n in ("sxx", "syy", "szz")]
    square, trace = sum(s**2 for s in normal), sum(normal)
    density = np.where(rock, (square - LAM / (3 * LAM + 2 * MU) * trace**2) / (4 * MU), trace**2 / (18 * LAM))
    shear = sum((weights(of, n) * rock[: len(fields[n])] * fields[n] ** 2).sum() for n in SHEAR) / (2 * MU)
    expected = of.grid.spacing**3 * ((weights(of, "szz") * density).sum() + shear)
    assert whole["elastic_energy"] == pytest.approx(expected, rel=1e-12)
    monkeypatch.setattr("faultwave.fd.operators.energies.POINTS_AT_ONCE", 23)  # two rows
    monkeypatch.setattr(made.runner, "threads", 2, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert made.energies() == whole


@pytest.mark.parametrize("depth", [0.0, 25.0, 120.0])
def test_momentum_is_what_a_force_gave_at_any_depth(depth):
    """In a column of periodic sides below a free surface."""
    force, end, sigma = np.array([3e11, 2e11, -1e12]), 0.16, 0.02
    sim = simulate({
        "engine": "fd", "end_time": end, "material": {"constant": {"rho": 2500, "vp": 3000, "vs": 1700}},
        "grid": {"lower": [0, 0, -2000], "upper": [1200, 1200, 0], "spacing": 100.0,
                 "boundaries": {"x": "periodic", "y": "periodic", "z-": "rigid", "z+": "free-surface"}},
        "numerics": {"precision": "double", "backend": "numpy"},
        "sources": [{"kind": "force", "location": [610, 570, -depth], "force": force.tolist(),
                     "time_function": {"kind": "gaussian", "duration": sigma}}],
    })  # fmt: skip
    sim.solver.operator.advance(sim.plan.steps)
    made, energies = sim.plan.sources[0], sim.energy_now()
    given = float(made.integral(np.array([-1.0]), np.array([end - 0.5 * sim.plan.scheme.step]))[0])
    assert [energies[f"momentum{axis}"] for axis in "XYZ"] == pytest.approx((force * given).tolist(), rel=1e-9)


def test_what_is_read_lies_beside_the_place():
    """Processes hear of what lies so far beyond their border, and of no more."""
    of = scheme((30, 14, 13))
    points = np.stack([np.full(9, 620.0), np.full(9, 580.0), np.linspace(0.0, of.grid.upper[2], 9)], 1)
    for name in RECORDED:
        far = interpolation_stencils(of, name, points).points[..., 0] - np.floor(points[:, 2:] / of.grid.spacing)
        assert np.abs(far).max() <= MARGIN[4]


def test_a_sample_of_now_is_what_receivers_see():
    points = [[610.0, 570.0, 0.0], [333.0, 444.0, -555.0]]
    sim = simulate({
        "engine": "fd", "end_time": 0.2, "material": {"constant": {"rho": 2500, "vp": 3000, "vs": 1700}},
        "grid": {"lower": [0, 0, -1200], "upper": [1200, 1200, 0], "spacing": 100.0, "absorbing": {"width": 4}},
        "numerics": {"precision": "double"},
        "sources": [{"kind": "force", "location": [610, 570, -300], "force": [1e9, 2e9, 3e9],
                     "time_function": {"kind": "gaussian", "duration": 0.03}}],
        "output": {"receivers": {"points": points, "interval": 0.1}},
    })  # fmt: skip
    (seen,) = sim.solver.operator.advance(sim.plan.steps)
    found = sim.sample([*points, [0.0, 0.0, 5e3]])
    assert np.abs(seen[-1, :, 0]).max() > 0
    assert found[:2] == pytest.approx(seen[-1, :, 0], rel=1e-12, abs=1e-12 * np.abs(seen[-1]).max())
    assert np.isnan(found[2]).all()
