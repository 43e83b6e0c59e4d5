"""Sampler of a fault in a grid at arbitrary places on it.

Horizontal and vertical slip are at different points. Components along strike come from the former, components along
dip from the latter, and quantities without direction, as friction and times, from the points of horizontal slip.
Interpolation is bilinear. For tractions and states only points that may slip have weight, because others have no
values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultwave.base.quantities import Output
from faultwave.fd.fault.friction import STEPS, Sliding, at, parameter
from faultwave.fd.fault.points import Directions, Given
from faultwave.fd.method.fault_plane import FaultPlane
from faultwave.fd.method.program import STRESS_LEVEL, VELOCITY_LEVEL, Scheme
from faultwave.fd.method.split_nodes import INVERSE_SIDE_NORM
from faultwave.kernels.stencil import Axis, SampleBuffer
from faultwave.physics.friction.law import Load

RECORDED = ("traction1", "traction_n", "ruptured", "weakened", STEPS)
"""Quantities read at the points of horizontal slip in addition to the state of the law."""
VERTICAL = ("slip_rate2", "slip2", "traction2")
"""Quantities read at the points of vertical slip."""
TRACTIONS = ("T_s", "T_d", "P_n", "Ts0", "Td0", "Pn0")
"""Fields that are tractions or changes of traction."""
ACROSS = (-1 / 48, 25 / 48, 25 / 48, -1 / 48)
"""Weights of the normal velocities from two points before to two behind the plane: the mean of its sides."""
SIMULTANEOUS = 1e-6
"""Relative difference of rupture times below which the rupture speed is undefined."""


@dataclass(frozen=True)
class Around:
    """Grid points around places on a fault, with weights.

    Attributes
    ----------
    points : ndarray of int, shape (n, 5, 3)
        Indices (z, y, x): four corners, and the nearest point that may slip.
    of_slip, of_traction, nearest : ndarray, shape (n, 5)
        Weights of quantities that decrease to zero beyond the fault, of quantities only on points that may slip, and
        of the nearest such point.
    slopes : ndarray, shape (n, 2, 5)
        Weights [1/m] of derivatives along the horizontal axis and z.
    whole : ndarray of bool, shape (n,)
        True where all four corners may slip.
    """

    points: np.ndarray
    of_slip: np.ndarray
    of_traction: np.ndarray
    nearest: np.ndarray
    slopes: np.ndarray
    whole: np.ndarray

    def of(self, plane: FaultPlane, values: np.ndarray) -> np.ndarray:
        """Return the values (n, 5) at the points of an array (nz, ny, nx) on the plane."""
        z, y, x = np.moveaxis(self.points - np.array(plane.box.lo), -1, 0)
        return np.asarray(values[z, y, x])


def around(plane: FaultPlane, places: np.ndarray, slips: np.ndarray, wanted: np.ndarray, exact: bool) -> Around:
    """Return the points around places on a fault.

    Parameters
    ----------
    plane : FaultPlane
    places : ndarray, shape (nz, ny, nx, 3)
        Coordinates [m] of the points of one kind.
    slips : ndarray of bool
        True where they may slip.
    wanted : ndarray, shape (n, 3)
        Coordinates [m] of the places.
    exact : bool
        True to interpolate, False to use the nearest point.
    """
    k, n = "xy".index(plane.along), len(wanted)
    sheet = places.reshape(places.shape[0], -1, 3)
    rows, columns = (
        np.unique(sheet[:, 0, 2]),
        sheet[0, :, k],
    )  # above the ground, points of vertical slip repeat those on it
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
    """Return the lines (m,) below the places (n,), and the relative positions in the intervals, 0 to 1."""
    first = np.clip(np.searchsorted(lines, x, "right") - 1, 0, len(lines) - 2)
    return first, np.clip((x - lines[first]) / (lines[first + 1] - lines[first]), 0.0, 1.0)


def _nearest(sheet: np.ndarray, may: np.ndarray, place: np.ndarray) -> tuple[int, int]:
    """Return row and column of the nearest point that may slip."""
    distance = np.where(may, ((sheet - place) ** 2).sum(-1), np.inf)
    row, column = np.unravel_index(int(distance.argmin()), distance.shape)
    return int(row), int(column)


class FaultReader:
    """Sampler of fields at places on a fault.

    Slip rates of a step belong to its middle, and slip is moved there. Tractions belong to the beginning of the step,
    states of laws whose strength depends on slip to its end. ``moments`` returns these times, and ``at_middles``
    interpolates to the middle once both ends are known.

    Attributes
    ----------
    fields : sequence of str
    share : ndarray, shape (n,)
        lambda/(lambda + 2 mu) at the places.
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
        """Return the points of the normal velocity shifted by ``ahead`` points along an axis."""
        points = self.beside.points.copy()
        points[..., "zyx".index(axis)] += ahead
        return points

    def _below(self, ahead: int) -> np.ndarray:
        """Return the points of vertical slip below or above; the uppermost are on the ground."""
        points = self._beside("z", ahead)
        points[..., 0] = np.minimum(points[..., 0], self.scheme.grid.shape[0] - 1 + ahead)
        return points

    def values(self, sample_buffers: Sequence[np.ndarray]) -> np.ndarray:
        """Return the sampled fields (steps, places, fields)."""
        blocks = [np.asarray(b, float).reshape(len(b), -1, 5) for b in sample_buffers]
        read = dict(zip(self.names, blocks, strict=False))
        return self.fields_of(read, blocks[len(self.names) :], 0.5 * self.scheme.step)

    @property
    def moments(self) -> np.ndarray:
        """Times of the fields (n,) in a step: -1 for its beginning, 0 for its middle, 1 for its end."""
        law = self.sliding.law
        in_middle = law.solver == "newton"
        of_law = dict.fromkeys(law.all_outputs, 0 if in_middle else 1) | ({"Mud": -1} if in_middle else {})
        found = of_law | dict.fromkeys(TRACTIONS, -1)
        return np.array([found.get(name, 0) for name in self.fields])

    def at_middles(self, before: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the fields in the middles of the steps.

        Parameters
        ----------
        before : ndarray, shape (2, places, fields)
            Samples of the two steps before.
        rows : ndarray, shape (steps, places, fields)
            Samples of the steps.

        Returns
        -------
        ndarray, shape (steps + 1, places, fields)
            Fields of the step before and of the steps. The last step needs the tractions at its end, which only the
            next step provides; they are extrapolated from its beginning and one step earlier.
        """
        read, moments = np.concatenate([before, rows]), self.moments
        found = read[1:].copy()
        ends, begins = moments > 0, moments < 0
        found[..., ends] = 0.5 * (read[:-1] + read[1:])[..., ends]
        found[:-1, :, begins] = 0.5 * (read[1:-1] + read[2:])[..., begins]
        found[-1][:, begins] = (1.5 * read[-1] - 0.5 * read[-2])[:, begins]
        return found

    def first(self, velocity: np.ndarray, kept: type) -> np.ndarray:
        """Return the fields (places, fields) before the first step, rounded to the precision ``kept`` of the run.

        ``velocity`` (n,) [m/s] is the component along the plane's axis.
        """
        read = {(n, a): self.near[a].of(self.plane, self._start(n, a, kept))[None] for n, a in self.names}
        sides: tuple[tuple[str, Axis], ...] = (("slip_rate1", self.plane.along), ("slip_rate2", "z"))
        starts = [self._start(n, a, kept) for n, a in sides for _ in range(2)]
        lo = np.array(self.plane.box.lo)
        adjacent = [
            start[tuple(np.moveaxis(p - lo, -1, 0))]
            for start, (_, _, p) in zip(starts, self.around_crossing[:4], strict=True)
        ]
        crossing = [b[None] for b in adjacent] + [np.broadcast_to(velocity[None, :, None], (1, len(velocity), 5))] * 4
        return self.fields_of(read, crossing, 0.0)[0]

    def _start(self, name: str, axis: Axis, kept: type) -> np.ndarray:
        """Return the initial values of a quantity in the whole plane, zero where the case gives none."""
        given = self.given[axis]
        found = given.state.get(name)
        return np.zeros(given.places.shape[:3]) if found is None else np.asarray(np.asarray(found, kept), float)

    def fields_of(self, read: Mapping[Any, np.ndarray], crossing: Sequence[np.ndarray], late: float) -> np.ndarray:
        """Return the fields from samples at the surrounding points; slip was sampled ``late`` [s] after the rest."""
        makers = self._makers(read, crossing, late)
        return np.stack([makers[name]() for name in self.fields], -1)

    def initial_traction(self) -> np.ndarray:
        """Return the initial traction P_0, T_s, T_d (n, 3) [Pa]."""
        h: Axis = self.plane.along
        v: Axis = "z"
        one, two = (self.values_given[a][n] for a, n in ((h, "stress1"), (v, "stress2")))
        return np.stack([
            self._borne(self.values_given[h]["stress_n"]), self._strike * self._borne(one), self._dip * self._borne(two, v)
        ], -1)  # fmt: skip

    @property
    def _strike(self) -> float:
        """1 if strike points along the horizontal axis, else -1."""
        return float(self.to.strike @ self.to.along)

    @property
    def _dip(self) -> float:
        return float(self.to.dip @ self.to.up)

    def _slid(self, values: np.ndarray, axis: Axis | None = None) -> np.ndarray:
        return np.asarray((self.near[axis or self.plane.along].of_slip * values).sum(-1))

    def _borne(self, values: np.ndarray, axis: Axis | None = None) -> np.ndarray:
        return np.asarray((self.near[axis or self.plane.along].of_traction * values).sum(-1))

    def _once(self, values: np.ndarray) -> np.ndarray:
        """Return values of the nearest point, for quantities that are not continuous between points."""
        return np.asarray((self.near[self.plane.along].nearest * values).sum(-1))

    def _makers(
        self, read: Mapping[Any, np.ndarray], crossing: Sequence[np.ndarray], late: float
    ) -> dict[str, Callable[[], np.ndarray]]:
        h, law, constants = self.plane.along, self.sliding.law, self.sliding.constants
        r = {name: read[name, h] for name in self.horizontal}
        down = {name: read[name, "z"] for name in VERTICAL}
        sides: tuple[Axis, Axis] = (h, "z")
        now = np.maximum(r[STEPS] - 1.0, 0.0) * self.scheme.step  # time of tractions
        rest, rest_z = (self.sliding.at_rest(self.values_given[a], now) for a in sides)
        parameters = {n: self.values_given[h][parameter(n)] for n in law.kernel_parameters}
        state = {n: r[n] for n in law.shown_columns.widths}
        load = Load(rest[1], rest[2], rest[0] + r["traction_n"], 0.0 * now, self.scheme.step, now)
        normal = np.asarray(law.pressed(parameters, constants, state, load).sigma)

        def output(o: Output) -> Callable[[], np.ndarray]:
            def made() -> np.ndarray:
                values = np.asarray(o.formula(parameters, constants, state), float)
                if o.decades:  # points that never slip have no value and no weight
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
        """Return the normal velocity of the plane, equal on both sides as the normal traction is (``fd.method.split_nodes``)."""
        behind, ahead, below, above, *normal = crossing
        mean = sum(w * v for w, v in zip(ACROSS, normal, strict=True))
        stretched = (ahead - behind) + (above - below)  # difference of the deformation of both sides, in a spacing
        found = self.to.sign * mean + self.share[:, None] / (2.0 * INVERSE_SIDE_NORM) * stretched
        return np.asarray((self.beside.of_slip * found).sum(-1))

    def _rupture_speed(self, ruptured: np.ndarray) -> np.ndarray:
        """Return the rupture speed 1/|grad RT| where all corners ruptured at different times, else 0."""
        near, corners = self.near[self.plane.along], ruptured[..., :4]
        first, last = corners.min(-1), corners.max(-1)
        steep = np.hypot(*((near.slopes[:, n] * ruptured).sum(-1) for n in (0, 1)))
        moves = near.whole & (first > 0) & (last - first > SIMULTANEOUS * last) & (steep > 0)
        return np.where(moves, 1.0 / np.where(moves, steep, 1.0), 0.0)


__all__ = ["Around", "FaultReader", "around"]
