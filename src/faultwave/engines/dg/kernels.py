"""The dg kernels: each a short list of statements, valid for every law (NUMERICS 2.3, 3.1-3.2; KERNELS, formulation).

Per cell: ``q`` (B3, Q) dofs; ``cell`` (1, ...) inverse Jacobian row by row, the law's constants, its impedances, the
rates of its reaction. Per face of a cell: ``face`` rows (normal, tangents where only tangential components cross a face,
neighbour's impedance, scaled admittance, a, b), see ``FaceColumns``.
A cell publishes per face w = T - Z v of its time-integrated trace and keeps u = T + Z_R v. With the incoming wave
w_R = a w_neighbour + b n (n . w_neighbour) the jump of the flow is dv = (Z + Z_R)^-1 (w_R - u), of the traction dT = Z
dv.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from faultwave.engines.dg.basis import matrices, tet_size, triangle_size
from faultwave.kernels.language import Array, Kernel, View, as_view
from faultwave.laws import Law
from faultwave.laws.law import LAYER, dot


class CellColumns:
    """Columns of the per-cell constants."""

    def __init__(self, law: Law):
        self.metric = 0  # inverse Jacobian: d xi_d / dx_x at 3 d + x
        self.material = 9
        self.constants = len(law.constants({p.name: np.ones(1) for p in law.parameters}))
        self.impedance = self.material + self.constants
        self.impedances = len(law.impedance({p.name: np.ones(1) for p in law.parameters}))
        self.rate = self.impedance + self.impedances
        self.rates = len(law.rates({name: np.ones(1) for name in (*(p.name for p in law.parameters), *LAYER)}))
        self.size = self.rate + self.rates


class FaceColumns:
    """Columns of the per-face constants."""

    def __init__(self, law: Law):
        k = CellColumns(law).impedances
        self.frame, self.frames = 0, 3 if law.face_channels == law.channels else 9
        self.neighbour = self.frames
        self.admittance = self.neighbour + k
        self.mix = self.admittance + k
        self.size = self.mix + 2


def reacts(law: Law) -> bool:
    """Whether dq/dt has a term without gradients: then D_k keeps the full degree and D_(N+1) does not vanish."""
    return CellColumns(law).rates > 0


def derivative_rows(order: int, full: bool = False) -> list[int]:
    """Rows of D_k, k = 0..N: degree N - k, or N for laws with a reaction."""
    return [tet_size(order - 1 - (0 if full else k)) for k in range(order)]


def face_rows(order: int, full: bool = False) -> list[int]:
    """Rows of the face traces of D_k."""
    return [triangle_size(order - 1 - (0 if full else k)) for k in range(order)]


def onto_face(law: Law, frame: Any, x: Any) -> list[Any]:
    """The components of x that cross a face: all, or those along its two tangents; frame = (normal[, tangents])."""
    return list(x) if law.face_channels == law.channels else [dot(frame[3:6], x), dot(frame[6:9], x)]


def off_face(law: Law, frame: Any, y: Any) -> list[Any]:
    """The vector whose components ``onto_face`` gives."""
    return (
        list(y) if law.face_channels == law.channels else [y[0] * frame[3 + i] + y[1] * frame[6 + i] for i in range(3)]
    )


class _Builder:
    """What the kernels of one law and order share."""

    def __init__(self, law: Law, order: int, name: str):
        self.law, self.order, self.degree = law, order, order - 1
        self.m, self.faced, self.Q = law.channels, law.face_channels, len(law.quantities)
        self.b3, self.b2 = tet_size(self.degree), triangle_size(self.degree)
        self.tables = matrices(self.degree)
        self.cell_columns, self.face_columns = CellColumns(law), FaceColumns(law)
        self.full = reacts(law)  # derivatives keep the full degree and feel the reaction
        self.terms = order + reacts(law)  # of the Taylor series at the end of a step
        self.k = Kernel(name)

    def cell(self) -> Array:
        return self.k.batch("cell", 1, self.cell_columns.size)

    def material(self, cell: Any) -> Any:
        c = self.cell_columns
        return cell[c.material : c.material + c.constants]

    def impedance(self, cell: Any) -> Any:
        c = self.cell_columns
        return cell[c.impedance : c.impedance + c.impedances]

    def rates(self, cell: Any) -> Any:
        c = self.cell_columns
        return cell[c.rate : c.rate + c.rates]

    def derivatives(self, cell: Array, start: Array | View) -> Any:
        """Yield (k, view of D_k) for k = 1..N, N + 1 with a reaction, by the Cauchy-Kowalewski recursion from q in ``start``.

        Derivatives act on three fluxes along the reference directions and on the potential: 3 m + m columns before,
        m + 3 m after.
        """
        m, k = self.m, self.k
        before, after = k.temp("before", self.b3, 4 * m), k.temp("after", self.b3, 4 * m)
        current = k.temp("current", self.b3, self.Q)
        source: Array | View = start
        full = self.full
        rows = derivative_rows(self.order, full)

        def contravariant(q: Any, cell: Any) -> Any:
            fluxes = [self.law.flux(q, cell[3 * d : 3 * d + 3]) for d in range(3)]
            return [[*fluxes[0], *fluxes[1], *fluxes[2], *self.law.potential(q)]]

        def rate(after: Any, cell: Any) -> Any:
            gradient = [
                [dot([cell[3 * d + x] for d in range(3)], [after[m + d * m + i] for d in range(3)]) for i in range(m)]
                for x in range(3)
            ]
            return [self.law.rate(after[:m], gradient, self.material(cell))]

        def rate_and_reaction(after: Any, q: Any, cell: Any) -> Any:
            own = self.law.reaction(q, self.rates(cell))
            return [[x + y for x, y in zip(rate(after, cell)[0], own, strict=True)]]

        def reaction(q: Any, cell: Any) -> Any:
            return [self.law.reaction(q, self.rates(cell))]

        for step in range(1, self.order + full):
            taken = rows[0] if full else rows[step - 1]
            made = tet_size(self.degree - 1) if full else rows[step]  # derivatives lower the degree
            k.pointwise(contravariant, [_rows(source, taken), cell], [before.view(0, taken)])
            for d in range(3):
                block = self.tables.derivative[d][:made, :taken]
                divergence = [(d * m + i, i) for i in range(m)]
                gradient = [(3 * m + i, m + d * m + i) for i in range(m)]
                if d == 0:
                    k.contract(after, block, before, divergence + gradient)
                else:
                    k.contract(after, block, before, divergence, accumulate=True)
                    k.contract(after, block, before, gradient)
            if full:
                q, rest = as_view(source).array, taken - made
                k.pointwise(rate_and_reaction, [after.view(0, made), q.view(0, made), cell], [current.view(0, made)])
                k.pointwise(reaction, [q.view(made, rest), cell], [current.view(made, rest)])
            else:
                k.pointwise(rate, [after.view(0, made), cell], [current.view(0, made)])
            source = current
            yield step, current.view(0, taken if full else made)

    def taylor(self, cell: Array, q: Array, targets: Sequence[tuple[Array, Array]]) -> Any:
        """Add sum_k table[k] D_k, k >= 1, to every (target, table) as far as it goes; yields as ``derivatives``."""
        for step, d in self.derivatives(cell, q):
            for target, table in targets:
                if step >= table.rows:
                    continue
                view = target.view(0, d.rows)
                self.k.pointwise(
                    lambda x, d, c: [[x[i] + c[0] * d[i] for i in range(self.Q)]],
                    [view, d, table.view(step, 1)],
                    [view],
                )
            yield step, d

    def traces(self, source: View, face: int, frame: View, out: View, pair: Array) -> None:
        """out (rows2, 2 face channels) = [T, v] of ``source`` on a local face; the flux uses the face's unit normal."""
        law, k = self.law, self.k
        degree_rows = _degree(source.rows)
        block = self.tables.trace[face][: triangle_size(degree_rows), : source.rows]

        def both(q: Any, f: Any) -> Any:
            flux, potential = onto_face(law, f, law.flux(q, f[:3])), onto_face(law, f, law.potential(q))
            return [[*flux, *potential] if law.traction_is_flux else [*potential, *flux]]

        k.pointwise(both, [source, frame], [pair.view(0, source.rows)])
        k.contract(out, block, pair)


