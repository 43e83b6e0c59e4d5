"""Triangulated surfaces of faults: GOCAD's TSurf (as the community fault model has them), STL, and VTK's legacy polydata."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import InputError, Problem
from faultwave.base.projection import Projection

Floats = NDArray[np.float64]
FARTHEST = 1e8
"""Metres: no map has such coordinates."""


def read_triangles(path: Path, projection: Projection | None) -> Floats:
    """Corners (m, 3, 3) [m], z up, in the case's x, y: map coordinates of the case's projection are turned into them where there is one.

    Raises InputError for what is no such file.
    """
    readers = {".ts": _tsurf, ".stl": _stl, ".vtk": _vtk}
    if path.suffix.lower() not in readers:
        raise InputError(
            Problem(str(path), f"'{path.suffix}' is no triangulated surface that is read", ", ".join(readers))
        )
    try:
        found = readers[path.suffix.lower()](path)
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from None
    except (ValueError, IndexError, OverflowError, struct.error) as error:
        raise InputError(Problem(str(path), f"is no sound surface: {error}")) from None
    if not len(found) or not np.isfinite(found).all():
        raise InputError(
            Problem(
                str(path),
                "has no triangles" if not len(found) else "has corners that are not finite numbers",
                "triangles with finite corners in metres",
            )
        )
    if np.abs(found).max() > FARTHEST:
        what = f"has a corner at {np.abs(found).max():.6g} m"
        raise InputError(Problem(str(path), what, f"coordinates up to {FARTHEST:g} m"))
    if projection is not None and np.abs(found[..., :2]).max() > 1e5:  # of the map, not counted from the local origin
        found = found.copy()
        here = _local(projection, found[..., :2].reshape(-1, 2))
        found[..., :2] = here.reshape(found[..., :2].shape)
    areas = np.linalg.norm(np.cross(found[:, 1] - found[:, 0], found[:, 2] - found[:, 0]), axis=1)
    if not areas.max() > 0:
        raise InputError(Problem(str(path), "has no triangle with an area", "triangles with an area"))
    return found[areas > 1e-9 * areas.max()]


def _local(projection: Projection, flat: Floats) -> Floats:
    origin, ex, ey = projection.to_map(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    turn: Any = np.stack([ex - origin, ey - origin], 1)
    return np.asarray((flat - origin) @ turn)


def _tsurf(path: Path) -> Floats:
    vertices: dict[int, list[float]] = {}
    triangles: list[list[int]] = []
    down, base = False, 0
    for line in path.read_text(errors="replace").splitlines():
        words = line.split()
        if not words:
            continue
        key = words[0].upper()
        if key in ("VRTX", "PVRTX"):
            vertices[base + int(words[1])] = [float(w) for w in words[2:5]]
        elif key in ("ATOM", "PATOM"):
            if base + int(words[2]) not in vertices:
                raise ValueError(f"'{line.strip()}' repeats a vertex that does not exist before it")
            vertices[base + int(words[1])] = vertices[base + int(words[2])]
        elif key == "TRGL":
            triangles.append([base + int(w) for w in words[1:4]])
        elif key == "ZPOSITIVE":
            down = words[1].lower() == "depth"
        elif key == "END":
            base = max(vertices, default=0) + 1
    lost = sorted({v for t in triangles for v in t} - vertices.keys())
    if lost:
        raise ValueError(f"vertex {lost[0] - base if lost[0] > base else lost[0]} of a triangle does not exist")
    found = np.array([[vertices[v] for v in t] for t in triangles], float).reshape(-1, 3, 3)
    return found * np.array([1.0, 1.0, -1.0 if down else 1.0])


def _stl(path: Path) -> Floats:
    data = path.read_bytes()
    count = struct.unpack_from("<I", data, 80)[0] if len(data) >= 84 else -1
    if len(data) == 84 + 50 * count:
        record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("rest", "<u2")])
        return np.frombuffer(data, record, count, 84)["corners"].astype(float)
    words = data.decode(errors="replace").split()
    places = [k for k, word in enumerate(words) if word.lower() == "vertex"]
    return np.array([[float(w) for w in words[k + 1 : k + 4]] for k in places]).reshape(-1, 3, 3)


def _vtk(path: Path) -> Floats:
    lines = path.read_text(errors="replace").splitlines()
    if len(lines) < 5 or lines[2].strip().upper() != "ASCII" or "POLYDATA" not in lines[3].upper():
        raise ValueError("only ASCII files of DATASET POLYDATA are read")
    words = " ".join(lines[4:]).split()
    at = words.index("POINTS")
    n = int(words[at + 1])
    points = np.array(words[at + 3 : at + 3 + 3 * n], float).reshape(n, 3)
    at = words.index("POLYGONS")
    m = int(words[at + 1])
    rows = np.array(words[at + 3 : at + 3 + 4 * m], int).reshape(m, 4)
    if (rows[:, 0] != 3).any():
        raise ValueError("its polygons are not all triangles")
    if len(rows) and not 0 <= rows[:, 1:].min() <= rows[:, 1:].max() < n:
        raise ValueError(f"its triangles name points that do not exist; there are {n}")
    return points[rows[:, 1:]]


__all__ = ["read_triangles"]
