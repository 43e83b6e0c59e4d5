"""Time series at points of a fault in a plane of the grid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from faultwave.base.errors import collect_problems
from faultwave.case.settings.model import Case
from faultwave.comm import World
from faultwave.comm.gather import collect
from faultwave.engine.capability import Requirements, RestoredFrom, State
from faultwave.fd.capabilities.rupture import Rupture
from faultwave.fd.capability import (
    FdPlan,
    GridCapability,
    GridCapabilityPlan,
    MaterialContext,
    PlacementContext,
    Planning,
    Running,
    Solution,
)
from faultwave.fd.fault.readings import FaultReader
from faultwave.fd.operators.points import Sampler
from faultwave.fd.operators.resources import Memory
from faultwave.fd.operators.shared_samplers import sampler_of
from faultwave.media.homogenise import at_points
from faultwave.observe.dataset import FaultFrame, fault_receivers_from_arrays
from faultwave.observe.fault_receivers import report_distant_receivers
from faultwave.observe.model import Marks
from faultwave.observe.result import Result
from faultwave.observe.snapshots.fields import fault_receiver_fields
from faultwave.observe.stations.codes import since
from faultwave.observe.stations.points import read_points
from faultwave.physics.friction.outputs import readable

name = "fault_receivers"


def plan(planning: Planning) -> FaultReceivers | None:
    """Return the fault receivers, None if the case has none or no fault (which ``rupture`` reports)."""
    case = planning.case
    setting = case.output.fault_receivers
    if setting is None or case.fault is None or case.grid is None or case.grid.fault is None:
        return None
    with collect_problems(planning.problems):
        points, known = read_points(setting), readable(case.fault)
        fields = fault_receiver_fields(setting, known.names)
        return FaultReceivers(case, points, tuple(fields), {n: u for n, u in known.units.items() if n in fields})
    return None


@dataclass(frozen=True)
class FaultReceivers(GridCapabilityPlan):
    """Receivers on a fault.

    Attributes
    ----------
    case : Case
    points : ndarray (n, 3)
        Requested points [m].
    fields : tuple of str
        Recorded fields.
    units : mapping of str to str
        Units of fields that the friction law defines.
    located : ndarray (n, 3)
        Points moved onto the fault [m], once there is a grid.
    requirements : Requirements
    """

    case: Case
    points: np.ndarray
    fields: tuple[str, ...]
    units: Mapping[str, str]
    located: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    requirements: Requirements = Requirements()
    name = name

    @property
    def setting(self) -> Any:
        """Settings ``output.fault_receivers`` of the case."""
        return self.case.output.fault_receivers

    def locate(self, placing: PlacementContext) -> Self:
        fault: Any = placing.case.grid.fault  # type: ignore[union-attr]
        located = np.clip(self.points, np.array(fault.lower, float), np.array(fault.upper, float))
        distance = np.linalg.norm(self.points - located, axis=1)
        near = np.full(len(located), placing.grid.spacing)
        report_distant_receivers(self.setting, self.points, located, distance, near, placing.problems)
        return replace(self, located=located)

    def check(self, checking: MaterialContext) -> Self:
        samples = checking.steps // self.setting.every + 1
        return replace(self, requirements=Requirements(disk=8 * len(self.points) * (len(self.fields) + 1) * samples))

    def memory(self, steps: int, world: World) -> Memory:
        needed = 16.0 * len(self.points) * len(self.fields) * (steps / self.setting.every + 1)
        what = f"{len(self.points):,} fault receivers with {steps // self.setting.every:,} samples"
        return Memory(
            needed,
            "output.fault_receivers",
            what,
            "Raise output.fault_receivers.every, or give fewer points or fields.",
        )

    def reader(self, plan: FdPlan, places: np.ndarray) -> FaultReader:
        """Return the reader of the fields at some of the located places (n, 3) [m]."""
        rupture = plan.parts["rupture"]
        assert isinstance(rupture, Rupture) and rupture.directions is not None
        rock = at_points(plan.material, ["lambda", "mu"], places, np.ones(len(places), np.int64))
        share = rock["lambda"] / np.maximum(rock["lambda"] + 2.0 * rock["mu"], 1e-300)
        exact = self.setting.position != "nearest"
        return FaultReader(
            plan.scheme, rupture.sliding, rupture.given, rupture.directions, places, share, self.fields, exact
        )

    def sampler(self, plan: FdPlan) -> Sampler | None:
        rupture = plan.parts.get("rupture")
        if not isinstance(rupture, Rupture) or rupture.directions is None or not len(self.points):
            return None
        return sampler_of(plan.shared, plan.scheme, self.located, lambda places: self.reader(plan, places))

    @property
    def must_match(self) -> Any:
        return {"points": self.points.tolist(), "fields": list(self.fields), "every": self.setting.every}

    def report(self, plan: Any) -> dict[str, list[tuple[str, ...]]]:
        return {"output": [("fault receivers", f"{len(self.points)}")]}

    def shapes(self, plan: Any) -> tuple[Marks, ...]:
        return (Marks("fault receivers", self.located),)

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
        self.read = np.zeros((2, len(mine), len(part.fields)))
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
        retained = np.float32 if self.part.case.numerics.precision == "single" else np.float64
        self.steps.append(0)
        first = self.reader.first(moving, retained)
        self.blocks.append(first[None].copy())
        self.read = np.stack([first, first])

    def sampled(self, values: np.ndarray) -> None:
        last, *found = self.reader.at_middles(self.read, values)
        if self.count and self.steps[-1] == self.count:
            self.blocks[-1][-1] = last
        after = np.arange(self.count + 1, self.count + len(values) + 1)
        due = np.flatnonzero(after % self.part.setting.every == 0)
        self.read = np.concatenate([self.read, values])[-2:]
        self.count += len(values)
        if len(due):
            self.steps += after[due].tolist()
            self.blocks.append(np.stack([found[k] for k in due]))

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the times (nt,) [s], which are middles of steps, and the values (nt, receivers, fields)."""
        shape = (0, len(self.mine), len(self.part.fields))
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
        found = collect(self.plan.world, self.mine, [values.swapaxes(0, 1)], count)
        if found is None:
            return
        reader = part.reader(self.plan, part.located)
        normal, strike, dip = (np.tile(v, (count, 1)) for v in (reader.to.normal, reader.to.strike, reader.to.dip))
        frame = FaultFrame(normal, strike, dip, reader.initial_traction())
        attrs = {"units": dict(part.units), **since(part.case.output.origin_time)}
        yield Result(name, fault_receivers_from_arrays(
            np.tile(time[:, None], (1, count)), found[0].swapaxes(0, 1), list(part.fields), part.located, part.points, frame=frame,
            attrs=attrs,
        ))  # fmt: skip


__all__ = ["FaultReceivers", "plan"]
