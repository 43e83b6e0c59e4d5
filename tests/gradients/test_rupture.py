"""Gradients with respect to friction and initial stress of a rupture: equal to differences of whole runs."""

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.gradients import rupture as module
from faultwave.gradients.gradient import gradient
from faultwave.gradients.misfits import WaveformMisfit
from tests.gradients.test_gradient import assert_differences_agree, seismograms
from tests.messages import raises

INTERVAL = 1e-7
"""Interval of the differences relative to a parameter: hardly any point of the fault begins or ceases to weaken within it."""
STEP = "fault.parameters.constant."
PATCH = "70e6 + 16e6 * exp(-((x + 100) * (x + 100) + (z + 500) * (z + 500)) / 90000)"
HOMOGENEOUS = {"constant": {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}}
SLIP_WEAKENING = {
    "constant": {"mu_s": 0.677, "mu_d": 0.525, "d_c": 0.1, "cohesion": -1e5, "T_n": -120e6, "T_d": 3e6},
    "expression": {"T_s": PATCH},
}
RATES = {"constant": {"rs_a": 0.008, "rs_b": 0.016, "rs_sl0": 0.01, "T_n": -120e6, "T_s": 75e6, "T_d": 1e6}}
PUSH = {
    "duration": 0.05,
    "stress": {"constant": {"Tnuc_n": 0.0, "Tnuc_d": 2e6}, "expression": {"Tnuc_s": PATCH.replace("70e6 + 16e6", "return 35e6") + ";"}},
}  # fmt: skip
REFERENCE = {"rs_f0": 0.6, "rs_sr0": 1e-6, "rs_ini_slip_rate": 1e-9, "rs_slip_rate_tolerance": 1e-14}


def rupture(material=HOMOGENEOUS, friction="linear-slip-weakening", parameters=SLIP_WEAKENING, **changes):
    """A rupture of a fault that breaks the ground, and two receivers."""
    return {
        "engine": "fd", "end_time": 0.3, "material": material,
        "grid": {"lower": [-2400, -950, -1700], "upper": [2400, 950, 0], "spacing": 100.0, "absorbing": {"width": 4},
                 "fault": {"lower": [-600, 0, -1000], "upper": [600, 0, 0]}},
        "fault": {"friction": friction, "reference_method": "direction", "reference": [0, 1, 0], "parameters": parameters},
        "numerics": {"precision": "double"},
        "output": {"receivers": {"points": [[420.0, 530.0, 0.0], [-310.0, -450.0, -310.0]], "interval": 0.01}},
    } | changes  # fmt: skip


def data_of(made):
    """Data that differ from the seismograms of a case by a factor and a delay."""
    _, velocity = seismograms(made, {})
    return 0.7 * velocity + 0.3 * np.roll(velocity, 3, -1)


CONTRAST = {"expression": {"rho": "2670 + 0.1 * y", "vp": "6000 + 0.5 * y - 0.2 * z", "vs": "3464 + 0.3 * y + 0.1 * x"}}
CASES = {
    "different rock on the sides": (rupture(CONTRAST), SLIP_WEAKENING["constant"]),
    "attenuating": (
        rupture({"expression": CONTRAST["expression"] | {"Qp": "60", "Qs": "40"}}, attenuation={}), ("mu_s", "d_c", "T_n"),
    ),
}  # fmt: skip
RATE_LAWS = {
    "rate-and-state-ageing": RATES,
    "rate-and-state-slip": RATES,
    "strong-velocity-weakening": {"constant": RATES["constant"] | {"rs_srW": 0.1, "rs_muw": 0.3}},
}
for _law, _parameters in RATE_LAWS.items():
    _made = rupture(friction=_law, parameters=_parameters)
    _made["fault"] |= {"constants": REFERENCE, "nucleation": [PUSH]}
    CASES[_law] = _made, ("rs_a", "rs_b", "rs_sl0", "T_n", "T_s")


