"""The form every law has: its own quantities, fluxes turned to the reference cell before each derivative
(docs/theory/formulation.md, "Strong form in space"; docs/theory/time-stepping.md, "Predictor").

Per cell: ``q`` (B3, Q) dofs; ``cell`` (1, ...) and ``face`` (4, ...) constants. A cell publishes per face w = T - Z v of
its time-integrated trace and keeps u = T + Z_R v. With the incoming wave w_R = a w_neighbour + b n (n . w_neighbour) the
jump of the flow is dv = (Z + Z_R)^-1 (w_R - u), of the traction dT = Z dv.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from faultwave.base.columns import Columns
from faultwave.base.errors import NotBuiltError, Problem
from faultwave.dg.basis import matrices, tet_size, triangle_size, two_stages
from faultwave.dg.forms.cells import Cells
from faultwave.dg.predictors import CellTerms, Decaying, Predictor, Taylor
from faultwave.domain.tets.mesh import BoundaryKind
from faultwave.kernels.language import Array, Kernel, View
from faultwave.physics.waves import Law
from faultwave.physics.waves.law import FILLED, LAYER, Boundary, dot, impedance_numbers, role

DIRECTIONS = np.array([[1.0, 0.0, 0.0], [-0.5, 1.0, 0.0], [0.0, -1.0, 1.0]])
"""Directions of differentiation in the reference cell, row by row: chosen for the sparsest derivative matrices."""


TWO_STAGES = 4
"""Degree from which the traces on faces 0 and 1 are taken in two stages: below, the extra pass costs what they save."""


def onto_face(law: Law, frame: Any, x: Any) -> list[Any]:
    """The components of x that cross a face: all, or those along its two tangents; frame = (normal[, tangents])."""
    return list(x) if law.face_channels == law.channels else [dot(frame[3:6], x), dot(frame[6:], x)]


def directed(inverse: np.ndarray) -> np.ndarray:
    """Rows d xi'_b / dx (nc, 3, 3) of the coordinates along ``DIRECTIONS``."""
    return np.einsum("bd,ndx->nbx", np.linalg.inv(DIRECTIONS.T), inverse)


