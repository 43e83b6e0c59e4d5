"""Access to the mesh of a case, from a file, a generator or a place on Earth."""

from __future__ import annotations

from faultwave.case.settings.model import Case
from faultwave.domain import tets


def load_or_build(case: Case) -> tets.Mesh:
    """Return the mesh of a case, read from a file, generated or built.

    Raises
    ------
    InputError
        If the mesh cannot be read or made.
    """
    requested = case.mesh.build
    if requested is None:
        return tets.load_mesh(case.mesh)
    from faultwave.dg.mesh.place_mesh import (
        built,  # the mesher of places takes a while to import, and few cases need it
    )

    return built(case, requested)


__all__ = ["load_or_build"]
