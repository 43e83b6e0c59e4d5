"""How far half-steps of a pass stay behind each other: in the order of a pass every read finds the half-step it is meant to."""

import itertools

import pytest

from faultwave.backends.cpu.blocking import Skew, skew
from faultwave.bench.grids.kernel_report import programs
from faultwave.kernels.stencil import record

STEPS, TILE = 2, 5


def accesses(program):
    """By level: (launch, its lag, arrays read as (name, kind, z, y), arrays written)."""
    found = []
    for level in program.levels:
        found.append([])
        for launch in level:
            reads, writes = record(launch.stencil)
            beside_face = program.stages and launch.box.lo[0] < program.together  # is run one stage at a time
            kinds = ("at",) if beside_face else ("at", "on")
            near = {(launch.names.get(k[1], k[1]), k[0], k[2], k[3]) for k in reads if k[0] in kinds}
            found[-1].append((launch, near, {launch.names.get(n, n) for n in writes}))
    return found


def done(program, behind, half, launch, plane, row):
    """When a launch of a half-step is at a plane and row: in which tile, and at which plane of the front."""
    step, level = divmod(half, len(program.levels))
    first = plane if program.together is None else min(plane, program.together)
    tile = (row + launch.lag + behind.y[level] + behind.step[1] * step) // TILE
    return tile, first + behind.z[level] + behind.step[0] * step


def broken(program, behind):
    """Reads that find another half-step than in the order of the program: threads may be at any tile whose last one is as far."""
    levels, wrong = accesses(program), []
    count = len(levels)
    writers = {}
    for half, (launch, _, writes) in ((h, x) for h in range(STEPS * count) for x in levels[h % count]):
        for name in writes:
            writers.setdefault(name, []).append((half, launch))
    for half in range(STEPS * count):
        for launch, near, _ in levels[half % count]:
            planes = {*range(launch.box.lo[0], launch.box.lo[0] + 4), *range(launch.box.hi[0] - 4, launch.box.hi[0])}
            planes = [k for k in planes if launch.box.lo[0] <= k < launch.box.hi[0]]
            for (name, kind, z, y), plane, row in itertools.product(near, planes, range(100, 100 + TILE)):
                there = plane + z if kind == "at" else z
                reader = done(program, behind, half, launch, plane, row)
                for other, writer in writers.get(name, ()):
                    inside = writer.box.lo[0] <= there < writer.box.hi[0]
                    if inside and (other, writer) != (half, launch):
                        written = done(program, behind, other, writer, there, row + y)
                        earlier, later = (written, reader) if before(other, writer, half, launch) else (reader, written)
                        if not (earlier[0] <= later[0] and earlier[1] <= later[1]):
                            wrong.append((launch.stencil.name, name, z, y))
    return wrong


def before(half, launch, other_half, other):
    """Whether a launch comes before another one: within a level those without a lag do."""
    return half < other_half or (half == other_half and launch.lag < other.lag)


@pytest.mark.parametrize("name", ["hill", "order-8", "drucker-prager-hill", "fault-slip-weakening"])
def test_every_read_finds_its_half_step(name):
    program = programs(name)[0]
    assert broken(program, skew(program)) == []


@pytest.mark.parametrize("axis", ["z", "y"])
def test_half_steps_are_no_farther_apart_than_they_must(axis):
    """One plane or row less breaks a read."""
    program = programs("hill")[0]
    behind = skew(program)
    k = "zy".index(axis)
    step = tuple(n - (m == k) for m, n in enumerate(behind.step))
    assert broken(program, Skew(behind.z, behind.y, step))
