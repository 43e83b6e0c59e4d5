"""Seismograms at points anywhere in the box; what does not depend on the grid is in ``engine/receivers.py``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from faultwave.base.errors import Problem, collect_problems
from faultwave.base.precision import number_bytes, number_type
from faultwave.base.types import Json
from faultwave.comm import World
from faultwave.engine.capability import Requirements, State
from faultwave.engine.receivers import (
    NAME,
    ReceiverCapability,
    ReceiverPlan,
    ReceiverRequest,
    SeriesRecorder,
    gather_receivers,
    series_state,
)
from faultwave.fd.capability import FdPlan, GridCapability, GridCapabilityPlan, Running, Solution
from faultwave.fd.contexts import MaterialContext, PlacementContext, Planning
from faultwave.fd.method.scheme import Level, Scheme
from faultwave.fd.method.stencils import VELOCITY
from faultwave.fd.operators.points import RECORDED, Sampler, interpolation_stencils
from faultwave.fd.operators.resources import Memory
from faultwave.fd.operators.time_dispersion import removed, removes, residual_motion_warning
from faultwave.fd.shared_samplers import sampler_of
from faultwave.kernels.stencil import SampleBuffer

COPIES = 4
"""Number of copies of the samples in memory at the end of a run."""
USELESS_INTERVAL_FRACTION = 0.2
"""Fraction of the time step below which a sampling interval is reported as useless."""


def plan(planning: Planning) -> Receivers | None:
    """Return the receivers of the case, None if it requests none."""
    with collect_problems(planning.problems):
        request = ReceiverRequest.read(planning.case, planning.law, planning.problems)
        return None if request is None else Receivers(request, request.points)
    return None


@dataclass(frozen=True)
class Receivers(ReceiverPlan, GridCapabilityPlan):
    """Receivers of a case at ``points`` (n, 3) [m]."""

    request: ReceiverRequest
    points: np.ndarray

    @property
    def located(self) -> np.ndarray:
        return self.points

    @property
    def requirements(self) -> Requirements:
        return Requirements(disk=self.request.disk)

    @property
    def must_match(self) -> Json:
        return self.points.tolist()

    @property
    def places(self) -> np.ndarray:
        return self.points

    def select(self, numbers: np.ndarray) -> Self:
        return replace(self, points=self.points[numbers])

    def locate(self, placing: PlacementContext) -> Self:
        points = placing.located(self.points, NAME, self.request.references)
        placing.check_inside([(f"receiver {i + 1}", p) for i, p in enumerate(points)], NAME)
        return replace(self, points=points)

    def check(self, checking: MaterialContext) -> Self:
        setting, step = self.request.setting, checking.step
        own = setting.interval
        if "interval" in setting.model_fields_set and own < USELESS_INTERVAL_FRACTION * step:
            what = (
                f"{own:g} s is {step / own:.3g} times shorter than the time step of {step:.4g} s: samples "
                "between steps are interpolated"
            )
            advice = "They add no information and use memory and disk."
            checking.placing.problems.warn("output.receivers.interval", what, f"about {step:.3g} s or more", advice)
        return self

    def memory(self, steps: int, world: World) -> Memory:
        """Return the memory of the samples on the first process, which gathers them at the end."""
        request = self.request
        numbers = float(len(self.points) * len(RECORDED) * (4 if request.gradients else 1))
        samples = steps if removes(request.case) else request.samples
        needed = numbers * samples * (number_bytes(request.case.numerics.precision) / world.size + COPIES * 8)
        what = f"{len(self.points):,} receivers with {samples:,} samples"
        return Memory(needed, "output.receivers", what, "Raise output.receivers.interval, or use fewer receivers.")

    def sampler(self, plan: FdPlan) -> Sampler | None:
        if not len(self.points):
            return None
        scheme, gradients = plan.scheme, self.request.gradients
        return sampler_of(plan.partition, scheme, self.points, lambda x: PointSampler(scheme, x, gradients))

    def attach(self, solver: Running) -> GridCapability:
        sampler = solver.samplers.get(self.name)
        return GridCapability() if sampler is None else AttachedReceivers(self, solver.plan, sampler.mine)


class PointSampler:
    """Sampler of all quantities at points (n, 3) [m], with their derivatives along x, y and z if requested."""

    def __init__(self, scheme: Scheme, points: np.ndarray, gradients: bool):
        self.points, self.gradients = points, gradients
        self.mine = np.arange(len(points))
        self.shape = (4 if gradients else 1, len(RECORDED))
        self.around = [interpolation_stencils(scheme, name, points) for name in RECORDED]
        self.sample_buffers = [
            SampleBuffer(Level.VELOCITY if name in VELOCITY else Level.STRESS, name, s.points.reshape(-1, 3))
            for name, s in zip(RECORDED, self.around, strict=True)
        ]

    def values(self, sample_buffers: Sequence[np.ndarray]) -> np.ndarray:
        """Return the values (steps, points, 1 or 4, 9): quantities and, if requested, their derivatives along x, y, z."""
        result = np.zeros((len(sample_buffers[0]), len(self.points), *self.shape))
        for column, (buffer, s) in enumerate(zip(sample_buffers, self.around, strict=True)):
            block = buffer.reshape(len(buffer), len(self.points), -1).astype(float)
            functionals = np.concatenate([s.value[:, None], s.slope], 1) if self.gradients else s.value[:, None]
            result[..., column] = np.einsum("tnp,ncp->tnc", block, functionals)
        return result


class PointSeries(GridCapability):
    """Samples of the wave field at those of some ``points`` (n, 3) [m] that are ``mine``, of this process."""

    def __init__(self, plan: FdPlan, points: np.ndarray, mine: np.ndarray, interval: float, gradients: bool = False):
        self.plan, self.points, self.mine, self.sampling = plan, points, mine, interval
        self.channels_per_point = 4 if gradients else 1
        self.every_step = removes(plan.case)  # all steps are stored, to remove time dispersion at the end
        self.start(None)

    def start(self, state: Solution | None) -> None:
        """Start the series; stresses are recorded at the end of each step, velocities half a step before."""
        case, step = self.plan.case, self.plan.scheme.step
        late = [0.5 if name in VELOCITY else 1.0 for name in RECORDED]
        points = self.points[self.mine]
        retained = number_type(case.numerics.precision)
        first = np.zeros((len(points), self.channels_per_point, len(RECORDED)), retained)
        if state is not None:
            first[:, 0] = np.where(np.array(late) < 1, state(points, -0.5 * step), state(points, 0.0))
        if self.every_step:
            self.late, late = late, [1.0] * len(late)
        self.recorder = SeriesRecorder(step, late, first, step if self.every_step else self.sampling)

    def sampled(self, values: np.ndarray) -> None:
        self.recorder.append(values)

    def state(self) -> Mapping[str, State]:
        return series_state(self.recorder, self.mine)

    def gathered(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Return times (nt,) [s] and samples (nt, n, C, Q) of all processes on the first, None elsewhere (collective)."""
        time, values = self.recorder.arrays()
        gathered = gather_receivers(values, self.mine, len(self.points), self.plan.world)
        return None if gathered is None else (time, gathered)


class AttachedReceivers(ReceiverCapability, PointSeries):
    """Receivers of a run."""

    def __init__(self, part: Receivers, plan: FdPlan, mine: np.ndarray):
        super().__init__(plan, part.points, mine, part.request.setting.interval, part.request.gradients)
        self.part, self.remark = part, ""

    def remarks(self) -> Iterable[Problem]:
        if self.remark:
            advice = "Extend end_time by this duration, or ignore these samples."
            yield Problem("output.receivers", self.remark, advice=advice, severity="warning")

    def series(self) -> tuple[np.ndarray, np.ndarray] | None:
        found, step = self.gathered(), self.plan.scheme.step
        if found is None or not self.every_step:
            return found
        values = found[1]
        velocity = [RECORDED.index(name) for name in VELOCITY]
        self.remark = residual_motion_warning(values[:, :, 0][..., velocity], step)
        return removed(values, self.late, step, self.sampling)
