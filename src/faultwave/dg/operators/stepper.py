"""ADER steps of an operator's clusters: prediction, correction, and cells that a step defers while messages travel."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Protocol

from faultwave.backends import Backend
from faultwave.dg.method.forms import Cells, Form
from faultwave.dg.operators.launch_table import DeferredCells, LaunchTable
from faultwave.dg.operators.layout import MeshLayout
from faultwave.dg.operators.operator import CellWork, Operator


class Stepper(Protocol):
    """Steps of clusters by an integrator; the methods are those of ``AderStepper``."""

    def predict(self, cluster: int, step: float, restart: bool, ends: Sequence[float] = ()) -> None: ...

    def begin(self, cluster: int, step: float, restart: bool, ends: Sequence[float] = ()) -> None: ...

    def correct(self, cluster: int, step: float) -> None: ...

    def correct_observed(self, cluster: int, step: float) -> None: ...

    def change_corrected(self, cluster: int, observed: bool = False) -> None: ...

    def correct_and_predict(self, cluster: int, step: float, restart: bool, ends: Sequence[float] = ()) -> None: ...

    def begin_correct_and_predict(
        self, cluster: int, step: float, restart: bool, ends: Sequence[float] = ()
    ) -> None: ...

    def finish(self, cluster: int, cells: int | None = None) -> bool: ...


class Border(Protocol):
    """Exchange with other processes, which acts when all but the plain cells of a step are done (``comm.exchange.ClusterExchange``)."""

    def border_corrected(self, cluster: int) -> None: ...

    def border_predicted(self, cluster: int) -> None: ...


class AderOperator(Operator):
    """Operator with the kernels of ADER steps in ``table``."""

    def __init__(
        self,
        form: Form,
        backend: Backend,
        layout: MeshLayout,
        cells: Cells,
        alone: bool = True,
        cell_work: Sequence[CellWork] = (),
        compensated: bool = False,
        flows: bool = False,
    ):
        """Allocate the buffers and compile the kernels; ``alone`` as in ``AderStepper``, the others as in ``Operator``."""
        super().__init__(form, backend, layout, cells, cell_work, compensated, flows)
        self.alone = alone
        self.table = LaunchTable(self, alone)


class AderStepper:
    """ADER steps of an operator.

    Parameters
    ----------
    operator : AderOperator
        State and kernels. ``operator.alone`` is True if no other process has a part of the mesh, so that all cells may step at once.
    border : Border, optional
        Exchange with other processes.
    """

    def __init__(self, operator: AderOperator, border: Border | None = None):
        self.operator, self.table, self.border = operator, operator.table, border
        self.deferred: list[DeferredCells | None] = [None] * operator.layout.clusters  # plain cells of started steps
        # Kernel that corrects cells which publish more than waves.
        self.publishing_kernel = "correct_penalised" if operator.penalty else "correct"

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
        op = self.operator
        before, op.steps[cluster] = op.steps[cluster], step
        op.sums[cluster] ^= int(restart)
        deferred = self.table.begin(name, cluster, before, restart, ends)
        if name != "predict" and self.border:
            self.border.border_corrected(cluster)
        op.turns[cluster] = (op.turns[cluster] + 1) % op.layout.parts
        if self.border:
            self.border.border_predicted(cluster)
        self.deferred[cluster] = deferred

    def correct(self, cluster: int, step: float) -> None:
        """Add the face terms to all cells of a cluster, after friction has been solved."""
        op, run = self.operator, self.table.run
        lay, index, ended = op.layout, self.table.index(cluster), op.predictor.ended(op.steps[cluster])
        if op.alone and not op.penalty:
            run("correct", lay.cells_range(cluster), index, **ended)
            return
        special = lay.observed_ranges[cluster][0], lay.storing_ranges[cluster][1]
        run(self.publishing_kernel, special, index, **ended)
        if self.border:
            self.border.border_corrected(cluster)
        run("correct", lay.plain_ranges[cluster], index, **ended)

    def correct_observed(self, cluster: int, step: float) -> None:
        """Correct the cells that are observed before the next step; ``correct_and_predict`` corrects the others."""
        op = self.operator
        observed, ended = op.layout.observed_ranges[cluster], op.predictor.ended(op.steps[cluster])
        self.table.run(self.publishing_kernel, observed, self.table.index(cluster), **ended)

    def change_corrected(self, cluster: int, observed: bool = False) -> None:
        """Execute the operations between correction and prediction in all corrected cells of a cluster, or in the observed ones."""
        op, lay = self.operator, self.operator.layout
        if op.cell_work:
            cells = lay.observed_ranges[cluster] if observed else lay.cells_range(cluster)
            self.table.run("between", cells, 0, **self.table.work_scalars(op.steps[cluster]))

    def correct_and_predict(self, cluster: int, step: float, restart: bool, ends: Sequence[float] = ()) -> None:
        """Correct the other cells after ``correct_observed`` and predict all, in one pass where possible. Parameters as for ``predict``."""
        with self.operator.backend.independent() if self.operator.alone else nullcontext():
            self.begin_correct_and_predict(cluster, step, restart, ends)
            self.finish(cluster)

    def begin_correct_and_predict(self, cluster: int, step: float, restart: bool, ends: Sequence[float] = ()) -> None:
        """Correct and predict the special cells; ``finish`` does the remaining ones."""
        self._begin("correct_and_predict", cluster, step, restart, ends)

    def finish(self, cluster: int, cells: int | None = None) -> bool:
        """Execute the rest of a step, or about ``cells`` cells of it; return True if cells remain."""
        rest = self.deferred[cluster]
        if rest is None:
            return False
        backend = self.operator.backend
        lanes = max(backend.lanes, backend.fixed_lanes)
        to = rest.end if cells is None else min(rest.end, rest.at + -(-cells // lanes) * lanes)
        rest.launch(rest.at, to)
        rest.at = to
        if to < rest.end:
            return True
        self.deferred[cluster] = None
        return False
