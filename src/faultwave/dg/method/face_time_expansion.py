"""Time expansion of the waves that cells send to faces with friction or an equation of their own.

The wave w = T - Z v of a face is a sum of waves w_j of the predictor's coefficients times functions a_j of time. The
wave W of the whole step is available, as a cell sends it to any neighbour: W = sum_j I_j w_j with the integrals I_j of
a_j. Therefore the first w_j with an integral, j = p, which has the most rows, needs no trace of its own:

    w(t) = sum_j a_j(t) w_j = a_p/I_p W + sum_(j > p) (a_j - a_p I_j/I_p) w_j.

A cell stores W and w_j, j > p (docs/theory/time-stepping.md, "Waves within a step"). If the velocity at a face is
required, it is stored in the same way after all waves.
"""

from __future__ import annotations

from collections.abc import Sequence

from faultwave.dg.formula import Outputs
from faultwave.dg.method.forms import Form
from faultwave.dg.method.predictors import Predictor
from faultwave.kernels.language import Array, Kernel, View
from faultwave.kernels.types import Numbers


def rows_left(predictor: Predictor) -> tuple[int, ...]:
    """Return the number of rows of W and of each w_j, j > p."""
    return tuple(predictor.face_rows[predictor.first_integral :])


def weights_left(predictor: Predictor, values: Sequence[float], step: float) -> list[float]:
    """Return the weights of W and of w_j, j > p, in a sum of all coefficients weighted by ``values``.

    Parameters
    ----------
    predictor : Predictor
        Time expansion of the form.
    values : sequence of float
        Weight of each coefficient; zero for the coefficients before p.
    step : float
        Length of the step [s].
    """
    first, count = predictor.first_integral, len(predictor.rows)
    whole = predictor.integral(0.0, step, step)
    share = values[first] / whole[first]
    return [share, *(x - share * y for x, y in zip(values[first + 1 : count], whole[first + 1 :], strict=True))]


def store_rows(form: Form, flows: bool) -> int:
    """Return the number of rows that a face stores, each with one column per channel; ``flows`` adds the velocity."""
    return sum(rows_left(form.predictor)) * (2 if flows else 1)


class WavesInTime:
    """Statements of a predicting kernel that store the time expansion of the waves on faces.

    Parameters
    ----------
    k : Kernel
        Kernel that predicts.
    form : Form
        Form of the wave law.
    series : Array
        Coefficients of the predictor.
    flows : bool
        Store the velocity too.
    """

    def __init__(self, k: Kernel, form: Form, series: Array, flows: bool):
        self.k, self.form, self.series, self.flows = k, form, series, flows
        rows = store_rows(form, flows)
        self.slots, self.store = k.index("friction_slots", 4), k.store("friction", rows, form.faced, "out")
        self.result = k.temp("waves_in_time", rows, form.faced)

    def leave(self, face: int, wave: Array, trace: Array, cell: Array, sides: Array) -> None:
        """Store the expansion on a face if ``friction_slots`` assigns it a slot.

        Parameters
        ----------
        face : int
            Local face.
        wave : Array
            Wave of the whole step.
        trace : Array
            Trace from which ``wave`` was computed.
        cell, sides : Array
            Constants of the cell and of its faces.
        """

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
        """Store the velocity of a ``trace`` at the same offset behind the waves as its wave has among them."""
        if not self.flows:
            return
        behind = sum(rows_left(self.form.predictor))

        def flow(t: Numbers, cell: Numbers, side: Numbers) -> Outputs:
            return [self.form.flow(t, cell, side, face)]

        self.k.pointwise(flow, [trace, cell, sides.view(face, 1)], [self._part(behind + row, trace.rows)])


__all__ = ["WavesInTime", "rows_left", "store_rows", "weights_left"]
