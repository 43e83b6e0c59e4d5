"""Point sources: impulses added to the dofs of their cells once a step (NUMERICS 3.4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from faultwave.engines.dg.basis import tet_basis
from faultwave.engines.dg.operator import Operator
from faultwave.sources.point import PointSource


class SourceTerms:
    """``centred`` shifts the window of each impulse by half a step, which makes it second order in the step."""

    def __init__(
        self, operator: Operator, sources: Sequence[PointSource], cells: np.ndarray, local: np.ndarray, centred: bool
    ):
        self.operator, self.sources, self.cells, self.centred = operator, list(sources), cells, centred
        size = 6.0 * operator.cells.volume[cells] if len(cells) else np.zeros(0)
        self.shape = tet_basis(local, operator.order - 1) / size[:, None] if len(cells) else np.zeros((0, operator.b3))
        position = operator.layout.position[cells] if len(cells) else np.zeros(0, np.int64)
        ends = np.array([e for _, e in operator.layout.plain_ranges])
        cluster = np.searchsorted(ends, position, side="right")
        self.members = [np.flatnonzero(cluster == c) for c in range(len(ends))]
        self.done = np.zeros(len(self.sources))  # where the last window of each ended
        self.direction = [self._direction(s, c) for s, c in zip(self.sources, cells, strict=True)]

    def _direction(self, source: PointSource, cell: int) -> np.ndarray:
        values = {k: float(v[cell]) for k, v in self.operator.cells.material.items()}
        moment = source.moment_tensor(values.get("lambda", 0.0), values.get("mu", 0.0))
        return self.operator.law.source(moment, source.force, values)

    def idle(self, until: float) -> bool:
        """Whether none acts between its last window and ``until``."""
        return not any(s.integral(float(done), until) for s, done in zip(self.sources, self.done, strict=True))

    def add(self, cluster: int, time: float, step: float) -> None:
        """Add what acted since the last window to the corrected dofs; each ends where the next begins, whatever the steps."""
        members = self.members[cluster]
        if not len(members):
            return
        end = time + (1.5 if self.centred else 1.0) * step
        change = np.zeros((len(members), self.operator.b3, len(self.operator.law.quantities)))
        for row, i in enumerate(members):
            change[row] = np.outer(
                self.shape[i], float(self.sources[i].integral(float(self.done[i]), end)) * self.direction[i]
            )
        self.done[members] = end
        if np.any(change):
            self.operator.add_dofs(change, self.cells[members])
