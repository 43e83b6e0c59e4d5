"""Rheologies, one file each: return maps of media that yield.

A rheology is a pure function of one point: ``return_map(p, c, stress, s, step)`` receives the stress after an elastic
step and returns the stress that the medium can carry, with the state variables of the point. It is written with
``kernels.math``, so it runs on NumPy arrays and is recorded in generated code; it does not depend on cells, grids or
processes. Every instance of ``Rheology`` in a module of this package, or of an entry point
'faultwave.physics.rheology', is found by its name.

Both engines call it with ``statement`` between elastic steps, at points where all six stress components are available.
On tetrahedra these are nodes of the cell: modes are evaluated there, the statement is applied, and the result is
projected back, inside the kernel that corrects and predicts. On grids they are the centres of grid cells: shear
stresses are averaged to them, and the change is averaged back. The state is a buffer of the engine, and part of its
checkpoints by the names of its columns.
"""

from __future__ import annotations

from faultwave.base.registry import get_entry, scan
from faultwave.physics.rheology.rheology import STRESS, Returned, Rheology, in_tension, statement


def rheologies() -> dict[str, Rheology]:
    """Return all rheologies by name."""
    return scan("faultwave.physics.rheology", Rheology)


def rheology(name: str) -> Rheology:
    """Return the rheology called ``name``; raises InputError that lists the names that exist."""
    return get_entry(rheologies(), name, "rheology", "rheology")


__all__ = ["STRESS", "Returned", "Rheology", "in_tension", "rheologies", "rheology", "statement"]
