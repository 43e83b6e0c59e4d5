"""Acoustics in contravariant components: s = sigma / rho, v' = J^-1 v and the metric G = J^-1 J^-T,

    ds/dt = K/rho sum_a d_a v'^a,    dv'^a/dt = sum_b G^ab d_b s.

One number crosses a face, n . v = -h g . v' (see ``contravariant``), so a cell needs no Jacobian at all. In a unit of time
other than the second, s, K/rho and 1/rho are those of that unit: a factor of it, its square, itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from faultwave.dg.forms.components import GRADIENT, PAIR, ComponentForm, combine, inverse, metric, turned
from faultwave.dg.forms.plain import Cells, directed
from faultwave.kernels.language import Array, Kernel, View
from faultwave.physics.waves import Law
from faultwave.physics.waves.law import dot


class ContravariantAcoustic(ComponentForm):
    """Columns of ``cell``: G, K/rho, rho, 1/rho, Z; of ``face``: h, the neighbour's Z, a, b."""

    @classmethod
    def suits(cls, law: Law) -> bool:
        return law.name == "acoustic"

    def _sizes(self) -> tuple[int, int]:
        return 10, 4

    def cell_constants(self, cells: Cells) -> np.ndarray:
        rho, unit = cells.material["rho"], self.unit
        numbers = [
            unit**2 * cells.material["lambda"] / rho,
            rho / unit,
            unit / rho,
            *self.law.impedance(cells.material),
        ]
        return np.concatenate([metric(directed(cells.inverse)), np.stack(numbers, 1)], 1)

    def to_physical(self, cells: Cells, which: np.ndarray) -> np.ndarray | None:
        result = np.zeros((len(which), 4, 4))
        result[:, 0, 0] = cells.material["rho"][which] / self.unit
        result[:, 1:, 1:] = np.linalg.inv(directed(cells.inverse[which]))
        return result

    def physical(self, q: Any, cell: Any, jacobian: Any) -> list[Any]:
        return [cell[7] * q[0], *[dot(jacobian[3 * x : 3 * x + 3], q[1:4]) for x in range(3)]]

    @property
    def differentiated(self) -> int:
        return 4

    def differentiate(self, k: Kernel, source: View, rows: int, after: Array, cell: Array) -> None:
        for b in range(3):
            block = self.derivative[b][:rows, : source.rows]
            k.contract(after, block, source, [(1 + b, 0)], accumulate=b > 0)
            k.contract(after, block, source, [(0, 1 + b)])

    def rate(self, after: Any, cell: Any) -> list[Any]:
        g = cell[:6]
        return [cell[6] * after[0], *[dot([g[PAIR[a][b]] for b in range(3)], after[1:4]) for a in range(3)]]

    def _trace(self, k: Kernel, source: View, face: int, out: View) -> None:
        """out (rows2, 2) = [s, g . v'] on a local face."""
        g = GRADIENT[face]
        if np.count_nonzero(g) == 1:
            self.restrict(k, source, face, out, [(0, 0), (1 + int(np.flatnonzero(g)[0]), 1)])
            return
        pair = k.scratch("pair", self.b3, 2).view(0, source.rows)
        k.pointwise(lambda q: [[q[0], combine(g, q[1:4])]], [source], [pair])
        self.restrict(k, pair, face, out, [(0, 0), (1, 1)])

    def publish(
        self, k: Kernel, total: Array, cell: Array, face: Array, emit: Callable[[int, Array], None], kept: Array
    ) -> None:
        trace, wave = k.temp("trace", self.b2, 2), k.temp("wave", self.b2, 1)

        def split(t: Any, cell: Any, face: Any) -> Any:
            traction = cell[7] * t[0]
            return [[traction + (cell[9] * face[0]) * t[1]], [traction - (face[1] * face[0]) * t[1]]]

        for i in range(4):
            self._trace(k, total.view(), i, trace.view())
            k.pointwise(split, [trace, cell, face.view(i, 1)], [wave, kept.view(i * self.b2, self.b2)])
            emit(i, wave)

    def lift(
        self, k: Kernel, q: Array, cell: Array, face: Array, receive: Callable[[int, Array], None], kept: Array
    ) -> None:
        arrived, jump = k.temp("arrived", self.b2, 1), k.temp("jump", self.b2, 1)
        lifted = k.temp("lifted", self.b3, 4)

        def flow_jump(w: Any, u: Any, cell: Any, face: Any) -> Any:
            return [[inverse(cell[9] + face[1]) * (face[2] * w[0] - u[0])]]

        for i in range(4):
            receive(i, arrived)
            k.pointwise(flow_jump, [arrived, kept.view(i * self.b2, self.b2), cell, face.view(i, 1)], [jump])
            self.extend(k, jump.view(), i, lifted.view(), [(0, i)])

        def add(x: Any, cell: Any, q: Any, *faces: Any) -> Any:
            g, drag = cell[:6], cell[9] * cell[8]
            # 1 / h = h g G g
            flow = dot([f[0] * combine(GRADIENT[i], turned(g, i)) for i, f in enumerate(faces)], x)
            slope = [combine(-GRADIENT[:, b], x) for b in range(3)]
            push = [dot([drag * g[PAIR[a][b]] for b in range(3)], slope) for a in range(3)]
            return [[q[0] + cell[6] * flow, *[q[1 + a] + push[a] for a in range(3)]]]

        k.pointwise(add, [lifted, cell, q, *[face.view(i, 1) for i in range(4)]], [q])

    def face_pair(self, k: Kernel, source: View, i: int, out: View, cell: Array, face: Array) -> None:
        local = k.scratch("trace", self.b2, 2).view(0, out.rows)
        self._trace(k, source, i, local)
        k.pointwise(lambda t, c, f: [[c[7] * t[0], -f[0] * t[1]]], [local, cell, face.view(i, 1)], [out])

    def face_wave(self, k: Kernel, source: View, i: int, out: View, cell: Array, face: Array) -> None:
        local = k.scratch("trace", self.b2, 2).view(0, out.rows)
        self._trace(k, source, i, local)
        k.pointwise(lambda t, c, f: [[c[7] * t[0] + (c[9] * f[0]) * t[1]]], [local, cell, face.view(i, 1)], [out])
