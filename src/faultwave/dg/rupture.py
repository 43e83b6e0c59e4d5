"""The friction solve of fault faces as one kernel, for any friction law (de la Puente et al. 2009, Pelties et al. 2012;
docs/theory/friction.md, "Friction solve").

Per face: traces [T, v] of the predictor's coefficients on both sides -> locked traction Theta and velocity jump in the fault frame
(n, s1, s2) as modes; per Gauss point in time: values at the face's points, friction, slip; at the end the mean traction goes
back to modes and each side receives 2 T* - w, the wave that makes its star state carry exactly T*.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultwave.base.columns import Columns, Row
from faultwave.dg.basis import triangle_size
from faultwave.dg.fault_coupling import FaultCoupling, PrincipalCoupling
from faultwave.dg.fault_transforms import degree_of, transforms
from faultwave.dg.kernels import coefficient, series_sum
from faultwave.kernels import math as m
from faultwave.kernels.expr import wrap
from faultwave.kernels.language import Array, Kernel, LoopIndex, View, as_view
from faultwave.physics.friction.directions import of_slip
from faultwave.physics.friction.law import FrictionLaw, Load, Solved, state_columns
from faultwave.physics.waves.law import dot

RUPTURE_RATE = 1e-3  # m/s, above which a point counts as ruptured

RECORD = ("ruptured", "weakened", "traction1", "traction2", "traction_n", "strength", "work")
"""What every fault point remembers beside the friction law's own state: rupture and dynamic stress times, the last
traction change and strength, frictional work [J/m^2]."""

MOVED = ("work_moved", "moved1", "moved2", "moved")
"""The same from the traces of both sides instead of the friction solve: work, slip along the tangents, path length of
the jump."""

BREAKDOWN = ("dissipated", "path", "least", "breakdown")
"""Work against friction [J/m^2] and path length [m] since the start, the least shear traction while slipping [Pa], and the work above
it that was done until it was reached, or until the law's dynamic stress was (Tinti, Spudich & Cocco 2005)."""

WEAKENED = 1.1
"""Mean slip of a face, in distances over which friction becomes dynamic, from which on it counts as weakened: a tenth more than at the
end of the cohesive zone, whose slip stays as it is, and with it the time at which rupture comes."""

HUGE = 1e30
"""The least shear traction before there was any."""

AT_ONCE = 1e-30
"""Time [s] of what breaks in the very first step, where times are those of whole steps: later than never, which is 0."""

FRAME = Columns(normal=3, tangent1=3, tangent2=3)
"""Columns of a face's directions; the normal points from plus to minus."""

CLOCK = Columns(**dict.fromkeys(("duration", "end", "mark", "share")))
"""Columns of a sub-step's times [s]: its length and end, the time to mark a rupture with, and the share of the sub-step to add to it."""


def recorded(moved: bool, breakdown: bool = False) -> Columns:
    """Columns of ``record``."""
    return Columns(**dict.fromkeys(RECORD + MOVED * moved + BREAKDOWN * breakdown))


@dataclass(frozen=True)
class Sizes:
    """``rows`` of the face traces of each coefficient in time, ``points`` of a face, sub-steps (``times``) of a step, ``episodes`` of
    nucleation; ``moved``: also remember what the velocity jump says; ``breakdown``: and what the breakdown work is; ``linear_normal``:
    strength follows the linear part of the normal traction; ``smooth_sliding``: weakened faces slip without their highest degree;
    ``narrow``: of the form; ``quadratic_slip``: the quadratic part of slip weakens; ``conical``: the points are those of the conical
    rule."""

    rows: tuple[int, ...]
    points: int
    times: int
    episodes: int
    moved: bool = False
    breakdown: bool = False
    linear_normal: bool = False
    smooth_sliding: bool = False
    narrow: bool = False
    quadratic_slip: bool = False
    conical: bool = False

    @property
    def degree(self) -> int:
        """Of the face modes."""
        return degree_of(self.rows[0])


def rupture(
    law: FrictionLaw, constants: dict[str, float], sizes: Sizes, coupling: FaultCoupling | None = None
) -> Kernel:
    """Kernel over fault faces; see the module text. ``coupling`` of the sides; None: that of isotropic rock."""
    return _Rupture(law, constants, sizes, coupling or PrincipalCoupling()).build()


