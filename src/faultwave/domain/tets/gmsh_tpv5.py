"""The same fault in a box as ``graded``, meshed by Gmsh in this process. Importing this module needs Gmsh."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gmsh
import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.domain.tets.assemble import Parts, assemble
from faultwave.domain.tets.graded import ABSORBING, FAULT, FREE_SURFACE, GROWTH, Tpv5
from faultwave.domain.tets.mesh import Floats, Integers, Mesh


def gmsh_mesh(setting: Tpv5) -> Mesh:
    """Mesh of the box with the fault as an embedded surface: tags 1 on top, 3 on the fault, 5 elsewhere; group 1.

    Raises InputError when Gmsh gives up.
    """
    setting.check()
    with session("faultwave-tpv5"):
        try:
            surfaces = _geometry(setting)
            _sizes(setting, surfaces["fault"])
            gmsh.model.mesh.generate(3)
            return assemble(_parts(surfaces), "tpv5 (Gmsh)")
        except Exception as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                Problem(
                    "mesh.generate",
                    f"Gmsh could not mesh the fault: {error}",
                    advice="Try another size, or mesher: builtin.",
                )
            ) from None


@contextmanager
def session(name: str) -> Iterator[None]:
    """A Gmsh model of our own, called ``name``; a session the caller has open is left as it was."""
    ours = not gmsh.isInitialized()
    if ours:
        # Gmsh would take over Ctrl-C, and read options and files from the user's command line.
        gmsh.initialize(argv=[], readConfigFiles=False, interruptible=False)
    before = "" if ours else gmsh.model.getCurrent()
    options = {
        "General.Verbosity": 1.0,
        "Mesh.Algorithm": 6.0,
        "Mesh.Algorithm3D": 10.0,
        "Mesh.OptimizeThreshold": 0.4,
        "Mesh.MeshSizeExtendFromBoundary": 0.0,
        "Mesh.MeshSizeFromPoints": 0.0,
        "Mesh.MeshSizeFromCurvature": 0.0,
        "Mesh.ElementOrder": 1.0,
        "General.NumThreads": 1.0,
    }
    saved = {name: gmsh.option.getNumber(name) for name in options}
    try:
        for name, value in options.items():
            gmsh.option.setNumber(name, value)
        gmsh.model.add(name)
        yield
    finally:
        gmsh.model.remove()
        for name, value in saved.items():
            gmsh.option.setNumber(name, value)
        if ours:
            gmsh.finalize()
        elif before:
            gmsh.model.setCurrent(before)


def _geometry(setting: Tpv5) -> dict[str, list[int]]:
    """Box and fault, cut so that they share the fault; surfaces by what they are."""
    occ = gmsh.model.occ
    wx, wy = setting.widths
    half, width, (y, z) = setting.fault_length / 2, setting.fault_depth, setting.bottom
    box = occ.addBox(-wx, -wy, -setting.depth, 2 * wx, 2 * wy, setting.depth)
    fault, *patches = (
        _rectangle([(x, d / width * y, d / width * z) for x, d in ((a, c), (b, c), (b, e), (a, e))])
        for a, b, c, e in ((-half, half, 0.0, width), *setting.patches)
    )
    _, images = occ.fragment([(3, box)], [(2, surface) for surface in (fault, *patches)])
    occ.synchronize()
    on_fault = [tag for dimension, tag in images[1] if dimension == 2]
    found: dict[str, list[int]] = {"fault": on_fault, "top": [], "other": []}
    for _, tag in gmsh.model.getEntities(2):
        if tag not in on_fault:
            low, high = gmsh.model.getBoundingBox(2, tag)[2::3]
            found["top" if max(abs(low), abs(high)) < 1e-6 * setting.depth else "other"].append(tag)
    return found


def _rectangle(corners: list[tuple[float, float, float]]) -> int:
    occ = gmsh.model.occ
    points = [occ.addPoint(*p) for p in corners]
    lines = [occ.addLine(a, b) for a, b in zip(points, points[1:] + points[:1], strict=True)]
    return int(occ.addPlaneSurface([occ.addCurveLoop(lines)]))


def _sizes(setting: Tpv5, fault: list[int]) -> None:
    """``size`` on the fault, growing with distance to ``far_size``."""
    field = gmsh.model.mesh.field
    distance = field.add("Distance")
    field.setNumbers(distance, "SurfacesList", fault)
    field.setNumber(distance, "Sampling", float(np.clip(setting.fault_length / setting.size, 20, 200)))
    size, far_size = float(setting.size), float(setting.far_size)
    growth = field.add("MathEval")
    field.setString(growth, "F", f"Min({size!r} + {GROWTH} * Max(F{distance} - {size!r}, 0), {far_size!r})")
    field.setAsBackgroundMesh(growth)


def _parts(surfaces: dict[str, list[int]]) -> Parts:
    ids, coordinates, _ = gmsh.model.mesh.getNodes()
    tetrahedra = elements(4, -1, 4)
    triangles: list[Integers] = []
    tags: list[int] = []
    for name, tag in (("fault", FAULT), ("top", FREE_SURFACE), ("other", ABSORBING)):
        for surface in surfaces[name]:
            nodes = elements(2, surface, 3)
            triangles.append(nodes)
            tags += [tag] * len(nodes)
    points: Floats = np.asarray(coordinates, float).reshape(-1, 3)
    return Parts(
        np.asarray(ids, np.int64),
        points,
        tetrahedra,
        np.ones(len(tetrahedra), np.int64),
        np.concatenate(triangles),
        np.array(tags, np.int64),
    )


def elements(kind: int, entity: int, width: int) -> Any:
    """Node ids (n, width) of the elements of a type on an entity (-1: all) of the current model."""
    return np.asarray(gmsh.model.mesh.getElementsByType(kind, entity)[1], np.int64).reshape(-1, width)
