"""Imposed slip rates: shape against numeric convolution, unit integral, total slip, rotation into the face frame."""

import itertools

import numpy as np
import pytest
from scipy.integrate import quad

from faultwave.physics import friction as faults
from faultwave.physics.friction.frame import Directions, directions, strike_dip, tangents
from faultwave.physics.friction.imposed import yoffe_grown, yoffe_rate
from faultwave.physics.friction.initial_stress import increment, smooth_step, unmistakable
from faultwave.physics.friction.law import COMMON_STATE, Load

STATE = [s.name for s in COMMON_STATE]

RATIOS = pytest.mark.parametrize("rise", [0.236, 0.3, 0.47, 0.472, 0.6, 3.0], ids=lambda r: f"ratio{r / 0.236:.2f}")
TAU_S = 0.236


def convolution(t, tau_s, tau_r):
    """Yoffe function (substituted, so that its singularity is regular) convolved with the unit triangle."""

    def integrand(angle):
        early = tau_r * np.sin(angle) ** 2
        triangle = max(0.0, 1.0 - abs((t - early) / tau_s - 1.0)) / tau_s
        return triangle * 4.0 / np.pi * np.cos(angle) ** 2

    corners = [t - k * tau_s for k in range(3)]
    breaks = sorted(np.arcsin(np.sqrt(x / tau_r)) for x in corners if 0 < x < tau_r)
    edges = [0.0, *breaks, np.pi / 2]
    return sum(quad(integrand, a, b, epsabs=1e-12, epsrel=1e-12)[0] for a, b in zip(edges, edges[1:], strict=False))


@RATIOS
def test_yoffe_is_the_convolution(rise):
    t = np.linspace(-0.1, rise + 2.2 * TAU_S, 60)
    expected = [convolution(x, TAU_S, rise) for x in t]
    assert yoffe_rate(t, TAU_S, rise) == pytest.approx(expected, abs=1e-9)


@RATIOS
def test_yoffe_has_unit_integral_and_support(rise):
    end = rise + 2 * TAU_S
    corners = sorted([0.0, TAU_S, 2 * TAU_S, rise, rise + TAU_S, end])
    pieces = [quad(lambda x: float(yoffe_rate(np.array(x), TAU_S, rise)), a, b, epsabs=1e-12)[0]
              for a, b in zip(corners, corners[1:], strict=False)]  # fmt: skip
    assert sum(pieces) == pytest.approx(1.0, abs=1e-9)
    assert np.all(yoffe_rate(np.array([-1.0, 0.0, end, end + 5.0]), TAU_S, rise) == 0.0)


def pieces(t, tau_s, tau_r):
    """Tinti et al. (2005), appendix, with C4 corrected: the published closed form, piece by piece."""
    root, pi = np.sqrt, np.pi
    asin, atan = np.arcsin, np.arctan

    def c1():
        return (
            (t / 2 + tau_r / 4) * root(t * (tau_r - t))
            + (t * tau_r - tau_r**2) * asin(root(t / tau_r))
            - 0.75 * tau_r**2 * atan(root((tau_r - t) / t))
        )

    c2 = 0.375 * pi * tau_r**2
    u = t - tau_s

    def c3():
        return (
            (tau_s - t - tau_r / 2) * root(u * (tau_r - u))
            + tau_r * (2 * tau_r - 2 * u) * asin(root(u / tau_r))
            + 1.5 * tau_r**2 * atan(root((tau_r - u) / u))
        )

    w = t - 2 * tau_s

    def c4():
        return (
            (-tau_s + t / 2 + tau_r / 4) * root(w * (tau_r - w))
            - tau_r * (tau_r - w) * asin(root(w / tau_r))
            - 0.75 * tau_r**2 * atan(root((tau_r - w) / w))
        )

    c5, c6 = pi / 2 * tau_r * (t - tau_r), pi / 2 * tau_r * (2 * tau_s - t + tau_r)
    if t <= tau_s:
        total = c1() + c2
    elif t <= min(tau_r, 2 * tau_s):
        total = c1() - c2 + c3()
    elif t <= tau_r:
        total = c1() + c3() + c4()
    elif t <= 2 * tau_s:
        total = c5 + c3() - c2
    elif t < tau_r + tau_s:
        total = c3() + c4() + c5
    else:
        total = c4() + c6
    return 2 / (pi * tau_r * tau_s**2) * total


