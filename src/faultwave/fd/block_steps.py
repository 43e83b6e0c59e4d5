"""Steps of one block of a grid: several at once away from the faces that it shares with other blocks, one stage at a time beside them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultwave.fd.operator import Operator
from faultwave.kernels.overlap import apart, reach, works
from faultwave.kernels.stencil import Work, stage_work, whole_work


@dataclass(frozen=True)
class _Works:
    """What is done of some steps: all of them ``away`` from faces, then what is ``near`` them in the first step, both stages at once (None:
    nothing), then ``beside`` them, by step and stage. With the last stage of a step goes what is near faces in the next one. ``whole``:
    everything; ``rest``: all but what is away, where blocks are stepped together."""

    whole: Work
    away: Work | None
    rest: Work
    near: Work | None
    beside: list[list[Work]]


class BlockSteps:
    """What an operator does in some steps, told what other blocks have on its faces before each stage."""

    def __init__(self, operator: Operator, fused: bool):
        """``fused``: whether it pays to take several steps at once where that is possible."""
        self.operator, self.fused = operator, fused
        self.dtype = operator.runner.values("u").dtype
        self._works: dict[int, _Works] = {}

    def begin(self, steps: int) -> None:
        """So many steps, none of them taken yet."""
        op = self.operator
        pushes = op.pushes(steps)
        self._pushes = np.ascontiguousarray(pushes, self.dtype)
        buffers = op.runner.program.sample_buffers
        self._taken = [np.zeros((steps, len(buffer.points)), self.dtype) for buffer in buffers]

    def away(self, first: int, count: int) -> None:
        """All of ``count`` steps that needs nothing of other blocks."""
        self._run(first, count, self.works(count).away)

    def near(self, first: int, count: int) -> None:
        """Of the first of these steps alone what needs nothing of them."""
        self._run(first, 1, self.works(count).near)

    def beside(self, first: int, count: int, step: int, stage: int) -> None:
        """The rest of the velocities or stresses of a step, and what can follow at once of the next."""
        work = self.works(count).beside[step][stage]
        self._run(first + step, len(work) // len(self.operator.runner.program.levels), work)

    def pushes(self, first: int, count: int) -> np.ndarray:
        """How strongly sources push in some steps."""
        return self._pushes[:, first : first + count]

    def take(self, first: int, found: list[np.ndarray]) -> None:
        """What samplers saw of some steps, besides what was taken before."""
        for taken, values in zip(self._taken, found, strict=True):
            taken[first : first + len(values)] += values

    def seen(self) -> list[np.ndarray]:
        """What each sampler saw of all steps."""
        return self.operator.seen(self._taken)

    def _run(self, first: int, count: int, work: Work | None) -> None:
        if work is None:
            return
        self.take(first, self.operator.runner.run(count, self.pushes(first, count), work))

    def works(self, count: int) -> _Works:
        """Of so many steps."""
        if count not in self._works:
            self._works[count] = self._made(count)
        return self._works[count]

    def _made(self, count: int) -> _Works:
        program, levels = self.operator.runner.program, len(self.operator.runner.program.levels)
        whole = _whole(self.operator, count)
        away, rest = self._apart(whole, count)
        near: list[Work | None] = []
        beside: list[list[Work]] = []
        for n in range(count):
            own = rest[n * levels : (n + 1) * levels]
            first, own = self._apart(own, 1) if count > 1 else (None, own)
            near.append(first)
            beside.append([stage_work(program, stage, own) for stage in range(len(program.stages))])
        for of, follows in zip(beside, near[1:], strict=False):
            of[-1] = [*of[-1], *(follows or ())]
        left = near[0] and any(boxes for half in near[0] for boxes in half)
        return _Works(whole, away, rest, near[0] if left else None, beside)

    def _apart(self, work: Work, count: int) -> tuple[Work | None, Work]:
        """What can be done ahead of some steps, and the rest."""
        op = self.operator
        if not self.fused:
            return None, work
        found = reach(op.runner.program, count, stale=False)  # all that a block lacks is what it is told on its faces
        return apart(op.runner.program, work, found, *op.scheme.away_from_faces)


def _whole(op: Operator, count: int) -> Work:
    """All that an operator does in so many steps, once it has heard of its neighbours."""
    program, shared = op.runner.program, op.shared
    if shared is None:
        return [whole_work(program, level) for level in range(len(program.levels))] * count
    found = shared.reach.last(count, len(program.levels))
    return works(program, shared.subdomain.owned, found, ahead=False)[1]


__all__ = ["BlockSteps"]
