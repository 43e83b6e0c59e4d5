"""Histories at points of a fault in a plane of the grid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from faultwave.base.collect import collected
from faultwave.case.model import Case
from faultwave.comm import World
from faultwave.engine.part import Origin, State
from faultwave.fd.fault_reading import FaultReader
from faultwave.fd.part import Checking, FdPlan, GridAttached, GridPart, Placing, Planning, Running, Solution
from faultwave.fd.parts.rupture import Rupture
from faultwave.fd.points import Sampler
from faultwave.fd.resources import Memory
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
    """``located`` (n, 3) [m]: the ``points`` asked for, moved onto the fault; ``share`` (n,): lambda/(lambda + 2 mu) there; ``units`` of
    fields that the friction law itself gives."""

    case: Case
    points: np.ndarray
    fields: tuple[str, ...]
    units: Mapping[str, str]
    located: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    share: np.ndarray = field(default_factory=lambda: np.zeros(0))
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
        tell_moved(self.setting, self.points, distance, near, placing.problems)
        return replace(self, located=located)

    def checked(self, checking: Checking) -> Self:
        with collected(checking.problems):
            rock = at_points(checking.field, ["lambda", "mu"], self.located, np.ones(len(self.located), np.int64))
            return replace(self, share=rock["lambda"] / np.maximum(rock["lambda"] + 2.0 * rock["mu"], 1e-300))
        return self

    def memory(self, steps: int, world: World) -> Memory:
        needed = 16.0 * len(self.points) * len(self.fields) * (steps / self.setting.every + 1)
        what = f"{len(self.points):,} fault receivers with {steps // self.setting.every:,} samples"
        return Memory(
            needed,
            "output.fault_receivers",
            what,
            "Raise output.fault_receivers.every, or give fewer points or fields.",
        )

    def sampler(self, plan: FdPlan) -> Sampler | None:
        rupture = plan.parts.get("rupture")
        if not isinstance(rupture, Rupture) or rupture.directions is None or not len(self.points):
            return None
        exact = self.setting.position == "exact"
        return FaultReader(
            plan.scheme,
            rupture.sliding,
            rupture.given,
            rupture.directions,
            self.located,
            self.share,
            self.fields,
            exact,
        )

    @property
    def must_match(self) -> Any:
        return {"points": self.points.tolist(), "fields": list(self.fields), "every": self.setting.every}

    def report(self, plan: Any) -> dict[str, list[tuple[str, ...]]]:
        return {"output": [("fault receivers", f"{len(self.points)}")]}

    def shapes(self, plan: Any) -> tuple[Marks, ...]:
        return (Marks("fault receivers", self.located),)

    def attach(self, solver: Running) -> GridAttached:
        reader: Any = solver.samplers.get(self.name)
        return GridAttached() if reader is None else AttachedFaultReceivers(self, solver, reader)


class AttachedFaultReceivers(GridAttached):
    """``samples``: after how many steps, and blocks (samples, receivers, fields); the first is that before all steps."""

    def __init__(self, part: FaultReceivers, solver: Running, reader: FaultReader):
        self.part, self.solver, self.reader = part, solver, reader
        self.count = 0
        self.steps: list[int] = []
        self.blocks: list[np.ndarray] = []
        self.initial: Solution | None = None

    def start(self, state: Solution | None) -> None:
        self.initial = state

    def begin(self) -> None:
        if self.steps:
            return
        part, axis = self.part, "xyz".index(self.reader.plane.axis)
        moving = np.zeros(len(part.located))
        if self.initial is not None:
            moving = np.asarray(self.initial(part.located, 0.0))[:, 6 + axis]
        self.steps.append(0)
        self.blocks.append(self.reader.first(self.solver.operator.runner.values, moving)[None])

    def sampled(self, values: np.ndarray) -> None:
        after = np.arange(self.count + 1, self.count + len(values) + 1)
        due = after % self.part.setting.every == 0
        self.count += len(values)
        self.steps += after[due].tolist()
        self.blocks.append(values[due])

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Times (nt,) [s] and values (nt, receivers, fields): slip rates are half a step before the end of each."""
        shape = (0, len(self.part.points), len(self.part.fields))
        self.blocks = [np.concatenate([np.zeros(shape), *self.blocks])]  # once in memory, not twice, from here on
        steps = np.array(self.steps, float)
        return np.where(steps > 0, steps - 0.5, 0.0) * self.solver.plan.scheme.step, self.blocks[0]

    def state(self) -> Mapping[str, State]:
        def restore(values: np.ndarray, origin: Origin) -> None:
            self.blocks = [np.asarray(values, float)]

        def count(values: np.ndarray, origin: Origin) -> None:
            self.count, *self.steps = (int(v) for v in values)

        return {
            "values": State(None, lambda: self.arrays()[1], restore),
            "steps": State(None, lambda: np.array([self.count, *self.steps]), count),
        }

    def results(self) -> Iterable[Result]:
        part, reader = self.part, self.reader
        time, values = self.arrays()
        count = len(part.located)
        normal, strike, dip = (np.tile(v, (count, 1)) for v in (reader.to.normal, reader.to.strike, reader.to.dip))
        frame = FaultFrame(normal, strike, dip, reader.initial_traction())
        attrs = {"units": dict(part.units), **since(part.case.output.origin_time)}
        yield Result(name, fault_receivers_from_arrays(
            np.tile(time[:, None], (1, count)), values, list(part.fields), part.located, part.points, frame=frame, attrs=attrs
        ))  # fmt: skip


__all__ = ["FaultReceivers", "plan"]
