"""Isotropic elasticity in contravariant components, whose derivatives need no Jacobian.

With x = x0 + J xi, s = J^-1 sigma J^-T / rho, v' = J^-1 v and the metric G = J^-1 J^-T:

    dv'^a/dt = sum_b d_b s^ab
    ds^cd/dt = lambda/rho G^cd div v' + mu/rho sum_b (G^cb d_b v'^d + G^db d_b v'^c)

On the face opposite vertex f the unit normal is n = -h J^-T g with g = grad of the barycentric coordinate f and
h = 1 / sqrt(g G g). In the same components the traction is -rho h s g, n . v = -h g . v', and the impedance

    Z v = Zs v' + (Zp - Zs) h^2 (G g) (g . v').

If the unit of time is not the second, s and 1/rho are scaled by it, lambda/rho and mu/rho by its square. d_b, J and g
refer to the directions of ``plain.DIRECTIONS``. Waves and face traces leave the cell in physical components.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from faultwave.base.columns import Columns
from faultwave.dg.formula import Outputs
from faultwave.dg.method.forms.cells import Cells
from faultwave.dg.method.forms.components import (
    GRADIENT,
    PAIR,
    ComponentForm,
    both_sides,
    combine,
    inverse,
    metric,
    same_equations,
    select_stress,
    turned,
)
from faultwave.dg.method.forms.plain import directed
from faultwave.kernels.language import Array, Kernel, View
from faultwave.kernels.math import named
from faultwave.kernels.types import Number, Numbers
from faultwave.physics.waves import Law
from faultwave.physics.waves.elastic import Elastic
from faultwave.physics.waves.law import dot

_PRODUCTS = np.zeros((3, 3, 3, 3, 6, 6))  # x, y, a, b to the components xy and ab
for _x, _y in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2)):
    for _a in range(3):
        for _b in range(3):
            _PRODUCTS[_x, _y, _a, _b, PAIR[_x][_y], PAIR[_a][_b]] = 1.0
_TENSORS = _PRODUCTS.reshape(81, 36)


STATE = Columns(stress=6, velocity=3)
TRACE = Columns(stress=3, velocity=3)
"""Columns of a face's trace: s g and v'."""
DERIVATIVES = Columns(force=3, gradient=9)
"""Columns after differentiation: sum_b d_b s^ab, and d_b v'^a at 3 b + a."""


def inverted(j: Sequence[Numbers]) -> list[list[Number]]:
    """Return the rows of J^-1 from the rows of J (kernel)."""
    cofactors = [
        [
            j[(b + 1) % 3][(a + 1) % 3] * j[(b + 2) % 3][(a + 2) % 3]
            - j[(b + 1) % 3][(a + 2) % 3] * j[(b + 2) % 3][(a + 1) % 3]
            for b in range(3)
        ]
        for a in range(3)
    ]  # times det J
    share = 1.0 / dot(cofactors[0], [j[x][0] for x in range(3)])
    return [[share * x for x in row] for row in cofactors]


