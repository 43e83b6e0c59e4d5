"""The dg kernels: each a short list of statements, valid for every law and form (``forms``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from faultwave.dg.forms import Form
from faultwave.dg.penalties import Penalised
from faultwave.dg.predictors import Predictor, Sum
from faultwave.kernels import math as mth
from faultwave.kernels.language import Array, Kernel, View, fuse
from faultwave.physics.waves.law import dot, energy_names, role


def coefficient(series: Array, rows: Sequence[int], number: int, col: int = 0, cols: int | None = None) -> View:
    """One coefficient of a series that holds them one below the other, ``rows`` of each."""
    return series.view(sum(rows[:number]), rows[number], col, cols)


def series_sum(k: Kernel, target: Array, parts: Sequence[View], weight: Callable[[int], View]) -> None:
    """target = sum_j weight(j) parts[j]; later parts may have fewer rows, and ``target`` more columns."""
    cols = parts[0].cols
    k.pointwise(lambda x, c: [[c[0] * y for y in x]], [parts[0], weight(0)], [target.view(0, parts[0].rows, 0, cols)])
    for j, part in enumerate(parts[1:], 1):
        view = target.view(0, part.rows, 0, cols)
        k.pointwise(
            lambda t, x, c: [[y + c[0] * d for y, d in zip(t, x, strict=True)]], [view, part, weight(j)], [view]
        )


@dataclass(frozen=True)
class Kept:
    """Variant of a kernel for cells that leave more than waves; ``fault``: some of them lie at faults; ``penalty``: of jumps on some of
    their faces."""

    fault: bool = False
    penalty: Penalised | None = None


def compensate(k: Kernel, q: Array, remainder: Array) -> None:
    """q and ``remainder`` of the same sum, of which q is what its precision holds: what is rounded away waits for the next (Kahan 1965)."""

    def both(q: Any, r: Any) -> Any:
        sums = [x + y for x, y in zip(q, r, strict=True)]
        return [sums, [y - (s - x) for x, y, s in zip(q, r, sums, strict=True)]]

    k.pointwise(both, [q, remainder], [q, remainder])


def predict(form: Form, kept: Kept | None = None, compensated: bool = False) -> Kernel:
    """q(t) -> q(t + dt) without neighbours; time-integrated waves w to the slots ``outgoing``, u kept. ``compensated``: see ``compensate``.

    ``kept`` cells also leave what others need within the step, each only where it has a slot: the predictor's coefficients
    (receivers, surfaces), and their traces on a face, w for a faster neighbour, [T, v] for friction.
    """
    k = Kernel("predict_keep" if kept else "predict")
    q, cell, face = k.batch("q", form.b3, form.Q, "inout"), form.cell(k), form.face(k)
    outgoing, waves = k.index("outgoing", 4), k.store("waves", form.b2, form.faced, "out", form.narrow)
    u = k.batch("kept", 4 * form.b2, form.faced, "out", form.narrow)
    predictor = form.predictor
    advance, integral = k.scalar("advance", predictor.terms), k.scalar("integral", len(predictor.rows))
    total = k.temp("total", form.b3, form.Q)
    series = k.temp("series", sum(predictor.rows), form.Q) if kept else None
    if compensated:
        remainder = k.batch("remainder", form.b3, form.Q, "inout")
        predictor.expand(k, q, cell, [Sum(remainder, advance, change=True), Sum(total, integral, True)], series)
        compensate(k, q, remainder)
    else:
        predictor.expand(k, q, cell, [Sum(q, advance), Sum(total, integral, True)], series)
    form.publish(k, total, cell, face, lambda i, wave: k.scatter(wave, waves, outgoing, i), u)
    if kept and series is not None:
        slot, history = k.index("slot"), k.store("history", series.rows, form.Q, "out")
        k.when(slot, 0, lambda: k.scatter(series, history, slot))
        _traces(k, form, "slow", series, lambda s, i, out: form.face_wave(k, s, i, out, cell, face), form.faced)
        if kept.fault:
            _traces(
                k, form, "friction", series, lambda s, i, out: form.face_pair(k, s, i, out, cell, face), 2 * form.faced
            )
        if kept.penalty is not None:
            kept.penalty.publish(k, total, cell, series)
    return k


def _traces(
    k: Kernel, form: Form, name: str, series: Array, trace: Callable[[View, int, View], None], width: int
) -> None:
    """Traces of all coefficients on the faces that have a slot in the store ``name``."""
    rows, out_rows = form.predictor.rows, form.predictor.face_rows
    slots, store = k.index(f"{name}_slots", 4), k.store(name, sum(out_rows), width, "out")
    result = k.temp(f"{name}_traces", sum(out_rows), width)

    def one(face: int) -> None:
        for j in range(len(rows)):
            trace(coefficient(series, rows, j), face, coefficient(result, out_rows, j))
        k.scatter(result, store, slots, face)

    for face in range(4):
        k.when(slots, face, lambda face=face: one(face))  # type: ignore[misc]


def correct(form: Form, kept: Kept | None = None, compensated: bool = False) -> Kernel:
    """Add the lifted jumps of the four faces to the predicted q; the neighbours' waves lie in the slots ``incoming``. ``compensated``: see
    ``compensate``."""
    penalty = kept.penalty if kept else None
    k = Kernel("correct_penalised" if penalty else "correct")
    q, cell, face = k.batch("q", form.b3, form.Q, "inout"), form.cell(k), form.face(k)
    incoming, waves = k.index("incoming", 4), k.store("waves", form.b2, form.faced, "in", form.narrow)
    u = k.batch("kept", 4 * form.b2, form.faced, "in", form.narrow)
    target = k.batch("remainder", form.b3, form.Q, "inout") if compensated else q
    form.lift(k, target, cell, face, lambda i, arrived: k.gather(arrived, waves, incoming, i), u)
    if penalty is not None:
        penalty.lift(k, target, cell)
    if compensated:
        compensate(k, q, target)
    return k


def correct_and_predict(
    form: Form, kept: Kept | None = None, between: Sequence[Kernel] = (), compensated: bool = False
) -> Kernel:
    """``correct`` of one step, what comes ``between``, and ``predict`` of the next in one pass through memory."""
    first, last = correct(form, kept, compensated), predict(form, kept, compensated)
    del last.statements[: form.unpacked]  # which the first has done
    return fuse("correct_and_predict" + ("_keep" if kept else ""), first, *between, last)


def sample(form: Form, points: np.ndarray, columns: Sequence[int] | None = None) -> Kernel:
    """``values`` = the law's quantities (``columns`` of them) at t + tau at points (S, B3 basis values), from the predictor; q
    itself stays."""
    columns = range(len(form.law.quantities)) if columns is None else columns
    k = Kernel("sample")
    q, cell = k.batch("q", form.b3, form.Q), form.cell(k)
    values = k.batch("values", len(points), len(columns), "out")
    later, at = k.temp("later", form.b3, form.Q), k.temp("at", len(points), form.Q)
    form.predictor.expand(k, q, cell, [Sum(later, k.scalar("advance", form.predictor.terms))])
    k.contract(at, points, later)

    def chosen(x: Any, cell: Any, *jacobian: Any) -> Any:
        found = _physical(form, x, cell, jacobian)
        return [[found[i] for i in columns]]

    k.pointwise(chosen, [at, cell, *_asked_jacobian(k, form)], [values])
    return k


def _asked_jacobian(k: Kernel, form: Form) -> list[Array]:
    """The Jacobian of each cell, where the form's constants do not hold it."""
    return [] if form.self_contained else [k.batch("jacobian", 1, 9)]


