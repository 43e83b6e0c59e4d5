"""Key of a benchmark's mesh, which changes whenever the mesh might change, computed without meshing."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType

import numpy as np

from faultwave.verify.scec.benchmark import Benchmark, Resolution
from faultwave.verify.scec.box import box_of

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


__all__ = ["MAKERS", "makers", "mesh_key"]
