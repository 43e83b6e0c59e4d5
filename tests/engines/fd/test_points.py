"""Sources beside the free surface."""

import numpy as np
import pytest

from faultwave.engines.fd.points import ACROSS, stencils_at
from faultwave.run import simulate

from .setups import scheme


@pytest.mark.parametrize("name", ACROSS)
def test_shear_across_the_surface_is_odd_about_it(name):
    """Weights of a point below the surface are those of a function that is zero there, and reproduce z (z^2 - c) exactly."""
    of = scheme((12, 14, 13))
    top = of.grid.upper[2]
    depth = np.array([0.0, 5.0, 30.0, 70.0, 140.0, 250.0, 777.0])
    points = np.stack([np.full(7, 620.0), np.full(7, 580.0), top - depth], 1)
    s = stencils_at(of, name, points, False)
    assert s.points[..., 0].max() < of.grid.shape[0]
    assert (s.value[s.points[..., 0] == of.grid.shape[0] - 1] == 0).all()
    below = (of.grid.shape[0] - 1 - s.points[..., 0]) * of.grid.spacing
    for power in (1, 3):
        assert (s.value * below**power).sum(1) == pytest.approx(depth**power, abs=1e-6)
    assert np.abs(s.value[0]).max() == 0


def test_other_stresses_are_not():
    of = scheme((12, 14, 13))
    points = np.array([[620.0, 580.0, of.grid.upper[2] - 20.0]])
    for name in ("sxx", "szz", "sxy"):
        assert stencils_at(of, name, points, False).value.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("depth", [0.0, 25.0, 120.0])
def test_momentum_is_what_a_force_gave_at_any_depth(depth):
    """In a column of periodic sides below a free surface; its image moves no mass above."""
    force, end, sigma = np.array([3e11, 2e11, -1e12]), 0.16, 0.02
    sim = simulate({
        "engine": "fd", "end_time": end, "material": {"constant": {"rho": 2500, "vp": 3000, "vs": 1700}},
        "grid": {"lower": [0, 0, -2000], "upper": [1200, 1200, 0], "spacing": 100.0,
                 "boundaries": {"x": "periodic", "y": "periodic", "z-": "rigid", "z+": "free-surface"}},
        "numerics": {"precision": "double", "backend": "numpy"},
        "sources": [{"kind": "force", "location": [610, 570, -depth], "force": force.tolist(),
                     "time_function": {"kind": "gaussian", "duration": sigma}}],
    })  # fmt: skip
    sim.operator.advance(sim.plan.steps)
    made, energies = sim.plan.sources[0], sim.energy_now()
    given = float(made.integral(np.array([-1.0]), np.array([end - 0.5 * sim.plan.scheme.step]))[0])
    assert [energies[f"momentum{axis}"] for axis in "XYZ"] == pytest.approx((force * given).tolist(), rel=1e-9)