def _rows(a: Array | View, rows: int) -> View:
    array = a.array if isinstance(a, View) else a
    return array.view(0, rows)


def series_sum(k: Kernel, target: Array, parts: Sequence[View], weight: Callable[[int], View]) -> None:
    """target = sum_j weight(j) parts[j]; later parts have fewer rows."""
    k.pointwise(lambda x, c: [[c[0] * y for y in x]], [parts[0], weight(0)], [target.view(0, parts[0].rows)])
    for j, part in enumerate(parts[1:], 1):
        view = target.view(0, part.rows)
        k.pointwise(
            lambda t, x, c: [[y + c[0] * d for y, d in zip(t, x, strict=True)]], [view, part, weight(j)], [view]
        )


def _degree(rows: int) -> int:
    degree = 0
    while tet_size(degree) < rows:
        degree += 1
    return degree


def predict(law: Law, order: int, keep: bool) -> Kernel:
    """q(t) -> q(t + dt) without neighbours; time-integrated traces w to the store, u kept.

    ``keep`` also stores all derivatives D_k (rows of ``derivative_rows``) for cells whose neighbours step faster, fault
    cells and cells with receivers.
    """
    b = _Builder(law, order, "predict_keep" if keep else "predict")
    k, m = b.k, b.faced
    q, cell = k.batch("q", b.b3, b.Q, "inout"), b.cell()
    face = k.batch("face", 4, b.face_columns.size)
    own = k.index("own", 4)
    waves = k.store("waves", b.b2, m, "out")
    kept = k.batch("kept", 4 * b.b2, m, "out")
    advance, integral = k.scalar("advance", b.terms), k.scalar("integral", order)
    total = k.temp("total", b.b3, b.Q)
    k.pointwise(lambda q, c: [[c[0] * x for x in q]], [q, integral.view(0, 1)], [total])
    rows = derivative_rows(order, reacts(law))
    if keep:
        slot = k.index("slot")
        history = k.store("history", sum(rows), b.Q, "out")
        copy = k.temp("copy", sum(rows), b.Q)
        k.pointwise(lambda q: [list(q)], [q], [copy.view(0, b.b3)])
    next_q = k.temp("next_q", b.b3, b.Q)
    k.pointwise(lambda q: [list(q)], [q], [next_q])
    for step, d in b.taylor(cell, q, [(next_q, advance), (total, integral)]):
        if keep and step < order:
            k.pointwise(lambda d: [list(d)], [d], [copy.view(sum(rows[:step]), d.rows)])
    k.pointwise(lambda x: [list(x)], [next_q], [q])
    if keep:
        k.scatter(copy, history, slot)
    pair, trace = k.temp("pair", b.b3, 2 * m), k.temp("trace", b.b2, 2 * m)
    wave = k.temp("wave", b.b2, m)
    f = b.face_columns
    for i in range(4):
        b.traces(total.view(), i, face.view(i, 1, f.frame, f.frames), trace.view(), pair)

        def split(t: Any, cell: Any, face: Any) -> Any:
            n, flow = face[:3], t[m:]
            own_z = law.apply_impedance(b.impedance(cell), n, flow)
            other_z = law.apply_impedance(face[f.neighbour : f.admittance], n, flow)
            return [[t[i] - own_z[i] for i in range(m)], [t[i] + other_z[i] for i in range(m)]]

        k.pointwise(split, [trace, cell, face.view(i, 1)], [wave, kept.view(i * b.b2, b.b2)])
        k.scatter(wave, waves, own, i)
    return k


