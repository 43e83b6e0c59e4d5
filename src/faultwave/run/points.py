"""Where receivers are: cells or fault faces of the points a case asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.log import get_logger
from faultwave.domain import tets


@dataclass(frozen=True)
class Points:
    """requested and located (n, 3); cells (n,) (volume) or fault items (n,); local coordinates (n, 3) or (n, 2)."""

    requested: np.ndarray
    located: np.ndarray
    cells: np.ndarray
    local: np.ndarray


def read_points(setting: Any) -> np.ndarray:
    """Points of a receiver setting: listed ones, then those of its file. Raises InputError with file:line."""
    points = [tuple(p) for p in setting.points]
    problems = Problems()
    if setting.file is not None:
        try:
            lines = setting.file.read_text().splitlines()
        except OSError as error:
            raise InputError(Problem(str(setting.file), f"receiver file cannot be read: {error.strerror}")) from None
        for number, line in enumerate(lines, 1):
            words = line.split("#")[0].split()
            if not words:
                continue
            try:
                point = tuple(float(w.lower().replace("d", "e")) for w in words[:3])
            except ValueError:
                point = ()
            if len(point) != 3 or not np.isfinite(point).all():
                problems.error(f"{setting.file}:{number}", f"'{line.strip()}' is no point", "x y z in metres")
            else:
                points.append(point)
    problems.raise_errors()
    return np.array(points, float).reshape(-1, 3)


def place_receivers(setting: Any, mesh: tets.Mesh, topology: tets.Topology, shape: tets.Geometry) -> Points | None:
    """Cells of the receivers; a point outside the mesh is an error with its distance."""
    if setting is None:
        return None
    points = read_points(setting)
    found = tets.locate(points, topology, shape, mesh.vertices)
    problems = Problems()
    for i in np.flatnonzero(found.cells < 0):
        x = ", ".join(f"{v:g}" for v in points[i])
        problems.error(
            f"receiver {i + 1} at ({x})", f"lies {found.distance[i]:.6g} m outside the mesh", "a point inside",
            "On a free surface with topography give a depth below the mesh's own surface.",
        )  # fmt: skip
    problems.raise_errors()
    return Points(points, points, found.cells, found.xi) if len(points) else None


def place_fault_receivers(setting: Any, fault: Any) -> Points | None:
    """Fault faces nearest to the points, with the coordinates of the projection on the face."""
    if setting is None:
        return None
    points = read_points(setting)
    if not len(points):
        return None
    if fault is None or not len(fault.faces.area):
        raise InputError(Problem("output.fault_receivers", "the case has no fault with friction"))
    faces = fault.faces
    found = tets.nearest_fault_face(points, fault.topology, fault.geometry, fault.vertices)
    table = {(int(c), int(f)): i for i, (cs, fs) in enumerate(zip(faces.cells, faces.faces, strict=True))
             for c, f in zip(cs, fs, strict=True)}  # fmt: skip
    items = np.array([table[int(c), int(f)] for c, f in zip(found.cells, found.faces, strict=True)])
    corners = faces.corners[items]
    edges = np.stack([corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]], 1)
    offset = found.points - corners[:, 0]
    edge = np.sqrt((edges**2).sum(2)).max(1)
    for i in np.flatnonzero(found.distance > edge):
        x = ", ".join(f"{v:g}" for v in points[i])
        get_logger(__name__).warning(
            "fault receiver %d at (%s) lies %.4g m off the fault and is moved onto it", i + 1, x, found.distance[i]
        )
    local = np.linalg.solve(edges @ edges.transpose(0, 2, 1), np.einsum("nij,nj->ni", edges, offset)[..., None])[..., 0]
    return Points(points, found.points, items, local)
