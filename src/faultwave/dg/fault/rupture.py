"""Kernel that solves friction on fault faces, for any friction law, with its options and sizes.

See de la Puente et al. (2009), Pelties et al. (2012) and docs/theory/friction.md, "Friction solve". For each face:

1. The time expansions of the waves of both sides (``waves_in_time``) give the locked traction Theta and, if requested,
the velocity
   jump in the fault frame (n, s1, s2) as modes.
2. At each Gauss point in time, Theta is evaluated at the points of the face, friction is solved, and slip advances. 3.
The mean slip rate is projected to modes and its traction is subtracted from the mean of Theta, which gives T*. Each
side receives
   2 T* - w, the wave with which its star state has exactly the traction T*.

Faces that certainly stay locked during the step skip the points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_

import numpy as np

from faultwave.base.columns import Columns, Row
from faultwave.dg.fault.coupling import FaultCoupling, PrincipalCoupling
from faultwave.dg.fault.record import (
    BALANCED_TRACTION,
    CLOCK,
    JUMP_PATH,
    JUMP_SLIP,
    JUMP_WORK,
    OVERWRITTEN,
    note,
    recorded,
    update_breakdown,
    update_jump_path,
)
from faultwave.dg.fault.transforms import FaceSeries, degree_of, transforms
from faultwave.dg.method.basis import triangle_size
from faultwave.dg.method.formula import Formula, Outputs
from faultwave.kernels import math as m
from faultwave.kernels.expr import Condition, Number, Numbers, wrap
from faultwave.kernels.language import Array, Kernel, LoopIndex, View, as_view
from faultwave.physics.friction.law import FrictionLaw, Load, Solved, state_columns
from faultwave.physics.friction.solvers import known_strength, of_slip
from faultwave.physics.waves.law import dot


@dataclass(frozen=True)
class FrictionOptions:
    """Options of the friction solver.

    Attributes
    ----------
    times : int
        Number of sub-steps of a step.
    whole_steps : bool
        Mark ruptures with the start of the step, as SeisSol does.
    damping : float
        Factor of the locked normal traction until ``damping_end`` [s].
    moved : bool
        Also record slip and work by the velocity jump.
    breakdown : bool
        Also record the breakdown work.
    linear_normal : bool
        Let strength follow the part of the normal traction that is linear on a face.
    quadratic_slip : bool
        Let the quadratic part of slip weaken the fault.
    smooth_sliding : bool
        Remove the highest degree of the slip rate on faces that have weakened.
    grains : bool
        Treat friction in porous rock as if rock were as dense as its grains.
    """

    times: int
    whole_steps: bool = False
    damping: float = 1.0
    damping_end: float = np.inf
    moved: bool = False
    breakdown: bool = False
    linear_normal: bool = False
    quadratic_slip: bool = False
    smooth_sliding: bool = False
    grains: bool = False


@dataclass(frozen=True)
class FrictionSizes:
    """Array sizes and variants of the friction kernel.

    Attributes
    ----------
    rows : tuple of int
        Number of rows of each coefficient of the face time expansion.
    points : int
        Number of points of a face.
    episodes : int
        Number of nucleation episodes.
    options : Options
        Options of the friction solver.
    narrow : bool
        True if waves are stored in single precision.
    conical : bool
        True if the points belong to the conical rule.
    uniform : tuple of str
        Parameters of the law that have one value on the whole fault, which points need not read.
    """

    rows: tuple[int, ...]
    points: int
    episodes: int
    options: FrictionOptions
    narrow: bool = False
    conical: bool = False
    uniform: tuple[str, ...] = ()

    @property
    def degree(self) -> int:
        """Degree of the face modes."""
        return degree_of(self.rows[0])


def record_columns_of(options: FrictionOptions) -> Columns:
    """Return the columns of the record of fault points under ``options``."""
    return recorded(options.moved, options.breakdown, options.smooth_sliding)


ROUNDING = 1e-9
"""Relative amount by which the bound of a traction is widened, more than the rounding error of sums of some hundred numbers."""

WEAKENED = 1.1
"""Mean slip of a face, in units of the slip at which friction becomes dynamic, from which the face counts as weakened.

A tenth more than at the end of the cohesive zone, so that slip there, and with it the rupture time, does not change.
"""

SMALLEST_LOAD, LARGEST_SHARE = 1e-3, 1e4
"""Shear traction [Pa] below which a load has no direction, and largest share whose eighth power single precision represents."""

STANDING = 1.0 - 1e-12
"""Largest ratio of shear traction to strength at a point of a standing face, less than one by more than rounding."""

FRAME = Columns(normal=3, tangent1=3, tangent2=3)
"""Columns of a face's directions; the normal points from plus to minus."""


