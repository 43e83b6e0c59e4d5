"""What cells leave on faces that are solved, by friction or by an equation of their own: how their wave goes with time within a step.

The wave w = T - Z v of a face is a sum of waves w_j of the predictor's coefficients times functions a_j of time. The wave W of the whole
step is there already: it is what a cell sends to any neighbour, W = sum_j I_j w_j with the integrals I_j of a_j. So the first w_j with an
integral, which has the most rows, needs no trace of its own:

    w(t) = sum_j a_j(t) w_j = a_p/I_p W + sum_(j > p) (a_j - a_p I_j/I_p) w_j.

A cell leaves W and w_j, j > p (docs/theory/time-stepping.md, "Waves within a step"). Where the velocity at a face is asked for,
it leaves that in the same way, behind all waves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from faultwave.dg.forms import Form
from faultwave.dg.predictors import Predictor
from faultwave.kernels.language import Array, Kernel, View


def rows_left(predictor: Predictor) -> tuple[int, ...]:
    """Rows of W and of each w_j, j > p."""
    return tuple(predictor.face_rows[predictor.first_integral :])


def weights_left(predictor: Predictor, values: Sequence[float], step: float) -> list[float]:
    """Weights of W and of w_j, j > p, in a sum of all kept coefficients weighted by ``values``; after a step of this length [s]. The
    weights of coefficients before p must be zero."""
    first, count = predictor.first_integral, len(predictor.rows)
    whole = predictor.integral(0.0, step, step)
    share = values[first] / whole[first]
    return [share, *(x - share * y for x, y in zip(values[first + 1 : count], whole[first + 1 :], strict=True))]


def store_rows(form: Form, flows: bool) -> int:
    """Rows of what a face leaves, each of as many numbers as cross it; ``flows``: the velocity, too."""
    return sum(rows_left(form.predictor)) * (2 if flows else 1)


class WavesInTime:
    """Statements of a kernel that predicts; ``series``: the predictor's kept coefficients. ``friction_slots`` tells where a face leaves
    its waves."""

    def __init__(self, k: Kernel, form: Form, series: Array, flows: bool):
        self.k, self.form, self.series, self.flows = k, form, series, flows
        rows = store_rows(form, flows)
        self.slots, self.store = k.index("friction_slots", 4), k.store("friction", rows, form.faced, "out")
        self.result = k.temp("waves_in_time", rows, form.faced)

    def leave(self, face: int, wave: Array, trace: Array, cell: Array, sides: Array) -> None:
        """Where the face has a slot; ``wave`` of the whole step, and the ``trace`` that it was made of."""

        def all_parts() -> None:
            k, form, predictor = self.k, self.form, self.form.predictor
            first, at = predictor.first_integral, wave.rows
            k.pointwise(lambda w: [list(w)], [wave], [self._part(0, wave.rows)])
            self._leave_flow(face, trace.view(), 0, cell, sides)
            for j in range(first + 1, len(predictor.rows)):
                rows = predictor.face_rows[j]
                source = self.series.view(sum(predictor.rows[:j]), predictor.rows[j])
                form.face_wave(k, source, face, self._part(at, rows), cell, sides)
                self._leave_flow(face, k.scratch("trace", trace.rows, trace.cols).view(0, rows), at, cell, sides)
                at += rows
            k.scatter(self.result, self.store, self.slots, face)

        self.k.when(self.slots, face, all_parts)

    def _part(self, row: int, rows: int) -> View:
        return self.result.view(row, rows)

    def _leave_flow(self, face: int, trace: View, row: int, cell: Array, sides: Array) -> None:
        """The velocity of a ``trace``, as far behind the waves as its wave is behind the first."""
        if not self.flows:
            return
        behind = sum(rows_left(self.form.predictor))

        def flow(t: Any, cell: Any, side: Any) -> Any:
            return [self.form.flow(t, cell, side, face)]

        self.k.pointwise(flow, [trace, cell, sides.view(face, 1)], [self._part(behind + row, trace.rows)])


__all__ = ["WavesInTime", "rows_left", "store_rows", "weights_left"]
