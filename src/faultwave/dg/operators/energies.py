"""Energies and momenta of the wave field, computed per cell and summed on the backend."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from faultwave.dg.formula import Densities
from faultwave.dg.operators import kernels
from faultwave.dg.operators.operator import Operator
from faultwave.kernels.types import Named, Number, Numbers
from faultwave.physics.waves.elastic import Elastic
from faultwave.physics.waves.law import energy_names

if TYPE_CHECKING:
    from faultwave.dg.running import Solver


class Energies:
    """Sums of ``Law.energies``, or of similar densities, over all cells by name."""

    def __init__(self, operator: Operator, of: Densities | None = None):
        op, law, cells = operator, operator.law, operator.cells
        known = [p.name for p in law.parameters]
        self.names = energy_names(law, of or law.energies)
        self.operator, size = op, len(op.layout.cell_at)
        values = np.stack([*[cells.material[n] for n in known], cells.volume], 1)
        parameters = op.per_cell(values)
        padding = op.layout.cell_at < 0
        if padding.any():  # cells like the first, without volume
            nothing = np.append(values[0, :-1], 0.0)
            parameters.put(np.broadcast_to(nothing, (int(padding.sum()), 1, len(nothing))), padding)
        self.each = op.backend.batch(size, 1, len(self.names))
        jacobian = {} if op.form.self_contained else {"jacobian": op.per_cell(op.form.jacobians(cells))}
        kernel = op.backend.compile([kernels.energies(op.form, of)])["energies"]
        self.launch = kernel({"q": op.q, "cell": op.cell, "parameters": parameters, "energies": self.each, **jacobian})

    def __call__(self) -> dict[str, float]:
        self.launch(0, self.each.items)
        return dict(zip(self.names, self.each.total()[0].tolist(), strict=True))


class AllEnergies:
    """Energies of the wave law and of all capabilities of a solver, summed over processes on the first one."""

    def __init__(self, solver: Solver):
        self.solver = solver
        self.of_waves: Energies | None = None  # made at the first call
        self.marching = False  # true while only steps change the field
        self.known: tuple[tuple[float, int], dict[str, float]] | None = None  # result for a time and number of updates

    def prepare(self) -> None:
        """Compile all kernels in advance."""
        if self.of_waves is None:
            self.of_waves = Energies(self.solver.operator)
            for part in self.solver.parts.values():
                part.prepare_energies()

    @contextmanager
    def in_steps(self) -> Iterator[None]:
        """Reuse results of the same time inside this context, where only steps change the field."""
        self.marching, self.known = True, None
        try:
            yield
        finally:
            self.marching = False

    def __call__(self) -> dict[str, float]:
        """Return the present energies; a collective call."""
        now = self.solver.time, self.solver.updates
        if not self.marching or self.known is None or self.known[0] != now:
            self.known = now, self._worked_out()
        return dict(self.known[1])

    def _worked_out(self) -> dict[str, float]:
        solver = self.solver
        mechanical = "force" in solver.plan.law.point_sources
        total: dict[str, float] = {"gravitational_energy": 0.0} if mechanical else {}  # unless a capability adds to it
        self.prepare()
        assert self.of_waves is not None
        with np.errstate(over="ignore", invalid="ignore"):  # an unstable run is reported elsewhere
            total |= self.of_waves()
        for part in solver.parts.values():
            total |= part.energies()
        if mechanical:
            total.setdefault("plastic_moment", 0.0)
        return dict(solver.added(total))


def as_isotropic(law: Any) -> Densities | None:
    """Return the energies of isotropic elasticity as a function of stress and velocity, or None for laws that have them.

    The function uses the ``moduli`` and the density named by the law's parameters, in porous rock the density of the grains.
    """
    if type(law) is Elastic or law.quantities[:9] != Elastic().quantities:
        return None

    def found(q: Numbers, values: Named) -> dict[str, Number]:
        return Elastic().energies(list(q[:9]), {**law.moduli(values), "rho": values["rho"]})

    return found


__all__ = ["AllEnergies", "Energies", "as_isotropic"]
