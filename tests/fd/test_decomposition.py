"""Boxes of a grid: cuts, who tells whom what, and steps with overlaps in one process, without messages."""

import itertools

import numpy as np
import pytest

from faultwave.backends import make_stencils, missing
from faultwave.comm.compression import CompressionLoss
from faultwave.comm.packing import box_source, box_target
from faultwave.comm.world import World
from faultwave.domain.grids import Cut
from faultwave.fd.method.effective_medium import Medium, Units
from faultwave.fd.method.grid_block import Subdomain, undivided
from faultwave.fd.method.program import build_program, fields, profiles
from faultwave.fd.method.surface_motion import observe_surface
from faultwave.fd.operators.operator import Machine, Operator
from faultwave.fd.operators.overlap import ProcessPartition
from faultwave.kernels import overlap
from faultwave.kernels.overlap import around, reach, works
from faultwave.kernels.stencil import Box

from .setups import scheme

NONE = (False, False, False)


@pytest.mark.parametrize("turn", [NONE, (False, True, True)])
def test_neighbours_know_each_other(turn):
    cut = Cut((13, 17, 11), (2, 3, 1), turn)
    parts = [Subdomain(cut, rank, 1, (4, 4, 4)) for rank in range(6)]
    told = {(p.rank, other, tuple(-d for d in direction)) for p in parts for direction, other, _ in p.neighbours()}
    assert told == {(other, p.rank, direction) for p in parts for direction, other, _ in p.neighbours()}


def test_around_a_hole():
    whole, hole = Box((0, 0, 0), (7, 6, 5)), Box((2, 0, 1), (4, 3, 9))
    count = np.zeros(whole.shape, int)
    for box in around(whole, hole):
        count[tuple(slice(a, b) for a, b in zip(box.lo, box.hi, strict=True))] += 1
    assert (count[2:4, :3, 1:] == 0).all() and count.sum() == whole.points - 2 * 3 * 4 and count.max() == 1
    assert around(whole, Box((8, 8, 8), (9, 9, 9))) == [whole] and around(hole, hole) == []


def test_how_far_steps_reach():
    """Stresses two points and velocities two points a step; memory variables are needed where stresses are."""
    of = scheme((30, 30, 30), attenuation=True, sides={"z+": "absorbing"})
    for steps in (1, 2, 3):
        found = reach(build_program(of), steps)
        assert found.margin == found.border == (4 * steps,) * 3
        assert found.depth["u"] == (4 * steps - 2,) * 3 and found.depth["rxx"] == (4 * steps - 4,) * 3
        assert found.depth["sxx"] == (4 * steps - 2, 4 * steps - 2, 4 * steps) if steps == 1 else True


def made(of, backend, program, box):
    """Coefficients that vary from point to point, the same at a point of every part; the plane on the free surface among them."""
    runner = make_stencils(backend, program, "single", 1)
    box, shape = of.filled(box), of.filled(of.grid.box).shape
    where = tuple(slice(a, b) for a, b in zip(box.lo, box.hi, strict=True))
    rng = np.random.default_rng(0)
    values = {n: rng.uniform(0.5, 1.0, shape) for n in program.arrays if program.arrays[n].half}
    for name, each in values.items():
        filled(runner.view(name, 1), box)[...] = each[where] * 0.2
    for name in ("A", "B"):
        runner.view(name)[...] = rng.uniform(0, 0.1, (2, 2, 2))[:, :, np.arange(box.lo[2], box.hi[2]) % 2]
    for name, each in profiles(of).items():
        if name in program.arrays:
            runner.view(name)[...] = each
    for name in fields(True):
        filled(runner.view(name, 1), box)[...] = rng.normal(size=shape)[where]
    return runner


def filled(view, box):
    """A box of an array with one point around."""
    return view[1 : 1 + box.shape[0], 1:-1, 1:-1]


@pytest.mark.parametrize("backend", ["numpy", "cpu", "opencl"])
@pytest.mark.parametrize("ahead", [True, False])
def test_parts_step_as_the_whole(backend, ahead, monkeypatch):
    """What is done before the others are heard of, and after: everything a part owns is right, whatever its overlap held before."""
    if missing(backend):
        pytest.skip(missing(backend))
    if not ahead:
        monkeypatch.setattr(overlap, "MIDDLE", 1000)
    step_in_parts(backend, scheme((25, 44, 42), attenuation=True), (1, 2, 2), ahead)


