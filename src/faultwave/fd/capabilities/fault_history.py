"""History of the load on a fault in every step, from which gradients repeat friction (``faultwave.gradients``).

No case requests it: the computation of a gradient adds it to a plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.fd.capability import FdPlan, GridCapability, GridCapabilityPlan, Running
from faultwave.fd.method.scheme import Level
from faultwave.fd.method.split_nodes import FaultPlane, locked
from faultwave.kernels.stencil import Box, SampleBuffer


@dataclass(frozen=True)
class FaultHistory(GridCapabilityPlan):
    """Recording of the locking tractions and of the normal stress on a fault ``plane`` in every step."""

    plane: FaultPlane
    name = "fault_history"

    def sampler(self, plan: FdPlan) -> LoadSampler:
        return LoadSampler(self.plane, plan.scheme.filled(plan.scheme.grid.box))

    def attach(self, solver: Running) -> LoadRecording:
        sampler = solver.samplers[self.name]
        assert isinstance(sampler, LoadSampler)
        return LoadRecording(sampler)


class LoadSampler:
    """Sampler of locking tractions at split nodes, and of the normal stress there and one point further.

    Attributes
    ----------
    names : tuple of str
        Arrays in the order of their values.
    boxes : list of Box
        Points of each array.
    """

    def __init__(self, plane: FaultPlane, within: Box):
        further = [n + (axis != plane.axis) for n, axis in zip(plane.box.hi, "zyx", strict=True)]
        hi = tuple(min(a, b) for a, b in zip(further, within.hi, strict=True))
        wider = Box(plane.box.lo, hi)  # type: ignore[arg-type]
        self.names = (*(locked(axis) for axis in plane.sliding), plane.normal)
        self.boxes = [*(plane.box for _ in plane.sliding), wider]
        levels = [*(Level.VELOCITY for _ in plane.sliding), Level.STRESS]
        self.sample_buffers = [
            SampleBuffer(level, name, np.argwhere(np.ones(box.shape, bool)) + box.lo)
            for level, name, box in zip(levels, self.names, self.boxes, strict=True)
        ]
        self.shape: tuple[int, ...] = ()
        self.mine = np.zeros(0, np.int64)

    def values(self, sample_buffers: Sequence[np.ndarray]) -> np.ndarray:
        """Return the values (steps, points) of all arrays, one after the other."""
        return np.concatenate(sample_buffers, 1)


class LoadRecording(GridCapability):
    """Values of a ``LoadSampler`` so far."""

    def __init__(self, sampler: LoadSampler):
        self.sampler, self.blocks = sampler, list[np.ndarray]()

    def sampled(self, values: np.ndarray) -> None:
        self.blocks.append(values)

    def histories(self) -> dict[str, np.ndarray]:
        """Return the values (steps, nz, ny, nx) of each array after every step."""
        found, first, joined = {}, 0, np.concatenate(self.blocks)
        for name, box in zip(self.sampler.names, self.sampler.boxes, strict=True):
            found[name] = joined[:, first : first + box.points].reshape(len(joined), *box.shape)
            first += box.points
        return found
