"""Child process that meshes a geometry with Gmsh, independent of the package: ``python -P gmsh_child.py JSON``.

JSON: geometry, made (the mesh to write), size or null, script (True for a .geo file, else a shape), opening and meshing
(limits of processor time [s]), confined. Exit code 1: the last line on standard output is the error of Gmsh; 3: Gmsh
cannot be loaded. If confined, and Linux has Landlock (5.13), the process cannot start programs and can only write to
the folder of the mesh.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

_CREATE, _ADD, _RESTRICT = 444, 445, 446
"""Numbers of Landlock's system calls, equal on all architectures."""

_EXECUTE, _READS = 1 << 0, (1 << 2) | (1 << 3)
_ALL = (1 << 13) - 1
"""Access rights of Landlock's first version."""

_NO_NEW_PRIVILEGES = 38


class _Rule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def confine(folder: str) -> bool:
    """Give up the rights to start programs and to change files outside of ``folder``; return False if not supported."""
    if sys.platform != "linux":
        return False
    system = ctypes.CDLL(None, use_errno=True)
    handled = ctypes.c_uint64(_ALL & ~_READS)
    rules = system.syscall(_CREATE, ctypes.byref(handled), ctypes.c_size_t(8), ctypes.c_uint32(0))
    if rules < 0:
        return False
    for place, allowed in ((folder, _ALL & ~_READS & ~_EXECUTE), (os.devnull, 1 << 1)):
        opened = os.open(place, os.O_PATH)
        rule = _Rule(allowed, opened)
        system.syscall(_ADD, rules, 1, ctypes.byref(rule), ctypes.c_uint32(0))
        os.close(opened)
    system.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    done = system.syscall(_RESTRICT, rules, ctypes.c_uint32(0))
    os.close(rules)
    return bool(done == 0)


def limit_time(seconds: float) -> None:
    """End this process after ``seconds`` of processor time, by a system timer that also works inside Gmsh."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)


def mesh(
    gmsh: ModuleType, path: str, made: str, size: float | None, script: bool, opening: float, meshing: float
) -> None:
    """Mesh a geometry with Gmsh and write it to ``made``; opening and meshing have separate time limits [s]."""
    limit_time(opening)
    gmsh.option.setNumber("General.Terminal", 0)
    gmsh.option.setNumber("Mesh.ElementOrder", 1)
    if script:
        gmsh.open(path)
    else:
        gmsh.model.add(Path(path).stem)
        gmsh.option.setString("Geometry.OCCTargetUnit", "M")
        gmsh.model.occ.importShapes(path)
        gmsh.model.occ.removeAllDuplicates()
        gmsh.model.occ.synchronize()
    if not gmsh.model.getPhysicalGroups():
        name_everything(gmsh)
    if size is not None:
        gmsh.option.setNumber("Mesh.MeshSizeMax", size)
    limit_time(meshing)
    gmsh.model.mesh.generate(3)
    gmsh.option.setNumber("Mesh.MshFileVersion", 4.1)
    gmsh.option.setNumber("Mesh.Binary", 1)
    gmsh.write(made)


def name_everything(gmsh: ModuleType) -> None:
    """Name all volumes and surfaces of the geometry that have no physical group."""
    for dimension, word in ((3, "volume"), (2, "surface")):
        for number, (_, tag) in enumerate(gmsh.model.getEntities(dimension), 1):
            label = gmsh.model.getEntityName(dimension, tag).rsplit("/", 1)[-1]
            gmsh.model.addPhysicalGroup(dimension, [tag], number, name=label or f"{word}-{number}")


def main(text: str) -> int:
    """Mesh the geometry that the JSON ``text`` describes, and return the exit code of the process."""
    requested = json.loads(text)
    try:
        import gmsh
    except (ImportError, OSError) as error:  # OSError if shared libraries are missing
        print(" ".join(str(error).split()))
        return 3
    gmsh.initialize(argv=[], readConfigFiles=False, interruptible=False)
    if requested["confined"]:
        confine(str(Path(requested["made"]).parent))
    try:
        mesh(gmsh, *(requested[name] for name in ("geometry", "made", "size", "script", "opening", "meshing")))
    except Exception as error:
        print(" ".join(str(error).split()) or type(error).__name__)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
