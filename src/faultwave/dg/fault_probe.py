"""Reading a fault at chosen points, at the time its cells have reached.

Tractions and slip rate come from the dofs of both sides and the friction of the moment: the locked traction of the two
traces, limited by the strength (docs/theory/friction.md, "Outputs"). Slip, times and peaks are those of the friction
points.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from faultwave.base.columns import Columns, Row
from faultwave.base.quantities import Output
from faultwave.dg.basis import face_points, inner, tet_basis, triangle_basis, triangle_basis_gradient, triangle_size
from faultwave.dg.fault import Fault
from faultwave.dg.fault_points import PERMUTATIONS
from faultwave.dg.fault_record import AT_ONCE
from faultwave.dg.operator import turned
from faultwave.dg.sample_buffer import Brought, SampleBuffer, Source
from faultwave.physics.friction.directions import in_any_direction
from faultwave.physics.friction.load import Load, Solved, Values
from faultwave.physics.friction.solvers import sliding

Seen = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Record, stress and friction state of the faces, dofs of both sides' cells in the form's own quantities."""

Then = Callable[[np.ndarray], None]
Asked = tuple[tuple[str, ...], Then]
CHANGED = ("record", "stress", "state")

SIMULTANEOUS = 1e-6
"""A face whose rupture times differ by less than this part of them has no rupture speed."""


