"""Histories at points of a fault in a plane of the grid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from faultwave.base.collect import collected
from faultwave.case.model import Case
from faultwave.comm import World
from faultwave.comm.gather import collect
from faultwave.engine.part import Demand, Origin, State
from faultwave.fd.fault_reading import FaultReader
from faultwave.fd.part import Checking, FdPlan, GridAttached, GridPart, Placing, Planning, Running, Solution
from faultwave.fd.parts.rupture import Rupture
from faultwave.fd.points import Sampler
from faultwave.fd.resources import Memory
from faultwave.fd.shared import sampler_of
from faultwave.media.homogenise import at_points
from faultwave.observe.dataset import FaultFrame, fault_receivers_from_arrays
from faultwave.observe.fault_receivers import tell_moved
from faultwave.observe.fields import fault_receiver_fields
from faultwave.observe.model import Marks
from faultwave.observe.points import read_points
from faultwave.observe.result import Result
from faultwave.observe.stations import since
from faultwave.physics.friction.outputs import readable

name = "fault_receivers"


def plan(planning: Planning) -> FaultReceivers | None:
    """None where the case asks for none, or has no fault: ``rupture`` tells that."""
    case = planning.case
    setting = case.output.fault_receivers
    if setting is None or case.fault is None or case.grid is None or case.grid.fault is None:
        return None
    with collected(planning.problems):
        points, known = read_points(setting), readable(case.fault)
        fields = fault_receiver_fields(setting, known.names)
        return FaultReceivers(case, points, tuple(fields), {n: u for n, u in known.units.items() if n in fields})
    return None


@dataclass(frozen=True)
class FaultReceivers(GridPart):
    """``located`` (n, 3) [m]: the ``points`` asked for, moved onto the fault; ``units`` of fields that the friction law itself gives."""

    case: Case
    points: np.ndarray
    fields: tuple[str, ...]
    units: Mapping[str, str]
    located: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    demand: Demand = Demand()
    name = name

    @property
    def setting(self) -> Any:
        """The case's ``output.fault_receivers``."""
        return self.case.output.fault_receivers

    def placed(self, placing: Placing) -> Self:
        fault: Any = placing.case.grid.fault  # type: ignore[union-attr]
        located = np.clip(self.points, np.array(fault.lower, float), np.array(fault.upper, float))
        distance = np.linalg.norm(self.points - located, axis=1)
        near = np.full(len(located), placing.grid.spacing)
        tell_moved(self.setting, self.points, located, distance, near, placing.problems)
        return replace(self, located=located)

    def checked(self, checking: Checking) -> Self:
        samples = checking.steps // self.setting.every + 1
        return replace(self, demand=Demand(disk=8 * len(self.points) * (len(self.fields) + 1) * samples))

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
        """What reads some of the places (n, 3) that were located."""
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

    def attach(self, solver: Running) -> GridAttached:
        sampler = solver.samplers.get(self.name)
        return GridAttached() if sampler is None else AttachedFaultReceivers(self, solver.plan, sampler.mine)


class AttachedFaultReceivers(GridAttached):
    """Of the receivers ``mine``: after how many ``steps`` samples were taken, and ``blocks`` (samples, receivers, fields) of them. The
    first is that before all steps; all fields of the others are those in the middle of a step. ``read`` (2, receivers, fields): what the
    last two steps were read as, from which and the next step those of the last follow."""

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
        kept = np.float32 if self.part.case.numerics.precision == "single" else np.float64
        self.steps.append(0)
        first = self.reader.first(moving, kept)
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
        """Return the times (nt,) [s], of middles of steps, and the values (nt, receivers, fields) then."""
        shape = (0, len(self.mine), len(self.part.fields))
        self.blocks = [np.concatenate([np.zeros(shape), *self.blocks])]  # once in memory, not twice, from here on
        steps = np.array(self.steps, float)
        return np.where(steps > 0, steps - 0.5, 0.0) * self.plan.scheme.step, self.blocks[0]

    def state(self) -> Mapping[str, State]:
        def restore(values: np.ndarray, origin: Origin) -> None:
            self.blocks = [np.asarray(values, float).swapaxes(0, 1)]

        def read(values: np.ndarray, origin: Origin) -> None:
            self.read = np.asarray(values, float).swapaxes(0, 1)

        def count(values: np.ndarray, origin: Origin) -> None:
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
