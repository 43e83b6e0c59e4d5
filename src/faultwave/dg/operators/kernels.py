"""Kernels of the discontinuous Galerkin scheme, written once for every wave law and form (``forms``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np

from faultwave.dg.method.forms import Form
from faultwave.dg.method.formula import Densities, Formula, Outputs
from faultwave.dg.method.outgoing_waves import ClusterWaveOutput, WavesInTime
from faultwave.dg.method.predictors import Sum
from faultwave.dg.penalties import Penalised
from faultwave.kernels import math as mth
from faultwave.kernels.expr import Number, Numbers
from faultwave.kernels.language import Array, Kernel, View, fuse
from faultwave.physics.waves.law import dot, energy_names, role

CACHED = 64
"""Number of kernels of one kind that a process holds."""


def coefficient(series: Array, rows: Sequence[int], number: int, col: int = 0, cols: int | None = None) -> View:
    """Return the view of one coefficient of a series whose coefficients are stacked with ``rows`` of each."""
    return series.view(sum(rows[:number]), rows[number], col, cols)


def series_sum(k: Kernel, target: Array, parts: Sequence[View], weight: Callable[[int], View]) -> None:
    """Emit target = sum_j weight(j) parts[j].

    Parameters
    ----------
    k : Kernel
        Kernel to extend.
    target : Array
        Result, which may have more columns than the parts.
    parts : sequence of View
        Terms; later ones may have fewer rows than the first.
    weight : callable
        View of the weight of term j.
    """
    cols = parts[0].cols
    k.pointwise(lambda x, c: [[c[0] * y for y in x]], [parts[0], weight(0)], [target.view(0, parts[0].rows, 0, cols)])
    for j, part in enumerate(parts[1:], 1):
        view = target.view(0, part.rows, 0, cols)
        k.pointwise(
            lambda t, x, c: [[y + c[0] * d for y, d in zip(t, x, strict=True)]], [view, part, weight(j)], [view]
        )


@dataclass(frozen=True)
class StoringVariant:
    """Variant of a kernel for cells that store more than the waves of whole steps.

    Attributes
    ----------
    fault : bool
        True if some of the cells with derivatives lie at faults.
    penalty : Penalised, optional
        Penalty of jumps on some faces of the cells.
    derivatives : bool
        True if some cells store the coefficients of the predictor, or waves computed from them.
    parts : int
        Slots for the waves of parts of a step, which faster neighbours read; 0 for none.
    flows : bool
        True if friction needs the velocity in addition to the waves.
    """

    fault: bool = False
    penalty: Penalised | None = None
    derivatives: bool = True
    parts: int = 0
    flows: bool = False

    @property
    def name(self) -> str:
        """Suffix of the names of this variant's kernels."""
        return ("_keep" if self.derivatives else "") + ("_split" if self.parts else "")


def compensate(k: Kernel, q: Array, remainder: Array) -> None:
    """Emit a compensated sum: store in ``remainder`` what rounding removes from q, for the next addition (Kahan 1965)."""

    def both(q: Numbers, r: Numbers) -> Outputs:
        sums = [x + y for x, y in zip(q, r, strict=True)]
        return [sums, [y - (s - x) for x, y, s in zip(q, r, sums, strict=True)]]

    k.pointwise(both, [q, remainder], [q, remainder])


