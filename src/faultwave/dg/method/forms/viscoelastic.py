"""Generalised Maxwell bodies in contravariant components: the elastic form, and memory variables transformed like its stress.

A memory variable p becomes J^-1 p J^-T / rho. Twice the contravariant strain rate is e^cd = sum_b (G^cb d_b v'^d + G^db
d_b v'^c): every spring contributes mu/rho times it and lambda/rho G times its trace div v', so that gradients are
evaluated once for all springs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from faultwave.base.columns import Columns
from faultwave.dg.method.forms.cells import Cells
from faultwave.dg.method.forms.components import PAIR
from faultwave.dg.method.forms.contravariant import DERIVATIVES, ContravariantElastic, both_sides
from faultwave.dg.method.predictors import Predictor, Relaxing
from faultwave.kernels.language import Array, Kernel, View
from faultwave.kernels.types import Number, Numbers
from faultwave.physics.waves import Law
from faultwave.physics.waves.law import dot
from faultwave.physics.waves.viscoelastic import Viscoelastic, element_names

TENSOR = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))


class ContravariantViscoelastic(ContravariantElastic):
    """Form of generalised Maxwell bodies; cells also have ``springs``, lambda/rho and mu/rho of every element."""

    moduli: tuple[str, ...] = ("lam", "mu", "springs")

    @classmethod
    def suits(cls, law: object) -> bool:
        return isinstance(law, Viscoelastic) and law.elements > 0

    @property
    def body(self) -> Viscoelastic:
        """Wave law of the body."""
        law: object = self.law
        assert isinstance(law, Viscoelastic)
        return law

    @classmethod
    def predictor_of(cls, law: Law) -> Callable[..., Predictor]:
        return Relaxing

    def _columns(self) -> tuple[Columns, Columns]:
        cell, face = super()._columns()
        return Columns(**cell.widths, springs=2 * self.body.elements), face

    def _constants(self, cells: Cells) -> dict[str, np.ndarray]:
        names = [n for i in range(self.body.elements) for n in element_names(i + 1)[:2]]
        springs = [self.unit**2 * cells.material[n] / cells.material["rho"] for n in names]
        return super()._constants(cells) | {"springs": np.stack(springs, 1)}

    def to_physical(self, cells: Cells, which: np.ndarray) -> np.ndarray | None:
        elastic = super().to_physical(cells, which)
        assert elastic is not None
        result = np.zeros((len(which), self.Q, self.Q))
        result[:, :9, :9] = elastic
        for first in range(9, self.Q, 6):
            result[:, first : first + 6, first : first + 6] = elastic[:, :6, :6]
        return result

    def physical(self, q: Numbers, cell: Numbers, jacobian: Numbers) -> list[Number]:
        rows, rho = [jacobian[3 * x : 3 * x + 3] for x in range(3)], self.cell_columns.row(cell).rho
        memories = [both_sides(q[first : first + 6], rows) for first in range(9, self.Q, 6)]
        return [*super().physical(q[:9], cell, jacobian), *[rho * x for memory in memories for x in memory]]

    def inward(self, q: Numbers, cell: Numbers) -> list[Number]:
        back, inverse = self.turned_in(cell), self.cell_columns.row(cell).inverse_rho
        memories = [both_sides(q[first : first + 6], back) for first in range(9, self.Q, 6)]
        return [*super().inward(q[:9], cell), *[inverse * x for memory in memories for x in memory]]

    def springs(self, cell: Numbers) -> list[tuple[Number, ...]]:
        """Return lambda/rho and mu/rho of the unrelaxed medium, then of every element."""
        own = self.cell_columns.row(cell)
        return [(own.lam, own.mu), *[(own.springs[i], own.springs[i + 1]) for i in range(0, len(own.springs), 2)]]

    def reaction(self, q: Numbers, cell: Numbers) -> list[Number]:
        return self.law.reaction(q, [self.unit * w for w in self.body.rates_of_elements])

    def strain(self, k: Kernel, source: View, rows: int, out: View, cell: Array) -> None:
        """Compute twice the strain rate and its trace from the velocity in ``source``: out (rows, 7)."""
        slope = k.scratch("slope", self.b3, 9).view(0, rows)
        for b in range(3):
            k.contract(slope, self.derivative[b][:rows, : source.rows], source, [(a, 3 * b + a) for a in range(3)])
        k.pointwise(lambda g, cell: [self._strained([g[0:3], g[3:6], g[6:9]], cell)], [slope, cell], [out])

    def force(self, k: Kernel, stress: View, rows: int, out: View) -> None:
        """Compute the acceleration by a stress: out (rows, 3)."""
        for b in range(3):
            block = self.derivative[b][:rows, : stress.rows]
            k.contract(out, block, stress, [(PAIR[a][b], a) for a in range(3)], accumulate=b > 0)

    def _strained(self, slope: Sequence[Numbers], cell: Numbers) -> list[Number]:
        """Return twice the strain rate (six components) and its trace, from d_b v'^a = slope[b][a]."""
        g = self.cell_columns.row(cell).metric
        sheared = [
            [dot([g[PAIR[c][b]] for b in range(3)], [slope[b][d] for b in range(3)]) for d in range(3)]
            for c in range(3)
        ]
        return [*[sheared[c][d] + sheared[d][c] for c, d in TENSOR], slope[0][0] + slope[1][1] + slope[2][2]]

    def stressed(self, modulus: tuple[Number, ...], strain: Numbers, cell: Numbers) -> list[Number]:
        """Return the stress rate over rho of a spring at a strain rate from ``strain``."""
        g, (lam, mu) = self.cell_columns.row(cell).metric, modulus
        pressed = lam * strain[6]
        return [mu * strain[i] + pressed * g[PAIR[c][d]] for i, (c, d) in enumerate(TENSOR)]

    def rate(self, after: Numbers, cell: Numbers) -> list[Number]:
        found = DERIVATIVES.row(after)
        strain = self._strained([found.gradient[3 * b : 3 * b + 3] for b in range(3)], cell)
        stress, *memories = (self.stressed(spring, strain, cell) for spring in self.springs(cell))
        return [*stress, *found.force, *[x for memory in memories for x in memory]]