class ContravariantElastic(ComponentForm):
    """Form of isotropic elasticity in contravariant components.

    Columns of a cell: ``jacobian`` J (x, b), ``metric`` G, ``lam``, ``mu`` and ``inverse_rho``, which are lambda/rho,
    mu/rho and 1/rho, and impedances ``zp``, ``zs``. Columns of a face: ``height`` h and the neighbour's impedances
    ``zp``, ``zs``.
    """

    self_contained = True
    moduli: tuple[str, ...] = ("lam", "mu")

    state_columns, derivative_columns, trace_columns = STATE, DERIVATIVES, TRACE

    @classmethod
    def suits(cls, law: Law) -> bool:
        return same_equations(law, Elastic())

    def _columns(self) -> tuple[Columns, Columns]:
        material = dict.fromkeys(("lam", "mu", "rho", "inverse_rho", "zp", "zs"))
        face = dict.fromkeys(("height", "zp", "zs", "a", "b"))
        return Columns(jacobian=9, metric=6, **material), Columns(**face)

    def cell_constants(self, cells: Cells) -> np.ndarray:
        return self.cell_columns.join(self._constants(cells))

    def _constants(self, cells: Cells) -> dict[str, np.ndarray]:
        """Return the constants of the cells, (nc,) or (nc, n), by column."""
        rows = directed(cells.inverse)
        rho, unit = cells.material["rho"], self.unit
        zp, zs = self.law.impedance(cells.material)
        lam, mu = (unit**2 * cells.material[name] / rho for name in ("lambda", "mu"))
        material = {"lam": lam, "mu": mu, "rho": rho / unit, "inverse_rho": unit / rho, "zp": zp, "zs": zs}
        return {"jacobian": np.linalg.inv(rows).reshape(-1, 9), "metric": metric(rows), **material}

    def to_physical(self, cells: Cells, which: np.ndarray) -> np.ndarray | None:
        jacobian = np.linalg.inv(directed(cells.inverse[which]))
        rho = cells.material["rho"][which] / self.unit
        products = (rho[:, None, None] * jacobian)[:, :, None, :, None] * jacobian[:, None, :, None, :]  # x, y, a, b
        result = np.zeros((len(which), 9, 9))
        result[:, :6, :6] = (products.reshape(-1, 81) @ _TENSORS).reshape(-1, 6, 6)
        result[:, 6:, 6:] = jacobian
        return result

    def physical(self, q: Numbers, cell: Numbers, jacobian: Numbers) -> list[Number]:
        rows = [jacobian[3 * x : 3 * x + 3] for x in range(3)]
        state, rho = STATE.row(q), self.cell_columns.row(cell).rho
        stress = [rho * x for x in both_sides(state.stress, rows)]
        return [*stress, *[dot(row, state.velocity) for row in rows]]

    @property
    def stress_columns(self) -> slice:
        return STATE.places["stress"]

    def stress(self, own: Numbers, cell: Numbers) -> list[Number]:
        mine = self.cell_columns.row(cell)
        rows = [mine.jacobian[3 * x : 3 * x + 3] for x in range(3)]
        return [mine.rho * x for x in both_sides(own, rows)]

    def from_stress(self, stress: Numbers, cell: Numbers) -> list[Number]:
        mine = self.cell_columns.row(cell)
        j = [mine.jacobian[3 * x : 3 * x + 3] for x in range(3)]
        back = inverted(j)
        return [mine.inverse_rho * x for x in both_sides(stress, back)]

    def stress_scale(self, cells: Cells) -> np.ndarray:
        jacobian = np.linalg.inv(directed(cells.inverse))
        longest = np.linalg.svd(jacobian, compute_uv=False).max(1)
        return np.asarray(cells.material["rho"] / self.unit * longest**2)

    def outward(self, q: Numbers, cell: Numbers) -> list[Number]:
        return self.physical(q, cell, self.cell_columns.row(cell).jacobian)

    def inward(self, q: Numbers, cell: Numbers) -> list[Number]:
        back = self.turned_in(cell)
        inverse = self.cell_columns.row(cell).inverse_rho
        return [*(inverse * x for x in both_sides(q[:6], back)), *[dot(line, q[6:]) for line in back]]

    def turned_in(self, cell: Numbers) -> list[list[Number]]:
        """Return the rows of J^-1 = G J^T."""
        own = self.cell_columns.row(cell)
        rows = [own.jacobian[3 * x : 3 * x + 3] for x in range(3)]
        return [[dot([own.metric[PAIR[a][b]] for b in range(3)], rows[x]) for x in range(3)] for a in range(3)]

    # The cell.

    @property
    def differentiated(self) -> int:
        return DERIVATIVES.size

    def differentiate(self, k: Kernel, source: View, rows: int, after: Array, cell: Array) -> None:
        for b in range(3):
            block = self.derivative[b][:rows, : source.rows]
            k.contract(after, block, source, [(PAIR[a][b], a) for a in range(3)], accumulate=b > 0)
            k.contract(after, block, source, [(6 + a, 3 + 3 * b + a) for a in range(3)])

    def rate(self, after: Numbers, cell: Numbers) -> list[Number]:
        own, found = self.cell_columns.row(cell), DERIVATIVES.row(after)
        g, lam, mu = own.metric, own.lam, own.mu
        slope = [found.gradient[3 * b : 3 * b + 3] for b in range(3)]
        divergence = named("divergence", slope[0][0] + slope[1][1] + slope[2][2])
        sheared = [
            [dot([mu * g[PAIR[c][b]] for b in range(3)], [slope[b][d] for b in range(3)]) for d in range(3)]
            for c in range(3)
        ]
        stress = [
            (sheared[c][d] + sheared[d][c]) + lam * g[PAIR[c][d]] * divergence
            for c, d in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))
        ]
        return [*stress, *found.force]

    # Its faces.

    def _trace(self, k: Kernel, source: View, face: int, out: View) -> None:
        """Compute the trace [s g, v'] on a local face: out (rows2, 6)."""
        where, columns = select_stress(self, k, source, face)
        self.restrict(k, where, face, out, columns)
        self.restrict(k, source, face, out, [(6 + a, 3 + a) for a in range(3)])

    def _physics(
        self, t: Numbers, cell: Numbers, face: Numbers, i: int
    ) -> tuple[list[Number], list[Number], Number, list[Number]]:
        """Return traction and velocity in the cell's components, g . v' and G g, from [s g, v']."""
        own, trace = self.cell_columns.row(cell), TRACE.row(t)
        h = self.face_columns.row(face).height
        traction = [-(own.rho * h) * x for x in trace.stress]
        return traction, trace.velocity, combine(GRADIENT[i], trace.velocity), turned(own.metric, i)

    def _wave(self, t: Numbers, cell: Numbers, face: Numbers, i: int) -> list[Number]:
        """Return the physical w of a face from [s g, v']."""
        traction, flow, along, normal = self._physics(t, cell, face, i)
        h, mine = self.face_columns.row(face).height, self.cell_columns.row(cell)
        own = (mine.zp - mine.zs) * h * h
        w = [traction[a] - mine.zs * flow[a] - own * normal[a] * along for a in range(3)]
        return self._turned_out(cell, w)

    def _turned_out(self, cell: Numbers, x: Numbers) -> list[Number]:
        """Return the physical components of a vector."""
        jacobian = self.cell_columns.row(cell).jacobian
        return [dot(jacobian[3 * a : 3 * a + 3], x) for a in range(3)]

    def split(self, t: Numbers, cell: Numbers, face: Numbers, i: int) -> list[list[Number]]:
        traction, flow, along, normal = self._physics(t, cell, face, i)
        beyond = self.face_columns.row(face)
        other = (beyond.zp - beyond.zs) * beyond.height * beyond.height
        u = [traction[a] + beyond.zs * flow[a] + other * normal[a] * along for a in range(3)]
        return [self._wave(t, cell, face, i), u]

    def flow(self, t: Numbers, cell: Numbers, face: Numbers, i: int) -> list[Number]:
        return self._turned_out(cell, TRACE.row(t).velocity)

    def flow_jump(self, w: Numbers, u: Numbers, cell: Numbers, face: Numbers, i: int) -> list[Number]:
        mine, beyond = self.cell_columns.row(cell), self.face_columns.row(face)
        h, a, b, g = beyond.height, beyond.a, beyond.b, mine.metric
        ys, yp = inverse(mine.zs + beyond.zs), inverse(mine.zp + beyond.zp)
        normal = turned(g, i)
        rows = [mine.jacobian[3 * x : 3 * x + 3] for x in range(3)]
        back = [[dot([g[PAIR[c][e]] for e in range(3)], row) for row in rows] for c in range(3)]
        inner = [dot(back[c], w) for c in range(3)]
        x = [a * inner[c] - u[c] for c in range(3)]
        # w_R - u = x + b h^2 (G g) (g . w); the admittance ys + (yp - ys) h^2 (G g) g. acts on it:
        shear = (yp - ys) * h * h
        amount = shear * combine(GRADIENT[i], x) + b * h * h * yp * combine(GRADIENT[i], inner)
        return [ys * x[c] + normal[c] * amount for c in range(3)]

    def lift(
        self, k: Kernel, q: Array, cell: Array, face: Array, receive: Callable[[int, Array], None], kept: Array
    ) -> None:
        def add(x: Numbers, cell: Numbers, q: Numbers, *faces: Numbers) -> Outputs:
            jumps = [x[3 * i : 3 * i + 3] for i in range(4)]
            gradient = [combine(-GRADIENT[:, b], [j[a] for j in jumps]) for b in range(3) for a in range(3)]
            mine = self.cell_columns.row(cell)
            zp, zs = (mine.inverse_rho * z for z in (mine.zp, mine.zs))
            force: list[Number] = [0.0, 0.0, 0.0]
            for i, (j, f) in enumerate(zip(jumps, faces, strict=True)):
                h = self.face_columns.row(f).height
                normal, along = turned(mine.metric, i), combine(GRADIENT[i], j)
                shear, press = zs * h * combine(GRADIENT[i], normal), (zp - zs) * h  # 1 / h = h g G g
                force = [force[a] + shear * j[a] + press * normal[a] * along for a in range(3)]
            change = self.rate([*force, *gradient], cell)
            return [[a + b for a, b in zip(q, change, strict=True)]]

        self.lift_vectors(k, q, cell, face, receive, kept, add)
