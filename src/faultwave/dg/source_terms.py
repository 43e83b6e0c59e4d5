"""Point sources: impulses added to the dofs of their cells once a step (docs/theory/sources.md, "In a tetrahedron")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from faultwave.backends import Points
from faultwave.dg.basis import tet_basis
from faultwave.dg.operator import Operator
from faultwave.physics.sources.point import PointSource
from faultwave.physics.waves.law import role


class SourceTerms:
    """``centred`` shifts the window of each impulse by half a step, which makes it second order in the step."""

    def __init__(
        self, operator: Operator, sources: Sequence[PointSource], cells: np.ndarray, local: np.ndarray, centred: bool
    ):
        self.operator, self.sources, self.cells, self.centred = operator, list(sources), cells, centred
        self.done = np.zeros(len(self.sources))  # where the last window of each ended
        self.onset = np.array([s.onset for s in self.sources], float)
        self.end = self.onset + np.array([s.function.end for s in self.sources], float)
        self.over = np.zeros(len(self.sources), bool)  # what never acts again, known once its end has passed
        self.acting = (
            False  # whether steps have sources in them whatever their amounts, as those have that are recorded
        )
        position = operator.layout.position[cells] if len(cells) else np.zeros(0, np.int64)
        cluster = np.searchsorted([end for _, end in operator.layout.plain_ranges], position, side="right")
        order = np.lexsort((np.arange(len(position)), position))  # those of a cell one after the other
        self.members = [order[cluster[order] == c] for c in range(operator.layout.clusters)]
        self.scales, rows, columns = self._terms(local)
        self.inject = [
            operator.backend.injector(_points(operator.q, position[m], rows[m], columns[m])) if len(m) else None
            for m in self.members
        ]

    def _terms(self, local: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """An impulse adds its size times scale (n,) times rows (n, B3) times columns (n, Q) to the dofs of its cell; the largest of
        rows and columns are 1, so that single precision holds them."""
        op, cells = self.operator, self.cells
        if not len(cells):
            return np.zeros(0), np.zeros((0, op.b3)), np.zeros((0, op.form.Q))
        rows = tet_basis(local, op.order - 1) / (6.0 * op.cells.volume[cells, None])
        given = np.stack([self._direction(s, c) for s, c in zip(self.sources, cells, strict=True)])
        columns = op.working(given[:, None], cells)[:, 0]
        largest = [np.abs(x).max(1, keepdims=True) for x in (rows, columns)]
        rows, columns = (x / np.where(m > 0, m, 1.0) for x, m in zip((rows, columns), largest, strict=True))
        return (largest[0] * largest[1])[:, 0], rows, columns

    def _direction(self, source: PointSource, cell: int) -> np.ndarray:
        values = {k: float(v[cell]) for k, v in self.operator.cells.material.items()}
        slip = self.operator.law.stress_of(source.potency, values)
        lame = values.get("lambda", 0.0), values.get("mu", 0.0)
        moment = source.moment_tensor(*lame) if slip is None else source.moment + slip
        law = self.operator.law
        if "filtration" not in law.roles or not source.porous.any():
            return law.source(moment, source.force, values)
        found = law.source(moment, np.zeros(3), values)
        for name, part in zip(("velocity", "pressure", "filtration"), np.split(source.porous, [3, 4]), strict=True):
            found[role(law, name)] += part
        return found

    def idle(self, until: float) -> bool:
        """Whether none acts between its last window and ``until``; one that pushes back what it pushed does act."""
        return not self._awake(until).any()

    def _awake(self, until: float) -> np.ndarray:
        """(n,) those that may act between their last windows and ``until``: begun, and neither at an end nor with a tail after it."""
        for i in np.flatnonzero((self.done >= self.end) & ~self.over):
            done = float(self.done[i])
            self.over[i] = not self.sources[i].integral(done, done + float(self.end[i] - self.onset[i]))
        return (self.onset < until) & ~self.over

    def nbytes(self, steps: Sequence[int]) -> int:
        """Of the amounts of so many steps of each cluster."""
        return sum(8 * n * len(m) for n, m in zip(steps, self.members, strict=True))

    def amounts(self, cluster: int, time: float, step: float) -> np.ndarray:
        """What acted since the last window of each of the cluster's sources; each ends where the next begins, whatever the steps."""
        members, end = self.members[cluster], time + (1.5 if self.centred else 1.0) * step
        awake = self._awake(end)[members]
        found = np.zeros(len(members))
        found[awake] = [float(self.sources[i].integral(float(self.done[i]), end)) for i in members[awake]]
        self.done[members] = end
        return found * self.scales[members]

    def add(self, cluster: int, time: float, step: float) -> bool:
        """Add what acted to the corrected dofs; whether anything was launched for it."""
        inject = self.inject[cluster]
        if inject is None:
            return False
        amounts = self.amounts(cluster, time, step)
        if not (self.acting or amounts.any()):
            return False
        inject(amounts)
        return True


def _points(q: Any, position: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> Points:
    items, first = np.unique(position, return_index=True)
    return Points(q, items, np.append(first, len(position)), rows, columns)