class FaultProbe:
    """Points (n, q, 2) in the coordinates of fault faces ``items`` (n,).

    ``exact`` interpolates values of the friction points by projecting them on the face's polynomials, except times,
    which jump; otherwise the nearest friction point is taken. ``from_velocity`` takes the slip rate from the velocity
    jump. ``tag`` tells the probes of one fault apart, in the same way on every process that reads the same faces. ``late``: what is asked
    for has the waves of the reading before, as SeisSol's receivers take the waves where a step begins and friction where it ends.
    """

    def __init__(
        self,
        fault: Fault,
        items: np.ndarray,
        points: np.ndarray,
        exact: bool,
        from_velocity: bool,
        tag: int = 0,
        late: bool = False,
    ):
        self.tag, self.late = tag, late
        self.before: list[np.ndarray] = []  # dofs of both sides at the reading before
        self.fault, self.items, self.exact, self.from_velocity = fault, np.asarray(items), exact, from_velocity
        faces, order = fault.faces, fault.operator.order
        given, points = points, np.broadcast_to(points, (len(self.items), *points.shape[-2:]))
        self.shape = points.shape[:2]
        self.nearest, self.each = self._nearest(points), np.arange(len(self.items))[:, None]
        phi = triangle_basis(given.reshape(-1, 2), order - 1).reshape(-1, self.shape[1], fault.operator.b2)
        self.phi = np.array(np.broadcast_to(phi, (*self.shape, fault.operator.b2)))
        self.psi = np.empty((len(self.items), 2, self.shape[1], fault.operator.b3))
        local = faces.faces[self.items]
        for f in np.unique(local).tolist():  # points that all faces share are looked at once
            item, side = np.nonzero(local == f)
            where = given if given.ndim == 2 else points[item]
            values = tet_basis(face_points(f, where.reshape(-1, 2)), order - 1)
            self.psi[item, side] = values.reshape(-1, *self.psi.shape[2:])

        here = faces.cells[self.items] >= 0
        self.seen = [np.flatnonzero(here[:, side]) for side in range(2)]  # rows whose side is here
        self.readers = [fault.operator.reader(faces.cells[self.items[rows], i]) for i, rows in enumerate(self.seen)]
        self.turns = [r.turn for r in self.readers]
        self.impedance = fault.impedance[self.items]  # (n, columns of the coupling)
        far = faces.far[self.items]
        self.owned = np.flatnonzero(here[:, 0])
        self.read_for_others = {int(r): np.flatnonzero((far == r) & ~here[:, 0]) for r in np.unique(far[~here[:, 0]])}
        self.missing = {int(r): np.flatnonzero((far == r) & here[:, 0]) for r in np.unique(far[here[:, 0]]) if r >= 0}
        rule = fault.rule.points
        slopes = triangle_basis_gradient(rule.reshape(-1, 2), order - 1)[1]
        self.slopes, self.group = slopes.reshape(*rule.shape[:2], -1, 2), faces.group[self.items]  # by group of points
        corners = faces.corners[self.items]
        edges = np.stack([corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]], 1)
        self.metric = np.linalg.inv(edges @ edges.transpose(0, 2, 1))
        self.parameters = self._parameters()
        self.sample_buffer = SampleBuffer(fault.operator.backend, self._sources())
        self.asked: list[Asked] = []
        self.brought: deque[tuple[list[Asked], Brought]] = deque()
        self._tiled: tuple[int, FaultProbe] = (1, self)

    def _sources(self) -> list[list[Source]]:
        """What is read: what friction has left, and the dofs of both sides; once their cells have predicted, those that the
        derivatives begin with, where all cells keep theirs."""
        op, where = self.fault.operator, self.fault.item[self.items]
        form = op.form
        numbers = form.b3 * form.Q
        changed = [self.fault.buffers[name] for name in CHANGED]
        given = [Source(b, where, b.nbytes // b.items // 8, fixed=True) for b in changed]
        now = [Source(op.q, r.position, numbers) for r in self.readers]
        if not op.predictor.starts_with_state or not all((r.slots > 0).all() for r in self.readers):
            return [[*given, *now]]
        before = [Source(op.history, r.slots, numbers, slice(0, numbers)) for r in self.readers]
        return [[*given, *now], [*given, *before]]

    def _parameters(self) -> dict[str, np.ndarray]:
        """The law's parameters at the friction points (n, p) by name."""
        return self.fault.parameters(self.items)

    def _nearest(self, points: np.ndarray) -> np.ndarray:
        """Number of the friction point nearest to each point, (n, q).

        Nearest in space; for the rule of SeisSol's decks nearest in the face's own reference coordinates, as there.
        """
        own = self.fault.rule.own
        if own is not None:
            order = np.array(PERMUTATIONS)[self.fault.faces.group[self.items]]
            ascending = np.concatenate([1.0 - points.sum(-1, keepdims=True), points], -1)
            mine = np.take_along_axis(ascending, order[:, None, :], 2)[..., 1:]
            return np.asarray(((mine[:, :, None] - own) ** 2).sum(-1).argmin(-1))
        corners = self.fault.faces.corners[self.items]
        edges = np.stack([corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]], 1)
        offset = points[:, :, None] - self.fault.rule.points[self.fault.faces.group[self.items]][:, None]
        distance = inner(offset[..., None, :], edges.transpose(0, 2, 1)[:, None, None])
        return np.asarray((distance**2).sum(-1).argmin(-1))

    def _at(self, values: np.ndarray, smooth: bool = True) -> np.ndarray:
        """Values of the friction points (n, p) at the probe's points (n, q)."""
        if self.exact and smooth:
            return inner(self.phi, self._modes(values)[:, None])
        return np.asarray(values[self.each, self.nearest])

    def _linear(self, values: np.ndarray) -> np.ndarray:
        """What the strength sees of values at friction points: the part that is linear on the face."""
        few = triangle_size(1)
        return inner(self.phi[..., :few], self._modes(values)[:, None, :few])

    def _modes(self, values: np.ndarray, faces: slice | np.ndarray = slice(None)) -> np.ndarray:
        return inner(self.fault.rule.back[self.group[faces]], values[:, None])

    def read(self, names: Sequence[str]) -> dict[str, np.ndarray]:
        """Quantities (n, q) by name; every side must be here."""
        return self._values(names, self._look())

    def ask(self, names: Sequence[str], then: Then) -> None:
        """Hand the quantities (names, n, q) of now, or where ``Fault.predicted`` of before the cells predicted, to ``then`` when the
        readings are worked out: many at once, at a ``Fault.finish_reads`` that waits for them at the latest, and in their order. Faces
        owned elsewhere are only seen for their owner."""
        if self.sample_buffer.full:
            self.finish_reads(wait=not self.fault.operator.backend.asynchronous)
        self.sample_buffer.take(int(self.fault.predicted), self.fault.replayed)
        self.asked.append((tuple(names), then))
        self.fault.reading[self] = None

    def begin(self) -> None:
        """The reading before the next one is now."""
        self.before = [r.raw()[None] for r in self.readers] if self.late else []

    def bring(self) -> None:
        """Begin to bring what was asked for; the next reading is the first of a new sample buffer."""
        if self.asked:
            self.brought.append((self.asked, self.sample_buffer.bring()))
            self.asked = []

    def finish_reads(self, wait: bool = True) -> bool:
        """Work out what was asked for, without ``wait`` what of it is here; whether that was all."""
        self.bring()
        while self.brought and (wait or self.brought[0][1].here):
            asked, brought = self.brought.popleft()
            seen = self._shaped(brought.values())
            if self.late:
                seen = self._delayed(seen)
            if self.read_for_others or self.missing:
                for i, (names, then) in enumerate(asked):
                    self._share(names, then, tuple(v[i] for v in seen))
            else:
                self._work_out(asked, seen)
        return not self.brought

    def _shaped(self, values: list[np.ndarray]) -> Seen:
        """What a sample buffer brought of each source, (readings, n, ...), nothing where a side is not here."""
        op, points, n = self.fault.operator, len(self.fault.rule.weights), len(values[0])
        record, stress, state = (v.reshape(n, v.shape[1], points, -1) for v in values[:3])
        sides = iter(values[3:])
        plus, minus = (
            next(sides).reshape(n, len(rows), op.b3, -1) if len(rows) else np.zeros((n, 0, op.b3, op.form.Q))
            for rows in self.seen
        )
        return record, stress, state, plus, minus

    def _delayed(self, seen: Seen) -> Seen:
        """With the dofs (readings, ...) of the reading before each; the first of all has its own."""
        before = self.before or [sides[:1] for sides in seen[3:]]
        self.before = [sides[-1:] for sides in seen[3:]]
        plus, minus = (np.concatenate([first, sides[:-1]]) for first, sides in zip(before, seen[3:], strict=True))
        return (*seen[:3], plus, minus)

    def _share(self, names: Sequence[str], then: Then, seen: Seen) -> None:
        """One reading of faces whose other side another process sees."""
        sides = [self._side(side, seen[3 + side]) for side in range(2)]
        for rank, rows in self.read_for_others.items():
            self.fault.far.send(rank, self.tag, np.stack(sides[1])[:, :, rows])

        def finish() -> None:
            for rank, into in sources:
                rows = self.missing[rank]
                for mine, theirs in zip(sides[1], into, strict=True):
                    mine[:, rows] = theirs
            then(np.stack(list(self._put_together(names, seen, sides).values())))

        channels = self.fault.coupling.channels
        sources = [(rank, np.empty((2, channels, len(rows), self.shape[1]))) for rank, rows in self.missing.items()]
        if sources:
            self.fault.far.receive(sources, self.tag, finish)
        elif len(self.owned):
            finish()

    def _work_out(self, asked: list[Asked], seen: Seen) -> None:
        """Readings of faces that are wholly here, those of the same quantities together."""
        n, results = len(self.items), dict[int, np.ndarray]()
        for names in dict.fromkeys(names for names, _ in asked):
            which = [i for i, (wanted, _) in enumerate(asked) if wanted == names]
            stacked: Any = tuple(v[which].reshape(-1, *v.shape[2:]) for v in seen)
            found = np.stack(list(self._times(len(which))._values(names, stacked).values()))
            for at, i in enumerate(which):
                results[i] = found[:, at * n : (at + 1) * n]
        for i, (_, then) in enumerate(asked):
            then(results[i])

    def _times(self, count: int) -> FaultProbe:
        """The same points ``count`` times, one reading after the other."""
        if self._tiled[0] != count:
            many = copy(self)
            for name in ("items", "nearest", "phi", "psi", "impedance", "group", "metric"):
                array = getattr(self, name)
                setattr(many, name, np.tile(array, (count, *[1] * (array.ndim - 1))))
            many.parameters = {name: np.tile(v, (count, 1)) for name, v in self.parameters.items()}
            many.shape, many.each = (count * self.shape[0], self.shape[1]), np.arange(count * self.shape[0])[:, None]
            many.seen = [np.arange(many.shape[0])] * 2
            many.turns = [turn if turn is None else np.tile(turn, (count, 1, 1)) for turn in self.turns]
            self._tiled = (count, many)
        return self._tiled[1]

    def _look(self) -> Seen:
        """What the numbers are made of, as it is now."""
        plus, minus = (r.raw() for r in self.readers)
        return (*self.fault.raw_record(self.items), plus, minus)

    def _values(self, names: Sequence[str], seen: Seen) -> dict[str, np.ndarray]:
        return self._put_together(names, seen, [self._side(side, seen[3 + side]) for side in range(2)])

    def _put_together(
        self, names: Sequence[str], seen: Seen, sides: list[tuple[np.ndarray, np.ndarray]]
    ) -> dict[str, np.ndarray]:
        r = self.fault.named(*seen[:3])
        state = _lists(self.fault.state_columns, seen[2])
        make = self._table(r, state, self._now(r, state, [s[0] for s in sides], [s[1] for s in sides]))
        return {name: make[name]() for name in names}

    def _side(self, side: int, dofs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Outgoing waves and velocities along (n, s1, s2), and those of a pore fluid, each (3 or 4, n, q), as seen from one side; 0
        where it is not here."""
        law, f, rows = self.fault.operator.law, self.fault.faces, self.seen[side]
        waves, speeds = np.zeros((2, self.fault.coupling.channels, *self.shape))
        items, sign = self.items[rows], (1.0, -1.0)[side]
        frame = np.stack([f.normal[items], f.tangent1[items], f.tangent2[items]], 1)  # (n, 3, x)
        dofs = turned(dofs, self.turns[side]).astype(float)
        q = inner(self.psi[None, rows, side], dofs.transpose(2, 0, 1)[:, :, None])
        n = [frame[:, 0, x, None] for x in range(3)]
        along = frame.transpose(1, 0, 2)[:, :, None]  # (c, n, 1, x)
        force, flow = law.sides(law.flux(q, n), law.potential(q))
        traction = np.stack([*inner(along, np.stack(force[:3], -1)[None]), *force[3:]])
        speeds[:3, rows] = inner(along, np.stack(flow[:3], -1)[None])
        for channel, x in enumerate(flow[3:], 3):
            speeds[channel, rows] = x
        impeded = self.fault.coupling.impeded(self._sides(rows), side, list(speeds[:, rows]))
        waves[:, rows] = traction - sign * np.stack(impeded)
        return waves, speeds

    def _sides(self, rows: Any) -> Row:
        """What the sides of the faces ``rows`` are to each other, (n, 1) by name."""
        return self.fault.coupling.columns.row(list(self.impedance[rows].T[..., None]))

    def _now(self, r: dict[str, np.ndarray], state: Row, waves: Any, speeds: Any) -> dict[str, np.ndarray]:
        """Locked traction change, velocity jump and limited traction change along (n, s1, s2), each (n, q)."""
        fault, z, own = self.fault, self._sides(slice(None)), self.fault.coupling
        locked = own.locked(z, waves[0], waves[1])
        whole = locked[0]
        if fault.options.linear_normal:  # of what holds the fault
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
        jump = speeds[1] - speeds[0]
        opening = own.normal_flow(z, waves[0], waves[1], [traction[0] + (whole - locked[0]), *traction[1:]])
        # What counts for friction: without modifiers, to the last bit, the traction of the waves.
        normal = own.pressing(traction)
        normal = normal if sigma is total_sigma else normal + (sigma - total_sigma)
        return {
            "n": normal, "1": traction[1], "2": traction[2], "normal": opening, "jump1": jump[1],
            "jump2": jump[2], "rate1": rates[0], "rate2": rates[1],
        }  # fmt: skip

    def _slide(self, law: Any, p: Values, c: Values, s: Any, load: Load) -> Solved:
        """Slip along a direction under the strength of the moment."""
        rate, strength = sliding(lambda at: self._strength(s, at)[0], load)
        return Solved(rate, 0.0 * rate, rate, strength, 0.0 * rate)

    def _strength(self, state: Row, load: Load) -> tuple[np.ndarray, Any]:
        """Strength under a load and the normal traction that counts for it, with parameters and state of the nearest friction points."""
        law, c = self.fault.law, self.fault.constants
        p = {name: self._at(values, False) for name, values in self.parameters.items()}
        s = {
            name: [self._at(v, False) for v in values] if isinstance(values, list) else self._at(values, False)
            for name, values in state.items()
        }
        pressed = law.pressed(p, c, s, load)
        return np.asarray(law.strength(p, c, s, pressed)), pressed.sigma

    def _table(
        self, r: dict[str, np.ndarray], state: Row, now: dict[str, np.ndarray]
    ) -> dict[str, Callable[[], np.ndarray]]:
        f, law = self.fault.faces, self.fault.law

        def along(direction: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
            d = direction[self.items]
            one, two = (d * f.tangent1[self.items]).sum(1)[:, None], (d * f.tangent2[self.items]).sum(1)[:, None]
            return np.asarray(one * a + two * b)

        def output(o: Output) -> Callable[[], np.ndarray]:
            def made() -> np.ndarray:
                values = np.asarray(o.formula(self.parameters, self.fault.constants, state))
                if o.decades and self.exact:
                    return np.asarray(np.exp(self._at(np.log(np.maximum(values, 1e-300)))))
                return self._at(values)

            return made

        rates = ("jump1", "jump2") if self.from_velocity else ("rate1", "rate2")
        start = [self._at(r[k], False) for k in ("stress1", "stress2")]
        total = (now["1"] + start[0], now["2"] + start[1])
        slip = [self._at(r[k]) for k in ("slip1", "slip2")]
        return {
            "SRs": lambda: along(f.strike, now[rates[0]], now[rates[1]]),
            "SRd": lambda: along(f.dip, now[rates[0]], now[rates[1]]),
            "T_s": lambda: along(f.strike, now["1"], now["2"]),
            "T_d": lambda: along(f.dip, now["1"], now["2"]),
            "P_n": lambda: now["n"],
            "u_n": lambda: now["normal"],
            "Ts0": lambda: along(f.strike, *total),
            "Td0": lambda: along(f.dip, *total),
            "Pn0": lambda: now["n"] + self._at(r["stress_n"], False),
            "Sls": lambda: along(f.strike, *slip),
            "Sld": lambda: along(f.dip, *slip),
            "Vr": lambda: self._at(self._rupture_speed(r["ruptured"]), False),
            "ASl": lambda: self._at(r["accumulated_slip"]),
            "PSR": lambda: self._at(r["peak_slip_rate"], False),
            "RT": lambda: self._at(r["ruptured"], False),
            "DS": lambda: self._at(r["weakened"], False),
            **{name: output(o) for name, o in law.all_outputs.items()},
        }

    def _rupture_speed(self, ruptured: np.ndarray) -> np.ndarray:
        """1/|grad RT| in the face where every point has ruptured, not all at once, else 0, at friction points."""
        # Where a face breaks all at once the times differ by rounding only, and so would the speed.
        first, last, speed = ruptured.min(1), ruptured.max(1), np.zeros(ruptured.shape)
        whole = np.flatnonzero((first > AT_ONCE) & (last - first > SIMULTANEOUS * last))
        slopes = self.slopes[self.group[whole]].transpose(0, 1, 3, 2)
        slope = inner(slopes, self._modes(ruptured[whole], whole)[:, None, None])
        steep = np.sqrt(np.maximum(inner(slope, inner(self.metric[whole, None], slope[:, :, None])), 0.0))
        speed[whole] = np.divide(1.0, steep, out=np.zeros_like(steep), where=steep > 0)
        return speed


def _lists(columns: Columns, values: np.ndarray) -> Row:
    """An array (..., columns) by name, as formulas of laws take it: arrays, or lists of arrays where a column is wide."""
    return columns.row(list(np.moveaxis(values, -1, 0)))
