"""Penalties on jumps between cells, and their statements in the cells' kernels.

Godunov's flux damps jumps of traction and velocity, and no others. A penalty adds on chosen faces a change of the state
in proportion to the jump of the values that both cells publish (docs/theory/formulation.md, "Riemann problem at
faces").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from faultwave.base.columns import Columns, Row
from faultwave.dg.method.forms import Form
from faultwave.dg.method.formula import Outputs
from faultwave.dg.method.outgoing_waves import ClusterWaveOutput
from faultwave.kernels.expr import Number, Numbers
from faultwave.kernels.language import Array, Kernel, View
from faultwave.physics.waves import Law


@dataclass(frozen=True)
class Sides:
    """Faces (n,) as seen from one of their cells.

    Attributes
    ----------
    law : Law
        Wave law.
    normal : ndarray (n, 3)
        Outward normals.
    tangents : ndarray (n, 2, 3)
        Tangents, equal for both cells.
    own, other : dict of str to ndarray (n,)
        Material of the cell and of its neighbour.
    scale : ndarray (n,)
        Factor of a lift per unit of time in the kernels.
    """

    law: Law
    normal: np.ndarray
    tangents: np.ndarray
    own: dict[str, np.ndarray]
    other: dict[str, np.ndarray]
    scale: np.ndarray

    @property
    def speed(self) -> np.ndarray:
        """Larger wave speed of both cells [m/s]."""
        return np.asarray(np.maximum(self.law.speed(self.own), self.law.speed(self.other)))


class Penalty(Protocol):
    """Penalty on the jump of values that both cells of a face publish.

    Attributes
    ----------
    channels : int
        Number of values that a cell publishes at a face point.
    quantities : int
        Number of leading quantities of the law that it reads.
    changed : int
        Number of leading quantities that it changes.
    columns : Columns
        Constants of a face.
    """

    channels: int
    quantities: int
    changed: int
    columns: Columns

    def constants(self, sides: Sides) -> dict[str, np.ndarray]:
        """Return the constants by the names of ``columns``, (n,) or (n, width)."""
        ...

    def shown(self, q: Numbers, side: Row) -> list[Number]:
        """Return the values that a cell publishes, from its state in the law's quantities."""
        ...

    def change(self, jump: list[Number], side: Row) -> list[Number]:
        """Return the change of the first ``changed`` quantities before it is lifted; ``jump`` is the neighbour's minus the own values."""
        ...


@dataclass(frozen=True)
class PenaltyFlux:
    """Godunov's flux with a penalty, as selected by ``numerics.flux``.

    Attributes
    ----------
    name : str
        Name in the case.
    make : callable
        Constructor of the penalty of a law.
    suits : callable
        Function that returns True for supported laws.
    built_for : str
        Supported laws in words.
    """

    name: str
    make: Callable[[Law], Penalty]
    suits: Callable[[Law], bool]
    built_for: str


class Penalised:
    """Penalty in the cells of a form, which exchange ``b2`` rows of ``faced`` numbers on a face.

    A penalised face has a row in ``own`` for each of its cells; other faces have row 0, whose constants are zeros.
    """

    def __init__(self, form: Form, penalty: Penalty):
        self.form, self.penalty = form, penalty
        self.b2, self.faced = form.b2, penalty.channels

    def _arrays(self, k: Kernel, intent: Literal["in", "out", "inout"]) -> tuple[Array, Array, Array, Array]:
        """Return the rows of the faces, their constants, the cell's own values, and the published values."""
        size = self.b2, self.faced
        rows, sides = k.index("own", 4), k.store("sides", 1, self.penalty.columns.size)
        return rows, sides, k.store("held", *size, "in" if intent == "in" else "out"), k.store("shown", *size, intent)

    def publish(self, k: Kernel, total: Array, cell: Array, adjacent: ClusterWaveOutput) -> None:
        """Publish the trace of the time-integrated state, for faces in the same cluster and in clusters with other steps."""
        own, sides, held, shown = self._arrays(k, "inout" if adjacent.to_slower else "out")
        to, trace = k.index("shown_to", 4), k.temp("show", self.b2, self.faced)
        side = k.temp("side", 1, sides.cols)

        def trace_of(i: int, state: View, out: View) -> None:
            k.gather(side, sides, own, i)
            self._trace(k, state, i, out, cell, side)

        def show(i: int) -> None:
            trace_of(i, total.view(), trace.view())
            k.scatter(trace, held, own, i)

        for i in range(4):
            k.when(own, i, lambda i=i: show(i))  # type: ignore[misc]
            k.when(to, i, lambda i=i: k.scatter(trace, shown, to, i))  # type: ignore[misc]
            adjacent.emit(k, "shown_", shown, i, trace, lambda state, out, i=i: trace_of(i, state, out))  # type: ignore[misc]

    def lift(self, k: Kernel, q: Array, cell: Array) -> None:
        """Add the lifted penalties of the faces to q; constants of faces without a penalty make it zero."""
        own, sides, held, shown = self._arrays(k, "in")
        source = k.index("shown_from", 4)
        here, there = k.temp("held_here", self.b2, self.faced), k.temp("shown_there", self.b2, self.faced)
        side, changed = k.temp("side", 1, sides.cols), k.temp("changed", self.b2, self.penalty.changed)
        share = k.arrays.get("lasting")  # set by ``Form.lift`` if quantities decay

        def change(a: Numbers, b: Numbers, cell: Numbers, side: Numbers, *lasting: Numbers) -> Outputs:
            jump = [y - x for x, y in zip(a, b, strict=True)]
            found = self.penalty.change(jump, self.penalty.columns.row(side))
            rest = [0.0 * found[0]] * (self.form.Q - len(found))
            new = self.form.inward([*found, *rest], cell)
            for c in lasting:
                new = [x - (1.0 - c[0]) * y for x, y in zip(new, self.form.decaying(new, cell), strict=True)]
            return [new[: self.penalty.changed]]

        def one(i: int) -> None:
            k.gather(here, held, own, i)
            k.gather(there, shown, source, i)
            k.gather(side, sides, own, i)
            k.pointwise(change, [here, there, cell, side, *([] if share is None else [share])], [changed])
            self._by_columns(
                self.penalty.changed, lambda c: self.form.extend(k, changed.view(), i, q.view(), c, accumulate=True)
            )

        for i in range(4):
            k.when(own, i, lambda i=i: one(i))  # type: ignore[misc]

    def _trace(self, k: Kernel, source: View, i: int, out: View, cell: Array, side: Array) -> None:
        """Compute the values that the cell publishes of ``source`` on the local face ``i``."""
        local = k.scratch("seen", self.b2, self.penalty.quantities).view(0, out.rows)
        self._by_columns(self.penalty.quantities, lambda c: self.form.restrict(k, source, i, local, c))

        def shown(q: Numbers, cell: Numbers, side: Numbers) -> Outputs:
            state = [*q, *[0.0 * q[0]] * (self.form.Q - len(q))]
            return [self.penalty.shown(self.form.outward(state, cell), self.penalty.columns.row(side))]

        k.pointwise(shown, [local, cell, side], [out])

    def _by_columns(self, count: int, act: Callable[[list[tuple[int, int]]], None]) -> None:
        """Apply ``act`` to a few of the first columns at a time, no more than the form's own traces have."""
        width = 2 * self.form.faced
        for first in range(0, count, width):
            act([(c, c) for c in range(first, min(first + width, count))])
