"""Isotropic elasticity and generalised Maxwell bodies in contravariant components, whose derivatives need no Jacobian.

With x = x0 + J xi, s = J^-1 sigma J^-T / rho, v' = J^-1 v and the metric G = J^-1 J^-T:

    dv'^a/dt = sum_b d_b s^ab
    ds^cd/dt = lambda/rho G^cd div v' + mu/rho sum_b (G^cb d_b v'^d + G^db d_b v'^c)

On the face opposite vertex f the unit normal is n = -h J^-T g with g = grad of the barycentric coordinate f and
h = 1 / sqrt(g G g). In the same components the traction is -rho h s g, n . v = -h g . v', and the impedance

    Z v = Zs v' + (Zp - Zs) h^2 (G g) (g . v').

If the unit of time is not the second, s and 1/rho are scaled by it, lambda/rho and mu/rho by its square. d_b, J and g
refer to the directions of ``plain.DIRECTIONS``. Waves and face traces leave the cell in physical components.

A cell stores its Jacobian, density and impedances in double precision; metric, heights of faces and moduli are computed
from them at the start of a kernel. Impedances of the Riemann problem are in single precision, equal on both sides of a
face: they weight jumps only, so that the flux is consistent and conservative whatever their last digits.

Rounded constants change the speed of waves in all steps alike (docs/theory/single-precision.md, section 4).
Only the terms that act on the wave itself matter: its first derivative in time, and the traces that the two sides of a
face compare. Terms that act on jumps, or have a higher power of the step, may be rounded. Therefore both sides of a
face compare physical traction and velocity, with a normal that both round alike; and the *remainders* of constants, the
digits that single precision does not hold, act on the first derivative and on traces.

Remainders come first in every sum: they are less than half the last digit of a rounded sum and would be lost in it.

A memory variable p becomes J^-1 p J^-T / rho. Twice the contravariant strain rate is e^cd = sum_b (G^cb d_b v'^d + G^db
d_b v'^c): every spring contributes mu/rho times it and lambda/rho G times its trace div v', so that gradients are
evaluated once for all springs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from faultwave.base.columns import Columns
from faultwave.dg.method.basis import tet_size, triangle_size
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
from faultwave.dg.method.forms.constants import directed
from faultwave.dg.method.formula import Outputs
from faultwave.dg.method.predictors import Predictor, Relaxing
from faultwave.kernels import math as mth
from faultwave.kernels.expr import Number, Numbers
from faultwave.kernels.language import Array, Kernel, View
from faultwave.kernels.math import named
from faultwave.physics.waves import Law
from faultwave.physics.waves.elastic import Elastic
from faultwave.physics.waves.law import dot
from faultwave.physics.waves.viscoelastic import Viscoelastic, element_names

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
        self, k: Kernel, q: Array, cell: Array, face: Array, receive: Callable[[int, Array], None], own_waves: Array
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

        self.lift_vectors(k, q, cell, face, receive, own_waves, add)


LEAN_CELL = Columns(jacobian=9, rho=None, zp=None, zs=None)
LEAN_SIDE = Columns(zp=None, zs=None, a=None, b=None)
"""Columns of a face in memory, with the neighbour's impedances. Two faces share a row, which ends with the cell's zp or zs."""


class LeanElastic(ContravariantElastic):
    """Contravariant form with compact constants.

    ``cell_columns`` and ``face_columns`` equal the columns of ``ContravariantElastic``; each kernel computes them from
    CELL and SIDE.
    """

    narrow_faces = True
    unpacked = 6

    @property
    def cell_size(self) -> int:
        return LEAN_CELL.size

    @property
    def face_shape(self) -> tuple[int, int]:
        return 2, 2 * LEAN_SIDE.size + 1

    def cell_constants(self, cells: Cells) -> np.ndarray:
        zp, zs = self.law.impedance(cells.material)
        jacobian = np.linalg.inv(directed(cells.inverse)).reshape(-1, 9)
        return LEAN_CELL.join({"jacobian": jacobian, "rho": cells.material["rho"] / self.unit, "zp": zp, "zs": zs})

    def face_constants(self, cells: Cells) -> np.ndarray:
        sides = np.concatenate([self.both_impedances(cells)[1], self.arriving(cells)], 2)
        own = np.stack(self.law.impedance(cells.material), 1)
        return np.concatenate([sides.reshape(-1, 2, 2 * LEAN_SIDE.size), own[..., None]], 2)

    def cell(self, k: Kernel) -> Array:
        whole = k.temp("whole_cell", 1, self.cell_columns.size)
        k.pointwise(self._whole_cell, [k.batch("cell", 1, LEAN_CELL.size)], [whole.view(0, 1, 0, whole.cols - 2)])
        return whole

    def face(self, k: Kernel) -> Array:
        sides, whole = k.batch("face", *self.face_shape, narrow=True), k.temp("whole_face", 4, self.face_columns.size)
        cell, places, n = k.arrays["whole_cell"], self.cell_columns.places, LEAN_SIDE.size
        own = [sides.view(i, 1, 2 * n, 1) for i in range(2)]
        k.pointwise(lambda zp, zs: [[zp[0], zs[0]]], own, [cell.view(0, 1, places["zp"].start, 2)])
        metric = cell.view(0, 1, places["metric"].start, 6)
        for i in range(4):

            def height(metric: Numbers, side: Numbers, i: int = i) -> Outputs:
                return [[1.0 / mth.sqrt(combine(GRADIENT[i], turned(metric, i))), *side]]

            k.pointwise(height, [metric, sides.view(i // 2, 1, i % 2 * n, n)], [whole.view(i, 1)])
        return whole

    def _whole_cell(self, stored: Numbers) -> list[list[Number]]:
        """Return all columns of a cell except its impedances at faces."""
        mine = LEAN_CELL.row(stored)
        inverse = inverted([mine.jacobian[3 * x : 3 * x + 3] for x in range(3)])
        metric = [dot(inverse[a], inverse[b]) for a, b in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))]
        light = 1.0 / mine.rho
        fast, slow = mine.zp * light, mine.zs * light
        mu = slow * slow
        return [[*mine.jacobian, *metric, fast * fast - 2.0 * mu, mu, mine.rho, light]]


LOW = 3
"""Degree up to which remainders of matrices are applied: higher modes of resolved waves are small."""
NOTHING = 1e-12
"""Magnitude below which remainders of matrices are rounding errors of double precision."""


def single(x: np.ndarray) -> np.ndarray:
    """Return numbers rounded to single precision, in double precision."""
    return np.asarray(x, np.float32).astype(float)


def rest(x: np.ndarray) -> np.ndarray:
    """Return the part of numbers that single precision does not represent."""
    return x - single(x)


def added(start: Number | None, weights: Numbers, values: Numbers) -> Any:
    """Return start + sum of products, in sequence, as fused operations compute them: each product is added before it is rounded."""
    for w, x in zip(weights, values, strict=True):
        start = w * x if start is None else start + w * x
    return start


class PreciseElastic(ContravariantElastic):
    """Contravariant form with constants in two single-precision numbers.

    Additional columns of a cell: ``shear`` mu G / rho, ``press`` lambda G / rho and the remainders ``*_rest``.
    Additional columns of a face: outward ``normal``, ``size`` rho h and its remainder. Waves and stored traces are in
    physical components.
    """

    moduli = ()

    def _columns(self) -> tuple[Columns, Columns]:
        material = dict.fromkeys(("lam", "mu", "rho", "inverse_rho", "zp", "zs"))
        tensors = dict.fromkeys(("shear", "press", "shear_rest", "press_rest"), 6)
        face = dict.fromkeys(("height", "zp", "zs", "a", "b"))
        cell = Columns(jacobian=9, metric=6, **material, jacobian_rest=9, **tensors)
        return cell, Columns(**face, normal=3, size=None, size_rest=None)

    def _constants(self, cells: Cells) -> dict[str, np.ndarray]:
        found = super()._constants(cells)
        tensors = {name: found[m][:, None] * found["metric"] for name, m in (("shear", "mu"), ("press", "lam"))}
        rests = {f"{name}_rest": rest(x) for name, x in tensors.items()}
        return found | {"jacobian_rest": rest(found["jacobian"])} | tensors | rests

    def face_constants(self, cells: Cells) -> np.ndarray:
        plain = super().face_constants(cells)
        size = plain[..., :1] * (cells.material["rho"] / self.unit)[:, None, None]
        return np.concatenate([plain, cells.normals, size, rest(size)], 2)

    # The cell.

    def differentiate_first(self, k: Kernel, source: View, rows: int, after: Array, cell: Array) -> None:
        low = min(source.rows, tet_size(LOW))
        for b in range(3):
            whole = self.derivative[b][:rows, : source.rows]
            stress, velocity = [(PAIR[a][b], a) for a in range(3)], [(6 + a, 3 + 3 * b + a) for a in range(3)]
            for columns, more in ((stress, b > 0), (velocity, False)):
                k.contract(after, rest(whole[:, :low]), source, columns, more)
                k.contract(after, whole, source, columns, True)

    def rate(self, after: Numbers, cell: Numbers) -> list[Number]:
        own = self.cell_columns.row(cell)
        return self._rate(after, own.shear, own.press, [None] * 6)

    def rate_first(self, after: Numbers, cell: Numbers) -> list[Number]:
        own = self.cell_columns.row(cell)
        rests = self._rate(after, own.shear_rest, own.press_rest, [None] * 6)[:6]
        return self._rate(after, own.shear, own.press, rests)

    def _rate(self, after: Numbers, shear: Numbers, press: Numbers, start: Sequence[Number | None]) -> list[Number]:
        """Return dq/dt from the derivatives ``after``; sums of the stress begin with ``start``."""
        found = DERIVATIVES.row(after)
        slope = [found.gradient[3 * b : 3 * b + 3] for b in range(3)]
        divergence = slope[0][0] + slope[1][1] + slope[2][2]

        def stress(n: int, c: int, d: int) -> Number:
            total = added(start[n], [press[n]], [divergence])
            for one, other in ((c, d), (d, c)):
                total = added(total, [shear[PAIR[one][b]] for b in range(3)], [slope[b][other] for b in range(3)])
            return total

        pairs = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))
        return [*(stress(n, c, d) for n, (c, d) in enumerate(pairs)), *found.force]

    # Its faces.

    def restrict(self, k: Kernel, source: View, face: int, out: View, columns: Sequence[tuple[int, int]]) -> None:
        degree = next(d for d in range(self.order) if tet_size(d) == source.rows)
        stages = self._stages(face, degree)
        held = functools.reduce(np.matmul, [single(s) for s in stages])
        whole = self.trace[face][: triangle_size(degree), : source.rows]
        missing = (whole - held)[:, : tet_size(LOW)]
        k.contract(out, np.where(np.abs(missing) > NOTHING, missing, 0.0), source, columns)
        if len(stages) > 1:
            middle = k.scratch("middle", self.b3, 2 * self.faced)
            k.contract(middle, stages[1], source, [(i, n) for n, (i, _) in enumerate(columns)])
            source, columns = middle.view(), [(n, o) for n, (_, o) in enumerate(columns)]
        k.contract(out, stages[0], source, columns, accumulate=True)

    def _sides(self, t: Numbers, cell: Numbers, face: Numbers) -> tuple[list[Number], list[Number]]:
        """Return physical traction and velocity from [s g, v']."""
        side, trace = self.face_columns.row(face), TRACE.row(t)
        force = [-added(side.size_rest * x, [side.size], [x]) for x in trace.stress]
        return self._turned_out(cell, force), self._turned_out(cell, trace.velocity)

    def _turned_out(self, cell: Numbers, x: Numbers) -> list[Number]:
        own = self.cell_columns.row(cell)
        rows = [slice(3 * a, 3 * a + 3) for a in range(3)]
        return [added(dot(own.jacobian_rest[row], x), own.jacobian[row], x) for row in rows]

    def split(self, t: Numbers, cell: Numbers, face: Numbers, i: int) -> list[list[Number]]:
        traction, flow = self._sides(t, cell, face)
        mine, side = self.cell_columns.row(cell), self.face_columns.row(face)
        along = dot(side.normal, flow)
        own, other = (mine.zp - mine.zs) * along, (side.zp - side.zs) * along
        w = [traction[a] - mine.zs * flow[a] - side.normal[a] * own for a in range(3)]
        return [w, [traction[a] + side.zs * flow[a] + side.normal[a] * other for a in range(3)]]

    def flow(self, t: Numbers, cell: Numbers, face: Numbers, i: int) -> list[Number]:
        return self._sides(t, cell, face)[1]

    def flow_jump(self, w: Numbers, u: Numbers, cell: Numbers, face: Numbers, i: int) -> list[Number]:
        mine, side = self.cell_columns.row(cell), self.face_columns.row(face)
        ys, yp = inverse(mine.zs + side.zs), inverse(mine.zp + side.zp)
        x = [side.a * w[c] - u[c] for c in range(3)]
        amount = (yp - ys) * dot(side.normal, x) + side.b * yp * dot(side.normal, w)
        jump = [ys * x[c] + side.normal[c] * amount for c in range(3)]
        return [dot(row, jump) for row in self.turned_in(cell)]


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
