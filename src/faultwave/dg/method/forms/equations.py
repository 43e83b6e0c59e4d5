"""Equations of a wave law inside a cell: derivatives, rates of change and reactions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from faultwave.dg.method.basis import tet_size
from faultwave.dg.method.forms.constants import Constants
from faultwave.dg.method.formula import Outputs
from faultwave.dg.method.predictors import CellTerms, Predictor, Taylor
from faultwave.kernels.expr import Number, Numbers
from faultwave.kernels.language import Array, Kernel, View
from faultwave.physics.waves import Law
from faultwave.physics.waves.law import dot


class Equations(Constants):
    """Statements of a wave law inside a cell, and their expansion in time.

    Parameters
    ----------
    law, order, unit, narrow
        See ``Constants``.
    predictor : callable
        Constructor of the time expansion, with the form as its argument.
    """

    self_contained = True  # True if ``outward`` and ``inward`` are implemented
    unpacked = 0  # number of statements that unpack the constants in ``cell`` and ``face``

    def __init__(
        self,
        law: Law,
        order: int,
        unit: float = 1.0,
        predictor: Callable[[CellTerms], Predictor] = Taylor,
        narrow: bool = False,
    ):
        super().__init__(law, order, unit, narrow)
        self.predictor = predictor(self)

    def cell(self, k: Kernel) -> Array:
        """Declare the constants of a cell in a kernel."""
        return k.batch("cell", 1, self.cell_size)

    def face(self, k: Kernel) -> Array:
        """Declare the constants of a cell's faces in a kernel."""
        return k.batch("face", *self.face_shape)

    def physical(self, q: Numbers, cell: Numbers, jacobian: Numbers) -> list[Number]:
        """Return the law's quantities from the form's, as ``to_physical``; ``jacobian``: nine numbers as returned by ``jacobians``."""
        return list(q)

    def stress(self, own: Numbers, cell: Numbers) -> list[Number]:
        """Return the law's stress (six components) from the form's ``stress_columns``."""
        return list(own)

    def from_stress(self, stress: Numbers, cell: Numbers) -> list[Number]:
        """Return the form's ``stress_columns`` from the law's stress, the inverse of ``stress``."""
        return list(stress)

    def outward(self, q: Numbers, cell: Numbers) -> list[Number]:
        """Return the law's quantities from the constants of the cell alone.

        Only forms whose cells may have penalties implement ``outward`` and ``inward``.
        """
        return list(q)

    def inward(self, q: Numbers, cell: Numbers) -> list[Number]:
        """Return the form's quantities, the inverse of ``outward``."""
        return list(q)

    def material(self, cell: Numbers) -> list[Number]:
        """Return the law's constants of a cell."""
        return self.cell_columns.row(cell).constants

    def reaction(self, q: Numbers, cell: Numbers) -> list[Number]:
        """Return the part of dq/dt that needs no gradient."""
        return self.law.reaction(q, self.cell_columns.row(cell).rates)

    def decay(self, cell: Numbers) -> Number:
        """Return the rate r of a law whose reaction is -r P q with a projection P."""
        return self.law.decay(self.cell_columns.row(cell).rates)

    def decaying(self, q: Numbers, cell: Numbers) -> list[Number]:
        """Return P q, the part of the quantities that decays."""
        return self.law.decaying(q, self.material(cell))

    @property
    def differentiated(self) -> int:
        """Number of columns that ``differentiate`` fills."""
        return 4 * self.m

    def differentiate(self, k: Kernel, source: View, rows: int, after: Array, cell: Array) -> None:
        """Compute the derivatives of ``source`` that ``rate`` needs: after (rows, differentiated)."""
        self.differentiate_present(k, source, rows, after, cell, [True] * self.Q)

    def differentiate_present(
        self, k: Kernel, source: View, rows: int, after: Array, cell: Array, present: Sequence[bool]
    ) -> None:
        """Differentiate a source of which only the ``present`` quantities are not zero, and fill the columns ``reached``."""
        m = self.m
        fluxes, potentials = self._channels(present)
        width = 3 * len(fluxes) + len(potentials)
        before = k.scratch("before", self.b3, 4 * m).view(0, source.rows, 0, width)

        def turned(q: Numbers, cell: Numbers) -> Outputs:
            inverse = self.cell_columns.row(cell).inverse
            q = [x if there else 0.0 for x, there in zip(q, present, strict=True)]
            along = [self.law.flux(q, inverse[3 * d : 3 * d + 3]) for d in range(3)]
            phi = self.law.potential(q)
            return [[*[along[d][i] for d in range(3) for i in fluxes], *[phi[i] for i in potentials]]]

        k.pointwise(turned, [source, cell], [before])
        for d in range(3):
            block = self.derivative[d][:rows, : source.rows]
            divergence = [(d * len(fluxes) + n, i) for n, i in enumerate(fluxes)]
            gradient = [(3 * len(fluxes) + n, m + d * m + i) for n, i in enumerate(potentials)]
            if divergence:
                k.contract(after, block, before, divergence, accumulate=d > 0)
            if gradient:
                k.contract(after, block, before, gradient)

    def _channels(self, present: Sequence[bool]) -> tuple[list[int], list[int]]:
        """Return the channels of the flux and of the potential that are not zero if only some quantities are present."""
        rng = np.random.default_rng(0)
        q, n = list(rng.normal(size=self.Q) * np.array(present)), list(rng.normal(size=3))
        flux, potential = self.law.flux(q, n), self.law.potential(q)
        return [i for i, x in enumerate(flux) if x != 0.0], [i for i, x in enumerate(potential) if x != 0.0]

    def reached(self, present: Sequence[bool]) -> list[bool]:
        """Return which columns the derivatives of the ``present`` quantities fill."""
        fluxes, potentials = self._channels(present)
        return [i in fluxes for i in range(self.m)] + 3 * [i in potentials for i in range(self.m)]

    def rate(self, after: Numbers, cell: Numbers) -> list[Number]:
        """Return dq/dt from the derivatives that ``differentiate`` has computed."""
        m = self.m
        inverse = self.cell_columns.row(cell).inverse
        gradient = [
            [dot([inverse[3 * d + x] for d in range(3)], [after[m + d * m + i] for d in range(3)]) for i in range(m)]
            for x in range(3)
        ]
        return self.law.rate(after[:m], gradient, self.material(cell))

    def differentiate_first(self, k: Kernel, source: View, rows: int, after: Array, cell: Array) -> None:
        """Differentiate the state itself for its first derivative in time, like ``differentiate``."""
        self.differentiate(k, source, rows, after, cell)

    def rate_first(self, after: Numbers, cell: Numbers) -> list[Number]:
        """Return dq/dt from the derivatives that ``differentiate_first`` has computed."""
        return self.rate(after, cell)

    def first(self, k: Kernel, q: Array, cell: Array, change: Array, react: bool) -> None:
        """Compute ``change`` = dq/dt of the cell without its neighbours; ``react`` includes the reaction, which needs no gradient."""
        made = tet_size(self.order - 2)
        after = k.temp("after", made, self.differentiated)
        self.differentiate(k, q.view(), made, after, cell)

        def own(q: Numbers, cell: Numbers) -> list[Number]:
            return self.reaction(q, cell) if react and self.full else [0.0 * x for x in q]

        def whole(after: Numbers, q: Numbers, cell: Numbers) -> Outputs:
            return [[x + y for x, y in zip(self.rate(after, cell), own(q, cell), strict=True)]]

        rest = self.b3 - made
        k.pointwise(whole, [after, q.view(0, made), cell], [change.view(0, made)])
        k.pointwise(lambda q, cell: [own(q, cell)], [q.view(made, rest), cell], [change.view(made, rest)])
