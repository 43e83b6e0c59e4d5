"""Forces with given series at points, and the motion that they cause: the adjoint waves of gradients (``faultwave.gradients``).

No case requests them: the computation of a gradient adds them to a plan in place of the plan's sources and outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from faultwave.fd.capabilities.point_sources import PointSourceInjector
from faultwave.fd.capability import FdPlan, GridCapability, GridCapabilityPlan, Running
from faultwave.fd.method.scheme import LEVELS, Level
from faultwave.fd.method.stencils import VELOCITY
from faultwave.fd.operators.operator import storage_units
from faultwave.fd.operators.points import Sampler, interpolation_stencils, near
from faultwave.fd.shared_samplers import sampler_of
from faultwave.kernels.stencil import SampleBuffer
from faultwave.physics.sources.point import PointSource, Sources
from faultwave.physics.sources.time_functions import Samples

UNIT = Samples(np.ones(2), 1.0)
"""Time function that stands in for the series of a force."""


def unit_forces(points: np.ndarray) -> Sources:
    """Return forces of 1 N along x, y and z (3 n sources, those of a point in sequence) at points (n, 3) [m]."""
    return Sources.of(
        [PointSource(point, UNIT, force=axis, name="adjoint force") for point in points for axis in np.eye(3)]
    )


@dataclass(frozen=True)
class SeriesForces(GridCapabilityPlan):
    """Forces with series of amplitudes.

    Attributes
    ----------
    series : ndarray (n, steps)
        Factor of each force in each step, centred at the times of the velocities.
    sources : Sources
        Forces of 1 N (see ``unit_forces``).
    """

    series: np.ndarray
    sources: Sources
    name = "sources"

    @property
    def radiating(self) -> Sources:  # type: ignore[override]
        return self.sources

    @property
    def places(self) -> np.ndarray:
        return self.sources.location

    def select(self, numbers: np.ndarray) -> Self:
        return replace(self, sources=self.sources.chosen(numbers), series=self.series[numbers])

    def drive(self, plan: FdPlan) -> SeriesInjector:
        return SeriesInjector(self, plan)


class SeriesInjector(PointSourceInjector):
    """Injector of forces whose amplitudes are series instead of means of time functions."""

    def __init__(self, part: SeriesForces, plan: FdPlan):
        box, series = plan.partition.subdomain.box if plan.partition else None, part.series
        if box is not None and len(series):
            series = series[near(plan.scheme, box, part.sources.location)]
        self.series = series
        units = storage_units(plan.medium, plan.case.numerics.precision, plan.partition)
        moduli = np.zeros((len(part.sources), 2))
        super().__init__(plan.scheme, part.sources, moduli, plan.medium.coefficients, box, units)

    def _means(self, first: int) -> np.ndarray:
        found = np.zeros((LEVELS, self._block, max(1, self.count)))
        given = self.series[:, first : first + self._block].T
        found[Level.VELOCITY, : len(given), : self.count] = given
        return found


@dataclass(frozen=True)
class Motion(GridCapabilityPlan):
    """Recording of the velocity at ``points`` (n, 3) [m] in every step."""

    points: np.ndarray
    name = "motion"

    @property
    def places(self) -> np.ndarray:
        return self.points

    def select(self, numbers: np.ndarray) -> Motion:
        return replace(self, points=self.points[numbers])

    def sampler(self, plan: FdPlan) -> Sampler:
        return sampler_of(plan.partition, plan.scheme, self.points, lambda x: VelocitySampler(plan, x))

    def attach(self, solver: Running) -> MotionRecording:
        return MotionRecording(solver.samplers[self.name].mine)


class VelocitySampler:
    """Sampler of the velocity (steps, points, 3), with the weights of forces."""

    shape = (len(VELOCITY),)

    def __init__(self, plan: FdPlan, points: np.ndarray):
        self.mine = np.arange(len(points))
        self.around = [interpolation_stencils(plan.scheme, name, points) for name in VELOCITY]
        self.sample_buffers = [
            SampleBuffer(Level.VELOCITY, name, s.points.reshape(-1, 3))
            for name, s in zip(VELOCITY, self.around, strict=True)
        ]

    def values(self, sample_buffers: Sequence[np.ndarray]) -> np.ndarray:
        """Return the velocities (steps, points, 3), half a step before the end of each step."""
        result = np.zeros((len(sample_buffers[0]), len(self.mine), *self.shape))
        for column, (buffer, s) in enumerate(zip(sample_buffers, self.around, strict=True)):
            block = buffer.reshape(len(buffer), *s.value.shape).astype(float)
            result[..., column] = np.einsum("tnp,np->tn", block, s.value)
        return result


class MotionRecording(GridCapability):
    """Velocities of the points ``mine`` (n,) so far."""

    def __init__(self, mine: np.ndarray):
        self.mine, self.blocks = mine, [np.zeros((0, len(mine), len(VELOCITY)))]

    def sampled(self, values: np.ndarray) -> None:
        self.blocks.append(values)

    @property
    def velocities(self) -> np.ndarray:
        """Velocities (steps, n, 3), half a step before the end of each step."""
        return np.concatenate(self.blocks)
