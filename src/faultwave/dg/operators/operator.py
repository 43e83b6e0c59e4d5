"""Discontinuous Galerkin operator on one backend: buffers, compiled kernels, and the prediction, correction and reading of cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from faultwave.backends import Backend
from faultwave.backends.base import Bound, Buffer, Store
from faultwave.base.processes.pieces import in_pieces
from faultwave.dg.method.forms import Cells, Form
from faultwave.dg.method.outgoing_waves import part_weights, store_rows
from faultwave.dg.operators import kernels
from faultwave.dg.operators.layout import Layout, part_slots, sort_and_pad
from faultwave.dg.operators.penalty_buffers import PenaltyBuffers
from faultwave.dg.operators.rounding import spread
from faultwave.kernels.expr import Scalars, Table
from faultwave.kernels.language import Kernel, fuse


@dataclass
class DeferredCells:
    """Plain cells that a started step has not processed yet, from index ``at`` to ``end``, and the ``launch`` for a range of them."""

    at: int
    end: int
    launch: Callable[[int, int], None]


def turned(values: np.ndarray, turn: np.ndarray | None) -> np.ndarray:
    """Return values (n, rows, Q) transformed by matrices (n, Q, Q), or unchanged if there are none."""
    return values if turn is None else np.matmul(values, turn.transpose(0, 2, 1)).astype(values.dtype, copy=False)


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
    turn : ndarray (n, Q, Q) or None
        Matrices to the law's quantities; None if the form has them.
    kept : (int, int)
        Rows and columns of a prediction.
    """

    def __init__(
        self,
        q: Buffer,
        history: Store,
        position: np.ndarray,
        slots: np.ndarray,
        turn: np.ndarray | None,
        kept: tuple[int, int],
    ):
        self.q, self.history, self.position, self.slots, self.turn, self.kept = q, history, position, slots, turn, kept

    def raw(self) -> np.ndarray:
        """Return the degrees of freedom (n, B3, Q) in the form's own quantities; ``turned`` by ``turn`` they are the law's."""
        return np.asarray(self.q.get(self.position))

    def series(self) -> np.ndarray:
        """Return the stacked coefficients (n, rows, Q) of the last prediction of cells that store them."""
        return turned(self.history.get(self.slots).reshape(len(self.slots), *self.kept), self.turn)


FEW = 4096
"""Largest number of plain cells of a cluster that do not get a launch of their own.

A large device works on more cells than this at once, so that a separate launch would not finish any sooner.
"""


def _nothing(cluster: int) -> None:
    return None


class CellWork(Protocol):
    """Operation of a capability on every cell between the correction of a step and the next prediction, fused into the kernel of both."""

    def kernel(self, form: Form) -> Kernel:
        """Return the statements; arguments are the operator's (q, cell) and the names in ``buffers`` and ``scalars``."""

    def buffers(self, operator: Operator) -> Mapping[str, Buffer]:
        """Return the arrays on the backend by their names in the kernel."""

    def scalars(self, step: float) -> Scalars:
        """Return the scalars of the kernel after a step of length ``step`` [s]."""


