"""Every law found, described, checked; and recorded on expressions, so that one text serves every backend."""

import numpy as np
import pytest

from faultwave import backends
from faultwave.base.errors import InputError
from faultwave.kernels.language import Kernel
from faultwave.physics import friction as faults
from faultwave.physics.friction.frame import Directions
from faultwave.physics.friction.law import COMMON_STATE, Load
from faultwave.physics.friction.modifiers import composed
from tests.messages import raises

from .sampling import required_values

ALL = pytest.mark.parametrize("name", list(faults.laws()))
NUMBERS = {
    "linear-slip-weakening": 16,
    "power-law-slip-weakening": 1058,
    "rate-and-state-ageing": 3,
    "rate-and-state-slip": 4,
    "severe-velocity-weakening": 7,
    "strong-velocity-weakening": 103,
    "imposed-yoffe": 33,
    "imposed-gaussian": 34,
    "imposed-delta": 35,
}
GIVEN = {
    "mu_s": 0.6, "mu_d": 0.4, "d_c": 0.4, "cohesion": -1e5, "forced_rupture_time": 0.1, "rs_a": 0.01, "rs_sl0": 0.02, "rs_srW": 0.1,
    "strike_slip": 1.0, "dip_slip": 0.5, "rupture_onset": 0.05, "tau_S": 0.1, "tau_R": 0.3, "rupture_rise_time": 0.4,
}  # fmt: skip


def test_all_laws_are_found():
    """Those of SeisSol with its numbers; laws that are added have other numbers, or -1."""
    found = {n: law.deck_number for n, law in faults.laws().items()}
    assert found.items() >= NUMBERS.items()
    numbers = [number for number in found.values() if number >= 0]
    assert len(numbers) == len(set(numbers))
    assert faults.law_of_deck(2).name == "linear-slip-weakening" and faults.law_of_deck(101) is None
    with raises(InputError):
        faults.law("rate-and-state-slipp")


@ALL
def test_names_parameters_and_messages(name):
    law = faults.law(name)
    for q in (*law.parameters, *law.constants):
        assert q.description and q.lower <= q.upper
    with raises(InputError):
        law.given({}, 1)
    with raises(InputError):
        law.settings({"mu_x": 1.0})
    assert not {s.name for s in law.state} & {s.name for s in COMMON_STATE}


EVERY = [
    *((name, ()) for name in faults.laws()),
    *((name, ("thermal-pressurisation",)) for name, law in faults.laws().items() if law.solver != "imposed"),
    ("linear-slip-weakening", ("prakash-clifton",)),
    ("power-law-slip-weakening", ("prakash-clifton",)),
]


@pytest.mark.parametrize(("name", "modifiers"), EVERY, ids=["+".join((n, *m)) for n, m in EVERY])
def test_every_number_missing_or_out_of_bounds_is_told(name, modifiers):
    """Of every law alone and with what modifies it: each parameter at points, each constant."""
    law, points = composed(name, list(modifiers)), np.arange(6.0).reshape(2, 3)
    given = {q.name: np.full(2, max(q.lower, min(q.upper, 0.1))) for q in law.parameters if q.default is None}
    constants = {q.name: max(q.lower, min(q.upper, 0.1)) for q in law.constants if q.default is None}
    traction = np.full(2, 6e7), np.full(2, -1e8)
    checked = 0
    for q in law.parameters:
        if q.default is None:
            with pytest.raises(InputError, match=rf"fault\.parameters\.{q.name}: missing: "):
                law.given({k: v for k, v in given.items() if k != q.name}, 2)
        for bad in out_of_bounds(q):
            p = law.given(given | {q.name: np.array([given.get(q.name, [bad, bad])[0], bad])}, 2)
            texts = [str(e) for e in law.check(p, law.settings(constants), *traction, points).errors]
            assert any(f"{q.name} is {bad:g}" in t for t in texts), (q.name, bad, texts)
            checked += 1
    for q in law.constants:
        if q.default is None:
            with pytest.raises(InputError, match=rf"fault\.constants\.{q.name}: missing: "):
                law.settings({k: v for k, v in constants.items() if k != q.name})
        for bad in out_of_bounds(q):
            with pytest.raises(InputError, match=rf"fault\.constants\.{q.name}: is {bad:g} \(allowed: "):
                law.settings(constants | {q.name: bad})
            checked += 1
    assert checked


