"""Anisotropic elasticity with stress in contravariant and velocity in covariant components."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from faultwave.base.columns import Columns
from faultwave.dg.method.forms.cells import Cells
from faultwave.dg.method.forms.components import GRADIENT, PAIR, ComponentForm, both_sides, combine, select_stress
from faultwave.dg.method.forms.constants import directed
from faultwave.dg.method.formula import Outputs
from faultwave.kernels.expr import Number, Numbers
from faultwave.kernels.language import Array, Kernel, View
from faultwave.physics.waves import Law
from faultwave.physics.waves.anisotropic import CONSTANTS, NUMBER, ORDER, Anisotropic, packed, unpacked
from faultwave.physics.waves.law import dot

SIX = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))
"""Components of a symmetric tensor in the order of the stress among the quantities."""

UPPER = tuple((i, j) for i in range(6) for j in range(i, 6))
ENTRY = {pair: k for k, (i, j) in enumerate(UPPER) for pair in ((i, j), (j, i))}

STATE = Columns(stress=6, velocity=3)
TRACE = Columns(stress=3, velocity=3)
"""Columns of a face's trace: s g and u."""
DERIVATIVES = Columns(force=3, strain=6)
"""Columns after differentiation: sum_b d_b s^ab, and the strain rates, shear ones twice."""

CHUNK = 1 << 15
"""Number of cells whose stiffness is transformed at once."""


def _symmetric(six: Numbers, x: Numbers) -> list[Number]:
    """Return the product of a symmetric matrix of six numbers and a vector."""
    return [dot([six[PAIR[a][b]] for b in range(3)], x) for a in range(3)]


