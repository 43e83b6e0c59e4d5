"""Point sources: impulses that are added to the degrees of freedom of their cells once a step (docs/theory/sources.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.backends import Points
from faultwave.backends.base import Buffer
from faultwave.dg.method.basis import tet_basis
from faultwave.dg.operators.operator import Operator
from faultwave.physics.sources.table import Sources
from faultwave.physics.waves.law import Law, role


@dataclass(frozen=True)
class Entries:
    """Sources in cells, one entry per source and cell.

    Attributes
    ----------
    source : ndarray (k,)
        Source of each entry.
    cells : ndarray (k,)
        Cell of each entry.
    rows : ndarray (k, B3)
        Modes of a unit impulse in the cell.
    clusters : ndarray (n, clusters)
        1 where a source has entries on any process, 2 in the cluster of its location.
    moment : ndarray (n, 6), optional
        Moment tensors of the n sources, slip included. None if each source has one entry, whose cell determines it.
    """

    source: np.ndarray
    cells: np.ndarray
    rows: np.ndarray
    clusters: np.ndarray
    moment: np.ndarray | None = None


class SourceTerms:
    """Injection of point sources into the degrees of freedom.

    Parameters
    ----------
    operator : Operator
        Operator that holds the degrees of freedom.
    sources : Sources
        Time functions, moments and forces.
    entries : Entries
        Cells of the sources.
    centred : bool
        Shift the window of each impulse by half a step, which makes it second order in the step.

    Attributes
    ----------
    done : ndarray (n, clusters)
        End of the last window of each source [s].
    """

    def __init__(self, operator: Operator, sources: Sources, entries: Entries, centred: bool):
        self.operator, self.sources, self.centred = operator, sources, centred
        self.done = np.zeros(entries.clusters.shape)
        self.over = entries.clusters == 0  # sources that never act again, determined after their end
        self.end = sources.end
        self.acting = False  # True if impulses are launched even if zero, as recorded steps must be alike
        position = operator.layout.position[entries.cells] if len(entries.cells) else np.zeros(0, np.int64)
        cluster = clusters_of(operator, entries.cells)
        order = np.lexsort((np.arange(len(position)), position))  # entries of a cell are consecutive
        self.members = [order[cluster[order] == c] for c in range(operator.layout.clusters)]
        self.present = [np.flatnonzero(entries.clusters[:, c]) for c in range(operator.layout.clusters)]
        self.of = [
            np.searchsorted(listed, entries.source[m]) for listed, m in zip(self.present, self.members, strict=True)
        ]  # each member's source among those present
        self.scales, rows, columns = self._terms(entries)
        self.inject = [
            operator.backend.injector(_points(operator.q, position[m], rows[m], columns[m])) if len(m) else None
            for m in self.members
        ]

    def _terms(self, entries: Entries) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the factors of an impulse's change of its cell.

        An impulse adds its size times scale (k,) times rows (k, B3) times columns (k, Q) to the degrees of freedom; the
        largest of rows and of columns are 1, so that single precision represents them.
        """
        op, cells, rows = self.operator, entries.cells, entries.rows
        self.roots = np.zeros(len(self.sources))
        if not len(cells):
            return np.zeros(0), np.zeros((0, op.b3)), np.zeros((0, op.form.Q))
        given = self._directions(entries)
        self.roots = self._roots(entries, given)
        columns = op.working(given[:, None], cells)[:, 0]
        largest = [np.abs(x).max(1, keepdims=True) for x in (rows, columns)]
        rows, columns = (x / np.where(m > 0, m, 1.0) for x, m in zip((rows, columns), largest, strict=True))
        return (largest[0] * largest[1])[:, 0], rows, columns

    def _directions(self, entries: Entries) -> np.ndarray:
        """Return the right-hand sides (k, Q) of unit time functions."""
        law, material, sources = self.operator.law, self.operator.cells.material, self.sources
        moments = entries.moment
        if moments is None:
            moments = moments_in(law, sources, {name: v[entries.cells] for name, v in material.items()})
        found = []
        for n, cell in zip(entries.source, entries.cells, strict=True):
            values = {k: float(v[cell]) for k, v in material.items()}
            moment, porous = moments[n], sources.porous[n]
            if "filtration" in law.roles and porous.any():
                found.append(law.source(moment, np.zeros(3), values))
                for name, part in zip(("velocity", "pressure", "filtration"), np.split(porous, [3, 4]), strict=True):
                    found[-1][role(law, name)] += part
            else:
                found.append(law.source(moment, sources.force[n], values))
        return np.stack(found)

    def _roots(self, entries: Entries, given: np.ndarray) -> np.ndarray:
        """Return a bound (n,) for the square root of the energy [J^(1/2)] that a unit impulse of each source adds to rock at rest.

        ``given`` are the right-hand sides (k, Q).
        """
        op, cells = self.operator, entries.cells
        material = {p.name: op.cells.material[p.name][cells] for p in op.law.parameters}
        found = op.law.energies(list(given.T), material)
        density = sum(np.broadcast_to(v, len(cells)) for name, v in found.items() if name.endswith("energy"))
        square = (entries.rows**2).sum(1) * 6.0 * op.cells.volume[cells]  # the basis is orthonormal
        return np.bincount(entries.source, np.sqrt(np.maximum(density, 0.0) * square), len(self.sources))

    def idle(self, until: float) -> bool:
        """Return True if no source acts between its last window and ``until``; reversals of earlier impulses count as action."""
        return not any(self._awake(cluster, until).any() for cluster in range(len(self.present)))

    def _awake(self, cluster: int, until: float) -> np.ndarray:
        """Return which sources of a cluster may act between their last windows and ``until``.

        A source may act if it has begun, and has not ended with a constant tail.
        """
        listed = self.present[cluster]
        done, over = self.done[listed, cluster], self.over[listed, cluster]
        ended = np.flatnonzero((done >= self.end[listed]) & ~over)
        if len(ended):
            last = done[ended] + self.sources.functions.end[listed[ended]]
            tail = self.sources.released(np.stack([done[ended], last], 1), listed[ended])
            over[ended] = tail[:, 1] == tail[:, 0]
            self.over[listed, cluster] = over
        return np.asarray((self.sources.onset[listed] < until) & ~over)

    def nbytes(self, steps: Sequence[int]) -> int:
        """Return the bytes of the amounts of ``steps`` steps of each cluster."""
        return sum(8 * n * len(m) for n, m in zip(steps, self.members, strict=True))

    def amounts(self, cluster: int, time: float, step: float) -> np.ndarray:
        """Return the impulse of each of the cluster's entries since its last window; windows are contiguous whatever the steps."""
        listed, end = self.present[cluster], time + (1.5 if self.centred else 1.0) * step
        awake = self._awake(cluster, end)
        found = np.zeros(len(listed))
        acting = listed[awake]
        if len(acting):
            window = np.stack([self.done[acting, cluster], np.full(len(acting), end)], 1)
            found[awake] = np.diff(self.sources.released(window, acting), axis=1)[:, 0]
        self.done[listed, cluster] = end
        return found[self.of[cluster]] * self.scales[self.members[cluster]]

    def add(self, cluster: int, time: float, step: float) -> bool:
        """Add the impulses to the corrected degrees of freedom; return True if a kernel was launched."""
        if not len(self.present[cluster]):
            return False
        amounts, inject = self.amounts(cluster, time, step), self.inject[cluster]
        if inject is None or not (self.acting or amounts.any()):
            return False
        inject(amounts)
        return True


