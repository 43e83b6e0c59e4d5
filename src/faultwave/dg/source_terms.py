"""Point sources: impulses added to the dofs of their cells once a step (docs/theory/sources.md, "In a tetrahedron")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from faultwave.backends import Points
from faultwave.dg.basis import tet_basis
from faultwave.dg.operator import Operator
from faultwave.physics.sources.table import Sources
from faultwave.physics.waves.law import role


class SourceTerms:
    """``centred`` shifts the window of each impulse by half a step, which makes it second order in the step."""

    def __init__(self, operator: Operator, sources: Sources, cells: np.ndarray, local: np.ndarray, centred: bool):
        self.operator, self.sources, self.cells, self.centred = operator, sources, cells, centred
        self.done = np.zeros(len(sources))  # where the last window of each ended
        self.end = sources.end
        self.over = np.zeros(len(sources), bool)  # what never acts again, known once its end has passed
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
        given = self._directions()
        columns = op.working(given[:, None], cells)[:, 0]
        largest = [np.abs(x).max(1, keepdims=True) for x in (rows, columns)]
        rows, columns = (x / np.where(m > 0, m, 1.0) for x, m in zip((rows, columns), largest, strict=True))
        return (largest[0] * largest[1])[:, 0], rows, columns

    def _directions(self) -> np.ndarray:
        """(n, Q) right-hand sides of unit time functions."""
        law, material, sources = self.operator.law, self.operator.cells.material, self.sources
        none = np.zeros(len(sources))
        moments = sources.moment_tensors(
            *(material[k][self.cells] if k in material else none for k in ("lambda", "mu"))
        )
        found = []
        for n, cell in enumerate(self.cells):
            values = {k: float(v[cell]) for k, v in material.items()}
            slip = law.stress_of(sources.potency[n], values)
            moment, porous = moments[n] if slip is None else sources.moment[n] + slip, sources.porous[n]
            if "filtration" in law.roles and porous.any():
                found.append(law.source(moment, np.zeros(3), values))
                for name, part in zip(("velocity", "pressure", "filtration"), np.split(porous, [3, 4]), strict=True):
                    found[-1][role(law, name)] += part
            else:
                found.append(law.source(moment, sources.force[n], values))
        return np.stack(found)

    def idle(self, until: float) -> bool:
        """Whether none acts between its last window and ``until``; one that pushes back what it pushed does act."""
        return not self._awake(until).any()

    def _awake(self, until: float) -> np.ndarray:
        """(n,) those that may act between their last windows and ``until``: begun, and neither at an end nor with a tail after it."""
        ended = np.flatnonzero((self.done >= self.end) & ~self.over)
        if len(ended):
            done = self.done[ended]
            tail = self.sources.released(np.stack([done, done + self.sources.functions.end[ended]], 1), ended)
            self.over[ended] = tail[:, 1] == tail[:, 0]
        return (self.sources.onset < until) & ~self.over

    def nbytes(self, steps: Sequence[int]) -> int:
        """Of the amounts of so many steps of each cluster."""
        return sum(8 * n * len(m) for n, m in zip(steps, self.members, strict=True))

    def amounts(self, cluster: int, time: float, step: float) -> np.ndarray:
        """What acted since the last window of each of the cluster's sources; each ends where the next begins, whatever the steps."""
        members, end = self.members[cluster], time + (1.5 if self.centred else 1.0) * step
        awake = self._awake(end)[members]
        found = np.zeros(len(members))
        acting = members[awake]
        if len(acting):
            window = np.stack([self.done[acting], np.full(len(acting), end)], 1)
            found[awake] = np.diff(self.sources.released(window, acting), axis=1)[:, 0]
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