def _named(function: Callable[[Row], Any], names: Sequence[str]) -> Callable[..., Any]:
    """The function of many arguments that hands them to ``function`` by name."""
    return lambda *values: function(Row(zip(names, values, strict=True)))


class _Rupture:
    """The kernel being recorded: its arrays, and the formulas of a fault point."""

    def __init__(self, law: FrictionLaw, constants: dict[str, float], sizes: Sizes, coupling: FaultCoupling):
        self.law, self.constants, self.sizes, self.coupling = law, constants, sizes, coupling
        self.columns, self.state_columns = recorded(sizes.moved, sizes.breakdown), law.shown_columns
        self.inner_columns, self.step_columns = law.inner_columns, state_columns(law.of_step(sizes.times))
        own = coupling.channels
        # Of one side's trace, in physical components.
        self.trace = Columns(traction=own, velocity=own)
        self.locked_columns = Columns(traction=own, jump=own if sizes.moved else 0)
        self.here_columns = Columns(**self.locked_columns.widths, linear_normal=1 if sizes.linear_normal else 0)
        solved = dict.fromkeys(("slip_rate1", "slip_rate2", "slip_rate", "strength", "friction"))
        self.solved_columns = Columns(**solved, **{s.name: s.size for s in law.state if not s.inner})
        self.k = Kernel("rupture", fixed=True)
        self._arguments()
        self._temporaries()

    def _arguments(self) -> None:
        k, s = self.k, self.sizes
        b2 = s.rows[0]
        self.slots = k.index("slots", 4)  # traces +, -; waves +, -, where each side finds the reply
        self.traces = k.store("traces", sum(s.rows), self.trace.size)
        self.waves = k.store("waves", b2, self.coupling.channels, "inout", s.narrow)
        self.frame, self.impedance = (
            k.batch("frame", 1, FRAME.size),
            k.batch("impedance", 1, self.coupling.columns.size),
        )
        self.parameter = k.batch("parameter", s.points, max(1, len(self.law.kernel_parameters)))
        self.state = k.batch("state", s.points, self.state_columns.size, "inout")
        inner = self.inner_columns.size
        self.inner = [k.batch("inner_state", s.points, inner, "inout")] if inner else []
        self.stress = k.batch("stress", s.points, 3, "inout")
        self.nucleation = k.batch("nucleation", s.points, 3 * max(1, s.episodes))
        self.record = k.batch("record", s.points, self.columns.size, "inout")
        group = k.index("group")  # of the point rule
        self.transforms = transforms(k, s.points, s.degree, group, s.conical)
        if s.smooth_sliding:
            self.face_mean = k.matrix("face_mean", 1, s.points)
        self.at_times, self.weight = k.scalar("at_times", s.times, len(s.rows)), k.scalar("weight", s.times)
        self.clock = k.scalar("clock", s.times, CLOCK.size, True)
        self.ramp = k.scalar("ramp", s.times, max(1, s.episodes), True)
        self.damping = k.scalar("damping", changing=True)

    def _temporaries(self) -> None:
        k, s, width, own = self.k, self.sizes, self.locked_columns.size, self.coupling.channels
        self.plus, self.minus = (k.temp(side, sum(s.rows), self.trace.size) for side in ("plus", "minus"))
        self.locked = k.temp("locked", sum(s.rows), width)
        self.now, self.here = (
            k.temp(n, rows, self.here_columns.size) for n, rows in (("now", s.rows[0]), ("here", s.points))
        )
        self.smooth = k.temp("smooth", s.points, 1)
        self.solved = k.temp("solved", s.points, self.solved_columns.size)
        size = self.step_columns.size
        self.of_step = [k.temp("of_step", s.points, size)] if size else []
        self.mean, self.modes = k.temp("mean", s.points, own), k.temp("modes", s.rows[0], own)

    def build(self) -> Kernel:
        k, width, points = self.k, self.locked_columns.size, self.sizes.points
        k.gather(self.plus, self.traces, self.slots, 0)
        k.gather(self.minus, self.traces, self.slots, 1)
        sides = [self.plus, self.minus, self.frame, self.impedance, self.damping]
        k.pointwise(lambda *a: [self._locked(*a)[:width]], sides, [self.locked])
        self.series = self.transforms.turned(self.locked, self.sizes.rows)
        own = self.coupling.channels
        k.pointwise(lambda x: [[0.0 * x[0]] * own], [self.record.view(0, points, 0, 1)], [self.mean])
        starts = [self._resampled_start(name) for name in self.law.resampled]
        lengths = [self.clock.view(i, 1, CLOCK.places["duration"].start, 1) for i in range(self.sizes.times)]
        if self.inner or self.of_step:
            self._change_inner(self.law.begin_step, lengths)
        k.repeat("sub", self.sizes.times, self._substep)
        if self.inner or self.of_step:
            self._change_inner(self.law.end_step, lengths)
        for name, start in zip(self.law.resampled, starts, strict=True):
            self._resample(name, start)
        self.transforms.to_modes(self.modes, self.mean)
        self._reply()
        return k

    def _substep(self, o: LoopIndex) -> None:
        k, points, rows = self.k, self.sizes.points, self.sizes.rows
        parts = [coefficient(self.series, rows, j) for j in range(len(rows))]
        width = self.locked_columns.size
        series_sum(k, self.now, parts, lambda j: self.at_times.view(o, 1, j, 1))
        if self.sizes.linear_normal:
            self._keep_linear(width)
        self.transforms.to_points(self.here, self.now)
        if self.sizes.episodes:
            k.pointwise(_nucleate, [self.stress, self.nucleation, self.ramp.view(o, 1)], [self.stress])
        given: dict[str, Array | View] = {
            "parameter": self.parameter, "state": self.state, "here": self.here, "stress": self.stress,
            "impedance": self.impedance, "clock": self.clock.view(o, 1),
        }  # fmt: skip
        k.pointwise(_named(self._solve, list(given)), list(given.values()), [self.solved])
        if self.sizes.smooth_sliding:
            self._slide_smoothly()
        rate = self.solved.view(0, points, 2, 1)
        if self.law.project:
            degree = min(self.sizes.degree, 2) if self.sizes.quadratic_slip else self.sizes.degree
            self.transforms.project(self.smooth, rate, degree)
        given |= {
            "weight": self.weight.view(o, 1), "solved": self.solved, "amount": self.smooth if self.law.project else rate,
            "record": self.record, "mean": self.mean,
        }  # fmt: skip
        changed = [self.state, self.record, self.mean]
        k.pointwise(_named(self._advance, list(given)), list(given.values()), changed)
        if self.of_step:
            self._change_inner(self.law.end_substep)

    def _change_inner(self, change: Callable[..., dict[str, Any]], lengths: Sequence[View] | None = None) -> None:
        """State of any kind and what is kept during a step by a function of the law, which may take the ``lengths`` of all sub-steps."""
        inner = [*self.inner, *self.of_step] if lengths else self.of_step
        columns = [self.inner_columns] * len(self.inner) if lengths else []
        columns += [self.step_columns] * len(self.of_step)

        def changed(parameter: Any, state: Any, *rest: Any) -> Any:
            p = dict(zip(self.law.kernel_parameters, parameter, strict=False))
            rows = [c.row(x) for c, x in zip(columns, rest, strict=False)]
            s = Row(self.state_columns.row(state) | {name: x for row in rows for name, x in row.items()})
            return s, change(p, self.constants, s, *([[x[0] for x in rest[len(inner) :]]] if lengths else []))

        given: list[Array | View] = [self.parameter, self.state, *inner, *(lengths or [])]
        # To see which numbers it changes.
        _, found = changed(*[[wrap(1.0)] * as_view(x).cols for x in given])
        if not found:
            return
        names = [name for name in self.state_columns if name in found]
        kept = [(c, array) for c, array in zip(columns, inner, strict=False) if set(c.widths) & set(found)]

        def values(*given: Any) -> Any:
            s, new = changed(*given)
            return [*[[new[name]] for name in names], *[c.flat(s | new) for c, _ in kept]]

        outs: list[Array | View] = [*map(self._state_of, names), *[array for _, array in kept]]
        self.k.pointwise(values, given, outs, as_written=lengths is not None)

    def _keep_linear(self, column: int) -> None:
        """The part of the normal traction that is linear on the face: its first modes."""
        k, rows, linear = self.k, self.sizes.rows[0], triangle_size(1)
        own = self.coupling.channels
        k.pointwise(
            lambda t: [[self.coupling.pressing(t)]],
            [self.now.view(0, linear, 0, own)],
            [self.now.view(0, linear, column, 1)],
        )
        if rows > linear:
            rest = rows - linear
            k.pointwise(
                lambda t: [[0.0 * t[0]]], [self.now.view(linear, rest, 0, 1)], [self.now.view(linear, rest, column, 1)]
            )

    def _slide_smoothly(self) -> None:
        """The slip rate of faces that have weakened, without its highest degree: of that degree slip of single triangles grows, which
        both sides hardly feel. The traction that goes with it follows in ``_advance``, so that work and waves stay in balance."""
        k, points = self.k, self.sizes.points
        each, mean, smooth = (
            k.temp("relative_slip", points, 1),
            k.temp("mean_slip", 1, 1),
            k.temp("smooth_rate", points, 2),
        )
        k.pointwise(self._relative_slip, [self.parameter, self.state], [each])
        k.contract(mean, self.face_mean, each)
        rate = self.solved.view(0, points, 0, 3)
        self.transforms.project(smooth, self.solved.view(0, points, 0, 2), max(self.sizes.degree - 1, 0))

        def choose(own: Any, new: Any, slip: Any) -> Any:
            chosen = *new, m.sqrt(dot(new, new))
            return [[m.where(slip[0] > WEAKENED, x, y) for x, y in zip(chosen, own, strict=True)]]

        k.pointwise(choose, [rate, smooth, mean], [rate])

    def _relative_slip(self, parameter: Any, state: Any) -> Any:
        p = dict(zip(self.law.kernel_parameters, parameter, strict=False))
        return [[self.law.relative_slip(p, self.constants, self.state_columns.row(state))]]

    def _state_of(self, name: str) -> View:
        return self.state.view(0, self.sizes.points, self.state_columns.places[name].start, 1)

    def _resampled_start(self, name: str) -> Array:
        """A copy of a number of the state at the start of the step."""
        start = self.k.temp(f"start_of_{name}", self.sizes.points, 1)
        self.k.pointwise(lambda x: [list(x)], [self._state_of(name)], [start])
        return start

    def _resample(self, name: str, start: Array) -> None:
        """Project what the step has changed on the polynomials of the face: point values drift apart without it."""
        change = self.k.temp(f"change_of_{name}", self.sizes.points, 1)
        self.k.pointwise(lambda new, old: [[new[0] - old[0]]], [self._state_of(name), start], [change])
        self.transforms.project(self.smooth, change, self.sizes.degree)
        self.k.pointwise(lambda old, x: [[old[0] + x[0]]], [start, self.smooth], [self._state_of(name)])

    def _reply(self) -> None:
        """2 T* - w; the traction of the minus side is on its own normal, and -p is the same from both."""
        k, rows, own = self.k, self.sizes.rows[0], self.coupling.channels
        wave, reply = k.temp("wave", rows, own), k.temp("reply", rows, own)
        for side, sign in ((0, 2.0), (1, -2.0)):
            k.gather(wave, self.waves, self.slots, 2 + side)

            def answer(t: Any, w: Any, frame: Any, sign: float = sign) -> Any:
                n, s1, s2 = FRAME.row(frame).values()
                vector = [sign * (t[0] * n[x] + t[1] * s1[x] + t[2] * s2[x]) - w[x] for x in range(3)]
                return [[*vector, *[2.0 * p - x for p, x in zip(t[3:], w[3:], strict=True)]]]

            k.pointwise(answer, [self.modes, wave, self.frame], [reply])
            k.scatter(reply, self.waves, self.slots, 2 + side)

    def _locked(self, plus: Any, minus: Any, frame: Any, impedance: Any, damping: Any) -> Any:
        """Theta and velocity jump v- - v+ from [T, v] in each side's own frame."""
        z, on_plus, on_minus = self.coupling.columns.row(impedance), self.trace.row(plus), self.trace.row(minus)
        directions = FRAME.row(frame).values()
        va, vb = ([dot(side.velocity[:3], e) for e in directions] for side in (on_plus, on_minus))
        va, vb = [*va, *on_plus.velocity[3:]], [*vb, *[-x for x in on_minus.velocity[3:]]]
        impeded = self.coupling.impeded(z, 0, va), self.coupling.impeded(z, 1, vb)
        ta, tb = ([dot(side.traction[:3], e) for e in directions] for side in (on_plus, on_minus))
        wa = [t - x for t, x in zip([*ta, *on_plus.traction[3:]], impeded[0], strict=True)]
        wb = [x - t for t, x in zip(tb, impeded[1], strict=False)]
        wb += [x + t for t, x in zip(on_minus.traction[3:], impeded[1][3:], strict=True)]
        theta = self.coupling.locked(z, wa, wb)
        return [damping[0] * theta[0], *theta[1:], *[b - a for a, b in zip(va, vb, strict=True)]]

    # Formulas of one point in one sub-step, over the arguments by name.

    def _point(self, given: Row) -> tuple[dict[str, Any], Row, Load]:
        """Parameters, state and load."""
        parameters = dict(zip(self.law.kernel_parameters, given.parameter, strict=False))
        clock, here = CLOCK.row(given.clock), self.here_columns.row(given.here)
        change = [*(here.linear_normal or [self.coupling.pressing(here.traction)]), *here.traction[1:3]]
        normal, shear1, shear2 = (s + h for s, h in zip(given.stress, change, strict=True))
        z = self.coupling.columns.row(given.impedance)
        load = self.coupling.load(z, (shear1, shear2), normal, clock.duration, clock.end)
        return parameters, self.state_columns.row(given.state), load

    def _solve(self, given: Row) -> Any:
        p, s, load = self._point(given)
        x = self.law.solve(p, self.constants, s, load)
        own = {state.name: x.state.get(state.name, s[state.name]) for state in self.law.state if not state.inner}
        common = {name: getattr(x, name) for name in ("slip_rate1", "slip_rate2", "slip_rate", "strength", "friction")}
        return [self.solved_columns.flat(common | own)]

    def _advance(self, given: Row) -> Any:
        """State and record at the end of the sub-step, and the traction's share of the mean."""
        p, s, load = self._point(given)
        clock, here, w = CLOCK.row(given.clock), self.here_columns.row(given.here), given.weight
        v = self.solved_columns.row(given.solved)
        own = {state.name: v[state.name] for state in self.law.state if not state.inner}
        x = Solved(v.slip_rate1, v.slip_rate2, v.slip_rate, v.strength, v.friction, own)
        felt_load = of_slip(load, x.slip_rate1, x.slip_rate2)
        new = s | self.law.advance(p, self.constants, s, x, given.amount[0], felt_load)
        z = self.coupling.columns.row(given.impedance)
        traction = self.coupling.slipping(z, here.traction, x.slip_rate1, x.slip_rate2)
        before = self.columns.row(given.record)
        felt = [self.coupling.pressing(traction), *traction[1:3]]
        if self.sizes.linear_normal:
            fluid = [0.0 * y for y in here.traction[3:]]
            linear = [*here.linear_normal, *here.traction[1:3], *fluid]
            felt = self.coupling.slipping(z, linear, x.slip_rate1, x.slip_rate2)
        notes = _note(before, s["slip_rate"], x, felt, clock, w)
        reached = self.law.dynamic_stress_reached(p, self.constants, new, x.friction)
        weak = reached & (notes["weakened"] <= 0.0) & (notes["ruptured"] > 0.0)
        notes["weakened"] = m.where(weak, clock.mark, notes["weakened"])
        if self.sizes.moved:
            averaged = self.coupling.averaged(z, here.traction, here.jump)
            notes |= _note_jump(notes, here.jump[:3], averaged[:3], w)
        if self.sizes.breakdown:
            total = [given.stress[c] + traction[c] for c in (1, 2)]
            notes |= _note_breakdown(before, x, total, w)
        mean = [x + w[0] * y for x, y in zip(given.mean, traction, strict=True)]
        return [self.state_columns.flat(new), self.columns.flat(notes), mean]


