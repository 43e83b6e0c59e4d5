"""Energies and momenta of the wave field, worked out cell by cell and summed where the cells are."""

from __future__ import annotations

import numpy as np

from faultwave.dg import kernels
from faultwave.dg.operator import Operator
from faultwave.physics.waves.law import energy_names


class Energies:
    """Sums over all cells by name, whenever asked."""

    def __init__(self, operator: Operator):
        op, law, cells = operator, operator.law, operator.cells
        known = [p.name for p in law.parameters]
        self.names = energy_names(law)
        self.operator, size = op, len(op.layout.cell_at)
        values = np.stack([*[cells.material[n] for n in known], cells.volume], 1)
        parameters = op.per_cell(values)
        padding = op.layout.cell_at < 0
        if padding.any():  # cells like the first, without volume
            nothing = np.append(values[0, :-1], 0.0)
            parameters.put(np.broadcast_to(nothing, (int(padding.sum()), 1, len(nothing))), padding)
        self.each = op.backend.batch(size, 1, len(self.names))
        jacobian = op.per_cell(op.form.jacobians(cells))
        kernel = op.backend.compile([kernels.energies(op.form)])["energies"]
        self.launch = kernel(
            {"q": op.q, "cell": op.cell, "jacobian": jacobian, "parameters": parameters, "energies": self.each}
        )

    def __call__(self) -> dict[str, float]:
        self.launch(0, self.each.items)
        return dict(zip(self.names, self.each.total()[0].tolist(), strict=True))


__all__ = ["Energies"]
