"""Snapshots of cells or faces of the mesh: their size, their files and the values that wait for slower clusters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from faultwave.base.precision import number_type
from faultwave.case.settings.model import Case
from faultwave.dg.solver import Solver
from faultwave.engine.capability import Callback, Capability, Files, When
from faultwave.engine.snapshots import SnapshotBuffer, SnapshotPlan
from faultwave.observe.snapshots.fields import snapshot_bytes, snapshot_row
from faultwave.observe.snapshots.pieces import Pieces

if TYPE_CHECKING:
    from faultwave.dg.planning.plan import Plan


@dataclass(frozen=True)
class MeshSnapshotPlan(SnapshotPlan):
    """Base class of planned snapshots of cells or faces.

    Attributes
    ----------
    corners : int
        Number of corners of a written cell.
    """

    corners: ClassVar[int]

    @property
    def items(self) -> int:
        """Number of cells or faces of the mesh that are written."""
        raise NotImplementedError

    @property
    def pieces(self) -> Pieces:
        """Pieces of each cell or face that are written."""
        raise NotImplementedError

    def sized(self, case: Case) -> Self:
        """Return the plan with the size of its files on disk."""
        values = self.items * len(self.pieces.points)
        return replace(self, disk=snapshot_bytes(self.setting, case, values, len(self.fields), self.corners))

    def report(self, plan: Plan) -> Mapping[str, Sequence[tuple[str, ...]]]:
        values = self.items * len(self.pieces.points)
        return {"output": [snapshot_row(self.name, self.setting, plan.case, values, len(self.fields), self.corners)]}


class MeshSnapshots(Capability):
    """Base class of snapshots of cells or faces in a run.

    Attributes
    ----------
    part : MeshSnapshotPlan
    solver : Solver
    pieces : Pieces
        Pieces of each cell or face.
    shots : SnapshotBuffer or None
        Snapshots that wait for slower clusters, None while no files are open.
    """

    part: MeshSnapshotPlan

    def __init__(self, part: MeshSnapshotPlan, solver: Solver):
        self.part, self.solver, self.interval, self.pieces = part, solver, part.setting.interval, part.pieces
        self.shots: SnapshotBuffer | None = None

    @property
    def samples_complete(self) -> bool:
        return self.shots is None or self.shots.samples_complete

    def open_series(
        self,
        files: Files,
        points: np.ndarray,
        static: Mapping[str, np.ndarray],
        members: Sequence[np.ndarray],
        rows: int | None = None,
    ) -> SnapshotBuffer:
        """Open the files of the series and return its buffer.

        Parameters
        ----------
        files : Files
        points : ndarray (n, 3)
            Nodes of all pieces of the items of this process, one piece after the other [m].
        static : mapping of str to ndarray (n,)
            Fields that do not change in time.
        members : sequence of ndarray of int
            Items of each cluster.
        rows : int, optional
            Number of values of an item; by default one for each point of its pieces.
        """
        part, case, kind = self.part, self.solver.plan.case, self.pieces.kind
        cells, fields = np.arange(len(points)).reshape(-1, self.pieces.nodes.shape[1]), list(part.fields)
        writers = files.cells(part.name, points, cells, static, fields, part.setting.interval, kind)
        rows = len(self.pieces.points) if rows is None else rows
        now, dtype = self.solver.march.time, number_type(case.output.precision)
        self.shots = SnapshotBuffer(part.setting.interval, members, fields, rows, writers, now, dtype)
        files.follow(part.name, self.shots)
        return self.shots

    def callback(
        self,
        when: When,
        act: Callable[[int, float, float], None],
        needs_intermediate_state: Callable[[int, float, float], bool],
    ) -> Callback:
        """Return a callback that acts in the steps that contain snapshots."""
        shots = self.shots
        assert shots is not None
        return Callback(
            when,
            act,
            lambda until: not shots.idle(until),
            needs_intermediate_state=needs_intermediate_state,
            next_due=shots.next_due,
        )

    def close(self) -> None:
        self.shots = None