@pytest.mark.parametrize("name", CASES)
def test_differences_of_runs(name):
    made, names = CASES[name]
    misfit = WaveformMisfit(data_of(made))
    pushed = ["fault.nucleation[0].stress.constant.Tnuc_d"] if "nucleation" in made["fault"] else []
    found = gradient(made, misfit, [STEP + n for n in names] + pushed)
    assert np.array_equal(found.velocity, seismograms(made, {})[1]) and found.value > 0
    assert_differences_agree(made, misfit, found, 1e-6, INTERVAL, least=1e-4)


def test_derivatives_at_points():
    """Their sum with the change of each point's value is the derivative along a field, here of a patch of stress."""
    made = rupture(end_time=0.25)
    misfit = WaveformMisfit(data_of(made))
    found = gradient(made, misfit, [STEP + "d_c"])
    assert found.fault is not None
    x, _, z = found.fault.points.T
    assert found.fault.points.shape == (len(x), 3) and np.abs(x).max() <= 600.0 and z.min() >= -1000.0
    change = 1e6 * np.exp(-((x - 100) ** 2 + (z + 600) ** 2) / 40000)

    def value(offset):
        patch = f"return {PATCH} + {offset:.17g} * exp(-((x - 100) * (x - 100) + (z + 600) * (z + 600)) / 40000);"
        parameters = SLIP_WEAKENING | {"expression": {"T_s": patch}}
        return misfit.evaluate(*seismograms(rupture(end_time=0.25, parameters=parameters), {}))[0]

    h = 10.0
    expected = (8 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12 * h)
    along = abs(np.sum(change * found.fault.values["traction_along"])) / 1e6
    assert along == pytest.approx(abs(expected), rel=1e-6)
    total = np.sum(found.fault.values["d_c"])
    assert found.derivatives[STEP + "d_c"] == pytest.approx(total, rel=1e-12)


def test_states_in_between_are_computed_again(monkeypatch):
    """With little memory, only some states of friction are stored."""
    made = rupture(end_time=0.15)
    misfit = WaveformMisfit(data_of(made))
    expected = gradient(made, misfit, [STEP + "mu_s"]).vector
    monkeypatch.setattr(module, "STATES_AT_ONCE", 0)
    assert np.array_equal(gradient(made, misfit, [STEP + "mu_s"]).vector, expected)


def test_single_precision():
    made = rupture(end_time=0.25)
    misfit = WaveformMisfit(data_of(made))
    expected = gradient(made, misfit, [STEP + "mu_d", STEP + "d_c"]).vector
    made["numerics"]["precision"] = "single"
    assert gradient(made, misfit, [STEP + "mu_d", STEP + "d_c"]).vector == pytest.approx(expected, rel=5e-3)


BAD = {
    "source": {"parameters": ["sources[0].location[0]"]},
    "missing": {"parameters": [STEP + "rs_a"]},
    "expression": {"parameters": ["fault.parameters.expression.T_s"]},
    "receiver": {"output": {"receivers": {"points": [[0.0, 250.0, 0.0]], "interval": 0.01}}},
    "modifiers": {"modifiers": ["prakash-clifton"]},
    "imposed": {"friction": "imposed-delta"},
}


@pytest.mark.parametrize("name", BAD)
def test_reported_before_the_run(name):
    bad = dict(BAD[name])
    paths = bad.pop("parameters", [STEP + "d_c"])
    made = rupture()
    made["output"] = bad.get("output", made["output"])
    if "modifiers" in bad:
        made["fault"] |= {"modifiers": bad["modifiers"], "constants": {"pc_reference_rate": 0.1, "pc_length": 0.2}}
    if "friction" in bad:
        slip = {"strike_slip": 0.8, "dip_slip": 0.0, "rupture_onset": 0.1}
        made["fault"] |= {"friction": bad["friction"], "parameters": {"constant": slip}}
        paths = [STEP + "strike_slip"]
    with raises(InputError):
        gradient(made, WaveformMisfit(np.zeros((2, 3, 41))), paths)
