"""State of a solver in checkpoints, and the check that a run can continue from one.

A checkpoint is taken when all clusters meet without a shortened step, before anything is evaluated for the files of
that moment, so that the continued run is identical to an uninterrupted one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.log import get_logger
from faultwave.base.types import Json
from faultwave.base.wording import command
from faultwave.domain.tets.mesh import row_sum
from faultwave.engine.capability import RestoredFrom, State

if TYPE_CHECKING:
    from faultwave.dg.running import Solver

    Notes: TypeAlias = Mapping[str, Any]
    """Notes of a checkpoint, as read from its file."""

log = get_logger(__name__)


def state(solver: Solver) -> Mapping[str, Mapping[str, State]]:
    """Return the degrees of freedom in the law's quantities and, if the conversion is not exact, also in the form's."""
    op, plan = solver.operator, solver.plan
    solver.finish_reads()
    exact = op.form.to_physical(op.cells, np.arange(1)) is not None

    def dofs() -> np.ndarray:
        raw = op.state()
        return np.asarray(op.physical(raw, np.arange(len(raw))))

    def set_dofs(given: np.ndarray, origin: RestoredFrom) -> None:
        if "modes" in origin.arrays and origin.notes["form"] == _form(solver) and _same_numbers(solver, origin.notes):
            op.set_state(origin.arrays["modes"])
            return
        modes = min(op.b3, given.shape[1])  # the basis is orthonormal and hierarchical: projection keeps or drops modes
        values = np.zeros((len(given), op.b3, given.shape[2]), given.dtype)
        values[:, :modes] = given[:, :modes]
        op.set_dofs(values)

    def nothing(values: np.ndarray, origin: RestoredFrom) -> None:
        """Do nothing: the modes are restored with the degrees of freedom."""

    found = {"dofs": State(plan.numbers, dofs, set_dofs)}
    if exact:
        found["modes"] = State(plan.numbers, op.state, nothing, optional=True)

    def remainders() -> np.ndarray:
        return np.asarray(op.remainder.get(op.layout.position))

    def set_remainders(values: np.ndarray, origin: RestoredFrom) -> None:
        if origin.notes["form"] == _form(solver) and _same_numbers(solver, origin.notes):
            op.remainder.put(values, op.layout.position)

    if op.remainder is not None:
        found["remainders"] = State(plan.numbers, remainders, set_remainders, optional=True)
    return {"cells": found}


def _form(solver: Solver) -> str:
    return f"{type(solver.operator.form).__name__} in {solver.operator.time_unit}"


def _same_numbers(solver: Solver, notes: Notes) -> bool:
    numerics = solver.plan.case.numerics
    return (notes["order"], notes["precision"]) == (numerics.order, numerics.precision)


def notes(solver: Solver) -> dict[str, Json]:
    """Return the notes that identify the run and its progress in a checkpoint."""
    plan, numerics = solver.plan, solver.plan.case.numerics
    return {
        "time": solver.time, "order": numerics.order, "precision": numerics.precision, "backend": numerics.backend,
        "mesh": _mesh(solver), "material": _material(solver), "form": _form(solver), "steps": plan.clustering.steps.tolist(),
        "updates": solver.updates * solver.updates_share, "wall": dict(solver.wall), "seconds": dict(solver.seconds),
    }  # fmt: skip


def accept(solver: Solver, notes: Notes, where: str) -> bool:
    """Check that a run can continue from a checkpoint and log changed settings.

    Returns
    -------
    bool
        True if the clusters are the same.

    Raises
    ------
    InputError
        If the mesh or the material differs.
    """
    if "mesh" not in notes:
        raise InputError(Problem(where, "was taken by another engine", "engine: dg"))
    if notes["mesh"] != _mesh(solver):
        raise InputError(Problem(where, "was taken on another mesh", "the mesh of the first run"))
    numerics = solver.plan.case.numerics
    for name in ("order", "precision", "backend"):
        if notes[name] != getattr(numerics, name):
            text = "going on with %s %s instead of %s: the state is %s"
            how = "projected" if name == "order" else "converted" if name == "precision" else "the same"
            log.warning(text, name, getattr(numerics, name), notes[name], how)
    now = _material(solver)
    if notes["order"] != numerics.order:  # a cell's averages are sums over points that depend on the order
        now = {name: number for name, number in now.items() if name not in solver.plan.material}
    _same_material(where, notes.get("material", {}), now)
    steps = solver.plan.clustering.steps
    same = np.array_equal(notes["steps"], steps)
    if not same:
        log.warning(
            "the clusters differ from those of the checkpoint: its steps were %s, now %s", notes["steps"], steps
        )
    return same


def restored(solver: Solver, notes: Notes) -> None:
    """Restore time and counters from the notes of a checkpoint."""
    solver.march.time = float(notes["time"])
    solver.updates = round(notes["updates"] / solver.updates_share)
    solver.wall |= {name: seconds for name, seconds in notes["wall"].items() if name != "setup"}
    solver.seconds |= notes["seconds"]


def _mesh(solver: Solver) -> str:
    """Return a hash of the mesh's vertices and cells, computed once."""
    if getattr(solver, "mesh_identity", None) is None:
        solver.mesh_identity = solver.plan.identity
    return str(solver.mesh_identity)


def _material(solver: Solver) -> dict[str, int]:
    """Return a hash of each parameter of the medium and of the capabilities, computed once.

    The hash covers the values of all processes and does not depend on the partition.
    """
    known = getattr(solver, "material_identity", None)
    if known is not None:
        return dict(known)
    plan, world = solver.plan, solver.world
    found = {name: _fingerprint(values, plan.numbers) for name, values in sorted(plan.material.items())}
    for part in plan.parts:
        found |= {name: _fingerprint(*item) for name, item in part.identity().items()}
    everywhere = world.gather({name: int(number) for name, number in found.items()}) or [{}]
    names = dict.fromkeys(name for part in everywhere for name in part)
    solver.material_identity = world.share({n: sum(part.get(n, 0) for part in everywhere) % 2**64 for n in names})
    return dict(solver.material_identity)


def _fingerprint(values: np.ndarray, numbers: np.ndarray) -> np.uint64:
    """Return ``row_sum`` of items (n, ...)."""
    return row_sum(values.reshape(len(values), math.prod(values.shape[1:])), numbers)


def _same_material(where: str, then: Mapping[str, int], now: dict[str, int]) -> None:
    """Raise InputError if medium or friction differ from the first run, for instance after a change of a file."""
    other = [name for name in now.keys() & then.keys() if now[name] != then[name]]
    if other:
        what = f"{', '.join(sorted(other))}: not as in the run that this goes on from"
        advice = f"Put back the files that the case names as they were, or start anew with '{command('run')}'."
        raise InputError(Problem(where, what, advice=advice))


__all__ = ["accept", "notes", "restored", "state"]