@lru_cache(maxsize=CACHED)
def predict(
    form: Form, variant: StoringVariant | None = None, compensated: bool = False, to_slower: bool = False
) -> Kernel:
    """Return the kernel that advances q by a step without neighbours and publishes its waves.

    Kernels of equal arguments are one object, as are those of ``correct``, ``correct_and_predict``, ``samples`` and ``energies``:
    to record them and to compute their fingerprints takes longer than the remaining setup of a small run.

    Time-integrated waves w go to the slots ``outgoing``; the traces u are stored for the correction. Variants also store data that
    others need within the step, each only where the cell has a slot: the coefficients of the predictor (receivers, surfaces), their
    waves for friction, and the waves of parts of the step for faster neighbours.

    Parameters
    ----------
    form : Form
        Wave form of the cells.
    variant : StoringVariant, optional
        Variant for storing cells.
    compensated : bool
        Use compensated summation, see ``compensate``.
    to_slower : bool
        Add waves to the sums for slower neighbours.
    """
    k = Kernel("predict" + (variant.name if variant else ""))
    q, cell, face = k.batch("q", form.b3, form.Q, "inout"), form.cell(k), form.face(k)
    intent: Literal["out", "inout"] = "inout" if to_slower else "out"
    outgoing, waves = k.index("outgoing", 4), k.store("waves", form.b2, form.faced, intent, form.narrow)
    u = k.batch("own_waves", 4 * form.b2, form.faced, "out", form.narrow)
    predictor, count = form.predictor, max(0, variant.parts - 1) if variant else 0
    advance, integral = k.scalar("advance", predictor.terms), k.scalar("integral", len(predictor.rows))
    tables = [k.scalar(f"part{p}", len(predictor.rows)) for p in range(count)]
    total = k.temp("total", form.b3, form.Q)
    rows, face_rows = predictor.part_rows
    parts = [k.temp(f"total{p}", rows, form.Q) for p in range(count)]
    integrals = [Sum(total, integral, True), *[Sum(x, t, True, part=True) for x, t in zip(parts, tables, strict=True)]]
    series = k.temp("series", sum(predictor.rows), form.Q) if variant and variant.derivatives else None
    if compensated:
        remainder = k.batch("remainder", form.b3, form.Q, "inout")
        predictor.expand(k, q, cell, [Sum(remainder, advance, change=True), *integrals], series)
        compensate(k, q, remainder)
    else:
        predictor.expand(k, q, cell, [Sum(q, advance), *integrals], series)
    adjacent = ClusterWaveOutput(to_slower, tuple(parts), face_rows)
    in_time = WavesInTime(k, form, series, variant.flows) if variant and variant.fault and series is not None else None

    def emit(i: int, wave: Array) -> None:
        k.scatter(wave, waves, outgoing, i)
        if in_time is not None:
            in_time.leave(i, wave, k.arrays["trace"], cell, face)
        adjacent.emit(k, "", waves, i, wave, lambda state, out: form.face_wave(k, state, i, out, cell, face))

    form.publish(k, total, cell, face, emit, u)
    if variant and series is not None:
        slot, history = k.index("slot"), k.store("history", series.rows, form.Q, "out")
        k.when(slot, 0, lambda: k.scatter(series, history, slot))
        if variant.penalty is not None:
            variant.penalty.publish(k, total, cell, adjacent)
    form.name_columns(k)
    return k


@lru_cache(maxsize=CACHED)
def correct(form: Form, variant: StoringVariant | None = None, compensated: bool = False) -> Kernel:
    """Return the kernel that adds the lifted jumps of the four faces to the predicted q.

    The neighbours' waves are read from the slots ``incoming``. For ``variant`` and ``compensated`` see ``predict``.
    """
    penalty = variant.penalty if variant else None
    k = Kernel("correct_penalised" if penalty else "correct")
    q, cell, face = k.batch("q", form.b3, form.Q, "inout"), form.cell(k), form.face(k)
    incoming, waves = k.index("incoming", 4), k.store("waves", form.b2, form.faced, "in", form.narrow)
    u = k.batch("own_waves", 4 * form.b2, form.faced, "in", form.narrow)
    target = k.batch("remainder", form.b3, form.Q, "inout") if compensated else q
    form.lift(k, target, cell, face, lambda i, arrived: k.gather(arrived, waves, incoming, i), u)
    if penalty is not None:
        penalty.lift(k, target, cell)
    if compensated:
        compensate(k, q, target)
    form.name_columns(k)
    return k


