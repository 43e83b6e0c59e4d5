"""Form of a wave law in its own quantities, available for every law, and the cells that forms are evaluated in.

Fluxes are transformed to the reference cell before each derivative (docs/theory/formulation.md, "Strong form in space";
docs/theory/time-stepping.md, "Predictor").

A cell has the degrees of freedom ``q`` (B3, Q) and the constants ``cell`` (1, ...) and ``face`` (4, ...). It publishes
for each face w = T - Z v of its time-integrated trace and stores u = T + Z_R v. With the incoming wave w_R = a
w_neighbour + b n (n . w_neighbour), the jump of the flow is dv = (Z + Z_R)^-1 (w_R - u) and the jump of the traction is
dT = Z dv.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultwave.base.columns import Columns
from faultwave.base.errors import NotBuiltError, Problem
from faultwave.dg.method.basis import FACES, matrices, tet_size, triangle_size, two_stages
from faultwave.dg.method.formula import Formula, Outputs
from faultwave.dg.method.predictors import CellTerms, Decaying, Predictor, Taylor
from faultwave.domain.tets.mesh import BoundaryKind
from faultwave.kernels.expr import Components, Number, Numbers
from faultwave.kernels.language import Array, Kernel, View
from faultwave.physics.waves import Law
from faultwave.physics.waves.law import FILLED, LAYER, Boundary, dot, impedance_numbers, role


@dataclass(frozen=True)
class PenalisedFaces:
    """Faces at which jumps are penalised.

    Attributes
    ----------
    name : str
        Name of the penalty.
    faces : ndarray of bool (nc, 4)
        Penalised faces, marked on both sides.
    across : dict of str to ndarray (nc, 4)
        Material parameters of the neighbour across each face.
    """

    name: str
    faces: np.ndarray
    across: dict[str, np.ndarray]

    def of(self, cells: np.ndarray) -> PenalisedFaces:
        """Return the penalised faces of the listed cells."""
        return PenalisedFaces(self.name, self.faces[cells], {k: v[cells] for k, v in self.across.items()})


BY_CELL = (
    "inverse",
    "volume",
    "areas",
    "normals",
    "neighbours",
    "kinds",
    "fault",
    "wall",
    "driven",
    "opposite",
    "beyond",
    "reflection_coefficients",
)
"""Names of the arrays of ``Cells`` with one row per cell."""


@dataclass(frozen=True)
class Cells:
    """Geometry, topology and material of the cells, in the mesh's cell order (nc, ...)."""

    inverse: np.ndarray  # (nc, 3, 3) d xi / d x
    volume: np.ndarray
    areas: np.ndarray  # (nc, 4)
    normals: np.ndarray  # (nc, 4, 3) outward
    neighbours: np.ndarray  # (nc, 4)
    kinds: np.ndarray  # (nc, 4)
    fault: np.ndarray  # (nc, 4) faces with friction
    material: dict[str, np.ndarray]  # parameter -> (nc,)
    wall: np.ndarray | None = None  # (nc, 4) impedance of faces of kind 'impedance'
    driven: np.ndarray | None = None  # (nc, 4) faces whose arriving wave is prescribed
    opposite: np.ndarray | None = None  # (nc, 4) the neighbour's number of the face; required for prescribed faces
    beyond: np.ndarray | None = None  # (nc, 4, k) impedance of neighbours on other processes, NaN elsewhere
    penalised: PenalisedFaces | None = None
    reflection_coefficients: np.ndarray | None = (
        None  # (nc, 4, 2) reflection coefficients a and b from capabilities, NaN elsewhere
    )
    numbers: np.ndarray | None = None  # (nc,) cell numbers in the whole mesh, if they are not 0, 1, ...
    whole: dict[str, np.ndarray] | None = None
    """Material indexed by the numbers in ``neighbours``, if these objects are only some of the cells."""

    def of(self, cells: np.ndarray) -> Cells:
        """Return the listed cells (n,); the numbers of their neighbours do not change."""
        taken = {n: getattr(self, n) for n in BY_CELL}
        rows: dict[str, Any] = {n: None if values is None else values[cells] for n, values in taken.items()}
        return Cells(
            **rows,
            material={name: values[cells] for name, values in self.material.items()},
            penalised=None if self.penalised is None else self.penalised.of(cells),
            numbers=cells if self.numbers is None else self.numbers[cells],
            whole=self.everywhere,
        )

    @property
    def everywhere(self) -> dict[str, np.ndarray]:
        """Material indexed by the numbers in ``neighbours``."""
        return self.material if self.whole is None else self.whole

    @property
    def remote(self) -> np.ndarray:
        """Faces (nc, 4) whose neighbour belongs to another process."""
        return np.zeros(self.kinds.shape, bool) if self.beyond is None else ~np.isnan(self.beyond[..., 0])

    def neighbour_faces(self, cells: np.ndarray, faces: np.ndarray) -> np.ndarray:
        """Return the neighbours' numbers (n,) of the local ``faces`` of ``cells``. Raises ValueError if ``opposite`` is missing."""
        if self.opposite is None:
            raise ValueError("driven faces need the neighbours' face numbers")
        return np.asarray(self.opposite[cells, faces])

    @property
    def tangents(self) -> np.ndarray:
        """Unit tangents of every face (nc, 4, 2, 3), equal from both sides: along its first edge and perpendicular to it."""
        corners = np.concatenate(
            [np.zeros((len(self.inverse), 1, 3)), np.linalg.inv(self.inverse).transpose(0, 2, 1)], 1
        )
        a, b, c = (corners[:, [face[i] for face in FACES]] for i in range(3))
        first, second = b - a, c - a
        first /= np.linalg.norm(first, axis=2, keepdims=True)
        second -= (first * second).sum(2, keepdims=True) * first
        return np.stack([first, second / np.linalg.norm(second, axis=2, keepdims=True)], 2)


