"""Runs that are unstable end and say why; waves that gather, stay or come slowly are none of these."""

import re

import numpy as np
import pytest

from faultwave.base.errors import RunError
from faultwave.engine.instability_monitor import end_of_sources, grows
from faultwave.fd.checks import instability_monitor
from faultwave.physics.sources.point import PointSource
from faultwave.physics.sources.time_functions import gaussian
from faultwave.run import resume, simulate

from .test_grids import case

LOOKS = np.arange(64.0)


@pytest.mark.parametrize("rate", [0.25, 1.0, 6.0])
def test_exponential_growth_is_seen(rate):
    assert grows((1e-30 * np.exp(rate * LOOKS)).tolist())
    assert grows(np.concatenate([np.ones(20), np.exp(rate * LOOKS[:44])]).tolist())


@pytest.mark.parametrize(
    "squares",
    [
        np.sin(0.003 * LOOKS) ** 2,  # a slow mode, from its turning point on
        np.sin(0.7 * LOOKS + 0.1) ** 2 * np.sin(0.01 * LOOKS) ** 2,
        1e-9 + LOOKS**2,
        np.exp(-LOOKS),
        np.ones(64),
        np.zeros(64),
        np.concatenate([np.zeros(60), np.ones(4)]),
        np.minimum(np.repeat(6.0 ** np.arange(64), 3)[:64], 216.0),
        np.where(LOOKS < 32, 1e-14, 1e-6),  # no span grows more than once
        np.exp(0.05 * LOOKS),  # by a factor of five in amplitude
    ],
)
def test_what_waves_do_is_not(squares):
    assert not any(grows(squares[: n + 1].tolist()) for n in range(64))


def test_when_sources_are_silent():
    force = {"force": np.array([1e6, 0.0, 0.0])}
    early = PointSource(np.zeros(3), gaussian(0.1), **force)
    late = PointSource(np.zeros(3), gaussian(0.1), moment=np.full(6, 1e3), onset=5.0)
    assert end_of_sources([early], 10.0) == pytest.approx(1.1, abs=0.1)
    assert end_of_sources([early, late], 10.0) == pytest.approx(6.1, abs=0.1)
    faint = PointSource(np.zeros(3), gaussian(0.5), force=np.array([1e-3, 0.0, 0.0]))  # each by its own largest
    assert end_of_sources([early, faint], 10.0) == pytest.approx(5.6, abs=0.1)
    assert end_of_sources([early, late], 4.0) == pytest.approx(1.1, abs=0.1) and end_of_sources([], 4.0) == 0.0


def small(**changes):
    """A box of rock that loses nothing, shaken early."""
    sources = [
        {"kind": "moment-tensor", "location": [530, 470, -420], "tensor": {"xy": 1e15, "zz": 4e14},
         "time_function": {"kind": "gaussian", "duration": 0.08}}
    ]  # fmt: skip
    usual = {
        "grid__lower": [0, 0, -1000], "grid__upper": [1000, 1000, 0], "grid__absorbing": {}, "end_time": 12.0, "sources": sources,
        "grid__boundaries": {"x": "rigid", "y": "rigid", "z-": "rigid"}, "output": {}, "numerics": {"threads": 1},
    }  # fmt: skip
    return case(**usual | changes)


@pytest.mark.parametrize(
    ("lasting", "text"),
    [
        (False, "motion grows exponentially, although no source acts since t = 0.9"),
        (True, "the energy of the waves is at least .* J, but"),
    ],
)
def test_rock_that_gains_energy_ends_the_run_with_its_reason(lasting, text, monkeypatch):
    """Bulk attenuation below zero, which a case cannot ask for; amplitudes are far from the largest numbers yet. A source that never ends
    leaves only the bound of all it can have given."""
    made = small(attenuation={}, end_time=30.0)
    if not lasting:
        monkeypatch.setattr(
            "faultwave.fd.checks.instability_monitor.MARGIN", 1e9
        )  # else the bound of the energy is told first
    if lasting:
        made["sources"].append(
            made["sources"][0] | {"time_function": {"kind": "samples", "interval": 1.0, "samples": [0.01] * 40}}
        )
    made["material"] = {"constant": {"rho": 2700.0, "vp": 3464.0, "vs": 2000.0, "Qp": 12.0, "Qs": 9.0}}
    sim = simulate(made)
    wrong = dict(sim.plan.medium.coefficients)
    wrong["defect_p"] = np.asarray(wrong["defect_p"]) * 0.0
    object.__setattr__(sim.plan.medium, "coefficients", wrong)
    sim.solver.operator.runner.view("defect_p", 1)[...] = 0.0
    with pytest.raises(RunError, match=text) as told:
        sim.run(write=False)
    assert sim.solver.operator.steps < sim.plan.steps and np.abs(sim.solver.operator.values("u")).max() < 1e12
    for words in (r"largest motion at \(", "rho = 2700, vp = ", r"1\. quality factors: Qp is so much larger than Qs"):
        assert re.search(words, str(told.value)), told.value