def _physical(form: Form, q: Any, cell: Any, jacobian: Sequence[Any]) -> Any:
    """The law's quantities; ``jacobian``: of ``_asked_jacobian``."""
    return form.physical(q, cell, jacobian[0]) if jacobian else form.outward(q, cell)


def samples(form: Form, count: int) -> Kernel:
    """``count`` linear functionals of the basis (each item its own, by slot) of the field at a moment of a step, from the
    derivatives that a cell has kept; in the form's own quantities. Modes are summed one by one."""
    k, rows = Kernel("samples"), form.predictor.rows
    slots = k.index("slots", 2)  # derivatives, functionals
    history, weights = k.store("history", sum(rows), form.Q), k.store("weights", count, form.b3)
    values, advance = k.batch("values", count, form.Q, "out"), k.scalar("advance", form.predictor.terms, changing=True)
    series, at, weight = k.temp("series", sum(rows), form.Q), k.temp("at", form.b3, form.Q), k.temp("w", count, form.b3)
    k.gather(series, history, slots, 0)
    k.gather(weight, weights, slots, 1)
    series_sum(k, at, [coefficient(series, rows, j) for j in range(len(rows))], lambda j: advance.view(j, 1))

    def add(first: bool) -> Callable[..., Any]:
        def summed(w: Any, modes: Any, *before: Any) -> Any:
            return [[w[0] * m if first else b + w[0] * m for m, b in zip(modes, *(before or (modes,)), strict=True)]]

        return summed

    for b in range(form.b3):
        before = [values] if b else []
        k.pointwise(add(b == 0), [weight.view(0, count, b, 1), at.view(b, 1), *before], [values])
    return k


