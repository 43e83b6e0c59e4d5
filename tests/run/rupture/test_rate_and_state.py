"""Rate and state on a mesh: every law slips, what is resampled, what is told of misspelt names and of lost balance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.dg.fault.probe import FaultProbe
from faultwave.dg.fault.values import ReadingMode
from faultwave.physics import friction as faults
from faultwave.run import simulate

from .setup import difference, patch, run, settings

LAWS = {
    "rate-and-state-ageing": {"rs_a": 0.008, "rs_sl0": 0.02},
    "rate-and-state-slip": {"rs_a": 0.008, "rs_sl0": 0.02},
    "severe-velocity-weakening": {"rs_a": 0.005, "rs_sl0": 0.2, "rs_b": 0.35},
    "strong-velocity-weakening": {"rs_a": 0.01, "rs_sl0": 0.4, "rs_srW": 0.1, "rs_b": 0.014, "rs_muw": 0.2},
}
SLOW = {"rs_f0": 0.6, "rs_b": 0.012, "rs_sr0": 1e-6, "rs_ini_slip_rate": 1e-12}
CONSTANTS = {
    "severe-velocity-weakening": {"rs_sr0": 0.1, "rs_f0": 0.8},
    "strong-velocity-weakening": {"rs_ini_slip_rate": 1e-16},
}


def fault(law: str, constants: dict[str, float] | None = None, **values: float) -> dict[str, Any]:
    given = LAWS[law] | {"T_n": -120e6, "T_s": 75e6, "T_d": 0.0} | values
    nucleation = {"constant": {"Tnuc_n": 0.0, "Tnuc_d": 0.0}, "expression": {"Tnuc_s": patch(40e6, 0.0)}}
    return {
        "friction": law, "reference": (0.0, -1000.0, 0.0), "parameters": {"constant": given},
        "constants": SLOW | CONSTANTS.get(law, {}) | (constants or {}), "nucleation": [{"duration": 0.1, "stress": nucleation}],
    }  # fmt: skip


@pytest.mark.parametrize("law", LAWS)
def test_every_law_slips_and_keeps_balance(tmp_path: Any, law: str) -> None:
    """Rupture in the patch; single precision runs tell the same; friction stays double there."""
    double = run(settings(tmp_path, fault(law), end_time=0.2, position="nearest"))
    record = double.sim.solver.parts["rupture"].fault.record()
    assert record["slip_rate"].max() > 0.03 and record["unconverged"].max() == 0
    assert not [w for w in double.sim.warnings if "balance" in w.what]
    shear = [record[f"stress{i}"] + record[f"traction{i}"] for i in (1, 2)]
    assert np.hypot(*shear) == pytest.approx(record["strength"], rel=1e-9)
    assert np.isfinite(record["state"]).all()
    single = run(settings(tmp_path, fault(law), end_time=0.2, position="nearest", numerics={"precision": "single"}))
    for name in ("SRs", "Sls", "Ts0", "Mud"):
        assert difference(single[name], double[name]) < 1e-4, name


@pytest.mark.parametrize("law", ["strong-velocity-weakening", "rate-and-state-ageing"])
def test_what_a_step_changes_is_resampled(tmp_path: Any, law: str) -> None:
    """Where the law says so, the state changes by polynomials of the face; elsewhere point by point."""
    sim = simulate(settings(tmp_path, fault(law), end_time=0.2), force=True)
    part = sim.plan.part("rupture")
    sim.run(write=False)
    change = sim.solver.parts["rupture"].fault.record()["state"] - part.state["state"]
    rest = change - change @ part.rule.projection(part.order - 1).T
    ratio = np.abs(rest).max() / np.abs(change).max()
    resampled = faults.law(law).resampled == ("state",)
    assert resampled == (law == "strong-velocity-weakening")
    assert ratio < 1e-10 if resampled else ratio > 1e-3


def test_names_that_differ_by_case_are_told(tmp_path: Any) -> None:
    """Not read they would leave the constant in force."""
    wrong = fault("strong-velocity-weakening")
    wrong["parameters"]["constant"] |= {"RS_MUW": 0.1, "Rs_f0": 0.7}
    with pytest.raises(InputError) as caught:
        simulate(settings(tmp_path, wrong))
    text = str(caught.value)
    assert "does not read 'RS_MUW'. Write rs_muw" in text and "does not read 'Rs_f0'. Write rs_f0" in text
    bound = fault("strong-velocity-weakening")
    del bound["parameters"]["constant"]["rs_b"]
    bound["parameters"]["constant"] |= {"RS_f0": 0.55, "RS_b": 0.016}
    plan = simulate(settings(tmp_path, bound)).plan.part("rupture")
    assert (plan.parameters["rs_f0"] == 0.55).all() and (plan.parameters["rs_b"] == 0.016).all()


def test_nan_in_a_field_is_told_with_its_place(tmp_path: Any) -> None:
    wrong = fault("strong-velocity-weakening")
    wrong["parameters"]["expression"] = {"rs_f0": "return 0.6 + 0 * sqrt(x);"}
    with pytest.raises(InputError, match=r"fault point \(-[0-9.]+, 0, .*rs_f0 is nan \(and at [0-9]+ more points\)"):
        simulate(settings(tmp_path, wrong))


def test_lost_balance_and_missing_shear_are_told(tmp_path: Any) -> None:
    case = settings(tmp_path, fault("rate-and-state-ageing", {"rs_slip_rate_updates": 1}), end_time=0.1)
    sim = simulate(case, force=True).run()
    (warning,) = [w for w in sim.warnings if "without balance" in w.what]
    count = sim.solver.parts["rupture"].fault.record()["unconverged"].sum()
    assert warning.what.startswith(f"{count:,.0f} sub-steps") and count > 0
    case = settings(tmp_path, fault("rate-and-state-ageing", T_s=0.0))
    assert [w for w in simulate(case, force=True).warnings if "no initial shear traction" in w.what]


def test_a_state_of_many_decades_stays_positive_between_points(tmp_path: Any) -> None:
    """A front within a face leaves 1e9 s on one side and seconds on the other: polynomials through them pass below zero, those through
    their logarithms do not."""
    sim = simulate(settings(tmp_path, fault("rate-and-state-ageing"), numerics={"order": 4}))
    here, x = sim.solver.parts["rupture"].fault, sim.plan.part("rupture").positions
    local = np.array([[0.21, 0.33], [0.05, 0.9], [0.02, 0.03], [0.95, 0.03]])
    probe = FaultProbe(here, np.arange(len(here.faces.area)), local, ReadingMode(exact=True))
    column = list(here.state_columns).index("state")

    def read(states: np.ndarray) -> np.ndarray:
        data = here.buffers["state"].get(here.item)
        data[..., column] = states
        here.buffers["state"].put(data, here.item)
        return probe.read(["StV"])["StV"]

    def smooth(p: np.ndarray) -> np.ndarray:
        return 10.0 ** (5.0 + (p[..., 0] / 1500.0) ** 3 - 2.0 * p[..., 2] / 3000.0)

    np.testing.assert_allclose(read(smooth(x)), smooth(here.faces.positions(local)), rtol=1e-9)
    assert read(np.where(x[..., 0] > x[..., 0].mean(1, keepdims=True), 1e9, 1.0)).min() > 0.0
