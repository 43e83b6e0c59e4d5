"""Rectangle of a waveguide port: its sides, their order, and the walls around it."""

from __future__ import annotations

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.case.settings.measures import PortSurface
from faultwave.dg.mesh.periodic import across_period
from faultwave.domain import tets

EQUAL = 1e-3
"""Relative difference of lengths below which sides are equal, so that a case must state their order."""
ALIGNED = np.cos(np.deg2rad(5.0))
"""Cosine of the largest angle between a direction and the side it denotes."""


def rectangle(corners: np.ndarray, normal: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return origin (3,), sides (2, 3) and lengths (2,) of the rectangle that points of a plane fill, the longer side first.

    The sides do not depend on the order of the points or the sense of the normal (see ``_upright``), so that they are
    equal at both ends of a straight guide. If the points do not fill a rectangle, the area of the result differs from
    theirs.
    """
    from scipy.spatial import ConvexHull

    first = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    first /= np.linalg.norm(first)
    axes = np.stack([first, np.cross(normal, first)])
    flat = corners @ axes.T
    hull = flat[ConvexHull(flat).vertices]
    edges = np.roll(hull, -1, 0) - hull
    edge = edges[np.argmax(np.linalg.norm(edges, axis=1))]  # parallel to a side; the longest is most accurate
    u = edge / np.linalg.norm(edge)
    sides = np.stack([_upright(side) for side in np.array([u, [-u[1], u[0]]]) @ axes])
    local = corners @ sides.T
    lengths = np.ptp(local, axis=0)
    origin = sides.T @ local.min(0) + normal * float(corners[0] @ normal)
    order = np.argsort(-lengths)
    return origin, sides[order], lengths[order]


def _upright(side: np.ndarray) -> np.ndarray:
    """Return the side (3,) or its opposite, so that the first of its largest components is positive.

    Components that differ by rounding only count as equal.
    """
    largest = np.flatnonzero(np.abs(side) > np.abs(side).max() - 1e-6)[0]
    return np.asarray(side * np.sign(side[largest]))


def turned(
    origin: np.ndarray, sides: np.ndarray, lengths: np.ndarray, setting: PortSurface, name: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rectangle with the side first along which the mode's first index counts. Raises InputError if it is unknown."""
    allowed = " or ".join("[" + ", ".join(f"{x:.4g}" for x in np.round(side, 6) + 0.0) + "]" for side in sides)
    if setting.along is None:
        if lengths[0] <= lengths[1] * (1 + EQUAL):
            what = f"is missing: the sides of '{setting.surface}' are equal, so nothing tells along which {setting.mode} counts first"
            raise InputError(Problem(f"{name}.along", what, allowed))
        return origin, sides, lengths
    along = np.array(setting.along) / np.linalg.norm(setting.along)
    share = sides @ along
    first = int(np.abs(share).argmax())
    if abs(share[first]) < ALIGNED:
        raise InputError(Problem(f"{name}.along", f"{list(setting.along)} is no side of '{setting.surface}'", allowed))
    if share[first] < 0:  # the same rectangle, from its other corner
        origin, sides = origin + lengths[first] * sides[first], np.where(np.arange(2)[:, None] == first, -sides, sides)
    order = [first, 1 - first]
    return origin, sides[order], lengths[order]


def check_walls(
    where: str, surface: str | int, cells: np.ndarray, faces: np.ndarray, mesh: tets.Mesh, topology: tets.Topology
) -> None:
    """Raise InputError if a port's edges do not run along conducting walls: its modes are modes of a metal guide."""
    outer, periodic = topology.neighbours < 0, across_period(mesh, topology)[0]
    own = np.zeros_like(outer)
    own[cells, faces] = True
    rim, count = np.unique(_edges(own, topology), return_counts=True)
    rim = rim[count == 1]
    others = (outer | periodic) & ~own
    touching = np.isin(_edges(others, topology), rim).reshape(-1, 3).any(1)
    kinds = topology.kinds[others][touching]
    reported = {tets.BoundaryKind(k).name.lower().replace("_", "-") for k in np.unique(kinds)} - {"pec", "impedance"}
    reported = (reported - {"regular"}) | ({"periodic"} if periodic[others][touching].any() else set())
    if reported:
        what = f"'{surface}' has edges along walls of kind {', '.join(sorted(reported))}"
        raise InputError(Problem(where, what, "pec (or impedance) walls all around a port"))


def _edges(chosen: np.ndarray, topology: tets.Topology) -> np.ndarray:
    """Return a number for each edge of the ``chosen`` faces (nc, 4) bool, (faces, 3) flattened."""
    cells, faces = np.nonzero(chosen)
    corners = np.take_along_axis(topology.cells[cells], tets.SORTED_FACES[faces], 1).astype(np.int64)
    ends = np.sort(corners[:, [[0, 1], [1, 2], [0, 2]]], -1)
    return np.asarray(ends[..., 0] * (int(topology.cells.max()) + 1) + ends[..., 1]).reshape(-1)


__all__ = ["check_walls", "rectangle", "turned"]