def energies(form: Form, of: Callable[[Any, Any], dict[str, Any]] | None = None) -> Kernel:
    """Energies and momenta of every cell in the order of ``Law.energies``, or of a function like that; ``parameters``: the law's, then the
    volume.

    The basis is orthonormal: a quadratic density integrates to |J| = 6 volumes times the sum of the density of each mode's
    coefficients; what is linear is the volume times its value at the cell average.
    """
    law, k = form.law, Kernel("energies")
    names, given = [p.name for p in law.parameters], of or law.energies
    known = energy_names(law, given)
    q, cell, jacobian = k.batch("q", form.b3, form.Q), form.cell(k), _asked_jacobian(k, form)
    parameters, out = k.batch("parameters", 1, len(names) + 1), k.batch("energies", 1, len(known), "out")
    density, total = k.temp("density", form.b3, len(known)), k.temp("sum", 1, len(known))

    def densities(x: Any, cell: Any, p: Any, *jacobian: Any) -> Any:
        found = given(_physical(form, x, cell, jacobian), dict(zip(names, p, strict=False)))
        return [[found[name] for name in known]]

    linear = [(i, i) for i, name in enumerate(known) if name.startswith("momentum")]
    quadratic = [(i, i) for i in range(len(known)) if (i, i) not in linear]
    k.pointwise(densities, [q, cell, parameters, *jacobian], [density])
    k.contract(total, np.full((1, form.b3), 6.0), density, quadratic)
    if linear:
        k.contract(total, np.full((1, 1), 6.0**0.5), density, linear)  # mode 0 is the constant sqrt(6)
    k.pointwise(lambda t, p: [[p[-1] * x for x in t]], [total, parameters], [out])
    return k


class Exchanged(Protocol):
    """What cells exchange: ``b2`` rows of ``faced`` numbers on a face, of as many coefficients as the predictor has; ``narrow``: in
    memory in single precision."""

    @property
    def b2(self) -> int: ...
    @property
    def faced(self) -> int: ...
    @property
    def predictor(self) -> Predictor: ...
    @property
    def narrow(self) -> bool: ...


def accumulate(form: Exchanged) -> Kernel:
    """Sum a faster cell's w over the step of its slower neighbour: total = keep * total + w."""
    k = Kernel("accumulate")
    slots, waves = k.index("slots", 3), k.store("waves", form.b2, form.faced, "inout", form.narrow)
    _accumulate(k, form, slots, waves)
    return k


def _accumulate(k: Kernel, form: Exchanged, slots: Array, waves: Array) -> None:
    """``slots``: own wave, total, the slower side's derivative traces."""
    size, m = form.b2, form.faced
    keep = k.scalar("keep")
    own, total = k.temp("new", size, m), k.temp("total", size, m)
    k.gather(own, waves, slots, 0)
    k.gather(total, waves, slots, 1)
    k.pointwise(lambda x, t, c: [[c[0] * t[i] + x[i] for i in range(m)]], [own, total, keep], [total])
    k.scatter(total, waves, slots, 1)


def integrate(form: Exchanged) -> Kernel:
    """w of a slower neighbour over my step from the traces of its coefficients: sum_k weight[k] w(c_k)."""
    k = Kernel("integrate")
    slots, waves = k.index("slots", 3), k.store("waves", form.b2, form.faced, "inout", form.narrow)
    _integrate(k, form, slots, waves)
    return k


def _integrate(k: Kernel, form: Exchanged, slots: Array, waves: Array) -> None:
    """``slots``: as ``_accumulate``; the incoming wave goes where the own one was."""
    rows, m = form.predictor.face_rows, form.faced
    slow, weight = k.store("slow", sum(rows), m), k.scalar("weight", len(rows))
    series, arriving = k.temp("series", sum(rows), m), k.temp("arriving", form.b2, m)
    k.gather(series, slow, slots, 2)
    parts = [coefficient(series, rows, j) for j in range(len(rows))]
    series_sum(k, arriving, parts, lambda j: weight.view(j, 1))
    k.scatter(arriving, waves, slots, 0)


def accumulate_and_integrate(form: Exchanged) -> Kernel:
    """``accumulate`` of the step that ends, then ``integrate`` of the same, in one pass over the faces to a slower neighbour."""
    k = Kernel("accumulate_and_integrate")
    slots, waves = k.index("slots", 3), k.store("waves", form.b2, form.faced, "inout", form.narrow)
    _accumulate(k, form, slots, waves)
    _integrate(k, form, slots, waves)
    return k


def surface(form: Form, face: int, points: np.ndarray) -> Kernel:
    """Displacement and peak velocity at points (n, B3 basis values) of a local face, over one step of its cell."""
    k, rows = Kernel(f"surface_{face}"), form.predictor.rows
    n = len(points)
    slot = k.index("slots", 1)
    history = k.store("history", sum(rows), form.Q)
    rotation = k.batch("rotation", 1, 9)  # from the form's velocity to the law's, row by row
    motion = k.batch("motion", n, 4, "inout")  # displacement, peak horizontal velocity
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

    def update(motion: Any, u: Any, v: Any, rotation: Any) -> Any:
        u, v = ([dot(rotation[3 * x : 3 * x + 3], y) for x in range(3)] for y in (u, v))
        peak = mth.maximum(motion[3], mth.sqrt(v[0] * v[0] + v[1] * v[1]))
        return [[motion[0] + u[0], motion[1] + u[1], motion[2] + u[2], peak]]

    k.pointwise(update, [motion, at, rate, rotation], [motion])
    return k