def out_of_bounds(q):
    wrong = [x for x in (q.lower - 1.0, q.upper + 1.0, 0.0, np.nan) if not np.isinf(x) and not q.accepts(x)]
    return [x for x in wrong if not np.isnan(x) or q.default is None]  # NaN may stand for absent: see below


def test_bounds_are_reported_with_place_and_count():
    law = faults.law("linear-slip-weakening")
    p = law.given(GIVEN | {"cohesion": np.array([-1.0, 1e6, 2e6]), "d_c": 0.0, "mu_s": np.array([np.nan, 1, 1])}, 3)
    points = np.arange(9.0).reshape(3, 3)
    texts = [str(e) for e in law.check(p, {}, np.zeros(3), np.zeros(3), points).errors]
    assert "fault point (0, 1, 2): mu_s is nan (allowed: 0 to inf)" in texts
    assert "fault point (0, 1, 2): d_c is 0 (and at 2 more points) (allowed: > 0 m)" in texts
    assert "fault point (3, 4, 5): cohesion is 1e+06 (and at 1 more points) (allowed: -inf to 0 Pa)" in texts
    bad_stress = law.check(law.given(GIVEN, 1), {}, np.array([np.nan]), np.zeros(1), points)
    assert "shear traction is nan" in str(bad_stress.errors[0])


@pytest.mark.parametrize(
    ("name", "modifiers", "parameter"),
    [
        ("strong-velocity-weakening", [], "RS_f0"),
        ("strong-velocity-weakening", [], "rs_muw"),
        ("power-law-slip-weakening", [], "weakening_exponent"),
        ("linear-slip-weakening", ["thermal-pressurisation"], "tp_iniTemp"),
        ("linear-slip-weakening", ["prakash-clifton"], "pc_length"),
    ],
)
def test_nan_in_a_field_is_never_taken_for_absent(name, modifiers, parameter):
    """Read as absent the constant would stand there."""
    law, points = composed(name, modifiers), np.arange(9.0).reshape(3, 3)
    (error,) = law.check_given({parameter: np.array([0.1, np.nan, np.nan])}, points).errors
    assert str(error).startswith(f"fault point (3, 4, 5): {parameter} is nan (and at 1 more points) (allowed: ")
    assert not law.check_given({parameter: np.array([0.1, 0.2, 0.3])}, points).items


def test_name_and_alias_together_are_refused():
    with raises(InputError):
        faults.law("rate-and-state-slip").given(GIVEN | {"RS_sl0": 1.0}, 1)


SLOW = {"rs_f0": 0.6, "rs_b": 0.012, "rs_sr0": 1e-6, "rs_ini_slip_rate": 1e-12}
RATE_AND_STATE = {
    "rate-and-state-ageing": SLOW,
    "rate-and-state-slip": SLOW,
    "strong-velocity-weakening": SLOW | {"rs_muw": 0.2},
    "severe-velocity-weakening": SLOW | {"rs_sr0": 0.1, "rs_b": 0.35},
}


