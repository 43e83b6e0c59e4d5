"""Laws of two curls in covariant components, in which curls need no metric (Hesthaven & Warburton 2008, ch. 10)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from faultwave.base.columns import Columns
from faultwave.dg.method.forms.cells import Cells
from faultwave.dg.method.forms.components import PAIR, ComponentForm, combine
from faultwave.dg.method.forms.constants import directed
from faultwave.dg.method.formula import Outputs
from faultwave.kernels.expr import Number, Numbers
from faultwave.kernels.language import Array, Kernel, View
from faultwave.physics.waves import Law
from faultwave.physics.waves.law import cross, dot

TANGENTS = np.array(
    [[[0, 0, 1], [-0.5, 1, 0]], [[0, 0, 1], [0.5, 1, 0]], [[1, 0, 0], [0, 1, 1]], [[1, 0, 0], [0, 1, 0]]]
)
"""Two tangents (4, 2, 3) of every face in the coordinates of ``DIRECTIONS``, with as few components as possible."""


def is_two_curls(law: Law) -> bool:
    """Return True if a law is E' = alpha curl H, H' = -beta curl E with a scalar impedance, by its functions at probe values.

    A reaction must treat the three components of a field alike: a matched layer, which distinguishes the axes of space,
    cannot be stated in e and h.
    """
    if (len(law.quantities), law.channels, law.face_channels, law.traction_is_flux) != (6, 3, 2, False):
        return False
    rng = np.random.default_rng(0)
    values = {p.name: rng.uniform(0.5, 2.0, 1) for p in law.parameters}
    material, impedance = ([float(x[0]) for x in y] for y in (law.constants(values), law.impedance(values)))
    if (len(material), len(impedance)) != (2, 1):
        return False
    q, n, divergence, gradient = rng.normal(size=6), rng.normal(size=3), rng.normal(size=3), rng.normal(size=(3, 3))
    rates = [float(x[0]) for x in law.rates(values)]
    reaction = np.array([law.reaction(unit, rates) for unit in np.eye(6)], float).reshape(2, 3, 2, 3)
    curl = [gradient[(a + 1) % 3, (a + 2) % 3] - gradient[(a + 2) % 3, (a + 1) % 3] for a in range(3)]
    pairs = (
        (law.flux(q, n), cross(n, q[3:])),
        (law.potential(q), q[:3]),
        (law.rate(divergence, gradient, material), [*(material[0] * divergence), *[-material[1] * c for c in curl]]),
        (law.apply_impedance(impedance, n, q[:3]), impedance[0] * q[:3]),
        (reaction, np.einsum("ij,ab->iajb", reaction[:, 0, :, 0], np.eye(3))),
    )
    return all(np.allclose(np.asarray(given, float), wanted) for given, wanted in pairs)


FIELDS = Columns(electric=3, magnetic=3)
TRACE = Columns(electric=2, magnetic=2)
"""Columns of a face's trace: e and h along its two tangents in the reference cell."""


