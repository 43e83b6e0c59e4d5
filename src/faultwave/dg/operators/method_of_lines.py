"""Method of lines with classical Runge-Kutta or leapfrog steps, upwind or centred flux, for every wave law.

Theory: docs/theory/time-stepping.md, "Method of lines".

The operator is L(q) = strong derivative + lifted jumps, evaluated on q itself. A cell publishes both traces T and v. With the traces of
the other side, converted to the cell's frame by the signs (s_T, s_v), the jumps to the star state are

    dv = Yv (v_R - v_L) + Yt (T_R - T_L),    dT = Zt (T_R - T_L) + Zv (v_R - v_L).

Godunov's state has Yv = Z_R/(Z_L + Z_R), Yt = 1/(Z_L + Z_R), Zt = Z_L/(Z_L + Z_R), Zv = Z_L Z_R/(Z_L + Z_R). Without the
two cross terms, which dissipate, the flux is centred: it exchanges T_L v_R-like terms that cancel between the sides and so
conserves energy also where impedances jump. A boundary that returns w_R = a w reads the cell's own traces with signs -1:
Yv = (1 + a)/4, Yt = (1 - a)/(4 Z), Zt = (1 - a)/4, Zv = (1 + a) Z/4. With the centred flux, a boundary that conserves energy,
a^2 = 1, drops the cross terms and any other boundary includes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from faultwave.backends import Backend
from faultwave.base.columns import Columns
from faultwave.comm.exchange import StageExchange
from faultwave.dg.method.forms import Cells, Form
from faultwave.dg.method.formula import Formula, Outputs
from faultwave.dg.operators.layout import MeshLayout
from faultwave.dg.operators.operator import Operator
from faultwave.kernels.expr import Number, Numbers, Table
from faultwave.kernels.language import Array, Kernel
from faultwave.physics.waves import Law
from faultwave.physics.waves.law import as_matrix, dot

Flux = Literal["godunov", "centred"]
Half = Literal["divergence", "gradient"]


def star_columns(form: Form) -> Columns:
    """Return the columns of the constants of a face.

    They are its frame, Yv, Yt, Zt and Zv (scaled, whole matrices where impedances are not diagonal), and the signs of the neighbour's T
    and v.
    """
    z = form.impedances if form.law.principal else form.faced**2
    signs = dict.fromkeys(("traction_sign", "flow_sign"))
    return Columns(normal=3, tangents=form.frames - 3, yv=z, yt=z, zt=z, zv=z, **signs)


def halves(law: Law) -> tuple[list[int], list[int]]:
    """Return the indices of the quantities that change by div F and of the quantities that change by grad phi.

    Raises
    ------
    ValueError
        If a quantity changes by both.
    """
    size, m = len(law.quantities), law.channels
    rng = np.random.default_rng(0)
    material = tuple(np.ones(1) for _ in law.constants({p.name: np.ones(1) for p in law.parameters}))
    divergence, gradient = list(rng.normal(size=m)), [list(rng.normal(size=m)) for _ in range(3)]
    zero = [0.0] * m
    by_flux = np.array([float(np.asarray(x).squeeze()) for x in law.rate(divergence, [zero] * 3, material)])
    by_potential = np.array([float(np.asarray(x).squeeze()) for x in law.rate(zero, gradient, material)])
    if ((by_flux != 0) & (by_potential != 0)).any():
        raise ValueError(f"the {law.name} law does not split into two groups of quantities that drive each other")
    first = [i for i in range(size) if by_flux[i] != 0]
    return first, [i for i in range(size) if i not in first]


def publish(form: Form) -> Kernel:
    """Return the kernel that writes both traces [T, v] of q on the four faces to the store."""
    k, f = Kernel("publish"), form.faced
    q, face = k.batch("q", form.b3, form.Q), k.batch("star", 4, star_columns(form).size)
    own, traces = k.index("own", 4), k.store("traces", form.b2, 2 * f, "out")
    trace = k.temp("trace", form.b2, 2 * f)
    for i in range(4):
        form.face_trace(k, q.view(), i, trace.view(), face.view(i, 1, 0, form.frames))
        k.scatter(trace, traces, own, i)
    return k


def _residual(k: Kernel, form: Form, q: Array, cell: Array, react: bool) -> tuple[Array, Array]:
    """Emit dq/dt of the cell alone, with its reaction if ``react``, and of its jumps at the four faces."""
    m, f, law = form.m, form.faced, form.law
    columns = star_columns(form)
    face = k.batch("star", 4, columns.size)
    inside, outside = k.index("own", 4), k.index("incoming", 4)
    traces = k.store("traces", form.b2, 2 * f)
    own = k.temp("change", form.b3, form.Q)
    form.first(k, q, cell, own, react)
    mine, other = k.temp("mine", form.b2, 2 * f), k.temp("other", form.b2, 2 * f)
    jump, lifted = k.temp("jump", form.b2, 2 * f), k.temp("lifted", form.b3, 2 * f)
    sums = k.temp("sums", form.b3, 4 * m)

    def applied(a: Numbers, n: Numbers, x: Numbers) -> list[Number]:
        return law.apply_impedance(a, n, x) if law.principal else [dot(a[i * f : (i + 1) * f], x) for i in range(f)]

    def star(l: Numbers, r: Numbers, face: Numbers) -> Outputs:
        side = columns.row(face)
        n = side.normal
        traction = [side.traction_sign * y - x for x, y in zip(l[:f], r[:f], strict=True)]
        flow = [side.flow_sign * y - x for x, y in zip(l[f:], r[f:], strict=True)]
        pairs = ((side.zt, traction, side.zv, flow), (side.yv, flow, side.yt, traction))
        return [[x + y for a, p, d, q in pairs for x, y in zip(applied(a, n, p), applied(d, n, q), strict=True)]]

    def spread(first: bool) -> Formula:
        def function(jumps: Numbers, face: Numbers, *previous: Numbers) -> Outputs:
            n, dT, dv = columns.row(face).normal, jumps[:f], jumps[f:]
            flux, potential = (dT, dv) if law.traction_is_flux else (dv, dT)
            flux, potential = form.off(face, flux), form.off(face, potential)
            new = [*flux, *[n[x] * p for x in range(3) for p in potential]]
            return [new if first else [s + x for s, x in zip(previous[0], new, strict=True)]]

        return function

    for i in range(4):
        k.gather(mine, traces, inside, i)
        k.gather(other, traces, outside, i)
        k.pointwise(star, [mine, other, face.view(i, 1)], [jump])
        form.extend(k, jump.view(), i, lifted.view(), [(c, c) for c in range(2 * f)])
        k.pointwise(spread(i == 0), [lifted, face.view(i, 1), *([sums] if i else [])], [sums])
    return own, sums


def _lifts(form: Form, sums: Numbers, cell: Numbers) -> list[Number]:
    m = form.m
    gradient = [[sums[m + x * m + i] for i in range(m)] for x in range(3)]
    return form.law.rate(sums[:m], gradient, form.material(cell))


def runge_kutta(form: Form) -> Kernel:
    """Return the kernel of one stage: k = L(q); sum += b k; then q = base + a k, or base = q = sum in the last stage.

    The scalars ``stage`` are first, last, a, b.
    """
    k = Kernel("runge_kutta")
    q, cell = k.batch("q", form.b3, form.Q, "inout"), form.cell(k)
    base, total = k.batch("base", form.b3, form.Q, "inout"), k.batch("total", form.b3, form.Q, "inout")
    stage = k.scalar("stage", 1, 4)
    own, sums = _residual(k, form, q, cell, True)

    def update(
        q: Numbers, base: Numbers, total: Numbers, own: Numbers, sums: Numbers, cell: Numbers, s: Numbers
    ) -> Outputs:
        first, last, near, far = s
        rate = [x + y for x, y in zip(own, _lifts(form, sums, cell), strict=True)]
        start = [first * x + (1.0 - first) * y for x, y in zip(q, base, strict=True)]
        summed = [first * x + (1.0 - first) * y + far * r for x, y, r in zip(q, total, rate, strict=True)]
        origin = [last * y + (1.0 - last) * x for x, y in zip(start, summed, strict=True)]
        return [[x + near * r for x, r in zip(origin, rate, strict=True)], origin, summed]

    k.pointwise(update, [q, base, total, own, sums, cell, stage.view()], [q, base, total])
    return k


def leap(form: Form, half: Half) -> Kernel:
    """Return the kernel that advances one half of the quantities by ``step`` with the gradients of the other half.

    A decay is integrated with the trapezoidal rule.
    """
    k, law = Kernel(f"leap_{half}"), form.law
    q, cell = k.batch("q", form.b3, form.Q, "inout"), form.cell(k)
    step = k.scalar("step")
    own, sums = _residual(k, form, q, cell, False)
    moved = halves(law)[0 if half == "divergence" else 1]

    def update(q: Numbers, own: Numbers, sums: Numbers, cell: Numbers, h: Numbers) -> Outputs:
        lifts = _lifts(form, sums, cell)
        decay = decay_rates(form, cell)
        new = []
        for i in range(form.Q):
            part = 0.5 * h[0] * decay[i]
            new.append(((1.0 - part) * q[i] + h[0] * (own[i] + lifts[i])) / (1.0 + part) if i in moved else q[i])
        return [new]

    k.pointwise(update, [q, own, sums, cell, step.view()], [q])
    return k


def decay_rates(form: Form, cell: Numbers) -> list[Number]:
    """Return the decay rate of every quantity [1/time] by the reaction of the law, 0.0 for none."""
    if not form.full:
        return [0.0] * form.Q
    return [-1.0 * form.reaction([float(i == j) for j in range(form.Q)], cell)[i] for i in range(form.Q)]


def has_coupled_reaction(law: Law) -> bool:
    """Return True if the reaction of the law is more than an independent decay of each quantity."""
    size, columns = len(law.quantities), Form(law, 2).reactions
    if not columns:
        return False
    rates = np.random.default_rng(0).uniform(0.5, 1.0, columns)
    matrix = np.array([law.reaction([float(i == j) for j in range(size)], list(rates)) for i in range(size)], float)
    return bool(np.abs(matrix - np.diag(np.diag(matrix))).max() > 0)


def history(form: Form) -> Kernel:
    """Return the kernel of the derivatives D_k of q, for samples between steps.

    Contributions of neighbours are omitted, as they are of the size of the error.
    """
    k, rows = Kernel("history_of"), sum(form.predictor.rows)
    q, cell, slot = k.batch("q", form.b3, form.Q), form.cell(k), k.index("slot")
    store, series = k.store("history", rows, form.Q, "out"), k.temp("series", rows, form.Q)
    form.predictor.expand(k, q, cell, [], series)
    k.scatter(series, store, slot)
    return k


RUNGE_KUTTA = ((1.0, 0.0, 0.5, 1 / 6), (0.0, 0.0, 0.5, 1 / 3), (0.0, 0.0, 1.0, 1 / 3), (0.0, 1.0, 0.0, 1 / 6))
"""Scalars first, last, a and b of the classical stages, with a and b in units of the step."""


NO_SCALARS: dict[str, Table] = {}


@dataclass(frozen=True)
class Stage:
    """Stage of a step: its kernel, its moment as a fraction of the step, and the kernel's scalars."""

    kernel: str
    moment: float
    scalars: dict[str, Table]