@lru_cache(maxsize=CACHED)
def correct_and_predict(
    form: Form,
    variant: StoringVariant | None = None,
    between: tuple[Kernel, ...] = (),
    compensated: bool = False,
    to_slower: bool = False,
) -> Kernel:
    """Return one kernel that corrects a step, executes ``between`` and predicts the next step in one pass through memory."""
    first, last = correct(form, variant, compensated), predict(form, variant, compensated, to_slower)
    last = replace(last, statements=last.statements[form.unpacked :])  # the others are already done by the first
    return fuse("correct_and_predict" + (variant.name if variant else ""), first, *between, last)


def sample(form: Form, points: np.ndarray, columns: Sequence[int] | None = None) -> Kernel:
    """Return the kernel that samples quantities at points at the time t + tau, without changing q.

    Parameters
    ----------
    form : Form
        Wave form of the cells.
    points : (S, B3) float
        Basis functions at the points.
    columns : sequence of int, optional
        Indices of the law's quantities, all by default.
    """
    columns = range(len(form.law.quantities)) if columns is None else columns
    k = Kernel("sample")
    q, cell = k.batch("q", form.b3, form.Q), form.cell(k)
    values = k.batch("values", len(points), len(columns), "out")
    later, at = k.temp("later", form.b3, form.Q), k.temp("at", len(points), form.Q)
    form.predictor.expand(k, q, cell, [Sum(later, k.scalar("advance", form.predictor.terms))])
    k.contract(at, points, later)

    def chosen(x: Numbers, cell: Numbers, *jacobian: Numbers) -> Outputs:
        found = _physical(form, x, cell, jacobian)
        return [[found[i] for i in columns]]

    k.pointwise(chosen, [at, cell, *_requested_jacobian(k, form)], [values])
    form.name_columns(k)
    return k


def _requested_jacobian(k: Kernel, form: Form) -> list[Array]:
    """Declare the Jacobian of each cell if the constants of the form do not contain it."""
    return [] if form.self_contained else [k.batch("jacobian", 1, 9)]


def _physical(form: Form, q: Numbers, cell: Numbers, jacobian: Sequence[Numbers]) -> list[Number]:
    """Return the quantities of the law; ``jacobian`` is the result of ``_requested_jacobian``."""
    return form.physical(q, cell, jacobian[0]) if jacobian else form.outward(q, cell)


@lru_cache(maxsize=CACHED)
def samples(form: Form, count: int) -> Kernel:
    """Return the kernel that evaluates ``count`` linear functionals of the field within a step.

    The field follows from the stored derivatives of a cell, in the quantities of the form. Each item has its own functionals, given as
    weights of the basis functions by slot. Modes are summed one by one.
    """
    k, rows = Kernel("samples"), form.predictor.rows
    slots = k.index("slots", 2)  # derivatives, functionals
    history, weights = k.store("history", sum(rows), form.Q), k.store("weights", count, form.b3)
    values, advance = k.batch("values", count, form.Q, "out"), k.scalar("advance", form.predictor.terms, changing=True)
    series, at, weight = k.temp("series", sum(rows), form.Q), k.temp("at", form.b3, form.Q), k.temp("w", count, form.b3)
    k.gather(series, history, slots, 0)
    k.gather(weight, weights, slots, 1)
    series_sum(k, at, [coefficient(series, rows, j) for j in range(len(rows))], lambda j: advance.view(j, 1))

    def add(first: bool) -> Formula:
        def summed(w: Numbers, modes: Numbers, *before: Numbers) -> Outputs:
            return [[w[0] * m if first else b + w[0] * m for m, b in zip(modes, *(before or (modes,)), strict=True)]]

        return summed

    for b in range(form.b3):
        before = [values] if b else []
        k.pointwise(add(b == 0), [weight.view(0, count, b, 1), at.view(b, 1), *before], [values])
    return k


