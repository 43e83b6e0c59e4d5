"""Energies and momentum of the whole grid at multiples of an interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from faultwave.case.settings.model import Case
from faultwave.engine.energies import EnergyRecorder
from faultwave.fd.capability import GridCapability, GridCapabilityPlan, Planning, Running, StepCallback


def plan(planning: Planning) -> Energies | None:
    """Return the table of energies, None if the case does not request one."""
    setting = planning.case.output.energies
    return None if setting is None else Energies(planning.case, setting.interval)


@dataclass(frozen=True)
class Energies(GridCapabilityPlan):
    """Table of energies with one row for each ``interval`` [s]."""

    case: Case
    interval: float
    name = "energies"

    def attach(self, solver: Running) -> Table:
        return Table(self, solver)


class Table(EnergyRecorder, GridCapability):
    """Running table of energies; the kinetic energy is half a step earlier than the time of a row."""

    def __init__(self, part: Energies, solver: Running):
        super().__init__(solver)
        self.interval = part.interval
        step = solver.plan.scheme.step
        count = int(part.case.end_time / part.interval + 1e-9)
        self.due = frozenset(max(1, round(k * part.interval / step)) for k in range(1, count + 1))

    @property
    def after(self) -> Sequence[StepCallback]:
        return [StepCallback(self.due, self.record)]

    def begin(self) -> None:
        if not self.rows:
            self.record()

    def finish(self, time: float) -> None:
        """Add a row for the end of the run."""
        if self.rows and self.rows[-1][0] < time:
            self.record()


__all__ = ["Energies", "Table", "plan"]
