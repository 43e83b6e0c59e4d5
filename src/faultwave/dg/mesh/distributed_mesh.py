"""Planning on one part of a distributed mesh, with the exchange that it needs between processes.

Every process opens only its own part of a mesh stored in parts. Most planning is done cell by cell and needs no more; time steps and
clusters, the cells that hold points, and errors are agreed upon with messages whose size is
proportional to the border or to the number of points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from faultwave.base.errors import FaultwaveError, Problem, Problems
from faultwave.base.reuse import reused
from faultwave.base.spans import phase
from faultwave.case.settings.model import Case
from faultwave.comm import World
from faultwave.comm.messages import Neighbours
from faultwave.domain import tets
from faultwave.domain.tets.clusters import Nowhere
from faultwave.domain.tets.connectivity.overlaps import check_part_folds
from faultwave.domain.tets.formats.parts import Slice, read_slice, slice_topology, stored_parts
from faultwave.domain.tets.load import transform
from faultwave.domain.tets.mesh import fingerprint

if TYPE_CHECKING:

    class FaultTable(Protocol):
        """Cells and local faces (n, 2) of the faces of a fault, and their vertices (n, 3, 3) [m]."""

        @property
        def cells(self) -> np.ndarray: ...
        @property
        def faces(self) -> np.ndarray: ...
        @property
        def corners(self) -> np.ndarray: ...

    class FaultInMesh(Protocol):
        """CapabilityPlan fault with the mesh around it."""

        @property
        def faces(self) -> FaultTable: ...
        @property
        def topology(self) -> tets.Topology: ...
        @property
        def geometry(self) -> tets.Geometry: ...
        @property
        def vertices(self) -> np.ndarray: ...

    Item = TypeVar("Item")

ELSEWHERE = -2
"""Marker of a point whose cell or fault face belongs to another process."""


class NeedsWholeMesh(FaultwaveError):
    """Signal that parts of the mesh meet along a fault with friction, which needs both sides: the whole mesh must be read."""


class WholeMesh(Nowhere):
    """Whole mesh on one process."""

    elsewhere = False
    """True if other processes have more of the mesh."""

    @phase("topology")
    def prepared(self, mesh: tets.Mesh, case: Case) -> tuple[tets.Mesh, tets.Topology]:
        """Return the checked mesh and its topology."""
        topology, warnings = reused(_checked_topology, mesh, case.mesh.boundaries)
        return replace(mesh, remarks=(*mesh.remarks, *warnings)), topology

    def across(self, neighbours: np.ndarray) -> np.ndarray:
        """Return a mask (nc, 4) of the faces with a cell beyond, on any process."""
        return np.asarray(neighbours >= 0)

    def beyond(self, values: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
        """Return the values (nc, 4) of the cells beyond each face from values (nc,), 0 for none."""
        return np.where(neighbours >= 0, values[neighbours], 0.0)

    def any(self, here: bool) -> bool:
        """Return True if the condition holds on any process."""
        return here

    def agree(self, problems: Problems) -> None:
        """Raise the errors of all processes on every process."""
        problems.raise_errors()

    def meet(self, problems: Problems) -> None:
        """Raise errors before a collective operation that would leave one of several processes waiting."""

    def first_of(self, count: int) -> int:
        """Return the global number of the first of ``count`` local items, with items numbered process by process."""
        return 0

    def joined(self, value: Item) -> list[Item] | None:
        """Return the values of all processes on the first one, None elsewhere."""
        return [value]

    def everywhere(self, value: Item) -> list[Item]:
        """Return the values of all processes on every process."""
        return [value]

    def total(self, counts: np.ndarray) -> np.ndarray:
        """Return sums over all processes, on every process; they must not depend on the order of addition."""
        return counts

    def numbered(self, neighbours: np.ndarray) -> np.ndarray:
        """Return the global numbers (nc, 4) of the cells across faces, -1 for none."""
        return neighbours

    def locate(
        self, points: np.ndarray, topology: tets.Topology, shape: tets.Geometry, mesh: tets.Mesh
    ) -> tets.Located:
        """Return the cells that hold points (n, 3) [m]."""
        return reused(tets.locate, points, topology, shape, mesh.vertices)

    def nearest_fault(self, points: np.ndarray, fault: FaultInMesh | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the fault faces (n,) nearest to points (n, 3), the nearest points on them (n, 3) and distances (n,) [m]."""
        assert fault is not None
        return _nearest(points, fault)


def _checked_topology(
    mesh: tets.Mesh, boundaries: Mapping[str, Sequence[int | str]] | None
) -> tuple[tets.Topology, tuple[Problem, ...]]:
    """Return the topology of a mesh with warnings."""
    warned = Problems()
    topology = tets.build_topology(mesh, boundaries, volumes=True, warned=warned)
    return topology, tuple(warned.items)


def _nearest(points: np.ndarray, fault: FaultInMesh) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    faces = fault.faces
    found = reused(tets.nearest_fault_face, points, fault.topology, fault.geometry, fault.vertices)
    table = {(int(c), int(f)): i for i, (cs, fs) in enumerate(zip(faces.cells, faces.faces, strict=True))
             for c, f in zip(cs, fs, strict=True)}  # fmt: skip
    items = np.array([table[int(c), int(f)] for c, f in zip(found.cells, found.faces, strict=True)], np.int64)
    return items, found.points, found.distance