class MethodOfLines(Operator):
    """Operator of the method of lines: traces of the state instead of waves integrated over a step, in a single cluster.

    Attributes
    ----------
    flux : Flux
        Numerical flux.
    traces : store
        Traces [T, v] of every face.
    star : batch buffer
        Constants of faces with ``star_columns``.
    states : dict of str to batch buffer
        Further states of the cells between the stages of a step.
    launches : dict of str to callable
        Launches by name of the kernel.
    """

    def __init__(
        self,
        form: Form,
        backend: Backend,
        layout: MeshLayout,
        cells: Cells,
        flux: Flux,
        stages: Sequence[Kernel],
        states: Sequence[str] = (),
    ):
        """Allocate the buffers and compile the kernels of the ``stages``, which use ``states``, for a plain ``form``."""
        lay = layout.cells
        if lay.clusters != 1:
            raise ValueError("local time steps need the integrator ader")
        super().__init__(form, backend, layout, cells)
        self.flux = flux
        size, real = len(lay.cell_at), lay.cell_at >= 0
        self.traces = backend.store(lay.wave_slots, self.b2 * 2 * form.faced)
        self.star = backend.batch(size, 4, star_columns(form).size)
        self.star.put(self._star_constants()[lay.cell_at[real]], real)
        self.states = {name: backend.batch(size, self.b3, form.Q) for name in states}
        compiled = backend.compile([*stages, publish(form), history(form)])
        separate = lay.arriving_slots != lay.own
        buffers = {
            "q": self.q, "cell": self.cell, "star": self.star, "own": backend.index(lay.own),
            "incoming": backend.index(np.where(separate, lay.arriving_slots, layout.waves.incoming[1])),
            "traces": self.traces, "history": self.history, "slot": self.history_slot, **self.states,
        }  # fmt: skip
        self.launches = {name: bind(buffers) for name, bind in compiled.items()}

    def take_memory(self) -> None:
        """Allocate the memory of the steps, which write no waves and store none."""
        self.backend.take_memory([self.q, self.traces, self.history, *self.states.values()])

    def stages(self, step: float) -> Sequence[Stage]:
        """Return the stages of a step of length ``step`` [s]."""
        raise NotImplementedError

    def _star_constants(self) -> np.ndarray:
        """Return the constants of faces, (nc, 4, columns), as the module text defines them."""
        driven = np.zeros(self.cells.kinds.shape, bool) if self.cells.driven is None else self.cells.driven
        wall = (self.cells.neighbours < 0) & ~self.cells.remote & ~driven
        inside, reflected = self._star_numbers(driven) if self.law.principal else self._star_matrices(driven)
        parts = [np.where(wall[..., None], w, inner) for w, inner in zip(reflected, inside, strict=True)]
        across = (-1.0, 1.0) if self.law.traction_is_flux else (1.0, -1.0)
        signs = np.where(driven[..., None], 1.0, np.where(wall[..., None], -1.0, np.array(across)))
        # The order of ``star_columns``.
        return np.concatenate([self.frames(), *parts, signs], 2)

    def _upwind(self, driven: np.ndarray) -> np.ndarray:
        """Return the inner faces (nc, 4) that include the cross terms; boundaries with prescribed waves are treated as reflecting."""
        return driven & (self.cells.neighbours < 0) if self.flux == "centred" else np.ones_like(driven)

    def _star_numbers(self, driven: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return Yv, Yt, Zt, Zv (nc, 4, k) for diagonal impedances, between cells and at boundaries."""
        form = self.form
        face = form.face_columns.split(form.face_constants(self.cells))
        own, other = form.both_impedances(self.cells)
        inverse = face.admittance  # scale / (Z_L + Z_R), 0 where both vanish
        scale = (self.time_unit * self.cells.areas / (3.0 * self.cells.volume[:, None]))[..., None]
        still = own + other == 0  # no wave of this kind on either side
        yv, zt = np.where(still, 0.5 * scale, inverse * other), np.where(still, 0.5 * scale, inverse * own)
        cross = np.where(self._upwind(driven), 1.0, 0.0)[..., None]
        yt, zv = cross * inverse, cross * inverse * own * other
        a = face.mix[..., :1] + np.zeros_like(own)
        if self.law.face_channels == 3:
            a[..., 0] += face.mix[..., 1]
        keep = np.where((np.abs(np.abs(a) - 1.0) < 1e-12) & (self.flux == "centred"), 0.0, 1.0)
        reflected = [
            scale * (1 + a) / 4, keep * inverse * (1 - a) / 2, scale * (1 - a) / 4, keep * scale * (1 + a) * own / 4
        ]  # fmt: skip
        return [yv, yt, zt, zv], reflected

    def _star_matrices(self, driven: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return Yv, Yt, Zt, Zv (nc, 4, f f) for impedance matrices, between cells and at boundaries that return w_R = M w."""
        law, form, size = self.law, self.form, self.law.face_channels
        shape, normal = driven.shape, np.moveaxis(self.cells.normals, -1, 0)

        def matrix(z: np.ndarray) -> np.ndarray:
            return as_matrix(lambda x: law.apply_impedance(np.moveaxis(z, -1, 0), normal, x), size, shape)

        own, other = (matrix(z) for z in form.both_impedances(self.cells))
        mix = np.moveaxis(form.mix(self.cells), -1, 0)
        back = as_matrix(lambda x: law.incoming(mix, normal, x), size, shape)
        scale = (self.time_unit * self.cells.areas / (3.0 * self.cells.volume[:, None]))[..., None, None]
        inverse, one = scale * np.linalg.inv(own + other), np.eye(size)
        cross = np.where(self._upwind(driven), 1.0, 0.0)[..., None, None]
        inside = [inverse @ other, cross * inverse, own @ inverse, cross * (own @ inverse @ other)]
        retained = np.abs(back @ back - one).max((-2, -1)) < 1e-12  # boundaries that conserve energy
        cross = np.where(retained & (self.flux == "centred"), 0.0, 0.25)[..., None, None]
        mine = scale * np.linalg.inv(own)
        reflected = [
            0.25 * mine @ (back + one) @ own, cross * (mine @ (one - back)), 0.25 * scale * (one - back),
            cross * (scale * (back + one) @ own),
        ]  # fmt: skip
        return tuple([x.reshape(*shape, size * size) for x in part] for part in (inside, reflected))  # type: ignore[return-value]


class RungeKutta(MethodOfLines):
    """Classical fourth-order Runge-Kutta method."""

    def __init__(self, form: Form, backend: Backend, layout: MeshLayout, cells: Cells, flux: Flux):
        super().__init__(form, backend, layout, cells, flux, [runge_kutta(form)], ("base", "total"))

    def stages(self, step: float) -> Sequence[Stage]:
        h, moments = step / self.time_unit, (0.0, 0.5, 0.5, 1.0)
        return [
            Stage("runge_kutta", moment, {"stage": [first, last, near * h, far * h]})
            for (first, last, near, far), moment in zip(RUNGE_KUTTA, moments, strict=True)
        ]


class Leapfrog(MethodOfLines):
    """Stoermer-Verlet (leapfrog) method: half a step of one half, a step of the other, half a step of the first.

    Halves of adjoining steps make one step of the staggered scheme; between steps both halves are at the same time.
    """

    def __init__(self, form: Form, backend: Backend, layout: MeshLayout, cells: Cells, flux: Flux):
        if has_coupled_reaction(form.law):
            raise ValueError("leapfrog supports decay, but no reaction between quantities")
        super().__init__(form, backend, layout, cells, flux, [leap(form, "divergence"), leap(form, "gradient")])

    def half_step(self, step: float) -> Stage:
        """Return the stage that advances the quantities that change by grad phi by half a step, to their times in the staggered scheme."""
        return Stage("leap_gradient", 0.0, {"step": 0.5 * step / self.time_unit})

    def stages(self, step: float) -> Sequence[Stage]:
        h, halves_of_step = (
            step / self.time_unit,
            (("gradient", 0.5, 0.0), ("divergence", 1.0, 0.5), ("gradient", 0.5, 1.0)),
        )
        return [Stage(f"leap_{half}", moment, {"step": share * h}) for half, share, moment in halves_of_step]


class StageStepper:
    """Steps of the method of lines: ``predict`` only prepares samples, ``correct`` takes the step.

    Parameters
    ----------
    operator : MethodOfLines
        State and kernels.
    exchange : StageExchange, optional
        Exchange of traces with other processes.
    write_arriving : callable, optional
        ``write_arriving(moment)`` writes the traces that arrive at prescribed faces at a fraction of the current step.
    """

    def __init__(
        self,
        operator: MethodOfLines,
        exchange: StageExchange | None = None,
        write_arriving: Callable[[float], None] | None = None,
    ):
        self.operator, self.exchange, self.write_arriving = operator, exchange, write_arriving
        lay = operator.layout
        self.border = lay.observed_ranges[0], lay.storing_ranges[0]
        self.all_cells = *self.border, lay.plain_ranges[0]

    def predict(self, cluster: int, step: float, restart: bool, ends: Sequence[float] = ()) -> None:
        self.operator.steps[cluster] = step
        self._run("history_of", self.border)

    def begin(self, cluster: int, step: float, restart: bool, ends: Sequence[float] = ()) -> None:
        self.predict(cluster, step, restart)

    def correct(self, cluster: int, step: float) -> None:
        for stage in self.operator.stages(step):
            self.run_stage(stage)

    def correct_observed(self, cluster: int, step: float) -> None:
        self.correct(cluster, step)

    def change_corrected(self, cluster: int, observed: bool = False) -> None:
        """Do nothing: capabilities that change cells in between need the integrator ader."""

    def correct_and_predict(self, cluster: int, step: float, restart: bool, ends: Sequence[float] = ()) -> None:
        self.predict(cluster, step, restart)

    def begin_correct_and_predict(self, cluster: int, step: float, restart: bool, ends: Sequence[float] = ()) -> None:
        self.predict(cluster, step, restart)

    def finish(self, cluster: int, cells: int | None = None) -> bool:
        """Return False: no step defers cells."""
        return False

    def run_stage(self, stage: Stage) -> None:
        """Publish traces and run the kernel of a stage over all cells; cells next to other processes come last."""
        self._run("publish", self.all_cells)
        if self.write_arriving:
            self.write_arriving(stage.moment)
        if self.exchange is None:
            self._run(stage.kernel, self.all_cells, stage.scalars)
            return
        self.exchange.send()
        self._run(stage.kernel, self.all_cells[2:], stage.scalars)
        self.exchange.wait()
        self._run(stage.kernel, self.border, stage.scalars)
        self.exchange.receive_next()

    def _run(self, kernel: str, ranges: Sequence[tuple[int, int]], scalars: Mapping[str, Table] = NO_SCALARS) -> None:
        for begin, end in ranges:
            if end > begin:
                self.operator.launches[kernel](begin, end, **scalars)
