"""Discontinuous Galerkin operator on one backend: its buffers, and access to the state of the cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from faultwave.backends import Backend
from faultwave.backends.base import Buffer, Store
from faultwave.dg.method.forms import Cells, Form
from faultwave.dg.operators import kernels
from faultwave.dg.operators.buffers import Buffers
from faultwave.dg.operators.layout import MeshLayout, sort_and_pad
from faultwave.kernels.expr import Scalars
from faultwave.kernels.language import Kernel


def transform(values: np.ndarray, matrices: np.ndarray | None) -> np.ndarray:
    """Return values (n, rows, Q) transformed by matrices (n, Q, Q), or unchanged if there are none."""
    if matrices is None:
        return values
    return np.matmul(values, matrices.transpose(0, 2, 1)).astype(values.dtype, copy=False)


class Reader:
    """Reader of cells.

    Parameters
    ----------
    q : buffer
        Degrees of freedom.
    history : store
        Coefficients of predictions.
    position : ndarray (n,)
        Positions of the cells in ``q``.
    slots : ndarray (n,)
        Slots of their predictions in ``history``.
    to_physical : ndarray (n, Q, Q) or None
        Matrices to the law's quantities; None if the form has them.
    shape : (int, int)
        Rows and columns of a prediction.
    """

    def __init__(
        self,
        q: Buffer,
        history: Store,
        position: np.ndarray,
        slots: np.ndarray,
        to_physical: np.ndarray | None,
        shape: tuple[int, int],
    ):
        self.q, self.history, self.position, self.slots = q, history, position, slots
        self.to_physical, self.shape = to_physical, shape

    def raw(self) -> np.ndarray:
        """Return the degrees of freedom (n, B3, Q) in the form's own quantities; ``to_physical`` converts them to the law's."""
        return np.asarray(self.q.get(self.position))

    def series(self) -> np.ndarray:
        """Return the stacked coefficients (n, rows, Q) of the last prediction of cells that store them."""
        return transform(self.history.get(self.slots).reshape(len(self.slots), *self.shape), self.to_physical)


class CellWork(Protocol):
    """Operation of a capability on every cell between the correction of a step and the next prediction, fused into the kernel of both."""

    def kernel(self, form: Form) -> Kernel:
        """Return the statements; arguments are the operator's (q, cell) and the names in ``buffers`` and ``scalars``."""

    def buffers(self, operator: Buffers) -> Mapping[str, Buffer]:
        """Return the arrays on the backend by their names in the kernel."""

    def scalars(self, step: float) -> Scalars:
        """Return the scalars of the kernel after a step of length ``step`` [s]."""