@RATIOS
def test_yoffe_equals_the_published_pieces(rise):
    t = np.linspace(1e-3, rise + 2 * TAU_S - 1e-3, 97)
    assert yoffe_rate(t, TAU_S, rise) == pytest.approx([pieces(x, TAU_S, rise) for x in t], abs=1e-10)


def given(law, **values):
    n = max(np.size(v) for v in values.values())
    return law.given({k: np.asarray(v, float) for k, v in values.items()}, n)


def turned(angle, n=1):
    c, s = np.full(n, np.cos(angle)), np.full(n, np.sin(angle))
    return Directions(c, s, -s, c)


@RATIOS
@pytest.mark.parametrize("dt", (0.02, 1e-3, 1e-5))
def test_yoffe_grows_by_the_integral_of_its_rate(rise, dt):
    """To rounding of the rate, however short the step is."""
    t = np.linspace(-0.1, rise + 2.2 * TAU_S, 397)
    x, w = np.polynomial.legendre.leggauss(30)
    grown = yoffe_grown(t, dt, TAU_S, rise)
    corners = np.array([k * TAU_S + r for k in range(3) for r in (0.0, rise)])
    smooth = ~((t[:, None] - 2 * dt < corners) & (corners < t[:, None] + dt)).any(1)  # else quadrature is poor
    rate = 0.5 * yoffe_rate(t[:, None] - dt / 2 * (1.0 - x), TAU_S, rise) @ w
    assert grown[smooth] / dt == pytest.approx(rate[smooth], abs=2e-14 * (rise / TAU_S) ** 2 + 1e-12)


@RATIOS
def test_yoffe_slip_is_whole_after_its_support(rise):
    end = rise + 2 * TAU_S
    assert yoffe_grown(np.array([0.0, -1.0, end + 1.0]), 0.5, TAU_S, rise).tolist() == [0.0, 0.0, 0.0]
    for first in (-0.3, 0.0, 0.03):
        steps = np.random.default_rng(3).uniform(0.1, 1.0, 50)
        times = first + (end + 0.1 - first) * np.cumsum(steps) / steps.sum()
        total = yoffe_grown(times, np.diff(times, prepend=first), TAU_S, rise).sum()
        before = yoffe_grown(np.array(first), 10.0, TAU_S, rise)
        assert total + before == pytest.approx(1.0, rel=1e-13 * (rise / TAU_S) ** 2)
    assert yoffe_grown(np.array(end + 1.0), end + 2.0, TAU_S, rise) == pytest.approx(1.0, rel=1e-12)


def run(law, p, dts, c=None):
    c = law.settings(c or {})
    s = {name: np.zeros(len(p["slip1"])) for name in STATE} | law.initial(p, {}, np.zeros(1), np.zeros(1))
    t = 0.0
    for dt in dts:
        t += dt
        forces = Load(np.array([1e6]), np.array([0.0]), np.array([-1e6]), 4e6, dt, t)
        solved = law.solve(p, c, s, forces)
        s = law.advance(p, c, s, solved, solved.slip_rate, forces)
    return s, solved


def test_gaussian_total_slip_is_exact_for_any_steps():
    law = faults.law("imposed-gaussian")
    p = given(law, strike_slip=-2.0, dip_slip=1.5, rupture_onset=0.33, rupture_rise_time=0.7)
    p = law.prepare(p, {}, turned(0.4))
    dts = np.random.default_rng(1).uniform(0.01, 0.2, 40)
    s, solved = run(law, p, dts)
    expected = np.array([-2.0 * np.cos(0.4) - 1.5 * np.sin(0.4), -2.0 * np.sin(0.4) + 1.5 * np.cos(0.4)])
    assert np.array([s["slip1"][0], s["slip2"][0]]) == pytest.approx(expected, rel=1e-12)
    assert s["accumulated_slip"] == pytest.approx(2.5, rel=1e-12)
    assert solved.slip_rate == 0 and solved.strength == 0 and s["friction"] == 0


