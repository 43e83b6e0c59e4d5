"""Snapshots on lattices of a grid: settings, disk space and transfer to files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import Problems
from faultwave.base.types import Setting, number_bytes
from faultwave.case.settings.model import Case
from faultwave.engine.capability import Files, LatticeFiles, LatticeSeries
from faultwave.engine.snapshots import Schedule, SnapshotPlan
from faultwave.fd.capability import FdPlan, GridCapability, GridCapabilityPlan, Running, StepCallback
from faultwave.observe.snapshots.fields import snapshot_count
from faultwave.observe.snapshots.lattice import Lattice, check_formats, series_formats

Values = Callable[[Sequence[str]], Mapping[str, np.ndarray]]
"""Function that returns the current fields as arrays of the lattice's shape; collective, valid on the first process."""


def check_setting(name: str, setting: Setting, problems: Problems) -> None:
    """Report snapshot settings that a grid does not support, and unknown formats."""
    check_formats(f"output.{name}", setting.formats, series_formats(), problems)
    if setting.refinement:
        problems.error(f"output.{name}.refinement", "a grid is not refined", "0")


@dataclass(frozen=True)
class LatticeSnapshotPlan(SnapshotPlan, GridCapabilityPlan):
    """Base class of planned snapshots on a lattice."""

    def lattice_bytes(self, case: Case, points: int) -> int:
        """Return the size of the series on disk [bytes] with ``points`` points of the lattice."""
        known = series_formats()
        written = [known[name] for name in dict.fromkeys(self.setting.formats) if name in known]
        number = number_bytes(case.output.precision)
        each = points * sum((f.number_bytes or number) * (len(f.fields) or len(self.fields)) for f in written)
        return snapshot_count(self.setting, case) * each


class LatticeSnapshots(GridCapability):
    """Snapshots on a lattice in a run.

    Parameters
    ----------
    part : LatticeSnapshotPlan
    solver : Running
    lattice : Lattice
        Lattice of the points.
    values : callable
        Function that returns current fields (see ``Values``).
    """

    def __init__(self, part: LatticeSnapshotPlan, solver: Running, lattice: Lattice, values: Values):
        self.part, self.operator, self.lattice, self.values = part, solver.operator, lattice, values
        self.interval = part.setting.interval
        plan: FdPlan = solver.plan
        # Velocities, half a step before the end of a step, are nearest to the times of the snapshots.
        self.due = Schedule(part.setting.interval).steps(plan.case.end_time, plan.scheme.step, plan.steps, 0.5)
        self.files: LatticeFiles | None = None

    @property
    def mesh(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Points and triangles of XDMF files; None if they are not requested."""
        return None

    def open(self, files: Files) -> None:
        formats = list(dict.fromkeys(self.part.setting.formats))
        series = LatticeSeries(self.lattice, list(self.part.fields), formats, len(self.due), self.mesh)
        self.files = files.lattice(self.part.name, series)

    def close(self) -> None:
        self.files = None

    @property
    def after(self) -> Sequence[StepCallback]:
        return [StepCallback(frozenset(self.due), self._take)] if self.files is not None else []

    def _take(self) -> None:
        """Write a snapshot at the time of the velocities; stresses are half a step later."""
        assert self.files is not None
        time = max(self.operator.steps - 0.5, 0.0) * self.operator.scheme.step
        self.files.append(time, self.values(self.files.fields))
