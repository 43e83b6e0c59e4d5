"""Plane shear on a bimaterial fault of constant strength: traction and slip rate against the exact ones.

The column is periodic along the fault, so the problem is one-dimensional. The fault is overstressed either at once or
by a smooth nucleation episode; both directions of slip.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from faultwave.verify import meshes, setups
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_most
from faultwave.verify.exact.bimaterial_fault import BimaterialFault, Step
from faultwave.verify.exact.medium import Array, Medium

STIFF, SOFT = Medium(2670.0, 3.2044e10, 3.2038e10), Medium(2400.0, 1.1e10, 1.2e10)
FRICTION, NORMAL = 0.6, -100e6
STRENGTH = -FRICTION * NORMAL
EDGE, END, RAMP = 250.0, 0.5, 0.25
LIMIT = 1e-3


def exact(sign: int, duration: float) -> BimaterialFault:
    """Stiff above (y > 0), soft below; loaded from 40 MPa (or at once) to 70 MPa against 60 MPa strength."""
    load = Step(sign * 70e6) if duration == 0 else Step(sign * 40e6, sign * 30e6, duration)
    return BimaterialFault(STIFF, SOFT, STRENGTH, load)


def case_settings(mesh: dict[str, Any], order: int, sign: int, duration: float) -> dict[str, Any]:
    """The column with its fault; plus is the side y < 0, so that strike is +x and slip is above minus below."""
    start = sign * (70e6 if duration == 0 else 40e6)
    values = {"mu_s": FRICTION, "mu_d": FRICTION, "d_c": 0.4, "cohesion": 0.0, "T_n": NORMAL, "T_s": start, "T_d": 0.0}
    fault: dict[str, Any] = {
        "friction": "linear-slip-weakening",
        "parameters": {"constant": values},
        "reference": (0.0, -1.0, 0.0),
    }
    if duration:
        rise = {"constant": {"Tnuc_n": 0.0, "Tnuc_s": sign * 30e6, "Tnuc_d": 0.0}}
        fault["nucleation"] = [{"duration": duration, "stress": rise}]
    upper, lower = STIFF.parameters(), SOFT.parameters()
    material = {
        "expression": {
            name: f"if (y > 0.0) {{ return {upper[name]:.1f}; }} return {lower[name]:.1f};" for name in upper
        }
    }
    points = [[10.0, 0.0, 20.0], [-200.0, 0.0, 130.0]]
    return setups.settings(
        "elastic", mesh, material, END, order, fault=fault, output={"fault_receivers": {"points": points}}
    )


def histories(order: int, sign: int, duration: float) -> tuple[Array, dict[str, Array]]:
    """Times (nt,) after 0 and columns by name (nt, receivers)."""
    with meshes.as_setting(meshes.fault_column((3, 20, 3), EDGE)) as mesh:
        data = setups.started(case_settings(mesh, order, sign, duration)).run(write=False).fault_receivers
    time = data.variables["time"].data[:, 0]
    later = np.isfinite(time) & (time > 0)
    values = data.variables["values"].data[later]
    return time[later], {name: values[:, :, i] for i, name in enumerate(data.attrs["quantities"])}


def run(progress: Progress, order: int = 4) -> Result:
    """Largest deviation over all samples, relative to strength and to the final slip rate."""
    rows: list[Row] = []
    for label, duration in (("at once", 0.0), ("ramp", RAMP)):
        for sign in (1, -1):
            progress(f"loaded {label}, sign {sign:+d}")
            solution = exact(sign, duration)
            time, columns = histories(order, sign, duration)
            peak = float(np.abs(solution.slip_rate(np.array([END]))).max())
            traction = np.abs(columns["Ts0"] - solution.traction(time)[:, None]).max() / STRENGTH
            slip_rate = np.abs(columns["SRs"] - solution.slip_rate(time)[:, None]).max() / peak
            across = max(np.abs(columns["SRd"]).max() / peak, np.abs(columns["Td0"]).max() / STRENGTH)
            what = f"O={order} {label}, {'right' if sign > 0 else 'left'}-lateral"
            rows.append(at_most(f"{what}: traction", float(traction), LIMIT))
            rows.append(at_most(f"{what}: slip rate", float(slip_rate), LIMIT))
            rows.append(at_most(f"{what}: dip components", float(across), LIMIT))
    return Result(tuple(rows))


BIMATERIAL = VerificationCase(
    "bimaterial-fault", "plane shear on a bimaterial fault, exact traction and slip", run, 1.0
)
