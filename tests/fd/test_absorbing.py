"""Profiles of absorbing sides against their published formulas, and what is told of waves that layers are too thin for."""

import math

import numpy as np
import pytest

from faultwave.case.load import load_case
from faultwave.fd.checks.accuracy import largest_reflection
from faultwave.fd.method import absorbing
from faultwave.fd.planning.plan import make_plan
from faultwave.run.planned import check

DEPTH = np.array([0.0, 0.25, 0.5, 1.0])
THICKNESS, SPEED, FREQUENCY, STEP = 1000.0, 4000.0, 2.0, 1e-3


def damping(x):
    """Collino & Tsogka (2001), eq. 39, N = 2: d = d0 x^2, d0 = -(N + 1) c ln(R) / (2 L), R = 1e-5."""
    return -3.0 * SPEED * math.log(1e-5) / (2.0 * THICKNESS) * x**2


def test_matched_layers_follow_komatitsch_and_martin():
    """Geophysics 72 (2007), eqs 22 to 25: b = exp(-(d + alpha) dt), a = d/(d + alpha) (b - 1), alpha from pi f at the inner edge to 0."""
    b, a = absorbing.cpml(DEPTH, THICKNESS, SPEED, FREQUENCY, STEP)
    assert (b[0], a[0]) == (0.0, 0.0)
    for k, x in enumerate(DEPTH[1:], 1):
        alpha = math.pi * FREQUENCY * (1.0 - x)
        assert b[k] == pytest.approx(math.exp(-(damping(x) + alpha) * STEP), rel=1e-12)
        assert a[k] == pytest.approx(damping(x) / (damping(x) + alpha) * (b[k] - 1.0), rel=1e-12)
    assert b[1:] == pytest.approx([0.991011, 0.979796, 0.933254], rel=1e-6)
    assert a[1:] == pytest.approx([-0.00429791, -0.0170943, -0.0667457], rel=1e-5)


def test_damping_along_a_layer_is_a_share_of_that_across_it():
    share = 0.02
    factor = absorbing.along(DEPTH, THICKNESS, SPEED, share, STEP)
    assert factor == pytest.approx(np.exp(-share * damping(DEPTH) * STEP), rel=1e-12)
    assert factor[-1] == pytest.approx(0.998619, rel=1e-6)


def test_sponges_follow_cerjan():
    """Geophysics 50 (1985): exp(-(a n)^2) at n points into the sponge; 0.015 and 20 points leave 0.914."""
    strength = math.exp(-((0.015 * 20) ** 2))
    assert strength == pytest.approx(0.914, abs=1e-3)
    n = np.array([0, 1, 5, 10, 20])
    assert absorbing.sponge(n / 20, 20, strength) == pytest.approx(np.exp(-((0.015 * n) ** 2)), rel=1e-12)


def test_depths_are_those_of_centres_and_half_points():
    centres, halves = (absorbing.depths(20, 4, True, True, half) for half in (False, True))
    assert centres[[0, 3, 4, 15, 16, 19]] == pytest.approx([0.875, 0.125, 0, 0, 0.125, 0.875])
    assert halves[[0, 2, 3, 15, 16, 19]] == pytest.approx([0.75, 0.25, 0, 0, 0.25, 1.0])
    assert not absorbing.depths(20, 4, False, False, True).any()


def half_space(width=None, spacing=750, more=0.0):
    """SPECFEM3D's layered half-space: a force 25 km down, receivers 31 and 2.4 km away."""
    material = {n: f"if (z > -3000) {{ return {a}; }} return {b};" for n, a, b in
                (("rho", 2300, 3200), ("vp", 2800, 7500), ("vs", 1500, 4300))}  # fmt: skip
    lower, upper = [-35250.0 - more, -6000.0 - more, -31500.0 - more], [5250.0 + more, 6000.0 + more, 0.0]
    grid = {"lower": lower, "upper": upper, "spacing": spacing, "absorbing": {} if width is None else {"width": width}}
    ricker = {"kind": "ricker", "frequency": 0.4}
    return {
        "engine": "fd", "end_time": 21.0, "grid": grid, "material": {"expression": material},
        "sources": [{"kind": "force", "location": [0, 0, -25050], "force": [0, 0, -1e15], "time_function": ricker}],
        "output": {"receivers": {"points": [[-31107.0, 0, 0], [-2393.0, 0, 0]], "interval": 0.1}},
    }  # fmt: skip


def warned(made):
    settings, problems = load_case(made)
    assert not problems.errors
    return [p for p in check(settings).warnings if p.where == "grid.absorbing"]


@pytest.mark.parametrize(("width", "measured"), [(5, 0.16), (10, 0.068)])
def test_thin_layers_are_told_with_the_error_they_make(width, measured):
    """``measured`` against propagator matrices."""
    (told,) = warned(half_space(width))
    error = 0.01 * float(told.what.split("about ")[1].split(" %")[0])
    assert 0.7 * measured < error < 1.3 * measured
    assert "allowed: 3 % or less" in str(told) and f"from {width} to 14 points" in str(told)


def test_layers_of_blocks_have_ten_points_of_the_coarsest_spacing():
    """By default, which makes 30 points of the fine block; that errs by 6 to 9 % here, against propagator matrices."""
    made = half_space(spacing=250)
    made["grid"]["blocks"] = [{"below": 4500, "spacing": 750}]
    plan = make_plan(load_case(made)[0])
    blocks = [plan, *plan.below]
    assert [(b.scheme.absorber.width, b.scheme.grid.spacing) for b in blocks] == [(30, 250.0), (10, 750.0)]
    fine, coarse = (b.scheme.grid.shape for b in blocks)
    assert fine == (18, 48 + 2 * 30, 162 + 2 * 30) and coarse == (36 + 10, 16 + 2 * 10, 54 + 2 * 10)
    (problem,) = [p for p in plan.warnings if p.where == "grid.absorbing"]
    assert 0.05 < 0.01 * float(problem.what.split("about ")[1].split(" %")[0]) < 0.1
    assert "allowed: 3 % or less" in str(problem) and "from 10 to 14 points" in str(problem)


def test_layers_that_are_thick_or_far_enough_are_not_told():
    assert not warned(half_space(14))
    assert not warned(half_space(more=3000.0))


def test_only_receivers_far_from_the_source_beside_the_side_hear_it():
    sources, sides = np.zeros((1, 3)), {"x-": -2000.0}
    near, far = (largest_reflection(sources, np.array([[0.0, y, 0.0]]), sides, 500.0, 1e4) for y in (100.0, 2e4))
    assert near.error < 0.03 * far.error < 0.03
    assert far.side == "x-" and far.path == 2500.0