def _nucleate(stress: Any, extra: Any, share: Any) -> Any:
    return [[stress[c] + dot(extra[c::3], share) for c in range(3)]]


FAULT_ENERGIES = ("total_frictional_work", "static_frictional_work", "seismic_moment", "potency")


def fault_energies(
    record: Columns, state: Columns, weights: np.ndarray, plain_mean: bool, from_velocity: bool
) -> Kernel:
    """``FAULT_ENERGIES`` of every face from what its points, with ``weights`` (p,) that sum to a half, remember;
    ``scale``: area, rigidity times area. ``plain_mean``: of the slip over points alike; ``from_velocity``: by the jump's motion."""
    k, points = Kernel("fault_energies", fixed=True), len(weights)
    records, states = k.batch("record", points, record.size), k.batch("state", points, state.size)
    scale, out = k.batch("scale", 1, 2), k.batch("energies", 1, 4, "out")
    each, mean = k.temp("each", points, 3), k.temp("mean", 1, 3)

    def parts(r: Any, s: Any) -> Any:
        old = record.row(r) | state.row(s)
        names = (
            ("work_moved", "moved1", "moved2", "moved")
            if from_velocity
            else ("work", "slip1", "slip2", "accumulated_slip")
        )
        work, one, two, path = (old[name] for name in names)
        return [[work, old["traction1"] * one + old["traction2"] * two, path]]

    k.pointwise(parts, [records, states], [each])
    k.contract(mean, 2.0 * weights[None], each, [(0, 0), (1, 1)])
    k.contract(mean, np.full((1, points), 1.0 / points) if plain_mean else 2.0 * weights[None], each, [(2, 2)])
    k.pointwise(lambda m, a: [[a[0] * m[0], -0.5 * a[0] * m[1], a[1] * m[2], a[0] * m[2]]], [mean, scale], [out])
    return k