class Operator:
    """Discontinuous Galerkin operator that advances the degrees of freedom cluster by cluster.

    Attributes
    ----------
    q : batch buffer, rows (B3, Q)
        Modal degrees of freedom in the components of ``form``; ``dofs`` returns them in the quantities of the law.
    form : Form
        Equations of the wave law in one cell.
    layout : Layout
        Order of the cells in memory and the slots of their waves.
    cells : Cells
        Geometry, neighbours and material of the cells.
    predictor : Predictor
        Time expansion of the form.
    time_unit : float
        Unit of time in the kernels [s]. Derivatives D_k count per unit, so that neither they nor the waves leave the range of single
        precision where steps are tiny. All methods take seconds.
    steps : list of float
        Length of the last predicted step of each cluster [s].
    """

    def __init__(
        self,
        form: Form,
        backend: Backend,
        layout: Layout,
        cells: Cells,
        alone: bool = True,
        between: Sequence[CellWork] = (),
        compensated: bool = False,
        flows: bool = False,
    ):
        """Allocate the buffers and compile the kernels.

        Parameters
        ----------
        form, backend, layout, cells
            See the attributes of the class.
        alone : bool
            True if no other process has a part of the mesh, so that all cells may step at once.
        between : sequence of CellWork
            Operations between correction and prediction.
        compensated : bool
            Store the rounding errors of sums of the state and add them in the next step. Requires a form with an ``incremental`` predictor.
        flows : bool
            Store the velocity on both sides of frictional faces.
        """
        self.between, self.compensated, self.flows = tuple(between), compensated, flows
        self.form, self.backend, self.layout, self.cells = form, backend, layout, cells
        self.law, self.order, self.time_unit = form.law, form.order, form.unit
        self.drive: Callable[[float], None] | None = None  # fills driven faces at a fraction of the step
        self.b3, self.b2, self.predictor = self.form.b3, self.form.b2, self.form.predictor
        self.steps = [0.0] * layout.clusters  # of each cluster's last prediction [s]
        self.launches: dict[str, list[Callable[..., None]]] = {}  # per kernel, indexed by ``_which``
        # For each cluster: the number of its next step modulo ``layout.parts``, which selects the slots of its waves; and the parity of the
        # step of its slower neighbour to which its sums belong.
        self.turns, self.sums = [0] * layout.clusters, [0] * layout.clusters
        self.remaining: list[DeferredCells | None] = [None] * layout.clusters  # plain cells of started steps
        self.alone = alone
        # In small clusters on a device all cells run the storing kernel: one launch instead of several.
        few = [end - begin <= FEW and alone and backend.capabilities.asynchronous for begin, end in layout.plain_ranges]
        self.joined = [f and end > begin for f, (begin, end) in zip(few, layout.storing_ranges, strict=True)]
        self.own: dict[str, Buffer] = {}  # arrays of the operations between correction and prediction
        # Called when all but plain cells are done, which includes those at the border to other processes.
        self.border_corrected: Callable[[int], None] = _nothing
        self.border_predicted: Callable[[int], None] = _nothing
        self._allocate()
        self._bind()

    def _allocate(self) -> None:
        b, lay, size, form = self.backend, self.layout, len(self.layout.cell_at), self.form
        self.q = b.batch(size, form.b3, form.Q)
        self.remainder: Any = b.batch(size, form.b3, form.Q) if self.compensated else None  # errors of sums in q
        self.kept = b.batch(size, 4 * form.b2, form.faced, narrow=form.narrow)
        self.waves = b.store(lay.wave_slots, form.b2 * form.faced, narrow=form.narrow)
        self.history = b.store(lay.histories, sum(self.predictor.rows) * form.Q)
        self.friction = b.store(lay.friction_slots, store_rows(form, self.flows) * form.faced)
        self.cell = b.batch(size, 1, form.cell_size)
        self.face = b.batch(size, *form.face_shape, narrow=form.narrow_faces)
        ranges = [*lay.observed_ranges, *lay.storing_ranges, *lay.plain_ranges]
        b.first_touch([self.q, self.kept, self.waves, self.cell, self.face], ranges)
        self._fill_constants()
        self.incoming = [b.index(slots) for slots in lay.incoming]
        same = lay.incoming is lay.outgoing
        self.outgoing = self.incoming if same else [b.index(slots) for slots in lay.outgoing]
        self.history_slot = b.index(lay.history[:, None])
        self.special = any(end > begin for begin, end in (*lay.observed_ranges, *lay.storing_ranges))
        self.friction_slots = b.index(lay.friction) if self.special else None
        self.to_faster, self.to_slower = bool((lay.for_faster > 0).any()), bool((lay.sums > 0).any())
        self.part_slots = b.index(part_slots(lay.for_faster, lay.parts)) if self.to_faster else None
        self.sum_slots = [b.index(slots) for slots in lay.sums] if self.to_slower else [None]
        self.penalty = PenaltyBuffers.make(form, b, lay, self.cells)

    def take_memory(self) -> None:
        """Start to allocate the pages of buffers that are first written in a step, concurrently with the remaining setup."""
        self.backend.take_memory([self.q, self.kept, self.waves, self.history, self.friction])

    def _constants(self, cells: Cells) -> np.ndarray:
        """Return the constants of the cells (nc, columns).

        In single precision the moduli are dithered (``rounding.spread``): waves depend on their means over many cells.
        """
        values = self.form.cell_constants(cells)
        if self.backend.dtype is np.float64:
            return values
        places = self.form.cell_columns.places
        columns = [i for name in self.form.moduli for i in range(places[name].start, places[name].stop)]
        assert cells.numbers is not None  # set by ``Cells.of``
        values[:, columns] = spread(values[:, columns], cells.numbers)
        return values

    @property
    def mixing(self) -> np.ndarray:
        """Arguments of ``Law.incoming`` on every face (nc, 4, mixing); computed on each access, as few cases use them."""
        return self.form.mix(self.cells)

    def _fill_constants(self) -> None:
        """Fill the constants of cells and faces.

        On the host they are computed in pieces, so that no second copy of all of them is held.
        """
        source = np.maximum(self.layout.cell_at, 0)  # padding repeats a real cell: its numbers stay finite

        def fill(piece: slice | None) -> None:
            cells = self.cells.of(source if piece is None else source[piece])
            self.cell.put(self._constants(cells)[:, None], piece)
            self.face.put(self.form.face_constants(cells), piece)

        if self.backend.capabilities.asynchronous:
            fill(None)
        else:
            in_pieces(fill, len(source))

    def fill(self, buffer: Buffer, values: np.ndarray) -> None:
        """Copy values (nc, rows, columns) of the mesh's cells into a buffer; padding repeats a real cell."""
        buffer.put(values[np.maximum(self.layout.cell_at, 0)])

    def per_cell(self, values: np.ndarray) -> Buffer:
        """Return a batch buffer with constants of the cells (nc, columns)."""
        made = self.backend.batch(len(self.layout.cell_at), 1, values.shape[1])
        self.fill(made, values[:, None])
        return made

    def _bind(self) -> None:
        form, lay = self.form, self.layout
        parts, penalty = lay.parts if self.to_faster else 0, self.penalty.penalised if self.penalty else None
        friction = bool((lay.friction > 0).any())
        keep = (
            kernels.StoringVariant(friction, penalty, True, parts, self.flows)
            if friction or penalty or (lay.history > 0).any()
            else None
        )
        split = kernels.StoringVariant(derivatives=False, parts=parts) if parts else None
        # Most cells at a fault need no integrals over parts of steps, which are a tenth of their work.
        ends = tuple(end for _, end in lay.storing_ranges)
        lean = replace(keep, parts=0) if keep and parts and lay.whole_begins != ends else None
        # Suffixes of the kernels of cells without stored derivatives, of cells with all outputs, and of cells without parts of steps.
        most = keep or split
        self.suffixes = tuple(x.name if x else "" for x in (split, most, lean or most))
        between = [work.kernel(form) for work in self.between]
        more, later = self.compensated, self.to_slower
        variants = [None, *(retained for retained in (split, lean, keep) if retained)]
        wanted = [kernels.predict(form, which, more, later) for which in variants]
        wanted += [kernels.correct_and_predict(form, which, between, more, later) for which in variants]
        wanted += [kernels.correct(form, None, more), *([kernels.correct(form, keep, more)] if self.penalty else [])]
        wanted += [fuse("between", *between)] if between else []
        compiled = self.backend.compile(wanted)
        common: dict[str, Any] = {
            "q": self.q, "cell": self.cell, "face": self.face, "waves": self.waves, "kept": self.kept, "history": self.history,
            "slot": self.history_slot, "friction": self.friction, "friction_slots": self.friction_slots,
            "part_slots": self.part_slots,
        }  # fmt: skip
        for work in self.between:
            self.own.update(work.buffers(self))
        common |= self.own
        if self.remainder is not None:
            common["remainder"] = self.remainder
        for turn in range(lay.parts):
            incoming = self.incoming[turn % len(self.incoming)]
            for parity, sums in enumerate(self.sum_slots):
                slots = {"incoming": incoming, "outgoing": self.outgoing[turn % 2], "sum_slots": sums}
                own = common | slots | (self.penalty.bound(turn, parity) if self.penalty else {})
                for name in compiled:
                    self.launches.setdefault(name, []).append(compiled[name](own))

    def _which(self, cluster: int) -> int:
        """Return the index of the launch of a cluster's current step in the list of each kernel."""
        return self.turns[cluster] * len(self.sum_slots) + (self.sums[cluster] if self.to_slower else 0)

    def frames(self) -> np.ndarray:
        """Return the normal and, where the law needs them, the tangents of every face (nc, 4, 3 or 9)."""
        return self.form.frame_constants(self.cells)

    def predict(self, cluster: int, step: float, restart: bool, ends: Sequence[float] = ()) -> None:
        """Predict a step of a cluster.

        Parameters
        ----------
        cluster : int
            Index of the cluster, the fastest first.
        step : float
            Length of the step [s].
        restart : bool
            True if this step begins together with a step of the next slower cluster, whose sums of waves begin anew.
        ends : sequence of float
            Ends of the steps of the next faster cluster within this step, after its start [s].
        """
        self.begin(cluster, step, restart, ends)
        self.finish(cluster)

    def begin(self, cluster: int, step: float, restart: bool, ends: Sequence[float] = ()) -> None:
        """Predict the special cells of a cluster: all that faces of other clusters, other processes and observers read.

        ``finish`` predicts the remaining cells. Parameters as for ``predict``.
        """
        self._begin("predict", cluster, step, restart, ends)

    def _begin(self, name: str, cluster: int, step: float, restart: bool, ends: Sequence[float]) -> None:
        before, self.steps[cluster] = self.steps[cluster], step
        self.sums[cluster] ^= int(restart)
        lay, launches, which, suffixes = self.layout, self.launches, self._which(cluster), self.suffixes
        weights = self._weights(cluster, restart, ends)
        observed = "predict" + suffixes[1], lay.observed_ranges[cluster], weights
        if name != "predict":
            weights = weights | self._own_scalars(before) | self.predictor.ended(before)
        (begin, end), plain = lay.storing_ranges[cluster], lay.plain_ranges[cluster]
        bounds = [lay.split_ends[cluster], lay.whole_begins[cluster], end]
        if self.joined[cluster]:
            bounds, plain = [begin, plain[1], plain[1]], (plain[1], plain[1])
        kinds = [i for i in range(3) if suffixes[i] not in suffixes[i + 1 :]]  # equal kernels share a launch
        listed: list[tuple[str, tuple[int, int], Mapping[str, Any]]] = [observed]
        for i in kinds:
            listed.append((name + suffixes[i], (begin, bounds[i]), weights))
            begin = bounds[i]
        for n, (first, last), w in listed:
            if last > first:
                launches[n][which](first, last, **w)
        if name != "predict":
            self.border_corrected(cluster)
        self.turns[cluster] = (self.turns[cluster] + 1) % self.layout.parts
        self.border_predicted(cluster)
        launch = partial(launches[name][which], **weights)
        self.remaining[cluster] = DeferredCells(*plain, launch) if plain[1] > plain[0] else None

    def correct(self, cluster: int, step: float) -> None:
        """Add the face terms to all cells of a cluster, after friction has been solved."""
        lay, which, ended = self.layout, self._which(cluster), self.predictor.ended(self.steps[cluster])
        if self.alone and not self.penalty:
            self._run("correct", lay.cells_range(cluster), which, **ended)
            return
        special = lay.observed_ranges[cluster][0], lay.storing_ranges[cluster][1]
        self._run(self._publishing_kernel, special, which, **ended)
        self.border_corrected(cluster)
        self._run("correct", lay.plain_ranges[cluster], which, **ended)

    @property
    def _publishing_kernel(self) -> str:
        """Name of the kernel that corrects cells which publish more than waves."""
        return "correct_penalised" if self.penalty else "correct"

    def correct_observed(self, cluster: int, step: float) -> None:
        """Correct the cells that are observed before the next step; ``correct_and_predict`` corrects the others."""
        ended = self.predictor.ended(self.steps[cluster])
        self._run(self._publishing_kernel, self.layout.observed_ranges[cluster], self._which(cluster), **ended)

    def change_corrected(self, cluster: int, observed: bool = False) -> None:
        """Execute the operations between correction and prediction in all corrected cells of a cluster, or in the observed ones."""
        if self.between:
            lay, scalars = self.layout, self._own_scalars(self.steps[cluster])
            part = lay.observed_ranges[cluster] if observed else lay.cells_range(cluster)
            self._run("between", part, **scalars)

    def _own_scalars(self, step: float) -> dict[str, Any]:
        return {name: value for work in self.between for name, value in work.scalars(step).items()}

    def correct_and_predict(self, cluster: int, step: float, restart: bool, ends: Sequence[float] = ()) -> None:
        """Correct the other cells after ``correct_observed`` and predict all, in one pass where possible. Parameters as for ``predict``."""
        with self.backend.independent() if self.alone else nullcontext():
            self.begin_correct_and_predict(cluster, step, restart, ends)
            self.finish(cluster)

    def begin_correct_and_predict(self, cluster: int, step: float, restart: bool, ends: Sequence[float] = ()) -> None:
        """Correct and predict the special cells; ``finish`` does the remaining ones."""
        self._begin("correct_and_predict", cluster, step, restart, ends)

    def _weights(self, cluster: int, restart: bool, ends: Sequence[float]) -> dict[str, Any]:
        """Return the arguments of the kernels that predict the next step."""
        own, step = self.predictor, self.steps[cluster]
        found = {"advance": own.at(step, step), "integral": own.integral(0.0, step, step), **own.scalars(step)}
        return found | {"keep": 0.0 if restart else 1.0} | self._of_parts(cluster, step, ends)

    def _of_parts(self, cluster: int, step: float, ends: Sequence[float]) -> dict[str, list[float]]:
        """Return the weights of the integrals over the parts of a step, in the slots that the faster cluster reads in its next steps."""
        if not self.to_faster:
            return {}
        if not cluster:
            ends = ()
        elif not ends:
            raise ValueError("steps of the next faster cluster are not told")
        # If its sums do not belong to the step that ends now, the faster cluster has already predicted the first of these steps.
        ahead = cluster and self.sums[cluster - 1] != self.turns[cluster] % 2
        first = self.turns[cluster - 1] + (0 if ahead else 1)
        return part_weights(self.predictor, step, ends, first, self.layout.parts)

    def finish(self, cluster: int, cells: int | None = None) -> bool:
        """Execute the rest of a step, or about ``cells`` cells of it; return True if cells remain."""
        rest = self.remaining[cluster]
        if rest is None:
            return False
        lanes = max(self.backend.lanes, self.backend.fixed_lanes)
        to = rest.end if cells is None else min(rest.end, rest.at + -(-cells // lanes) * lanes)
        rest.launch(rest.at, to)
        rest.at = to
        if to < rest.end:
            return True
        self.remaining[cluster] = None
        return False

    def _run(self, name: str, part: tuple[int, int], which: int = 0, **scalars: Table) -> None:
        if part[1] > part[0]:
            self.launches[name][which](*part, **scalars)

    def sampler(
        self, points: np.ndarray, cells: np.ndarray | None = None, columns: Sequence[int] | None = None
    ) -> Sampler:
        """Return a sampler of the state between steps at points (S, B3 basis values) of all cells, or of the listed ones."""
        return Sampler(self, points, self._all() if cells is None else cells, columns)

    def physical(self, values: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Convert values (n, rows, Q) of the listed cells to the quantities of the law."""
        return turned(values, self.form.to_physical(self.cells, cells))

    def working(self, values: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Convert values (n, rows, Q) of the listed cells to the quantities of the form."""
        turn = self.form.to_physical(self.cells, cells)
        return values if turn is None else np.matmul(values, np.linalg.inv(turn).transpose(0, 2, 1))

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
        slots, turn = self.layout.history[position], form.to_physical(self.cells, cells)
        return Reader(self.q, self.history, position, slots, turn, (sum(form.predictor.rows), form.Q))

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
        buffers: Iterable[Bound] = (
            self.q, self.kept, self.waves, self.history, self.friction, self.cell, self.face, *self.incoming,
            *([] if self.outgoing is self.incoming else self.outgoing), *self.own.values(),
            *([] if self.remainder is None else [self.remainder]),
            *(x for x in (self.part_slots, *self.sum_slots) if x is not None),
        )  # fmt: skip
        return sum(b.nbytes for b in buffers) + (self.penalty.nbytes() if self.penalty else 0)


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
