"""Reading a fault in a grid at places on it.

Horizontal slip and vertical slip lie at different points: parts along strike come from the ones, parts along dip from the others, and what
has no direction, as friction and times, from those of horizontal slip. Between points everything is bilinear; of tractions and states only
points that may slip count, as the others have none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultwave.base.quantities import Output
from faultwave.fd.fault_plane import FaultPlane
from faultwave.fd.fault_points import Directions, Given
from faultwave.fd.friction import STEPS, Sliding, at, parameter
from faultwave.fd.program import STRESS_LEVEL, VELOCITY_LEVEL, Scheme
from faultwave.fd.split import SIDE
from faultwave.kernels.stencil import Axis, SampleBuffer
from faultwave.physics.friction.law import Load

RECORDED = ("traction1", "traction_n", "ruptured", "weakened", STEPS)
"""Read at points of horizontal slip, beside the state of the law."""
VERTICAL = ("slip_rate2", "slip2", "traction2")
"""Read at points of vertical slip."""
TRACTIONS = ("T_s", "T_d", "P_n", "Ts0", "Td0", "Pn0")
"""Fields that are tractions, or changes of them."""
ACROSS = (-1 / 48, 25 / 48, 25 / 48, -1 / 48)
"""Weights of the normal velocities two before to two behind the plane: the mean of its sides."""
SIMULTANEOUS = 1e-6
"""Points whose rupture times differ by less than this part of them have no rupture speed."""


@dataclass(frozen=True)
class Around:
    """Points around places: ``points`` (n, 5, 3) as (z, y, x), four corners and the nearest that may slip. Weights (n, 5): ``of_slip`` of
    what goes on to zero beyond the fault, ``of_traction`` of what only points that may slip have, ``nearest``; ``slopes`` (n, 2, 5) along
    the horizontal axis and z [1/m] of what goes on. ``whole`` (n,): all four corners may slip."""

    points: np.ndarray
    of_slip: np.ndarray
    of_traction: np.ndarray
    nearest: np.ndarray
    slopes: np.ndarray
    whole: np.ndarray

    def of(self, plane: FaultPlane, values: np.ndarray) -> np.ndarray:
        """What an array (nz, ny, nx) on the plane has at the points (n, 5)."""
        z, y, x = np.moveaxis(self.points - np.array(plane.box.lo), -1, 0)
        return np.asarray(values[z, y, x])


def around(plane: FaultPlane, places: np.ndarray, slips: np.ndarray, wanted: np.ndarray, exact: bool) -> Around:
    """Of the points of a kind at ``places`` (nz, ny, nx, 3), those around ``wanted`` (n, 3); without ``exact``, only the nearest counts."""
    k, n = "xy".index(plane.along), len(wanted)
    sheet = places.reshape(places.shape[0], -1, 3)
    rows, columns = (
        np.unique(sheet[:, 0, 2]),
        sheet[0, :, k],
    )  # above the ground, points of vertical slip are on it again
    may = slips.reshape(sheet.shape[:2])[: len(rows)]
    (z, up), (x, ahead) = _cell(rows, wanted[:, 2]), _cell(columns, wanted[:, k])
    numbers = np.empty((n, 5, 2), np.int64)
    numbers[:, :4] = np.stack([np.stack([z + a, x + b], -1) for a in (0, 1) for b in (0, 1)], 1)
    numbers[:, 4] = np.reshape([_nearest(sheet[: len(rows)], may, p) for p in wanted], (n, 2))
    none, one = np.zeros(n), np.ones(n)
    corners = np.stack([(1 - up) * (1 - ahead), (1 - up) * ahead, up * (1 - ahead), up * ahead, none], 1)
    along = np.stack([up - 1, 1 - up, -up, up, none], 1) / (columns[x + 1] - columns[x])[:, None]
    upwards = np.stack([ahead - 1, -ahead, 1 - ahead, ahead, none], 1) / (rows[z + 1] - rows[z])[:, None]
    nearest = np.stack([none, none, none, none, one], 1)
    slipping = may[numbers[..., 0], numbers[..., 1]]
    bear = corners * slipping
    total = bear.sum(1, keepdims=True)
    bear = np.where(total > 0, bear / np.where(total > 0, total, 1.0), nearest)
    points = np.empty((n, 5, 3), np.int64)
    points[..., 0] = plane.box.lo[0] + numbers[..., 0]
    points[..., "zyx".index(plane.along)] = plane.box.lo["zyx".index(plane.along)] + numbers[..., 1]
    points[..., "zyx".index(plane.axis)] = plane.index
    of_slip, of_traction = (corners, bear) if exact else (nearest, nearest)
    return Around(
        points, of_slip, of_traction, nearest, np.stack([along, upwards], 1), np.asarray(slipping[:, :4].all(1))
    )


def _cell(lines: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Between which of the lines (m,) places (n,) lie, and at which share of the way."""
    first = np.clip(np.searchsorted(lines, x, "right") - 1, 0, len(lines) - 2)
    return first, np.clip((x - lines[first]) / (lines[first + 1] - lines[first]), 0.0, 1.0)


