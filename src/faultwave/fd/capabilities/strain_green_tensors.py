"""Strain at points due to forces elsewhere, the elements of strain Green tensors (``faultwave.green_tensors``).

No case requests it by itself: the computation of the tensors adds the capability to a plan, with a force in place of
the plan's sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from faultwave.engine.receivers import SeriesRecorder, gather_receivers
from faultwave.fd.capability import FdPlan, GridCapability, GridCapabilityPlan, Running
from faultwave.fd.method.curvilinear_layer import MEAN, rise_at, slope_at
from faultwave.fd.method.differences import curvilinear_along_z
from faultwave.fd.method.scheme import Level, Scheme
from faultwave.fd.method.stencils import NORMAL, STRAINS, VELOCITY, beyond
from faultwave.fd.operators.points import MOMENT, Sampler, interpolation_stencils, vertical_stretch
from faultwave.fd.operators.time_dispersion import removed, removes
from faultwave.fd.shared_samplers import sampler_of
from faultwave.kernels.stencil import SampleBuffer
from faultwave.media.homogenise import at_points
from faultwave.observe.dataset import Dataset, Result, Variable

COMPONENTS = tuple(name[1:] for name in MOMENT)
BLOCK = 64
"""Number of steps summed together, constant so that sums do not depend on the number of fused steps."""


@dataclass(frozen=True)
class Strain(GridCapabilityPlan):
    """Recording of strain at points.

    Attributes
    ----------
    points : ndarray (n, 3)
        Places [m].
    interval : float
        Sampling interval [s].
    scale : float
        Force [N] by which strain is divided.
    """

    points: np.ndarray
    interval: float
    scale: float
    name = "strain"

    @property
    def places(self) -> np.ndarray:
        return self.points

    def select(self, numbers: np.ndarray) -> Strain:
        return replace(self, points=self.points[numbers])

    def sampler(self, plan: FdPlan) -> Sampler:
        return sampler_of(plan.partition, plan.scheme, self.points, lambda x: StrainSampler(plan.scheme, x))

    def attach(self, solver: Running) -> StrainRecording:
        return StrainRecording(self, solver)


def lame_parameters(plan: FdPlan, points: np.ndarray) -> np.ndarray:
    """Return lambda and mu (n, 2) [Pa] of the material at points (n, 3) [m], as for the moments of sources there."""
    values = at_points(plan.material, ["lambda", "mu"], points, np.ones(len(points), np.int64))
    return np.stack([values["lambda"], values["mu"]], 1)


class StrainRecording(GridCapability):
    """Strain so far, integrated from strain rates."""

    def __init__(self, part: Strain, solver: Running):
        self.part, self.plan, self.mine = part, solver.plan, solver.samplers[part.name].mine
        self.total = np.zeros((len(self.mine), len(COMPONENTS)))
        self.waiting = np.zeros((0, *self.total.shape))
        step = self.plan.scheme.step
        self.every_step = removes(self.plan.case)
        interval = step if self.every_step else part.interval
        self.recorder = SeriesRecorder(step, [1.0] * len(COMPONENTS), self.total[:, None], interval)

    def sampled(self, values: np.ndarray) -> None:
        self.waiting = np.concatenate([self.waiting, values])
        while len(self.waiting) >= BLOCK:
            self._sum(BLOCK)

    def _sum(self, steps: int) -> None:
        rates, self.waiting = self.waiting[:steps], self.waiting[steps:]
        strain = self.total + self.plan.scheme.step / self.part.scale * np.cumsum(rates, 0)
        self.total = strain[-1]
        self.recorder.append(strain[:, :, None])

    def finish(self, time: float) -> None:
        if len(self.waiting):
            self._sum(len(self.waiting))

    def results(self) -> Iterable[Result]:
        """Return the strain (time, point, component) of all processes, on the first."""
        time, values = self.recorder.arrays()
        strain = gather_receivers(values[:, :, 0], self.mine, len(self.part.points), self.plan.world)
        if strain is None:
            return
        if self.every_step:
            time, strain = removed(strain, [1.0] * len(COMPONENTS), self.plan.scheme.step, self.part.interval)
        variables = {
            "time": Variable(time, ("time",), "s", "time"),
            "strain": Variable(strain, ("time", "point", "component"), "1/N", "strain"),
        }
        yield Result("strain", Dataset("strain", variables))


class StrainSampler:
    """Sampler of strain rates (steps, points, 6), in the order xx yy zz xy yz xz, weighted in the same way as sources.

    Strain rates are evaluated at the places of the scheme. A force here and a moment there are thus exactly reciprocal
    on the grid itself (Graves & Wald 2001).
    """

    def __init__(self, scheme: Scheme, points: np.ndarray):
        self.count, self.parts = len(points), list[tuple[int, np.ndarray]]()
        self.mine = np.arange(len(points))
        self.shape = (len(MOMENT),)
        self.sample_buffers: list[SampleBuffer] = []
        for column, name in enumerate(MOMENT):
            s = interpolation_stencils(scheme, name, points)
            normal = name in NORMAL
            pairs = [(of, axis) for of, axis in VELOCITY.items() if name[1] == axis] if normal else STRAINS[name]
            for of, axis in pairs:
                share = s.value * (1.0 if normal else 0.5)
                if scheme.grid.relief is not None:
                    self._add_curvilinear(scheme, name, of, axis, s.points, share, column)
                    share = share / (vertical_stretch(scheme.grid, name, s.points) if axis == "z" else 1.0)
                self._add(scheme, of, axis, s.points, share, not normal, column)

    def _add(
        self, scheme: Scheme, of: str, axis: str, points: np.ndarray, value: np.ndarray, forward: bool, column: int
    ) -> None:
        k = "zyx".index(axis)
        if axis == "z" and (scheme.ends.upper or scheme.joined_below):
            self._add_across(scheme, of, points, value, column)
            planes, shares = scheme.ends.along_z(of, points[..., 0])
        else:
            inside = scheme.differences.inside
            offsets = np.array([(-n, n + 1) for n in range(len(inside))]).reshape(-1) - (not forward)
            planes = points[..., k, None] + offsets
            shares = np.broadcast_to([sign * c for c in inside for sign in (-1, 1)], planes.shape)
        if axis in scheme.periodic:
            planes %= scheme.grid.shape[k]
        places = np.repeat(points[..., None, :], planes.shape[-1], -2)
        places[..., k] = planes
        self.sample_buffers.append(SampleBuffer(Level.VELOCITY, of, places.reshape(-1, 3)))
        self._append(column, shares / scheme.grid.spacing * value[..., None])

    def _add_across(self, scheme: Scheme, of: str, points: np.ndarray, value: np.ndarray, column: int) -> None:
        """Add the contribution of adjoining blocks to derivatives along z, from values exchanged before the stresses."""
        for above in (True, False):
            if not (scheme.joined_above if above else scheme.joined_below):
                continue
            shares = scheme.ends.across_z(of, points[..., 0], above)
            reported = points * np.array([0, 1, 1])  # one plane only
            self.sample_buffers.append(SampleBuffer(Level.STRESS, beyond(of, above), reported.reshape(-1, 3)))
            self._append(column, shares / scheme.grid.spacing * value)

    def _add_curvilinear(
        self, scheme: Scheme, name: str, of: str, axis: str, points: np.ndarray, value: np.ndarray, column: int
    ) -> None:
        """Add the contribution of curvilinear grid lines below a topography to a derivative along x or y."""
        if axis == "z":
            return
        grid, k = scheme.grid, "zyx".index(axis)
        offsets = np.array([-2, -1, 0, 1]) + (name not in NORMAL)
        planes, shares = curvilinear_along_z(of, points[..., 0], grid.shape[0])
        adjacent = np.repeat(points[..., None, :], len(offsets), -2)
        adjacent[..., k] += offsets
        slope = slope_at(grid, of, axis, adjacent)  # type: ignore[arg-type]
        places = np.repeat(adjacent[..., None, :], planes.shape[-1], -2)
        places[..., 0] = np.maximum(planes, 0)[..., None, :]  # below the curvilinear layer weights are zero
        factor = -value * rise_at(grid, name, points[..., 0]) / vertical_stretch(grid, name, points)
        weights = factor[..., None, None] * (np.array(MEAN) * slope)[..., None] * shares[..., None, :]
        if axis in scheme.periodic:
            places[..., k] %= scheme.grid.shape[k]
        self.sample_buffers.append(SampleBuffer(Level.VELOCITY, of, places.reshape(-1, 3)))
        self._append(column, weights / scheme.grid.spacing)

    def _append(self, column: int, weights: np.ndarray) -> None:
        """Append weights (points, ...) of the most recent sample buffer; a process without points has none."""
        self.parts.append((column, weights.reshape(self.count, prod(weights.shape[1:]))))

    def values(self, sample_buffers: Sequence[np.ndarray]) -> np.ndarray:
        """Return the strain rates (steps, points, 6), half a step before the end of each step."""
        result = np.zeros((len(sample_buffers[0]), self.count, len(MOMENT)))
        for buffer, (column, weights) in zip(sample_buffers, self.parts, strict=True):
            block = buffer.reshape(len(buffer), *weights.shape).astype(float)
            result[..., column] += np.einsum("tnp,np->tn", block, weights)
        return result
