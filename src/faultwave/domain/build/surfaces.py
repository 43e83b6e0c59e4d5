"""Fault surfaces from files of other programs: triangles (TSurf, STL, VTK)."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import InputError, Problem
from faultwave.base.projection import Projection

Floats = NDArray[np.float64]
FARTHEST = 1e8
"""Largest valid coordinate [m]."""


def read_triangles(path: Path, projection: Projection | None) -> Floats:
    """Return the corners (m, 3, 3) [m] of a surface in x, y of the case, z up.

    Map coordinates are converted if the case has a projection.

    Raises
    ------
    InputError
        If the file cannot be read as a surface.
    """
    readers = {".ts": _tsurf, ".stl": _stl, ".vtk": _vtk}
    if path.suffix.lower() not in readers:
        raise InputError(
            Problem(str(path), f"'{path.suffix}' is not a supported triangulated surface", ", ".join(readers))
        )
    try:
        found = readers[path.suffix.lower()](path)
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from None
    except (ValueError, IndexError, OverflowError, struct.error) as error:
        raise InputError(Problem(str(path), f"is not a valid surface: {error}")) from None
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
    if (
        projection is not None and np.abs(found[..., :2]).max() > 1e5
    ):  # map coordinates, not relative to the local origin
        found = found.copy()
        here = _local(projection, found[..., :2].reshape(-1, 2))
        found[..., :2] = here.reshape(found[..., :2].shape)
    areas = np.linalg.norm(np.cross(found[:, 1] - found[:, 0], found[:, 2] - found[:, 0]), axis=1)
    if not areas.max() > 0:
        raise InputError(Problem(str(path), "has no triangle with an area", "triangles with an area"))
    return found[areas > 1e-9 * areas.max()]


def _local(projection: Projection, flat: Floats) -> Floats:
    origin, ex, ey = projection.to_map(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    turn: np.ndarray = np.stack([ex - origin, ey - origin], 1)
    return np.asarray((flat - origin) @ turn)


def _tsurf(path: Path) -> Floats:
    """Read all surfaces of a file, each with the units and axes of its own header."""
    vertices: dict[int, Floats] = {}
    triangles: list[list[int]] = []
    system, base = _System(), 0
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        words = line.split()
        if not words:
            continue
        key = words[0].upper()
        if key in ("VRTX", "PVRTX"):
            vertices[base + int(words[1])] = system.metres(f"{path}:{number}", words[2:5])
        elif key in ("ATOM", "PATOM"):
            if base + int(words[2]) not in vertices:
                raise ValueError(f"'{line.strip()}' repeats a vertex that does not exist before it")
            vertices[base + int(words[1])] = vertices[base + int(words[2])]
        elif key == "TRGL":
            triangles.append([base + int(w) for w in words[1:4]])
        elif key == "GOCAD":
            system, base = _System(), max(vertices, default=-1) + 1
            if len(words) > 1 and words[1].upper() not in ("TSURF", "PLINE", "VSET"):
                what = f"holds a {words[1]}"
                raise InputError(Problem(f"{path}:{number}", what, "GOCAD TSurf", "Export its surface as TSurf."))
        elif key == "END":
            base = max(vertices, default=-1) + 1
        elif key in _HEADER:
            system.declare(f"{path}:{number}", key, line.split(None, 1)[1] if len(words) > 1 else "")
    lost = sorted({v for t in triangles for v in t} - vertices.keys())
    if lost:
        raise ValueError(f"vertex {lost[0] - base if lost[0] > base else lost[0]} of a triangle does not exist")
    return np.array([[vertices[v] for v in t] for t in triangles], float).reshape(-1, 3, 3)


_HEADER = ("AXIS_NAME", "AXIS_UNIT", "ZPOSITIVE")
_NAMES = (
    ("x", "u", "east", "easting", "lon", "longitude"),
    ("y", "v", "north", "northing", "lat", "latitude"),
    ("z", "w", "elevation", "depth", "height", "altitude"),
)
"""Names of the three axes of GOCAD, in this order."""
_LENGTHS = {
    "": 1.0, "m": 1.0, "meter": 1.0, "meters": 1.0, "metre": 1.0, "metres": 1.0, "unitless": 1.0, "none": 1.0,
    "km": 1e3, "kilometer": 1e3, "kilometers": 1e3, "kilometre": 1e3, "kilometres": 1e3,
    "ft": 0.3048, "feet": 0.3048, "foot": 0.3048, "ift": 0.3048, "usft": 1200 / 3937, "ftus": 1200 / 3937,
}  # fmt: skip
"""Metres per unit of length, by its names in GOCAD files."""


class _System:
    """Coordinate system of one object: metres and heights unless its header says otherwise."""

    def __init__(self) -> None:
        self.factors, self.up = np.ones(3), 1.0
        self.signed = False  # True if the header has ZPOSITIVE

    def declare(self, where: str, key: str, text: str) -> None:
        """Read a line of the header; raises InputError for an unknown declaration."""
        words = [(a or b).strip() for a, b in re.findall(r'"([^"]*)"|(\S+)', text)]
        plain = [re.sub(r"[^a-z]", "", w.lower()) for w in words]
        if key == "ZPOSITIVE":
            if plain[:1] not in (["elevation"], ["depth"]):
                raise InputError(Problem(where, f"ZPOSITIVE is '{text.strip()}'", "Elevation, Depth"))
            self.up, self.signed = -1.0 if plain[0] == "depth" else 1.0, True
        elif key == "AXIS_UNIT":
            unknown = [w for w, p in zip(words[:3], plain, strict=False) if p not in _LENGTHS]
            if unknown or len(words) < 3:
                what = f"AXIS_UNIT is {text.strip()}"
                advice = "Degrees must be projected first." if any("deg" in p for p in plain) else ""
                raise InputError(Problem(where, what, "m, km or ft for each of three axes", advice))
            self.factors = np.array([_LENGTHS[p] for p in plain[:3]])
        else:
            for axis, name in enumerate(plain[:3]):
                others = [k for k in range(3) if k != axis and name in _NAMES[k]]
                if others:
                    what = f"AXIS_NAME calls axis {axis + 1} '{words[axis]}'"
                    advice = (
                        "GOCAD's axes are x (east), y (north), z: exchange the columns of VRTX lines, and the names."
                    )
                    raise InputError(Problem(where, what, ", ".join(_NAMES[axis]), advice))
            if plain[2:3] == ["depth"] and not self.signed:
                self.up = -1.0

    def metres(self, where: str, words: list[str]) -> Floats:
        """Return the position (3,) of a vertex [m], z up."""
        if len(words) < 3:
            raise InputError(Problem(where, "a vertex has fewer than three coordinates", "VRTX number x y z"))
        return np.array([float(w) for w in words]) * self.factors * (1.0, 1.0, self.up)


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