def correct(law: Law, order: int) -> Kernel:
    """Add the lifted jumps of the four faces to the predicted q."""
    b = _Builder(law, order, "correct")
    k, m, faced = b.k, b.m, b.faced
    q, cell = k.batch("q", b.b3, b.Q, "inout"), b.cell()
    face = k.batch("face", 4, b.face_columns.size)
    incoming = k.index("incoming", 4)
    waves = k.store("waves", b.b2, faced, "in")
    kept = k.batch("kept", 4 * b.b2, faced, "in")
    f = b.face_columns
    arrived, jump = k.temp("arrived", b.b2, faced), k.temp("jump", b.b2, faced)
    lifted, sums = k.temp("lifted", b.b3, faced), k.temp("sums", b.b3, 4 * m)

    def flow_jump(w: Any, u: Any, face: Any) -> Any:
        n, (a, mirror) = face[:3], face[f.mix : f.mix + 2]
        incoming = [a * x for x in w]
        if faced == 3:
            normal = mirror * dot(n, w)
            incoming = [x + normal * n[i] for i, x in enumerate(incoming)]
        return [law.apply_impedance(face[f.admittance : f.mix], n, [x - y for x, y in zip(incoming, u, strict=True)])]

    def spread(first: bool) -> Any:
        """sums = [dF, n (x) dphi] from the lifted flow jump; scaling by Z makes the traction jump."""

        def function(dv: Any, cell: Any, face: Any, *previous: Any) -> Any:
            n = face[:3]
            dT = law.apply_impedance(b.impedance(cell), n, dv)
            flux, potential = (dT, dv) if law.traction_is_flux else (dv, dT)
            flux, potential = off_face(law, face, flux), off_face(law, face, potential)
            new = [*flux, *[n[x] * p for x in range(3) for p in potential]]
            return [new if first else [s + x for s, x in zip(previous[0], new, strict=True)]]

        return function

    for i in range(4):
        row = face.view(i, 1)
        k.gather(arrived, waves, incoming, i)
        k.pointwise(flow_jump, [arrived, kept.view(i * b.b2, b.b2), row], [jump])
        k.contract(lifted, b.tables.trace[i].T, jump)
        k.pointwise(spread(i == 0), [lifted, cell, row, *([sums] if i else [])], [sums])

    def rate(s: Any, cell: Any, q: Any) -> Any:
        gradient = [[s[m + x * m + i] for i in range(m)] for x in range(3)]
        change = law.rate(s[:m], gradient, b.material(cell))
        return [[x + y for x, y in zip(q, change, strict=True)]]

    k.pointwise(rate, [sums, cell, q], [q])
    return k