DIRECTIONS = np.array([[1.0, 0.0, 0.0], [-0.5, 1.0, 0.0], [0.0, -1.0, 1.0]])
"""Directions of differentiation in the reference cell as rows, chosen for the sparsest derivative matrices."""


TWO_STAGES = 4
"""Degree from which the traces on faces 0 and 1 are evaluated in two stages; below, the extra pass costs what they save."""


def onto_face(law: Law, frame: Numbers, x: Numbers) -> list[Any]:
    """Return the components of x that cross a face: all, or the components along its two tangents; frame = (normal[, tangents])."""
    return list(x) if law.face_channels == law.channels else [dot(frame[3:6], x), dot(frame[6:], x)]


def directed(inverse: np.ndarray) -> np.ndarray:
    """Return the gradients d xi'_b / dx (nc, 3, 3), as rows, of the coordinates along ``DIRECTIONS``."""
    return np.einsum("bd,ndx->nbx", np.linalg.inv(DIRECTIONS.T), inverse)


class Form:
    """Statements of one law and order, and the constants they need.

    Parameters
    ----------
    law : Law
        Wave law.
    order : int
        Order of convergence; the polynomial degree is ``order - 1``.
    unit : float
        Unit of time in the kernels [s]; derivatives in time count per unit.
    predictor : callable
        Constructor of the time expansion, with the form as its argument.

    Attributes
    ----------
    cell_columns : Columns
        Constants of a cell: ``inverse`` (rows of ``directed``), the ``constants`` of the law, its ``impedance``, and
        the ``rates`` of its reaction.
    face_columns : Columns
        Constants of a face: ``normal``, ``tangents`` if only tangential components cross a face, ``own`` impedance if
        it depends on the face, ``other`` (impedance of the neighbour), scaled ``admittance``, and ``mix`` (see
        ``Law.incoming``).
    b3, b2 : int
        Number of modes in a cell and on a face.
    m, faced, Q : int
        Number of channels of the law, of channels that cross a face, and of quantities.
    """

    self_contained = True  # True if ``outward`` and ``inward`` are implemented
    moduli: tuple[str, ...] = ("constants",)  # columns of a cell that determine wave speeds and are not used on faces
    narrow = False  # True if waves and stored traces are in single precision in memory
    narrow_faces = False  # True if constants of faces are in single precision in memory
    unpacked = 0  # number of statements that unpack the constants in ``cell`` and ``face``
    state_columns: Columns | None = None  # names of the form's quantities, if they differ from the law
    derivative_columns: Columns | None = None  # names of the columns that ``differentiate`` fills
    trace_columns: Columns | None = None  # names of the columns of a face's trace

    @classmethod
    def suits(cls, law: Law) -> bool:
        """Return True if the form is valid for this law and its variant."""
        return True

    @classmethod
    def predictor_of(cls, law: Law) -> Callable[..., Predictor]:
        """Return the default constructor of the time expansion."""
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
        with np.errstate(all="ignore"):  # only their number matters
            self.constants = len(law.constants(probe))
            self.impedances = impedance_numbers(law)
            self.reactions = len(law.rates(probe))
        self.full = self.reactions > 0
        self.frames = 3 if self.faced == self.m else 9
        self.cell_columns, self.face_columns = self._columns()
        self.predictor = predictor(self)

    @property
    def cell_size(self) -> int:
        """Number of constants of a cell in memory."""
        return self.cell_columns.size

    @property
    def face_shape(self) -> tuple[int, int]:
        """Rows and columns of the constants of a cell's faces in memory."""
        return 4, self.face_columns.size

    def _columns(self) -> tuple[Columns, Columns]:
        """Return the columns of the constants of a cell and of a face."""
        z, face = self.impedances, self.law.directional
        cell = Columns(inverse=9, constants=self.constants, impedance=0 if face else z, rates=self.reactions)
        sides = {"own": z if face else 0, "other": z, "admittance": z, "mix": self.law.mixing}
        return cell, Columns(normal=3, tangents=self.frames - 3, **sides)

    # Constants of cells and faces, and the transformation between the quantities of the law and of the form.

    def cell_constants(self, cells: Cells) -> np.ndarray:
        """Return the constants of the cells (nc, cell_size)."""
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
        """Return the normal and, where the law needs them, the tangents of every face (nc, 4, 3 or 9)."""
        if self.frames == 3:
            return cells.normals
        return np.concatenate([cells.normals, cells.tangents.reshape(*cells.normals.shape[:2], 6)], 2)

    def face_constants(self, cells: Cells) -> np.ndarray:
        """Return the constants of the faces (nc, *face_shape)."""
        own, other = self.both_impedances(cells)
        admittance = self.law.admittance(own, other, self.unit * cells.areas / (3.0 * cells.volume[:, None]))
        frame = self.frame_constants(cells)
        numbers = {"normal": frame[..., :3], "tangents": frame[..., 3:], "other": other, "admittance": admittance}
        numbers["own"] = own if self.law.directional else own[..., :0]
        return self.face_columns.join(numbers | {"mix": self.arriving(cells)})

    def both_impedances(self, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        """Return the impedances (nc, 4, n) of the cell and of its neighbour across each face; at boundaries and faults, its own twice."""
        law, across = self.law, (cells.neighbours >= 0) & ~cells.fault
        own = law.impedance_at({k: v[:, None] for k, v in cells.material.items()}, cells.normals)
        other = np.array(own)
        beyond = {k: v[cells.neighbours[across]] for k, v in cells.everywhere.items()}
        other[across] = law.impedance_at(beyond, cells.normals[across])
        return own, other if cells.beyond is None else np.where(cells.remote[..., None], cells.beyond, other)

    def arriving(self, cells: Cells) -> np.ndarray:
        """Return ``mix`` with the faces whose arriving wave is prescribed."""
        mix = self.mix(cells)
        if cells.driven is not None:
            mix[cells.driven] = self._mixed(cells, cells.driven, FILLED)
        return mix

    def _mixed(self, cells: Cells, faces: np.ndarray, boundary: Boundary | None) -> np.ndarray:
        """Return ``Law.mix`` at the marked faces (nc, 4)."""
        cell = np.nonzero(faces)[0]
        return self.law.mix(boundary, {k: v[cell] for k, v in cells.material.items()}, cells.normals[faces])

    def mix(self, cells: Cells) -> np.ndarray:
        """Return the arguments of ``Law.incoming`` on every face (nc, 4, mixing).

        Raises
        ------
        NotBuiltError
            If the law does not have the kind of a boundary face.
        """
        law = self.law
        mix = np.zeros((*cells.neighbours.shape, law.mixing))
        remote = cells.remote
        between = ((cells.neighbours >= 0) | remote) & ~cells.fault
        mix[between] = self._mixed(cells, between, None)
        mix[cells.fault] = self._mixed(cells, cells.fault, FILLED)
        outer = (cells.neighbours < 0) & ~remote & ~cells.fault  # a fault's other cell may be remote
        if cells.reflection_coefficients is not None:
            reported = outer & ~np.isnan(cells.reflection_coefficients[..., 0])
            for a, b in np.unique(cells.reflection_coefficients[reported], axis=0):
                faces = reported & (cells.reflection_coefficients == (a, b)).all(2)
                mix[faces] = self._mixed(cells, faces, Boundary(a, b))
            outer &= ~reported
        for kind in np.unique(cells.kinds[outer]):
            name = BoundaryKind(kind).name.lower().replace("_", "-")
            faces = outer & (cells.kinds == kind)
            if name == "impedance" and self.impedances == 1 and cells.wall is not None:
                z, wall = law.impedance(cells.material)[0][np.nonzero(faces)[0]], cells.wall[faces]
                mix[faces, 0] = (wall - z) / (wall + z)
                continue
            if name not in law.boundaries and cells.driven is not None and cells.driven[faces].all():
                continue  # only the prescribed wave arrives
            if name not in law.boundaries:
                where = f"boundary faces of kind '{name}'"
                raise NotBuiltError(Problem(where, f"not available for the {law.name} law", ", ".join(law.boundaries)))
            mix[faces] = self._mixed(cells, faces, law.boundaries[name])
        return mix

    def to_physical(self, cells: Cells, which: np.ndarray) -> np.ndarray | None:
        """Return the matrices (n, Q, Q) from the form's quantities to the law's in the cells ``which``; None if they are the same."""
        return None

    # Statements.

    def physical(self, q: Numbers, cell: Numbers, jacobian: Numbers) -> list[Number]:
        """Return the law's quantities from the form's, as ``to_physical``; ``jacobian``: nine numbers as returned by ``jacobians``."""
        return list(q)

    @property
    def stress_columns(self) -> slice:
        """Columns of the form's quantities from which stress is computed."""
        return role(self.law, "stress")

    def stress(self, own: Numbers, cell: Numbers) -> list[Number]:
        """Return the law's stress (six components) from the form's ``stress_columns``."""
        return list(own)

    def from_stress(self, stress: Numbers, cell: Numbers) -> list[Number]:
        """Return the form's ``stress_columns`` from the law's stress, the inverse of ``stress``."""
        return list(stress)

    def stress_scale(self, cells: Cells) -> np.ndarray:
        """Return the largest factor (nc,) by which ``stress`` increases the Frobenius norm of a tensor."""
        return np.ones(len(cells.volume))

    def outward(self, q: Numbers, cell: Numbers) -> list[Number]:
        """Return the law's quantities from the constants of the cell alone.

        Only forms whose cells may have penalties implement ``outward`` and ``inward``.
        """
        return list(q)

    def inward(self, q: Numbers, cell: Numbers) -> list[Number]:
        """Return the form's quantities, the inverse of ``outward``."""
        return list(q)

    def jacobians(self, cells: Cells) -> np.ndarray:
        """Return d x / d xi' (nc, 9), row by row, of the coordinates along ``DIRECTIONS``."""
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
        """Declare the constants of a cell in a kernel."""
        return k.batch("cell", 1, self.cell_size)

    def face(self, k: Kernel) -> Array:
        """Declare the constants of a cell's faces in a kernel."""
        return k.batch("face", *self.face_shape)

    def material(self, cell: Numbers) -> list[Number]:
        """Return the law's constants of a cell."""
        return self.cell_columns.row(cell).constants

    def impedance(self, cell: Numbers, face: Numbers) -> list[Number]:
        """Return the impedance of the cell at one of its faces."""
        return self.face_columns.row(face).own if self.law.directional else self.cell_columns.row(cell).impedance

    def reaction(self, q: Numbers, cell: Numbers) -> list[Number]:
        """Return the part of dq/dt that needs no gradient."""
        return self.law.reaction(q, self.cell_columns.row(cell).rates)

    def decay(self, cell: Numbers) -> Number:
        """Return the rate r of a law whose reaction is -r P q with a projection P."""
        return self.law.decay(self.cell_columns.row(cell).rates)

    def decaying(self, q: Numbers, cell: Numbers) -> list[Number]:
        """Return P q, the part of the quantities that decays."""
        return self.law.decaying(q, self.material(cell))

    @property
    def differentiated(self) -> int:
        """Number of columns that ``differentiate`` fills."""
        return 4 * self.m

    def differentiate(self, k: Kernel, source: View, rows: int, after: Array, cell: Array) -> None:
        """Compute the derivatives of ``source`` that ``rate`` needs: after (rows, differentiated)."""
        self.differentiate_present(k, source, rows, after, cell, [True] * self.Q)

    def differentiate_present(
        self, k: Kernel, source: View, rows: int, after: Array, cell: Array, present: Sequence[bool]
    ) -> None:
        """Differentiate a source of which only the ``present`` quantities are not zero, and fill the columns ``reached``."""
        m = self.m
        fluxes, potentials = self._channels(present)
        width = 3 * len(fluxes) + len(potentials)
        before = k.scratch("before", self.b3, 4 * m).view(0, source.rows, 0, width)

        def turned(q: Numbers, cell: Numbers) -> Outputs:
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
        """Return the channels of the flux and of the potential that are not zero if only some quantities are present."""
        rng = np.random.default_rng(0)
        q, n = list(rng.normal(size=self.Q) * np.array(present)), list(rng.normal(size=3))
        flux, potential = self.law.flux(q, n), self.law.potential(q)
        return [i for i, x in enumerate(flux) if x != 0.0], [i for i, x in enumerate(potential) if x != 0.0]

    def reached(self, present: Sequence[bool]) -> list[bool]:
        """Return which columns the derivatives of the ``present`` quantities fill."""
        fluxes, potentials = self._channels(present)
        return [i in fluxes for i in range(self.m)] + 3 * [i in potentials for i in range(self.m)]

    def rate(self, after: Numbers, cell: Numbers) -> list[Number]:
        """Return dq/dt from the derivatives that ``differentiate`` has computed."""
        m = self.m
        inverse = self.cell_columns.row(cell).inverse
        gradient = [
            [dot([inverse[3 * d + x] for d in range(3)], [after[m + d * m + i] for d in range(3)]) for i in range(m)]
            for x in range(3)
        ]
        return self.law.rate(after[:m], gradient, self.material(cell))

    def differentiate_first(self, k: Kernel, source: View, rows: int, after: Array, cell: Array) -> None:
        """Differentiate the state itself for its first derivative in time, like ``differentiate``."""
        self.differentiate(k, source, rows, after, cell)

    def rate_first(self, after: Numbers, cell: Numbers) -> list[Number]:
        """Return dq/dt from the derivatives that ``differentiate_first`` has computed."""
        return self.rate(after, cell)

    def first(self, k: Kernel, q: Array, cell: Array, change: Array, react: bool) -> None:
        """Compute ``change`` = dq/dt of the cell without its neighbours; ``react`` includes the reaction, which needs no gradient."""
        made = tet_size(self.order - 2)
        after = k.temp("after", made, self.differentiated)
        self.differentiate(k, q.view(), made, after, cell)

        def own(q: Numbers, cell: Numbers) -> list[Number]:
            return self.reaction(q, cell) if react and self.full else [0.0 * x for x in q]

        def whole(after: Numbers, q: Numbers, cell: Numbers) -> Outputs:
            return [[x + y for x, y in zip(self.rate(after, cell), own(q, cell), strict=True)]]

        rest = self.b3 - made
        k.pointwise(whole, [after, q.view(0, made), cell], [change.view(0, made)])
        k.pointwise(lambda q, cell: [own(q, cell)], [q.view(made, rest), cell], [change.view(made, rest)])

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
        self, k: Kernel, total: Array, cell: Array, face: Array, emit: Callable[[int, Array], None], kept: Array
    ) -> None:
        """Pass w of the time-integrated state ``total`` on each of the four faces to ``emit`` and write u to ``kept``."""
        trace, wave = k.temp("trace", self.b2, 2 * self.faced), k.temp("wave", self.b2, self.faced)
        for i in range(4):
            self.own_trace(k, total.view(), i, trace.view(), face)
            self._write_split(k, i, [trace, cell, face.view(i, 1)], [wave, kept.view(i * self.b2, self.b2)])
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
        self, k: Kernel, q: Array, cell: Array, face: Array, receive: Callable[[int, Array], None], kept: Array
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
            k.pointwise(flow_jump, [arrived, kept.view(i * self.b2, self.b2), row], [jump])
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
