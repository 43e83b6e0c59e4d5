"""Isotropic elasticity in contravariant components, with constants of cells in half the memory.

A cell stores its Jacobian, density and impedances in double precision; metric, heights of faces and moduli are computed
from them at the start of a kernel. Impedances of the Riemann problem are in single precision, equal on both sides of a
face: they weight jumps only, so that the flux is consistent and conservative whatever their last digits.
"""

from __future__ import annotations

import numpy as np

from faultwave.base.columns import Columns
from faultwave.dg.formula import Outputs
from faultwave.dg.method.forms.cells import Cells
from faultwave.dg.method.forms.components import GRADIENT, combine, turned
from faultwave.dg.method.forms.contravariant import ContravariantElastic, inverted
from faultwave.dg.method.forms.plain import directed
from faultwave.kernels import math as mth
from faultwave.kernels.language import Array, Kernel
from faultwave.kernels.types import Number, Numbers
from faultwave.physics.waves.law import dot

CELL = Columns(jacobian=9, rho=None, zp=None, zs=None)
SIDE = Columns(zp=None, zs=None, a=None, b=None)
"""Columns of a face in memory, with the neighbour's impedances. Two faces share a row, which ends with the cell's zp or zs."""


class LeanElastic(ContravariantElastic):
    """Contravariant form with compact constants.

    ``cell_columns`` and ``face_columns`` equal the columns of ``ContravariantElastic``; each kernel computes them from
    CELL and SIDE.
    """

    narrow = narrow_faces = True
    unpacked = 6

    @property
    def cell_size(self) -> int:
        return CELL.size

    @property
    def face_shape(self) -> tuple[int, int]:
        return 2, 2 * SIDE.size + 1

    def cell_constants(self, cells: Cells) -> np.ndarray:
        zp, zs = self.law.impedance(cells.material)
        jacobian = np.linalg.inv(directed(cells.inverse)).reshape(-1, 9)
        return CELL.join({"jacobian": jacobian, "rho": cells.material["rho"] / self.unit, "zp": zp, "zs": zs})

    def face_constants(self, cells: Cells) -> np.ndarray:
        sides = np.concatenate([self.both_impedances(cells)[1], self.arriving(cells)], 2)
        own = np.stack(self.law.impedance(cells.material), 1)
        return np.concatenate([sides.reshape(-1, 2, 2 * SIDE.size), own[..., None]], 2)

    def cell(self, k: Kernel) -> Array:
        whole = k.temp("whole_cell", 1, self.cell_columns.size)
        k.pointwise(self._whole_cell, [k.batch("cell", 1, CELL.size)], [whole.view(0, 1, 0, whole.cols - 2)])
        return whole

    def face(self, k: Kernel) -> Array:
        sides, whole = k.batch("face", *self.face_shape, narrow=True), k.temp("whole_face", 4, self.face_columns.size)
        cell, places, n = k.arrays["whole_cell"], self.cell_columns.places, SIDE.size
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
        mine = CELL.row(stored)
        inverse = inverted([mine.jacobian[3 * x : 3 * x + 3] for x in range(3)])
        metric = [dot(inverse[a], inverse[b]) for a, b in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))]
        light = 1.0 / mine.rho
        fast, slow = mine.zp * light, mine.zs * light
        mu = slow * slow
        return [[*mine.jacobian, *metric, fast * fast - 2.0 * mu, mu, mine.rho, light]]