def evaluate(law: Law, order: int) -> Kernel:
    """``sampled`` = q at t + tau from the predictor; q itself stays."""
    b = _Builder(law, order, "evaluate")
    q, cell = b.k.batch("q", b.b3, b.Q), b.cell()
    sampled = b.k.batch("sampled", b.b3, b.Q, "out")
    advance = b.k.scalar("advance", b.terms)
    b.k.pointwise(lambda q: [list(q)], [q], [sampled])
    for _ in b.taylor(cell, q, [(sampled, advance)]):
        pass
    return b.k


def accumulate(law: Law, order: int) -> Kernel:
    """Sum a faster cell's w over the step of its slower neighbour: total = keep * total + w."""
    b = _Builder(law, order, "accumulate")
    k, size = b.k, b.b2
    slots, waves = k.index("slots", 2), k.store("waves", size, b.faced, "inout")
    keep = k.scalar("keep")
    own, total = k.temp("new", size, b.faced), k.temp("total", size, b.faced)
    k.gather(own, waves, slots, 0)
    k.gather(total, waves, slots, 1)
    k.pointwise(lambda x, t, c: [[c[0] * t[i] + x[i] for i in range(b.faced)]], [own, total, keep], [total])
    k.scatter(total, waves, slots, 1)
    return k