def loaded_slip(state: Columns, points: int) -> Kernel:
    """The sum over a face's points of loads (points,) times the length of the slip's path."""
    k = Kernel("loaded_slip", fixed=True)
    states, loads = k.batch("state", points, state.size), k.batch("loads", points, 1)
    each, out = k.temp("each", points, 1), k.batch("sum", 1, 1, "out")
    slip = states.view(0, points, state.places["accumulated_slip"].start, 1)
    k.pointwise(lambda a, s: [[a[0] * s[0]]], [loads, slip], [each])
    k.contract(out, np.ones((1, points)), each)
    return k


def _note(old: dict[str, Any], last: Any, x: Solved, traction: Any, clock: Row, w: Any) -> dict[str, Any]:
    """Rupture time (interpolated where the clock says so), tractions, strength and frictional work."""
    starts = (x.slip_rate > RUPTURE_RATE) & (old["ruptured"] <= 0.0)
    share = (RUPTURE_RATE - last) / m.maximum(x.slip_rate - last, 1e-300)
    moment = clock.mark + clock.share * clock.duration * m.minimum(m.maximum(share, 0.0), 1.0)
    return old | {
        "ruptured": m.where(starts, moment, old["ruptured"]),
        "traction_n": traction[0],
        "traction1": traction[1],
        "traction2": traction[2],
        "strength": x.strength,
        "work": old["work"] - w[0] * (traction[1] * x.slip_rate1 + traction[2] * x.slip_rate2),
    }


