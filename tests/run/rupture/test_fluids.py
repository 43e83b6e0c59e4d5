"""Fluids in the fault on a mesh: pore pressure, thermal pressurisation, delayed strength."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError, RunError
from faultwave.dg.fault.faces import Fault
from faultwave.dg.fault.probe import FaultProbe
from faultwave.dg.fault.values import ReadingMode
from faultwave.run import simulate

from .fluids import FAULTS, HEAT_CAPACITY, ROCK, SLOW, START, WIDTH, case, delayed, heated
from .setup import run, slip_weakening


def test_slip_heats_the_fault_and_pressure_relieves_it(tmp_path: Path) -> None:
    hot = run(case(tmp_path, heated(), end_time=0.4, position="nearest"))
    cold_fault = heated()
    cold_fault["constants"] = {**cold_fault["constants"], "tp_undrained_response": 0.0}
    cold = run(case(tmp_path, cold_fault, end_time=0.4, position="nearest"))
    record = hot.sim.solver.parts["rupture"].fault.record()
    moving = record["accumulated_slip"] > 0.02
    assert moving.sum() > 50 and record["unconverged"].max() == 0
    # Heat diffuses a millimetre: the temperature is that of the heat made, traction times slip.
    traction = np.hypot(record["traction1"] + record["stress1"], record["traction2"] + record["stress2"])
    rise = record["temperature"] - START
    made = record["accumulated_slip"] * traction / (HEAT_CAPACITY * WIDTH * np.sqrt(2 * np.pi))
    assert (rise[moving] > 0.6 * made[moving]).all() and (rise[moving] < 8.0 * made[moving]).all()
    assert (record["tp_pressure"][moving] < -1e4).all() and (record["tp_pressure"] <= 0).all()
    # Outputs: the effective normal traction, pressure with the sign of stress.
    assert hot["Tmp"][0].tolist() == [START] * 4 and (hot["P_f"][0] == 0).all() and np.isfinite(hot["Tmp"]).all()
    assert np.allclose(hot["Pn0"], -60e6 + hot["P_n"], rtol=1e-12)
    assert hot["P_f"][-1].min() < -1e5 and (hot["P_n"][-1] + hot["P_f"][-1]).max() < 30e6
    slipping = hot["SRs"][-1] > 0.1
    assert slipping.any()
    limit = -hot["Mud"][-1] * hot["Pn0"][-1]
    shear = np.hypot(hot["Ts0"][-1], hot["Td0"][-1])
    assert np.allclose(shear[slipping], limit[slipping], rtol=1e-9)
    # With pressure the fault weakens further and slips more.
    assert (
        record["accumulated_slip"].sum()
        > 1.02 * cold.sim.solver.parts["rupture"].fault.record()["accumulated_slip"].sum()
    )


@pytest.mark.parametrize("kind", list(FAULTS))
def test_stopped_in_the_middle_and_resumed(tmp_path: Path, kind: str) -> None:
    """Spectra, pressure and delayed strength come back from a checkpoint: the same bits."""

    def asked(name: str) -> dict[str, Any]:
        output = {"folder": str(tmp_path / name), "checkpoint": {"interval": 0.05}}
        return case(tmp_path, FAULTS[kind](), end_time=0.4, output=output)

    whole = simulate(asked("whole"), force=True).run()
    stopped = simulate(asked("parts"), force=True)
    with pytest.raises(RunError, match="interrupted"):
        stopped.run(progress=lambda p: signal.raise_signal(signal.SIGTERM) if p.time > 0.2 else None)
    again = fw.resume(tmp_path / "parts")
    fault = again.solver.parts["rupture"].fault
    before, spectra = fault.record(), fault.state_of("inner_state")
    assert 0.2 < again.time < 0.4 and np.abs(spectra).max() > 0
    again.run()
    end = [sim.solver.parts["rupture"].fault for sim in (whole, again)]
    np.testing.assert_array_equal(*(fault.state_of("inner_state") for fault in end))
    want, found = (fault.record() for fault in end)
    assert want["tp_pressure"].min() < 1.2 * before["tp_pressure"].min()
    for name, values in want.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


def test_checkpoints_of_other_friction_state_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As those from before a version kept other numbers of heat: told is which."""
    output = {"folder": str(tmp_path / "out"), "checkpoint": {"interval": 0.02}}
    simulate(case(tmp_path, heated(), end_time=0.05, output=output), force=True).run()
    names = Fault.column_names
    now = lambda self: {**names(self), "inner_state": ("spectrum", "spectrum")}  # noqa: E731
    monkeypatch.setattr(Fault, "column_names", now)
    with pytest.raises(
        InputError, match=r"version of Faultwave; it lacks spectrum; it holds past_heating(.|\n)*Start the run again"
    ):
        fw.resume(tmp_path / "out")


