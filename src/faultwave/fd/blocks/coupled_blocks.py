"""Blocks of different spacing that are stacked along depth and step together.

Away from the faces shared with other blocks several steps are taken at once. Near a face the stages alternate with the
exchange between blocks.

Each block has its own arrays and program. A step has two stages, velocities and stresses. Before each stage adjacent
blocks exchange the fields that they need on their shared face (``interface``). The capabilities of a run see the
uppermost block as the grid; requests that concern all blocks go through it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave import backends
from faultwave.base.spans import phase
from faultwave.fd.blocks.interface import EXCHANGED_FIELDS, Interface
from faultwave.fd.capability import FdPlan, observers
from faultwave.fd.method.grid_block import FUSED
from faultwave.fd.operators.operator import Operator
from faultwave.fd.operators.points import Drive, Sampler
from faultwave.fd.operators.time_dispersion import DispersionCorrectedSource, removes
from faultwave.kernels.overlap import apart, reach, works
from faultwave.kernels.stencil import SampleBuffer, Work, stage_work, whole_work


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
    at_faces : list of list of Work
        The remaining work by step and stage. The last stage of a step includes the ``near`` work of the next step.
    """

    whole: Work
    away: Work | None
    rest: Work
    near: Work | None
    at_faces: list[list[Work]]


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

    def at_faces(self, first: int, count: int, step: int, stage: int) -> None:
        """Execute the rest of one stage of a step, and the part of the next step that can follow at once."""
        work = self.works(count).at_faces[step][stage]
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
    program, partition = op.runner.program, op.partition
    if partition is None:
        return [whole_work(program, level) for level in range(len(program.levels))] * count
    found = partition.reach.last(count, len(program.levels))
    return works(program, partition.subdomain.owned, found, ahead=False)[1]