class CovariantCurls(ComponentForm):
    """Form of two curls in covariant components.

    Columns of a cell: ``metric`` g, ``size`` det J / unit, constants ``alpha`` and ``beta``, impedance ``z`` and the
    ``rates`` of the reaction. Columns of a face: ``tangents`` A, ``sign`` s, the neighbour's impedance ``z`` and the
    ``admittance``.
    """

    moduli = ("alpha", "beta")

    state_columns, trace_columns = FIELDS, TRACE

    @classmethod
    def suits(cls, law: Law) -> bool:
        return is_two_curls(law)

    def _columns(self) -> tuple[Columns, Columns]:
        cell, face = (
            dict.fromkeys(names) for names in (("size", "alpha", "beta", "z"), ("sign", "z", "admittance", "a"))
        )
        return Columns(metric=6, **cell, rates=self.reactions), Columns(tangents=4, **face)

    def cell_constants(self, cells: Cells) -> np.ndarray:
        jacobian = np.linalg.inv(directed(cells.inverse))
        det = np.linalg.det(jacobian)
        g = self.unit * np.einsum("nxa,nxb->nab", jacobian, jacobian) / det[:, None, None]
        (alpha, beta), (z,) = self.law.constants(cells.material), self.law.impedance(cells.material)
        rates = [self.unit * r for r in self.law.rates(cells.material)]
        six = g[:, [0, 1, 2, 0, 1, 0], [0, 1, 2, 1, 2, 2]]
        numbers = {"metric": six, "size": det / self.unit, "alpha": alpha, "beta": beta, "z": z}
        return self.cell_columns.join(numbers | {"rates": np.stack(rates, 1) if rates else np.zeros((len(det), 0))})

    def face_constants(self, cells: Cells) -> np.ndarray:
        jacobian = np.linalg.inv(directed(cells.inverse))
        tau = np.einsum("nxb,fib->nfix", jacobian, TANGENTS)
        frame = self.frame_constants(cells).reshape(len(jacobian), 4, 3, 3)
        normal, own = frame[:, :, 0], frame[:, :, 1:]
        a = np.einsum("nfkx,nfxi->nfki", own, np.linalg.pinv(tau)).reshape(len(tau), 4, 4)
        sign = np.sign((np.cross(own[:, :, 0], own[:, :, 1]) * normal).sum(-1))
        z, other = (x[..., 0] for x in self.both_impedances(cells))
        scale = self.unit * cells.areas / (3.0 * cells.volume[:, None])
        numbers = {"tangents": a, "sign": sign, "z": other, "admittance": scale / (z + other)}
        return self.face_columns.join(numbers | {"a": self.arriving(cells)[..., 0]})

    def to_physical(self, cells: Cells, which: np.ndarray) -> np.ndarray | None:
        result = np.zeros((len(which), 6, 6))
        result[:, :3, :3] = result[:, 3:, 3:] = directed(cells.inverse[which]).transpose(0, 2, 1)
        return result

    def physical(self, q: Numbers, cell: Numbers, jacobian: Numbers) -> list[Number]:
        columns = [[jacobian[3 * x + b] for x in range(3)] for b in range(3)]
        dual = [cross(columns[(b + 1) % 3], columns[(b + 2) % 3]) for b in range(3)]
        inverse = 1.0 / dot(columns[0], dual[0])
        parts = FIELDS.row(q).values()
        return [inverse * dot([dual[b][x] for b in range(3)], part) for part in parts for x in range(3)]

    # The cell.

    def reaction(self, q: Numbers, cell: Numbers) -> list[Number]:
        return self.law.reaction(q, self.cell_columns.row(cell).rates)

    @property
    def differentiated(self) -> int:
        return 12

    def differentiate(self, k: Kernel, source: View, rows: int, after: Array, cell: Array) -> None:
        """Fill columns 4 b ... 4 b + 3 with d_b of e_(b+1), e_(b+2), h_(b+1), h_(b+2)."""
        for b in range(3):
            wanted = [c + 3 * field for field in range(2) for c in ((b + 1) % 3, (b + 2) % 3)]
            k.contract(
                after, self.derivative[b][:rows, : source.rows], source, [(c, 4 * b + n) for n, c in enumerate(wanted)]
            )

    def rate(self, after: Numbers, cell: Numbers) -> list[Number]:
        def curl(field: int) -> list[Number]:
            return [after[4 * ((a + 1) % 3) + 2 * field] - after[4 * ((a + 2) % 3) + 2 * field + 1] for a in range(3)]

        return self._change(cell, curl(1), curl(0), 1.0)

    def _change(self, cell: Numbers, along_e: Numbers, along_h: Numbers, scale: Number) -> list[Number]:
        """Return scale (alpha g along_e, -beta g along_h)."""
        own = self.cell_columns.row(cell)
        e, h = (
            [[(x * own.metric[PAIR[a][b]]) for b in range(3)] for a in range(3)]
            for x in (scale * own.alpha, scale * own.beta)
        )
        return [*[dot(e[a], along_e) for a in range(3)], *[-dot(h[a], along_h) for a in range(3)]]

    # Its faces.

    def _trace(self, k: Kernel, source: View, face: int, out: View) -> None:
        """Compute e and h along the two tangents of a local face: out (rows2, 4)."""
        columns: list[tuple[int, int]] = []
        mixed: list[tuple[int, Sequence[float]]] = []
        for i, tangent in enumerate(TANGENTS[face]):
            if np.count_nonzero(tangent) == 1:
                b = int(np.flatnonzero(tangent)[0])
                columns += [(b, i), (3 + b, 2 + i)]
            else:
                mixed.append((i, tangent.tolist()))
        self.restrict(k, source, face, out, columns)
        for i, weights in mixed:
            pair = k.scratch("pair", self.b3, 2).view(0, source.rows)
            k.pointwise(lambda q, w=weights: [[combine(w, x) for x in FIELDS.row(q).values()]], [source], [pair])
            self.restrict(k, pair, face, out, [(0, i), (1, 2 + i)])

    def _along(self, t: Numbers, face: Numbers) -> tuple[list[Number], list[Number]]:
        """Return T = E . t_k and v = (n x H) . t_k from a trace."""
        side = self.face_columns.row(face)
        p, r, q, s = side.tangents
        e, h = ([p * x[0] + r * x[1], q * x[0] + s * x[1]] for x in TRACE.row(t).values())
        return e, [-side.sign * h[1], side.sign * h[0]]

    def _wave(self, t: Numbers, cell: Numbers, face: Numbers) -> list[Number]:
        """Return w of a face from a trace."""
        z = self.cell_columns.row(cell).z
        return [x - z * y for x, y in zip(*self._along(t, face), strict=True)]

    def split(self, t: Numbers, cell: Numbers, face: Numbers, i: int) -> list[list[Number]]:
        other = self.face_columns.row(face).z
        return [self._wave(t, cell, face), [x + other * y for x, y in zip(*self._along(t, face), strict=True)]]

    def lift(
        self, k: Kernel, q: Array, cell: Array, face: Array, receive: Callable[[int, Array], None], own_waves: Array
    ) -> None:
        arrived, jump = k.temp("arrived", self.b2, 2), k.temp("jump", self.b2, 2)
        lifted = k.temp("lifted", self.b3, 8)

        def flow_jump(w: Numbers, u: Numbers, face: Numbers) -> Outputs:
            side = self.face_columns.row(face)
            p, r, q, s = side.tangents
            dv = [side.admittance * (side.a * x - y) for x, y in zip(w, u, strict=True)]
            return [[p * dv[0] + q * dv[1], r * dv[0] + s * dv[1]]]

        for i in range(4):
            receive(i, arrived)
            k.pointwise(flow_jump, [arrived, own_waves.view(i * self.b2, self.b2), face.view(i, 1)], [jump])
            self.extend(k, jump.view(), i, lifted.view(), [(0, 2 * i), (1, 2 * i + 1)])

        def add(x: Numbers, cell: Numbers, q: Numbers, *faces: Numbers) -> Outputs:
            turned, own = [], self.cell_columns.row(cell)
            for i, face in enumerate(faces):
                side = self.face_columns.row(face)
                p, r, q2, s = side.tangents
                size = own.z * side.sign / (p * s - r * q2)
                across, first, second = size * (p * r + q2 * s), size * (p * p + q2 * q2), size * (r * r + s * s)
                one, two = x[2 * i], x[2 * i + 1]
                turned += [across * one - first * two, second * one - across * two]
            flat = TANGENTS.reshape(8, 3)
            along_e, along_h = ([combine(flat[:, b].tolist(), part) for b in range(3)] for part in (x, turned))
            return [[a + b for a, b in zip(q, self._change(cell, along_e, along_h, own.size), strict=True)]]

        k.pointwise(add, [lifted, cell, q, *[face.view(i, 1) for i in range(4)]], [q])
