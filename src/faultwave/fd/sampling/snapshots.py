"""Series of snapshots on lattices of a grid: schedule, disk space and transfer to files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from faultwave.base.errors import Problems
from faultwave.base.types import Setting
from faultwave.case.settings.model import Case
from faultwave.comm import World
from faultwave.engine.capability import Files, LatticeFiles, LatticeSeries
from faultwave.fd.capability import FdPlan, GridCapability, Running, StepCallback
from faultwave.observe.snapshots.fields import snapshot_count
from faultwave.observe.snapshots.grid_formats import check_formats, series_formats
from faultwave.observe.snapshots.lattice import Lattice

Values = Callable[[Sequence[str]], Mapping[str, np.ndarray]]
"""Function that returns the current fields as arrays of the lattice's shape; collective, valid on the first process."""


def check_setting(name: str, setting: Setting, problems: Problems) -> None:
    """Report snapshot settings that a grid does not support, and unknown formats."""
    check_formats(f"output.{name}", setting.formats, series_formats(), problems)
    if setting.refinement:
        problems.error(f"output.{name}.refinement", "a grid is not refined", "0")


def due_steps(interval: float, end_time: float, step: float, steps: int) -> list[int]:
    """Return the steps after which snapshots are due, whose velocities are nearest to the multiples of ``interval`` [s]."""
    count = int(end_time / interval + 1e-9)
    return sorted({min(round(k * interval / step + 0.5), steps) for k in range(count + 1)})


def number_bytes(case: Case) -> int:
    """Return the size [bytes] of a number in field files."""
    return 4 if case.output.precision == "single" else 8


def disk_bytes(case: Case, setting: Setting, points: int, fields: int) -> int:
    """Return the disk space [bytes] of a series of snapshots with ``points`` points and ``fields`` fields."""
    known = series_formats()
    written = [known[name] for name in dict.fromkeys(setting.formats) if name in known]
    each = points * sum((f.number_bytes or number_bytes(case)) * (len(f.fields) or fields) for f in written)
    return snapshot_count(setting, case) * each


class Snapshots(GridCapability):
    """Snapshots of one kind, at multiples of the interval of their ``setting``.

    Parameters
    ----------
    kind : str
        Name of the series.
    setting : Setting
        Settings of the series in the case's output.
    solver : Running
    lattice : Lattice
        Lattice of the points.
    fields : sequence of str
    values : callable
        Function that returns current fields (see ``Values``).
    """

    def __init__(
        self, kind: str, setting: Setting, solver: Running, lattice: Lattice, fields: Sequence[str], values: Values
    ):
        self.kind, self.setting, self.operator = kind, setting, solver.operator
        self.lattice, self.fields, self.values = lattice, list(fields), values
        self.interval = setting.interval
        plan: FdPlan = solver.plan
        self.due = due_steps(setting.interval, plan.case.end_time, plan.scheme.step, plan.steps)
        self.files: LatticeFiles | None = None

    @property
    def mesh(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Points and triangles of XDMF files; None if they are not requested."""
        return None

    def open(self, files: Files) -> None:
        formats = list(dict.fromkeys(self.setting.formats))
        self.files = files.lattice(
            self.kind, LatticeSeries(self.lattice, self.fields, formats, len(self.due), self.mesh)
        )

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


def assembled(world: World, shape: Sequence[int], place: tuple[slice, ...], block: np.ndarray) -> np.ndarray:
    """Return an array assembled on the first process from a block of each; unspecified elsewhere."""
    if world.size == 1:
        return block
    found = np.zeros(shape, block.dtype)
    for where, part in world.gather((place, block)) or ():
        found[where] = part
    return found


__all__ = ["Snapshots", "assembled", "check_setting", "disk_bytes", "due_steps", "number_bytes"]