def test_readings_leave_out_what_no_output_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past heating is 42 of the 54 numbers of a point. Neither readings nor the bound of the fault's work bring them to the host."""
    sim = run(case(tmp_path, FAULTS["rate and state"](), end_time=0.2)).sim
    fault = sim.solver.parts["rupture"].fault
    points, faces = len(fault.rule.weights), len(fault.faces.area)
    assert fault.law.inner_columns.size == 42 and fault.state_columns.size + 42 == fault.law.state_columns.size
    probe = FaultProbe(fault, np.arange(faces), np.array([[0.2, 0.3]]), ReadingMode())
    dofs = 2 * fault.operator.b3 * 9
    assert probe.sample_buffer.nbytes <= 8 * faces * (
        points * (fault.columns.size + 3 + fault.state_columns.size) + dofs
    )

    slip, loads = fault.record()["accumulated_slip"], np.random.default_rng(0).uniform(1e6, 2e6, (faces - 1, points))
    now = fault.slip_sum(loads)
    monkeypatch.setattr(type(fault.buffers["state"]), "get", lambda *_: pytest.fail("the state is read"))
    assert slip.max() > 0 and now() == pytest.approx((loads * slip[:-1]).sum(), rel=1e-12)


def test_delayed_strength_takes_the_place_of_the_law_s(tmp_path: Path) -> None:
    """Much the same rupture; the traction is that of the delayed strength, which ends as that of the law."""
    at_once, late = (run(case(tmp_path, fault(), end_time=0.6)) for fault in (slip_weakening, delayed))
    a, b = (h.sim.solver.parts["rupture"].fault.record() for h in (at_once, late))
    assert 0.9 < b["accumulated_slip"].sum() / a["accumulated_slip"].sum() < 1.1
    assert b["regularised_strength"].min() > 60e6 and (b["strength"] == b["regularised_strength"]).all()
    weak = b["accumulated_slip"] > 0.5
    assert weak.any() and np.allclose(b["strength"][weak], 0.525 * -(b["stress_n"] + b["traction_n"])[weak], rtol=0.02)


def effective(**values: float) -> dict[str, Any]:
    return slip_weakening(values={"T_n": -120e6, **values})


def test_pore_pressure_relieves_normal_traction(tmp_path: Path) -> None:
    """Total stress with pressure is effective stress: the same bits; likewise what nucleation adds."""
    nuc = {"Tnuc_n": 4e6, "Tnuc_s": 1e6, "Tnuc_d": 0.0}
    total = {"Tnuc_n": -2e6, "Tnuc_s": 1e6, "Tnuc_d": 0.0, "nuc_p": 6e6}
    runs = [
        run(case(tmp_path, {**fault, "nucleation": [{"duration": 0.1, "stress": {"constant": stress}}]}, end_time=0.3))
        for fault, stress in ((effective(), nuc), (effective(T_n=-150e6, p=30e6), total))
    ]
    one, two = (h.sim.solver.parts["rupture"].fault.record() for h in runs)
    for name, values in one.items():
        np.testing.assert_array_equal(two[name], values, err_msg=name)
    assert np.allclose(runs[1]["Pn0"][-1] - runs[1]["P_n"][-1], -116e6, rtol=1e-12)


