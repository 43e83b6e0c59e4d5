"""Energies and momenta of the wave field, worked out cell by cell and summed where the cells are."""

from __future__ import annotations

import numpy as np

from faultwave.dg import kernels
from faultwave.dg.operator import Operator


class Energies:
    """Sums over all cells by name, whenever asked."""

    def __init__(self, operator: Operator):
        op, law, cells = operator, operator.law, operator.cells
        known = [p.name for p in law.parameters]
        self.names = list(law.energies([0.0] * len(law.quantities), dict.fromkeys(known, 1.0)))
        self.operator, size = op, len(op.layout.cell_at)
        parameters = op.per_cell(np.stack([*[cells.material[n] for n in known], cells.volume], 1))
        padding = op.layout.cell_at < 0
        if padding.any():
            parameters.put(
                np.zeros((int(padding.sum()), 1, len(known) + 1)) + np.append(np.ones(len(known)), 0.0), padding
            )
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
