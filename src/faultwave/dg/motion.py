"""Motion of the free surface since the start: displacement and peak velocity, summed by a kernel every step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from faultwave.dg import kernels
from faultwave.dg.basis import face_points, inner, tet_basis
from faultwave.dg.layout import ranged
from faultwave.dg.solver import Engine
from faultwave.domain import tets
from faultwave.observe.fields import SURFACE_FIELDS
from faultwave.observe.refine import refine_triangle


class SurfaceMotion:
    """``cell``, ``face`` (n,): the faces; ``corners``, ``centres``: refinement of each; ``members``: faces by cluster.

    ``before``: called with (cluster, time, step) after a cluster predicted and before its step counts.
    """

    def __init__(self, engine: Engine, setting: Any):
        self.engine, plan, order = engine, engine.plan, engine.plan.case.numerics.order
        op = engine.operator
        self.cell, self.face = np.nonzero(plan.topology.kinds == tets.BoundaryKind.FREE_SURFACE)
        self.corners, self.centres = refine_triangle(setting.refinement)
        self.values = [tet_basis(face_points(f, self.centres), order - 1) for f in range(4)]
        cluster = plan.clustering.cluster[self.cell]
        self.members = [np.flatnonzero(cluster == c) for c in range(engine.layout.clusters)]
        self.slots = op.layout.history[op.layout.position[self.cell]]
        self.before: list[Callable[[int, float, float], None]] = []
        self.waits: list[Callable[[float], bool]] = []  # of those hooks: see ``Engine.idle``
        self._where = np.empty(len(self.cell), np.int64)
        self._launches, self._motions = [], []
        compiled = op.backend.compile([kernels.surface(op.form, f, self.values[f]) for f in range(4)])
        trash = np.array([0])
        for f in range(4):
            items = np.flatnonzero(self.face == f)
            listed = ranged(self.slots[items][:, None], cluster[items], len(self.members), op.backend.lanes, trash)
            motion = op.backend.batch(len(listed.rows), len(self.centres), 4)
            real = listed.source >= 0
            self._where[items[listed.source[real]]] = np.flatnonzero(real)
            self._motions.append(motion)
            launch = compiled[f"surface_{f}"](
                {
                    "slots": op.backend.index(listed.rows),
                    "history": op.history,
                    "motion": motion,
                    "turn": _turn(op, self.cell[items], listed),
                }
            )
            self._launches.append((launch, listed.ranges))
        engine.predicted.append(self._predicted)
        engine.idle[self._predicted] = lambda until: all(idle(until) for idle in self.waits)

    def _predicted(self, cluster: int, time: float, step: float) -> None:
        for hook in self.before:
            hook(cluster, time, step)
        advance, integral = self.engine.operator.powers(step)
        for launch, ranges in self._launches:
            begin, end = ranges[cluster]
            if end > begin:
                launch(begin, end, integral=integral, advance=advance)

    def moved(self) -> np.ndarray:
        """Displacement and peak horizontal velocity (n, centres, 4) so far."""
        result: np.ndarray = np.zeros((len(self.cell), len(self.centres), 4), self.engine.backend.dtype)
        for f, motion in enumerate(self._motions):
            mine = self.face == f
            result[mine] = motion.get(self._where[mine])
        return result

    def set_moved(self, values: np.ndarray, items: np.ndarray) -> None:
        """Put what ``moved`` gave for the faces ``items``."""
        for f, motion in enumerate(self._motions):
            mine = self.face[items] == f
            motion.put(values[mine], self._where[items[mine]])

    def state(self, cluster: int, tau: float, now: bool) -> np.ndarray:
        """``SURFACE_FIELDS`` (members, centres, 7) of a cluster, ``tau`` into its step, or ``now`` between two."""
        op, items = self.engine.operator, self.members[cluster]
        result = np.zeros((len(items), len(self.centres), len(SURFACE_FIELDS)))
        advance, integral = op.powers(tau)
        rows = op.form.rows
        for f in range(4):
            mine = self.face[items] == f
            chosen = items[mine]
            result[mine, :, 3:] = self._motions[f].get(self._where[chosen])
            if now:
                v = op.dofs(self.cell[chosen])[:, :, -3:]
            else:
                series = op.series(self.cell[chosen])[:, :, -3:]
                v, u = np.zeros((2, len(chosen), rows[0], 3))
                at = 0
                for k, count in enumerate(rows):
                    v[:, :count] += advance[k] * series[:, at : at + count]
                    u[:, :count] += integral[k] * series[:, at : at + count]
                    at += count
                result[mine, :, 3:6] += inner(self.values[f][:, None], u.transpose(0, 2, 1)[:, None])
            result[mine, :, :3] = inner(self.values[f][:, None], v.transpose(0, 2, 1)[:, None])
        return result


def _turn(op: Any, cells: np.ndarray, listed: Any) -> Any:
    """What makes the law's velocity of the form's in the listed cells, as a batch."""
    turn = op.form.to_physical(op.cells, cells)
    flat = np.broadcast_to(np.eye(3), (len(cells), 3, 3)) if turn is None else turn[:, -3:, -3:]
    batch, real = op.backend.batch(len(listed.rows), 1, 9), listed.source >= 0
    batch.put(flat.reshape(-1, 1, 9)[listed.source[real]], real)
    return batch