def _note_breakdown(old: dict[str, Any], x: Solved, total: Any, w: Any) -> dict[str, Any]:
    """BREAKDOWN after a sub-step that ends with the shear traction ``total``."""
    size = m.sqrt(dot(total, total))
    dissipated = old["dissipated"] + w[0] * (total[0] * x.slip_rate1 + total[1] * x.slip_rate2)
    path = old["path"] + w[0] * x.slip_rate
    falls = (x.slip_rate > 0.0) & (size < old["least"]) & (old["weakened"] <= 0.0)
    return {
        "dissipated": dissipated,
        "path": path,
        "least": m.where(falls, size, old["least"]),
        "breakdown": m.where(falls, dissipated - size * path, old["breakdown"]),
    }


def _note_jump(old: dict[str, Any], jump: Any, traction: Any, w: Any) -> dict[str, Any]:
    """Work, slip and its path length by the jump of the velocity traces."""
    return {
        "work_moved": old["work_moved"] - w[0] * dot(traction, jump),
        "moved1": old["moved1"] + w[0] * jump[1],
        "moved2": old["moved2"] + w[0] * jump[2],
        "moved": old["moved"] + w[0] * m.sqrt(dot(jump, jump)),
    }


__all__ = [
    "AT_ONCE",
    "BREAKDOWN",
    "CLOCK",
    "FAULT_ENERGIES",
    "FRAME",
    "HUGE",
    "MOVED",
    "RECORD",
    "Sizes",
    "fault_energies",
    "loaded_slip",
    "recorded",
    "rupture",
]
