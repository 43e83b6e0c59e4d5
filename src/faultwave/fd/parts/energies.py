"""Energies and momentum of the whole grid at multiples of an interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.case.model import Case
from faultwave.engine.part import Origin, State
from faultwave.fd.operator import ENERGIES
from faultwave.fd.part import AfterSteps, GridAttached, GridPart, Planning, Running
from faultwave.observe.dataset import energies_from_arrays
from faultwave.observe.result import Result


def plan(planning: Planning) -> Energies | None:
    """None where the case asks for none."""
    setting = planning.case.output.energies
    return None if setting is None else Energies(planning.case, setting.interval)


@dataclass(frozen=True)
class Energies(GridPart):
    """Rows of a table, one for each ``interval`` [s]."""

    case: Case
    interval: float
    name = "energies"

    def attach(self, solver: Running) -> Table:
        return Table(self, solver)


class Table(GridAttached):
    """``rows``: time [s] and energies then; kinetic energy is that of half a step before."""

    def __init__(self, part: Energies, solver: Running):
        self.operator, self.interval = solver.operator, part.interval
        self.rows: list[tuple[float, ...]] = []
        step = solver.plan.scheme.step
        count = int(part.case.end_time / part.interval + 1e-9)
        self.due = frozenset(max(1, round(k * part.interval / step)) for k in range(1, count + 1)) | {0}

    @property
    def after(self) -> Sequence[AfterSteps]:
        return [AfterSteps(self.due, self._take)]

    def _take(self) -> None:
        found = self.operator.energies()
        self.rows.append((self.operator.time, *(found[name] for name in ENERGIES)))

    def finish(self, time: float) -> None:
        """A row for the very end."""
        if not self.rows or self.rows[-1][0] < time:
            self._take()

    def state(self) -> Mapping[str, State]:
        def restore(values: np.ndarray, origin: Origin) -> None:
            self.rows = [tuple(row) for row in values.tolist()]

        return {"rows": State(None, lambda: np.reshape(self.rows, (-1, 1 + len(ENERGIES))), restore)}

    def results(self) -> Iterable[Result]:
        if self.rows:
            times, *columns = zip(*self.rows, strict=True)
            yield Result("energies", energies_from_arrays(times, dict(zip(ENERGIES, columns, strict=True))))


__all__ = ["Energies", "Table", "plan"]