def test_gaussian_without_rise_time_slips_in_one_step():
    law = faults.law("imposed-gaussian")
    p = given(law, strike_slip=1.0, dip_slip=0.0, rupture_onset=0.25, rupture_rise_time=0.0)
    s, _ = run(law, law.prepare(p, {}, turned(0.0)), np.full(5, 0.1))
    assert s["slip1"] == pytest.approx(1.0) and s["peak_slip_rate"] == pytest.approx(10.0)


def test_yoffe_total_slip_is_exact_for_any_steps():
    law = faults.law("imposed-yoffe")
    p = given(law, strike_slip=-2.0, dip_slip=1.5, rupture_onset=0.33, tau_S=0.05, tau_R=1.1)
    dts = np.random.default_rng(2).uniform(0.01, 0.2, 40)
    s, _ = run(law, law.prepare(p, {}, turned(0.4)), dts)
    expected = np.array([-2.0 * np.cos(0.4) - 1.5 * np.sin(0.4), -2.0 * np.sin(0.4) + 1.5 * np.cos(0.4)])
    assert np.array([s["slip1"][0], s["slip2"][0]]) == pytest.approx(expected, rel=1e-12)


def test_yoffe_law_slips_by_its_rate_at_the_end_of_the_step_where_asked():
    law = faults.law("imposed-yoffe")
    p = law.prepare(given(law, strike_slip=0.0, dip_slip=3.0, rupture_onset=0.1, tau_S=0.2, tau_R=0.8), {}, turned(0.0))
    s, _ = run(law, p, np.full(4, 0.1), {"rate_at_end": 1})
    assert s["slip_rate2"] == pytest.approx(3.0 * convolution(0.3, 0.2, 0.8), rel=1e-9)
    s, _ = run(law, p, np.full(4000, 4e-4), {"rate_at_end": 1})
    assert s["slip2"] == pytest.approx(3.0, rel=1e-5) and s["slip1"] == 0


STEPS = {
    "between steps": (0.25, np.full(8, 0.1)), "at the start": (0.0, np.full(8, 0.1)), "where steps meet": (0.3, np.full(8, 0.1)),
    "where short steps meet": (0.7, np.full(9, 0.7 / 7)), "in the last step": (0.79, np.full(8, 0.1)),
}  # fmt: skip


@pytest.mark.parametrize("onset, dts", STEPS.values(), ids=list(STEPS))
@pytest.mark.parametrize("name", ["imposed-delta", "imposed-gaussian"])
def test_slip_at_once_happens_in_one_sub_step(name, onset, dts):
    """However the ends of sub-steps are rounded: each step starts where a sum of others ends."""
    law = faults.law(name)
    rise = {"rupture_rise_time": 0.0} if name == "imposed-gaussian" else {}
    p = law.prepare(given(law, strike_slip=1.5, dip_slip=-2.0, rupture_onset=onset, **rise), {}, turned(0.0))
    for shift in (0, 1, -1):  # an ulp
        moved = np.nextafter(dts, shift) if shift else dts
        s, _ = run(law, p, moved)
        assert s["slip1"] == pytest.approx(1.5, rel=1e-14) and s["slip2"] == pytest.approx(-2.0, rel=1e-14)
        assert s["peak_slip_rate"] == pytest.approx(2.5 / dts[0])


@pytest.mark.parametrize("name", ["imposed-delta", "imposed-gaussian"])
def test_slip_at_once_before_the_start_is_told(name):
    law = faults.law(name)
    rise = {"rupture_rise_time": 0.0} if name == "imposed-gaussian" else {}
    p = given(law, strike_slip=[1.0, 0.0], dip_slip=0.0, rupture_onset=[-0.1, -0.1], **rise)
    found = law.check(p, {}, np.zeros(2), np.zeros(2), np.arange(6.0).reshape(2, 3)).errors
    assert len(found) == 1 and "fault point (0, 1, 2): rupture_onset is -0.1 (" in str(found[0])


