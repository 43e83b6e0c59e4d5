"""Steps of one of several processes, with work that is done while messages travel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultwave.base.precision import number_type
from faultwave.comm import World
from faultwave.comm.exchange import HaloExchange, Neighbour
from faultwave.comm.gpu_aware import HaloPath
from faultwave.fd.method.effective_medium import Units
from faultwave.fd.method.grid_block import DIRECTIONS, Subdomain
from faultwave.kernels.overlap import Reach, works
from faultwave.kernels.stencil import Program, Runner, Work


@dataclass(frozen=True)
class ProcessPartition:
    """Partition of a grid over several processes, as one of them sees it.

    Attributes
    ----------
    world : World
    subdomain : Subdomain
        Box of this process.
    units : Units
        Units of coefficients common to all processes.
    rounding : str
        Compression of exchanged values (``numerics.halo_compression``).
    way : callable
        Returns the path of messages between devices.
    reach : Reach
        Reach of the whole grid's program for the steps between two exchanges.
    """

    world: World
    subdomain: Subdomain
    units: Units
    rounding: str
    way: Callable[[Any, Sequence[int]], HaloPath | None]  # arguments: device, None on the host, and its neighbours
    reach: Reach  # for the steps between two exchanges


class Overlap:
    """Steps of one of several processes, with work that is done while messages travel, and the rest."""

    def __init__(self, partition: ProcessPartition, program: Program, runner: Runner, precision: str):
        self.partition, self.program, self.runner = partition, program, runner
        self.works: dict[int, tuple[Work | None, Work]] = {}
        listed = []
        for rank, direction, out, into in partition.subdomain.exchanges(program, partition.reach.depth):
            if out or into:
                opposite = len(DIRECTIONS) - 1 - direction
                listed.append(Neighbour(rank, direction, opposite, runner.halo_buffer(out), runner.halo_buffer(into)))
        dtype = number_type(precision)
        self.way = partition.way(getattr(runner, "device", None), [n.rank for n in listed])
        gpu_aware = self.way is not None and self.way.gpu_aware
        self.halo = HaloExchange(partition.world, listed, dtype, partition.rounding, gpu_aware)

    def run(self, steps: int, amplitudes: np.ndarray) -> list[np.ndarray]:
        parts: list[list[np.ndarray]] = []
        for first in range(0, steps, self.partition.subdomain.steps):
            count = min(self.partition.subdomain.steps, steps - first)
            before, after = self.works_of(count)
            given = amplitudes[:, first : first + count]
            self.halo.start()
            ahead = self.runner.run(count, given, before) if before is not None else None
            self.halo.finish()
            sample_buffers = self.runner.run(count, given, after)
            parts.append([a + b for a, b in zip(ahead, sample_buffers, strict=True)] if ahead else sample_buffers)
        return [np.concatenate(buffer) for buffer in zip(*parts, strict=True)]

    def works_of(self, count: int) -> tuple[Work | None, Work]:
        """Return the work of ``count`` steps before the messages arrive, and the rest."""
        if count not in self.works:
            found = self.partition.reach.last(count, len(self.program.levels))
            self.works[count] = works(self.program, self.partition.subdomain.owned, found)
        return self.works[count]
