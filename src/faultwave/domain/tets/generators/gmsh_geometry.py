"""Meshes from geometry by Gmsh: its own .geo files, and STEP, BREP or IGES through OpenCASCADE.

Gmsh runs in its own process (``gmsh_child``), which cannot start programs or write files other than the mesh: a .geo
file is a program, and must not act with the rights of the user.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from faultwave.base.errors import InputError, Problem
from faultwave.base.files.scratch import scratch_folder
from faultwave.base.processes.children import PYTHON, without_launcher
from faultwave.domain.tets.generators.generate import GMSH_ADVICE
from faultwave.domain.tets.gmsh import child as gmsh_child
from faultwave.domain.tets.gmsh.reader import read_gmsh
from faultwave.domain.tets.gmsh.statements import TRUST, check_script
from faultwave.domain.tets.mesh import Mesh

SCRIPTS = (".geo", ".geo_unrolled")
SHAPES = (".step", ".stp", ".brep", ".iges", ".igs")


OPENING = 60.0
"""Limit of processor time [s] for reading a geometry: a .geo file is a program, which may never end."""

MESHING = "FAULTWAVE_GMSH_SECONDS"
"""Environment variable with the limit of processor time [s] for meshing."""


def meshing_seconds() -> float:
    """Return the limit of processor time [s] for meshing: an hour, or the value of the environment variable."""
    given = os.environ.get(MESHING, "3600")
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e8:
        raise InputError(Problem(f"environment variable {MESHING}", f"'{given}' is no time", "seconds, above 0"))
    return seconds


def mesh_geometry(path: str | Path, size: float | None = None) -> Mesh:
    """Return the mesh of a geometry with edges of at most ``size`` [m]; a .geo file may define its own sizes.

    A .geo file names its parts by physical groups. Shapes are converted to metres from the unit of the file; touching
    solids are joined, and every volume and surface becomes a physical group, named by its label in the file or
    'volume-1', 'surface-1' etc.

    Raises
    ------
    InputError
        With the error of Gmsh, and for scripts that do more than describe a geometry.
    """
    path = Path(path).absolute()
    if not path.is_file():
        raise InputError(
            Problem(
                str(path),
                "the geometry file does not exist",
                ".geo, .step, .brep or .iges",
                "Is its path relative to the case file?",
            )
        )
    script = path.suffix.lower() in SCRIPTS
    if size is None and not script:
        raise InputError(Problem("mesh.size", f"is missing: '{path.name}' says no element sizes", "largest edge [m]"))
    if script:
        check_script(path)
    with scratch_folder() as folder:
        made = folder / f"{path.stem}.msh"
        trusted = os.environ.get(TRUST) == "1"
        requested = {"geometry": str(path), "made": str(made), "size": size, "script": script, "confined": not trusted}
        requested |= {"opening": OPENING, "meshing": meshing_seconds()}
        _run(path, requested, str(folder))
        if not made.is_file():
            raise InputError(
                Problem(str(path), "Gmsh ended without a mesh", advice="Open it in Gmsh: it must mesh volumes.")
            )
        return read_gmsh(made, str(path))


def _run(path: Path, asked: Mapping[str, object], folder: str) -> None:
    """Run the child process; raise InputError with its error."""
    command = [*PYTHON, gmsh_child.__file__, json.dumps(asked)]
    try:
        child = subprocess.run(
            command, env=without_launcher() | {"TMPDIR": folder}, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, errors="replace", check=False,
        )  # fmt: skip
    except OSError as error:
        raise InputError(Problem(str(path), f"Gmsh's process could not be started: {error}")) from None
    said = child.stdout.strip().splitlines()
    if child.returncode == 3:
        raise InputError(Problem(str(path), f"needs Gmsh, which cannot be loaded: {said[-1]}", "", GMSH_ADVICE))
    if child.returncode == -signal.SIGPROF:
        what = f"Gmsh does not come to an end: it may read for {OPENING:g} s and mesh for {meshing_seconds():g} s of processor time"
        raise InputError(
            Problem(str(path), what, advice=f"Make the elements larger, or set {MESHING} to more seconds.")
        )
    if child.returncode < 0:
        name = signal.Signals(-child.returncode).name
        raise InputError(Problem(str(path), f"Gmsh could not mesh it: it crashed ({name})"))
    if child.returncode:
        raise InputError(Problem(str(path), f"Gmsh could not mesh it: {said[-1] if said else 'it does not say why'}"))


__all__ = ["SCRIPTS", "SHAPES", "mesh_geometry"]
