"""Energy flow through named surfaces: where their faces are, and recorders hooked into an engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from faultwave.base.errors import Problems
from faultwave.case.model import Case
from faultwave.dg.basis import face_points, tet_basis, triangle_quadrature
from faultwave.dg.driven import Faces, faces_of, pair
from faultwave.dg.drives import surface_tag, volume_numbers
from faultwave.dg.samples import Samples
from faultwave.domain import tets
from faultwave.observe.surfaces import Reduce, SurfaceRecorder
from faultwave.physics.waves import Law

if TYPE_CHECKING:
    from faultwave.dg.solver import Engine


@dataclass(frozen=True)
class Surface:
    """Faces seen from the cells that the flow leaves: name, cells and local faces (n,)."""

    name: str
    cells: np.ndarray
    faces: np.ndarray


def plan_flux(case: Case, mesh: tets.Mesh, topology: tets.Topology, problems: Problems) -> tuple[Surface, ...]:
    """The surfaces of ``output.flux``; an inner one needs the volume that the flow leaves."""
    found = []
    for i, setting in enumerate(case.output.flux):
        where = f"output.flux[{i}]"
        tag = surface_tag(setting.surface, mesh, topology, f"{where}.surface", problems)
        if tag is None:
            continue
        mine = topology.tags == tag
        if setting.out_of is not None:
            groups = volume_numbers([setting.out_of], mesh, f"{where}.out_of", problems)
            mine &= np.isin(mesh.groups, groups)[:, None]
        elif (mine & (topology.neighbours >= 0)).any():
            problems.error(
                f"{where}.out_of", f"is missing: '{setting.surface}' lies inside", "the volume that the flow leaves"
            )
        if not mine.any():
            problems.error(f"{where}.out_of", f"'{setting.surface}' is no side of '{setting.out_of}'")
            continue
        found.append(Surface(str(setting.surface), *np.nonzero(mine)))
    return tuple(found)


def recorder(engine: Engine, surface: Surface, interval: float, make: Any) -> SurfaceRecorder:
    """A recorder on the surface's faces, hooked in; ``make(faces, points, weights) -> reduce``."""
    op, plan, order = engine.operator, engine.plan, engine.operator.order
    points, weights = triangle_quadrature(order + 1)
    functionals = np.stack([tet_basis(face_points(f, points), order - 1) for f in range(4)])[surface.faces]
    cluster = plan.clustering.cluster[surface.cells]
    members = [np.flatnonzero(cluster == c) for c in range(engine.layout.clusters)]
    taken = Samples(op, surface.cells, members, functionals)
    listed = faces_of(op, surface.cells, surface.faces, plan.geometry.origin)
    result = SurfaceRecorder(interval, members, functionals, taken.take, make(listed, points, weights))
    engine.sampled(result, taken)
    return result


def energy_flow(law: Law) -> Any:
    """Power [W] that leaves through the faces: -T.v of the cells' own traces, E x H . n in electromagnetism."""

    def make(faces: Faces, points: np.ndarray, weights: np.ndarray) -> Reduce:
        scale, f = 2.0 * faces.areas[:, None] * weights, law.face_channels

        def reduce(items: np.ndarray, values: np.ndarray) -> np.ndarray:
            traces = pair(law, faces.frames[items], values)
            return np.array([-(scale[items] * (traces[..., :f] * traces[..., f:]).sum(-1)).sum()])

        return reduce

    return make


__all__ = ["Surface", "energy_flow", "plan_flux", "recorder"]