class Form:
    """The statements of one law and order, and the constants they need. Columns of a cell: ``inverse`` (rows of ``directed``), the
    law's ``constants``, its ``impedance``, the ``rates`` of its reaction; of a face: ``normal`` (``tangents`` too where only tangential
    components cross a face), ``own`` impedance where it depends on the face, ``other`` (the neighbour's impedance), scaled
    ``admittance``, ``mix`` (see ``Law.incoming``). ``unit`` [s]: unit of time in the kernels; derivatives in time count per unit.
    """

    self_contained = True  # whether ``outward`` and ``inward`` are there
    moduli: tuple[str, ...] = ("constants",)  # columns of a cell that speeds of waves depend on, and faces do not
    narrow = False  # whether memory holds waves, and what cells keep of their traces, in single precision
    narrow_faces = False  # the same of constants of faces
    unpacked = 0  # statements with which ``cell`` and ``face`` make constants from what memory holds
    state_columns: Columns | None = None  # of its quantities, where they are not those of the law
    derivative_columns: Columns | None = None  # of what ``differentiate`` fills
    trace_columns: Columns | None = None  # of a face's trace

    @classmethod
    def suits(cls, law: Law) -> bool:
        """Whether it is right for this law and its variant."""
        return True

    @classmethod
    def predictor_of(cls, law: Law) -> Callable[[Any], Predictor]:
        """How its cells are advanced where nothing else is asked for."""
        return Decaying if law.decays else Taylor

    def __init__(self, law: Law, order: int, unit: float = 1.0, predictor: Callable[[CellTerms], Predictor] = Taylor):
        self.law, self.order, self.unit = law, order, unit
        self.m, self.faced, self.Q = law.channels, law.face_channels, len(law.quantities)
        self.b3, self.b2 = tet_size(order - 1), triangle_size(order - 1)
        tables = matrices(order - 1)
        self.trace = tables.trace
        self.derivative = np.einsum("bd,dkl->bkl", DIRECTIONS, tables.derivative)
        self.derivative[np.abs(self.derivative) < 1e-10] = 0.0
        probe = {name: np.ones(1) for name in (*(p.name for p in law.parameters), *LAYER)}
        with np.errstate(all="ignore"):  # only how many they are
            self.constants = len(law.constants(probe))
            self.impedances = impedance_numbers(law)
            self.reactions = len(law.rates(probe))
        self.full = self.reactions > 0
        self.frames = 3 if self.faced == self.m else 9
        self.cell_columns, self.face_columns = self._columns()
        self.predictor = predictor(self)

    @property
    def cell_size(self) -> int:
        return self.cell_columns.size

    @property
    def face_shape(self) -> tuple[int, int]:
        """Rows and columns of the constants of a cell's faces in memory."""
        return 4, self.face_columns.size

    def _columns(self) -> tuple[Columns, Columns]:
        """Of the constants of a cell and of a face."""
        z, face = self.impedances, self.law.directional
        cell = Columns(inverse=9, constants=self.constants, impedance=0 if face else z, rates=self.reactions)
        sides = {"own": z if face else 0, "other": z, "admittance": z, "mix": self.law.mixing}
        return cell, Columns(normal=3, tangents=self.frames - 3, **sides)

    # Constants of cells and faces, and the way between the law's quantities and the form's.

    def cell_constants(self, cells: Cells) -> np.ndarray:
        """(nc, cell_size)"""
        rates, law = [self.unit * r for r in self.law.rates(cells.material)], self.law
        nothing = np.zeros((len(cells.inverse), 0))
        numbers = {
            "inverse": self.unit * directed(cells.inverse).reshape(-1, 9),
            "constants": np.stack(law.constants(cells.material), 1),
            "impedance": nothing if law.directional else np.stack(law.impedance(cells.material), 1),
            "rates": np.stack(rates, 1) if rates else nothing,
        }
        return self.cell_columns.join(numbers)

    def frame_constants(self, cells: Cells) -> np.ndarray:
        """(nc, 4, 3 or 9) normal and, where the law needs them, tangents."""
        if self.frames == 3:
            return cells.normals
        return np.concatenate([cells.normals, cells.tangents.reshape(*cells.normals.shape[:2], 6)], 2)

    def face_constants(self, cells: Cells) -> np.ndarray:
        """(nc, *face_shape)"""
        own, other = self.both_impedances(cells)
        admittance = self.law.admittance(own, other, self.unit * cells.areas / (3.0 * cells.volume[:, None]))
        frame = self.frame_constants(cells)
        numbers = {"normal": frame[..., :3], "tangents": frame[..., 3:], "other": other, "admittance": admittance}
        numbers["own"] = own if self.law.directional else own[..., :0]
        return self.face_columns.join(numbers | {"mix": self.arriving(cells)})

    def both_impedances(self, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        """Impedances (nc, 4, n) of the cell and of what lies across each face; its own at boundaries and faults."""
        law, across = self.law, (cells.neighbours >= 0) & ~cells.fault
        own = law.impedance_at({k: v[:, None] for k, v in cells.material.items()}, cells.normals)
        other = np.array(own)
        beyond = {k: v[cells.neighbours[across]] for k, v in cells.everywhere.items()}
        other[across] = law.impedance_at(beyond, cells.normals[across])
        return own, other if cells.beyond is None else np.where(cells.remote[..., None], cells.beyond, other)

    def arriving(self, cells: Cells) -> np.ndarray:
        """``mix``, where nobody else has mixed the arriving wave."""
        mix = self.mix(cells)
        if cells.driven is not None:
            mix[cells.driven] = self._mixed(cells, cells.driven, FILLED)
        return mix

    def _mixed(self, cells: Cells, faces: np.ndarray, boundary: Boundary | None) -> np.ndarray:
        """``Law.mix`` at the marked faces (nc, 4)."""
        cell = np.nonzero(faces)[0]
        return self.law.mix(boundary, {k: v[cell] for k, v in cells.material.items()}, cells.normals[faces])

    def mix(self, cells: Cells) -> np.ndarray:
        """What ``Law.incoming`` takes, (nc, 4, mixing); NotBuiltError for a boundary the law does not have."""
        law = self.law
        mix = np.zeros((*cells.neighbours.shape, law.mixing))
        remote = cells.remote
        between = ((cells.neighbours >= 0) | remote) & ~cells.fault
        mix[between] = self._mixed(cells, between, None)
        mix[cells.fault] = self._mixed(cells, cells.fault, FILLED)
        outer = (cells.neighbours < 0) & ~remote & ~cells.fault  # a fault face's other cell may be elsewhere
        if cells.echoes is not None:
            told = outer & ~np.isnan(cells.echoes[..., 0])
            for a, b in np.unique(cells.echoes[told], axis=0):
                faces = told & (cells.echoes == (a, b)).all(2)
                mix[faces] = self._mixed(cells, faces, Boundary(a, b))
            outer &= ~told
        for kind in np.unique(cells.kinds[outer]):
            name = BoundaryKind(kind).name.lower().replace("_", "-")
            faces = outer & (cells.kinds == kind)
            if name == "impedance" and self.impedances == 1 and cells.wall is not None:
                z, wall = law.impedance(cells.material)[0][np.nonzero(faces)[0]], cells.wall[faces]
                mix[faces, 0] = (wall - z) / (wall + z)
                continue
            if name not in law.boundaries and cells.driven is not None and cells.driven[faces].all():
                continue  # nothing arrives but what is given there
            if name not in law.boundaries:
                where = f"boundary faces of kind '{name}'"
                raise NotBuiltError(Problem(where, f"not available for the {law.name} law", ", ".join(law.boundaries)))
            mix[faces] = self._mixed(cells, faces, law.boundaries[name])
        return mix

    def to_physical(self, cells: Cells, which: np.ndarray) -> np.ndarray | None:
        """(n, Q, Q) from the form's quantities to the law's in the cells ``which``; None where they are the same."""
        return None

    # Statements.

    def physical(self, q: Any, cell: Any, jacobian: Any) -> list[Any]:
        """The law's quantities from the form's, as ``to_physical``; ``jacobian``: nine numbers as ``jacobians`` gives them."""
        return list(q)

    @property
    def stress_columns(self) -> slice:
        """Those of the form's quantities of which stress is made."""
        return role(self.law, "stress")

    def stress(self, own: Any, cell: Any) -> list[Any]:
        """The law's stress, six components, from the form's columns of it."""
        return list(own)

    def from_stress(self, stress: Any, cell: Any) -> list[Any]:
        """The reverse of ``stress``."""
        return list(stress)

    def stress_scale(self, cells: Cells) -> np.ndarray:
        """(nc,) the largest factor by which ``stress`` makes the Frobenius norm of a tensor grow."""
        return np.ones(len(cells.volume))

    def outward(self, q: Any, cell: Any) -> list[Any]:
        """``physical`` from the constants of the cell alone; forms whose cells may have penalties offer it, and ``inward``."""
        return list(q)

    def inward(self, q: Any, cell: Any) -> list[Any]:
        """The reverse of ``outward``."""
        return list(q)

    def jacobians(self, cells: Cells) -> np.ndarray:
        """(nc, 9) d x / d xi' row by row, of the coordinates along ``DIRECTIONS``."""
        return np.linalg.inv(directed(cells.inverse)).reshape(-1, 9)

    def name_columns(self, k: Kernel) -> None:
        """Name the columns of the arrays that a kernel has from this form, for printed formulas.

        Parameters
        ----------
        k : Kernel
            A kernel with all its statements.
        """
        vector = ("x", "y", "z")
        faces = [f"face{i}_{axis}" for i in range(4) for axis in vector]
        state = self.state_columns.component_names if self.state_columns else tuple(self.law.quantities)
        names: list[tuple[Sequence[str], Sequence[str]]] = [
            (state, ("q", "total", "current", "series", "history", "remainder", "later", "terma", "termb", "total0")),
            (self.cell_columns.component_names, ("cell", "whole_cell")),
            (self.face_columns.component_names, ("face", "whole_face")),
            (self.derivative_columns.component_names if self.derivative_columns else (), ("after",)),
            (self.trace_columns.component_names if self.trace_columns else (), ("trace",)),
            (vector, ("wave", "waves", "kept", "arrived", "jump", "pair")),
            (faces, ("lifted",)),
        ]
        for columns, arrays in names:
            k.name_columns(
                columns, *(a for n in arrays if (a := k.arrays.get(n)) is not None and a.cols == len(columns))
            )

    def cell(self, k: Kernel) -> Array:
        return k.batch("cell", 1, self.cell_size)

    def face(self, k: Kernel) -> Array:
        return k.batch("face", *self.face_shape)

    def material(self, cell: Any) -> Any:
        return self.cell_columns.row(cell).constants

    def impedance(self, cell: Any, face: Any) -> Any:
        """Of the cell at one of its faces."""
        return self.face_columns.row(face).own if self.law.directional else self.cell_columns.row(cell).impedance

    def reaction(self, q: Any, cell: Any) -> list[Any]:
        """The part of dq/dt that needs no gradient."""
        return self.law.reaction(q, self.cell_columns.row(cell).rates)

    def decay(self, cell: Any) -> Any:
        """Rate r of a law whose reaction is -r P q with a projection P."""
        return self.law.decay(self.cell_columns.row(cell).rates)

    def decaying(self, q: Any, cell: Any) -> list[Any]:
        """P q"""
        return self.law.decaying(q, self.material(cell))

    @property
    def differentiated(self) -> int:
        """Columns after the derivatives."""
        return 4 * self.m

    def differentiate(self, k: Kernel, source: View, rows: int, after: Array, cell: Array) -> None:
        """after (rows, differentiated) = the derivatives ``rate`` needs, of ``source``."""
        self.differentiate_present(k, source, rows, after, cell, [True] * self.Q)

    def differentiate_present(
        self, k: Kernel, source: View, rows: int, after: Array, cell: Array, present: Sequence[bool]
    ) -> None:
        """``differentiate`` where only some quantities of the source are not zero: fills the columns ``reached``."""
        m = self.m
        fluxes, potentials = self._channels(present)
        width = 3 * len(fluxes) + len(potentials)
        before = k.scratch("before", self.b3, 4 * m).view(0, source.rows, 0, width)

        def turned(q: Any, cell: Any) -> Any:
            inverse = self.cell_columns.row(cell).inverse
            q = [x if there else 0.0 for x, there in zip(q, present, strict=True)]
            along = [self.law.flux(q, inverse[3 * d : 3 * d + 3]) for d in range(3)]
            phi = self.law.potential(q)
            return [[*[along[d][i] for d in range(3) for i in fluxes], *[phi[i] for i in potentials]]]

        k.pointwise(turned, [source, cell], [before])
        for d in range(3):
            block = self.derivative[d][:rows, : source.rows]
            divergence = [(d * len(fluxes) + n, i) for n, i in enumerate(fluxes)]
            gradient = [(3 * len(fluxes) + n, m + d * m + i) for n, i in enumerate(potentials)]
            if divergence:
                k.contract(after, block, before, divergence, accumulate=d > 0)
            if gradient:
                k.contract(after, block, before, gradient)

    def _channels(self, present: Sequence[bool]) -> tuple[list[int], list[int]]:
        """Channels of the flux and of the potential that are not zero where only some quantities are there."""
        rng = np.random.default_rng(0)
        q, n = list(rng.normal(size=self.Q) * np.array(present)), list(rng.normal(size=3))
        flux, potential = self.law.flux(q, n), self.law.potential(q)
        return [i for i, x in enumerate(flux) if x != 0.0], [i for i, x in enumerate(potential) if x != 0.0]

    def reached(self, present: Sequence[bool]) -> list[bool]:
        """Columns that the derivatives of some quantities fill."""
        fluxes, potentials = self._channels(present)
        return [i in fluxes for i in range(self.m)] + 3 * [i in potentials for i in range(self.m)]

    def rate(self, after: Any, cell: Any) -> list[Any]:
        """dq/dt from what ``differentiate`` left."""
        m = self.m
        inverse = self.cell_columns.row(cell).inverse
        gradient = [
            [dot([inverse[3 * d + x] for d in range(3)], [after[m + d * m + i] for d in range(3)]) for i in range(m)]
            for x in range(3)
        ]
        return self.law.rate(after[:m], gradient, self.material(cell))

    def differentiate_first(self, k: Kernel, source: View, rows: int, after: Array, cell: Array) -> None:
        """``differentiate`` of the state itself, for its first derivative in time."""
        self.differentiate(k, source, rows, after, cell)

    def rate_first(self, after: Any, cell: Any) -> list[Any]:
        """``rate`` of what ``differentiate_first`` left."""
        return self.rate(after, cell)

    def first(self, k: Kernel, q: Array, cell: Array, change: Array, react: bool) -> None:
        """change = dq/dt of the cell alone; ``react``: with what needs no gradient."""
        made = tet_size(self.order - 2)
        after = k.temp("after", made, self.differentiated)
        self.differentiate(k, q.view(), made, after, cell)

        def own(q: Any, cell: Any) -> list[Any]:
            return self.reaction(q, cell) if react and self.full else [0.0 * x for x in q]

        def whole(after: Any, q: Any, cell: Any) -> Any:
            return [[x + y for x, y in zip(self.rate(after, cell), own(q, cell), strict=True)]]

        rest = self.b3 - made
        k.pointwise(whole, [after, q.view(0, made), cell], [change.view(0, made)])
        k.pointwise(lambda q, cell: [own(q, cell)], [q.view(made, rest), cell], [change.view(made, rest)])

    def face_trace(self, k: Kernel, source: View, face: int, out: View, frame: Any) -> None:
        """out (rows2, 2 face channels) = physical [T, v] of ``source`` on a local face."""
        law = self.law
        pair = k.scratch("pair", self.b3, 2 * self.faced)

        def both(q: Any, frame: Any) -> Any:
            flux, potential = self.onto(frame, law.flux(q, frame[:3])), self.onto(frame, law.potential(q))
            traction, flow = law.sides(flux, potential)
            return [[*traction, *flow]]

        k.pointwise(both, [source, frame], [pair.view(0, source.rows)])
        self.restrict(k, pair.view(0, source.rows), face, out, [(i, i) for i in range(2 * self.faced)])

    def face_wave(self, k: Kernel, source: View, i: int, out: View, cell: Array, face: Array) -> None:
        """out (rows2, face channels) = physical w = T - Z v of ``source`` on the local face ``i``."""
        trace = k.scratch("trace", self.b2, 2 * self.faced).view(0, out.rows)
        self.own_trace(k, source, i, trace, face)
        self._write_split(k, i, [trace, cell, face.view(i, 1)], [out])

    def restrict(self, k: Kernel, source: View, face: int, out: View, columns: Sequence[tuple[int, int]]) -> None:
        """Columns of ``source`` to the modes of a local face."""
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
        """The transpose of ``restrict``: columns of a face's modes lifted to the cell."""
        stages = [s.T for s in self._stages(face, self.order - 1)]
        if len(stages) == 1:
            k.contract(out, stages[0], jump, columns, accumulate)
            return
        middle = k.scratch("middle", self.b3, 2 * self.faced)
        k.contract(middle, stages[0], jump, [(i, n) for n, (i, _) in enumerate(columns)])
        k.contract(out, stages[1], middle, [(n, o) for n, (_, o) in enumerate(columns)], accumulate)

    def _stages(self, face: int, degree: int) -> list[np.ndarray]:
        """The trace matrix of a degree, in two factors where that takes fewer operations."""
        block = self.trace[face][: triangle_size(degree), : tet_size(degree)]
        if face > 1 or degree < TWO_STAGES:
            return [block]
        return list(two_stages(block, degree))

    def onto(self, frame: Any, x: Any) -> list[Any]:
        """The components of x that cross a face; frame = (normal[, tangents])."""
        return onto_face(self.law, frame, x)

    def off(self, frame: Any, y: Any) -> list[Any]:
        """The vector whose components ``onto`` gives."""
        return list(y) if self.faced == self.m else [y[0] * frame[3 + i] + y[1] * frame[6 + i] for i in range(3)]

    def publish(
        self, k: Kernel, total: Array, cell: Array, face: Array, emit: Callable[[int, Array], None], kept: Array
    ) -> None:
        """w of the time-integrated state ``total`` on the four faces handed to ``emit``, u put into ``kept``."""
        trace, wave = k.temp("trace", self.b2, 2 * self.faced), k.temp("wave", self.b2, self.faced)
        for i in range(4):
            self.own_trace(k, total.view(), i, trace.view(), face)
            self._write_split(k, i, [trace, cell, face.view(i, 1)], [wave, kept.view(i * self.b2, self.b2)])
            emit(i, wave)

    def _write_split(self, k: Kernel, i: int, given: list[Any], targets: list[Any]) -> None:
        k.pointwise(lambda t, c, f: self.split(t, c, f, i)[: len(targets)], given, targets)

    def own_trace(self, k: Kernel, source: View, i: int, out: View, face: Array) -> None:
        """out (rows2, 2 face channels) = what ``split`` takes of ``source`` on the local face ``i``."""
        self.face_trace(k, source, i, out, face.view(i, 1, 0, self.frames))

    def split(self, t: Any, cell: Any, face: Any, i: int) -> list[list[Any]]:
        """[w, u] of what ``own_trace`` has found on the local face ``i``."""
        law, m, side = self.law, self.faced, self.face_columns.row(face)
        own_z = law.apply_impedance(self.impedance(cell, face), side.normal, t[m:])
        other_z = law.apply_impedance(side.other, side.normal, t[m:])
        return [[t[i] - own_z[i] for i in range(m)], [t[i] + other_z[i] for i in range(m)]]

    def flow(self, t: Any, cell: Any, face: Any, i: int) -> list[Any]:
        """Physical v of what ``own_trace`` has found on the local face ``i``."""
        return list(t[self.faced :])

    def lift(
        self, k: Kernel, q: Array, cell: Array, face: Array, receive: Callable[[int, Array], None], kept: Array
    ) -> None:
        """Add the lifted jumps of the four faces to q; ``receive`` fills the neighbour's w of a face."""
        law, m, faced = self.law, self.m, self.faced
        arrived, jump = k.temp("arrived", self.b2, faced), k.temp("jump", self.b2, faced)
        lifted, sums = k.temp("lifted", self.b3, faced), k.temp("sums", self.b3, 4 * m)

        def flow_jump(w: Any, u: Any, face: Any) -> Any:
            side = self.face_columns.row(face)
            jumps = [x - y for x, y in zip(law.incoming(side.mix, side.normal, w), u, strict=True)]
            return [law.apply_impedance(side.admittance, side.normal, jumps)]

        def spread(first: bool) -> Any:
            """sums = [dF, n (x) dphi] from the lifted flow jump; scaling by Z makes the traction jump."""

            def function(dv: Any, cell: Any, face: Any, *previous: Any) -> Any:
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
            k.pointwise(flow_jump, [arrived, kept.view(i * self.b2, self.b2), row], [jump])
            self.extend(k, jump.view(), i, lifted.view(), [(c, c) for c in range(self.faced)])
            k.pointwise(spread(i == 0), [lifted, cell, row, *([sums] if i else [])], [sums])

        share = self.predictor.lasting(k, cell)

        def rate(s: Any, cell: Any, q: Any, *lasting: Any) -> Any:
            gradient = [[s[m + x * m + i] for i in range(m)] for x in range(3)]
            change = law.rate(s[:m], gradient, self.material(cell))
            for c in lasting:
                change = [x - (1.0 - c[0]) * y for x, y in zip(change, self.decaying(change, cell), strict=True)]
            return [[x + y for x, y in zip(q, change, strict=True)]]

        k.pointwise(rate, [sums, cell, q, *([] if share is None else [share])], [q])


__all__ = ["DIRECTIONS", "Form", "directed", "onto_face"]
