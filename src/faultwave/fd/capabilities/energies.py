"""Energies and momentum of the whole grid at multiples of an interval."""

from __future__ import annotations

from dataclasses import dataclass

from faultwave.engine.energies import EnergyRecorder
from faultwave.fd.capability import GridCapabilityPlan, Running, ScheduledTable, steps_at
from faultwave.fd.contexts import Planning


def plan(planning: Planning) -> Energies | None:
    """Return the table of energies, None if the case does not request one."""
    setting = planning.case.output.energies
    return None if setting is None else Energies(setting.interval)


@dataclass(frozen=True)
class Energies(GridCapabilityPlan):
    """Table of energies with one row for each ``interval`` [s]."""

    interval: float
    name = "energies"

    def attach(self, solver: Running) -> Table:
        return Table(self, solver)


class Table(EnergyRecorder, ScheduledTable):
    """Running table of energies; the kinetic energy is half a step earlier than the time of a row."""

    def __init__(self, part: Energies, solver: Running):
        super().__init__(solver)
        self.interval, self.due = part.interval, steps_at(part.interval, solver.plan)
