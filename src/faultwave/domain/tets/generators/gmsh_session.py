"""Common parts of mesh generation with Gmsh in this process: session, plane faces, element sizes, nodes and elements.

Importing this module needs Gmsh.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import gmsh
import numpy as np

from faultwave.domain.tets.mesh import Floats, Integers


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
