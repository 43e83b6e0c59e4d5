"""Where receivers are: cells or fault faces of the points a case asks for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.log import get_logger
from faultwave.base.projection import Projection, needed
from faultwave.domain import tets
from faultwave.observe.dataset import Dataset, with_places
from faultwave.run.collect import collected
from faultwave.run.pieces import Whole


@dataclass(frozen=True)
class Points:
    """requested and located (n, 3); cells (n,) (volume) or fault items (n,); local coordinates (n, 3) or (n, 2)."""

    requested: np.ndarray
    located: np.ndarray
    cells: np.ndarray
    local: np.ndarray


def read_points(setting: Any, projection: Any = None) -> np.ndarray:
    """Points (n, 3) of a receiver setting: listed ones, those by longitude and latitude, then those of its files.

    ``projection``: the case's setting. Raises InputError with file:line.
    """
    problems, parts = Problems(), [np.array(setting.points, float).reshape(-1, 3)]
    listed, path = getattr(setting, "geographic", None), getattr(setting, "geographic_file", None)
    mapped = None
    if listed or path is not None:
        with collected(problems):
            where = "output.receivers." + ("geographic" if listed else "geographic_file")
            mapped = projected(projection, where)
    if listed and mapped is not None:
        with collected(problems):
            parts.append(mapped.places(listed, "output.receivers.geographic"))
    if setting.file is not None:
        with collected(problems):
            parts.append(point_lines(setting.file, "x y z in metres")[1])
    if path is not None:
        with collected(problems):
            lines, points = point_lines(path, "longitude latitude z, in degrees and metres")
            if mapped is not None:
                local = [mapped.places(p, f"{path}:{k}") for k, p in zip(lines, points, strict=True)]
                parts += local
    problems.raise_errors()
    return np.concatenate(parts)


def point_lines(path: Path, form: str) -> tuple[list[int], np.ndarray]:
    """Numbers of the lines with a point and three numbers (n, 3) of each. Raises InputError with file:line."""
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError as error:
        raise InputError(Problem(str(path), f"receiver file cannot be read: {error.strerror}")) from None
    problems, numbers, points = Problems(), [], []
    for number, line in enumerate(lines, 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        try:
            point = tuple(float(w.lower().replace("d", "e")) for w in words[:3])
        except ValueError:
            point = ()
        if len(point) != 3 or not np.isfinite(point).all():
            problems.error(f"{path}:{number}", f"'{line.strip()}' is no point", form)
        else:
            numbers.append(number)
            points.append(point)
    problems.raise_errors()
    return numbers, np.array(points, float).reshape(-1, 3)


def projected(setting: Any, where: str) -> Projection:
    """The case's projection, which ``where`` needs. Raises InputError."""
    return needed(None if setting is None else Projection(setting.crs, setting.origin, setting.azimuth), where)


def with_degrees(receivers: Dataset, setting: Any) -> Dataset:
    """Receivers with their longitudes and latitudes, and where the y axis points there, if the case has a projection."""
    if setting is None:
        return receivers
    projection = projected(setting, "projection")
    lonlat = projection.to_geographic(receivers["location"][:, :2])
    turned = np.array([projection.azimuth_of_y(*place) for place in lonlat])
    return with_places(receivers, np.column_stack([lonlat, turned]))


def place_receivers(
    setting: Any, mesh: tets.Mesh, topology: tets.Topology, shape: tets.Geometry, whole: Whole, projection: Any = None
) -> Points | None:
    """Cells of the receivers, -2 in other processes' pieces; a point outside the mesh is an error with its distance."""
    if setting is None:
        return None
    points = read_points(setting, projection)
    found = whole.locate(points, topology, shape, mesh)
    problems = Problems()
    for i in np.flatnonzero(found.cells == -1):
        x = ", ".join(f"{v:g}" for v in points[i])
        problems.error(
            f"receiver {i + 1} at ({x})", f"lies {found.distance[i]:.6g} m outside the mesh", "a point inside",
            "On a free surface with topography give a depth below the mesh's own surface.",
        )  # fmt: skip
    problems.raise_errors()
    return Points(points, points, found.cells, found.xi) if len(points) else None


def place_fault_receivers(setting: Any, fault: Any, whole: Whole) -> Points | None:
    """Fault faces nearest to the points, -2 where other processes have them, with the coordinates of the projection on
    the face."""
    if setting is None:
        return None
    points = read_points(setting)
    if not len(points):
        return None
    if not whole.any(fault is not None and len(fault.faces.area) > 0):
        raise InputError(Problem("output.fault_receivers", "the case has no fault with friction"))
    items, nearest, distance = whole.nearest_fault(points, fault)
    mine = np.flatnonzero(items >= 0)
    local = np.full((len(points), 2), np.nan)
    if not len(mine):
        return Points(points, nearest, items, local)
    corners = fault.faces.corners[items[mine]]
    edges = np.stack([corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]], 1)
    offset = nearest[mine] - corners[:, 0]
    edge = np.sqrt((edges**2).sum(2)).max(1)
    for i in mine[distance[mine] > edge]:
        x = ", ".join(f"{v:g}" for v in points[i])
        get_logger(__name__).warning(
            "fault receiver %d at (%s) lies %.4g m off the fault and is moved onto it", i + 1, x, distance[i]
        )
    solved = np.linalg.solve(edges @ edges.transpose(0, 2, 1), np.einsum("nij,nj->ni", edges, offset)[..., None])
    local[mine] = solved[..., 0]
    return Points(points, nearest, items, local)
