"""Early end of a run when rupture is over or little energy is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from faultwave.case.settings.model import Stop as StopSettings
from faultwave.dg.mesh.placement import Planning
from faultwave.dg.solver import Solver
from faultwave.engine.capability import Callback, Capability, CapabilityPlan, RestoredFrom, State

name = "stop"
AFTER = ("rupture",)

EACH = 20
"""Number of largest steps between two energy checks; a check costs about as much as a step."""


@dataclass(frozen=True)
class Stop(CapabilityPlan):
    """Plan of the conditions that end a run early."""

    setting: StopSettings
    name: str = name

    def attach(self, solver: Solver) -> AttachedStop:
        return AttachedStop(self, solver)


def plan(planning: Planning) -> Stop | None:
    """Return the plan of the conditions that end a run early, None if the case has none."""
    setting = planning.case.stop
    return Stop(setting) if setting.model_dump(exclude_none=True) else None


class AttachedStop(Capability):
    """Conditions that end a run early, attached to a solver."""

    def __init__(self, part: Stop, solver: Solver):
        self.setting, self.solver = part.setting, solver
        self.largest_energy, self.looks = 0.0, 0
        self.quiet_since = np.nan
        self.callbacks = (
            Callback("end of largest step", lambda cluster, time, step: None),
        )  # ``over`` is evaluated there

    def over(self) -> bool:
        return self._rupture_over() or self._energy_gone()

    def _energy_gone(self) -> bool:
        """Return True if all energy is below the given share of its largest value so far."""
        self.looks += 1
        if self.setting.energy_below is None or self.looks % EACH:
            return False
        total = sum(
            v for k, v in self.solver.plan.world.broadcast(self.solver.energies()).items() if k.endswith("energy")
        )
        self.largest_energy = max(self.largest_energy, total)
        return bool(total < self.setting.energy_below * self.largest_energy)

    def _rupture_over(self) -> bool:
        stop, rupture = self.setting, self.solver.parts.get("rupture")
        if stop.time_after_rupture is None:
            return False
        fault, world = rupture.fault if rupture is not None else None, self.solver.plan.world
        fastest = moment = ruptured = 0.0
        if fault is not None:
            record = fault.record()
            fastest, moment, ruptured = (
                float(record["slip_rate"].max()),
                fault.moment_rate(record),
                float(record["ruptured"].any()),
            )
        fastest, ruptured = world.largest([fastest, ruptured])
        moment = world.broadcast(self.solver.sum_over_processes({"rate": moment})["rate"])
        quiet = bool(ruptured)
        if stop.slip_rate_below is not None:
            quiet &= fastest < stop.slip_rate_below
        if stop.moment_rate_below is not None:
            quiet &= moment < stop.moment_rate_below
        if not quiet:
            self.quiet_since = np.nan
            return False
        now = self.solver.time
        self.quiet_since = now if np.isnan(self.quiet_since) else self.quiet_since
        return bool(now - self.quiet_since >= stop.time_after_rupture)

    def state(self) -> Mapping[str, State]:
        def write(values: np.ndarray, origin: RestoredFrom) -> None:
            self.largest_energy, self.looks, self.quiet_since = float(values[0]), int(values[1]), float(values[2])

        now = np.array([self.largest_energy, self.looks, self.quiet_since])
        return {"so far": State(None, lambda: now, write, optional=True)}