def clusters_of(operator: Operator, cells: np.ndarray) -> np.ndarray:
    """Return the cluster (k,) of cells."""
    if not len(cells):
        return np.zeros(0, np.int64)
    ends = [end for _, end in operator.layout.plain_ranges]
    return np.asarray(np.searchsorted(ends, operator.layout.position[cells], side="right"))


def at_points(operator: Operator, cells: np.ndarray, local: np.ndarray) -> Entries:
    """Return the entries of sources at reference coordinates ``local`` (n, 3) of cells (n,)."""
    clusters = np.zeros((len(cells), operator.layout.clusters))
    clusters[np.arange(len(cells)), clusters_of(operator, cells)] = 2
    rows = np.zeros((0, operator.b3))
    if len(cells):
        rows = tet_basis(local, operator.order - 1) / (6.0 * operator.cells.volume[cells, None])
    return Entries(np.arange(len(cells)), cells, rows, clusters)


def moments_in(law: Law, sources: Sources, material: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the moment tensors (n, 6) of unit time functions in rock with the parameters ``material`` (n,) each."""
    none = np.zeros(len(sources))
    moments = sources.moment_tensors(*(material.get(k, none) for k in ("lambda", "mu")))
    for n in range(len(sources)):
        slip = law.stress_of(sources.potency[n], {k: float(v[n]) for k, v in material.items()})
        if slip is not None:
            moments[n] = sources.moment[n] + slip
    return moments


def _points(q: Buffer, position: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> Points:
    items, first = np.unique(position, return_index=True)
    return Points(q, items, np.append(first, len(position)), rows, columns)
