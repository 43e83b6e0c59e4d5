"""Seismograms at points anywhere in the box."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from faultwave.base.errors import Problem, collect_problems
from faultwave.base.types import Json, Setting
from faultwave.case.settings.model import Case
from faultwave.comm import World
from faultwave.engine.capability import Requirements, State
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
from faultwave.fd.method.program import STRESS_LEVEL, VELOCITY_LEVEL, Scheme
from faultwave.fd.method.stencils import VELOCITY
from faultwave.fd.operators.points import RECORDED, Sampler, interpolation_stencils
from faultwave.fd.operators.resources import Memory, number_bytes
from faultwave.fd.operators.time_dispersion import removed, removes, residual_motion_warning
from faultwave.fd.shared_samplers import checkpoint_state, gather_series, sampler_of
from faultwave.kernels.stencil import SampleBuffer
from faultwave.observe.dataset import Result, receivers_from_arrays
from faultwave.observe.model import Marks
from faultwave.observe.receivers import SeriesRecorder, with_gradients
from faultwave.observe.stations.codes import Station, with_stations
from faultwave.observe.stations.points import read_points, read_stations, with_degrees, z_references

COPIES = 4
"""Number of copies of the samples in memory at the end of a run."""
USELESS_INTERVAL_FRACTION = 0.2
"""Fraction of the time step below which a sampling interval is reported as useless."""


def plan(planning: Planning) -> Receivers | None:
    """Return the receivers of the case, None if it requests none."""
    case = planning.case
    if case.output.receivers is None:
        return None
    with collect_problems(planning.problems):
        setting = case.output.receivers
        points = read_points(setting, case.projection)
        return Receivers(case, points, z_references(setting), stations=read_stations(setting, planning.problems))
    return None


@dataclass(frozen=True)
class Receivers(GridCapabilityPlan):
    """Receivers of a case.

    Attributes
    ----------
    case : Case
    points : ndarray (n, 3)
        Places [m].
    references : ndarray (n,)
        Reference of each z (``z_references``).
    requirements : Requirements
    stations : tuple of Station
        Names of the receivers, if given.
    """

    case: Case
    points: np.ndarray
    references: np.ndarray
    requirements: Requirements = Requirements()
    stations: tuple[Station, ...] = ()
    name = "receivers"

    @property
    def setting(self) -> Setting:
        """Settings ``output.receivers`` of the case."""
        return self.case.output.receivers

    @property
    def gradients(self) -> bool:
        """True if spatial derivatives are recorded."""
        return bool(self.setting.rotation or self.setting.strain_rate)

    @property
    def samples(self) -> int:
        """Number of samples in time."""
        return int(self.case.end_time / self.setting.interval + 1e-9) + 1

    @property
    def must_match(self) -> Json:
        return self.points.tolist()

    @property
    def places(self) -> np.ndarray:
        return self.points

    def select(self, numbers: np.ndarray) -> Self:
        return replace(self, points=self.points[numbers], references=self.references[numbers])

    def locate(self, placing: PlacementContext) -> Self:
        points = placing.located(self.points, "receivers", self.references)
        placing.check_inside([(f"receiver {i + 1}", p) for i, p in enumerate(points)], "receivers")
        columns = len(RECORDED) + 3 * self.setting.rotation + 6 * self.setting.strain_rate
        return replace(self, points=points, requirements=Requirements(disk=8 * columns * len(points) * self.samples))

    def check(self, checking: MaterialContext) -> Self:
        own, step = self.setting.interval, checking.step
        if "interval" in self.setting.model_fields_set and own < USELESS_INTERVAL_FRACTION * step:
            what = f"{own:g} s is {step / own:.3g} times shorter than the time step, {step:.4g} s: samples between steps are interpolated"
            advice = "They tell nothing new and fill memory and disk."
            checking.placing.problems.warn("output.receivers.interval", what, f"about {step:.3g} s or more", advice)
        return self

    def memory(self, steps: int, world: World) -> Memory:
        """Return the memory of the samples on the first process, which gathers them at the end."""
        numbers = float(len(self.points) * len(RECORDED) * (4 if self.gradients else 1))
        samples = steps if removes(self.case) else self.samples
        needed = numbers * samples * (number_bytes(self.case) / world.size + COPIES * 8)
        what = f"{len(self.points):,} receivers with {samples:,} samples"
        return Memory(needed, "output.receivers", what, "Raise output.receivers.interval, or give fewer.")

    def sampler(self, plan: FdPlan) -> Sampler | None:
        if not len(self.points):
            return None
        scheme = plan.scheme
        return sampler_of(plan.shared, scheme, self.points, lambda x: PointSampler(scheme, x, self.gradients))

    def attach(self, solver: Running) -> GridCapability:
        sampler = solver.samplers.get(self.name)
        return GridCapability() if sampler is None else Recording(self, solver.plan, sampler.mine)

    def shapes(self, plan: FdPlan) -> tuple[Marks, ...]:
        return (Marks(self.name, self.points, tuple(s.code for s in self.stations)),)


class PointSampler:
    """Sampler of all quantities at points (n, 3) [m], with their derivatives along x, y and z if requested."""

    def __init__(self, scheme: Scheme, points: np.ndarray, gradients: bool):
        self.points, self.gradients = points, gradients
        self.mine = np.arange(len(points))
        self.shape = (4 if gradients else 1, len(RECORDED))
        self.around = [interpolation_stencils(scheme, name, points) for name in RECORDED]
        self.sample_buffers = [
            SampleBuffer(VELOCITY_LEVEL if name in VELOCITY else STRESS_LEVEL, name, s.points.reshape(-1, 3))
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


class Recording(GridCapability):
    """Samples of the receivers ``mine`` of this process."""

    def __init__(self, part: Receivers, plan: FdPlan, mine: np.ndarray):
        self.part, self.plan, self.mine = part, plan, mine
        self.every_step, self.remark = removes(part.case), ""
        self.start(None)

    def start(self, state: Solution | None) -> None:
        """Start the series; stresses are recorded at the end of each step, velocities half a step before."""
        part, step = self.part, self.plan.scheme.step
        late = [0.5 if name in VELOCITY else 1.0 for name in RECORDED]
        points = part.points[self.mine]
        retained = np.float32 if part.case.numerics.precision == "single" else np.float64
        first = np.zeros((len(points), 4 if part.gradients else 1, len(RECORDED)), retained)
        if state is not None:
            first[:, 0] = np.where(np.array(late) < 1, state(points, -0.5 * step), state(points, 0.0))
        if self.every_step:  # all steps are stored, to remove time dispersion at the end
            self.late, late = late, [1.0] * len(late)
        self.recorder = SeriesRecorder(step, late, first, step if self.every_step else part.setting.interval)

    def sampled(self, values: np.ndarray) -> None:
        self.recorder.append(values)

    def state(self) -> Mapping[str, State]:
        return checkpoint_state(self.recorder, self.mine)

    def remarks(self) -> Iterable[Problem]:
        if self.remark:
            advice = "Let the run end later by as much, or do not use them."
            yield Problem("output.receivers", self.remark, advice=advice, severity="warning")

    def results(self) -> Iterable[Result]:
        """Return the seismograms of all processes, on the first."""
        setting = self.part.setting
        found = gather_series(self.recorder, self.mine, len(self.part.points), self.plan.world)
        if found is None:
            return
        time, values = found
        if self.every_step:
            velocity = [RECORDED.index(name) for name in VELOCITY]
            self.remark = residual_motion_warning(values[:, :, 0][..., velocity], self.plan.scheme.step)
            time, values = removed(values, self.late, self.plan.scheme.step, setting.interval)
        columns, names = with_gradients(values, self.plan.law.quantities, setting.rotation, setting.strain_rate)
        made = receivers_from_arrays(time, columns, names, self.part.points, self.part.points)
        made = with_stations(made, self.part.stations, self.part.case.output.origin_time)
        yield Result("receivers", with_degrees(made, self.part.case.projection))


__all__ = ["PointSampler", "Receivers", "Recording", "plan"]