def integrate(law: Law, order: int) -> Kernel:
    """w of a slower neighbour over my step from its derivative traces: sum_k weight[k] w(D_k)."""
    b = _Builder(law, order, "integrate")
    k, rows = b.k, face_rows(order, reacts(law))
    slots = k.index("slots", 2)  # derivative traces, incoming wave
    slow, waves = k.store("slow", sum(rows), b.faced), k.store("waves", b.b2, b.faced, "inout")
    weight = k.scalar("weight", order)
    series, total = k.temp("series", sum(rows), b.faced), k.temp("total", b.b2, b.faced)
    k.gather(series, slow, slots, 0)
    series_sum(k, total, [series.view(sum(rows[:j]), rows[j]) for j in range(order)], lambda j: weight.view(j, 1))
    k.scatter(total, waves, slots, 1)
    return k


def slow_traces(law: Law, order: int, face: int, fault: bool) -> Kernel:
    """Traces of all derivatives on one local face: w for a faster neighbour, [T, v] for a fault face."""
    b = _Builder(law, order, f"{'fault' if fault else 'slow'}_traces_{face}")
    k, m, frames = b.k, b.faced, b.face_columns.frames
    rows, out_rows = derivative_rows(order, reacts(law)), face_rows(order, reacts(law))
    slots = k.index("slots", 2)  # derivatives, traces
    side = k.batch("side", 1, frames + b.cell_columns.impedances)  # frame of the face, own impedance
    history = k.store("history", sum(rows), b.Q)
    width = 2 * m if fault else m
    slow = k.store("traces", sum(out_rows), width, "out")
    local, pair = k.temp("local", sum(rows), b.Q), k.temp("pair", b.b3, 2 * m)
    trace, result = k.temp("trace", b.b2, 2 * m), k.temp("result", sum(out_rows), width)
    k.gather(local, history, slots, 0)
    for step in range(order):
        source = local.view(sum(rows[:step]), rows[step])
        target = result.view(sum(out_rows[:step]), out_rows[step])
        b.traces(source, face, side.view(0, 1, 0, frames), trace.view(0, out_rows[step]), pair)

        def wave(t: Any, s: Any) -> Any:
            zv = law.apply_impedance(s[frames:], s[:3], t[m:])
            return [[t[i] - zv[i] for i in range(m)]]

        if fault:
            k.pointwise(lambda t: [list(t)], [trace.view(0, out_rows[step])], [target])
        else:
            k.pointwise(wave, [trace.view(0, out_rows[step]), side], [target])
    k.scatter(result, slow, slots, 1)
    return k


def surface(law: Law, order: int, face: int, points: np.ndarray) -> Kernel:
    """Displacement and peak velocity at points (n, B3 basis values) of a local face, over one step of its cell."""
    b = _Builder(law, order, f"surface_{face}")
    k, rows = b.k, derivative_rows(order, reacts(law))
    n = len(points)
    slot = k.index("slots", 1)
    history = k.store("history", sum(rows), b.Q)
    motion = k.batch("motion", n, 4, "inout")  # displacement, peak horizontal velocity
    integral, advance = k.scalar("integral", order), k.scalar("advance", b.terms)
    local, moved, speed = k.temp("local", sum(rows), b.Q), k.temp("moved", b.b3, 3), k.temp("speed", b.b3, 3)
    at, rate = k.temp("at", n, 3), k.temp("rate", n, 3)
    k.gather(local, history, slot, 0)
    first = b.Q - 3
    for target, table in ((moved, integral), (speed, advance)):
        parts = [local.view(sum(rows[:j]), rows[j], first, 3) for j in range(order)]
        series_sum(k, target, parts, lambda j, table=table: table.view(j, 1))  # type: ignore[misc]
    k.contract(at, points, moved)
    k.contract(rate, points, speed)

    def update(motion: Any, u: Any, v: Any) -> Any:
        from faultwave.kernels import math as mth

        peak = mth.maximum(motion[3], mth.sqrt(v[0] * v[0] + v[1] * v[1]))
        return [[motion[0] + u[0], motion[1] + u[1], motion[2] + u[2], peak]]

    k.pointwise(update, [motion, at, rate], [motion])
    return k