class DistributedMesh(WholeMesh):
    """One process's part of a mesh stored in parts; its methods are collective.

    Attributes
    ----------
    border : (k, 2) int
        Cells and faces whose neighbour another process has.
    rank : (k,) int
        Processes of these neighbours.
    theirs : (k, 2) int
        Number of the neighbour and its face.
    """

    elsewhere = True

    def __init__(self, world: World, case: Case):
        self.world, self.agreed = world, False  # true if all processes know of the error that is raised
        self.slice: Slice = world.agree(lambda: read_slice(str(case.mesh.file), world.size, world.rank))
        self.loaded = transform(self.slice.mesh, case.mesh.scaling, case.mesh.displacement)
        near, first = self.slice.neighbours, self.slice.first
        self.count = len(near)
        self.numbers = first + np.arange(self.count)
        self.remote = (near >= 0) & ((near < first) | (near >= first + self.count))
        self.border = np.argwhere(self.remote)
        cell, face = self.border.T
        theirs = np.stack([near[cell, face], self.slice.neighbour_faces[cell, face]], 1)
        self.rank = np.searchsorted(self.slice.starts, theirs[:, 0], side="right") - 1
        self.theirs = theirs
        self.neighbours = Neighbours(world, self.rank, np.stack([self.numbers[cell], face], 1), theirs)

    @phase("topology")
    def prepared(self, mesh: tets.Mesh, case: Case) -> tuple[tets.Mesh, tets.Topology]:
        problems = Problems()
        topology = slice_topology(self.slice, mesh, case.mesh.boundaries, problems)
        self.agree(problems)
        assert topology is not None
        near = topology.neighbours
        check_part_folds(mesh, topology, self.slice.neighbour_faces, lambda x: self.beyond(x, near), problems)
        self.agree(problems)
        cell, face = self.border.T
        if case.fault is not None and self.any(bool((topology.kinds[cell, face] == tets.BoundaryKind.FAULT).any())):
            self.agreed = True
            raise NeedsWholeMesh
        return mesh, topology

    def fingerprint(self) -> np.ndarray:
        """Return the fingerprint of the whole mesh."""
        return self.total(fingerprint(self.loaded, self.numbers))

    def across(self, neighbours: np.ndarray) -> np.ndarray:
        return (neighbours >= 0) | self.remote

    def beyond(self, values: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
        found = super().beyond(values, neighbours)
        cell, face = self.border.T
        found[cell, face] = self.neighbours.swap(values[cell])
        return found

    def any(self, here: bool) -> bool:
        return self.world.any(here)

    def agree(self, problems: Problems) -> None:
        error: FaultwaveError | None = None
        try:
            problems.raise_errors()
        except FaultwaveError as caught:
            error = caught
        if self.world.any(error is not None):
            self.agreed = True
            raise next(e for e in self.world.mpi.allgather(error) if e is not None)

    meet = agree

    def first_of(self, count: int) -> int:
        return int(sum(self.world.counts(count)[: self.world.rank]))

    def joined(self, value: Item) -> list[Item] | None:
        return self.world.gather(value)

    def everywhere(self, value: Item) -> list[Item]:
        return list(self.world.mpi.allgather(value))

    def numbered(self, neighbours: np.ndarray) -> np.ndarray:
        return np.asarray(self.slice.neighbours)

    def least(self, value: float) -> float:
        return -self.most(-value)

    def most(self, value: float) -> float:
        return self.world.largest([value])[0]

    def total(self, counts: np.ndarray) -> np.ndarray:
        return np.asarray(self.world.total(counts))

    def _least(self, values: np.ndarray) -> np.ndarray:
        return -np.array(self.world.largest((-values).tolist()), float)

    def lower(self, cluster: np.ndarray) -> bool:
        cell = self.border[:, 0]
        bound = self.neighbours.swap(cluster[cell]) + 1
        before = cluster.copy()
        np.minimum.at(cluster, cell, bound)
        return self.any(bool((cluster != before).any()))

    def locate(
        self, points: np.ndarray, topology: tets.Topology, shape: tets.Geometry, mesh: tets.Mesh
    ) -> tets.Located:
        found = super().locate(points, topology, shape, mesh)
        inside = found.cells >= 0
        # Of several cells the one with the lowest number holds the point.
        number = np.where(inside, found.cells + self.slice.first, np.inf)
        best = self._least(number)
        distance = self._least(found.distance)
        mine = inside & (number == best)
        cells = np.where(mine, found.cells, np.where(np.isinf(best), -1, ELSEWHERE))
        return tets.Located(cells, np.where(mine[:, None], found.xi, np.nan), distance)

    def nearest_fault(self, points: np.ndarray, fault: FaultInMesh | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        items, nearest = np.zeros(len(points), np.int64), np.zeros((len(points), 3))
        distance, lowest, scale = np.full(len(points), np.inf), np.full(len(points), np.inf), np.zeros(len(points))
        if fault is not None:
            items, nearest, distance = _nearest(points, fault)
            corners = fault.faces.corners[items]
            scale = np.abs(corners - points[:, None]).max((1, 2))
            lowest = np.asarray(self.slice.first + fault.faces.cells[items].min(1), float)
        least, scale = self._least(distance), -self._least(-scale)
        near = tets.as_near(distance, least, scale)
        lowest = np.where(near, lowest, np.inf)
        mine = near & (lowest == self._least(lowest))
        # One process has each value, the others add zeros.
        nearest = np.stack([self.total(np.where(mine, x, 0.0)) for x in nearest.T], 1)
        return np.where(mine, items, ELSEWHERE), nearest, least


def stored_in_parts(case: Case, world: World) -> bool:
    """Return True if the mesh is stored in parts that the processes can share."""
    if world.size == 1 or case.mesh.file is None or case.mesh.size is not None:
        return False
    counts = stored_parts(case.mesh.file)
    return bool(counts) and counts[-1] % world.size == 0
