"""Time steps of one block of a grid.

Away from the faces shared with other blocks several steps are taken at once. Near a face the stages alternate with the
exchange between blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultwave.fd.operators.operator import Operator
from faultwave.kernels.overlap import apart, reach, works
from faultwave.kernels.stencil import Work, stage_work, whole_work


@dataclass(frozen=True)
class _Works:
    """Work of several steps of a block, divided by distance from its faces.

    Attributes
    ----------
    whole : Work
        Everything.
    away : Work or None
        All steps away from faces.
    rest : Work
        Everything but ``away``, for blocks that are stepped jointly.
    near : Work or None
        Both stages of the first step that need nothing of other blocks but are not in ``away``.
    beside : list of list of Work
        The remaining work by step and stage. The last stage of a step includes the ``near`` work of the next step.
    """

    whole: Work
    away: Work | None
    rest: Work
    near: Work | None
    beside: list[list[Work]]


class BlockSteps:
    """Steps of one block whose face values are exchanged with other blocks before each stage."""

    def __init__(self, operator: Operator, fused: bool):
        """Prepare the steps of an operator; ``fused`` is True if taking several steps at once pays."""
        self.operator, self.fused = operator, fused
        self.dtype = operator.runner.values("u").dtype
        self._works: dict[int, _Works] = {}

    def begin(self, steps: int) -> None:
        """Begin ``steps`` steps: evaluate the sources and allocate the sample buffers."""
        op = self.operator
        pushes = op.pushes(steps)
        self._pushes = np.ascontiguousarray(pushes, self.dtype)
        buffers = op.runner.program.sample_buffers
        self._taken = [np.zeros((steps, len(buffer.points)), self.dtype) for buffer in buffers]

    def away(self, first: int, count: int) -> None:
        """Execute the part of ``count`` steps that needs nothing of other blocks."""
        self._run(first, count, self.works(count).away)

    def near(self, first: int, count: int) -> None:
        """Execute the remaining part of the first of ``count`` steps that needs nothing of other blocks."""
        self._run(first, 1, self.works(count).near)

    def beside(self, first: int, count: int, step: int, stage: int) -> None:
        """Execute the rest of one stage of a step, and the part of the next step that can follow at once."""
        work = self.works(count).beside[step][stage]
        self._run(first + step, len(work) // len(self.operator.runner.program.levels), work)

    def pushes(self, first: int, count: int) -> np.ndarray:
        """Return the source amplitudes (levels, count, sources) of ``count`` steps."""
        return self._pushes[:, first : first + count]

    def take(self, first: int, found: list[np.ndarray]) -> None:
        """Add the sample buffers ``found`` of steps from ``first`` on to those collected before."""
        for taken, values in zip(self._taken, found, strict=True):
            taken[first : first + len(values)] += values

    def seen(self) -> list[np.ndarray]:
        """Return the samples of each sampler over all steps."""
        return self.operator.seen(self._taken)

    def _run(self, first: int, count: int, work: Work | None) -> None:
        if work is None:
            return
        self.take(first, self.operator.runner.run(count, self.pushes(first, count), work))

    def works(self, count: int) -> _Works:
        """Return the divided work of ``count`` steps, cached."""
        if count not in self._works:
            self._works[count] = self._made(count)
        return self._works[count]

    def _made(self, count: int) -> _Works:
        program, levels = self.operator.runner.program, len(self.operator.runner.program.levels)
        whole = _whole(self.operator, count)
        away, rest = self._apart(whole, count)
        near: list[Work | None] = []
        adjacent: list[list[Work]] = []
        for n in range(count):
            own = rest[n * levels : (n + 1) * levels]
            first, own = self._apart(own, 1) if count > 1 else (None, own)
            near.append(first)
            adjacent.append([stage_work(program, stage, own) for stage in range(len(program.stages))])
        for of, follows in zip(adjacent, near[1:], strict=False):
            of[-1] = [*of[-1], *(follows or ())]
        left = near[0] and any(boxes for half in near[0] for boxes in half)
        return _Works(whole, away, rest, near[0] if left else None, adjacent)

    def _apart(self, work: Work, count: int) -> tuple[Work | None, Work]:
        """Return the work that can be done ahead of ``count`` steps, None if nothing, and the rest."""
        op = self.operator
        if not self.fused:
            return None, work
        found = reach(op.runner.program, count, stale=False)  # a block lacks only the face values of others
        return apart(op.runner.program, work, found, *op.scheme.interior_planes)


def _whole(op: Operator, count: int) -> Work:
    """Return all work of ``count`` steps of an operator after the exchange with neighbouring processes."""
    program, shared = op.runner.program, op.shared
    if shared is None:
        return [whole_work(program, level) for level in range(len(program.levels))] * count
    found = shared.reach.last(count, len(program.levels))
    return works(program, shared.subdomain.owned, found, ahead=False)[1]


__all__ = ["BlockSteps"]