def _nearest(sheet: np.ndarray, may: np.ndarray, place: np.ndarray) -> tuple[int, int]:
    """Row and column of the nearest point that may slip."""
    distance = np.where(may, ((sheet - place) ** 2).sum(-1), np.inf)
    row, column = np.unravel_index(int(distance.argmin()), distance.shape)
    return int(row), int(column)


class FaultReader:
    """A sampler of ``fields`` at ``points`` (n, 3) of a fault; ``share`` (n,): lambda/(lambda + 2 mu) there.

    Slip rates of a step are those in its middle, and slip is moved to there. Tractions are those at its beginning, states of laws whose
    strength depends on slip those at its end: ``moments`` says so, and ``at_middles`` moves them to the middle once both ends are known.
    """

    def __init__(
        self, scheme: Scheme, sliding: Sliding, given: Mapping[Axis, Given], to: Directions, points: np.ndarray,
        share: np.ndarray, fields: Sequence[str], exact: bool,
    ):  # fmt: skip
        self.scheme, self.sliding, self.given, self.fields, self.share = scheme, sliding, given, tuple(fields), share
        self.to, plane = to, sliding.plane
        self.plane, self.mine, self.shape = plane, np.arange(len(points)), (len(fields),)
        self.near = {a: around(plane, given[a].places, given[a].slips, points, exact) for a in plane.sliding}
        self.values_given = {
            a: {n: near.of(plane, v) for n, v in given[a].values.items()} for a, near in self.near.items()
        }
        law = sliding.law
        self.horizontal = (*law.shown_columns.widths, *RECORDED)
        self.normal_velocity = next(name for name in "uvw" if name not in plane.sliding.values())
        places = scheme.grid.places(self.normal_velocity, plane.box)
        self.beside = around(plane, places, np.ones(places.shape[:3], bool), points, True)
        self.names = [(n, plane.along) for n in self.horizontal] + [(n, "z") for n in VERTICAL]
        self.sample_buffers = [
            SampleBuffer(STRESS_LEVEL, at(n, axis), self.near[axis].points.reshape(-1, 3)) for n, axis in self.names
        ]
        self.around_crossing = [
            (STRESS_LEVEL, at("slip_rate1", plane.along), self._beside(plane.along, -1)),
            (STRESS_LEVEL, at("slip_rate1", plane.along), self._beside(plane.along, 0)),
            (STRESS_LEVEL, at("slip_rate2", "z"), self._below(-1)),
            (STRESS_LEVEL, at("slip_rate2", "z"), self._below(0)),
            *((VELOCITY_LEVEL, self.normal_velocity, self._beside(plane.axis, n)) for n in range(-2, 2)),
        ]
        self.sample_buffers += [SampleBuffer(level, n, p.reshape(-1, 3)) for level, n, p in self.around_crossing]

    def _beside(self, axis: Axis, ahead: int) -> np.ndarray:
        """Points of the normal velocity, so many further along an axis."""
        points = self.beside.points.copy()
        points[..., "zyx".index(axis)] += ahead
        return points

    def _below(self, ahead: int) -> np.ndarray:
        """Those of vertical slip, below and above; the uppermost are on the ground."""
        points = self._beside("z", ahead)
        points[..., 0] = np.minimum(points[..., 0], self.scheme.grid.shape[0] - 1 + ahead)
        return points

    def values(self, sample_buffers: Sequence[np.ndarray]) -> np.ndarray:
        """(steps, places, fields)."""
        blocks = [np.asarray(b, float).reshape(len(b), -1, 5) for b in sample_buffers]
        read = dict(zip(self.names, blocks, strict=False))
        return self.fields_of(read, blocks[len(self.names) :], 0.5 * self.scheme.step)

    @property
    def moments(self) -> np.ndarray:
        """When fields (n,) of a step were so: -1 at its beginning, 0 in its middle, 1 at its end."""
        law = self.sliding.law
        in_middle = law.solver == "newton"
        of_law = dict.fromkeys(law.all_outputs, 0 if in_middle else 1) | ({"Mud": -1} if in_middle else {})
        found = of_law | dict.fromkeys(TRACTIONS, -1)
        return np.array([found.get(name, 0) for name in self.fields])

    def at_middles(self, before: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the fields of steps in their middles.

        Parameters
        ----------
        before : (2, places, fields) what was read in the two steps before
        rows : (steps, places, fields) what was read in the steps

        Returns
        -------
        (steps + 1, places, fields): of the step before these, then of them. The last step needs the tractions at its end, which the next
        one knows: there they are extrapolated from those at its beginning and one step earlier.
        """
        read, moments = np.concatenate([before, rows]), self.moments
        found = read[1:].copy()
        ends, begins = moments > 0, moments < 0
        found[..., ends] = 0.5 * (read[:-1] + read[1:])[..., ends]
        found[:-1, :, begins] = 0.5 * (read[1:-1] + read[2:])[..., begins]
        found[-1][:, begins] = (1.5 * read[-1] - 0.5 * read[-2])[:, begins]
        return found

    def first(self, velocity: np.ndarray, kept: type) -> np.ndarray:
        """The fields (places, fields) before the first step, of numbers as the run has them (``kept``); ``velocity`` (n,) is that along the
        plane's axis."""
        read = {(n, a): self.near[a].of(self.plane, self._start(n, a, kept))[None] for n, a in self.names}
        sides: tuple[tuple[str, Axis], ...] = (("slip_rate1", self.plane.along), ("slip_rate2", "z"))
        starts = [self._start(n, a, kept) for n, a in sides for _ in range(2)]
        lo = np.array(self.plane.box.lo)
        beside = [
            start[tuple(np.moveaxis(p - lo, -1, 0))]
            for start, (_, _, p) in zip(starts, self.around_crossing[:4], strict=True)
        ]
        crossing = [b[None] for b in beside] + [np.broadcast_to(velocity[None, :, None], (1, len(velocity), 5))] * 4
        return self.fields_of(read, crossing, 0.0)[0]

    def _start(self, name: str, axis: Axis, kept: type) -> np.ndarray:
        """Of the whole plane at the start: what is not given is zero."""
        given = self.given[axis]
        found = given.state.get(name)
        return np.zeros(given.places.shape[:3]) if found is None else np.asarray(np.asarray(found, kept), float)

    def fields_of(self, read: Mapping[Any, np.ndarray], crossing: Sequence[np.ndarray], late: float) -> np.ndarray:
        """The fields of what was read at the points around; slip was read ``late`` [s] after the rest."""
        makers = self._makers(read, crossing, late)
        return np.stack([makers[name]() for name in self.fields], -1)

    def initial_traction(self) -> np.ndarray:
        """P_0, T_s, T_d (n, 3) at rest."""
        h: Axis = self.plane.along
        v: Axis = "z"
        one, two = (self.values_given[a][n] for a, n in ((h, "stress1"), (v, "stress2")))
        return np.stack([
            self._borne(self.values_given[h]["stress_n"]), self._strike * self._borne(one), self._dip * self._borne(two, v)
        ], -1)  # fmt: skip

    @property
    def _strike(self) -> float:
        """1 where strike goes along the horizontal axis, else -1."""
        return float(self.to.strike @ self.to.along)

    @property
    def _dip(self) -> float:
        return float(self.to.dip @ self.to.up)

    def _slid(self, values: np.ndarray, axis: Any = None) -> np.ndarray:
        return np.asarray((self.near[axis or self.plane.along].of_slip * values).sum(-1))

    def _borne(self, values: np.ndarray, axis: Any = None) -> np.ndarray:
        return np.asarray((self.near[axis or self.plane.along].of_traction * values).sum(-1))

    def _once(self, values: np.ndarray) -> np.ndarray:
        """Of the nearest point: what jumps from point to point."""
        return np.asarray((self.near[self.plane.along].nearest * values).sum(-1))

    def _makers(
        self, read: Mapping[Any, np.ndarray], crossing: Sequence[np.ndarray], late: float
    ) -> dict[str, Callable[[], np.ndarray]]:
        h, law, constants = self.plane.along, self.sliding.law, self.sliding.constants
        r = {name: read[name, h] for name in self.horizontal}
        down = {name: read[name, "z"] for name in VERTICAL}
        sides: tuple[Axis, Axis] = (h, "z")
        now = np.maximum(r[STEPS] - 1.0, 0.0) * self.scheme.step  # of tractions
        rest, rest_z = (self.sliding.at_rest(self.values_given[a], now) for a in sides)
        parameters = {n: self.values_given[h][parameter(n)] for n in law.kernel_parameters}
        state = {n: r[n] for n in law.shown_columns.widths}
        load = Load(rest[1], rest[2], rest[0] + r["traction_n"], 0.0 * now, self.scheme.step, now)
        normal = np.asarray(law.pressed(parameters, constants, state, load).sigma)

        def output(o: Output) -> Callable[[], np.ndarray]:
            def made() -> np.ndarray:
                values = np.asarray(o.formula(parameters, constants, state), float)
                if o.decades:  # points that never slip have none, and no weight
                    return np.asarray(np.exp(self._borne(np.log(np.maximum(values, 1e-300)))))
                return self._borne(values)

            return made

        return {
            "SRs": lambda: self._strike * self._slid(r["slip_rate1"]),
            "SRd": lambda: self._dip * self._slid(down["slip_rate2"], "z"),
            "T_s": lambda: self._strike * self._borne(r["traction1"]),
            "T_d": lambda: self._dip * self._borne(down["traction2"], "z"),
            "P_n": lambda: self._borne(normal - rest[0]),
            "u_n": lambda: self._opening(crossing),
            "Ts0": lambda: self._strike * self._borne(rest[1] + r["traction1"]),
            "Td0": lambda: self._dip * self._borne(rest_z[2] + down["traction2"], "z"),
            "Pn0": lambda: self._borne(normal),
            "Sls": lambda: self._strike * self._slid(r["slip1"] - late * r["slip_rate1"]),
            "Sld": lambda: self._dip * self._slid(down["slip2"] - late * down["slip_rate2"], "z"),
            "Vr": lambda: self._rupture_speed(r["ruptured"]),
            "ASl": lambda: self._slid(r["accumulated_slip"] - late * r["slip_rate"]),
            "PSR": lambda: self._once(r["peak_slip_rate"]),
            "RT": lambda: self._once(r["ruptured"]),
            "DS": lambda: self._once(r["weakened"]),
            **{name: output(o) for name, o in law.all_outputs.items()},
        }

    def _opening(self, crossing: Sequence[np.ndarray]) -> np.ndarray:
        """The velocity of the plane along the normal (``fd.split``): both sides have the same, under the same normal traction."""
        behind, ahead, below, above, *normal = crossing
        mean = sum(w * v for w, v in zip(ACROSS, normal, strict=True))
        stretched = (ahead - behind) + (above - below)  # one side more than the other, in a spacing
        found = self.to.sign * mean + self.share[:, None] / (2.0 * SIDE) * stretched
        return np.asarray((self.beside.of_slip * found).sum(-1))

    def _rupture_speed(self, ruptured: np.ndarray) -> np.ndarray:
        """1/|grad RT| where all corners have ruptured, not all at once; else 0."""
        near, corners = self.near[self.plane.along], ruptured[..., :4]
        first, last = corners.min(-1), corners.max(-1)
        steep = np.hypot(*((near.slopes[:, n] * ruptured).sum(-1) for n in (0, 1)))
        moves = near.whole & (first > 0) & (last - first > SIMULTANEOUS * last) & (steep > 0)
        return np.where(moves, 1.0 / np.where(moves, steep, 1.0), 0.0)


__all__ = ["Around", "FaultReader", "around"]