def test_yoffe_times_are_made_usable_or_refused():
    law = faults.law("imposed-yoffe")
    slips = {"strike_slip": [0.0, 1.0], "dip_slip": [0.0, 0.0], "rupture_onset": [0.0, 0.0]}
    p = given(law, **slips, tau_S=[0.0, 0.3], tau_R=[0.0, 0.1])
    ready = law.prepare(p, {}, turned(0.0, 2))
    assert ready["tau_S"].tolist() == [1.0, 0.3] and ready["tau_R"].tolist() == [1.0, 0.3]
    assert not law.check(p, {}, np.zeros(2), np.zeros(2), np.zeros((2, 3))).errors
    bad = given(law, **slips, tau_S=[0.0, 0.0], tau_R=[1.0, 1.0])
    assert "tau_S is 0" in str(law.check(bad, {}, np.zeros(2), np.zeros(2), np.zeros((2, 3))).errors[0])


def test_slip_vector_in_space_does_not_depend_on_the_tangents():
    law = faults.law("imposed-gaussian")
    normal = np.array([[0.3, -0.8, 0.5]]) / np.sqrt(0.98)
    strike, dip = strike_dip(normal)
    p = given(law, strike_slip=1.2, dip_slip=-0.7, rupture_onset=0.0, rupture_rise_time=1.0)
    for edge in ([[1.0, 0.2, 0.1]], [[-0.3, 0.1, 2.0]]):
        s1, s2 = tangents(normal, np.array(edge))
        ready = law.prepare(p, {}, directions(s1, s2, strike, dip))
        vector = ready["slip1"][:, None] * s1 + ready["slip2"][:, None] * s2
        assert vector == pytest.approx(1.2 * strike - 0.7 * dip)


def test_smooth_step_values_and_increments():
    assert smooth_step(np.array([-1.0, 0.0, 1e-9, 2.0, 5.0]), np.array(2.0)).tolist() == [0, 0, 0, 1, 1]
    assert smooth_step(np.array(0.5), np.array(2.0)) == pytest.approx(np.exp(1.5**2 / (0.5 * -3.5)))
    times = np.linspace(0, 2, 38)
    parts = [increment(a, b, 0.3, 0.9) for a, b in zip(times, times[1:], strict=False)]
    assert sum(parts) == pytest.approx(1.0, rel=1e-14) and min(parts) >= 0
    jump = [increment(a, b, 0.0, 0.0) for a, b in zip(times, times[1:], strict=False)]
    assert jump[0] == 1.0 and sum(jump) == 1.0
    for start, duration in (
        (0.3, 0.9),
        (0.3, 0.0),
        (-1.0, 0.0),
    ):  # to the last bit, in steps that it does not reach too
        first = float(unmistakable(start)) if duration == 0 else start
        ends = np.concatenate([times, np.nextafter([0.3, 0.3, 1.2, 1.2], [0, 1, 0, 2]), [0.3, 1.2]])
        for a, b in itertools.combinations(np.sort(ends), 2):
            whole = smooth_step(np.array(b - first), np.array(duration)) - smooth_step(
                np.array(a - first), np.array(duration)
            )
            assert increment(a, b, start, duration) == whole


@pytest.mark.parametrize("start", [0.0, 0.1, 0.3, 1.1, 7.7])
def test_a_jump_is_added_once_however_steps_are_rounded(start):
    """Where one step ends an ulp off the start of the next."""
    for gap in (-1.0, 1.0):
        ends = np.arange(0.0, 100.0) * 0.1
        begins = np.nextafter(ends, gap * np.inf)
        begins[0] = 0.0
        parts = [increment(a, b, start, 0.0) for a, b in zip(begins, ends[1:], strict=False)]
        assert sum(parts) == 1.0 and set(parts) == {0.0, 1.0}
