"""Mesh generation with Gmsh in this process: its session, plane faces and element sizes, and a planar fault in a box.

Importing this module needs Gmsh.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import gmsh
import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.domain.tets.assemble import Parts, assemble
from faultwave.domain.tets.generators.graded import ABSORBING, FAULT, FREE_SURFACE, GROWTH, Tpv5
from faultwave.domain.tets.mesh import Floats, Integers, Mesh


@contextmanager
def session(name: str) -> Iterator[None]:
    """Provide a Gmsh model called ``name`` as a context; an open session of the caller is restored."""
    ours = not gmsh.isInitialized()
    if ours:
        heeded = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
        # Gmsh would otherwise handle Ctrl-C, and read options and files from the command line of the user.
        gmsh.initialize(argv=[], readConfigFiles=False, interruptible=False)
        if threading.current_thread() is threading.main_thread():
            for number, handler in heeded.items():  # Gmsh nevertheless resets the handler of SIGTERM
                signal.signal(number, handler)
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
    saved = {option: gmsh.option.getNumber(option) for option in options}
    try:
        for option, value in options.items():
            gmsh.option.setNumber(option, value)
        gmsh.model.add(name)
        yield
    finally:
        gmsh.model.remove()
        for option, value in saved.items():
            gmsh.option.setNumber(option, value)
        if ours:
            gmsh.finalize()
        elif before:
            gmsh.model.setCurrent(before)


def plane_face(corners: Sequence[Sequence[float] | Floats]) -> int:
    """Return the number of a new plane surface with these corners in the OpenCASCADE geometry."""
    occ = gmsh.model.occ
    points = [occ.addPoint(*(float(x) for x in corner)) for corner in corners]
    lines = [occ.addLine(a, b) for a, b in zip(points, points[1:] + points[:1], strict=True)]
    return int(occ.addPlaneSurface([occ.addCurveLoop(lines)]))


def edges_about(faults: Sequence[int], longest: float, size: float, growth: float, far: float, near: str = "") -> None:
    """Set element sizes that grow with the distance from faults.

    Parameters
    ----------
    faults
        Surfaces of the faults.
    longest
        Longest extent of a fault [m].
    size
        Edge on the faults [m].
    growth
        Growth of edges per metre of distance.
    far
        Largest edge [m].
    near
        Gmsh formula in x, y, z for edges on the faults, if they vary.
    """
    field = gmsh.model.mesh.field
    distance = field.add("Distance")
    field.setNumbers(distance, "SurfacesList", faults)
    field.setNumber(distance, "Sampling", float(np.clip(longest / size, 20, 200)))
    near = near or repr(float(size))
    grown = field.add("MathEval")
    field.setString(grown, "F", f"Min({near} + {growth} * Max(F{distance} - {near}, 0), {float(far)!r})")
    field.setAsBackgroundMesh(grown)


def nodes() -> tuple[Integers, Floats]:
    """Return the ids (n,) and coordinates (n, 3) of the nodes of the current model."""
    ids, coordinates, _ = gmsh.model.mesh.getNodes()
    return np.asarray(ids, np.int64), np.asarray(coordinates, float).reshape(-1, 3)


def elements(kind: int, entity: int, width: int) -> Integers:
    """Return the node ids (n, width) of the elements of a type on an entity (-1: all) of the current model."""
    return np.asarray(gmsh.model.mesh.getElementsByType(kind, entity)[1], np.int64).reshape(-1, width)


def gmsh_mesh(setting: Tpv5) -> Mesh:
    """Return a mesh of the box with the fault as an embedded surface: tags 1 on top, 3 on the fault, 5 elsewhere; group 1.

    Raises
    ------
    InputError
        If Gmsh fails.
    """
    setting.check()
    with session("faultwave-tpv5"):
        try:
            surfaces = _geometry(setting)
            edges_about(surfaces["fault"], setting.fault_length, setting.size, GROWTH, setting.far_size)
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


def _geometry(setting: Tpv5) -> dict[str, list[int]]:
    """Create box and fault, cut so that they share the fault, and return their surfaces by kind."""
    occ = gmsh.model.occ
    wx, wy = setting.widths
    half, width, (y, z) = setting.fault_length / 2, setting.fault_depth, setting.bottom
    box = occ.addBox(-wx, -wy, -setting.depth, 2 * wx, 2 * wy, setting.depth)
    fault, *patches = (
        plane_face([(x, d / width * y, d / width * z) for x, d in ((a, c), (b, c), (b, e), (a, e))])
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


def _parts(surfaces: dict[str, list[int]]) -> Parts:
    ids, points = nodes()
    tetrahedra = elements(4, -1, 4)
    triangles: list[Integers] = []
    tags: list[int] = []
    for name, tag in (("fault", FAULT), ("top", FREE_SURFACE), ("other", ABSORBING)):
        for surface in surfaces[name]:
            found = elements(2, surface, 3)
            triangles.append(found)
            tags += [tag] * len(found)
    return Parts(
        ids,
        points,
        tetrahedra,
        np.ones(len(tetrahedra), np.int64),
        np.concatenate(triangles),
        np.array(tags, np.int64),
    )