def test_a_part_without_layers_in_its_rows():
    """Points are computed there by another function than in the whole grid, where rows end in layers."""
    step_in_parts("cpu", scheme((12, 12, 96), attenuation=True), (1, 1, 3), ahead=True)


def test_parts_one_above_the_other():
    """The upper ones have all planes that differ beside the free surface."""
    step_in_parts("cpu", scheme((44, 12, 42), attenuation=True), (2, 1, 2), ahead=True)


@pytest.mark.parametrize("counts", [(1, 2, 2), (2, 1, 2)])
def test_parts_with_wide_stencils(counts):
    """Order 8 reads four points to either side."""
    step_in_parts("cpu", scheme((68, 68, 72), attenuation=True, order=8), counts, ahead=True)


def step_in_parts(backend, of, counts, ahead):
    steps, blocks = 2, 2
    grid = of.grid.box

    def program(box, whole):
        surface = [observe_surface(box, of.step, of.order)] if box.hi[0] == grid.hi[0] else []
        return build_program(of, observers=surface, part=None if whole else box)

    one = made(of, backend, program(grid, True), grid)
    one.run(steps * blocks, np.zeros((2, steps * blocks, 1)))
    found = reach(program(grid, True), steps)
    cut = Cut(of.grid.shape, counts, NONE)
    parts = [Subdomain(cut, rank, steps, found.margin) for rank in range(int(np.prod(counts)))]
    runners = [made(of, backend, program(p.box, False), p.box) for p in parts]
    pairs = [
        {
            (other, direction): (
                box_source(r.halo_buffer(out), np.dtype(np.float32), "exact", CompressionLoss(), False),
                box_target(r.halo_buffer(into), np.dtype(np.float32), "exact", False),
            )
            for other, direction, out, into in p.exchanges(r.program, found.depth)
        }
        for p, r in zip(parts, runners, strict=True)
    ]
    for _ in range(blocks):
        sent = {}
        for rank, listed in enumerate(pairs):
            for (other, direction), (out, _) in listed.items():
                out.pack(0)
                out.finish()
                sent[rank, other, direction] = out.buffer.copy()
        split = [works(r.program, p.owned, found) for p, r in zip(parts, runners, strict=True)]
        for (before, _), r in zip(split, runners, strict=True):
            assert (before is not None) == ahead
            if before is not None:
                r.run(steps, np.zeros((2, steps, 1)), before)
        for rank, listed in enumerate(pairs):
            for (other, direction), (_, into) in listed.items():
                into.ready()
                into.buffer[:] = sent[other, rank, 26 - direction]
                into.unpack()
        for (_, after), r in zip(split, runners, strict=True):
            r.run(steps, np.zeros((2, steps, 1)), after)
    for p, r in zip(parts, runners, strict=True):
        z, y, x = own = tuple(slice(a, b) for a, b in zip(p.owned.box.lo, p.owned.box.hi, strict=True))
        top = of.surfaced(p.owned.box)
        for name in fields(True):
            mine, every = (filled(v.values(name, 1), of.filled(b)) for v, b in ((r, p.box), (one, grid)))
            (a, b, c), last = p.own, p.own[0].stop + top
            assert np.array_equal(mine[a.start : last, b, c], every[z.start : z.stop + top, y, x]), (p.rank, name)
        for name in ("surface_a1", "surface_v2", "surface_peak") if top else ():
            z, y, x = p.own
            assert np.array_equal(r.values(name)[0, y, x], one.values(name)[0][own[1:]]), (p.rank, name)
    assert all(
        len(list(itertools.chain(*p.exchanges(r.program, found.depth)))) for p, r in zip(parts, runners, strict=True)
    )


def test_processes_of_a_machine_take_a_device_each(monkeypatch):
    """What a backend is asked for by the third process of a machine."""
    of, world = scheme((12, 12, 12)), World()
    world.local_rank = 2
    shared = ProcessPartition(world, undivided(of.grid), Units(), "exact", lambda _: None, reach(build_program(of), 1))

    class Asked(Exception):
        pass

    def make_stencils(name, program, precision, threads, place):
        raise Asked(name, place)

    monkeypatch.setattr("faultwave.backends.make_stencils", make_stencils)
    medium = Medium({}, 1.0, 1.0, (0.0, 0.0, 0.0), 0.0)
    for share, place in ((shared, 2), (None, 0)):
        with pytest.raises(Asked) as asked:
            Operator(of, medium, machine=Machine("cuda"), partition=share)
        assert asked.value.args == ("cuda", place)
