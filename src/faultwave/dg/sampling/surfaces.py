"""Integrals over faces of the mesh, sampled like receivers: common code of energy flows, ports and far fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from faultwave.dg.boundaries.prescribed_faces import Faces, faces_of
from faultwave.dg.mesh.placement import Cut
from faultwave.dg.method.basis import face_points, tet_basis, triangle_quadrature
from faultwave.dg.sampling.recorders import by_cluster, sampling
from faultwave.dg.sampling.samples import Samples
from faultwave.dg.solver import Solver
from faultwave.engine.capability import Callback, RestoredFrom, State
from faultwave.observe.surfaces import Reduce, SurfaceRecorder


@dataclass(frozen=True)
class Surface:
    """Faces (n,) seen from the cells that the flow leaves: name, cells and local faces."""

    name: str
    cells: np.ndarray
    faces: np.ndarray

    def partition(self, cut: Cut) -> Surface:
        """Return the faces whose cells are on this process."""
        mine = cut.mine(self.cells)
        return Surface(self.name, cut.here[self.cells[mine]], self.faces[mine])


def face_functionals(order: int, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the quadrature points (p, 2) and weights (p,) of a face and the basis there (n, p, B3), on local ``faces`` (n,)."""
    points, weights = triangle_quadrature(order + 1)
    basis = np.stack([tet_basis(face_points(f, points), order - 1) for f in range(4)])
    return points, weights, basis[faces]


class SurfaceSum:
    """Sums over a surface at sample times; the first process stores the sums from before a checkpoint."""

    def __init__(
        self,
        solver: Solver,
        surface: Surface,
        interval: float,
        reduce: Callable[[Faces, np.ndarray, np.ndarray], Reduce],
    ):
        op, plan = solver.operator, solver.plan
        self.solver, self.surface = solver, surface
        points, weights, functionals = face_functionals(op.order, surface.faces)
        members = by_cluster(plan.clustering.cluster[surface.cells], solver.layout.clusters)
        taken = Samples(op, surface.cells, members, functionals)
        faces = faces_of(op, surface.cells, surface.faces, plan.geometry.origin(surface.cells))
        self.recorder = SurfaceRecorder(interval, members, functionals, taken.take, reduce(faces, points, weights))
        self.call: Callback = sampling(self.recorder, taken)
        self.before: np.ndarray | None = None

    def sums(self) -> tuple[np.ndarray, np.ndarray]:
        """Return times (nt,) [s] and sums (nt, columns) over all processes, on each of them (collective)."""
        world, (_, values) = self.solver.plan.world, self.recorder.sums()
        pieces = world.gather(values if self.recorder.active else None)
        if pieces is not None:
            found = [p for p in pieces if p is not None]
            values = sum(p[: min(map(len, found))] for p in found)
            if self.before is not None:
                values[: len(self.before)] += self.before
        values = world.share(values)
        return np.arange(len(values)) * self.recorder.interval, values

    def finish(self, time: float) -> None:
        """Take the sample at the very end, if one is due."""
        self.recorder.finish(time, self.solver.dofs_of(self.recorder, self.surface.cells))

    def state(self, name: str) -> Mapping[str, State]:
        """Return the state of the sums for checkpoints, under ``name``."""

        def write(values: np.ndarray, origin: RestoredFrom) -> None:
            self.recorder.restore(values)
            if self.solver.plan.world.first:
                self.before = values

        return {name: State(None, lambda: self.sums()[1], write)}


__all__ = ["Surface", "SurfaceSum", "face_functionals"]
