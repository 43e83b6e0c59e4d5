"""Check that a machine's memory can hold a run, or a mesh alone, before it is read."""

from __future__ import annotations

from faultwave import backends
from faultwave.base.errors import InputError, Problem
from faultwave.base.processes.host import machine_memory
from faultwave.case.settings.model import Case
from faultwave.dg.method.basis import tet_size, triangle_size
from faultwave.domain import tets
from faultwave.physics.waves import law

LEAST_OF_MESH = 300
"""Smallest memory of a cell's corners, neighbours, volume, normals and Jacobian, needed to inspect a mesh [bytes]."""


def minimum_memory(case: Case, cells: int) -> float:
    """Return a lower bound of the memory of a run with a number of cells [bytes].

    It counts the modes and, on each face, the wave that waits for the correction and, with ``ader``, the arriving one.
    Real runs need a quarter more.
    """
    physics, order = law(case.law), case.numerics.order
    modes, waves = tet_size(order - 1) * len(physics.quantities), 4 * triangle_size(order - 1) * physics.face_channels
    waves *= 2 if case.numerics.integrator == "ader" else 1
    real = 8 if case.numerics.precision == "double" else 4
    return float(cells) * (real * modes + (4 if case.numerics.stored_waves else real) * waves)


def check_fits_memory(case: Case) -> None:
    """Raise InputError for a mesh that one process on this machine cannot step."""
    name = backends.best() if case.numerics.backend == "auto" else case.numerics.backend
    cells = tets.cells_ahead(case.mesh)
    if cells is None or name not in backends.names() or not backends.on_host(name):
        return  # an unknown backend is reported with all other problems
    what = f"{cells:,} cells at order {case.numerics.order} need"
    advice = "Use larger cells, a lower order, numerics.precision single, or processes on several machines."
    _check(what, minimum_memory(case, cells), advice)


def check_mesh_fits_memory(case: Case) -> None:
    """Raise InputError for a mesh that this machine cannot even inspect; runs may still be possible on several machines."""
    cells = tets.cells_ahead(case.mesh)
    if cells is not None:
        _check(f"checking {cells:,} cells takes", float(LEAST_OF_MESH * cells), "Check the case on a larger machine.")


def _check(what: str, needed: float, advice: str) -> None:
    memory = machine_memory()
    if memory is not None and needed > memory:
        reported = f"{what} more than {needed / 2**30:.3g} GiB, and this machine has {memory / 2**30:.3g}"
        raise InputError(Problem("mesh", reported, advice=advice))