def rupture(
    law: FrictionLaw, constants: dict[str, float], sizes: FrictionSizes, coupling: FaultCoupling | None = None
) -> Kernel:
    """Return the kernel that solves friction on fault faces.

    Parameters
    ----------
    law : FrictionLaw
        Friction law.
    constants : dict of str to float
        Constants of the law.
    sizes : Sizes
        Numbers of points, modes and sub-steps, and the options of the solve.
    coupling : FaultCoupling, optional
        Elastic response of both sides; isotropic rock by default.
    """
    return _Rupture(law, constants, sizes, coupling or PrincipalCoupling()).build()


def _named(function: Callable[[Row], Outputs], names: Sequence[str]) -> Formula:
    """Return a function of many arguments that passes them to ``function`` by name."""
    return lambda *values: function(Row(zip(names, values, strict=True)))


class _Rupture:
    """Friction kernel under construction: its arrays, and the formulas of a fault point."""

    def __init__(self, law: FrictionLaw, constants: dict[str, float], sizes: FrictionSizes, coupling: FaultCoupling):
        self.law, self.constants, self.sizes, self.coupling = law, constants, sizes, coupling
        self.options = options = sizes.options
        self.columns, self.state_columns = record_columns_of(options), law.shown_columns
        self.inner_columns, self.step_columns = law.inner_columns, state_columns(law.of_step(options.times))
        own = coupling.channels
        self.locked_columns = Columns(traction=own, jump=own if options.moved else 0)
        # Friction acts on the first three components of the traction, except with these two.
        self.feels_other = options.linear_normal or own > 3
        # Short formulas may be repeated: all sub-steps but the last then write less.
        self.short = law.solver == "closed-form"
        self.may_rest = self.short and self._stays_locked() is not False
        solved = dict.fromkeys(("slip_rate1", "slip_rate2", "slip_rate", "strength", "friction"))
        self.solved_columns = Columns(**solved, **{s.name: s.size for s in law.state if not s.inner})
        self.k = Kernel("rupture", fixed=True)
        self._arguments()
        self._temporaries()

    def _stays_locked(self) -> Condition:
        """Return the condition under which any point stays locked, with symbolic parameters and state."""
        p, s = ({name: wrap(1.0) for name in names} for names in (self.law.kernel_parameters, self.law.state_columns))
        return self.law.stays_locked(p, self.constants, s)

    def _arguments(self) -> None:
        k, s = self.k, self.sizes
        b2 = s.rows[0]
        self.slots = k.index("slots", 4)  # waves in time +, -; slots from which each side reads the result, +, -
        own = self.coupling.channels
        self.in_time = k.store("waves_in_time", sum(s.rows) * (2 if s.options.moved else 1), own)
        self.waves = k.store("waves", b2, own, "out", s.narrow)
        self.frame, self.impedance = (
            k.batch("frame", 1, FRAME.size),
            k.batch("impedance", 1, self.coupling.columns.size),
        )
        varying = [name for name in self.law.kernel_parameters if name not in s.uniform]
        self.parameter_names = {n: x for n, x in (("parameter", varying), ("uniform", list(s.uniform))) if x}
        self.parameters: dict[str, Array | View] = {}
        if varying:
            self.parameters["parameter"] = k.batch("parameter", s.points, len(varying))
        if s.uniform:
            self.parameters["uniform"] = k.scalar("uniform", 1, len(s.uniform)).view()
        self.state = k.batch("state", s.points, self.state_columns.size, "inout")
        inner = self.inner_columns.size
        self.inner = [k.batch("inner_state", s.points, inner, "inout")] if inner else []
        self.stress = k.batch("stress", s.points, 3, "inout")
        self.nucleation = k.batch("nucleation", s.points, 3 * max(1, s.episodes))
        self.record = k.batch("record", s.points, self.columns.size, "inout")
        if self.options.moved:
            self.jumped = k.batch("jumped", b2, JUMP_SLIP.size, "inout")
            self.jump_work = k.batch(JUMP_WORK, 1, 1, "inout")
        group = k.index("group")  # of the point rule
        self.transforms = transforms(k, s.points, s.degree, group, s.conical)
        if self.may_rest:
            self.mode_bounds = k.matrix("mode_bounds", 1, b2)
            # 1 if the face slipped in the last step; it is then solved without a check
            self.slides = k.batch("slides", 1, 1, "inout")
        if self.options.smooth_sliding:
            self.face_mean = k.matrix("face_mean", 1, s.points)
        times = self.options.times
        self.at_times, self.weight = k.scalar("at_times", times, len(s.rows)), k.scalar("weight", times)
        self.clock = k.scalar("clock", times, CLOCK.size, True)
        self.ramp = k.scalar("ramp", times, max(1, s.episodes), True)
        self.damping = k.scalar("damping", changing=True)

    def _temporaries(self) -> None:
        k, s, width, own = self.k, self.sizes, self.locked_columns.size, self.coupling.channels
        self.plus, self.minus = (k.temp(side, self.in_time.rows, own) for side in ("plus", "minus"))
        self.locked = k.temp("locked", sum(s.rows), width)
        self.felt = k.temp("felt", sum(s.rows), 3) if self.feels_other else self.locked
        self.now, self.here = (k.temp(n, rows, 3) for n, rows in (("now", s.rows[0]), ("here", s.points)))
        self.acting = k.temp("acting", s.points, 3) if s.options.smooth_sliding else self.here
        self.weakening = k.temp("weakening", 1, 1) if s.options.smooth_sliding else None
        self.smooth = k.temp("smooth", s.points, 1)
        self.solved = k.temp("solved", s.points, self.solved_columns.size)
        size = self.step_columns.size
        self.of_step = [k.temp("of_step", s.points, size)] if size else []
        self.slid, self.slid_modes = k.temp("slid", s.points, 2), k.temp("slid_modes", s.rows[0], 2)
        self.modes = k.temp("modes", s.rows[0], own)

    def build(self) -> Kernel:
        """Record all statements and return the kernel."""
        k, size = self.k, sum(self.sizes.rows)
        k.gather(self.plus, self.in_time, self.slots, 0)
        k.gather(self.minus, self.in_time, self.slots, 1)
        both: list[Array] = [self.plus, self.minus]
        sides: list[Array | View] = [*[x.view(0, size) for x in both], self.frame, self.impedance, self.damping]
        flows = [x.view(size, size) for x in both] if self.options.moved else []
        k.pointwise(lambda *a: [self._locked(*a)], [*sides, *flows], [self.locked])
        self._traction_at_friction()
        if self.options.moved:
            self._follow_jump()
        starts = [self._resampled_start(name) for name in self.law.resampled]
        lengths = [self.clock.view(i, 1, CLOCK.places["duration"].start, 1) for i in range(self.options.times)]
        if self.inner or self.of_step:
            self._change_inner(self.law.begin_step, lengths)
        _zero(k, self.slid_modes, self.locked)
        if self.may_rest:
            k.when_any(self._find_moving(), self._slip)
            k.pointwise(_slides, [self.slid_modes.view(0, 1)], [self.slides])
        else:
            self._slip()
        if self.inner or self.of_step:
            self._change_inner(self.law.end_step, lengths)
        for name, start in zip(self.law.resampled, starts, strict=True):
            self._resample(name, start)
        self._subtract_slip_traction()
        self._write_incoming_waves()
        return k

    def _traction_at_friction(self) -> None:
        """Compute the traction that enters friction, in the vertex order of the points."""
        k, rows = self.k, self.sizes.rows
        if self.feels_other:
            own = self.locked.view(0, sum(rows), 0, self.coupling.channels)
            k.pointwise(lambda t: [[self.coupling.pressing(t), *t[1:3]]], [own], [self.felt])
        if self.options.linear_normal:  # only modes up to degree 1
            for j, count in enumerate(rows):
                if (rest := count - triangle_size(1)) > 0:
                    high = self.felt.view(sum(rows[:j]) + triangle_size(1), rest, 0, 1)
                    k.pointwise(lambda x: [[0.0 * x[0]]], [high], [high])
        self.series = self._series(self.transforms.turned(self.felt, rows))

    def _series(self, array: Array) -> FaceSeries:
        return FaceSeries(array, self.sizes.rows, self.at_times, self.weight)

    def _at_time(self, o: LoopIndex | int) -> None:
        """Evaluate the locked traction at the points at one of the times."""
        self.series.columns(0, 3).at(self.k, self.now, o)
        self.transforms.to_points(self.here, self.now)

    def _slip(self) -> None:
        """Solve all sub-steps; if formulas are repeated, only the last one writes columns that each sub-step overwrites."""
        _zero(self.k, self.slid, self.record)
        self._measure_weakening()
        times = self.options.times
        if self.short and times > 1:
            self.k.repeat("sub", times - 1, lambda o: self._substep(o, False))
            self._substep(times - 1, True)
        else:
            self.k.repeat("sub", times, lambda o: self._substep(o, True))
        self.transforms.to_modes(self.slid_modes, self.slid)

    def _substep(self, o: LoopIndex | int, last: bool) -> None:
        k, points = self.k, self.sizes.points
        self._at_time(o)
        if self.sizes.episodes:
            k.pointwise(_nucleate, [self.stress, self.nucleation, self.ramp.view(o, 1)], [self.stress])
        self._smooth_shear(o)
        given = self._given(o)
        k.pointwise(_named(self._solve, list(given)), list(given.values()), [self.solved])
        rate = self.solved.view(0, points, 2, 1)
        if self.law.project:
            degree = min(self.sizes.degree, 2) if self.options.quadratic_slip else self.sizes.degree
            self.transforms.project(self.smooth, rate, degree)
        given |= {
            "weight": self.weight.view(o, 1), "solved": self.solved, "amount": self.smooth if self.law.project else rate,
            "record": self.record, "slid": self.slid,
        }  # fmt: skip
        given |= self._carried()
        runs = [(array, run) for array, columns, names in self._changing(last) for run in columns.runs(names)]
        outs = [array.view(0, points, run.start, run.stop - run.start) for array, run in runs]

        def advance(row: Row) -> Outputs:
            found = dict(zip(("state", "record", "slid"), self._advance(row), strict=True))
            return [found[array.name][run] for array, run in runs]

        k.pointwise(_named(advance, list(given)), list(given.values()), outs)
        if self.of_step:
            self._change_inner(self.law.end_substep)

    def _given(self, o: LoopIndex | int) -> dict[str, Array | View]:
        """Return the arguments of a point's formulas at one of the times."""
        return self.parameters | {
            "state": self.state, "here": self.acting, "stress": self.stress, "impedance": self.impedance, "clock": self.clock.view(o, 1)
        }  # fmt: skip

    def _carried(self) -> dict[str, Array | View]:
        """Return the traction of both sides and the relative slip of the face, if friction acts on a smoothed traction."""
        return {} if self.weakening is None else {"locked": self.here, "weakening": self.weakening}

    def _by_name(self, *given: Numbers) -> dict[str, Number]:
        """Return the parameters of the law by name from the rows of the parameter arrays."""
        pairs = zip(self.parameter_names.values(), given, strict=True)
        return {name: x for names, values in pairs for name, x in zip(names, values, strict=True)}

    def _changing(self, last: bool) -> list[tuple[Array, Columns, list[str]]]:
        """Return the arrays that a sub-step changes, each with its columns and the names of the changed ones."""
        leaves = ("slip_rate1", "slip_rate2", *OVERWRITTEN, *BALANCED_TRACTION) if not last else ()
        state, record = (
            [name for name in columns if name not in (*leaves, *JUMP_PATH)]
            for columns in (self.state_columns, self.columns)
        )
        slid = Columns(slid=2)
        return [
            (self.state, self.state_columns, state),
            (self.record, self.columns, record),
            (self.slid, slid, ["slid"]),
        ]

    def _find_moving(self) -> Array:
        """Return a flag of the faces that may slip; record for all other faces the values of a step without slip."""
        k, points, last = self.k, self.sizes.points, self.options.times - 1
        moves, count = k.temp("moves", points, 1), k.temp("moving_points", 1, 1)
        requested, may = k.temp("asked", 1, 1), k.temp("may_slip", 1, 1)
        k.pointwise(lambda x: [[1.0 - x[0]], [x[0]]], [self.slides], [requested, may])
        names = (*OVERWRITTEN, *BALANCED_TRACTION) if self.options.smooth_sliding else OVERWRITTEN
        left = self.record.view(0, points, self.columns.places[OVERWRITTEN[0]].start, len(names))
        ramps = {f"ramp{i}": self.ramp.view(i, 1) for i in range(self.options.times)} if self.sizes.episodes else {}

        def ask() -> None:
            self._measure_weakening()
            self._at_time(last)
            self._smooth_shear(last)
            change = {"change": self.series.columns(0, 3).largest_change(k, self.mode_bounds)}
            given = self._given(last) | change | self._carried() | ramps
            k.pointwise(_named(self._may_slip, list(given)), list(given.values()), [moves, left])
            k.contract(count, np.ones((1, points)), moves)
            k.pointwise(lambda x, n: [[m.maximum(x[0], n[0])]], [self.slides, count], [may])

        k.when_any(requested, ask, mostly=True)
        return may

    def _follow_jump(self) -> None:
        """Integrate work, slip and path length of the velocity jump.

        Work is an integral of a product of polynomials and slip an integral of polynomials: both follow from modes.
        Only the path length needs points.
        """
        k, s, width = self.k, self.sizes, self.locked_columns.size
        series = self._series(self.transforms.turned(self.locked, s.rows)) if self.feels_other else self.series
        jump, each = k.temp("jump", s.rows[0], 3), k.temp("work_of_modes", s.rows[0], 1)
        work, here = k.temp("work_of_face", 1, 1), k.temp("jump_here", s.points, 3)
        path = self.record.view(0, s.points, self.columns.places[JUMP_PATH[0]].start, 1)
        _zero(k, work, self.impedance)

        def follow(o: LoopIndex) -> None:
            series.columns(0, width).seen(
                k, o, self._jump_and_work, [jump, each], self.impedance, self.weight.view(o, 1)
            )
            k.contract(work, np.ones((1, s.rows[0])), each, accumulate=True)
            self.transforms.to_points(here, jump)
            k.pointwise(update_jump_path, [path, here, self.weight.view(o, 1)], [path])

        k.repeat("moved", self.options.times, follow)
        k.pointwise(lambda old, x: [[old[0] - 2.0 * x[0]]], [self.jump_work, work], [self.jump_work])
        slip = self.locked.view(0, s.rows[0], self.locked_columns.places["jump"].start + 1, 2)
        k.pointwise(lambda old, x: [[y + z for y, z in zip(old, x, strict=True)]], [self.jumped, slip], [self.jumped])

    def _jump_and_work(self, now: Numbers, impedance: Numbers, weight: Numbers) -> Outputs:
        x, z = self.locked_columns.row(now), self.coupling.columns.row(impedance)
        averaged = self.coupling.averaged(z, x.traction, x.jump)
        return [x.jump[:3], [weight[0] * dot(averaged[:3], x.jump[:3])]]

    def _subtract_slip_traction(self) -> None:
        """Subtract the traction of slip from the locked traction, both averaged over the step."""

        def slipping(theta: Sequence[Number], slid: Numbers, impedance: Numbers) -> Outputs:
            return [self.coupling.slipping(self.coupling.columns.row(impedance), theta, *slid)]

        whole = self.locked.view(0, self.sizes.rows[0], 0, self.coupling.channels)
        self.k.pointwise(slipping, [whole, self.slid_modes, self.impedance], [self.modes])

    def _change_inner(self, change: Callable[..., dict[str, Number]], lengths: Sequence[View] | None = None) -> None:
        """Update inner and per-step state by a function of the law, which may take the ``lengths`` of all sub-steps."""
        inner = [*self.inner, *self.of_step] if lengths else self.of_step
        columns = [self.inner_columns] * len(self.inner) if lengths else []
        columns += [self.step_columns] * len(self.of_step)

        def changed(*given: Numbers) -> tuple[Row, dict[str, Number]]:
            p, (state, *rest) = self._by_name(*given[: len(self.parameters)]), given[len(self.parameters) :]
            rows = [c.row(x) for c, x in zip(columns, rest, strict=False)]
            s = Row(self.state_columns.row(state) | {name: x for row in rows for name, x in row.items()})
            return s, change(p, self.constants, s, *([[x[0] for x in rest[len(inner) :]]] if lengths else []))

        given: list[Array | View] = [*self.parameters.values(), self.state, *inner, *(lengths or [])]
        # A trial call shows which numbers it changes.
        _, found = changed(*[[wrap(1.0)] * as_view(x).cols for x in given])
        if not found:
            return
        names = [name for name in self.state_columns if name in found]
        retained = [(c, array) for c, array in zip(columns, inner, strict=False) if set(c.widths) & set(found)]

        def values(*given: Numbers) -> Outputs:
            s, new = changed(*given)
            return [*[[new[name]] for name in names], *[c.flat(s | new) for c, _ in retained]]

        outs: list[Array | View] = [*map(self._state_of, names), *[array for _, array in retained]]
        self.k.pointwise(values, given, outs, as_written=lengths is not None)

    def _measure_weakening(self) -> None:
        """Compute the mean over the face of slip in units of the slip at which friction becomes dynamic."""
        if self.weakening is not None:
            each = self.k.scratch("relative_slip", self.sizes.points, 1)
            self.k.pointwise(self._relative_slip, [self.state, *self.parameters.values()], [each])
            self.k.contract(self.weakening, self.face_mean, each)

    def _smooth_shear(self, o: LoopIndex | int) -> None:
        """Set the locked traction on which friction acts at one of the times.

        On weakened faces it is replaced by a traction under which either all points slide together or none.

        Slip of the highest degree, and of points next to sliding ones, grows on single triangles, as both sides hardly
        react to it. Therefore the excess of the load over strength loses its highest degree and is drawn towards its
        mean over the face until it has one sign at all points, along the mean load. The mean load does not change,
        friction holds at each point, and the whole traction returns to both sides.
        """
        if self.weakening is None:
            return
        k, points = self.k, self.sizes.points
        loaded, smooth = k.scratch("loaded", points, 3), k.scratch("smooth_load", points, 3)
        given = {**self._given(o), "here": self.here}
        k.pointwise(_named(self._load_and_strength, list(given)), list(given.values()), [loaded])
        self.transforms.project(smooth, loaded, max(self.sizes.degree - 1, 0))
        mean, power, total = k.scratch("mean_load", 1, 3), k.scratch("power", points, 1), k.scratch("power_sum", 1, 1)
        k.contract(mean, self.face_mean, loaded)
        k.pointwise(_reach_over_excess, [smooth, mean], [power])
        k.contract(total, np.ones((1, points)), power)

        def choose(
            own: Numbers, stress: Numbers, new: Numbers, load: Numbers, mean: Numbers, power: Numbers, slip: Numbers
        ) -> Outputs:
            shear = _drawn_together(new, load, mean, power)
            return [[own[0], *[m.where(slip[0] > WEAKENED, shear[i] - stress[i + 1], own[i + 1]) for i in range(2)]]]

        k.pointwise(choose, [self.here, self.stress, smooth, loaded, mean, total, self.weakening], [self.acting])

    def _relative_slip(self, state: Numbers, *parameters: Numbers) -> Outputs:
        return [[self.law.relative_slip(self._by_name(*parameters), self.constants, self.state_columns.row(state))]]

    def _state_of(self, name: str) -> View:
        return self.state.view(0, self.sizes.points, self.state_columns.places[name].start, 1)

    def _resampled_start(self, name: str) -> Array:
        """Copy a state variable at the start of the step."""
        start = self.k.temp(f"start_of_{name}", self.sizes.points, 1)
        self.k.pointwise(lambda x: [list(x)], [self._state_of(name)], [start])
        return start

    def _resample(self, name: str, start: Array) -> None:
        """Project the change of a state variable during the step on the polynomials of the face; otherwise point values drift apart."""
        change = self.k.temp(f"change_of_{name}", self.sizes.points, 1)
        self.k.pointwise(lambda new, old: [[new[0] - old[0]]], [self._state_of(name), start], [change])
        self.transforms.project(self.smooth, change, self.sizes.degree)
        self.k.pointwise(lambda old, x: [[old[0] + x[0]]], [start, self.smooth], [self._state_of(name)])

    def _write_incoming_waves(self) -> None:
        """Send the wave 2 T* - w to each side.

        The traction of the minus side refers to its own normal; -p is equal on both sides.
        """
        k, rows = self.k, self.sizes.rows[0]
        reply = k.temp("reply", rows, self.coupling.channels)
        for side, (given, sign) in enumerate(((self.plus, 2.0), (self.minus, -2.0))):
            wave = given.view(0, rows)

            def answer(t: Numbers, w: Numbers, frame: Numbers, sign: float = sign) -> Outputs:
                n, s1, s2 = FRAME.row(frame).values()
                vector = [sign * (t[0] * n[x] + t[1] * s1[x] + t[2] * s2[x]) - w[x] for x in range(3)]
                return [[*vector, *[2.0 * p - x for p, x in zip(t[3:], w[3:], strict=True)]]]

            k.pointwise(answer, [self.modes, wave, self.frame], [reply])
            k.scatter(reply, self.waves, self.slots, 2 + side)

    def _locked(
        self, plus: Numbers, minus: Numbers, frame: Numbers, impedance: Numbers, damping: Numbers, *flows: Numbers
    ) -> list[Number]:
        """Return Theta and, from the velocities of both sides, the jump v- - v+.

        Waves refer to each side's own normal; -p is equal on both sides, and fluid flows out of one into the other.
        """
        z, directions = self.coupling.columns.row(impedance), FRAME.row(frame).values()
        (wa, wb), jump = ([[dot(x[:3], e) for e in directions] for x in (plus, minus)]), []
        theta = self.coupling.locked(z, [*wa, *plus[3:]], [*[-x for x in wb], *minus[3:]])
        if flows:
            va, vb = ([dot(x[:3], e) for e in directions] for x in flows)
            jump = [
                *[b - a for a, b in zip(va, vb, strict=True)],
                *[-b - a for a, b in zip(flows[0][3:], flows[1][3:], strict=True)],
            ]
        return [damping[0] * theta[0], *theta[1:], *jump]

    # Formulas of one point in one sub-step, over the arguments by name.

    def _point(self, given: Row) -> tuple[dict[str, Number], Row, Load]:
        """Return the parameters, the state and the load of a point."""
        parameters = self._by_name(*(given[name] for name in self.parameters))
        clock = CLOCK.row(given.clock)
        normal, shear1, shear2 = (s + h for s, h in zip(given.stress, given.here, strict=True))
        z = self.coupling.columns.row(given.impedance)
        load = self.coupling.load(z, (shear1, shear2), normal, clock.duration, clock.end)
        return parameters, self.state_columns.row(given.state), load

    def _load_and_strength(self, given: Row) -> Outputs:
        """Return the total shear traction of the locked fault and the strength under its normal traction."""
        p, s, load = self._point(given)
        return [[load.tau1, load.tau2, known_strength(self.law, p, self.constants, s, load)(load)]]

    def _solve(self, given: Row) -> Outputs:
        p, s, load = self._point(given)
        x = self.law.solve(p, self.constants, s, load)
        own = {state.name: x.state.get(state.name, s[state.name]) for state in self.law.state if not state.inner}
        common = {name: getattr(x, name) for name in ("slip_rate1", "slip_rate2", "slip_rate", "strength", "friction")}
        return [self.solved_columns.flat(common | own)]

    def _advance(self, given: Row) -> tuple[list[Number], list[Number], list[Number]]:
        """Return state, record and accumulated slip at the end of the sub-step."""
        p, s, load = self._point(given)
        clock, w = CLOCK.row(given.clock), given.weight
        v = self.solved_columns.row(given.solved)
        own = {state.name: v[state.name] for state in self.law.state if not state.inner}
        x = Solved(v.slip_rate1, v.slip_rate2, v.slip_rate, v.strength, v.friction, own)
        felt_load = of_slip(load, x.slip_rate1, x.slip_rate2)
        new = s | self.law.advance(p, self.constants, s, x, given.amount[0], felt_load)
        if self.options.smooth_sliding:
            weak = self.law.weakened_fully(p, self.constants, new)
            new |= {"friction": m.where(given.weakening[0] > WEAKENED, weak, new["friction"])}
        if self.may_rest:  # locked points get an exact zero, whether or not they were solved
            new |= {name: m.where(x.slip_rate > 0.0, new[name], 0.0) for name in ("slip_rate1", "slip_rate2")}
        fluid = [0.0 * given.here[0]] * (self.coupling.channels - 3)
        z = self.coupling.columns.row(given.impedance)
        carried = felt = self.coupling.slipping(z, [*given.here, *fluid], x.slip_rate1, x.slip_rate2)
        if self.options.smooth_sliding:
            carried = self.coupling.slipping(z, [*given.locked, *fluid], x.slip_rate1, x.slip_rate2)
        before = self.columns.row(given.record)
        notes = note(before, s["slip_rate"], x, carried, clock, w, self.options.whole_steps)
        if self.options.smooth_sliding:
            notes |= dict(zip(BALANCED_TRACTION, felt[1:3], strict=True))
        reached = self.law.dynamic_stress_reached(p, self.constants, new, x.friction)
        weakens = reached & (notes["weakened"] <= 0.0) & (notes["ruptured"] > 0.0)
        notes["weakened"] = m.where(weakens, clock.mark, notes["weakened"])
        if self.options.breakdown:
            total = [given.stress[c] + felt[c] for c in (1, 2)]
            notes |= update_breakdown(before, x, total, w)
        slid = [y + w[0] * rate for y, rate in zip(given.slid, (x.slip_rate1, x.slip_rate2), strict=True)]
        return self.state_columns.flat(new), self.columns.flat(notes), slid

    def _may_slip(self, given: Row) -> Outputs:
        """Return 1 if the point may slip in the step or change state without slip, else 0; and the record of a step without slip."""
        p, s, load = self._point(given)
        rise, *shear = given.change
        strength_at = known_strength(self.law, p, self.constants, s, load)
        strength, least = strength_at(load), strength_at(replace(load, sigma=load.sigma + rise))
        locked = (1.0 + ROUNDING) * (load.shear() + m.sqrt(dot(shear, shear))) < least
        none = 0.0 * s["slip_rate"]
        at_rest = Solved(none, none, none, strength, s["friction"])
        new = dict(self.law.evolve(p, self.constants, s, at_rest, none, load))
        if self.options.smooth_sliding:
            weak = self.law.weakened_fully(p, self.constants, s | new)
            new["friction"] = m.where(given.weakening[0] > WEAKENED, weak, (s | new)["friction"])
        stays = [m.abs(value - s[name]) <= 0.0 for name, value in new.items()]
        stays += [s["slip_rate"] <= 0.0]
        stays += [m.abs(x) <= 0.0 for name, ramp in given.items() if name.startswith("ramp") for x in ramp]
        if (rests := self.law.stays_locked(p, self.constants, s)) is not True:
            stays.append(rests)
        smooth = self.options.smooth_sliding
        normal, one, two = given.locked if smooth else given.here
        felt = list(given.here[1:]) if smooth else []
        return [[m.where(reduce(and_, stays, locked), 0.0, 1.0)], [one, two, normal, strength, *felt]]


