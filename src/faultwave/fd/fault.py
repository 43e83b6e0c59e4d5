"""Friction on the split nodes of a fault: stencils of slip, and values of a case at the fault points.

The two in-plane velocities are at different points of the fault, and so are their tractions. Friction is solved at
both kinds of points. There, the locking traction along the other axis is the mean of the surrounding points, and the
normal stress the mean of the two adjacent centres. With V the slip rate and T the change of traction, T = T_locked -
V/c, where c is the change of slip rate per pascal in a step. Friction laws solve this equation with 1/c as the
impedance of the fault.

The state at either kind of points then evolves with the actual slip rates there, those along the other axis averaged
from the surrounding points. With the rates that the law found at the same point, neighbouring states would drift
apart while friction weakens with slip, because nothing resists slip that moves no node.

Time levels: a step advances velocities from half a step before the traction to half a step after it. Slip-dependent
strength is known at the time of the traction. Rate-and-state friction is solved there as well, for slip rate and
state in the middle of the step [2]_ instead of its end, which would be half a step ahead of the waves.

References
----------
.. [1] Dalguer & Day (2007), J. Geophys. Res. 112, B02302.
.. [2] Rojas et al. (2009).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from faultwave.base.errors import Problems, collect_problems
from faultwave.base.types import Setting
from faultwave.case.plausibility import warn_friction
from faultwave.fd.method.grid import Grid
from faultwave.fd.method.program import Observer
from faultwave.fd.method.scheme import Level, PlaneKind, Scheme
from faultwave.fd.method.split_nodes import EVEN, FaultPlane, compliance, high, locked
from faultwave.kernels import math as m
from faultwave.kernels.expr import Components, Named, Number, Numbers
from faultwave.kernels.overlap import intersect
from faultwave.kernels.stencil import Axis, Box, Launch, Layout, Point, Stencil
from faultwave.media import Field, load_field
from faultwave.media.field import check_used
from faultwave.physics.friction import frame
from faultwave.physics.friction.initial_stress import (
    STRESS_ALLOWED,
    initial_names,
    initial_traction,
    prefix_of,
    smooth_step,
    stress_names,
    wrong_stress,
)
from faultwave.physics.friction.law import FrictionLaw, Load, common_update, report
from faultwave.physics.friction.load import Solved
from faultwave.physics.friction.modifiers import composed
from faultwave.physics.friction.solvers import known_rates

RUPTURE_RATE = 1e-3
"""Slip rate [m/s] above which a point has ruptured."""
RECORD = (
    "ruptured",
    "weakened",
    "traction1",
    "traction2",
    "traction_n",
    "strength",
    "work",
    "dissipated",
    "least",
    "breakdown",
)
"""Quantities that a point stores in addition to the state of its law.

