"""Interaction of the two sides of a fault: locked traction, and its reduction by slip.

Functions of a fault point are written with operators, so that they run in the friction kernel and on NumPy arrays. Vectors have
components along n, s1, s2 of the fault's frame; ``z`` is a row of the constants of a face by the names of ``columns``. With
w+ = T+ - Z+ v+ and w- = T- + Z- v-, both tractions on the plus side's normal, the locked traction is eta (Z+^-1 w+ + Z-^-1 w-) with
eta = (Z+^-1 + Z-^-1)^-1 (docs/theory/friction.md, "Friction solve").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from faultwave.base.columns import Columns, Row
from faultwave.dg.method.formula import Operand
from faultwave.kernels.expr import Number, Numbers
from faultwave.physics.friction.load import Coupling, Load
from faultwave.physics.waves import Law
from faultwave.physics.waves.law import as_matrix, dot

PLACE = ((0, 3, 5), (3, 1, 4), (5, 4, 2))
"""Index of entry ij of a symmetric 3 x 3 matrix among its six stored numbers."""


class FaultCoupling(Protocol):
    """Interface of the coupling of the two sides of a fault.

    Attributes
    ----------
    columns : Columns
        Constants of a face by name.
    channels : int
        Number of components of a traction and of a velocity: 3, or 4 in porous rock, where -p of the pore fluid and its flow
        along n are added.
    """

    columns: Columns
    channels: int

    def pressing(self, traction: Sequence[Operand]) -> Operand:
        """Return the normal traction that holds the fault; in porous rock the part of the frame, which pore pressure reduces."""
        ...

    def constants(self, law: Law, material: dict[str, np.ndarray], frame: np.ndarray) -> np.ndarray:
        """Return the constants of n faces, (n, columns).

        Parameters
        ----------
        material : dict of (n, 2) arrays
            Material of the plus and the minus side.
        frame : (n, 3, 3) float
            Unit vectors n, s1, s2 as rows.
        """
        ...

    def impeded(self, z: Row, side: int, flow: Sequence[Operand]) -> list[Operand]:
        """Return Z v of the plus (0) or the minus side (1)."""
        ...

    def locked(self, z: Row, plus: Sequence[Operand], minus: Sequence[Operand]) -> list[Operand]:
        """Return the traction of the locked fault from the outgoing waves w+ and w-."""
        ...

    def load(self, z: Row, tau: Numbers, sigma: Number, dt: Number, t: Number) -> Load: ...

    def slipping(self, z: Row, locked: Sequence[Operand], rate1: Operand, rate2: Operand) -> list[Operand]:
        """Return the traction that remains of the locked one at the given slip rates [m/s]."""
        ...

    def averaged(self, z: Row, locked: Sequence[Operand], jump: Sequence[Operand]) -> list[Operand]:
        """Return the average traction eta (Z+^-1 T+ + Z-^-1 T-) from the locked traction and the velocity jump v- - v+."""
        ...

    def normal_flow(
        self, z: Row, plus: Sequence[np.ndarray], minus: Sequence[np.ndarray], traction: Sequence[np.ndarray]
    ) -> np.ndarray:
        """Return the normal velocity common to both sides; for NumPy arrays only."""
        ...


class PrincipalCoupling:
    """Coupling in isotropic rock, where normal and shear traction are independent."""

    columns = Columns(**dict.fromkeys(("p_plus", "s_plus", "p_minus", "s_minus")))
    channels = 3

    def pressing(self, traction: Sequence[Operand]) -> Operand:
        return traction[0]

    def constants(self, law: Law, material: dict[str, np.ndarray], frame: np.ndarray) -> np.ndarray:
        return np.stack(law.impedance(material), -1).reshape(-1, self.columns.size)

    @staticmethod
    def _pairs(z: Row) -> list[tuple[Any, Any]]:
        return [(z.p_plus, z.p_minus), (z.s_plus, z.s_minus), (z.s_plus, z.s_minus)]

    def impeded(self, z: Row, side: int, flow: Sequence[Operand]) -> list[Operand]:
        return [pair[side] * v for pair, v in zip(self._pairs(z), flow, strict=True)]

    def locked(self, z: Row, plus: Sequence[Operand], minus: Sequence[Operand]) -> list[Operand]:
        return [(zb * wa + za * wb) / (za + zb) for (za, zb), wa, wb in zip(self._pairs(z), plus, minus, strict=True)]

    def _shear(self, z: Row) -> Number:
        return z.s_plus * z.s_minus / (z.s_plus + z.s_minus)

    def load(self, z: Row, tau: Numbers, sigma: Number, dt: Number, t: Number) -> Load:
        return Load(tau1=tau[0], tau2=tau[1], sigma=sigma, eta=self._shear(z), dt=dt, t=t)

    def slipping(self, z: Row, locked: Sequence[Operand], rate1: Operand, rate2: Operand) -> list[Operand]:
        eta = self._shear(z)
        return [locked[0], locked[1] - eta * rate1, locked[2] - eta * rate2]

    def averaged(self, z: Row, locked: Sequence[Operand], jump: Sequence[Operand]) -> list[Operand]:
        eta, eta_p = self._shear(z), z.p_plus * z.p_minus / (z.p_plus + z.p_minus)
        return [locked[0] - eta_p * jump[0], locked[1] - eta * jump[1], locked[2] - eta * jump[2]]

    def normal_flow(
        self, z: Row, plus: Sequence[np.ndarray], minus: Sequence[np.ndarray], traction: Sequence[np.ndarray]
    ) -> np.ndarray:
        return (minus[0] - plus[0]) / (z.p_plus + z.p_minus)


class MatrixCoupling:
    """Coupling in anisotropic rock by impedance matrices.

    Columns: the impedances ``plus`` and ``minus`` and ``damping`` = eta, six numbers each, and ``share`` = eta Z+^-1, row by row.
    """

    columns = Columns(plus=6, minus=6, damping=6, share=9)
    channels = 3

    def pressing(self, traction: Sequence[Operand]) -> Operand:
        return traction[0]

    def constants(self, law: Law, material: dict[str, np.ndarray], frame: np.ndarray) -> np.ndarray:
        # One normal for both sides, as an impedance is the same along n and against it.
        normal = np.repeat(frame[:, :1], 2, 1)
        packed = np.moveaxis(law.impedance_at(material, normal), -1, 0)
        shape = normal.shape[:-1]
        z = as_matrix(lambda x: law.apply_impedance(packed, np.moveaxis(normal, -1, 0), x), 3, shape)
        z = frame[:, None] @ z @ np.swapaxes(frame, 1, 2)[:, None]
        plus, minus = z[:, 0], z[:, 1]
        y = np.linalg.inv(plus)
        damping = np.linalg.inv(y + np.linalg.inv(minus))
        numbers = {"plus": plus, "minus": minus, "damping": damping}
        six = {k: np.stack([0.5 * (v[:, i, j] + v[:, j, i]) for i, j in _SIX], -1) for k, v in numbers.items()}
        return self.columns.join(six | {"share": (damping @ y).reshape(-1, 9)})

    def impeded(self, z: Row, side: int, flow: Sequence[Operand]) -> list[Operand]:
        return _product(z.minus if side else z.plus, flow)

    def locked(self, z: Row, plus: Sequence[Operand], minus: Sequence[Operand]) -> list[Operand]:
        more = [a - b for a, b in zip(plus, minus, strict=True)]
        return [b + dot(z.share[3 * i : 3 * i + 3], more) for i, b in enumerate(minus)]

    def load(self, z: Row, tau: Numbers, sigma: Number, dt: Number, t: Number) -> Load:
        eta = z.damping
        coupling = Coupling(along11=eta[1], along22=eta[2], along12=eta[4], normal1=eta[3], normal2=eta[5])
        return Load(tau[0], tau[1], sigma, 0.5 * (eta[1] + eta[2]), dt, t, coupling=coupling)

    def slipping(self, z: Row, locked: Sequence[Operand], rate1: Operand, rate2: Operand) -> list[Operand]:
        eta = z.damping
        return [x - (eta[PLACE[i][1]] * rate1 + eta[PLACE[i][2]] * rate2) for i, x in enumerate(locked)]

    def averaged(self, z: Row, locked: Sequence[Operand], jump: Sequence[Operand]) -> list[Operand]:
        return [x - y for x, y in zip(locked, _product(z.damping, jump), strict=True)]

    def normal_flow(
        self, z: Row, plus: Sequence[np.ndarray], minus: Sequence[np.ndarray], traction: Sequence[np.ndarray]
    ) -> np.ndarray:
        rows = [np.stack(np.broadcast_arrays(*[z.plus[PLACE[i][j]] for j in range(3)]), -1) for i in range(3)]
        force = np.stack([t - w for t, w in zip(traction, plus, strict=True)], -1)
        return np.linalg.solve(np.stack(rows, -2), force[..., None])[..., 0, 0]


class PoreCoupling:
    """Coupling in porous rock, with components n, s1, s2 and pore fluid.

    Normal traction and pore pressure act on each other; shear is independent. The pores of both sides are open to each other: -p and the
    flow of the fluid are continuous. Columns: ``plus``, ``minus`` and ``damping`` = eta, four numbers each, ``share`` = eta Z+^-1 row by
    row followed by that ratio for shear, and ``friction``, the shear eta with which slip is solved. With ``grains`` the last is
    computed as if all rock were as dense as its grains, as SeisSol does.
    """

    columns = Columns(plus=4, minus=4, damping=4, share=5, friction=None)
    channels = 4

    def __init__(self, grains: bool = False):
        self.grains = grains

    def constants(self, law: Law, material: dict[str, np.ndarray], frame: np.ndarray) -> np.ndarray:
        plus, minus = (np.stack([z[:, side] for z in law.impedance(material)], -1) for side in range(2))
        pairs = [np.stack([z[:, [0, 1]], z[:, [1, 2]]], -2) for z in (plus, minus)]
        y = np.linalg.inv(pairs[0])
        eta = np.linalg.inv(y + np.linalg.inv(pairs[1]))
        shear = plus[:, 3] * minus[:, 3] / (plus[:, 3] + minus[:, 3])
        damping = np.stack([eta[:, 0, 0], 0.5 * (eta[:, 0, 1] + eta[:, 1, 0]), eta[:, 1, 1], shear], -1)
        share = np.concatenate([(eta @ y).reshape(-1, 4), (shear / plus[:, 3])[:, None]], -1)
        z = np.sqrt(material["rho"] * material["mu"])
        friction = z.prod(1) / z.sum(1) if self.grains else shear
        found = {"plus": plus, "minus": minus, "damping": damping, "share": share, "friction": friction}
        return self.columns.join(found)

    def pressing(self, traction: Sequence[Operand]) -> Operand:
        return traction[0] - traction[3]

    @staticmethod
    def _product(z: Sequence[Operand], x: Sequence[Operand]) -> list[Operand]:
        return [z[0] * x[0] + z[1] * x[3], z[3] * x[1], z[3] * x[2], z[1] * x[0] + z[2] * x[3]]

    def impeded(self, z: Row, side: int, flow: Sequence[Operand]) -> list[Operand]:
        return self._product(z.minus if side else z.plus, flow)

    def locked(self, z: Row, plus: Sequence[Operand], minus: Sequence[Operand]) -> list[Operand]:
        a, more = z.share, [x - y for x, y in zip(plus, minus, strict=True)]
        added = [a[0] * more[0] + a[1] * more[3], a[4] * more[1], a[4] * more[2], a[2] * more[0] + a[3] * more[3]]
        return [x + y for x, y in zip(minus, added, strict=True)]

    def load(self, z: Row, tau: Numbers, sigma: Number, dt: Number, t: Number) -> Load:
        return Load(tau1=tau[0], tau2=tau[1], sigma=sigma, eta=z.friction, dt=dt, t=t)

    def slipping(self, z: Row, locked: Sequence[Operand], rate1: Operand, rate2: Operand) -> list[Operand]:
        eta = z.friction
        return [locked[0], locked[1] - eta * rate1, locked[2] - eta * rate2, locked[3]]

    def averaged(self, z: Row, locked: Sequence[Operand], jump: Sequence[Operand]) -> list[Operand]:
        return [x - y for x, y in zip(locked, self._product(z.damping, jump), strict=True)]

    def normal_flow(
        self, z: Row, plus: Sequence[np.ndarray], minus: Sequence[np.ndarray], traction: Sequence[np.ndarray]
    ) -> np.ndarray:
        force, fluid = traction[0] - plus[0], traction[3] - plus[3]
        return (z.plus[2] * force - z.plus[1] * fluid) / (z.plus[0] * z.plus[2] - z.plus[1] * z.plus[1])


_SIX = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))


def _product(six: Numbers, x: Numbers) -> list[Any]:
    return [dot([six[PLACE[i][j]] for j in range(3)], x) for i in range(3)]


def make_coupling(law: Law, grains: bool = False) -> FaultCoupling:
    """Return the coupling that fits the impedance of the wave law; ``grains`` is explained in ``PoreCoupling``."""
    if law.face_channels == PoreCoupling.channels:
        return PoreCoupling(grains)
    return PrincipalCoupling() if law.principal else MatrixCoupling()