@lru_cache(maxsize=CACHED)
def energies(form: Form, of: Densities | None = None) -> Kernel:
    """Return the kernel of the energies and momenta of every cell.

    The basis is orthonormal: a quadratic density integrates to |J| = 6 volumes times the sum of the density of each mode's
    coefficients; a linear one is the volume times its value at the cell average. The batch ``parameters`` holds the parameters of the law,
    then the volume.

    Parameters
    ----------
    form : Form
        Wave form of the cells.
    of : callable, optional
        Densities by name from a state and the parameters, ``Law.energies`` by default.
    """
    law, k = form.law, Kernel("energies")
    names, given = [p.name for p in law.parameters], of or law.energies
    known = energy_names(law, given)
    q, cell, jacobian = k.batch("q", form.b3, form.Q), form.cell(k), _requested_jacobian(k, form)
    parameters, out = k.batch("parameters", 1, len(names) + 1), k.batch("energies", 1, len(known), "out")
    density, total = k.temp("density", form.b3, len(known)), k.temp("sum", 1, len(known))

    def densities(x: Numbers, cell: Numbers, p: Numbers, *jacobian: Numbers) -> Outputs:
        found = given(_physical(form, x, cell, jacobian), dict(zip(names, p, strict=False)))
        return [[found[name] for name in known]]

    linear = [(i, i) for i, name in enumerate(known) if name.startswith("momentum")]
    quadratic = [(i, i) for i in range(len(known)) if (i, i) not in linear]
    k.pointwise(densities, [q, cell, parameters, *jacobian], [density])
    k.contract(total, np.full((1, form.b3), 6.0), density, quadratic)
    if linear:
        k.contract(total, np.full((1, 1), 6.0**0.5), density, linear)  # mode 0 is the constant sqrt(6)
    k.pointwise(lambda t, p: [[p[-1] * x for x in t]], [total, parameters], [out])
    form.name_columns(k)
    k.name_columns(known, density, total, out)
    k.name_columns([*names, "volume"], parameters)
    return k


def surface(form: Form, face: int, points: np.ndarray) -> Kernel:
    """Return the kernel that adds displacement and peak velocity of one step at points of a local face.

    Parameters
    ----------
    form : Form
        Wave form of the cells.
    face : int
        Local face.
    points : (n, B3) float
        Basis functions at the points.
    """
    k, rows = Kernel(f"surface_{face}"), form.predictor.rows
    n = len(points)
    slot = k.index("slots", 1)
    history = k.store("history", sum(rows), form.Q)
    rotation = k.batch("rotation", 1, 9)  # from the form's velocity to the law's, row by row
    motion = k.batch("motion", n, 4, "inout")  # displacement [m], peak horizontal velocity [m/s]
    integral, advance = k.scalar("integral", len(rows)), k.scalar("advance", form.predictor.terms)
    local, moved, speed = k.temp("local", sum(rows), form.Q), k.temp("moved", form.b3, 3), k.temp("speed", form.b3, 3)
    at, rate = k.temp("at", n, 3), k.temp("rate", n, 3)
    k.gather(local, history, slot, 0)
    velocity = role(form.law, "velocity")
    for target, table in ((moved, integral), (speed, advance)):
        parts = [coefficient(local, rows, j, velocity.start, 3) for j in range(len(rows))]
        series_sum(k, target, parts, lambda j, table=table: table.view(j, 1))  # type: ignore[misc]
    k.contract(at, points, moved)
    k.contract(rate, points, speed)

    def update(motion: Numbers, u: Numbers, v: Numbers, rotation: Numbers) -> Outputs:
        u, v = ([dot(rotation[3 * x : 3 * x + 3], y) for x in range(3)] for y in (u, v))
        peak = mth.maximum(motion[3], mth.sqrt(v[0] * v[0] + v[1] * v[1]))
        return [[motion[0] + u[0], motion[1] + u[1], motion[2] + u[2], peak]]

    k.pointwise(update, [motion, at, rate, rotation], [motion])
    return k
