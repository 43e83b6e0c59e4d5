"""Energies and momenta of the wave field, worked out cell by cell and summed where the cells are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from faultwave.dg import kernels
from faultwave.dg.operator import Operator
from faultwave.physics.waves.elastic import Elastic
from faultwave.physics.waves.law import energy_names


class Energies:
    """Sums over all cells by name, whenever asked: of ``Law.energies``, or a function like that."""

    def __init__(self, operator: Operator, of: Callable[[Any, Any], dict[str, Any]] | None = None):
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
    """Every energy that the law and the parts of a solver can give, of all processes on the first."""

    def __init__(self, solver: Any):
        self.solver = solver
        self.of_waves: Energies | None = None  # made when they are first asked for
        self.marching = False  # whether nothing but steps changes the field
        self.known: tuple[tuple[float, int], dict[str, float]] | None = None  # of a time and of so many updates

    def prepare(self) -> None:
        """Have all kernels compiled."""
        if self.of_waves is None:
            self.of_waves = Energies(self.solver.operator)
            for part in self.solver.parts.values():
                part.prepare_energies()

    @contextmanager
    def in_steps(self) -> Iterator[None]:
        """Inside nothing but steps changes the field: several parts that ask at the same time get the same numbers."""
        self.marching, self.known = True, None
        try:
            yield
        finally:
            self.marching = False

    def __call__(self) -> dict[str, float]:
        """Now. All processes together."""
        now = self.solver.time, self.solver.updates
        if not self.marching or self.known is None or self.known[0] != now:
            self.known = now, self._worked_out()
        return dict(self.known[1])

    def _worked_out(self) -> dict[str, float]:
        solver = self.solver
        mechanical = "force" in solver.plan.law.point_sources
        total: dict[str, float] = {"gravitational_energy": 0.0} if mechanical else {}  # unless a part tells more
        self.prepare()
        assert self.of_waves is not None
        with np.errstate(over="ignore", invalid="ignore"):  # a run that blows up is told of elsewhere
            total |= self.of_waves()
        for part in solver.parts.values():
            total |= part.energies()
        if mechanical:
            total.setdefault("plastic_moment", 0.0)
        return dict(solver.added(total))


def as_isotropic(law: Any) -> Callable[[Any, Any], dict[str, Any]] | None:
    """Energies by the formulas of isotropic elasticity, of the stress and the velocity alone, with the law's ``moduli`` and the density
    that its parameters name, that of the grains in porous rock; None where the law's own are those."""
    if type(law) is Elastic or law.quantities[:9] != Elastic().quantities:
        return None

    def found(q: Any, values: Any) -> dict[str, Any]:
        return Elastic().energies(list(q[:9]), {**law.moduli(values), "rho": values["rho"]})

    return found


__all__ = ["AllEnergies", "Energies", "as_isotropic"]
