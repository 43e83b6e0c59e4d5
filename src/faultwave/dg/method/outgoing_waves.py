"""Waves that cells send to faces: sums for clusters with other time steps, and time expansions for faces with equations of their own.

The faster cell adds the waves of its steps to a sum, which the slower one reads. The slower cell writes the waves of those parts of
its step in which the faster one steps: its state is integrated over each part while the derivatives are in cache, and traced on
the faces that need it (docs/theory/time-stepping.md, "Local time stepping").

The wave w = T - Z v of a face is a sum of waves w_j of the predictor's coefficients times functions a_j of time. The
wave W of the whole step is available, as a cell sends it to any neighbour: W = sum_j I_j w_j with the integrals I_j of
a_j. Therefore the first w_j with an integral, j = p, which has the most rows, needs no trace of its own:

    w(t) = sum_j a_j(t) w_j = a_p/I_p W + sum_(j > p) (a_j - a_p I_j/I_p) w_j.

A cell stores W and w_j, j > p (docs/theory/time-stepping.md, "Waves within a step"). If the velocity at a face is
required, it is stored in the same way after all waves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from faultwave.dg.method.forms import Form
from faultwave.dg.method.formula import Outputs
from faultwave.dg.method.predictors import Predictor
from faultwave.kernels.expr import Numbers
from faultwave.kernels.language import Array, Kernel, View


def cluster_places(rates: Iterable[float]) -> int:
    """Return the number of slots that a slower cell needs for the parts of its step.

    It is the largest of ``rates``, the steps of each cluster in one of the next, rounded up to an even number because cells of one
    cluster exchange waves in alternating slots.
    """
    most = max([1, *(int(r) for r in rates)])
    return most + most % 2


def part_weights(
    predictor: Predictor, step: float, ends: Sequence[float], first: int, parts: int
) -> dict[str, list[float]]:
    """Return the kernel arguments for the waves of parts of a step.

    Parameters
    ----------
    predictor : Predictor
        Time expansion of the cells.
    step : float
        Length of the step [s].
    ends : sequence of float
        Ends of the faster cluster's steps, from the start of this step [s].
    first : int
        Number of the first of these steps; step n reads slot n modulo ``parts``. Unused slots get zeros.
    parts : int
        Number of slots.

    Returns
    -------
    dict
        ``shares`` of the whole step, and for each integral in ``ClusterWaveOutput.parts`` its weights ``part0``, ``part1``, ...
    """
    weights, whole = [[0.0] * len(predictor.rows) for _ in range(parts)], predictor.integral(0.0, step, step)
    for n, (begin, end) in enumerate(pairwise((0.0, *ends))):
        weights[(first + n) % parts] = predictor.integral(begin, end, step)
    shares = [w[0] / whole[0] if whole[0] else 0.0 for w in weights[:-1]]
    found = {"shares": shares}
    for p, (w, share) in enumerate(zip(weights, shares, strict=False)):
        found[f"part{p}"] = [0.0, *(a - share * b for a, b in zip(w[1:], whole[1:], strict=True))]
    return found


@dataclass(frozen=True)
class ClusterWaveOutput:
    """Additional use of the waves that a cell publishes, for neighbours of other clusters.

    Waves go to a store whose slot 0 is a dummy. The wave of a part of the step is a share of the known wave of the whole step plus the
    trace of a sum without the first coefficient of the predictor. That sum mostly has a lower degree, which halves the work of its trace.
    The last part is the whole minus all other parts, so that the parts add up to the whole to rounding.

    Attributes
    ----------
    to_slower : bool
        True if waves are added to sums for slower neighbours.
    parts : tuple of Array
        Integrals of the state over parts of the step, whose waves are left for faster neighbours.
    rows : int
        Number of rows of the traces of these integrals.
    """

    to_slower: bool
    parts: tuple[Array, ...] = ()
    rows: int = 0

    def emit(
        self, k: Kernel, name: str, store: Array, i: int, wave: Array, trace: Callable[[View, View], None]
    ) -> None:
        """Emit the statements for face ``i``.

        Parameters
        ----------
        k : Kernel
            Kernel that computes the wave.
        name : str
            Prefix of the names of indices.
        store : Array
            Store of the waves.
        i : int
            Local face.
        wave : Array
            Wave of the whole step.
        trace : callable
            Writes the wave of a state (first argument) to its second argument.
        """
        if self.to_slower:
            self._add(k, name, store, i, wave)
        if self.parts:
            self._leave(k, name, store, i, wave, trace)

    def _add(self, k: Kernel, name: str, store: Array, i: int, wave: Array) -> None:
        slots, keep = _index(k, f"{name}sum_slots", 4), k.arrays.get("keep") or k.scalar("keep")
        total, m = k.scratch(f"{name}summed", wave.rows, wave.cols), wave.cols

        def one() -> None:
            k.gather(total, store, slots, i)
            k.pointwise(lambda x, t, c: [[c[0] * t[j] + x[j] for j in range(m)]], [wave, total, keep], [total])
            k.scatter(total, store, slots, i)

        k.when(slots, i, one)

    def _leave(
        self, k: Kernel, name: str, store: Array, i: int, wave: Array, trace: Callable[[View, View], None]
    ) -> None:
        count, m = len(self.parts), wave.cols
        slots, columns = _index(k, f"{name}part_slots", 4 * (count + 1)), [4 * p + i for p in range(count + 1)]
        made = [k.scratch(f"{name}part_wave{p}", wave.rows, m) for p in range(count + 1)]
        shares = k.arrays.get("shares") or k.scalar("shares", count)
        more = k.scratch(f"{name}part_more", self.rows, m)

        def together(whole: Numbers, share: Numbers, *more: Numbers) -> Outputs:
            found = [share[0] * x for x in whole]
            return [[x + y for x, y in zip(found, *more, strict=True)] if more else found]

        def rest(whole: Numbers, *parts: Numbers) -> Outputs:
            left = list(whole)
            for part in parts:
                left = [a - b for a, b in zip(left, part, strict=True)]
            return [left]

        def all_parts() -> None:
            for p, (state, target) in enumerate(zip(self.parts, made, strict=False)):
                trace(state.view(), more.view())
                share, low, high = shares.view(p, 1), self.rows, wave.rows - self.rows
                k.pointwise(together, [wave.view(0, low), share, more], [target.view(0, low)])
                if high:
                    k.pointwise(together, [wave.view(low, high), share], [target.view(low, high)])
            k.pointwise(rest, [wave, *made[:-1]], [made[-1]])
            for target, column in zip(made, columns, strict=True):
                k.scatter(target, store, slots, column)

        k.when(slots, i, all_parts, columns[1:])


def _index(k: Kernel, name: str, columns: int) -> Array:
    """Return the index array of this name and declare it at first use."""
    return k.arrays.get(name) or k.index(name, columns)


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
