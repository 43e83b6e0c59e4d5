"""Constants of cells and faces that the kernels of a form read."""

from __future__ import annotations

import numpy as np

from faultwave.base.columns import Columns
from faultwave.base.errors import NotBuiltError, Problem
from faultwave.dg.method.basis import matrices, tet_size, triangle_size
from faultwave.dg.method.forms.cells import Cells
from faultwave.domain.tets.mesh import BoundaryKind
from faultwave.physics.waves import Law
from faultwave.physics.waves.law import FILLED, LAYER, Boundary, impedance_numbers, role

DIRECTIONS = np.array([[1.0, 0.0, 0.0], [-0.5, 1.0, 0.0], [0.0, -1.0, 1.0]])
"""Directions of differentiation in the reference cell as rows, chosen for the sparsest derivative matrices."""


def directed(inverse: np.ndarray) -> np.ndarray:
    """Return the gradients d xi'_b / dx (nc, 3, 3), as rows, of the coordinates along ``DIRECTIONS``."""
    return np.einsum("bd,ndx->nbx", np.linalg.inv(DIRECTIONS.T), inverse)


class Constants:
    """Sizes, matrices and constants of a wave law at one order.

    Parameters
    ----------
    law : Law
        Wave law.
    order : int
        Order of convergence; the polynomial degree is ``order - 1``.
    unit : float
        Unit of time in the kernels [s]; derivatives in time count per unit.
    narrow : bool
        True if waves and stored traces are in single precision in memory.

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

    moduli: tuple[str, ...] = ("constants",)  # columns of a cell that determine wave speeds and are not used on faces
    narrow_faces = False  # True if constants of faces are in single precision in memory

    def __init__(self, law: Law, order: int, unit: float, narrow: bool):
        self.law, self.order, self.unit, self.narrow = law, order, unit, narrow
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

    @property
    def stress_columns(self) -> slice:
        """Columns of the form's quantities from which stress is computed."""
        return role(self.law, "stress")

    def stress_scale(self, cells: Cells) -> np.ndarray:
        """Return the largest factor (nc,) by which ``stress`` increases the Frobenius norm of a tensor."""
        return np.ones(len(cells.volume))

    def jacobians(self, cells: Cells) -> np.ndarray:
        """Return d x / d xi' (nc, 9), row by row, of the coordinates along ``DIRECTIONS``."""
        return np.linalg.inv(directed(cells.inverse)).reshape(-1, 9)
