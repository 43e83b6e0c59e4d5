"""Generation of meshes: built-in ones by name, and from geometry by Gmsh, whose scripts are checked first.

A .geo file is a program. A file from somebody else must only mesh a geometry, so these words are rejected before Gmsh
reads them, unless the user trusts the file.

Gmsh runs in its own process (``gmsh_child``), which cannot start programs or write files other than the mesh: a .geo
file is a program, and must not act with the rights of the user.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from faultwave.base.errors import InputError, Problem, Problems, suggest
from faultwave.base.files.cache import scratch_folder
from faultwave.base.log import get_logger
from faultwave.base.processes.host import PYTHON, without_launcher
from faultwave.domain.tets.generators.box import Box, box_mesh
from faultwave.domain.tets.generators.graded import Tpv5, graded_mesh
from faultwave.domain.tets.gmsh import child as gmsh_child
from faultwave.domain.tets.gmsh.reader import read_gmsh
from faultwave.domain.tets.mesh import Mesh

_log = get_logger(__name__)

GMSH_ADVICE = (
    "Install it with 'pip install gmsh'; on a bare Debian or Ubuntu its libraries come with "
    "'apt-get install libglu1-mesa libgl1 libxrender1 libxcursor1 libxft2 libxinerama1'."
)


def generate(setting: object) -> Mesh:
    """Return a built-in mesh of shape 'box' or 'tpv5'.

    Parameters
    ----------
    setting
        Mapping, or object with attributes: the fields of ``Box`` or ``Tpv5``; lengths in metres, angles in degrees.

    Raises
    ------
    InputError
        For unknown shapes and keys, and for invalid settings.
    """
    shape = setting.get("shape") if isinstance(setting, Mapping) else getattr(setting, "shape", None)
    if shape not in _SHAPES:
        raise InputError(Problem("mesh.generate.shape", f"'{shape}'", ", ".join(_SHAPES), suggest(str(shape), _SHAPES)))
    kind, make = _SHAPES[shape]
    return make(_declared(kind, setting))


def _declared(kind: type, setting: object) -> Any:
    """Return the settings of a generator, filled from the setting of the case."""
    names = {f.name: f for f in dataclasses.fields(kind)}
    if not isinstance(setting, Mapping):
        return kind(**{name: getattr(setting, name) for name in names if hasattr(setting, name)})
    problems = Problems()
    for key in set(setting) - set(names) - {"shape"}:
        problems.error(f"mesh.generate.{key}", "unknown setting", ", ".join(names), suggest(key, names))
    for name, declared in names.items():
        optional = declared.default is not dataclasses.MISSING or declared.default_factory is not dataclasses.MISSING
        if name not in setting and not optional:
            problems.error(f"mesh.generate.{name}", "is missing")
    problems.raise_errors()
    return kind(**{name: setting[name] for name in names if name in setting})


def _tpv5(setting: Tpv5) -> Mesh:
    setting.check()
    if setting.mesher == "builtin":
        return graded_mesh(setting)
    try:
        # Loading Gmsh raises OSError if its shared libraries are incomplete.
        from faultwave.domain.tets.generators.gmsh_planar import gmsh_mesh
    except (ImportError, OSError) as error:
        if setting.mesher == "gmsh":
            raise InputError(
                Problem("mesh.generate.mesher", f"Gmsh cannot be loaded: {error}", "builtin, auto", GMSH_ADVICE)
            ) from None
        _log.warning("Gmsh cannot be loaded (%s). %s Continuing with the built-in graded mesh.", error, GMSH_ADVICE)
        return graded_mesh(setting)
    return gmsh_mesh(setting)


_SHAPES: dict[str, tuple[type, Callable[[Any], Mesh]]] = {"box": (Box, box_mesh), "tpv5": (Tpv5, _tpv5)}


TRUST = "FAULTWAVE_TRUST_GEO"
"""Environment variable; 1 permits all statements in Gmsh scripts."""

_PROGRAMS = (
    "System",
    "SystemCall",
    "NonBlockingSystemCall",
    "OnelabRun",
    "OnelabAction",
    "ExternalProcess",
    "Solver",
    "Plugin",
)
_READS = ("Include", "Merge", "MergeFile", "MergeWithBoundingBox", "ShapeFromFile", "ListFromFile", "ReadFile", "Structured", "OpenFile",
          "GetEnv", "Parse", "ParseString", "ParseFile", "FileName", "Load", "NewModel", "Open")  # fmt: skip
_WRITES = ("Save", "Print", "CreateDir", "Export", "Write")
_ENDS = ("Exit", "Abort", "Sleep")
REFUSED = {
    **dict.fromkeys(_PROGRAMS, "starts programs"),
    **dict.fromkeys(_READS, "reads other files"),
    **dict.fromkeys(_WRITES, "writes files"),
    **dict.fromkeys(_ENDS, "ends or halts the program"),
}

_TOKEN = re.compile(
    r"(?P<comment>//[^\n\r]*|/\*.*?(?:\*/|\Z))|(?P<text>\"[^\"\n\r\\]*\"|'[^'\n\r\\]*')|(?P<open>[\"'])"
    r"|(?P<redirect>\)\s*>{1,2}(?=\s*(?:[\"']|Str|Sprintf)))|(?P<word>[A-Za-z_]\w*)",
    re.DOTALL,
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def reads_other_files(path: Path | None) -> bool:
    """Return True for a Gmsh script that may include other files, as the user has permitted by ``TRUST``."""
    return path is not None and path.suffix.lower() in SCRIPTS and os.environ.get(TRUST) == "1"


def check_script(path: Path) -> None:
    """Raise InputError with every statement of the script that does more than describe a geometry and its mesh."""
    if os.environ.get(TRUST) == "1":
        return
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from None
    problems = Problems()
    advice = f"Remove it, or set {TRUST}=1 in the environment if you trust the author of the file."
    for match in _CONTROL.finditer(text):
        problems.error(_place(path, text, match), "contains a control character")
        break
    for match in _TOKEN.finditer(text):
        word = match["word"]
        if match["open"]:
            what = "contains a string that does not end on its line, or a backslash, which could hide commands"
            problems.error(_place(path, text, match), what, advice=advice)
            break
        if match["redirect"]:
            problems.error(_place(path, text, match), "'>' writes files", "a geometry and its mesh", advice)
        elif word in REFUSED:
            problems.error(_place(path, text, match), f"'{word}' {REFUSED[word]}", "a geometry and its mesh", advice)
    problems.raise_errors()


def _place(path: Path, text: str, match: re.Match[str]) -> str:
    return f"{path}:{text.count(chr(10), 0, match.start()) + 1}"


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
        raise InputError(Problem(f"environment variable {MESHING}", f"'{given}' is not a time", "seconds, above 0"))
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
        raise InputError(
            Problem("mesh.size", f"is missing: '{path.name}' defines no element sizes", "largest edge [m]")
        )
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


def _run(path: Path, request: Mapping[str, object], folder: str) -> None:
    """Run the child process; raise InputError with its error."""
    command = [*PYTHON, gmsh_child.__file__, json.dumps(request)]
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
        what = (
            f"Gmsh does not finish: the limits are {OPENING:g} s for reading and {meshing_seconds():g} s "
            "of processor time for meshing"
        )
        raise InputError(
            Problem(str(path), what, advice=f"Make the elements larger, or set {MESHING} to more seconds.")
        )
    if child.returncode < 0:
        name = signal.Signals(-child.returncode).name
        raise InputError(Problem(str(path), f"Gmsh could not mesh it: it crashed ({name})"))
    if child.returncode:
        raise InputError(
            Problem(str(path), (f"Gmsh could not mesh it: {said[-1] if said else 'Gmsh reports no reason'}"))
        )
