"""Meshes made from geometry by Gmsh: its own .geo files, and STEP, BREP or IGES through OpenCASCADE. Importing needs Gmsh."""

from __future__ import annotations

import tempfile
from pathlib import Path

import gmsh

from faultwave.base.errors import InputError, Problem
from faultwave.domain.tets.gmsh_reader import read_gmsh
from faultwave.domain.tets.mesh import Mesh

SCRIPTS = (".geo", ".geo_unrolled")
SHAPES = (".step", ".stp", ".brep", ".iges", ".igs")


def mesh_geometry(path: str | Path, size: float | None = None) -> Mesh:
    """Tetrahedra of a geometry, edges of ``size`` [m] at most; a .geo file may say its sizes itself.

    A .geo file names its parts by physical groups. Shapes come in metres, whatever the file's unit; solids that touch are joined, and
    every volume and surface becomes a physical group, called by its label in the file or 'volume-1', 'surface-1' and so on.
    Raises InputError with Gmsh's own words where it fails.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(Problem(str(path), "the geometry file does not exist"))
    if size is None and path.suffix.lower() in SHAPES:
        raise InputError(Problem("mesh.size", f"is missing: '{path.name}' says no element sizes", "largest edge [m]"))
    ours = not gmsh.isInitialized()
    if ours:
        gmsh.initialize(argv=[], readConfigFiles=False, interruptible=False)
    try:
        gmsh.option.setNumber("General.Terminal", 0)
        gmsh.option.setNumber("Mesh.ElementOrder", 1)
        if path.suffix.lower() in SCRIPTS:
            gmsh.open(str(path))
        else:
            gmsh.model.add(path.stem)
            gmsh.option.setString("Geometry.OCCTargetUnit", "M")
            gmsh.model.occ.importShapes(str(path))
            gmsh.model.occ.removeAllDuplicates()
            gmsh.model.occ.synchronize()
        if not gmsh.model.getPhysicalGroups():
            _name_everything()
        if size is not None:
            gmsh.option.setNumber("Mesh.MeshSizeMax", size)
        gmsh.model.mesh.generate(3)
        with tempfile.TemporaryDirectory(prefix="faultwave-") as folder:
            made = Path(folder) / f"{path.stem}.msh"
            gmsh.option.setNumber("Mesh.MshFileVersion", 4.1)
            gmsh.option.setNumber("Mesh.Binary", 1)
            gmsh.write(str(made))
            return read_gmsh(made, str(path))
    except InputError:
        raise
    except Exception as error:
        raise InputError(Problem(str(path), f"Gmsh could not mesh it: {error}")) from None
    finally:
        gmsh.model.remove()
        if ours:
            gmsh.finalize()


def _name_everything() -> None:
    for dimension, word in ((3, "volume"), (2, "surface")):
        for number, (_, tag) in enumerate(gmsh.model.getEntities(dimension), 1):
            label = gmsh.model.getEntityName(dimension, tag).rsplit("/", 1)[-1]
            gmsh.model.addPhysicalGroup(dimension, [tag], number, name=label or f"{word}-{number}")


__all__ = ["SCRIPTS", "SHAPES", "mesh_geometry"]
