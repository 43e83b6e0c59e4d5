"""Rheologies as data, one file each: what the stress at a point becomes where the medium yields.

A rheology is a return map, a pure function of one point: ``return_map(p, c, stress, s, step)`` takes the stress that an elastic step has
left and gives back the stress that the medium can carry, with the point's own state. It is written with ``kernels.math``, so it
runs on NumPy arrays and is recorded in generated code; it knows nothing of cells, grids or processes. Every instance of ``Rheology``
in a module of this package is found by its name, and so are those of the entry points 'faultwave.physics.rheology'.

Both engines call it with ``statement`` between an elastic step and the next, at points where the six stresses stand together. On
tetrahedra these are nodes of the cell: values of the modes there, the statement, and back to modes, inside the kernel that corrects
and predicts. On grids they are the centres of grid cells: shear stresses are averaged to them, and the change that the
statement makes is averaged back. The columns of the state are a buffer of the engine, and part of its checkpoints by their names.
"""

from __future__ import annotations

from faultwave.base.registry import pick, scan
from faultwave.physics.rheology.rheology import STRESS, Returned, Rheology, in_tension, statement


def rheologies() -> dict[str, Rheology]:
    """Every rheology by name."""
    return scan("faultwave.physics.rheology", Rheology)


def rheology(name: str) -> Rheology:
    """The rheology called ``name``; raises InputError with the names that exist."""
    return pick(rheologies(), name, "rheology", "rheology")


__all__ = ["STRESS", "Returned", "Rheology", "in_tension", "rheologies", "rheology", "statement"]