def _excess(smooth: Numbers, mean: Numbers) -> tuple[list[Number], Number, list[Number]]:
    """Split the load into its mean excess over strength and the deviation of a point from it.

    Returns
    -------
    along : list
        Direction of the mean load.
    excess : value
        Mean excess of the load over strength in this direction [Pa].
    deviation : list
        Smoothed shear of the point, minus the sum of its strength and the mean excess along this direction [Pa].
    """
    size = m.sqrt(dot(mean[:2], mean[:2])) + SMALLEST_LOAD
    along = [x * (1.0 / size) for x in mean[:2]]
    excess = dot(along, mean[:2]) - mean[2]
    return along, excess, [x - (smooth[2] + excess) * a for x, a in zip(smooth[:2], along, strict=True)]


def _reach_over_excess(smooth: Numbers, mean: Numbers) -> Outputs:
    """Return the deficit of a point's excess with respect to the mean excess, as a fraction of the latter, to the eighth power."""
    along, excess, rest = _excess(smooth, mean)
    reach = m.maximum(-dot(along, rest), 0.0)
    share = m.minimum(reach / (m.abs(excess) + SMALLEST_LOAD), LARGEST_SHARE)
    for _ in range(3):
        share = share * share
    return [[share]]


def _drawn_together(smooth: Numbers, load: Numbers, mean: Numbers, power: Numbers) -> list[Number]:
    """Return the shear traction on which friction acts at a point.

    If the mean load of a face exceeds its mean strength, all its points slide along the mean load; otherwise no point
    slides.
    """
    along, excess, rest = _excess(smooth, mean)
    share = 1.0 / m.maximum(m.sqrt(m.sqrt(m.sqrt(power[0]))), 1.0)  # at least the largest share at any point
    sliding = [load[2] * a + excess * a + share * x for a, x in zip(along, rest, strict=True)]
    size = m.sqrt(dot(load[:2], load[:2]))
    within = m.minimum(STANDING * load[2] / m.maximum(size, SMALLEST_LOAD), 1.0)
    return [m.where(excess > 0.0, x, within * y) for x, y in zip(sliding, load[:2], strict=True)]


def _nucleate(stress: Numbers, extra: Numbers, share: Numbers) -> Outputs:
    return [[stress[c] + dot(extra[c::3], share) for c in range(3)]]


def _slides(slid: Numbers) -> Outputs:
    """Return 1 if the mean slip rate of a face is not zero, else 0."""
    return [[m.where(m.abs(slid[0]) + m.abs(slid[1]) > 0.0, 1.0, 0.0)]]


def _zero(k: Kernel, target: Array, of: Array) -> None:
    """Set an array to zero, with the row count taken from a known array."""
    given = of.view(0, target.rows, 0, 1)
    k.pointwise(lambda x: [[0.0 * x[0]] * target.cols], [given], [target])