def test_a_step_that_is_too_long_is_told_first():
    sim = simulate(small(numerics__cfl=0.95))
    sim.solver.operator.runner.view("lam")[...] *= 3.0
    with pytest.raises(
        RunError, match=r"the energy of the waves is at least .* J, but sources have added less than|no longer finite"
    ) as told:
        sim.run(write=False)
    assert "1. the step, 0.95 of the largest stable one" in str(told.value)


@pytest.mark.parametrize(("times", "told"), [(0.9, ""), (1.1, "the energy of ")])
def test_more_energy_than_a_hundred_times_what_sources_can_have_given_is_told(times, told):
    """Motion of so much kinetic energy in a box at rest, whose source has acted."""
    sim = simulate(small())
    op, watch = sim.solver.operator, sim.solver.watch
    op.advance(60)
    assert watch.look() == ""
    squares = watch._squares()[0] * sim.plan.scheme.grid.spacing**3
    factor = np.sqrt(100.0 * times * watch.bound() ** 2 / (0.5 * watch.lightest * squares))
    for name in "uvw":
        op.runner.view(name)[...] *= factor
    assert watch.look()[:14] == told


def test_a_layer_is_told_first_where_it_is_the_place(monkeypatch):
    made = case(numerics={"threads": 1}, output={})
    sim = simulate(made)
    sim.solver.operator.advance(40)
    for place, first in (((100.0, 800.0, -700.0), "1. the absorbing layer"), ((750.0, 800.0, -700.0), "1. the step")):
        sim.solver.watch.look()
        sim.solver.watch.peak = instability_monitor.Peak(1.0, place, 40)
        assert first in sim.solver.diagnose().text


LASTING = {
    "a box that keeps its waves": {},
    "waves that go round": {"grid__boundaries": dict.fromkeys("xyz", "periodic")},
    "a soft basin": {"material": {"expression": {"rho": "if (z > -300) { return 1700; } return 2700;",
                                                 "vp": "if (z > -300) { return 900; } return 3464;",
                                                 "vs": "if (z > -300) { return 300; } return 2000;"}}},
    "attenuation": {"attenuation": {}, "material": {"constant": {"rho": 2700.0, "vp": 3464.0, "vs": 2000.0, "Qp": 60.0, "Qs": 30.0}}},
    "open sides": {"grid__boundaries": {}, "grid__absorbing": {"width": 5}},
}  # fmt: skip


@pytest.mark.parametrize("name", LASTING)
def test_nothing_is_wrong_with(name, monkeypatch):
    monkeypatch.setattr(instability_monitor, "APART", 6)
    monkeypatch.setattr(instability_monitor, "LOOKS", 300)
    sim = simulate(small(**LASTING[name]))
    sim.run(write=False)
    assert len(sim.solver.watch.squares) > 100 and sim.solver.watch.peak.speed > 0
    kinetic = sim.energy_now()["elastic_kinetic_energy"]
    assert 0 < kinetic < sim.solver.watch.bound() ** 2


def test_sources_that_never_end_are_no_growth(monkeypatch):
    monkeypatch.setattr(instability_monitor, "APART", 6)
    made = small()
    made["sources"][0]["time_function"] = {
        "kind": "samples",
        "interval": 1.0,
        "samples": [0.0, 1e-3, 1.0, 1e3, 1e6, 1e9] + [1e12] * 20,
    }
    sim = simulate(made)
    sim.run(write=False)
    assert not sim.solver.watch.squares


@pytest.mark.parametrize("waves", [1, 2])
def test_waves_of_the_start_count(waves, monkeypatch):
    """One that runs, two that stand."""
    monkeypatch.setattr(instability_monitor, "APART", 6)
    k = 2 * np.pi / 1000.0
    listed = [
        {"mode": "S", "polarisation": [0, 1.0, 0], "k": [s * k, 0.0, 0.0], "amplitude": 1e6} for s in (1, -1)[:waves]
    ]
    sim = simulate(small(
        grid__boundaries=dict.fromkeys("xyz", "periodic"), initial={"kind": "plane-wave", "wave": listed}, end_time=3.0,
    ) | {"sources": []})  # fmt: skip
    sim.run(write=False)
    total = sum(sim.energy_now()[n] for n in ("elastic_energy", "elastic_kinetic_energy"))
    assert len(sim.solver.watch.squares) > 30 and sim.solver.watch.bound() ** 2 == pytest.approx(total, rel=0.1)


def test_what_was_pushed_is_known_after_a_checkpoint(tmp_path):
    made = small(end_time=1.0, output={"folder": str(tmp_path / "out"), "checkpoint": {"interval": 0.9}})
    whole = simulate(made).run()
    again = resume(tmp_path / "out")
    assert 0 < again.solver.watch.root < whole.solver.watch.bound() * (1 + 1e-12)
    assert again.solver.watch.bound() == pytest.approx(whole.solver.watch.bound(), rel=1e-6)