def sub_steps(law, c, items):
    """A kernel of three friction sub-steps at 16 points, and random data for it."""
    rng = np.random.default_rng(3)
    points, names = 16, list(law.state_columns)
    count = items * points
    given = GIVEN | ({"rupture_onset": 0.115} if law.name == "imposed-delta" else {})  # in the first two sub-steps
    values = given | required_values(law, given)
    spread = {k: v * rng.uniform(0.9, 1.1, count) for k, v in values.items()}
    d = Directions(*(np.full(count, x) for x in (0.8, 0.6, -0.6, 0.8)))
    p = law.prepare(law.given({q.name: spread[q.name] for q in law.parameters if q.name in spread}, count), c, d)
    tau, sigma = np.full(count, 60e6), np.full(count, -110e6)
    start = {n: np.zeros(count) for n in names} | law.initial(p, c, tau, sigma)
    shape = (items, points, -1)
    data = {
        "p": np.stack([p[n] for n in law.kernel_parameters], -1).reshape(shape),
        "s": np.stack([start[n] for n in names], -1).reshape(shape),
        "l": np.stack([rng.normal(60e6, 2e7, count), rng.normal(0, 2e7, count), sigma + rng.normal(0, 1e7, count)], -1)
        .reshape(shape),
    }  # fmt: skip
    kernel = Kernel(f"friction_{law.name.replace('-', '_')}", fixed=law.double)
    pa = kernel.batch("p", points, len(law.kernel_parameters))
    sa = kernel.batch("s", points, len(names), "inout")
    la = kernel.batch("l", points, 3)
    clock = kernel.scalar("clock", 3, 2)

    def point(p, s, load, time):
        p, s = dict(zip(law.kernel_parameters, p, strict=True)), dict(zip(names, s, strict=True))
        forces = Load(load[0], load[1], load[2], 4.6e6 + 0.0 * load[0], time[0], time[1])
        solved = law.solve(p, c, s, forces)
        new = s | law.advance(p, c, s, solved, solved.slip_rate, forces)
        return [[new[n] for n in names]]

    for k in range(3):
        kernel.pointwise(point, [pa, sa, la, clock.view(k)], [sa])
    return kernel, data, np.array([[0.01, 0.11], [0.02, 0.13], [0.005, 0.135]])


def run_on(name, kernel, data, clock, precision="double"):
    """State after the kernel on one backend, the items padded to whole vectors with copies of the first."""
    backend = backends.make(name, precision)
    lanes = backend.fixed_lanes if kernel.fixed else backend.lanes
    count = len(data["s"])
    padded = {k: np.concatenate([v, np.repeat(v[:1], -count % lanes, axis=0)]) for k, v in data.items()}
    buffers = {}
    for key, values in padded.items():
        buffers[key] = backend.batch(*values.shape, fixed=kernel.fixed)
        buffers[key].put(values)
    backend.compile([kernel])[kernel.name](buffers)(0, len(padded["s"]), clock=clock)
    return buffers["s"].get()[:count].astype(float)


@ALL
def test_generated_code_equals_numpy(name):
    law = faults.law(name)
    tight = {"rs_slip_rate_tolerance": 1e-14, **RATE_AND_STATE.get(name, {})}
    extra = tight if law.solver == "newton" else {"healing_threshold": 0.05} if "slip-weakening" in name else {}
    kernel, data, clock = sub_steps(law, law.settings(extra), 5)
    results = [run_on(b, kernel, data, clock) for b in ("numpy", "cpu")]
    assert np.all(np.isfinite(results[0])) and not np.array_equal(results[0], data["s"])
    for k, quantity in enumerate(law.state_columns):
        scale = np.abs(results[0][..., k]).max()
        assert results[1][..., k] == pytest.approx(results[0][..., k], rel=1e-9, abs=1e-10 * scale), quantity


@pytest.mark.parametrize("name", [n for n, law in faults.laws().items() if not law.double])
def test_single_precision_agrees_where_allowed(name):
    law = faults.law(name)
    kernel, data, clock = sub_steps(law, law.settings({}), 4)
    exact, rough = run_on("numpy", kernel, data, clock), run_on("cpu", kernel, data, clock, "single")
    scale = np.abs(exact).max(axis=(0, 1))
    assert np.all(np.abs(rough - exact).max(axis=(0, 1)) <= 2e-5 * scale)
