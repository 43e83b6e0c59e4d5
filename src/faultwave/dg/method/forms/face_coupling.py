"""Coupling of a cell to its neighbours: waves that leave through its faces, and jumps that waves of neighbours cause."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from faultwave.dg.method.basis import tet_size, triangle_size, two_stages
from faultwave.dg.method.forms.equations import Equations
from faultwave.dg.method.formula import Formula, Outputs
from faultwave.kernels.expr import Components, Number, Numbers
from faultwave.kernels.language import Array, Kernel, View
from faultwave.physics.waves import Law
from faultwave.physics.waves.law import dot

TWO_STAGES = 4
"""Degree from which the traces on faces 0 and 1 are evaluated in two stages; below, the extra pass costs what they save."""


def onto_face(law: Law, frame: Numbers, x: Numbers) -> list[Any]:
    """Return the components of x that cross a face: all, or the components along its two tangents; frame = (normal[, tangents])."""
    return list(x) if law.face_channels == law.channels else [dot(frame[3:6], x), dot(frame[6:], x)]


class FaceCoupling(Equations):
    """Statements of a wave law at the faces of a cell."""

    def impedance(self, cell: Numbers, face: Numbers) -> list[Number]:
        """Return the impedance of the cell at one of its faces."""
        return self.face_columns.row(face).own if self.law.directional else self.cell_columns.row(cell).impedance

    def face_trace(self, k: Kernel, source: View, face: int, out: View, frame: View) -> None:
        """Compute the physical trace [T, v] of ``source`` on a local face: out (rows2, 2 face channels)."""
        law = self.law
        pair = k.scratch("pair", self.b3, 2 * self.faced)

        def both(q: Numbers, frame: Numbers) -> Outputs:
            flux, potential = self.onto(frame, law.flux(q, frame[:3])), self.onto(frame, law.potential(q))
            traction, flow = law.sides(flux, potential)
            return [[*traction, *flow]]

        k.pointwise(both, [source, frame], [pair.view(0, source.rows)])
        self.restrict(k, pair.view(0, source.rows), face, out, [(i, i) for i in range(2 * self.faced)])

    def face_wave(self, k: Kernel, source: View, i: int, out: View, cell: Array, face: Array) -> None:
        """Compute the physical wave w = T - Z v of ``source`` on the local face ``i``: out (rows2, face channels)."""
        trace = k.scratch("trace", self.b2, 2 * self.faced).view(0, out.rows)
        self.own_trace(k, source, i, trace, face)
        self._write_split(k, i, [trace, cell, face.view(i, 1)], [out])

    def restrict(self, k: Kernel, source: View, face: int, out: View, columns: Sequence[tuple[int, int]]) -> None:
        """Restrict columns of ``source`` to the modes of a local face."""
        degree = next(d for d in range(self.order) if tet_size(d) == source.rows)
        stages = self._stages(face, degree)
        if len(stages) == 1:
            k.contract(out, stages[0], source, columns)
            return
        middle = k.scratch("middle", self.b3, 2 * self.faced)
        k.contract(middle, stages[1], source, [(i, n) for n, (i, _) in enumerate(columns)])
        k.contract(out, stages[0], middle, [(n, o) for n, (_, o) in enumerate(columns)])

    def extend(
        self, k: Kernel, jump: View, face: int, out: View, columns: Sequence[tuple[int, int]], accumulate: bool = False
    ) -> None:
        """Extend columns of a face's modes into the cell, the transpose of ``restrict``."""
        stages = [s.T for s in self._stages(face, self.order - 1)]
        if len(stages) == 1:
            k.contract(out, stages[0], jump, columns, accumulate)
            return
        middle = k.scratch("middle", self.b3, 2 * self.faced)
        k.contract(middle, stages[0], jump, [(i, n) for n, (i, _) in enumerate(columns)])
        k.contract(out, stages[1], middle, [(n, o) for n, (_, o) in enumerate(columns)], accumulate)

    def _stages(self, face: int, degree: int) -> list[np.ndarray]:
        """Return the trace matrix of a degree, in two factors if that takes fewer operations."""
        block = self.trace[face][: triangle_size(degree), : tet_size(degree)]
        if face > 1 or degree < TWO_STAGES:
            return [block]
        return list(two_stages(block, degree))

    def onto(self, frame: Numbers, x: Numbers) -> list[Number]:
        """Return the components of x that cross a face; frame = (normal[, tangents])."""
        return onto_face(self.law, frame, x)

    def off(self, frame: Numbers, y: Numbers) -> list[Number]:
        """Return the vector with the components that ``onto`` returns."""
        return list(y) if self.faced == self.m else [y[0] * frame[3 + i] + y[1] * frame[6 + i] for i in range(3)]

    def publish(
        self, k: Kernel, total: Array, cell: Array, face: Array, emit: Callable[[int, Array], None], face_values: Array
    ) -> None:
        """Pass w of the time-integrated state ``total`` on each of the four faces to ``emit`` and write u to ``face_values``."""
        trace, wave = k.temp("trace", self.b2, 2 * self.faced), k.temp("wave", self.b2, self.faced)
        for i in range(4):
            self.own_trace(k, total.view(), i, trace.view(), face)
            self._write_split(k, i, [trace, cell, face.view(i, 1)], [wave, face_values.view(i * self.b2, self.b2)])
            emit(i, wave)

    def _write_split(self, k: Kernel, i: int, given: Sequence[Array | View], targets: Sequence[Array | View]) -> None:
        k.pointwise(lambda t, c, f: self.split(t, c, f, i)[: len(targets)], given, targets)

    def own_trace(self, k: Kernel, source: View, i: int, out: View, face: Array) -> None:
        """Compute the trace of ``source`` on the local face ``i`` that ``split`` takes: out (rows2, 2 face channels)."""
        self.face_trace(k, source, i, out, face.view(i, 1, 0, self.frames))

    def split(self, t: Numbers, cell: Numbers, face: Numbers, i: int) -> list[list[Number]]:
        """Return [w, u] from the result of ``own_trace`` on the local face ``i``."""
        law, m, side = self.law, self.faced, self.face_columns.row(face)
        own_z = law.apply_impedance(self.impedance(cell, face), side.normal, t[m:])
        other_z = law.apply_impedance(side.other, side.normal, t[m:])
        return [[t[i] - own_z[i] for i in range(m)], [t[i] + other_z[i] for i in range(m)]]

    def flow(self, t: Numbers, cell: Numbers, face: Numbers, i: int) -> list[Number]:
        """Return the physical v from the result of ``own_trace`` on the local face ``i``."""
        return list(t[self.faced :])

    def lift(
        self, k: Kernel, q: Array, cell: Array, face: Array, receive: Callable[[int, Array], None], face_values: Array
    ) -> None:
        """Add the lifted jumps of the four faces to q; ``receive`` reads the neighbour's w of a face."""
        law, m, faced = self.law, self.m, self.faced
        arrived, jump = k.temp("arrived", self.b2, faced), k.temp("jump", self.b2, faced)
        lifted, sums = k.temp("lifted", self.b3, faced), k.temp("sums", self.b3, 4 * m)

        def flow_jump(w: Numbers, u: Numbers, face: Numbers) -> Outputs:
            side = self.face_columns.row(face)
            jumps = [x - y for x, y in zip(law.incoming(side.mix, side.normal, w), u, strict=True)]
            return [law.apply_impedance(side.admittance, side.normal, jumps)]

        def spread(first: bool) -> Formula:
            """Return a function that accumulates sums = [dF, n (x) dphi] of the lifted flow jump; times Z it is the traction jump."""

            def function(dv: Components, cell: Numbers, face: Numbers, *previous: Numbers) -> Outputs:
                n = self.face_columns.row(face).normal
                dT = law.apply_impedance(self.impedance(cell, face), n, dv)
                flux, potential = law.sides(dT, dv)
                flux, potential = self.off(face, flux), self.off(face, potential)
                new = [*flux, *[n[x] * p for x in range(3) for p in potential]]
                return [new if first else [s + x for s, x in zip(previous[0], new, strict=True)]]

            return function

        for i in range(4):
            row = face.view(i, 1)
            receive(i, arrived)
            k.pointwise(flow_jump, [arrived, face_values.view(i * self.b2, self.b2), row], [jump])
            self.extend(k, jump.view(), i, lifted.view(), [(c, c) for c in range(self.faced)])
            k.pointwise(spread(i == 0), [lifted, cell, row, *([sums] if i else [])], [sums])

        share = self.predictor.lasting(k, cell)

        def rate(s: Numbers, cell: Numbers, q: Numbers, *lasting: Numbers) -> Outputs:
            gradient = [[s[m + x * m + i] for i in range(m)] for x in range(3)]
            change = law.rate(s[:m], gradient, self.material(cell))
            for c in lasting:
                change = [x - (1.0 - c[0]) * y for x, y in zip(change, self.decaying(change, cell), strict=True)]
            return [[x + y for x, y in zip(q, change, strict=True)]]

        k.pointwise(rate, [sums, cell, q, *([] if share is None else [share])], [q])
