"""Time series at arbitrary points of a fault in a plane of the grid.

Horizontal and vertical slip are at different points. Components along strike come from the former, components along
dip from the latter, and quantities without direction, as friction and times, from the points of horizontal slip.
Interpolation is bilinear. For tractions and states only points that may slip have weight, because others have no
values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from faultwave.base.errors import collect_problems
from faultwave.base.precision import number_type
from faultwave.base.quantities import Output
from faultwave.base.types import Json, Setting
from faultwave.comm import World
from faultwave.comm.messages import gather_rows
from faultwave.engine.capability import Requirements, RestoredFrom, State
from faultwave.engine.fault_receivers import FaultReceiverPlan, FaultReceiverRequest, report_distant_receivers
from faultwave.fd.capabilities.rupture import Rupture
from faultwave.fd.capability import FdPlan, GridCapability, GridCapabilityPlan, Running, Solution
from faultwave.fd.contexts import MaterialContext, PlacementContext, Planning
from faultwave.fd.fault import STEPS, Directions, Given, Sliding, array_at, parameter
from faultwave.fd.method.scheme import Level, Scheme
from faultwave.fd.method.split_nodes import INVERSE_SIDE_NORM, FaultPlane
from faultwave.fd.operators.points import Sampler
from faultwave.fd.operators.resources import Memory
from faultwave.fd.shared_samplers import sampler_of
from faultwave.kernels.stencil import Axis, SampleBuffer
from faultwave.media.homogenise import at_points
from faultwave.observe.dataset import FaultFrame, Result
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
        self.off_plane = around(plane, places, np.ones(places.shape[:3], bool), points, True)
        self.names = [(n, plane.along) for n in self.horizontal] + [(n, "z") for n in VERTICAL]
        self.sample_buffers = [
            SampleBuffer(Level.STRESS, array_at(n, axis), self.near[axis].points.reshape(-1, 3))
            for n, axis in self.names
        ]
        self.around_crossing = [
            (Level.STRESS, array_at("slip_rate1", plane.along), self._neighbours(plane.along, -1)),
            (Level.STRESS, array_at("slip_rate1", plane.along), self._neighbours(plane.along, 0)),
            (Level.STRESS, array_at("slip_rate2", "z"), self._below(-1)),
            (Level.STRESS, array_at("slip_rate2", "z"), self._below(0)),
            *((Level.VELOCITY, self.normal_velocity, self._neighbours(plane.axis, n)) for n in range(-2, 2)),
        ]
        self.sample_buffers += [SampleBuffer(level, n, p.reshape(-1, 3)) for level, n, p in self.around_crossing]

    def _neighbours(self, axis: Axis, ahead: int) -> np.ndarray:
        """Return the points of the normal velocity shifted by ``ahead`` points along an axis."""
        points = self.off_plane.points.copy()
        points[..., "zyx".index(axis)] += ahead
        return points

    def _below(self, ahead: int) -> np.ndarray:
        """Return the points of vertical slip below or above; the uppermost are on the ground."""
        points = self._neighbours("z", ahead)
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

    def first(self, velocity: np.ndarray, dtype: type) -> np.ndarray:
        """Return the fields (places, fields) before the first step, rounded to the precision ``dtype`` of the run.

        ``velocity`` (n,) [m/s] is the component along the plane's axis.
        """
        read = {(n, a): self.near[a].of(self.plane, self._start(n, a, dtype))[None] for n, a in self.names}
        sides: tuple[tuple[str, Axis], ...] = (("slip_rate1", self.plane.along), ("slip_rate2", "z"))
        starts = [self._start(n, a, dtype) for n, a in sides for _ in range(2)]
        lo = np.array(self.plane.box.lo)
        adjacent = [
            start[tuple(np.moveaxis(p - lo, -1, 0))]
            for start, (_, _, p) in zip(starts, self.around_crossing[:4], strict=True)
        ]
        crossing = [b[None] for b in adjacent] + [np.broadcast_to(velocity[None, :, None], (1, len(velocity), 5))] * 4
        return self.fields_of(read, crossing, 0.0)[0]

    def _start(self, name: str, axis: Axis, dtype: type) -> np.ndarray:
        """Return the initial values of a quantity in the whole plane, zero where the case gives none."""
        given = self.given[axis]
        found = given.state.get(name)
        return np.zeros(given.places.shape[:3]) if found is None else np.asarray(np.asarray(found, dtype), float)

    def fields_of(
        self, read: Mapping[tuple[str, Axis], np.ndarray], crossing: Sequence[np.ndarray], late: float
    ) -> np.ndarray:
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
        self, read: Mapping[tuple[str, Axis], np.ndarray], crossing: Sequence[np.ndarray], late: float
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
        return np.asarray((self.off_plane.of_slip * found).sum(-1))

    def _rupture_speed(self, ruptured: np.ndarray) -> np.ndarray:
        """Return the rupture speed 1/|grad RT| where all corners ruptured at different times, else 0."""
        near, corners = self.near[self.plane.along], ruptured[..., :4]
        first, last = corners.min(-1), corners.max(-1)
        steep = np.hypot(*((near.slopes[:, n] * ruptured).sum(-1) for n in (0, 1)))
        moves = near.whole & (first > 0) & (last - first > SIMULTANEOUS * last) & (steep > 0)
        return np.where(moves, 1.0 / np.where(moves, steep, 1.0), 0.0)


def plan(planning: Planning) -> FaultReceivers | None:
    """Return the fault receivers, None if the case has none or no fault (which ``rupture`` reports)."""
    case = planning.case
    if case.fault is None or case.grid is None or case.grid.fault is None:
        return None
    with collect_problems(planning.problems):
        request = FaultReceiverRequest.read(case, planning.problems)
        return None if request is None else FaultReceivers(request)
    return None


@dataclass(frozen=True)
class FaultReceivers(FaultReceiverPlan, GridCapabilityPlan):
    """Receivers on a fault.

    Attributes
    ----------
    request : FaultReceiverRequest
    located : ndarray (n, 3)
        Points moved onto the fault [m], once there is a grid.
    requirements : Requirements
    """

    request: FaultReceiverRequest
    located: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    requirements: Requirements = Requirements()

    @property
    def places_on_fault(self) -> np.ndarray:
        return self.located

    def locate(self, placing: PlacementContext) -> Self:
        request = self.request
        fault: Setting = placing.case.grid.fault  # type: ignore[union-attr]
        located = np.clip(request.points, np.array(fault.lower, float), np.array(fault.upper, float))
        distance = np.linalg.norm(request.points - located, axis=1)
        near = np.full(len(located), placing.grid.spacing)
        report_distant_receivers(request.setting, request.points, located, distance, near, placing.problems)
        return replace(self, located=located)

    def check(self, checking: MaterialContext) -> Self:
        samples = checking.steps // self.request.setting.every + 1
        return replace(
            self,
            requirements=Requirements(disk=8 * len(self.request.points) * (len(self.request.fields) + 1) * samples),
        )

    def memory(self, steps: int, world: World) -> Memory:
        needed = 16.0 * len(self.request.points) * len(self.request.fields) * (steps / self.request.setting.every + 1)
        what = f"{len(self.request.points):,} fault receivers with {steps // self.request.setting.every:,} samples"
        return Memory(
            needed,
            "output.fault_receivers",
            what,
            "Raise output.fault_receivers.every, or choose fewer points or fields.",
        )

    def reader(self, plan: FdPlan, places: np.ndarray) -> FaultReader:
        """Return the reader of the fields at some of the located places (n, 3) [m]."""
        rupture = plan.parts["rupture"]
        assert isinstance(rupture, Rupture) and rupture.directions is not None
        rock = at_points(plan.material, ["lambda", "mu"], places, np.ones(len(places), np.int64))
        share = rock["lambda"] / np.maximum(rock["lambda"] + 2.0 * rock["mu"], 1e-300)
        exact = self.request.setting.position != "nearest"
        return FaultReader(
            plan.scheme, rupture.sliding, rupture.given, rupture.directions, places, share, self.request.fields, exact
        )

    def sampler(self, plan: FdPlan) -> Sampler | None:
        rupture = plan.parts.get("rupture")
        if not isinstance(rupture, Rupture) or rupture.directions is None or not len(self.request.points):
            return None
        return sampler_of(plan.partition, plan.scheme, self.located, lambda places: self.reader(plan, places))

    @property
    def must_match(self) -> Json:
        return {
            "points": self.request.points.tolist(),
            "fields": list(self.request.fields),
            "every": self.request.setting.every,
        }

    def attach(self, solver: Running) -> GridCapability:
        sampler = solver.samplers.get(self.name)
        return GridCapability() if sampler is None else AttachedFaultReceivers(self, solver.plan, sampler.mine)


class AttachedFaultReceivers(GridCapability):
    """Samples of the fault receivers ``mine`` of this process.

    The first sample is the state before the first step; the fields of all others are interpolated to the middle of a
    step.

    Attributes
    ----------
    count : int
        Number of steps so far.
    steps : list of int
        Steps after which samples were taken.
    blocks : list of ndarray (samples, receivers, fields)
    read : ndarray (2, receivers, fields)
        Values read in the last two steps. Together with the next step they determine the fields in the middle of the
        last.
    """

    def __init__(self, part: FaultReceivers, plan: FdPlan, mine: np.ndarray):
        self.part, self.plan, self.mine = part, plan, mine
        self.reader = part.reader(plan, part.located[mine])
        self.count = 0
        self.steps: list[int] = []
        self.blocks: list[np.ndarray] = []
        self.read = np.zeros((2, len(mine), len(part.request.fields)))
        self.initial: Solution | None = None

    def start(self, state: Solution | None) -> None:
        self.initial = state

    def begin(self) -> None:
        if self.steps:
            return
        places, axis = self.part.located[self.mine], "xyz".index(self.reader.plane.axis)
        moving = np.zeros(len(places))
        if self.initial is not None and len(places):
            moving = np.asarray(self.initial(places, 0.0))[:, 6 + axis]
        retained = number_type(self.part.request.case.numerics.precision)
        self.steps.append(0)
        first = self.reader.first(moving, retained)
        self.blocks.append(first[None].copy())
        self.read = np.stack([first, first])

    def sampled(self, values: np.ndarray) -> None:
        last, *found = self.reader.at_middles(self.read, values)
        if self.count and self.steps[-1] == self.count:
            self.blocks[-1][-1] = last
        after = np.arange(self.count + 1, self.count + len(values) + 1)
        due = np.flatnonzero(after % self.part.request.setting.every == 0)
        self.read = np.concatenate([self.read, values])[-2:]
        self.count += len(values)
        if len(due):
            self.steps += after[due].tolist()
            self.blocks.append(np.stack([found[k] for k in due]))

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the times (nt,) [s], which are middles of steps, and the values (nt, receivers, fields)."""
        shape = (0, len(self.mine), len(self.part.request.fields))
        self.blocks = [np.concatenate([np.zeros(shape), *self.blocks])]  # from here on once in memory, not twice
        steps = np.array(self.steps, float)
        return np.where(steps > 0, steps - 0.5, 0.0) * self.plan.scheme.step, self.blocks[0]

    def state(self) -> Mapping[str, State]:
        def restore(values: np.ndarray, origin: RestoredFrom) -> None:
            self.blocks = [np.asarray(values, float).swapaxes(0, 1)]

        def read(values: np.ndarray, origin: RestoredFrom) -> None:
            self.read = np.asarray(values, float).swapaxes(0, 1)

        def count(values: np.ndarray, origin: RestoredFrom) -> None:
            self.count, *self.steps = (int(v) for v in values)

        return {
            "samples": State(self.mine, lambda: self.arrays()[1].swapaxes(0, 1), restore),
            "read": State(self.mine, lambda: self.read.swapaxes(0, 1), read),
            "steps": State(None, lambda: np.array([self.count, *self.steps]), count),
        }

    def results(self) -> Iterable[Result]:
        part, (time, values) = self.part, self.arrays()
        count = len(part.located)
        found = gather_rows(self.plan.world, self.mine, [values.swapaxes(0, 1)], count)
        if found is None:
            return
        reader = part.reader(self.plan, part.located)
        normal, strike, dip = (np.tile(v, (count, 1)) for v in (reader.to.normal, reader.to.strike, reader.to.dip))
        frame = FaultFrame(normal, strike, dip, reader.initial_traction())
        times = np.tile(time[:, None], (1, count))
        yield part.request.result(times, found[0].swapaxes(0, 1), part.located, frame)
