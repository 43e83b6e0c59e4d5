"""Folder of a benchmark at one resolution: a self-contained case file and its mesh with a key, ready to run."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType

import numpy as np
from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import LiteralScalarString

from faultwave.base.types import Settings
from faultwave.base.version import __version__
from faultwave.domain.tets import write_puml
from faultwave.output.atomic import atomic_text
from faultwave.verify.scec.benchmark import Benchmark, Resolution, box_of

MAKERS = ("faultwave.verify.scec.mesh", "faultwave.domain.tets.formats.puml")
"""Modules that make a mesh and write it."""
ROOMS = ("faultwave.domain.", "faultwave.verify.scec.")
"""Packages searched for code that a mesh depends on."""
SAMPLES = 65
"""Number of samples of the relief along x and z."""


def mesh_key(benchmark: Benchmark, resolution: Resolution) -> str:
    """Return a hash of the meshed shapes, the meshing code and the version of Gmsh; needs Gmsh."""
    made = hashlib.sha256(_shapes(benchmark, resolution).encode())
    for path in makers():
        made.update(path.read_bytes())
    return made.hexdigest()


def makers() -> list[Path]:
    """Return the source files that a mesh depends on: ``MAKERS`` and their imports within the listed packages."""
    left, known = [import_module(name) for name in MAKERS], dict[str, ModuleType]()
    while left:
        module = left.pop()
        known[module.__name__] = module
        names = {getattr(value, "__module__", None) or "" for value in vars(module).values()}
        left += [import_module(name) for name in sorted(names - known.keys()) if name.startswith(ROOMS)]
    return [Path(str(known[name].__file__)) for name in sorted(known)]


def _shapes(benchmark: Benchmark, resolution: Resolution) -> str:
    """Return all inputs of a benchmark's mesh as text."""
    domain, box = benchmark.domain, box_of(benchmark)
    x, z = (np.linspace(box.lower[i], box.upper[i], SAMPLES) for i in (0, 2))
    relief = "" if domain.relief is None else np.asarray(domain.relief(*np.meshgrid(x, z))).tobytes().hex()
    start = (benchmark.start.fault, benchmark.start.place) if np.isfinite(resolution.reach) else ()
    try:
        mesher = version("gmsh")
    except PackageNotFoundError:  # not installed by pip
        mesher = str(import_module("gmsh").__version__)
    size = (resolution.size, resolution.reach)
    return repr((benchmark.faults, replace(domain, relief=None), relief, start, size, mesher))


CASE, MESH, RESULTS, PREFIX, COST = "case.yaml", "mesh.h5", "results", "run", "cost.json"


@dataclass(frozen=True)
class Cost:
    """Cost of a finished run.

    Attributes
    ----------
    core_seconds : float
        Core time of set-up and time stepping [s].
    cells : int
        Cells of a mesh, or points of a grid.
    mesh_seconds : float
        Time for mesh generation [s].
    version : str
        Version of the program that ran.
    mesh : str
        Key of the mesh (``mesh_key``); empty for a grid.
    """

    core_seconds: float
    cells: int
    mesh_seconds: float = 0.0
    version: str = __version__
    mesh: str = ""


def write_case(benchmark: Benchmark, resolution: Resolution, folder: Path) -> Path:
    """Write the mesh and the case of a benchmark to ``folder`` and return the path of the case; needs Gmsh."""
    case = begin(folder, case_text(benchmark, resolution))
    write_mesh(benchmark, resolution, folder)
    return case


def write_mesh(benchmark: Benchmark, resolution: Resolution, folder: Path) -> None:
    """Write the mesh of a benchmark to ``folder``; needs Gmsh."""
    from faultwave.verify.scec.mesh import build

    write_puml(folder / MESH, build(benchmark, resolution))


def begin(folder: Path, text: str) -> Path:
    """Write a case to ``folder``, mark its run as unfinished, and return the path of the case."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / COST).unlink(missing_ok=True)
    with atomic_text(folder / CASE) as file:
        file.write(text)
    return folder / CASE


def end(folder: Path, cost: Cost) -> None:
    """Mark the run in ``folder`` as finished and record its cost."""
    with atomic_text(folder / COST) as file:
        json.dump(asdict(cost), file)
        file.write("\n")


def ended(folder: Path, text: str, mesh: str = "") -> Cost | None:
    """Return the cost of the finished run of this case in ``folder``.

    None if there is no such run, if it did not end, or if it used another version of the program or another mesh key.
    """
    case, cost = folder / CASE, folder / COST
    if not cost.is_file() or not case.is_file() or case.read_text(encoding="utf-8") != text:
        return None
    found = Cost(**json.loads(cost.read_text(encoding="utf-8")))
    return found if (found.version, found.mesh) == (__version__, mesh) else None


def case_text(benchmark: Benchmark, resolution: Resolution) -> str:
    """Return the text of a benchmark's case file."""
    return yaml_text(settings(benchmark, resolution), _head(benchmark, resolution))


def yaml_text(case: Mapping[str, object], head: Sequence[str]) -> str:
    """Return a case as YAML text, below the lines of ``head`` as comments."""
    writer = YAML(typ="rt")
    writer.width = 120
    writer.indent(mapping=2, sequence=4, offset=2)
    text = io.StringIO()
    text.writelines(f"# {line}\n" for line in head)
    writer.dump(_plain(case), text)
    return text.getvalue()


def _head(benchmark: Benchmark, resolution: Resolution) -> list[str]:
    return [
        f"SCEC/USGS benchmark {benchmark.name.upper()}: {benchmark.title}.",
        *([f"Description: {benchmark.source}"] if benchmark.source else []),
        *[f"Note: {note}" for note in benchmark.notes],
        f"Edges of {resolution.size:g} m on the fault. Run it with: faultwave run {CASE}",
    ]


def settings(benchmark: Benchmark, resolution: Resolution) -> Settings:
    """Return the case as a dictionary; it expects the mesh in the folder of the case file."""
    points = [
        [round(float(x), 6) for x in benchmark.fault(name).point(s, d)]
        for name, places in benchmark.stations.items()
        for s, d in places
    ]
    relief = benchmark.domain.relief
    if relief is not None:
        points = [[x, round(float(relief(np.array(x), np.array(z))), 3), z] for x, _, z in points]
    return {
        "title": f"SCEC {benchmark.name.upper()}: {benchmark.title}",
        "end_time": resolution.end_time,
        "mesh": {"file": MESH},
        "material": benchmark.material,
        "fault": {"reference": [0.0, 1.0, 0.0], "reference_method": "direction", **benchmark.fault_settings},
        **({"plasticity": benchmark.plasticity} if benchmark.plasticity else {}),
        "numerics": {"order": resolution.order, "precision": resolution.precision},
        "output": {
            "folder": RESULTS,
            "prefix": PREFIX,
            "fault": {"interval": resolution.end_time, "fields": ["RT", "ASl", "PSR", "Sls", "Sld"], "refinement": 1},
            "fault_receivers": {"points": points},
            "energies": {"interval": 0.1},
        },
    }


def _plain(value: object) -> object:
    """Return lists, dictionaries and numbers in the form that YAML writes best: multi-line texts as blocks."""
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, str) and "\n" in value:
        return LiteralScalarString(value + "\n")
    return value
