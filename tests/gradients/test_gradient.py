"""Gradients with respect to sources on grids: equal to central differences of whole runs, in every kind of ground."""

import copy

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.case.native import location_of
from faultwave.case.validate import set_value
from faultwave.gradients import gradient as module
from faultwave.gradients import parameters
from faultwave.gradients.gradient import gradient
from faultwave.gradients.misfits import WaveformMisfit
from faultwave.run import simulate
from tests.messages import raises
from tests.run.launch import launch

INTERVAL = 2e-4
"""Interval of the central differences relative to the scale of a parameter: no place crosses a point of the grid."""
MATERIAL = {"expression": {"rho": "2700 + 0.2 * x", "vp": "3464 + 0.3 * y - 0.2 * z", "vs": "2000 - 0.4 * z"}}
GAUSSIAN = {"kind": "gaussian", "duration": 0.06}
MOMENT = [
    "sources[0].location[0]", "sources[0].location[2]", "sources[0].tensor.xx", "sources[0].tensor.xy",
    "sources[0].time_function.duration",
]  # fmt: skip
FORCE = ["sources[1].location[1]", "sources[1].force[0]", "sources[1].force[2]", "sources[1].time_function.duration"]


def shaking(**changes):
    """A moment tensor just below the free surface and a force, two receivers, varied material, absorbing sides."""
    made = {
        "engine": "fd", "end_time": 0.6, "material": MATERIAL, "numerics": {"precision": "double"},
        "grid": {"lower": [0, 0, -1000], "upper": [1200, 1300, 0], "spacing": 100.0, "absorbing": {"width": 4}},
        "sources": [
            {"kind": "moment-tensor", "location": [710.0, 610.0, -135.0], "time_function": GAUSSIAN,
             "tensor": {"xx": 4e14, "yy": -1e14, "zz": 2e14, "xy": 1e15, "yz": -3e14, "xz": 5e14}},
            {"kind": "force", "location": [530.0, 710.0, -320.0], "force": [5e11, 9e11, -4e11],
             "time_function": {"kind": "gaussian", "duration": 0.07}},
        ],
        "output": {"receivers": {"points": [[420.0, 830.0, 0.0], [760.0, 450.0, -310.0]], "interval": 0.01}},
    }  # fmt: skip
    made = copy.deepcopy(made)
    for path, value in changes.items():
        set_value(made, location_of(path.replace("__", ".")), value)
    return made


def seismograms(made, values):
    made = copy.deepcopy(made)
    for path, value in values.items():
        set_value(made, location_of(path), float(value))
    receivers = simulate(made).run(write=False).receivers
    return receivers["time"], np.stack([receivers.quantity(f"v{n}").T for n in (1, 2, 3)], 1)


def assert_differences_agree(made, misfit, found, tolerance, interval=INTERVAL, least=1e-3):
    """Compare the derivative along one random direction of all parameters with a fourth-order difference."""
    rng = np.random.default_rng(0)
    start = np.array([p.value for p in found.parameters])
    direction = rng.choice([-1.0, 1.0], len(start)) * [p.scale for p in found.parameters]
    contributions = found.vector * direction
    assert np.abs(contributions).min() > least * np.abs(contributions).max(), "a parameter has no weight in the test"

    def value(offset):
        values = start + offset * interval * direction
        return misfit.evaluate(*seismograms(made, {p.path: v for p, v in zip(found.parameters, values, strict=True)}))[
            0
        ]

    near, far = value(1) - value(-1), value(2) - value(-2)
    expected = (8 * near - far) / (12 * interval)
    assert abs(contributions.sum() - expected) <= tolerance * np.abs(contributions).max()


def distorted(velocity):
    """Data that differ from seismograms by a factor and a delay."""
    return 0.7 * velocity + 0.3 * np.roll(velocity, 3, -1)


AT_REST = ("s_xx", "s_yy", "s_zz", "s_xy", "s_yz", "s_xz")
SEA = {"rho": "if (z > -150) { return 1000; } return 2700;", "vp": "if (z > -150) { return 1500; } return 3464;",
       "vs": "if (z > -150) { return 0; } return 2000;"}  # fmt: skip
