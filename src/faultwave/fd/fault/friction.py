"""Friction on split nodes: stencils between velocities and stresses ([1]_, with the closures of ``split``).

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
from typing import Any

from faultwave.fd.method.fault_plane import FaultPlane, high, locked
from faultwave.fd.method.program import FRICTION_LEVEL, STRESS_LEVEL, VERTICAL_FRICTION_LEVEL, Observer, Scheme
from faultwave.fd.method.split_nodes import compliance
from faultwave.kernels import math as m
from faultwave.kernels.overlap import intersect
from faultwave.kernels.stencil import Axis, Box, Launch, Layout, Point, Stencil
from faultwave.kernels.types import Components, Named, Number, Numbers
from faultwave.physics.friction.initial_stress import smooth_step
from faultwave.physics.friction.law import FrictionLaw, Load, common_update
from faultwave.physics.friction.load import Solved
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
    def kept(self) -> tuple[str, ...]:
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

    def slide(self, axis: Axis, kind: str, step: float) -> Stencil:
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
            found = {at(n, axis): m.where(slips, v, values[n]) for n, v in retained.items()}
            return {name: mean - half, high(name): mean + half} | found

        return Stencil(f"slide_{self.plane.axis}{axis}" + f"_{kind}" * (kind != "inside"), function)

    def age(self, axis: Axis, kind: str, step: float) -> Stencil:
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
            changed = [n for n in self.kept if n not in (STEPS, "traction_n", "strength", *self.law.counted)]
            return {at(STEPS, axis): steps} | {at(n, axis): m.where(slips, new[n], values[n]) for n in changed}

        return Stencil(f"age_{self.plane.axis}{axis}" + f"_{kind}" * (kind != "inside"), function)

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
        return {n: p.at(at(n, axis)) for n in (*self.given, *self.kept)}

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

    def _locked(self, p: Point, axis: Axis, kind: str) -> tuple[Number, Number]:
        """Return the change of the shear traction of the locked fault along the horizontal axis and z."""
        one, two = self._around(lambda q, a: q.at(locked(a)), p, axis, kind)
        return self.sign * one, self.sign * two

    def _around(self, read: Callable[[Any, Axis], Number], p: Point, axis: Axis, kind: str) -> tuple[Number, Number]:
        """Return what ``read`` gives along the horizontal axis and z at a point of the velocity along ``axis``.

        Values along the other axis are means of the surrounding points.
        """
        along = self.plane.along
        other: Axis = along if axis == "z" else "z"
        ahead = 1 if axis == along else -1

        def pair(z: int) -> Number:
            return read(_Moved(p, along, 0, z), other) + read(_Moved(p, along, ahead, z), other)

        if axis == "z":  # the others are half a cell below and above; below the surface, on it
            around = 0.5 * pair(1) if kind == "last" else 0.25 * (pair(0) + pair(1))
            return around, read(p, axis)
        return read(p, axis), 0.5 * pair(-1) if kind == "surface" else 0.25 * (pair(-1) + pair(0))

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


class _Moved:
    """Point shifted along the horizontal axis of the plane and along z."""

    def __init__(self, point: Point, along: Axis, ahead: int, z: int):
        self.point, self.by = point, {along: ahead, "z": z}

    def at(self, name: str) -> Number:
        return self.point.at(name, **self.by)


def _jump(p: Point, plane: FaultPlane, axis: Axis) -> Number:
    """Return the jump of the velocity along an axis, from the lower to the upper side."""
    name = plane.sliding[axis]
    return p.at(high(name)) - p.at(name)


def parameter(name: str) -> str:
    """Return the name of a parameter in ``Sliding.given``, distinct from a state of the same name (imposed slip)."""
    return f"{name}_given"


def at(name: str, axis: Axis) -> str:
    """Return the name of the array of a friction quantity at the points of the velocity along an axis."""
    return f"{name}@{axis}"


def _pressing(p: Point, name: str, axis: Axis, kind: str) -> Number:
    """Return the normal stress at the points of the velocity along ``axis``."""
    if axis == "z" and kind == "last":
        return p.at(name, z=1)
    return 0.5 * (p.at(name) + p.at(name, **{axis: 1}))


def observer(scheme: Scheme, of: Sliding, box: Box) -> Observer:
    """Return the observer of friction, its arrays and launches, in a box of the grid."""
    plane, launches = of.plane, list[tuple[int, Launch]]()
    available = intersect(plane.box, scheme.filled(box))
    if not available.points:
        return Observer()
    layout = Layout(available, group="friction", halo=0)
    arrays = {at(n, axis): layout for axis in plane.sliding for n in (*of.given, *of.kept)}
    for low, end, kind in _planes(scheme, plane):
        region = intersect(available, Box((low, *available.lo[1:]), (end, *available.hi[1:])))
        for axis in plane.sliding:
            if region.points and not (axis == "z" and kind == "surface"):
                level = VERTICAL_FRICTION_LEVEL if axis == "z" else FRICTION_LEVEL
                launches.append((level, Launch(of.slide(axis, kind, scheme.step), region)))
                launches.append((STRESS_LEVEL, Launch(of.age(axis, kind, scheme.step), region)))
    return Observer(arrays, launches)


def _planes(scheme: Scheme, plane: FaultPlane) -> list[tuple[int, int, str]]:
    """Return (first, end, kind) of the ranges of planes along z, with separate ranges near a free surface."""
    (low, _), (end, _), top = plane.first, plane.end, scheme.grid.shape[0]
    if end <= top:
        return [(low, end, "inside")]
    deep = top + 1 - scheme.differences.deep
    found = [(low, deep, "inside"), (deep, top - 1, "inside"), (top - 1, top, "last"), (top, top + 1, "surface")]
    return [(a, b, kind) for a, b, kind in found if a < b]


__all__ = [
    "HUGE",
    "RECORD",
    "RUPTURE_RATE",
    "SLIPS",
    "STEPS",
    "STRESS",
    "Nucleation",
    "Sliding",
    "at",
    "observer",
    "parameter",
]