def test_injection_alone_may_nucleate(tmp_path: Path) -> None:
    """A fault below its strength slips once enough fluid has come; read only where the case reads pore pressure."""
    stress = {"constant": {"nuc2_p": 40e6}}
    fault = effective(T_s=70e6) | {"nucleation": [{"duration": 0.2, "stress": stress, "number": 2}]}
    fault["parameters"] = {"constant": {**fault["parameters"]["constant"], "T_s": 70e6}}
    h = run(case(tmp_path, fault, end_time=0.3))
    assert (h["Pn0"][-1] > -85e6).all() and h["SRs"][-1].min() > 0.1
    with pytest.raises(InputError, match="nucleation stress is missing"):
        simulate(case(tmp_path, {**fault, "pore_pressure": False}), force=True)
    dry = {**fault, "pore_pressure": False, "nucleation": []}
    dry["parameters"] = {"constant": {**fault["parameters"]["constant"], "p": 30e6}}
    assert (run(case(tmp_path, dry, end_time=0.05))["Pn0"][0] == -120e6).all()


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "pressure of the other sign": (effective(p=-30e6), r"fault point .*: p is -3e\+07 .*>= 0 Pa: pore pressure is positive"),
    "a parameter of another law": (
        slip_weakening(values={"rs_a": 0.01}), "fault.parameters.constant.rs_a: 'rs_a' is not a parameter of friction"),
    "a parameter of a modifier that is not there": (
        slip_weakening(values={"tp_half_width": 0.01}), "'tp_half_width' is not a parameter .*Add thermal-pressurisation to"),
    "healing of rate and state": (heated(healing_threshold=0.1), "fault.healing_threshold: has no effect with friction strong"),
    "a constant of another law": (
        delayed() | {"constants": ROCK}, "has no such constant .*Add thermal-pressurisation to fault.modifiers"),
    "nothing said of the rock": (
        heated(constants=SLOW), r"tp_heat_capacity: missing: heat capacity by volume(.|\n)*tp_initial_temperature: missing"),
    "a misspelt constant": (heated(constants=SLOW | ROCK | {"rs_mu": 0.2}), "rs_mu: .*no such constant .*did you mean 'rs_muw'"),
    "nothing said of friction": (
        heated(constants=ROCK), r"(?s)constants.rs_sr0: missing: reference slip rate V0.*constants.rs_ini_slip_rate: missing"
        r".*parameters.rs_f0: missing.*parameters.rs_b: missing.*parameters.rs_muw: missing"),
    "what lacks in three places": (
        {"friction": "severe-velocity-weakening", "reference": (0.0, -1000.0, 0.0), "parameters": {"constant": {"rs_a": 0.01}}},
        r"(?s)constants.rs_sr0: missing.*parameters.rs_sl0: missing.*initial stress is missing"),
    "no reference friction": (
        heated(constants=ROCK | {k: v for k, v in SLOW.items() if k != "rs_f0"}), "parameters.rs_f0: missing: .*fault.constants.rs_f0"),
    "a width of zero": (heated(constants={**heated()["constants"], "tp_heat_capacity": 0.0}), "tp_heat_capacity: is 0"),
    "delayed strength of rate and state": (heated(modifiers=["prakash-clifton"]), "does not work with .*laws of slip weakening"),
    "an unknown modifier": (slip_weakening(modifiers=["prakash"]), "unknown modifier 'prakash'"),
    "the same twice": (slip_weakening(modifiers=["prakash-clifton"] * 2), "pc_length"),
    "a stress that is not a number": (
        slip_weakening(nucleation=[{"stress": {"constant": {"Tnuc_n": 0.0, "Tnuc_d": 0.0},
                                               "expression": {"Tnuc_s": "return 0.0/0.0*x;"}}}]),
        "nucleation stress of episode 1 is nan",
    ),
    "nucleation of imposed slip": (
        {"friction": "imposed-delta", "reference": (0.0, -1000.0, 0.0),
         "parameters": {"constant": {"strike_slip": 1.0, "dip_slip": 0.0, "rupture_onset": 0.1}},
         "nucleation": [{"stress": {"constant": {"Tnuc_n": 0.0, "Tnuc_s": 1e6, "Tnuc_d": 0.0}}}]},
        "fault.nucleation: adds stress, which friction imposed-delta",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault, words", WRONG.values(), ids=list(WRONG))
def test_what_is_wrong_is_told_before_the_run(tmp_path: Path, fault: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        simulate(case(tmp_path, fault), force=True)
