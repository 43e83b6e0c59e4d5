"""Snapshots on lattices of a grid: settings, disk space, transfer to files, and the values on the free surface."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import Problems
from faultwave.base.precision import number_bytes
from faultwave.base.types import Setting
from faultwave.case.settings.model import Case
from faultwave.engine.capability import Files, LatticeFiles, LatticeSeries
from faultwave.engine.snapshots import Schedule, SnapshotPlan, assemble_blocks
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


class SurfaceView:
    """View of the surface arrays within the requested box, without layers.

    Attributes
    ----------
    x, y : ndarray
        Coordinates of the cell centres [m].
    elevation : ndarray (ny, nx) or None
        Elevation of the ground [m]; None if it is flat.
    top : float
        Height of the flat surface [m].
    spacing : float
        Grid spacing [m].
    """

    def __init__(self, solver: Running):
        plan, operator = solver.plan, solver.operator
        grid, self.world = plan.scheme.grid, plan.world
        first = np.round((plan.lower - np.array(grid.lower)) / grid.spacing).astype(int)
        count = np.round((plan.upper - plan.lower) / grid.spacing).astype(int)
        owned, box = operator.subdomain.owned.box, operator.subdomain.box
        self.here = owned.hi[0] == grid.shape[0]
        lo = [max(owned.lo[2 - k], int(first[k])) for k in (1, 0)]
        hi = [max(low, min(owned.hi[2 - k], int(first[k] + count[k]))) for low, k in zip(lo, (1, 0), strict=True)]
        y, x = (slice(a - box.lo[k], b - box.lo[k]) for a, b, k in zip(lo, hi, (1, 2), strict=True))
        self.inner = (y, x)
        y, x = (slice(a - first[k], b - first[k]) for a, b, k in zip(lo, hi, (1, 0), strict=True))
        self.place = (y, x)
        self.x = plan.lower[0] + grid.spacing * (np.arange(count[0]) + 0.5)
        self.y = plan.lower[1] + grid.spacing * (np.arange(count[1]) + 0.5)
        relief = grid.relief
        self.elevation = None if relief is None else relief.top + relief.height(*np.meshgrid(self.x, self.y))
        self.top, self.spacing, self.operator = float(plan.upper[2]), grid.spacing, operator

    def __call__(self, name: str, of_rock: bool = False) -> np.ndarray:
        """Return the present values (ny, nx) of an array of the surface, or of the rock below it.

        They are assembled on the first process; all processes must call it.
        """
        values = self.operator.filled_around if of_rock else self.operator.runner.values
        block = np.array(values(name)[-1][self.inner], float) if self.here else np.zeros((0, 0))
        place = self.place if block.size else (slice(0, 0), slice(0, 0))
        return assemble_blocks(self.world, (len(self.y), len(self.x)), place, block)
