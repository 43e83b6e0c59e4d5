"""Isotropic elasticity in contravariant components, with constants and matrices as sums of two single-precision numbers.

Rounded constants change the speed of waves in all steps alike (docs/theory/single-precision.md, section 4).
Only the terms that act on the wave itself matter: its first derivative in time, and the traces that the two sides of a
face compare. Terms that act on jumps, or have a higher power of the step, may be rounded. Therefore both sides of a
face compare physical traction and velocity, with a normal that both round alike; and the *remainders* of constants, the
digits that single precision does not hold, act on the first derivative and on traces.

Remainders come first in every sum: they are less than half the last digit of a rounded sum and would be lost in it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from faultwave.base.columns import Columns
from faultwave.dg.method.basis import tet_size, triangle_size
from faultwave.dg.method.forms.cells import Cells
from faultwave.dg.method.forms.components import PAIR, inverse
from faultwave.dg.method.forms.contravariant import DERIVATIVES, TRACE, ContravariantElastic
from faultwave.kernels.language import Array, Kernel, View
from faultwave.kernels.types import Number, Numbers
from faultwave.physics.waves.law import dot

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


__all__ = ["LOW", "PreciseElastic", "rest"]
