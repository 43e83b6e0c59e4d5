"""Energies and momenta of the wave field, worked out cell by cell and summed where the cells are."""

from __future__ import annotations

from collections.abc import Callable
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


def as_isotropic(law: Any) -> Callable[[Any, Any], dict[str, Any]] | None:
    """Energies by the formulas of isotropic elasticity, of the stress and the velocity alone, with the law's ``moduli`` and the density
    that its parameters name, that of the grains in porous rock; None where the law's own are those."""
    if type(law) is Elastic or law.quantities[:9] != Elastic().quantities:
        return None

    def found(q: Any, values: Any) -> dict[str, Any]:
        return Elastic().energies(list(q[:9]), {**law.moduli(values), "rho": values["rho"]})

    return found


__all__ = ["Energies", "as_isotropic"]
