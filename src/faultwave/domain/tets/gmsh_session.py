"""What every builder of meshes by Gmsh in this process needs: a session, plane faces, sizes about faults, nodes and elements.

Importing this module needs Gmsh.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import gmsh
import numpy as np

from faultwave.domain.tets.mesh import Floats, Integers


@contextmanager
def session(name: str) -> Iterator[None]:
    """A Gmsh model of our own, called ``name``; a session the caller has open is left as it was."""
    ours = not gmsh.isInitialized()
    if ours:
        heeded = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
        # Gmsh would take over Ctrl-C, and read options and files from the user's command line.
        gmsh.initialize(argv=[], readConfigFiles=False, interruptible=False)
        if threading.current_thread() is threading.main_thread():
            for number, handler in heeded.items():  # Gmsh gives SIGTERM its default all the same
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
    """Number of the plane surface with these corners, in the geometry that OpenCASCADE keeps."""
    occ = gmsh.model.occ
    points = [occ.addPoint(*(float(x) for x in corner)) for corner in corners]
    lines = [occ.addLine(a, b) for a, b in zip(points, points[1:] + points[:1], strict=True)]
    return int(occ.addPlaneSurface([occ.addCurveLoop(lines)]))


def edges_about(faults: Sequence[int], longest: float, size: float, growth: float, far: float, near: str = "") -> None:
    """Edges of ``size`` [m] on the surfaces ``faults``, of which the ``longest`` is so long [m], that gain ``growth`` per metre of distance
    up to ``far`` [m]. ``near``: Gmsh's formula in x, y, z of the edges on the faults where these vary."""
    field = gmsh.model.mesh.field
    distance = field.add("Distance")
    field.setNumbers(distance, "SurfacesList", faults)
    field.setNumber(distance, "Sampling", float(np.clip(longest / size, 20, 200)))
    near = near or repr(float(size))
    grown = field.add("MathEval")
    field.setString(grown, "F", f"Min({near} + {growth} * Max(F{distance} - {near}, 0), {float(far)!r})")
    field.setAsBackgroundMesh(grown)


def nodes() -> tuple[Integers, Floats]:
    """Numbers (n,) and coordinates (n, 3) of the nodes of the current model."""
    ids, coordinates, _ = gmsh.model.mesh.getNodes()
    return np.asarray(ids, np.int64), np.asarray(coordinates, float).reshape(-1, 3)


def elements(kind: int, entity: int, width: int) -> Any:
    """Node ids (n, width) of the elements of a type on an entity (-1: all) of the current model."""
    return np.asarray(gmsh.model.mesh.getElementsByType(kind, entity)[1], np.int64).reshape(-1, width)
