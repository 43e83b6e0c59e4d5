"""Whether a machine's memory can hold a run, before its mesh is read."""

from __future__ import annotations

from faultwave import backends
from faultwave.base.errors import Problems
from faultwave.base.memory import machine_memory
from faultwave.case.model import Case
from faultwave.dg.basis import tet_size, triangle_size
from faultwave.domain import tets
from faultwave.physics.waves import law


def least_memory(case: Case, cells: int) -> float:
    """Bytes of what every run of so many cells keeps: their modes, and a wave on each face. Runs keep about twice that."""
    physics, order = law(case.law), case.numerics.order
    modes, waves = tet_size(order - 1) * len(physics.quantities), 4 * triangle_size(order - 1) * physics.face_channels
    real = 8 if case.numerics.precision == "double" else 4
    return float(cells) * (real * modes + (4 if case.numerics.stored_waves else real) * waves)


def check_room(case: Case) -> None:
    """Raises InputError for a mesh that one process on this machine cannot hold."""
    name = backends.best() if case.numerics.backend == "auto" else case.numerics.backend
    cells, memory = tets.cells_ahead(case.mesh), machine_memory()
    if cells is None or memory is None or name not in backends.names() or not backends.on_host(name):
        return  # an unknown backend is told with all else
    needed = least_memory(case, cells)
    if needed > memory:
        problems = Problems()
        what = (
            f"{cells:,} cells at order {case.numerics.order} need more than {needed / 2**30:.3g} GiB, "
            f"and this machine has {memory / 2**30:.3g}"
        )
        advice = (
            "Choose larger cells, a lower order or numerics.precision single, or run on processes of several machines."
        )
        problems.error("mesh", what, advice=advice)
        problems.raise_errors()


__all__ = ["check_room", "least_memory"]
