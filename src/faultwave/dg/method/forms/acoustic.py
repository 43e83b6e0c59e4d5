"""Acoustics in contravariant components."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from faultwave.base.columns import Columns
from faultwave.dg.method.forms.cells import Cells
from faultwave.dg.method.forms.components import (
    GRADIENT,
    PAIR,
    ComponentForm,
    combine,
    inverse,
    metric,
    same_equations,
    turned,
)
from faultwave.dg.method.forms.constants import directed
from faultwave.dg.method.formula import Outputs
from faultwave.kernels.expr import Number, Numbers
from faultwave.kernels.language import Array, Kernel, View
from faultwave.physics.waves import Law
from faultwave.physics.waves.acoustic import Acoustic
from faultwave.physics.waves.law import dot

STATE = Columns(stress=None, velocity=3)
TRACE = Columns(stress=None, flow=None)
"""Columns of a face's trace: s and g . v'."""
DERIVATIVES = Columns(divergence=None, gradient=3)


class ContravariantAcoustic(ComponentForm):
    """Form of acoustics in contravariant components.

    Columns of a cell: ``metric`` G, ``bulk`` K/rho, ``rho``, ``inverse_rho`` and impedance ``z``. Columns of a face:
    ``height`` h and the neighbour's impedance ``z``.
    """

    moduli = ("bulk",)

    state_columns, derivative_columns, trace_columns = STATE, DERIVATIVES, TRACE

    @classmethod
    def suits(cls, law: Law) -> bool:
        return same_equations(law, Acoustic())

    def _columns(self) -> tuple[Columns, Columns]:
        cell, face = (
            dict.fromkeys(names) for names in (("bulk", "rho", "inverse_rho", "z"), ("height", "z", "a", "b"))
        )
        return Columns(metric=6, **cell), Columns(**face)

    def cell_constants(self, cells: Cells) -> np.ndarray:
        rho, unit = cells.material["rho"], self.unit
        (z,) = self.law.impedance(cells.material)
        bulk = unit**2 * cells.material["lambda"] / rho
        return self.cell_columns.join(
            {
                "metric": metric(directed(cells.inverse)),
                "bulk": bulk,
                "rho": rho / unit,
                "inverse_rho": unit / rho,
                "z": z,
            }
        )

    def to_physical(self, cells: Cells, which: np.ndarray) -> np.ndarray | None:
        result = np.zeros((len(which), 4, 4))
        result[:, 0, 0] = cells.material["rho"][which] / self.unit
        result[:, 1:, 1:] = np.linalg.inv(directed(cells.inverse[which]))
        return result

    def physical(self, q: Numbers, cell: Numbers, jacobian: Numbers) -> list[Number]:
        state, rows = STATE.row(q), [jacobian[3 * x : 3 * x + 3] for x in range(3)]
        return [self.cell_columns.row(cell).rho * state.stress, *[dot(row, state.velocity) for row in rows]]

    @property
    def differentiated(self) -> int:
        return DERIVATIVES.size

    def differentiate(self, k: Kernel, source: View, rows: int, after: Array, cell: Array) -> None:
        for b in range(3):
            block = self.derivative[b][:rows, : source.rows]
            k.contract(after, block, source, [(1 + b, 0)], accumulate=b > 0)
            k.contract(after, block, source, [(0, 1 + b)])

    def rate(self, after: Numbers, cell: Numbers) -> list[Number]:
        own, found = self.cell_columns.row(cell), DERIVATIVES.row(after)
        push = [dot([own.metric[PAIR[a][b]] for b in range(3)], found.gradient) for a in range(3)]
        return [own.bulk * found.divergence, *push]

    def _trace(self, k: Kernel, source: View, face: int, out: View) -> None:
        """Compute the trace [s, g . v'] on a local face: out (rows2, 2)."""
        g = GRADIENT[face]
        if np.count_nonzero(g) == 1:
            self.restrict(k, source, face, out, [(0, 0), (1 + int(np.flatnonzero(g)[0]), 1)])
            return
        pair = k.scratch("pair", self.b3, 2).view(0, source.rows)

        def both(q: Numbers) -> Outputs:
            state = STATE.row(q)
            return [[state.stress, combine(g, state.velocity)]]

        k.pointwise(both, [source], [pair])
        self.restrict(k, pair, face, out, [(0, 0), (1, 1)])

    def split(self, t: Numbers, cell: Numbers, face: Numbers, i: int) -> list[list[Number]]:
        own, beyond, trace = self.cell_columns.row(cell), self.face_columns.row(face), TRACE.row(t)
        traction = own.rho * trace.stress
        w = traction + (own.z * beyond.height) * trace.flow
        return [[w], [traction - (beyond.z * beyond.height) * trace.flow]]

    def lift(
        self, k: Kernel, q: Array, cell: Array, face: Array, receive: Callable[[int, Array], None], own_waves: Array
    ) -> None:
        arrived, jump = k.temp("arrived", self.b2, 1), k.temp("jump", self.b2, 1)
        lifted = k.temp("lifted", self.b3, 4)

        def flow_jump(w: Numbers, u: Numbers, cell: Numbers, face: Numbers) -> Outputs:
            own, beyond = self.cell_columns.row(cell), self.face_columns.row(face)
            return [[inverse(own.z + beyond.z) * (beyond.a * w[0] - u[0])]]

        for i in range(4):
            receive(i, arrived)
            k.pointwise(flow_jump, [arrived, own_waves.view(i * self.b2, self.b2), cell, face.view(i, 1)], [jump])
            self.extend(k, jump.view(), i, lifted.view(), [(0, i)])

        def add(x: Numbers, cell: Numbers, q: Numbers, *faces: Numbers) -> Outputs:
            own, state = self.cell_columns.row(cell), STATE.row(q)
            g, drag = own.metric, own.z * own.inverse_rho
            heights = [self.face_columns.row(f).height for f in faces]
            # 1 / h = h g G g
            flow = dot([h * combine(GRADIENT[i], turned(g, i)) for i, h in enumerate(heights)], x)
            slope = [combine(-GRADIENT[:, b], x) for b in range(3)]
            push = [dot([drag * g[PAIR[a][b]] for b in range(3)], slope) for a in range(3)]
            return [[state.stress + own.bulk * flow, *[v + p for v, p in zip(state.velocity, push, strict=True)]]]

        k.pointwise(add, [lifted, cell, q, *[face.view(i, 1) for i in range(4)]], [q])
