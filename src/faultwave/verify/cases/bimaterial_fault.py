"""Plane shear on a bimaterial fault of constant strength: traction and slip rate against the exact solution.

The column is periodic along the fault, so the problem is one-dimensional. From the strength on, the fault is loaded by a
smooth step, a nucleation episode, in both directions of slip and with either side as plus, or by a Gaussian pulse that
arrives through the softer side. A load that jumps is judged by its slip only: the jump excites oscillations in the elements
next to the fault, which last for some steps and cancel in the slip.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultwave.base.types import Settings
from faultwave.verify import meshes, setups
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_most
from faultwave.verify.exact import Array, Medium
from faultwave.verify.exact.bimaterial_fault import BimaterialFault, Step

STIFF, SOFT = Medium(2670.0, 3.2044e10, 3.2038e10), Medium(2400.0, 1.1e10, 1.2e10)
FRICTION, NORMAL = 0.6, -100e6
STRENGTH, RISE = -FRICTION * NORMAL, 10e6
EDGE = 125.0
LIMIT, JUMP_LIMIT = 1e-3, 2e-3
POINTS = [[10.0, 0.0, 20.0], [-100.0, 0.0, 65.0]]


@dataclass(frozen=True)
class Load:
    """Load that takes the fault from its strength to ``RISE`` beyond; the medium is soft below y = 0 and stiff above.

    Attributes
    ----------
    label : str
        Name in the table.
    bricks : int
        Number of bricks along y.
    end_time : float
        End of the run [s].
    duration : float
        Duration of the smooth step or of the pulse [s]; 0 for a jump.
    sign : int
        Direction of slip.
    plus : int
        Sign of y on the plus side.
    incident : bool
        True if a pulse from below loads the fault instead of a stress on it.
    """

    label: str
    bricks: int
    end_time: float
    duration: float
    sign: int = 1
    plus: int = -1
    incident: bool = False

    @property
    def exact(self) -> BimaterialFault:
        level, rise = self.sign * STRENGTH, self.sign * RISE
        if not self.incident:
            return BimaterialFault(STIFF, SOFT, STRENGTH, Step(level, rise, self.duration))
        still = BimaterialFault(STIFF, SOFT, STRENGTH, Step(level))
        peak, width = -rise / (2 * still.eta), self.duration / 10

        def pulse(t: Array) -> Array:
            return np.asarray(peak * np.exp(-0.5 * ((np.asarray(t) - 0.5 * self.duration) / width) ** 2))

        return BimaterialFault(STIFF, SOFT, STRENGTH, Step(level), pulse)


LOADS = (
    Load("stress, right-lateral", 8, 0.4, 0.4),
    Load("stress, left-lateral, sides swapped", 8, 0.4, 0.4, sign=-1, plus=1),
    Load("incident pulse", 24, 0.6, 0.6, incident=True),
)
JUMP = Load("jump", 8, 0.4, 0.0)


def case_settings(mesh: Settings, order: int, load: Load) -> Settings:
    """Return the case of the column with its fault.

    Strike is +x seen from y < 0, so positive slip is the displacement above minus the one below.
    """
    jump = load.duration == 0
    start = load.sign * (STRENGTH + RISE * jump)
    values = {"mu_s": FRICTION, "mu_d": FRICTION, "d_c": 0.4, "cohesion": 0.0, "T_n": NORMAL, "T_s": start, "T_d": 0.0}
    fault: Settings = {
        "friction": "linear-slip-weakening",
        "parameters": {"constant": values},
        "reference": (0.0, float(load.plus), 0.0),
    }
    if not load.incident and not jump:
        rise = {"constant": {"Tnuc_n": 0.0, "Tnuc_s": load.sign * RISE, "Tnuc_d": 0.0}}
        fault["nucleation"] = [{"duration": load.duration, "stress": rise}]
    upper, lower = STIFF.parameters(), SOFT.parameters()
    material = {
        "expression": {
            name: f"if (y > 0.0) {{ return {upper[name]:.1f}; }} return {lower[name]:.1f};" for name in upper
        }
    }
    output = {"fault_receivers": {"points": POINTS}}
    return setups.settings("elastic", mesh, material, load.end_time, order, fault=fault, output=output)


def histories(order: int, load: Load) -> tuple[Array, dict[str, Array]]:
    """Return the times (nt,) after 0 and the columns by name (nt, receivers)."""
    with meshes.as_setting(meshes.fault_column((3, load.bricks, 3), EDGE)) as mesh:
        data = setups.started(case_settings(mesh, order, load), load.exact).run(write=False).fault_receivers
    time = data.variables["time"].data[:, 0]
    later = np.isfinite(time) & (time > 0)
    values = data.variables["values"].data[later]
    return time[later], {name: values[:, :, i] for i, name in enumerate(data.attrs["quantities"])}


def deviations(order: int, load: Load) -> dict[str, float]:
    """Return the largest deviations over all samples and points, relative to strength, peak slip rate and final slip."""
    solution = load.exact
    time, columns = histories(order, load)
    rate, slip = solution.slip_rate(time)[:, None], solution.slip(time, load.end_time / 20)[:, None]
    peak = float(np.abs(rate).max())
    return {
        "traction": float(np.abs(columns["Ts0"] - solution.traction(time)[:, None]).max() / STRENGTH),
        "slip rate": float(np.abs(columns["SRs"] - rate).max() / peak),
        "slip": float(np.abs(columns["Sls"] - slip).max() / np.abs(slip).max()),
        "slip rate along dip": float(np.abs(columns["SRd"]).max() / peak),
        "traction along dip": float(np.abs(columns["Td0"]).max() / STRENGTH),
    }


def run(progress: Progress, order: int = 4) -> Result:
    """Judge smooth loads point by point, the jump by its slip."""
    rows: list[Row] = []
    for load in LOADS:
        progress(load.label)
        found = deviations(order, load)
        rows += [at_most(f"O={order} {load.label}: {name}", value, LIMIT) for name, value in found.items()]
    progress(JUMP.label)
    found = deviations(order, JUMP)
    rows.append(at_most(f"O={order} {JUMP.label}: slip", found["slip"], JUMP_LIMIT))
    note = f"after a jump of the load the slip rate oscillates, at most by {found['slip rate']:.3f} of its value"
    return Result(tuple(rows), (note,))


BIMATERIAL = VerificationCase(
    "bimaterial-fault", "plane shear on a bimaterial fault, exact traction and slip", run, 1.0
)
