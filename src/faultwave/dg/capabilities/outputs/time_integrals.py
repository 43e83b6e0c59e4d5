"""Time integrals of the wave field (``int-v1`` etc. of volume snapshots), by the trapezoidal rule over the steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from faultwave.dg.mesh.placement import Cut, Planning
from faultwave.dg.method.basis import tet_basis
from faultwave.dg.method.forms import Form
from faultwave.dg.operators.operator import Operator
from faultwave.dg.solver import Solver
from faultwave.engine.capability import Capability, CapabilityPlan, RestoredFrom, State
from faultwave.kernels.language import Kernel

name = "time_integrals"
AFTER = ("plasticity", "initial")
PREFIX = "int-"

SUM, LAST, HALF = "time_integral", "state_before", "half_step"
"""Names in the kernels: integral so far, state at the end of the previous step (both in the form's components), half a step [s]."""


@dataclass(frozen=True)
class TimeIntegrals(CapabilityPlan):
    """Plan of time integrals: the available ``fields`` and the ``numbers`` (nc,) of the cells."""

    fields: tuple[str, ...]
    numbers: np.ndarray
    name: str = name

    @property
    def cell_work(self) -> Any:
        return Summing()

    @property
    def volume_fields(self) -> Sequence[str]:
        return self.fields

    def partition(self, cut: Cut) -> TimeIntegrals:
        return replace(self, numbers=self.numbers[cut.cells])

    def attach(self, solver: Solver) -> AttachedIntegrals:
        return AttachedIntegrals(self, solver)


def plan(planning: Planning) -> TimeIntegrals | None:
    """Return the plan of time integrals in volume snapshots, None if the case has none."""
    setting, law = planning.case.output.volume, planning.law
    if setting is None or not any(field.startswith(PREFIX) for field in setting.fields or ()):
        return None
    if planning.case.numerics.integrator != "ader":
        planning.problems.error("output.volume.fields", "integrals over time need integrator: ader", "ader")
    return TimeIntegrals(tuple(PREFIX + n for n in law.quantities[: law.visible]), planning.numbers)


@dataclass(frozen=True)
class Summing:
    """Kernel statements and buffers of the time integrals."""

    def kernel(self, form: Form) -> Kernel:
        k = Kernel(name)
        q, total = k.batch("q", form.b3, form.Q), k.batch(SUM, form.b3, form.Q, "inout")
        last, half = k.batch(LAST, form.b3, form.Q, "inout"), k.scalar(HALF)

        def add(total: Any, last: Any, q: Any, half: Any) -> Any:
            return [[t + half[0] * (a + b) for t, a, b in zip(total, last, q, strict=True)], list(q)]

        k.pointwise(add, [total, last, q, half], [total, last])
        return k

    def buffers(self, operator: Operator) -> Mapping[str, Any]:
        size, form = len(operator.layout.cell_at), operator.form
        return {n: operator.backend.batch(size, form.b3, form.Q) for n in (SUM, LAST)}

    def scalars(self, step: float) -> Mapping[str, Any]:
        return {HALF: 0.5 * step}


class AttachedIntegrals(Capability):
    """Running integrals over time of the fields of each cell."""

    def __init__(self, part: TimeIntegrals, solver: Solver):
        self.part, self.solver = part, solver
        self.total, self.last = (solver.operator.own[n] for n in (SUM, LAST))

    def begin(self) -> None:
        """Take the state at the start or restart of the run as the previous state."""
        op = self.solver.operator
        self.last.put(op.state(), op.layout.position)

    def state(self) -> Mapping[str, State]:
        """Return the integrals in the law's quantities, so that a restart may use another order or form."""
        op, everything = self.solver.operator, np.arange(self.solver.plan.cells)

        def read() -> np.ndarray:
            return np.asarray(op.physical(self.total.get(op.layout.position), everything))

        def write(values: np.ndarray, origin: RestoredFrom) -> None:
            modes = np.zeros((len(everything), op.b3, op.form.Q))
            retained = min(op.b3, values.shape[1])
            modes[:, :retained] = values[:, :retained]
            self.total.put(op.working(modes, everything), op.layout.position)

        return {"integral": State(self.part.numbers, read, write)}

    def sample(self, points: np.ndarray, cells: np.ndarray, fields: Sequence[str]) -> np.ndarray:
        """Return the integrals up to the end of each cell's last step."""
        op, names = self.solver.operator, self.solver.plan.law.quantities
        columns = [names.index(f.removeprefix(PREFIX)) for f in fields]
        values = op.physical(self.total.get(op.layout.position[cells]), cells)[..., columns].astype(float)
        return np.asarray(np.einsum("sb,cbf->csf", tet_basis(points, op.order - 1), values))
