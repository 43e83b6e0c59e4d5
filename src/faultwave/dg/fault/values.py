"""Output quantities of a fault at chosen points, from the friction record and the state of both sides.

Slip, slip rate, traction, times and peaks are values of the friction points at the end of the step; the slip rate is the last one
by which slip grew. Alternatively, as in SeisSol, traction and slip rate follow from the state of both sides: the locked traction of the
two traces, limited by the strength (docs/theory/friction.md, "Outputs"). Faces are the last axis of arrays, so that formulas work on many
faces, or on the same faces at many times, in one call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from faultwave.base.columns import Row
from faultwave.base.quantities import Output
from faultwave.dg.fault.faces import Fault
from faultwave.dg.fault.points import PERMUTATIONS
from faultwave.dg.fault.record import BALANCED_TRACTION, FIRST_STEP_TIME
from faultwave.dg.method.basis import (
    face_points,
    inner,
    tet_basis,
    triangle_basis,
    triangle_basis_gradient,
    triangle_size,
)
from faultwave.dg.operators.operator import transform
from faultwave.physics.friction.load import Load, Solved, Values
from faultwave.physics.friction.solvers import in_any_direction, sliding

SIMULTANEOUS = 1e-6
"""Relative difference of the rupture times of a face below which no rupture speed is computed."""

Side = np.ndarray
"""Outgoing waves, then velocities, along n, s1, s2 and in the pore fluid, (2, 3 or 4, q, n)."""


@dataclass(frozen=True)
class FaultSample:
    """Friction values of one reading or several.

    Attributes
    ----------
    record, stress, state : (columns, p, n) float
        Record, traction and state of the friction law at the points that are read.
    ruptured : (p, n) float
        Rupture times [s] of all friction points.
    """

    record: np.ndarray
    stress: np.ndarray
    state: np.ndarray
    ruptured: np.ndarray


@dataclass(frozen=True)
class ReadingMode:
    """Way in which quantities at points of a fault are computed.

    Attributes
    ----------
    exact : bool
        Interpolate values of the friction points by projecting them on the polynomials of the face, except times, which
        jump. Otherwise the nearest friction point is used.
    from_velocity : bool
        Compute the slip rate from the velocity jump.
    from_waves : bool
        Compute traction and slip rate from the waves of both sides at the point, as SeisSol does. Otherwise the values of the friction
        points are used.
    """

    exact: bool = False
    from_velocity: bool = False
    from_waves: bool = False


class FaultValues:
    """Evaluation of output quantities at points of fault faces.

    Parameters
    ----------
    fault : Fault
        Friction solver.
    items : (n,) int
        Faces.
    points : (n, q, 2) or (q, 2) float
        Points in face coordinates, of each face or the same for all.
    mode : ReadingMode

    Attributes
    ----------
    buffers : list
        Names of the friction buffers to read and the indices (n, m) of the numbers to read of each face, None for all.
    """

    def __init__(self, fault: Fault, items: np.ndarray, points: np.ndarray, mode: ReadingMode):
        self.fault, self.mode = fault, mode
        # true if values of all friction points are needed
        self.whole = mode.exact or (mode.from_waves and fault.options.linear_normal)
        faces, order = fault.faces, fault.operator.order
        given, points = points, np.broadcast_to(points, (len(items), *points.shape[-2:]))
        self.points = points.shape[1]
        near = _nearest(fault, items, points)
        self.nearest, self.each = near.T, np.arange(len(items))
        self.rows = [np.flatnonzero(faces.cells[items, side] >= 0) for side in range(2)]  # faces whose side is local
        phi = triangle_basis(given.reshape(-1, 2), order - 1).reshape(-1, self.points, fault.operator.b2)
        phi = np.broadcast_to(phi, (len(items), *phi.shape[1:])) if self.whole else np.zeros((len(items), 0, 0))
        self.phi = np.ascontiguousarray(phi.T)
        self.psi = self._basis_of_cells(items, given, points)
        self.readers = [fault.operator.reader(faces.cells[items[r], i]) for i, r in enumerate(self.rows)]
        self.strike, self.dip = (
            np.stack([(d[items] * t[items]).sum(1) for t in (faces.tangent1, faces.tangent2)])
            for d in (faces.strike, faces.dip)
        )
        self.impedance = np.ascontiguousarray(fault.impedance[items].T)
        self.shown = [self._shown(side, items) for side in range(2)]
        rule = fault.rule.points
        slopes = triangle_basis_gradient(rule.reshape(-1, 2), order - 1)[1].reshape(*rule.shape[:2], -1, 2)
        # Gradients at friction points from values there, by group: (groups, p, 2, p).
        self.slopes, self.group = slopes.swapaxes(2, 3) @ fault.rule.back[:, None], faces.group[items]
        corners = faces.corners[items]
        edges = np.stack([corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]], 1)
        self.metric = np.linalg.inv(edges @ edges.transpose(0, 2, 1))
        self.parameters = self._parameters(items)
        self.buffers = self._stored_fields(near)
        self._tiled: tuple[int, FaultValues] = (1, self)

    def _basis_of_cells(self, items: np.ndarray, given: np.ndarray, points: np.ndarray) -> list[np.ndarray]:
        """Return the basis functions of each side's cells at the points, (n of that side, q, B3)."""
        order, local = self.fault.operator.order, self.fault.faces.faces[items]
        psi = np.empty((len(items), 2, self.points, self.fault.operator.b3))
        for f in np.unique(local).tolist():  # points that all faces share are evaluated once
            item, side = np.nonzero(local == f)
            where = given if given.ndim == 2 else points[item]
            values = tet_basis(face_points(f, where.reshape(-1, 2)), order - 1)
            psi[item, side] = values.reshape(-1, *psi.shape[2:])
        return [psi[rows, side] for side, rows in enumerate(self.rows)]

    def _shown(self, side: int, items: np.ndarray) -> np.ndarray:
        """Return the matrices (n of that side, Q, 2 channels) from the form's quantities to outgoing waves and velocities.

        Both are along n, s1, s2.
        """
        op, faces, rows, sign = self.fault.operator, self.fault.faces, self.rows[side], (1.0, -1.0)[side]
        frame = [getattr(faces, name)[items[rows]].T for name in ("normal", "tangent1", "tangent2")]
        each = np.broadcast_to(np.eye(op.form.Q), (len(rows), op.form.Q, op.form.Q))  # one quantity after the other
        q = transform(each, self.readers[side].to_physical).transpose(2, 1, 0)
        force, flow = op.law.sides(op.law.flux(q, list(frame[0])), op.law.potential(q))
        speeds = [*_along(frame, flow[:3]), *flow[3:]]
        impeded = self.fault.coupling.impeded(self._sides(rows), side, speeds)
        traction = [*_along(frame, force[:3]), *force[3:]]
        waves = [t - sign * z for t, z in zip(traction, impeded, strict=True)]
        return np.ascontiguousarray(np.stack([*waves, *speeds]).transpose(2, 1, 0))

    def _parameters(self, items: np.ndarray) -> dict[str, np.ndarray]:
        """Return the parameters of the friction law by name, at the points where its state is read."""
        found = {name: np.ascontiguousarray(v.T) for name, v in self.fault.parameters(items).items()}  # (p, n)
        return found if self.whole else {name: v[self.nearest, self.each] for name, v in found.items()}

    def _stored_fields(self, near: np.ndarray) -> list[tuple[str, np.ndarray | None]]:
        names = ("record", "stress", "state")
        if self.whole:
            return [(name, None) for name in names]
        found: list[tuple[str, np.ndarray | None]] = []
        for name, columns in zip(names, (self.fault.columns.size, 3, self.fault.state_columns.size), strict=True):
            some = near[:, None] * columns + np.arange(columns)[:, None]
            found.append((name, some.reshape(len(near), columns * self.points)))
        size, place = self.fault.columns.size, self.fault.columns.places["ruptured"].start
        of_all = np.arange(len(self.fault.rule.weights)) * size + place
        return [*found, ("record", np.tile(of_all, (len(near), 1)))]

    def seen(self, raw: Sequence[np.ndarray]) -> FaultSample:
        """Arrange the buffers listed in ``self.buffers``, (n, m) each, as ``FaultSample``."""
        n, points = len(raw[0]), len(self.fault.rule.weights)
        flat = [np.ascontiguousarray(v.T) for v in raw]
        if self.whole:
            record, stress, state = (v.reshape(points, len(v) // points, n).swapaxes(0, 1) for v in flat)
            return FaultSample(record, stress, state, record[self.fault.columns.places["ruptured"].start])
        record, stress, state = (v.reshape(len(v) // self.points, self.points, n) for v in flat[:3])
        return FaultSample(record, stress, state, flat[3])

    def times(self, count: int) -> FaultValues:
        """Return an evaluator for ``count`` consecutive readings of the same points; all sides must be local."""
        if self._tiled[0] != count:
            many = copy(self)
            for name in ("nearest", "phi", "impedance", "group", "strike", "dip"):
                array = getattr(self, name)
                setattr(many, name, np.tile(array, (*[1] * (array.ndim - 1), count)))
            many.each = np.arange(count * len(self.each))
            many.parameters = {name: np.tile(v, (1, count)) for name, v in self.parameters.items()}
            self._tiled = (count, many)
        return self._tiled[1]

    def side(self, side: int, dofs: np.ndarray) -> np.ndarray:
        """Return outgoing waves and velocities of one side, (2, channels, q, readings, n), 0 where the side is not local.

        Each face of each reading is a separate product, so that rounding does not depend on the number of faces.

        Parameters
        ----------
        side : {0, 1}
            Plus or minus side.
        dofs : (readings, n of that side, B3, Q) float
            Degrees of freedom of the cells.
        """
        rows, channels = self.rows[side], self.fault.coupling.channels
        q = np.matmul(self.psi[side], dofs.astype(float, copy=False))
        found = np.matmul(q, self.shown[side]).transpose(3, 2, 0, 1)
        if len(rows) < len(self.each):
            whole = np.zeros((*found.shape[:3], len(self.each)))
            whole[..., rows] = found
            found = whole
        return np.ascontiguousarray(found).reshape(2, channels, *found.shape[1:])

    def _sides(self, rows: np.ndarray | slice) -> Row:
        """Return the coupling constants of the faces ``rows``, (n,) by name."""
        return self.fault.coupling.columns.row(list(self.impedance[:, rows]))

    def __call__(self, names: Sequence[str], seen: FaultSample, sides: Sequence[Side]) -> np.ndarray:
        """Return the named quantities at the points, (names, q, n)."""
        fault = self.fault
        state = fault.state_columns.row(list(seen.state))
        stress = dict(zip(("stress_n", "stress1", "stress2"), seen.stress, strict=True))
        r = fault.columns.row(list(seen.record)) | stress | state
        make = self._table(r, state, seen, self._now(r, state, [s[0] for s in sides], [s[1] for s in sides]))
        return np.stack([make[name]() for name in names])

    def _at(self, values: np.ndarray, smooth: bool = True) -> np.ndarray:
        """Evaluate values of the friction points (p, n) at the output points (q, n), unless they were read there."""
        if not self.whole:
            return values
        if self.mode.exact and smooth:
            return _summed(self.phi, self._modes(values)[:, None])
        return np.asarray(values[self.nearest, self.each])

    def _linear(self, values: np.ndarray) -> np.ndarray:
        """Return the part of the values that is linear on the face, at the points: the part on which strength depends."""
        few = triangle_size(1)
        return _summed(self.phi[:few], self._modes(values)[:few, None])

    def _modes(self, values: np.ndarray) -> np.ndarray:
        return inner(self.fault.rule.back[self.group], values.T[:, None]).T

    def _now(
        self,
        r: Mapping[str, np.ndarray],
        state: Row,
        waves: Sequence[Sequence[np.ndarray]],
        speeds: Sequence[np.ndarray],
    ) -> dict[str, np.ndarray]:
        """Return traction changes along n, s1, s2, slip rates, velocity jump and common normal velocity, (q, n) each."""
        z, own = self._sides(slice(None)), self.fault.coupling
        locked = own.locked(z, waves[0], waves[1])
        whole = locked[0]
        if self.mode.from_waves:
            normal, shear, rates, locked, traction = self._of_waves(r, state, z, locked)
        else:
            normal, shear, rates = self._of_friction(r, state)
            traction = own.slipping(z, locked, *rates)
        jump = speeds[1] - speeds[0]
        opening = own.normal_flow(z, waves[0], waves[1], [traction[0] + (whole - locked[0]), *traction[1:]])
        return {
            "n": normal, "1": shear[0], "2": shear[1], "normal": opening, "jump1": jump[1],
            "jump2": jump[2], "rate1": rates[0], "rate2": rates[1],
        }  # fmt: skip

    def _of_friction(
        self, r: Mapping[str, np.ndarray], state: Row
    ) -> tuple[np.ndarray, list[np.ndarray], list[np.ndarray]]:
        """Return normal and shear traction changes and slip rates at the end of the step, as the friction solver left them.

        Slip grew by these rates in the last sub-step. The traction of a slipping point is its strength at the end of the step, which
        weakening has made slightly smaller than in the sub-step.
        """
        fault = self.fault
        names = BALANCED_TRACTION if fault.options.smooth_sliding else ("traction1", "traction2")
        rates = [r[f"slip_rate{c}"] for c in (1, 2)]
        total = [r[name] + r[f"stress{c}"] for name, c in zip(names, (1, 2), strict=True)]
        normal = r["traction_n"]
        if fault.law.needs_stress:
            sigma = normal + r["stress_n"]
            # valid for every coupling, as only the normal traction is read
            load = Load(tau1=total[0], tau2=total[1], sigma=sigma, eta=1.0, dt=0.0, t=0.0)
            strength, effective = self._strength(state, load, here=True)
            size = np.hypot(*total)
            slides = (r["slip_rate"] > 0.0) & (size > 0.0)
            total = [np.where(slides, t * (strength / np.where(size > 0.0, size, 1.0)), t) for t in total]
            normal = normal if effective is sigma else normal + (effective - sigma)
        # stress may jump within a face, while the sum varies smoothly
        shear = [self._at(t) - self._at(r[f"stress{c}"], False) for c, t in zip((1, 2), total, strict=True)]
        return self._at(normal), shear, [self._at(v) for v in rates]

    def _of_waves(
        self, r: Mapping[str, np.ndarray], state: Row, z: Row, locked: list[np.ndarray]
    ) -> tuple[np.ndarray, list[np.ndarray], list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
        """Return traction changes and slip rates from the waves of both sides, limited by the present strength.

        The locked and the limited traction of the waves are returned as well.
        """
        fault, own = self.fault, self.fault.coupling
        if fault.options.linear_normal:  # applies to the effective normal traction
            locked[0] = self._linear(r["traction_n"]) + (locked[0] - own.pressing(locked))
        sigma = total_sigma = own.pressing(locked) + self._at(r["stress_n"], False)
        tau = [locked[c] + self._at(r[f"stress{c}"], False) for c in (1, 2)]
        load = own.load(z, tau, sigma, 0.0, 0.0)
        traction, rates = locked, [self._at(r[f"slip_rate{c}"]) for c in (1, 2)]
        if not fault.law.needs_stress:
            traction = own.slipping(z, locked, *rates)
        elif load.coupling is None:
            size = np.hypot(*tau)
            strength, sigma = self._strength(state, load)
            share = np.where(size > strength, strength / np.where(size > 0, size, 1.0), 1.0)
            traction = [locked[0], *(t * share - t + locked[c] for c, t in zip((1, 2), tau, strict=True)), *locked[3:]]
        else:
            found = in_any_direction(self._slide, self, {}, {}, state, load)
            rates = [np.asarray(found.slip_rate1), np.asarray(found.slip_rate2)]
            traction = own.slipping(z, locked, *rates)
            total_sigma = sigma + (own.pressing(traction) - own.pressing(locked))
            sigma = self._strength(state, replace(load, sigma=total_sigma))[1]
        if load.coupling is None:
            rates = [(locked[c] - traction[c]) / load.eta for c in (1, 2)]
        # Effective normal traction: without modifiers bitwise the traction of the waves.
        normal = own.pressing(traction)
        normal = normal if sigma is total_sigma else normal + (sigma - total_sigma)
        return normal, traction[1:3], rates, locked, traction

    def _slide(self, law: FaultValues, p: Values, c: Values, s: Values, load: Load) -> Solved:
        """Solve slip along a direction under the present strength."""
        rate, strength = sliding(lambda at: self._strength(s, at)[0], load)
        return Solved(rate, 0.0 * rate, rate, strength, 0.0 * rate)

    def _strength(self, state: Values, load: Load, here: bool = False) -> tuple[np.ndarray, Any]:
        """Return the strength under a load and the effective normal traction.

        Parameters and state are taken at the nearest friction points, or with ``here`` at all points that were read.
        """
        law, c = self.fault.law, self.fault.constants

        def near(values: np.ndarray) -> np.ndarray:
            return values if here else self._at(values, False)

        p = {name: near(values) for name, values in self.parameters.items()}
        s = {name: [near(one) for one in v] if isinstance(v, list) else near(v) for name, v in state.items()}
        pressed = law.pressed(p, c, s, load)
        return np.asarray(law.strength(p, c, s, pressed)), pressed.sigma

    def _table(
        self, r: Mapping[str, np.ndarray], state: Row, seen: FaultSample, now: dict[str, np.ndarray]
    ) -> dict[str, Callable[[], np.ndarray]]:
        def along(direction: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
            return np.asarray(direction[0] * a + direction[1] * b)

        def output(o: Output) -> Callable[[], np.ndarray]:
            def made() -> np.ndarray:
                values = np.asarray(o.formula(self.parameters, self.fault.constants, state))
                if o.decades and self.mode.exact:
                    return np.asarray(np.exp(self._at(np.log(np.maximum(values, 1e-300)))))
                return self._at(values)

            return made

        rates = ("jump1", "jump2") if self.mode.from_velocity else ("rate1", "rate2")
        start = [self._at(r[k], False) for k in ("stress1", "stress2")]
        total = (now["1"] + start[0], now["2"] + start[1])
        slip = [self._at(r[k]) for k in ("slip1", "slip2")]
        return {
            "SRs": lambda: along(self.strike, now[rates[0]], now[rates[1]]),
            "SRd": lambda: along(self.dip, now[rates[0]], now[rates[1]]),
            "T_s": lambda: along(self.strike, now["1"], now["2"]),
            "T_d": lambda: along(self.dip, now["1"], now["2"]),
            "P_n": lambda: now["n"],
            "u_n": lambda: now["normal"],
            "Ts0": lambda: along(self.strike, *total),
            "Td0": lambda: along(self.dip, *total),
            "Pn0": lambda: now["n"] + self._at(r["stress_n"], False),
            "Sls": lambda: along(self.strike, *slip),
            "Sld": lambda: along(self.dip, *slip),
            "Vr": lambda: self._rupture_speed(seen.ruptured),
            "ASl": lambda: self._at(r["accumulated_slip"]),
            "PSR": lambda: self._at(r["peak_slip_rate"], False),
            "RT": lambda: self._at(r["ruptured"], False),
            "DS": lambda: self._at(r["weakened"], False),
            **{name: output(o) for name, o in self.fault.law.all_outputs.items()},
        }

    def _rupture_speed(self, ruptured: np.ndarray) -> np.ndarray:
        """Return the rupture speed 1/|grad RT| (q, n) at the nearest friction points [m/s].

        It is 0 on faces that have not ruptured completely or that ruptured all at once.
        """
        # Times of a face that breaks all at once differ by rounding only, which gives no speed.
        first, last, speed = ruptured.min(0), ruptured.max(0), np.zeros((self.points, ruptured.shape[1]))
        whole = np.flatnonzero((first > FIRST_STEP_TIME) & (last - first > SIMULTANEOUS * last))
        if len(whole):
            slope = inner(self.slopes[self.group[whole], self.nearest[:, whole]], ruptured[:, whole].T[:, None])
            metric = self.metric[whole % len(self.metric)]
            steep = np.sqrt(np.maximum(inner(slope, inner(metric, slope[:, :, None])), 0.0))
            speed[:, whole] = np.divide(1.0, steep, out=np.zeros_like(steep), where=steep > 0)
        return speed


def _nearest(fault: Fault, items: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the index of the friction point nearest to each point, (n, q).

    Distances are measured in space; for the rule of SeisSol's decks in the face's own reference coordinates, as SeisSol does.
    """
    own = fault.rule.own
    if own is not None:
        order = np.array(PERMUTATIONS)[fault.faces.group[items]]
        ascending = np.concatenate([1.0 - points.sum(-1, keepdims=True), points], -1)
        mine = np.take_along_axis(ascending, order[:, None, :], 2)[..., 1:]
        return np.asarray(((mine[:, :, None] - own) ** 2).sum(-1).argmin(-1))
    corners = fault.faces.corners[items]
    edges = np.stack([corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]], 1)
    offset = points[:, :, None] - fault.rule.points[fault.faces.group[items]][:, None]
    distance = inner(offset[..., None, :], edges.transpose(0, 2, 1)[:, None, None])
    return np.asarray((distance**2).sum(-1).argmin(-1))


def _summed(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return ``inner`` over the first axis."""
    return inner(np.moveaxis(a, 0, -1), np.moveaxis(b, 0, -1))


def _along(frame: Sequence[np.ndarray], vector: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the components of a vector along n, s1, s2 of a ``frame``, three arrays (3, n)."""
    return [direction[0] * vector[0] + direction[1] * vector[1] + direction[2] * vector[2] for direction in frame]
