"""Time series of energies, work and moment at multiples of an interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultwave.case.settings.outputs import EnergyOutput
from faultwave.dg.mesh.placement import Planning
from faultwave.dg.operators.wave_field import Energies as FieldEnergies
from faultwave.dg.operators.wave_field import as_isotropic
from faultwave.dg.sampling import ScheduledTable
from faultwave.dg.solver import Solver
from faultwave.engine.capability import CapabilityPlan
from faultwave.engine.energies import EnergyRecorder, Rows

name = "energies"


@dataclass(frozen=True)
class Energies(CapabilityPlan):
    """Plan of the table of energies."""

    setting: EnergyOutput
    name: str = name

    def attach(self, solver: Solver) -> AttachedEnergies:
        return AttachedEnergies(self, solver)


def plan(planning: Planning) -> Energies | None:
    """Return the plan of the table of energies, None if the case has none."""
    setting = planning.case.output.energies
    return Energies(setting) if setting is not None else None


class AttachedEnergies(EnergyRecorder, ScheduledTable):
    """Table of energies attached to a solver."""

    def __init__(self, part: Energies, solver: Solver):
        super().__init__(solver)
        self.setting, self.interval = part.setting, part.setting.interval
        formulas = as_isotropic(solver.operator.law) if part.setting.isotropic else None
        self.isotropic = FieldEnergies(solver.operator, formulas) if formulas is not None else None
        self.schedule()

    def record(self) -> None:
        super().record()
        if self.isotropic is not None:
            now = self.rows[-1][1]
            for key, value in self.solver.sum_over_processes(self.isotropic()).items():
                now |= {key: value, **({f"true_{key}": now[key]} if key in now else {})}
        _add_losses(self.rows)
        self.due = (np.floor(self.solver.time / self.setting.interval + 1e-9) + 1) * self.setting.interval


def _add_losses(rows: Rows) -> None:
    """Return the energy dissipated by attenuation and pore drag until the last row [J], by the trapezoidal rule."""
    time, now = rows[-1]
    for lost in ("attenuation", "drag"):
        power, work = f"{lost}_power", f"{lost}_work"
        if power in now:
            now[work] = 0.0
            if len(rows) > 1:
                begin, before = rows[-2]
                now[work] = before[work] + (time - begin) * (0.5 * (before[power] + now[power]))
