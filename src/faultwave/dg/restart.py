"""State of a solver in checkpoints, and the check that a run can continue from one.

A checkpoint is taken when all clusters meet without a shortened step, before anything is evaluated for the files of
that moment, so that the continued run is identical to an uninterrupted one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.log import get_logger
from faultwave.base.types import Json
from faultwave.base.wording import command
from faultwave.dg.operators.operator import Operator
from faultwave.dg.planning.plan import Plan
from faultwave.domain.tets.mesh import row_sum
from faultwave.engine.capability import RestoredFrom, State

Notes: TypeAlias = Mapping[str, Any]
"""Notes of a checkpoint, as read from its file."""

log = get_logger(__name__)


class Restart:
    """State of a wave field in checkpoints, and the identity of its run."""

    def __init__(self, plan: Plan, operator: Operator):
        self.plan, self.operator = plan, operator
        self.form = f"{type(operator.form).__name__} in {operator.time_unit}"

    def state(self) -> Mapping[str, Mapping[str, State]]:
        """Return the degrees of freedom in the law's quantities and, if the conversion is not exact, also in the form's."""
        op, numbers = self.operator, self.plan.numbers
        exact = op.form.to_physical(op.cells, np.arange(1)) is not None

        def dofs() -> np.ndarray:
            raw = op.state()
            return np.asarray(op.physical(raw, np.arange(len(raw))))

        def set_dofs(given: np.ndarray, origin: RestoredFrom) -> None:
            if "modes" in origin.arrays and self._same_numbers(origin.notes):
                op.set_state(origin.arrays["modes"])
                return
            # The basis is orthonormal and hierarchical: projection keeps or drops modes.
            modes = min(op.b3, given.shape[1])
            values = np.zeros((len(given), op.b3, given.shape[2]), given.dtype)
            values[:, :modes] = given[:, :modes]
            op.set_dofs(values)

        def nothing(values: np.ndarray, origin: RestoredFrom) -> None:
            """Do nothing: the modes are restored with the degrees of freedom."""

        found = {"dofs": State(numbers, dofs, set_dofs)}
        if exact:
            found["modes"] = State(numbers, op.state, nothing, optional=True)
        remainder = op.remainder
        if remainder is not None:

            def remainders() -> np.ndarray:
                return np.asarray(remainder.get(op.layout.position))

            def set_remainders(values: np.ndarray, origin: RestoredFrom) -> None:
                if self._same_numbers(origin.notes):
                    remainder.put(values, op.layout.position)

            found["remainders"] = State(numbers, remainders, set_remainders, optional=True)
        return {"cells": found}

    def _same_numbers(self, notes: Notes) -> bool:
        """Return True if a checkpoint has the same form, order and precision."""
        numerics = self.plan.case.numerics
        same = notes["order"], notes["precision"], notes["form"]
        return same == (numerics.order, numerics.precision, self.form)

    def notes(self) -> dict[str, Json]:
        """Return the notes of a checkpoint that identify the run."""
        numerics = self.plan.case.numerics
        return {
            "order": numerics.order, "precision": numerics.precision, "backend": numerics.backend, "mesh": self.mesh,
            "material": dict(self.material), "form": self.form, "steps": self.plan.clustering.steps.tolist(),
        }  # fmt: skip

    def accept(self, notes: Notes, where: str) -> bool:
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
            raise InputError(Problem(where, "was written by another engine", "engine: dg"))
        if notes["mesh"] != self.mesh:
            raise InputError(Problem(where, "was written on another mesh", "the mesh of the first run"))
        numerics = self.plan.case.numerics
        for name in ("order", "precision", "backend"):
            if notes[name] != getattr(numerics, name):
                text = "continuing with %s %s instead of %s: the state is %s"
                how = "projected" if name == "order" else "converted" if name == "precision" else "the same"
                log.warning(text, name, getattr(numerics, name), notes[name], how)
        now = dict(self.material)
        if notes["order"] != numerics.order:  # a cell's averages are sums over points that depend on the order
            now = {name: number for name, number in now.items() if name not in self.plan.material}
        _check_same_material(where, notes.get("material", {}), now)
        steps = self.plan.clustering.steps
        same = np.array_equal(notes["steps"], steps)
        if not same:
            log.warning(
                "the clusters differ from those of the checkpoint: its steps were %s, now %s", notes["steps"], steps
            )
        return same

    @cached_property
    def mesh(self) -> str:
        """Hash of the mesh's vertices and cells."""
        return str(self.plan.identity)

    @cached_property
    def material(self) -> Mapping[str, int]:
        """Hash of each parameter of the medium and of the capabilities, for all processes and any partition (collective)."""
        plan, world = self.plan, self.plan.world
        found = {name: _fingerprint(values, plan.numbers) for name, values in sorted(plan.material.items())}
        for part in plan.parts:
            found |= {name: _fingerprint(*item) for name, item in part.identity().items()}
        everywhere = world.gather({name: int(number) for name, number in found.items()}) or [{}]
        names = dict.fromkeys(name for part in everywhere for name in part)
        summed = {n: sum(part.get(n, 0) for part in everywhere) % 2**64 for n in names}
        return dict(world.broadcast(summed))


def _fingerprint(values: np.ndarray, numbers: np.ndarray) -> np.uint64:
    """Return ``row_sum`` of items (n, ...)."""
    return row_sum(values.reshape(len(values), math.prod(values.shape[1:])), numbers)


def _check_same_material(where: str, then: Mapping[str, int], now: dict[str, int]) -> None:
    """Raise InputError if medium or friction differ from the first run, for instance after a change of a file."""
    other = [name for name in now.keys() & then.keys() if now[name] != then[name]]
    if other:
        what = f"{', '.join(sorted(other))}: not as in the original run"
        advice = f"Restore the files of the case, or start again with '{command('run')}'."
        raise InputError(Problem(where, what, advice=advice))