Times of rupture and of dynamic stress, changes of traction, strength, work [J/m^2] of the traction change along the
point's own axis, work against friction [J/m^2], the smallest shear traction during slip [Pa], and the breakdown work:
the work above this traction until it was reached, or until the dynamic stress of the law was reached (Tinti, Spudich
& Cocco 2005).
"""
HUGE = 1e30
"""Initial value of the smallest shear traction."""
SLIPS, STEPS = "may_slip", "steps_done"
"""Names of the arrays that hold 1 where the fault may slip, and the number of steps of a point."""
STRESS = ("stress_n", "stress1", "stress2")
"""Initial traction along the normal, the horizontal axis of the plane and z."""


@dataclass(frozen=True)
class Nucleation:
    """Nucleation episode that adds traction from ``start`` [s] on over ``duration`` [s]."""

    start: float
    duration: float


@dataclass(frozen=True)
class Sliding:
    """Friction on a fault plane.

    Attributes
    ----------
    plane : FaultPlane
    law : FrictionLaw
    constants : mapping
        Constants of the law.
    sign : float
        1 if the plus side of the fault is the lower one, else -1. Tractions and slip refer to the normal from plus to
        minus.
    episodes : sequence of Nucleation
    """

    plane: FaultPlane
    law: FrictionLaw
    constants: Mapping[str, float]
    sign: float
    episodes: Sequence[Nucleation] = ()

    @property
    def state(self) -> tuple[str, ...]:
        """Names of all state variables of the law."""
        return tuple(self.law.state_columns.widths)

    @property
    def given(self) -> tuple[str, ...]:
        """Names of the prescribed quantities at points, which stay constant."""
        nucleation = [f"nucleation{n}_{c}" for n in range(len(self.episodes)) for c in ("n", "1", "2")]
        return (SLIPS, *STRESS, *map(parameter, self.law.kernel_parameters), *nucleation)

    @property
    def evolving(self) -> tuple[str, ...]:
        """Names of the quantities that change."""
        return (STEPS, *self.state, *RECORD)

    @property
    def _in_middle(self) -> bool:
        """True if friction is solved for slip rates in the middle of a step, for laws with rate-dependent strength."""
        return self.law.solver == "newton"

    @property
    def _stated(self) -> Mapping[str, float]:
        """Constants of the law; with rates in the middle of a step the state evolves with the solved rates."""
        return {**self.constants, "rs_average": 1} if self._in_middle else self.constants

    def slide(self, axis: Axis, kind: PlaneKind, step: float) -> Stencil:
        """Return the stencil that applies friction to the velocities along an axis.

        ``kind`` is 'inside', 'last' for the plane below the free surface, or 'surface'.
        """

        def function(p: Point) -> dict[str, Number]:
            values, counted = self._values(p, axis), self.law.counted
            normal, evolves = _pressing(p, self.plane.normal, axis, kind), 0.5 * step if self._in_middle else step
            load = self._load(values, self._locked(p, axis, kind), normal, self._eta(p, axis), evolves, step)
            if self.constants.get("rate_at_end"):  # a prescribed rate refers to the time of the velocities
                load = replace(load, t=load.t - 0.5 * step)
            x = self.law.solve(self._parameters(values), self._stated, self._state(values), load)
            slips = values[SLIPS] > 0.0
            own = self._at_end(values, x)[1 if axis == "z" else 0]
            name, rate = self.plane.sliding[axis], m.where(slips, self.sign * own, 0.0 * own)
            mean, half = 0.5 * (p.at(name) + p.at(high(name))), 0.5 * rate
            retained = {"traction_n": normal, "strength": x.strength, **{n: x.state[n] for n in counted}}
            found = {array_at(n, axis): m.where(slips, v, values[n]) for n, v in retained.items()}
            return {name: mean - half, high(name): mean + half} | found

        return Stencil(f"slide_{self.plane.axis}{axis}" + f"_{kind}" * (kind != PlaneKind.INSIDE), function)

    def age(self, axis: Axis, kind: PlaneKind, step: float) -> Stencil:
        """Return the stencil of the quantities stored after a step.

        The state of the law evolves with the actual slip rates; rates along the other axis are means of the
        surrounding points.
        """

        def function(p: Point) -> dict[str, Number]:
            values = self._values(p, axis)
            rates = [self.sign * r for r in self._around(lambda q, a: _jump(q, self.plane, a), p, axis, kind)]
            new = self._aged(values, rates, self._locked(p, axis, kind), self._eta(p, axis), step)
            n = 1 if axis == "z" else 0
            moved = new[f"traction{n + 1}"] * (values[f"slip_rate{n + 1}"] + rates[n])
            new["work"] = values["work"] + (0.5 * step) * moved
            slips, steps = values[SLIPS] > 0.0, values[STEPS] + 1.0
            changed = [n for n in self.evolving if n not in (STEPS, "traction_n", "strength", *self.law.counted)]
            return {array_at(STEPS, axis): steps} | {
                array_at(n, axis): m.where(slips, new[n], values[n]) for n in changed
            }

        return Stencil(f"age_{self.plane.axis}{axis}" + f"_{kind}" * (kind != PlaneKind.INSIDE), function)

    def _aged(
        self, values: Named, rates: Numbers, locked: Numbers, eta: Number, step: float
    ) -> dict[str, Number]:  # fmt: skip
        """Return the quantities stored after a step that ends with slip ``rates``."""
        s, parameters = self._state(values), self._parameters(values)
        rest = self.at_rest(values, values[STEPS] * step)
        change = [t - eta * r for t, r in zip(locked, rates, strict=True)]
        load = self._load(values, locked, values["traction_n"], eta, step, step)
        within = [0.5 * (s[f"slip_rate{n}"] + r) for n, r in enumerate(rates, 1)] if self._in_middle else rates
        x = known_rates(self.law, parameters, self._stated, s, load, (within[0], within[1]))
        new = s | self.law.advance(parameters, self._stated, s, x, x.slip_rate, load)
        if self._in_middle:
            rate = m.sqrt(rates[0] * rates[0] + rates[1] * rates[1])
            new |= common_update(s, replace(x, slip_rate1=rates[0], slip_rate2=rates[1], slip_rate=rate), rate, step)
        new |= self._times(values, new, load, step, parameters)
        new |= {"traction1": change[0], "traction2": change[1]}
        before = self.at_rest(values, (values[STEPS] - 1.0) * step)[1:]
        held = [
            [r + t for r, t in zip(at_rest, changed, strict=True)]
            for at_rest, changed in ((before, (values["traction1"], values["traction2"])), (rest[1:], change))
        ]
        return new | _dissipation(values, rates, held, step)

    def _load(
        self, values: Named, locked: Numbers, normal: Number, eta: Number, evolves: float, step: float
    ) -> Load:  # fmt: skip
        """Return the load on the fault in a step whose state evolves over ``evolves`` [s].

        For rates V in the middle of a step that begins with V_0 and ends with V_1 = 2 V - V_0, the traction T - V_1/c
        is T + V_0/c - 2 V/c.
        """
        rest = self.at_rest(values, values[STEPS] * step)
        shear = [r + t for r, t in zip(rest[1:], locked, strict=True)]
        if self._in_middle:
            shear = [t + eta * values[f"slip_rate{n}"] for n, t in enumerate(shear, 1)]
            eta = 2.0 * eta
        return Load(shear[0], shear[1], rest[0] + normal, eta, evolves, (values[STEPS] + 1.0) * step)

    def _at_end(self, values: Named, x: Solved) -> tuple[Number, Number]:
        """Return the slip rates at the end of a step, extrapolated but at least half of the rates in its middle.

        Without this limit, rates controlled by friction alone would oscillate about their value, and about zero after
        arrest.
        """
        one, two = x.slip_rate1, x.slip_rate2
        if not self._in_middle:
            return one, two
        end = [2.0 * v - values[f"slip_rate{n}"] for n, v in enumerate((one, two), 1)]
        goes_on = end[0] * one + end[1] * two > 0.5 * (one * one + two * two)
        return m.where(goes_on, end[0], 0.5 * one), m.where(goes_on, end[1], 0.5 * two)

    def _values(self, p: Point, axis: Axis) -> dict[str, Number]:
        return {n: p.at(array_at(n, axis)) for n in (*self.given, *self.evolving)}

    def _parameters(self, values: Named) -> dict[str, Number]:
        return {n: values[parameter(n)] for n in self.law.kernel_parameters}

    def _state(self, values: Named) -> dict[str, Number]:
        return {n: values[n] for n in self.state}

    def _eta(self, p: Point, axis: Axis) -> Number:
        """Return the impedance of a step; a fault lies entirely in rock."""
        freed = compliance(p, axis)
        return 1.0 / m.where(freed > 0.0, freed, 0.0 * freed + 1.0)

    def at_rest(self, values: Named, now: Number) -> Components:
        """Return the initial traction and what nucleation has added until ``now`` [s]."""
        rest = [values[n] for n in STRESS]
        for n, episode in enumerate(self.episodes):
            share = smooth_step(now - episode.start, 0.0 * now + episode.duration)
            rest = [r + share * values[f"nucleation{n}_{c}"] for r, c in zip(rest, ("n", "1", "2"), strict=True)]
        return rest

    def _locked(self, p: Point, axis: Axis, kind: PlaneKind) -> tuple[Number, Number]:
        """Return the change of the shear traction of the locked fault along the horizontal axis and z."""
        one, two = self._around(lambda q, a: q.at(locked(a)), p, axis, kind)
        return self.sign * one, self.sign * two

    def _around(
        self, read: Callable[[Point, Axis], Number], p: Point, axis: Axis, kind: PlaneKind
    ) -> tuple[Number, Number]:
        """Return what ``read`` gives along the horizontal axis and z at a point of the velocity along ``axis``.

        Values along the other axis are means of the surrounding points.
        """
        along = self.plane.along
        other: Axis = along if axis == "z" else "z"
        ahead = 1 if axis == along else -1

        def pair(z: int) -> Number:
            return read(_ShiftedPoint(p, along, 0, z), other) + read(_ShiftedPoint(p, along, ahead, z), other)

        if axis == "z":  # the others are half a cell below and above; below the surface, on it
            around = 0.5 * pair(1) if kind == PlaneKind.LAST else 0.25 * (pair(0) + pair(1))
            return around, read(p, axis)
        return read(p, axis), 0.5 * pair(-1) if kind == PlaneKind.SURFACE else 0.25 * (pair(-1) + pair(0))

    def _times(self, old: Named, new: Named, load: Load, step: float, p: Named) -> dict[str, Number]:
        """Return the times of rupture and of dynamic stress after a step.

        Slip-dependent strength is known at the beginning of a step, and the point begins to slip in its middle.
        Rate-and-state friction is solved for slip rates at its beginning, and the state is known in its middle. A
        point ruptures when friction at the point itself lets it slip; the mean rate of its neighbours, which slip
        earlier, would move the front by half a cell.
        """
        start, middle, rate = load.t - step, load.t - 0.5 * step, new["slip_rate"]
        if self.law.solver != "imposed":
            rate = (load.shear() - old["strength"]) / load.eta
        ruptures = (old["ruptured"] <= 0.0) & (rate > RUPTURE_RATE)
        ruptured = m.where(ruptures, start if self._in_middle else middle, old["ruptured"])
        seen, then = (new, middle) if self._in_middle else (old, start)
        weak = self.law.dynamic_stress_reached(p, self.constants, seen, seen["friction"])
        weakens = (old["weakened"] <= 0.0) & (ruptured > 0.0) & weak
        return {"ruptured": ruptured, "weakened": m.where(weakens, then, old["weakened"])}


def _dissipation(old: Named, rates: Numbers, held: Sequence[Numbers], step: float) -> dict[str, Number]:
    """Return the dissipated work, smallest traction and breakdown work after a step that ends with slip ``rates``.

    ``held`` holds the shear traction of the previous step and of this one. Breakdown work counts up to the traction
    in the middle of the step. The previous step used its own traction, which is corrected here to the mean of both.
    """
    last = (old["slip_rate1"], old["slip_rate2"])
    earlier, before, after = (
        one[0] * r[0] + one[1] * r[1] for one, r in ((held[0], last), (held[1], last), (held[1], rates))
    )
    here = old["dissipated"] + (0.5 * step) * (before - earlier)
    one, two = held[1]
    shear = m.sqrt(one * one + two * two)
    falls = (rates[0] * rates[0] + rates[1] * rates[1] > 0.0) & (shear < old["least"]) & (old["weakened"] <= 0.0)
    return {
        "dissipated": here + step * after,
        "least": m.where(falls, shear, old["least"]),
        "breakdown": m.where(falls, here - shear * old["accumulated_slip"], old["breakdown"]),
    }


class _ShiftedPoint:
    """Point shifted along the horizontal axis of the plane and along z."""

    def __init__(self, point: Point, along: Axis, ahead: int, z: int):
        self.point = point
        self.by: dict[str, int] = {along: ahead, "z": z}

    def at(self, name: str, x: int = 0, y: int = 0, z: int = 0) -> Number:
        offset = {"x": x, "y": y, "z": z}
        return self.point.at(name, **{axis: n + self.by.get(axis, 0) for axis, n in offset.items()})

    def on(self, name: str, plane: int, x: int = 0, y: int = 0) -> Number:
        return self.point.on(name, plane, x + self.by.get("x", 0), y + self.by.get("y", 0))

    def line(self, name: str, axis: Axis) -> Number:
        raise ValueError(f"{name} is read away from the point, where profiles cannot be read")

    def parity(self, name: str) -> Number:
        raise ValueError(f"{name} is read away from the point, where tables of parity cannot be read")

    def scalar(self, name: str) -> Number:
        return self.point.scalar(name)


def _jump(p: Point, plane: FaultPlane, axis: Axis) -> Number:
    """Return the jump of the velocity along an axis, from the lower to the upper side."""
    name = plane.sliding[axis]
    return p.at(high(name)) - p.at(name)


def parameter(name: str) -> str:
    """Return the name of a parameter in ``Sliding.given``, distinct from a state of the same name (imposed slip)."""
    return f"{name}_given"


def array_at(name: str, axis: Axis) -> str:
    """Return the name of the array of a friction quantity at the points of the velocity along an axis."""
    return f"{name}@{axis}"


def _pressing(p: Point, name: str, axis: Axis, kind: PlaneKind) -> Number:
    """Return the normal stress at the points of the velocity along ``axis``."""
    if axis == "z" and kind == PlaneKind.LAST:
        return p.at(name, z=1)
    return 0.5 * (p.at(name) + p.at(name, **{axis: 1}))


def observer(scheme: Scheme, of: Sliding, box: Box) -> Observer:
    """Return the observer of friction, its arrays and launches, in a box of the grid."""
    plane, launches = of.plane, list[tuple[int, Launch]]()
    available = intersect(plane.box, scheme.filled(box))
    if not available.points:
        return Observer()
    layout = Layout(available, group="friction", halo=0)
    arrays = {array_at(n, axis): layout for axis in plane.sliding for n in (*of.given, *of.evolving)}
    for low, end, kind in _planes(scheme, plane):
        region = intersect(available, Box((low, *available.lo[1:]), (end, *available.hi[1:])))
        for axis in plane.sliding:
            if region.points and not (axis == "z" and kind == PlaneKind.SURFACE):
                level = Level.VERTICAL_FRICTION if axis == "z" else Level.FRICTION
                launches.append((level, Launch(of.slide(axis, kind, scheme.step), region)))
                launches.append((Level.STRESS, Launch(of.age(axis, kind, scheme.step), region)))
    return Observer(arrays, launches)


def _planes(scheme: Scheme, plane: FaultPlane) -> list[tuple[int, int, PlaneKind]]:
    """Return (first, end, kind) of the ranges of planes along z, with separate ranges near a free surface."""
    (low, _), (end, _), top = plane.first, plane.end, scheme.grid.shape[0]
    if end <= top:
        return [(low, end, PlaneKind.INSIDE)]
    deep = top + 1 - scheme.differences.deep
    found = [
        (low, deep, PlaneKind.INSIDE),
        (deep, top - 1, PlaneKind.INSIDE),
        (top - 1, top, PlaneKind.LAST),
        (top, top + 1, PlaneKind.SURFACE),
    ]
    return [(a, b, kind) for a, b, kind in found if a < b]


FAULT_TAG = 3
"""Tag of fault points, for models that distinguish parts of a mesh."""


@dataclass(frozen=True)
class Directions:
    """Unit vectors (3,) of a fault plane.

    Attributes
    ----------
    normal : ndarray
        Normal from the plus to the minus side.
    along, up, strike, dip : ndarray
        Horizontal axis of the plane, upwards, strike and dip.
    sign : float
        1 if the normal points along its axis, else -1.
    """

    normal: np.ndarray
    along: np.ndarray
    up: np.ndarray
    strike: np.ndarray
    dip: np.ndarray
    sign: float


def directions_of(setting: Setting, plane: FaultPlane, corner: np.ndarray) -> Directions:
    """Return the directions of the fault whose sides ``setting`` defines; ``corner`` (3,) [m] lies in its plane."""
    across = np.eye(3)["xyz".index(plane.axis)]
    lower_is_plus = frame.plus_side(
        setting.reference_method, setting.reference, across[None], corner[None], (corner - across)[None]
    )
    sign = 1.0 if lower_is_plus[0] else -1.0
    strike, dip = frame.strike_dip((sign * across)[None])
    along = np.eye(3)["xyz".index(plane.along)]
    return Directions(sign * across, along, np.array([0.0, 0.0, 1.0]), strike[0], dip[0], sign)


def constants_of(setting: Setting, law: FrictionLaw) -> dict[str, float]:
    """Return the constants of the law; raise InputError if they are invalid."""
    own = {"forced_rupture_ramp": setting.forced_rupture_ramp, "healing_threshold": setting.healing_threshold}
    declared = {c.name for c in law.constants}
    return law.settings({k: v for k, v in own.items() if k in declared} | setting.constants)


@dataclass(frozen=True)
class Given:
    """Values at the points of one component of slip.

    Attributes
    ----------
    places : ndarray, shape (nz, ny, nx, 3)
        Coordinates [m].
    values : mapping of ndarray
        Values of ``Sliding.given`` by name.
    state : mapping of ndarray
        Initial state by name.
    """

    places: np.ndarray
    values: Mapping[str, np.ndarray]
    state: Mapping[str, np.ndarray]

    @property
    def slips(self) -> np.ndarray:
        """True at points that may slip."""
        return np.asarray(self.values[SLIPS] > 0)


class Reader:
    """Reader of the values that a case gives on a fault plane.

    Parameters
    ----------
    setting : Setting
        Setting ``fault`` of the case.
    law : FrictionLaw
    constants : mapping of str to float
        Constants of the law.
    to : Directions
        Directions of the plane.
    problems : Problems
        Receives errors and warnings, each once.
    """

    def __init__(
        self, setting: Setting, law: FrictionLaw, constants: Mapping[str, float], to: Directions, problems: Problems
    ):
        self.setting, self.law, self.constants, self.to, self.problems = setting, law, constants, to, problems
        self.field = load_field(setting.parameters, "fault.parameters")
        self.nucleation: list[Field] = []
        known = {name for q in law.parameters for name in (q.name, *q.aliases)}
        if law.needs_stress:
            known |= initial_names("")
        check_used(self.field, known, f"friction {law.name}", problems)
        for i, episode in enumerate(setting.nucleation):
            field = load_field(episode.stress, f"fault.nucleation[{i}].stress")
            check_used(field, initial_names(prefix_of(episode.number)), "an episode of nucleation", problems)
            self.nucleation.append(field)

    @property
    def episodes(self) -> list[Nucleation]:
        """Episodes of nucleation."""
        return [Nucleation(e.start, e.duration) for e in self.setting.nucleation]

    def read(self, grid: Grid, plane: FaultPlane, axis: Axis, extent: tuple[np.ndarray, np.ndarray]) -> Given:
        """Return the values at the points of the velocity along an axis.

        Points inside ``extent``, two corners (3,) [m], may slip.

        Raises
        ------
        InputError
            If the friction parameters or the initial stress are invalid.
        """
        places = grid.places(plane.sliding[axis], plane.box)
        points = np.clip(places.reshape(-1, 3), *extent)
        tags, law, c = np.full(len(points), FAULT_TAG), self.law, dict(self.constants)
        wanted = [n for q in law.parameters for n in (q.name, *q.aliases) if n in self.field.parameters]
        given = self.field.evaluate(points, tags, wanted)
        found = Problems()
        found.extend(law.check_given(given, points).items)
        warn_friction(given, c, float((extent[1] - extent[0]).max()), found)
        values = law.given(given, len(points))
        stress = (
            self._traction(self.field, 0, "fault.parameters", points)
            if law.needs_stress
            else np.zeros((len(points), 3))
        )
        to = [np.broadcast_to(v, points.shape) for v in (self.to.along, self.to.up, self.to.strike, self.to.dip)]
        prepared = law.prepare(values, c, frame.directions(*to))
        shear = np.hypot(stress[:, 1], stress[:, 2])
        found.extend(law.check(values, c, shear, stress[:, 0], points).items)
        reported = {str(p) for p in self.problems.items}
        self.problems.extend(p for p in found.items if str(p) not in reported)
        found.raise_errors()
        state = initial_state(law, prepared, c, stress)
        made = {parameter(n): np.asarray(prepared[n], float) for n in law.kernel_parameters}
        made |= dict(zip(STRESS, stress.T, strict=True)) | {SLIPS: self._slips(grid, places.reshape(-1, 3), extent)}
        made |= self._nucleation(points)
        shape = places.shape[:3]
        return Given(
            places,
            {n: v.reshape(shape) for n, v in made.items()},
            {n: np.asarray(v).reshape(shape) for n, v in state.items()},
        )

    def _slips(self, grid: Grid, places: np.ndarray, extent: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """Return 1 inside the rectangle and where it reaches the ground, 0 on its edges and beyond."""
        near = EVEN * grid.spacing
        inside = (places[:, 2] > extent[0][2] + near) & (places[:, 2] < extent[1][2] - near)
        inside |= (extent[1][2] > grid.upper[2] - near) & (places[:, 2] > extent[0][2] + near)
        for k in range(2):
            if extent[1][k] > extent[0][k]:
                inside &= (places[:, k] > extent[0][k] + near) & (places[:, k] < extent[1][k] - near)
        return inside.astype(float)

    def _traction(self, field: Field, episode: int, where: str, points: np.ndarray) -> np.ndarray:
        """Return the traction (n, 3) [Pa] along the normal, the horizontal axis and z."""
        prefix = prefix_of(episode)
        names = stress_names(field.parameters, prefix, self.setting.pore_pressure, where)
        values = field.evaluate(points, np.full(len(points), FAULT_TAG), names)
        to = self.to
        vectors = [np.broadcast_to(v, points.shape) for v in (to.normal, to.along, to.up, to.strike, to.dip)]
        normal, along, up, strike, dip = vectors
        return initial_traction(values, normal, along, up, strike, dip, prefix)

    def _nucleation(self, points: np.ndarray) -> dict[str, np.ndarray]:
        found: dict[str, np.ndarray] = {}
        for i, (e, field) in enumerate(zip(self.setting.nucleation, self.nucleation, strict=True)):
            traction = self._traction(field, e.number, f"fault.nucleation[{i}].stress", points)
            size = np.abs(traction).max(1)
            bad = wrong_stress(traction)
            report(self.problems, bad, points, f"nucleation stress of episode {i + 1} is", size, STRESS_ALLOWED)
            found |= {f"nucleation{i}_{c}": traction[:, n] for n, c in enumerate(("n", "1", "2"))}
        return found


def initial_state(
    law: FrictionLaw, parameters: Mapping[str, np.ndarray], constants: Mapping[str, float], stress: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the state variables (n,) that do not start at zero.

    Parameters
    ----------
    law : FrictionLaw
    parameters : mapping of ndarray
        Values (n,) of ``law.kernel_parameters``.
    constants : mapping of float
    stress : ndarray (n, 3)
        Initial traction [Pa] along the normal, the horizontal axis and z.
    """
    shear = np.hypot(stress[:, 1], stress[:, 2])
    state = law.initial(parameters, constants, shear, stress[:, 0])
    if "slip_rate" in state:  # components along the initial traction
        scale = state["slip_rate"] / np.where(shear > 0, shear, 1.0)
        state = state | {"slip_rate1": scale * stress[:, 1], "slip_rate2": scale * stress[:, 2]}
    return state


def law_of(setting: Setting, problems: Problems) -> FrictionLaw | None:
    """Return the friction law, or None with problems reported if a grid does not support it."""
    law: FrictionLaw | None = None
    with collect_problems(problems):
        law = composed(setting.friction, setting.modifiers)
    if law is None:
        return None
    vectors = [s.name for s in law.state if s.size is not None and s.size != 1]
    if vectors or law.inner_columns.size or law.of_step(1):
        what = f"friction {law.name} stores vectors at each point, which the engine fd does not support"
        where = "fault.modifiers" if setting.modifiers else "fault.friction"
        problems.error(where, what, "laws and modifiers with scalar state variables", "Use engine: dg.")
        return None
    return law
