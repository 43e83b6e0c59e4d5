"""Location in the mesh of what a case names: receivers in cells and on fault faces, surfaces, volumes and periodic faces."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import Problems, suggest
from faultwave.domain import tets


@dataclass(frozen=True)
class Points:
    """Located points of receivers.

    Attributes
    ----------
    requested, located : ndarray (n, 3)
        Coordinates as requested and as located [m].
    cells : ndarray (n,)
        Cells, or fault faces.
    local : ndarray (n, 3) or (n, 2)
        Reference coordinates in the cell or on the face.
    """

    requested: np.ndarray
    located: np.ndarray
    cells: np.ndarray
    local: np.ndarray

    def of(self, items: np.ndarray, here: np.ndarray | None = None) -> Points:
        """Return the points ``items`` (k,); ``here`` maps numbers of cells or fault faces to new indices."""
        cells = self.cells[items] if here is None else here[self.cells[items]]
        return Points(self.requested[items], self.located[items], cells, self.local[items])


def surface_tag(key: str | int, mesh: tets.Mesh, topology: tets.Topology, where: str, problems: Problems) -> int | None:
    """Return the tag of a surface by name or number; report a problem if the mesh has none."""
    names, tag = mesh.named(2), mesh.surface(key)
    if tag is None or not (topology.tags == tag).any():
        allowed = ", ".join(names) or ", ".join(map(str, np.unique(topology.tags[topology.tags > 0])))
        problems.error(where, f"the mesh has no surface '{key}'", allowed, suggest(str(key), names))
        return None
    return tag


def volume_numbers(keys: Iterable[str | int], mesh: tets.Mesh, where: str, problems: Problems) -> list[int]:
    """Return the numbers of volume groups by name or number."""
    names, found = mesh.named(3), []
    for key in keys:
        group = names.get(str(key), int(key) if str(key).isdigit() else None)
        if group is None or not (mesh.groups == group).any():
            allowed = ", ".join(names) or ", ".join(map(str, np.unique(mesh.groups)))
            problems.error(where, f"the mesh has no volume '{key}'", allowed, suggest(str(key), names))
        else:
            found.append(group)
    return found


def across_period(mesh: tets.Mesh, topology: tets.Topology) -> tuple[np.ndarray, np.ndarray]:
    """Return the faces whose neighbour lies across a period.

    Returns
    -------
    faces : ndarray of bool (nc, 4)
        Faces at a periodic boundary.
    shift : ndarray (n, 3)
        Vector from the neighbour's face to each of them [m].
    """
    near = topology.neighbours
    if mesh.identify is None:
        return np.zeros(near.shape, bool), np.zeros((0, 3))
    centres = mesh.vertices[topology.cells[:, tets.SORTED_FACES]].mean(2)
    shift = np.where(
        (near >= 0)[..., None], centres - centres[np.maximum(near, 0), np.maximum(topology.neighbour_faces, 0)], 0.0
    )
    there = np.linalg.norm(shift, axis=2) > 1e-9 * np.ptp(mesh.vertices, axis=0).max()
    return there, shift[there]
