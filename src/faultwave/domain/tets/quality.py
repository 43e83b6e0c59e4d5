"""Worst cells of a mesh: a single sliver slows the whole run."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from faultwave.base.processes.pieces import map_chunks
from faultwave.domain.tets.geometry import Geometry
from faultwave.domain.tets.mesh import BoundaryKind, Floats, Mesh, Topology

_SLIVER = 6.0


@dataclass(frozen=True)
class BadCell:
    """Cell to be inspected: id, centroid [m], inradius [m], aspect ratio (1 is regular) and the reason."""

    cell: int
    centroid: tuple[float, float, float]
    inradius: float
    aspect: float
    reason: str


def aspect_ratios(mesh: Mesh, topology: Topology, geometry: Geometry) -> Floats:
    """Return circumradius over three inradii (nc,): 1 for a regular tetrahedron, large for slivers."""
    a, b, c = np.moveaxis(geometry.jacobian(), 2, 0)

    def square(x: Floats) -> Floats:
        return np.asarray((x * x).sum(axis=1, keepdims=True))

    offset = square(a) * np.cross(b, c) + square(b) * np.cross(c, a) + square(c) * np.cross(a, b)
    circumradius = np.linalg.norm(offset, axis=1) / (12 * geometry.volume)
    return np.asarray(circumradius / (3 * geometry.inradius))


def flatness(geometry: Geometry) -> Floats:
    """Return longest edge over inradius (nc,): 4.9 for a regular tetrahedron."""

    def of(piece: slice) -> Floats:
        sides = geometry.jacobian(piece).transpose(0, 2, 1)
        edges = [*(sides[:, i] for i in range(3)), *(sides[:, i] - sides[:, j] for i, j in combinations(range(3), 2))]
        return np.asarray(np.max([np.linalg.norm(e, axis=1) for e in edges], axis=0) / geometry.inradius[piece])

    return map_chunks(of, len(geometry.cells))


def worst_cells(
    mesh: Mesh, topology: Topology, geometry: Geometry, count: int = 10, step: Floats | None = None
) -> list[BadCell]:
    """Return the cells with the smallest time step, worst first.

    ``step`` (nc,) is the stable time step of each cell [s], if known; otherwise cells are ranked by inradius.
    """
    measure = geometry.inradius if step is None else step
    aspects = aspect_ratios(mesh, topology, geometry)
    edges = np.cbrt(6 * np.sqrt(2) * geometry.volume)
    typical = float(np.median(measure))
    at_fault = (topology.kinds == BoundaryKind.FAULT).any(axis=1)
    found = []
    for cell in np.argsort(measure, kind="stable")[:count]:
        reasons = [f"{'inradius' if step is None else 'time step'} is {measure[cell] / typical:.2g} of the median"]
        if aspects[cell] > _SLIVER:
            reasons.append(f"sliver of {_size(edges[cell])} size")
        else:
            reasons.append(f"well shaped but small, {_size(edges[cell])}")
        if at_fault[cell]:
            reasons.append("on the fault")
        x, y, z = geometry.centroid(cell).tolist()
        found.append(
            BadCell(int(cell), (x, y, z), float(geometry.inradius[cell]), float(aspects[cell]), ", ".join(reasons))
        )
    return found


def _size(edge: float) -> str:
    return f"{edge:.4g} m"