def _turned(six: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """Return J^-1 Z J^-T, packed, of packed matrices (nc, 4, 6)."""
    back = inverse[:, None]
    return packed(back @ unpacked(six) @ np.swapaxes(back, -1, -2))


def _stiffness(material: dict[str, np.ndarray], inverse: np.ndarray) -> np.ndarray:
    """Return the 21 constants (nc, 21) of J^-1 J^-1 J^-1 J^-1 C."""
    c = np.stack([material[CONSTANTS[NUMBER[i, j]]] for i in ORDER for j in ORDER], -1).reshape(-1, 6, 6)
    m = np.empty_like(c)  # matrix of the stress: s = M sigma
    for row, (a, b) in enumerate(SIX):
        for column, (i, j) in enumerate(SIX):
            m[:, row, column] = inverse[:, a, i] * inverse[:, b, j]
            if i != j:
                m[:, row, column] += inverse[:, a, j] * inverse[:, b, i]
    turned = m @ c @ m.transpose(0, 2, 1)
    return np.stack([turned[:, i, j] for i, j in UPPER], 1)


class FullStiffness(ComponentForm):
    """Form of anisotropic elasticity with stress in contravariant and velocity in covariant components.

    Columns of a cell: ``jacobian`` J (x, b), ``inverse`` J^-1 (b, x), ``stiffness`` D, ``metric`` H, ``rho`` and
    ``inverse_rho``. Columns of a face: ``height`` h, ``own`` Z', ``other`` Z_R', ``admittance`` (Z' + Z_R')^-1.
    """

    self_contained = True
    moduli = ("stiffness",)

    state_columns, derivative_columns, trace_columns = STATE, DERIVATIVES, TRACE

    @classmethod
    def suits(cls, law: Law) -> bool:
        kind: type = type(law)
        return kind is Anisotropic

    def _columns(self) -> tuple[Columns, Columns]:
        cell = Columns(jacobian=9, inverse=9, stiffness=21, metric=6, rho=None, inverse_rho=None)
        return cell, Columns(height=None, own=6, other=6, admittance=6, mix=self.law.mixing)

    def cell_constants(self, cells: Cells) -> np.ndarray:
        inverse, rho = directed(cells.inverse), cells.material["rho"]
        jacobian = np.linalg.inv(inverse)
        scale, stiffness = self.unit**2 / rho, np.empty((len(rho), 21))
        for first in range(0, len(rho), CHUNK):
            part = slice(first, first + CHUNK)
            stiffness[part] = _stiffness({k: v[part] for k, v in cells.material.items()}, inverse[part])
        metric = np.einsum("nxa,nxb->nab", jacobian, jacobian)
        return self.cell_columns.join({
            "jacobian": jacobian.reshape(-1, 9), "inverse": inverse.reshape(-1, 9), "stiffness": scale[:, None] * stiffness,
            "metric": packed(metric), "rho": rho / self.unit, "inverse_rho": self.unit / rho,
        })  # fmt: skip

    def face_constants(self, cells: Cells) -> np.ndarray:
        inverse = directed(cells.inverse)
        own, other = (_turned(z, inverse) for z in self.both_impedances(cells))
        admittance = self.law.admittance(own, other, 1.0)
        height = 3.0 * cells.volume[:, None] / cells.areas
        numbers = {"height": height, "own": own, "other": other, "admittance": admittance}
        return self.face_columns.join(numbers | {"mix": self._reflected(cells)})

    def _reflected(self, cells: Cells) -> np.ndarray:
        """Return ``Law.mix`` with J^T m in place of m, for waves w' = J^-1 w."""
        mix = self.arriving(cells).copy()
        mix[..., 1:] = np.einsum("nxb,nfx->nfb", np.linalg.inv(directed(cells.inverse)), mix[..., 1:])
        return mix

    def to_physical(self, cells: Cells, which: np.ndarray) -> np.ndarray | None:
        inverse = directed(cells.inverse[which])
        jacobian = np.linalg.inv(inverse)
        result = np.zeros((len(which), 9, 9))
        for row, (x, y) in enumerate(SIX):
            for column, (a, b) in enumerate(SIX):
                result[:, row, column] = jacobian[:, x, a] * jacobian[:, y, b]
                if a != b:
                    result[:, row, column] += jacobian[:, x, b] * jacobian[:, y, a]
        result[:, :6, :6] *= cells.material["rho"][which, None, None] / self.unit
        result[:, 6:, 6:] = inverse.transpose(0, 2, 1)
        return result

    # Transformation between the quantities of the law and of the form.

    def physical(self, q: Numbers, cell: Numbers, jacobian: Numbers) -> list[Number]:
        return self.outward(q, cell)

    def outward(self, q: Numbers, cell: Numbers) -> list[Number]:
        state = STATE.row(q)
        return [*self.stress(state.stress, cell), *self._flow(cell, state.velocity)]

    def inward(self, q: Numbers, cell: Numbers) -> list[Number]:
        return [
            *self.from_stress(q[:6], cell),
            *[dot(c, q[6:]) for c in zip(*self._rows(cell, "jacobian"), strict=True)],
        ]

    def _rows(self, cell: Numbers, name: str) -> list[list[Number]]:
        nine = self.cell_columns.row(cell)[name]
        return [nine[3 * x : 3 * x + 3] for x in range(3)]

    def _flow(self, cell: Numbers, u: Numbers) -> list[Number]:
        """Return the physical components J^-T u of a velocity."""
        return [dot(column, u) for column in zip(*self._rows(cell, "inverse"), strict=True)]

    @property
    def stress_columns(self) -> slice:
        return STATE.places["stress"]

    def stress(self, own: Numbers, cell: Numbers) -> list[Number]:
        rho = self.cell_columns.row(cell).rho
        return [rho * x for x in both_sides(own, self._rows(cell, "jacobian"))]

    def from_stress(self, stress: Numbers, cell: Numbers) -> list[Number]:
        inverse_rho = self.cell_columns.row(cell).inverse_rho
        return [inverse_rho * x for x in both_sides(stress, self._rows(cell, "inverse"))]

    def stress_scale(self, cells: Cells) -> np.ndarray:
        longest = np.linalg.svd(np.linalg.inv(directed(cells.inverse)), compute_uv=False).max(1)
        return np.asarray(cells.material["rho"] / self.unit * longest**2)

    # The cell.

    @property
    def differentiated(self) -> int:
        return DERIVATIVES.size

    def differentiate(self, k: Kernel, source: View, rows: int, after: Array, cell: Array) -> None:
        """Differentiate along each direction; a column is first set and then added to."""
        begun: set[int] = set()
        for b in range(3):
            block = self.derivative[b][:rows, : source.rows]
            pairs = [(PAIR[a][b], a) for a in range(3)] + [(6 + a, 3 + PAIR[a][b]) for a in range(3)]
            for more in (False, True):
                columns = [(i, o) for i, o in pairs if (o in begun) is more]
                if columns:
                    k.contract(after, block, source, columns, accumulate=more)
            begun.update(o for _, o in pairs)

    def rate(self, after: Numbers, cell: Numbers) -> list[Number]:
        own, found = self.cell_columns.row(cell), DERIVATIVES.row(after)
        stress = [dot([own.stiffness[ENTRY[i, j]] for j in range(6)], found.strain) for i in range(6)]
        return [*stress, *_symmetric(own.metric, found.force)]

    # Its faces.

    def _trace(self, k: Kernel, source: View, face: int, out: View) -> None:
        """Compute the trace [s g, u] on a local face: out (rows2, 6)."""
        where, columns = select_stress(self, k, source, face)
        self.restrict(k, where, face, out, columns)
        self.restrict(k, source, face, out, [(6 + a, 3 + a) for a in range(3)])

    def _traction(self, t: Numbers, cell: Numbers, face: Numbers) -> list[Number]:
        """Return the traction in contravariant components."""
        size = self.cell_columns.row(cell).rho * self.face_columns.row(face).height
        return [-size * x for x in TRACE.row(t).stress]

    def _wave(self, t: Numbers, cell: Numbers, face: Numbers) -> list[Number]:
        """Return the physical w of a face from [s g, u]."""
        own = _symmetric(self.face_columns.row(face).own, TRACE.row(t).velocity)
        inner = [x - y for x, y in zip(self._traction(t, cell, face), own, strict=True)]
        return [dot(row, inner) for row in self._rows(cell, "jacobian")]

    def split(self, t: Numbers, cell: Numbers, face: Numbers, i: int) -> list[list[Number]]:
        other = _symmetric(self.face_columns.row(face).other, TRACE.row(t).velocity)
        u = [x + y for x, y in zip(self._traction(t, cell, face), other, strict=True)]
        return [self._wave(t, cell, face), u]

    def flow_jump(self, w: Numbers, u: Numbers, cell: Numbers, face: Numbers, i: int) -> list[Number]:
        side, rows = self.face_columns.row(face), self._rows(cell, "inverse")
        inner = [dot(row, w) for row in rows]
        normal = [-side.height * dot(row, self._gradient(rows, i)) for row in rows]  # J^-1 n
        along = dot(side.mix[1:4], inner)
        jumps = [side.mix[0] * x + n * along - y for x, n, y in zip(inner, normal, u, strict=True)]
        return _symmetric(side.admittance, jumps)

    def flow(self, t: Numbers, cell: Numbers, face: Numbers, i: int) -> list[Number]:
        return self._flow(cell, TRACE.row(t).velocity)

    def lift(
        self, k: Kernel, q: Array, cell: Array, face: Array, receive: Callable[[int, Array], None], own_waves: Array
    ) -> None:
        def add(x: Numbers, cell: Numbers, q: Numbers, *faces: Numbers) -> Outputs:
            jumps = [x[3 * i : 3 * i + 3] for i in range(4)]
            slope = [[combine(-GRADIENT[:, b], [j[a] for j in jumps]) for a in range(3)] for b in range(3)]
            strain = [slope[a][a] if a == b else slope[a][b] + slope[b][a] for a, b in SIX]
            force: list[Number] = [0.0, 0.0, 0.0]
            for j, f in zip(jumps, faces, strict=True):
                side = self.face_columns.row(f)
                share = self.cell_columns.row(cell).inverse_rho / side.height
                force = [a + b for a, b in zip(force, _symmetric([share * z for z in side.own], j), strict=True)]
            return [[a + b for a, b in zip(q, self.rate([*force, *strain], cell), strict=True)]]

        self.lift_vectors(k, q, cell, face, receive, own_waves, add)

    def _gradient(self, rows: Sequence[Numbers], face: int) -> list[Number]:
        """Return J^-T g of a face."""
        return [combine(GRADIENT[face], [row[x] for row in rows]) for x in range(3)]