@dataclass(frozen=True)
class BlockSampler:
    """Samplers of several blocks, combined into one.

    Attributes
    ----------
    blocks : sequence of int
        Number of the block of each sampler.
    places : sequence of ndarray of int
        For each sampler, numbers of its places among all places.
    parts : sequence of Sampler
        The samplers.
    """

    blocks: Sequence[int]
    places: Sequence[np.ndarray]
    parts: Sequence[Sampler]

    @property
    def sample_buffers(self) -> Sequence[SampleBuffer]:
        """Sample buffers of all blocks; each block has its own in its program."""
        return [buffer for part in self.parts for buffer in part.sample_buffers]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one sample (see ``Sampler.shape``)."""
        return self.parts[0].shape

    @property
    def mine(self) -> np.ndarray:
        """Numbers of the places sampled by this process, sorted (see ``Sampler.mine``)."""
        return np.sort(self._listed())

    def _listed(self) -> np.ndarray:
        return np.concatenate([numbers[part.mine] for numbers, part in zip(self.places, self.parts, strict=True)])

    def values(self, sample_buffers: Sequence[np.ndarray]) -> np.ndarray:
        """Return the samples (steps, places, ``*shape``) of the places ``mine`` from the values of each block."""
        return np.concatenate(sample_buffers, 1)[:, np.argsort(self._listed(), kind="stable")]


def samplers_of(plan: FdPlan) -> dict[str, Sampler]:
    """Return the samplers that read the grid after every step, by capability."""
    found: dict[str, Sampler] = {}
    for name, part in plan.parts.items():
        made = [(share, share.part.sampler(share.plan)) for share in plan.block_parts(part)]
        there = [(share, sampler) for share, sampler in made if sampler is not None]
        if not plan.below and there:
            found[name] = there[0][1]
        elif there:
            found[name] = BlockSampler(
                [share.block for share, _ in there], [share.numbers for share, _ in there], [s for _, s in there]
            )
    return found


def drives_of(plan: FdPlan) -> list[list[Drive]]:
    """Return the source injectors of each block."""
    found: list[list[Drive]] = [[] for _ in plan.blocks]
    for part in plan.parts.values():
        for share in plan.block_parts(part):
            if (drive := share.part.drive(share.plan)) is None:
                continue
            if removes(plan.case):
                drive = DispersionCorrectedSource(drive, plan.scheme.step, plan.steps)
            found[share.block].append(drive)
    return found


@phase("arrays and kernels")
def operator_of(plan: FdPlan, samplers: Sequence[Sampler]) -> Operator:
    """Return the operator of a grid, or of a stack of blocks."""
    if plan.below:
        return Blocks(plan, samplers)
    watching = observers(plan.parts, plan.scheme, plan.box)
    return Operator(
        plan.scheme, plan.medium, plan.relaxation, drives_of(plan)[0], samplers, watching, plan.machine, plan.partition
    )


class Blocks(Operator):
    """Operator of the uppermost block that also steps the blocks ``below``.

    Attributes
    ----------
    below : tuple of Operator
        Operators of the other blocks, from above down.
    interfaces : list of Interface
        Faces between adjacent blocks.
    fused : int
        Steps that are taken in one pass.
    """

    def __init__(self, plan: FdPlan, samplers: Sequence[Sampler]):
        self.seers = [s for s in samplers if isinstance(s, BlockSampler)]
        drives = drives_of(plan)

        def own(n: int) -> list[Sampler]:
            return [part for s in self.seers for at, part in zip(s.blocks, s.parts, strict=True) if at == n]

        watching = observers(plan.parts, plan.scheme, plan.box)
        super().__init__(
            plan.scheme, plan.medium, plan.relaxation, drives[0], own(0), watching, plan.machine, plan.partition
        )
        seen = [observers(plan.parts, b.scheme, b.box) for b in plan.below]
        self.below = tuple(
            Operator(b.scheme, b.medium, b.relaxation, drives[n], own(n), seen[n - 1], plan.machine, b.partition)
            for n, b in enumerate(plan.below, 1)
        )
        pairs = zip(self.blocks[:-1], self.below, strict=True)
        self.interfaces = [Interface(upper, lower, plan.world) for upper, lower in pairs]
        self.fuse(1)

    @property
    def blocks(self) -> tuple[Operator, ...]:
        """Operators of all blocks, from the uppermost down."""
        return (self, *self.below)

    def _advance(self, steps: int) -> list[np.ndarray]:
        for op in self.below:
            op.steps = self.steps
        for block in self.block_steps:
            block.begin(steps)
        for first in range(0, steps, self.fused):
            self._together(first, min(self.fused, steps - first))
        for op in self.blocks:
            op.steps += steps
        seen = [iter(block.seen()) for block in self.block_steps]
        return [s.values([next(seen[n]) for n in s.blocks]) for s in self.seers]

    def _together(self, first: int, count: int) -> None:
        """Take ``count`` steps of all blocks, first the work independent of other blocks, then stage by stage."""
        for op in self.blocks:
            op.refresh()  # values of the overlap with other processes
        if self.joint is not None:
            self._jointly(self.joint, first, count)
            return
        for block in self.block_steps:
            block.away(first, count)
        for block in self.block_steps:
            block.near(first, count)
        for step in range(count):
            for stage in range(len(EXCHANGED_FIELDS)):
                for interface in self.interfaces:
                    interface.tell(stage)
                for block in self.block_steps:
                    block.at_faces(first, count, step, stage)

    def _jointly(self, joint: backends.JointSteps, first: int, count: int) -> None:
        """Take ``count`` steps of all blocks near their faces tile by tile.

        A backend that sweeps also takes the whole uppermost block this way.
        """
        works = []
        for n, block in enumerate(self.block_steps):
            if n == 0 and joint.sweeps:
                works.append(block.works(count).whole)
                continue
            block.away(first, count)
            works.append(block.works(count).rest)
        pushes = [block.pushes(first, count) for block in self.block_steps]
        for block, found in zip(self.block_steps, joint.run(count, pushes, works), strict=True):
            block.take(first, found)

    def prepare(self, steps: int) -> None:
        self.fuse(self.subdomain.steps or FUSED)
        swept = not self.subdomain.steps and self.joint is not None and self.joint.sweeps
        for n, op in enumerate(self.blocks):
            op.runner.prepare(steps, swept and n == 0)
        quickest = self.runner.steps_a_pass
        self.fuse(self.subdomain.steps or min(FUSED, quickest))
        if swept:
            self._fuse_more(quickest)

    def _fuse_more(self, steps: int) -> None:
        """Fuse as many steps as are fastest for the uppermost block, which has the most points.

        The number is smaller if a block below would have no points away from its faces.
        """
        below = [BlockSteps(op, True) for op in self.below]
        for most in range(steps, self.fused, -1):
            if all(block.works(most).away is not None for block in below):
                self.fuse(most)
                return

    @property
    def steps_at_once(self) -> int:
        return self.fused

    def fuse(self, steps: int) -> None:
        """Take ``steps`` steps in one pass through memory where possible; results do not depend on the number."""
        self.fused = steps
        self.block_steps = [BlockSteps(op, steps > 1 or op.runner.steps_a_pass > 1) for op in self.blocks]
        self.joint = self._joint() if steps > 1 else None

    def _joint(self) -> backends.JointSteps | None:
        """Return the joint steps of all blocks near their faces, tile by tile, or None.

        None if the grid is distributed over processes, a side is periodic, or the backend has no joint steps.
        """
        make = backends.make_joint_steps(self.backend)
        if make is None or self.partition is not None or self.scheme.periodic:
            return None
        coarsest = self.blocks[-1].scheme.grid.spacing
        rows = [round(coarsest / op.scheme.grid.spacing) for op in self.blocks]
        reported = [
            [t for n, i in enumerate(self.interfaces) for t in i.transfers(stage, n)]
            for stage in range(len(EXCHANGED_FIELDS))
        ]
        return make([op.runner for op in self.blocks], rows, reported)

    def restored(self) -> None:
        """Refresh what depends on the state after a checkpoint was read, in all blocks."""
        super().restored()
        for op in self.below:
            op.restored()

    def set_state(self, state: Callable[[np.ndarray, float], np.ndarray]) -> None:
        super().set_state(state)
        for op in self.below:
            op.set_state(state)

    def sample(self, points: np.ndarray) -> np.ndarray:
        found = super().sample(points)
        for op in self.below:
            inside = points[:, 2] < op.scheme.grid.upper[2]
            found[inside] = op.sample(points[inside])
        return found

    def nbytes(self) -> int:
        return super().nbytes() + sum(op.nbytes() for op in self.below)

    def _finite(self) -> bool:
        return super()._finite() and all(op._finite() for op in self.below)

    def _errors(self, solution: Callable[[np.ndarray, float], np.ndarray]) -> np.ndarray:
        own = super()._errors(solution) * self.scheme.grid.spacing**3
        return np.asarray(sum((op._errors(solution) * op.scheme.grid.spacing**3 for op in self.below), own))

    def _energies(self) -> np.ndarray:
        return np.asarray(sum((op._energies() for op in self.below), super()._energies()))