CASES = {
    "absorbing": {},
    "rigid": {"grid__boundaries": {"x": "rigid", "y": "periodic", "z-": "rigid", "z+": "free-surface"}},
    "attenuating": {"attenuation": {}, "material": {"expression": MATERIAL["expression"] | {"Qp": "50 + 0.01 * x", "Qs": "40"}}},
    "order 8": {"grid__order": 8, "grid__time_dispersion": "keep"},
    "hill": {
        "grid__lower": [0, 0, -1800], "grid__upper": [1200, 1300, 200],
        "grid__topography": {"expression": "60 * sin(x / 150)", "receivers": "depth", "sources": "depth"},
    },
    "sea": {"material": {"expression": SEA}, "sources[0].location[2]": -420.0},
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_differences_of_runs(name):
    made = shaking(**CASES[name])
    _, velocity = seismograms(made, {})
    misfit = WaveformMisfit(distorted(velocity))
    found = gradient(made, misfit, [*MOMENT, *FORCE])
    assert np.array_equal(found.velocity, velocity) and found.value == misfit.evaluate(found.time, velocity)[0]
    assert_differences_agree(made, misfit, found, 1e-7)


def test_a_double_couple_in_blocks_of_different_spacing():
    """Angles and magnitude of a source below the face, receivers above it."""
    double = {"kind": "double-couple", "location": [1630.0, 1510.0, -1520.0], "strike": 40.0, "dip": 60.0, "rake": 30.0,
              "magnitude": 4.0, "time_function": {"kind": "gaussian", "duration": 0.12}}  # fmt: skip
    sides = dict.fromkeys(("x", "y", "z-"), "rigid") | {"z+": "free-surface"}
    made = shaking(
        grid__lower=[0, 0, -3900], grid__upper=[3000, 3000, 0], grid__boundaries=sides, end_time=1.5, sources=[double]
    )
    made["grid"]["blocks"] = [{"below": 1200.0, "spacing": 300.0}]
    made["output"]["receivers"]["points"] = [[1350.0, 1750.0, 0.0]]
    _, velocity = seismograms(made, {})
    misfit = WaveformMisfit(distorted(velocity))
    paths = [f"sources[0].{name}" for name in ("strike", "dip", "rake", "magnitude", "location[0]", "location[2]")]
    found = gradient(made, misfit, paths)
    assert found.parameters[0].unit == "deg" and found.parameters[3].unit == ""
    assert_differences_agree(made, misfit, found, 1e-7)


def test_a_vertical_fault(monkeypatch):
    """A dip of 90 degrees is the end of its range; a larger one is a smaller one of the plane seen from its other side."""
    made = shaking()
    double = {"kind": "double-couple", "strike": 40.0, "dip": 90.0, "rake": 30.0, "magnitude": 4.0}
    made["sources"] = [double | {"location": [710.0, 610.0, -135.0], "time_function": GAUSSIAN}]
    _, velocity = seismograms(made, {})
    misfit = WaveformMisfit(distorted(velocity))
    found = gradient(made, misfit, ["sources[0].dip"]).vector[0]

    def value(offset):
        other = {"sources[0].strike": 220.0, "sources[0].rake": -30.0} if offset > 0 else {}
        return misfit.evaluate(*seismograms(made, other | {"sources[0].dip": 90.0 - 0.1 * abs(offset)}))[0]

    near, far = value(1) - value(-1), value(2) - value(-2)
    assert found == pytest.approx((8 * near - far) / 1.2, rel=1e-7)
    monkeypatch.setattr(parameters, "FRACTION", 10.0)
    with raises(InputError):
        gradient(made, misfit, ["sources[0].dip"])


def test_single_precision():
    made = shaking(numerics={"precision": "single"})
    _, velocity = seismograms(shaking(), {})
    misfit = WaveformMisfit(distorted(velocity))
    single, double = gradient(made, misfit, [*MOMENT, *FORCE]), gradient(shaking(), misfit, [*MOMENT, *FORCE])
    scale = [p.scale for p in single.parameters]
    assert np.abs((single.vector - double.vector) * scale).max() < 2e-3 * np.abs(double.vector * scale).max()


def test_parameters_with_values_and_a_descent():
    """Values replace settings of the case; a few steps of L-BFGS recover a tensor and a time from seismograms."""
    from scipy.optimize import minimize

    made = shaking()
    del made["sources"][1]
    true = {"sources[0].tensor.xy": 1.4e15, "sources[0].tensor.zz": -1e14, "sources[0].location[0]": 740.0}
    _, data = seismograms(made, true)
    scale, start = np.array([1e15, 1e15, 100.0]), np.array([1.0, 0.2, 7.1])
    misfit = WaveformMisfit(data, 1 / np.abs(data).max())

    def objective(x):
        found = gradient(made, misfit, dict(zip(true, x * scale, strict=True)))
        return found.value, found.vector * scale

    found = minimize(objective, start, jac=True, method="L-BFGS-B", tol=1e-14)
    assert found.fun < 1e-9 and np.allclose(found.x * scale, list(true.values()), rtol=1e-3, atol=1e11)


def test_a_perfect_fit_has_no_gradient():
    made = shaking()
    _, velocity = seismograms(made, {})
    found = gradient(made, WaveformMisfit(velocity), [*MOMENT, *FORCE])
    assert found.value == 0.0 and not found.vector.any()
    assert str(found).splitlines()[:2] == ["misfit 0; derivatives:", "  sources[0].location[0] = 710 m: 0 /m"]


@pytest.mark.mpi
def test_processes(tmp_path):
    """The same derivatives in every process."""
    case = shaking()
    body = "from faultwave.gradients.gradient import gradient as g; from faultwave.gradients.misfits import WaveformMisfit as W"
    body += f"; d = g(case, W(0.0 * __import__('numpy').zeros((2, 3, 61))), {[*MOMENT, *FORCE]}).vector"
    body += "; from faultwave.comm import world; np.save(extra['to'] + str(world().rank) + '.npy', d); sys.exit()"
    found = []
    for ranks in (1, 2):
        done = launch(ranks, case, setup=body, extra={"to": str(tmp_path / f"{ranks}-")})
        assert done.returncode == 0, done.stderr
        found += [np.load(tmp_path / f"{ranks}-{rank}.npy") for rank in range(ranks)]
    assert np.abs(found[0]).min() > 0 and np.array_equal(found[1], found[2])
    assert np.abs(found[1] / found[0] - 1).max() < 1e-10


def test_cases_without_gradients():
    misfit = WaveformMisfit(np.zeros((2, 3, 61)))
    for changes in (
        {"sources": [], "output": {}},
        {"grid__order": 8, "output__receivers__rotation": True},
        {
            "engine": "dg",
            "grid": None,
            "mesh": {
                "generate": {"shape": "box", "lower": [0, 0, -1500], "upper": [1500, 1600, 0], "cells": [2, 2, 2]}
            },
        },
        {
            "plasticity": {
                "parameters": {
                    "constant": {"bulk_friction": 0.5, "plastic_cohesion": 1e6} | dict.fromkeys(AT_REST, -1e6)
                }
            }
        },
    ):
        with raises(InputError):
            gradient(shaking(**changes), misfit, MOMENT)


@pytest.mark.parametrize(
    "paths",
    [
        [],
        ["end_time"],
        ["sources[0].location"],
        ["sources[0].location[3]", "sources[4].location[0]", "sources[4].location[0]"],
        ["sources[0].tensor.xz_", "sources[0].kind", "sources[0].time_function.durations"],
        {"sources[0].location[2]": 400.0},
        {f"sources[1].force[{n}]": 0.0 for n in range(3)},
        {"sources[0].location[2]": -50.0, "sources[0].tensor.yx": 1.0},
        "sources[0].onset",
        {"sources[0].onset": "0.1 s"},
    ],
)
def test_settings_that_are_no_parameters(paths):
    with raises(InputError):
        gradient(shaking(), WaveformMisfit(np.zeros((2, 3, 61))), paths)


def test_misfits_that_cannot_be_used():
    class Broken:
        def __init__(self, value, derivatives):
            self.result = value, derivatives

        def evaluate(self, time, velocity):
            return self.result

    for made in (
        Broken(1.0, np.zeros((2, 3))),
        Broken(float("nan"), np.zeros((2, 3, 61))),
        WaveformMisfit(np.zeros((1, 3, 61))),
        WaveformMisfit(np.full((2, 3, 61), np.inf)),
    ):
        with raises(InputError):
            gradient(shaking(), made, MOMENT)


def test_too_little_memory(monkeypatch):
    monkeypatch.setattr(module, "machine_memory", lambda: 1e5)
    with raises(InputError):
        gradient(shaking(), WaveformMisfit(np.zeros((2, 3, 61))), MOMENT)
