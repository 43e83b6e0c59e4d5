"""Faults with fluids for the tests, on the mesh of ``setup``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .setup import patch, settings, slip_weakening

HEAT_CAPACITY, WIDTH, START = 2.7e6, 0.02, 480.0
ROCK = {"tp_thermal_diffusivity": 1e-6, "tp_heat_capacity": HEAT_CAPACITY, "tp_undrained_response": 1e5,
        "tp_initial_temperature": START, "tp_initial_pressure": 0.0}  # fmt: skip
FIELDS = ["SRs", "T_s", "P_n", "Pn0", "Ts0", "Td0", "Sls", "Mud", "StV", "PSR", "P_f", "Tmp"]

SLOW = {"rs_f0": 0.6, "rs_b": 0.014, "rs_sr0": 1e-6, "rs_ini_slip_rate": 1e-16, "rs_muw": 0.2}


def heated(**more: Any) -> dict[str, Any]:
    """Strong velocity weakening under thermal pressurisation, in the manner of TPV105; nucleation is by 40 MPa in 0.15 s."""
    values = {"rs_a": 0.01, "rs_sl0": 0.4, "rs_srW": 0.1, "tp_half_width": WIDTH, "tp_hydraulic_diffusivity": 4e-4,
              "T_n": -60e6, "T_s": 25e6, "T_d": 0.0}  # fmt: skip
    stress = {"constant": {"Tnuc_n": 0.0, "Tnuc_d": 0.0}, "expression": {"Tnuc_s": patch(40e6, 0.0)}}
    return {
        "friction": "strong-velocity-weakening", "modifiers": ["thermal-pressurisation"], "reference": (0.0, -1000.0, 0.0),
        "parameters": {"constant": values}, "constants": {**SLOW, **ROCK},
        "nucleation": [{"duration": 0.15, "stress": stress}], **more,
    }  # fmt: skip


def delayed(**more: Any) -> dict[str, Any]:
    constants = {"pc_reference_rate": 1.0, "pc_length": 0.01}
    return slip_weakening(modifiers=["prakash-clifton"], constants=constants, **more)


def pressed_and_heated() -> dict[str, Any]:
    """Both modifiers on a law of slip weakening."""
    fault = delayed(values={"tp_half_width": WIDTH, "tp_hydraulic_diffusivity": 1e-4})
    fault["modifiers"] = ["thermal-pressurisation", "prakash-clifton"]
    return {**fault, "constants": {**fault["constants"], **ROCK}}


FAULTS = {"rate and state": heated, "slip weakening": pressed_and_heated}


def case(path: Path, fault: dict[str, Any], **more: Any) -> dict[str, Any]:
    made = settings(path, fault, numerics={"order": 2, **more.pop("numerics", {})}, **more)
    made["output"]["fault_receivers"]["fields"] = FIELDS
    return made