class Operator(Buffers):
    """Discontinuous Galerkin operator, whose degrees of freedom a ``Stepper`` advances cluster by cluster.

    Attributes
    ----------
    law : Law
        Wave law.
    order : int
        Order of convergence.
    predictor : Predictor
        Time expansion of the form.
    b3, b2 : int
        Number of modes in a cell and on a face.
    time_unit : float
        Unit of time in the kernels [s]. Derivatives D_k count per unit, so that neither they nor the waves leave the range of single
        precision where steps are tiny. All methods take seconds.
    cell_work : tuple of CellWork
        Operations between correction and prediction.
    own : dict of str to buffer
        Arrays of ``cell_work`` by name.
    steps : list of float
        Length of the last predicted step of each cluster [s].
    turns : list of int
        Number of each cluster's next step modulo ``layout.parts``, which selects the slots of its waves.
    sums : list of int
        Parity of the step of the slower neighbour to which each cluster's sums belong.
    """

    def __init__(
        self,
        form: Form,
        backend: Backend,
        layout: MeshLayout,
        cells: Cells,
        cell_work: Sequence[CellWork] = (),
        compensated: bool = False,
        flows: bool = False,
    ):
        """Allocate the buffers.

        Parameters
        ----------
        form, backend, layout, cells, flows
            See ``Buffers``.
        cell_work : sequence of CellWork
            Operations between correction and prediction.
        compensated : bool
            Store the rounding errors of sums of the state and add them in the next step. Requires a form with an ``incremental`` predictor.
        """
        super().__init__(form, backend, layout, cells, compensated, flows)
        self.law, self.order, self.time_unit = form.law, form.order, form.unit
        self.b3, self.b2, self.predictor = form.b3, form.b2, form.predictor
        self.cell_work = tuple(cell_work)
        self.own = {name: buffer for work in self.cell_work for name, buffer in work.buffers(self).items()}
        self.steps, self.turns, self.sums = (
            [0.0] * layout.cells.clusters,
            [0] * layout.cells.clusters,
            [0] * layout.cells.clusters,
        )

    @property
    def mixing(self) -> np.ndarray:
        """Arguments of ``Law.incoming`` on every face (nc, 4, mixing); computed on each access, as few cases use them."""
        return self.form.mix(self.cells)

    def frames(self) -> np.ndarray:
        """Return the normal and, where the law needs them, the tangents of every face (nc, 4, 3 or 9)."""
        return self.form.frame_constants(self.cells)

    def sampler(
        self, points: np.ndarray, cells: np.ndarray | None = None, columns: Sequence[int] | None = None
    ) -> Sampler:
        """Return a sampler of the state between steps at points (S, B3 basis values) of all cells, or of the listed ones."""
        return Sampler(self, points, self._all() if cells is None else cells, columns)

    def physical(self, values: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Convert values (n, rows, Q) of the listed cells to the quantities of the law."""
        return transform(values, self.form.to_physical(self.cells, cells))

    def working(self, values: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Convert values (n, rows, Q) of the listed cells to the quantities of the form."""
        matrices = self.form.to_physical(self.cells, cells)
        return values if matrices is None else np.matmul(values, np.linalg.inv(matrices).transpose(0, 2, 1))

    def dofs(self, cells: np.ndarray | None = None) -> np.ndarray:
        """Return the degrees of freedom in the quantities of the law (cells, B3, Q), in the mesh's cell order."""
        cells = self._all() if cells is None else cells
        return self.physical(self.q.get(self.layout.position[cells]), cells)

    def set_dofs(self, values: np.ndarray, cells: np.ndarray | None = None) -> None:
        """Set the degrees of freedom from values in the quantities of the law (cells, B3, Q)."""
        cells = self._all() if cells is None else cells
        self._put(self.working(values, cells), self.layout.position[cells])

    def _put(self, values: np.ndarray, position: np.ndarray) -> None:
        """Write values (n, B3, Q) in the quantities of the form to the cells at these positions."""
        self.q.put(values, position)
        if self.remainder is not None:
            self.remainder.put(values - values.astype(self.backend.dtype), position)

    def state(self) -> np.ndarray:
        """Return the degrees of freedom in the form's quantities (cells, B3, Q), which ``set_state`` restores bit for bit."""
        return self.q.get(self.layout.position)

    def set_state(self, values: np.ndarray) -> None:
        """Restore the degrees of freedom that ``state`` has returned."""
        self._put(values, self.layout.position)

    def add_dofs(self, values: np.ndarray, cells: np.ndarray) -> None:
        """Add values (n, B3, Q) to the listed cells, which may repeat."""
        self.q.add(self.working(values, cells), self.layout.position[cells])

    def reader(self, cells: np.ndarray) -> Reader:
        """Return a reader of cells that are read repeatedly."""
        position, form = self.layout.position[cells], self.form
        slots, matrices = self.layout.history.slots[position], form.to_physical(self.cells, cells)
        return Reader(self.q, self.history, position, slots, matrices, (sum(form.predictor.rows), form.Q))

    def series(self, cells: np.ndarray) -> np.ndarray:
        """Return the stacked coefficients (n, rows, Q) of the last prediction of cells that store them."""
        return self.reader(cells).series()

    def _all(self) -> np.ndarray:
        return np.arange(len(self.layout.position))

    def finite(self) -> bool:
        """Return True if every degree of freedom is finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.q.finite()

    def means(self) -> np.ndarray:
        """Return the cell averages (cells, Q) in the mesh's cell order; mode 0 is the constant sqrt(6)."""
        return self.restored(self.raw_means())

    def raw_means(self) -> np.ndarray:
        """Return mode 0 (positions, 1, Q) in the form's components: quick to read, and ``restored`` converts it to averages."""
        return self.q.get(None, slice(0, 1))

    def restored(self, raw: np.ndarray) -> np.ndarray:
        """Return ``means`` of the moment at which ``raw_means`` was called."""
        return self.physical(raw[self.layout.position], self._all())[:, 0] * 6.0**0.5

    def nbytes(self) -> int:
        """Return the memory of all buffers [bytes]."""
        return super().nbytes() + sum(b.nbytes for b in self.own.values())


class Sampler:
    """Evaluation of the law's quantities at reference points of cells, at a time between steps.

    ``sample(cluster, tau)`` evaluates them ``tau`` [s] after the time of the cluster's last correction; ``get`` then returns the values.
    If the cells are few, their degrees of freedom are copied: time and memory grow with the number of cells sampled, not with the mesh.

    Parameters
    ----------
    operator : Operator
        Operator that holds the state.
    points : ndarray (S, B3)
        Basis values at the points.
    cells : ndarray (n,)
        Indices of the cells to sample.
    columns : sequence of int, optional
        Quantities to evaluate; all by default.
    """

    def __init__(self, operator: Operator, points: np.ndarray, cells: np.ndarray, columns: Sequence[int] | None = None):
        self.operator, lay, b, form = operator, operator.layout, operator.backend, operator.form
        columns = range(len(operator.law.quantities)) if columns is None else columns
        self.few = 2 * len(cells) < len(lay.position)
        self.source, self.place = np.zeros(0, np.int64), lay.position
        self.own: list[Buffer] = []
        jacobian = {}
        if self.few:
            size = self._place(cells)
            self.q, cell = b.batch(size, form.b3, form.Q), b.batch(size, 1, form.cell_size)
            own = operator.cells.of(self.source)
            cell.put(form.cell_constants(own)[:, None])
            if not form.self_contained:
                jacobian = {"jacobian": b.batch(size, 1, 9)}
                jacobian["jacobian"].put(form.jacobians(own)[:, None])
            self.own = [self.q, cell, *jacobian.values()]
        else:
            size = len(lay.cell_at)
            parts = (lay.observed_ranges, lay.storing_ranges, lay.plain_ranges)
            self.ranges = [[kind[c] for kind in parts] for c in range(lay.clusters)]
            self.q, cell = operator.q, operator.cell
            if not form.self_contained:
                jacobian = {"jacobian": operator.per_cell(form.jacobians(operator.cells))}
            self.own = [*jacobian.values()]
        self.values = b.batch(size, len(points), len(columns))
        kernel = b.compile([kernels.sample(form, points, columns)])["sample"]
        self.launch = kernel({"q": self.q, "cell": cell, "values": self.values, **jacobian})

    def _place(self, cells: np.ndarray) -> int:
        """Assign rows to the listed cells, cluster after cluster, and return the number of rows."""
        lay, b = self.operator.layout, self.operator.backend
        ends = np.array([end for _, end in lay.plain_ranges])
        cluster = np.searchsorted(ends, lay.position[cells], side="right")
        lanes, some = max(b.lanes, b.fixed_lanes), cells[:1] if len(cells) else np.zeros(1, np.int64)
        placed = sort_and_pad(cells[:, None], cluster, lay.clusters, lanes, some)  # padding repeats a cell
        self.ranges = [[part] for part in placed.ranges]
        self.source = placed.rows[:, 0] if len(cells) else np.repeat(some, lanes)
        self.place = np.full(len(lay.position), -1)
        self.place[cells[placed.source[placed.source >= 0]]] = np.flatnonzero(placed.source >= 0)
        return len(self.source)

    def __call__(self, cluster: int, tau: float) -> None:
        """Evaluate the quantities in the sampled cells of a cluster, ``tau`` [s] after its last correction."""
        for begin, end in self.ranges[cluster]:
            if end > begin and self.few:
                self.q.put(
                    self.operator.q.get(self.operator.layout.position[self.source[begin:end]]), slice(begin, end)
                )
            if end > begin:
                own = self.operator.predictor
                self.launch(begin, end, advance=own.at(tau, tau), **own.scalars(tau))

    def get(self, cells: np.ndarray) -> np.ndarray:
        """Return the values (n, S, columns) of the listed cells."""
        return np.asarray(self.values.get(self.place[cells]))

    def nbytes(self) -> int:
        """Memory held in addition to the operator [bytes]."""
        return sum(b.nbytes for b in (*self.own, self.values))
