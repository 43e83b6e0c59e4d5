"""Snapshots of the wave field in cells, or sub-cells, of the mesh, at multiples of an interval.

No snapshot shortens a step: values are evaluated per cluster from the predictor of the step that contains the time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from faultwave.base.precision import number_bytes
from faultwave.base.processes.pieces import map_chunks
from faultwave.case.settings.outputs import VolumeOutput
from faultwave.dg.mesh.placement import Cut, Planning
from faultwave.dg.method.basis import tet_basis
from faultwave.dg.operators.operator import Sampler
from faultwave.dg.sampling import by_cluster
from faultwave.dg.snapshots import MeshSnapshotPlan, MeshSnapshots
from faultwave.dg.solver import Solver
from faultwave.domain.tets import Geometry
from faultwave.engine.capability import Files
from faultwave.observe.snapshots.fields import WRITE_BUFFER, check_snapshots, volume_fields
from faultwave.observe.snapshots.pieces import Pieces, tet_pieces

name = "volume"
AFTER = ("plasticity", "time_integrals")
"""Capabilities with fields of their own."""


@dataclass(frozen=True)
class Volume(MeshSnapshotPlan):
    """Plan of volume snapshots.

    Attributes
    ----------
    sources : tuple of str
        Capability that provides each field, '' for the wave law.
    cells : (n,) int
        Cells in the region and the groups of the setting.
    """

    sources: tuple[str, ...]
    cells: np.ndarray
    name: str = name
    corners = 4

    @property
    def items(self) -> int:
        return len(self.cells)

    @property
    def pieces(self) -> Pieces:
        return tet_pieces(self.setting)

    def partition(self, cut: Cut) -> Volume:
        return replace(self, cells=cut.here[self.cells[cut.mine(self.cells)]])

    def attach(self, solver: Solver) -> AttachedVolume:
        return AttachedVolume(self, solver)


def plan(planning: Planning) -> Volume | None:
    """Return the plan of volume snapshots, None if the case has none."""
    setting, problems = planning.case.output.volume, planning.problems
    if setting is None:
        return None
    check_snapshots("output.volume", setting, planning.case.output.xdmf, problems)
    if any(getattr(planning.case, part, None) is not None and part not in planning.parts for part in AFTER):
        # Fields of a failed capability are unknown, and its error is reported.
        setting = setting.model_copy(update={"fields": None})
    known = {field: part.name for part in planning.parts.values() for field in part.volume_fields}
    fields = volume_fields(setting, planning.law, list(known))
    cells = cells_in(setting, planning.geometry.centroids, planning.mesh.groups)
    if not planning.whole.any(len(cells) > 0):
        problems.error(
            "output.volume",
            "region and groups contain no cell",
            advice="Compare them with the mesh: `faultwave mesh info` shows its corners and groups.",
        )
    return Volume(setting, tuple(fields), 0, tuple(known.get(f, "") for f in fields), cells).sized(planning.case)


def cells_in(setting: VolumeOutput, centroids: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the numbers of the cells in the setting's region and groups."""
    found = np.ones(len(centroids), bool)
    if setting.region is not None:
        low, high = np.array(setting.region[0::2]), np.array(setting.region[1::2])
        found &= ((centroids >= low) & (centroids <= high)).all(1)
    if setting.groups is not None:
        found &= np.isin(groups, setting.groups)
    return np.flatnonzero(found)


def _points(geometry: Geometry, cells: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Return the positions (n, sub-cells, nodes, 3) [m] of the nodes (sub-cells, nodes, 3) of the reference cell."""
    inside = np.einsum("cij,snj->csni", geometry.jacobian(cells), nodes)
    return np.asarray(geometry.origin(cells)[:, None, None] + inside)


class AttachedVolume(MeshSnapshots):
    """Snapshots of the volume, attached to a solver."""

    part: Volume

    def _sampler(self) -> Sampler | None:
        """Return the sampler of the cells, sub-cells and law's quantities, or None without any."""
        if "" not in self.part.sources:
            return None
        op, names = self.solver.operator, list(self.solver.plan.law.quantities)
        psi = tet_basis(self.pieces.points, op.order - 1)
        return op.sampler(psi, self.part.cells, [names.index(f) for f in self._fields_of("")])

    def _fields_of(self, source: str) -> list[str]:
        return [f for f, s in zip(self.part.fields, self.part.sources, strict=True) if s == source]

    def report(self) -> Mapping[str, Sequence[tuple[str, ...]]]:
        """Report the additional memory of sampling and of snapshots that wait for slower clusters."""
        part, plan = self.part, self.solver.plan
        one = len(part.cells) * len(self.pieces.points) * len(part.fields)
        waiting = 1 + int(plan.clustering.steps.max() / part.setting.interval)
        sampler = self._sampler()
        held = (sampler.nbytes() if sampler else 0) + waiting * one * number_bytes(plan.case.output.precision)
        text = f"{held / 2**20:,.1f} MiB, and at most {WRITE_BUFFER / 2**20:,.0f} MiB more waiting to be written"
        return {"size": [("memory of volume snapshots", text)]}

    def open(self, files: Files) -> None:
        plan, cells, nodes = self.solver.plan, self.part.cells, self.pieces.nodes
        geo = plan.geometry
        points = map_chunks(lambda piece: _points(geo, cells[piece], nodes), len(cells))
        # Sorted cells may be left-handed; written ones are not.
        self.left_handed = map_chunks(lambda piece: np.linalg.det(geo.jacobian(cells[piece])) < 0, len(cells))
        points = points.reshape(len(cells), -1, 3)
        points[self.left_handed] = points[self.left_handed][:, self.pieces.mirrored()]
        static = {"group": plan.mesh.groups[cells], "cluster": plan.clustering.cluster[cells]}
        static = {k: np.repeat(v, len(nodes)) for k, v in (static | {"global-id": plan.numbers[cells]}).items()}
        members = by_cluster(plan.clustering.cluster[cells], self.solver.layout.clusters)
        shots = self.open_series(files, points.reshape(-1, 3), static, members)
        self._sample = self._sampler()

        def before(cluster: int, time: float, step: float) -> None:
            for number, moment in shots.due(cluster, time, time + step):
                self._deliver(number, cluster, moment - time)

        self.callbacks = (
            self.callback("before predict", before, lambda cluster, time, step: shots.waiting(cluster, time + step)),
        )

    def _deliver(self, number: int, cluster: int, tau: float) -> None:
        assert self.shots is not None
        items = self.shots.groups[cluster]
        cells = self.part.cells[items]
        found: dict[str, np.ndarray] = {}
        for source in dict.fromkeys(self.part.sources):
            fields = self._fields_of(source)
            if source:
                values = self.solver.parts[source].sample(self.pieces.points, cells, fields)
            else:
                assert self._sample is not None
                self._sample(cluster, tau)
                values = self._sample.get(cells)
            if self.pieces.degree:
                mirrored = np.asarray(values)[:, self.pieces.mirrored()]
                values = np.where(self.left_handed[items, None, None], mirrored, values)
            found |= {f: values[:, :, i] for i, f in enumerate(fields)}
        self.shots.deliver(number, cluster, found)

    def finish(self, time: float) -> None:
        if self.shots is not None:
            for number, cluster in self.shots.last(time):
                self._deliver(number, cluster, 0.0)

    def close(self) -> None:
        super().close()
        self.callbacks = ()
