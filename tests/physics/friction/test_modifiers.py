"""Modifiers of the normal traction: composed with any law, and what they do to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.physics import friction as faults
from faultwave.physics.friction.law import Load
from faultwave.physics.friction.modifier import with_modifiers
from faultwave.physics.friction.modifiers import modifier
from tests.messages import raises

from .plug_ins import DRAINAGE, PORE_PRESSURE, friction_plug_ins
from .sampling import required_values

ETA, N = 4.6e6, 7
GIVEN = {
    "mu_s": 0.677, "mu_d": 0.525, "d_c": 0.4, "cohesion": -1e5, "rs_a": 0.01, "rs_sl0": 0.02, "rs_srW": 0.1,
    "strike_slip": 1.0, "dip_slip": 0.0,
    "rupture_onset": 0.0, "tau_S": 0.1, "tau_R": 0.3, "rupture_rise_time": 0.2,
}  # fmt: skip


def started(law: Any, shear: np.ndarray, sigma: np.ndarray, **given: float) -> tuple[dict, dict, dict]:
    """Parameters, constants and state of N points."""
    known = GIVEN | given
    values = {name: np.asarray(v) for name, v in (known | required_values(law, known)).items()}
    names = {n for q in law.parameters for n in (q.name, *q.aliases)}
    slow = {"rs_f0": 0.6, "rs_b": 0.012, "rs_sr0": 1e-6, "rs_ini_slip_rate": 1e-12, "rs_muw": 0.2}
    severe = {"rs_sr0": 0.1, "rs_b": 0.6} if "severe-velocity-weakening" in law.name else {}
    c = law.settings(slow | severe if "newton" in law.solver else {})
    directions = faults.Directions(np.ones(N), np.zeros(N), np.zeros(N), np.ones(N))
    p = law.prepare(law.given({k: v for k, v in values.items() if k in names}, N), c, directions)
    return p, c, {name: np.zeros(N) for name in law.state_columns} | law.initial(p, c, shear, sigma)


def steps(law: Any, p: dict, c: dict, s: dict, loads: list[Load]) -> dict[str, np.ndarray]:
    for load in loads:
        solved = law.solve(p, c, s, load)
        s = {**s, **law.advance(p, c, s, solved, solved.slip_rate, load)}
    return s


def loads(shear: np.ndarray, sigma: np.ndarray, count: int = 4) -> list[Load]:
    return [Load(shear, 0.1 * shear, sigma, ETA + 0.0 * shear, 0.01, 0.01 * (i + 1)) for i in range(count)]


@pytest.mark.parametrize("name", list(faults.laws()))
def test_constant_pore_pressure_is_less_compression(name: str) -> None:
    """Every law with the modifier does what it does under the effective normal traction."""
    law, pressure = faults.law(name), 30e6
    both = with_modifiers(law, [PORE_PRESSURE])
    shear, sigma = np.linspace(50e6, 80e6, N), np.full(N, -120e6)
    found = steps(both, *started(both, shear, sigma, pore_pressure=pressure), loads(shear, sigma))
    alone = steps(law, *started(law, shear, sigma + pressure), loads(shear, sigma + pressure))
    assert set(found) == set(alone) and both.name == f"{name} + constant-pore-pressure"
    for key, values in alone.items():
        np.testing.assert_array_equal(found[key], values, err_msg=key)
    assert (both.all_outputs["P_f"].formula({"pore_pressure": np.full(N, pressure)}, {}, found) == pressure).all()
    assert (law.all_outputs["P_f"].formula({}, {}, alone) == 0).all()


@pytest.mark.parametrize("name", ["linear-slip-weakening", "rate-and-state-slip", "imposed-gaussian"])
def test_a_modifier_has_state_of_its_own(name: str) -> None:
    """The pressure follows its equation for the slip rates found, and lowers strength."""
    law = faults.law(name)
    both = with_modifiers(law, [DRAINAGE, PORE_PRESSURE])
    shear, sigma = np.linspace(70e6, 95e6, N), np.full(N, -120e6)
    p, c, s = started(both, shear, sigma, pore_pressure=1e6)
    assert [x.name for x in both.state][-1] == "raised_pressure"
    pressure = np.zeros(N)
    for load in loads(1.3 * shear, sigma, 30):  # more than it was in balance with
        s = steps(both, p, c, s, [load])
        heating = np.maximum(load.shear() - load.eta * s["slip_rate"], 0.0) * s["slip_rate"] / 10.0
        pressure += (1.0 - np.exp(-load.dt / 0.3)) * (heating * 0.3 - pressure)
    assert s["peak_slip_rate"].max() > 0.05 and pressure.max() > 1e4
    # Rate and state ages with the mean of two slip rates, and heats with it.
    np.testing.assert_allclose(s["raised_pressure"], pressure, rtol=0.2 if law.solver == "newton" else 1e-12)
    now = loads(shear, sigma, 1)[0]
    strength = both.strength(p, c, s, both.pressed(p, c, s, now))
    cohesion = 1e5 if "cohesion" in p else 0.0
    np.testing.assert_allclose(strength, cohesion + s["friction"] * (119e6 - s["raised_pressure"]), rtol=1e-12)


def test_problems_of_both_are_told() -> None:
    both = with_modifiers(faults.law("linear-slip-weakening"), [PORE_PRESSURE])
    p = both.given({"mu_s": -1.0, "mu_d": 0.5, "d_c": 0.4, "cohesion": 0.0, "pore_pressure": -2.0}, 1)  # type: ignore[dict-item]
    found = str(both.check(p, {}, np.zeros(1), np.zeros(1), np.zeros((1, 3))).errors)
    assert "mu_s is -1" in found and "pore_pressure is -2" in found
    with raises(InputError):
        both.given({"mu_s": 1.0, "mu_d": 0.5, "d_c": 0.4, "cohesion": 0.0}, 1)  # type: ignore[dict-item]


def test_one_name_for_two_things_is_refused() -> None:
    with raises(InputError):
        with_modifiers(faults.law("rate-and-state-slip"), [PORE_PRESSURE, PORE_PRESSURE])


def test_modifiers_are_found_by_the_registry() -> None:
    with raises(InputError):
        modifier("constant-pore-pressure")
    with friction_plug_ins():
        assert modifier("constant-pore-pressure") is PORE_PRESSURE
        with raises(InputError):
            modifier("heated-pore")
