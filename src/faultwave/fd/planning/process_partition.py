"""Partition of a planned grid among processes: the box of each, and the data that it needs to compute among the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.case.settings.model import Case
from faultwave.comm import World
from faultwave.domain.grids import Cut, Triple, best_cut
from faultwave.engine.halo import halo_path
from faultwave.fd.capability import GridCapabilityPlan, observers
from faultwave.fd.method.effective_medium import Medium, Units, largest_coefficients
from faultwave.fd.method.grid import SideKind, periodic_axes
from faultwave.fd.method.grid_block import FUSED, WORTH, GridBlock, Subdomain
from faultwave.fd.method.program import build_program
from faultwave.fd.method.scheme import Scheme
from faultwave.fd.method.split_nodes import FaultPlane
from faultwave.fd.operators.overlap import ProcessPartition
from faultwave.kernels.overlap import Reach, key_of, reach
from faultwave.kernels.stencil import Program, record


def reach_of(parts: Mapping[str, GridCapabilityPlan], scheme: Scheme, steps: int) -> Reach:
    """Return the reach of ``steps`` steps of the whole grid's program."""
    return reach(_program(parts, scheme), steps)


def _program(parts: Mapping[str, GridCapabilityPlan], scheme: Scheme) -> Program:
    return build_program(scheme, observers=observers(parts, scheme, scheme.grid.box))


def _mechanisms_stay_aligned(program: Program, found: Reach, odd: tuple[bool, bool, bool]) -> bool:
    """Return True if every computed point uses its own relaxation mechanism.

    The mechanisms of attenuation alternate from point to point with the parity of the indices along z and y. Beyond the
    end of a periodic axis with an odd number of points, the parity selects another mechanism. Therefore nothing that
    depends on mechanisms may be computed there outside the points that a process owns. Along x mechanisms come from a
    periodic table.

    Parameters
    ----------
    program : Program
    found : Reach
    odd : tuple of bool
        True for each axis (z, y, x) that is periodic with an odd number of points.
    """
    alternating = {
        key_of(launch)
        for level in program.levels
        for launch in level
        if any(read[0] == "parity" for read in record(launch.stencil)[0])
    }
    far = [points for half in found.outward for key, points in half.items() if key in alternating]
    return not any(points[k] and odd[k] for points in far for k in (0, 1))


def decompose(
    case: Case, blocks: Sequence[GridBlock], parts: Mapping[str, GridCapabilityPlan], count: int, rank: int = 0
) -> list[Subdomain]:
    """Return the box of process ``rank`` of ``count`` in each block.

    The decomposition is the one of least surface, with as many steps between two exchanges as are worthwhile for the
    size of the boxes. Adjoining blocks are divided alike along x and y, and not along z.

    Raises
    ------
    InputError
        If the grid is too small for the number of processes.
    """
    around, scheme = _periodic_axes(blocks[0].sides), blocks[0].scheme(case)
    whole = blocks[0].grid.shape if len(blocks) == 1 else blocks[-1].grid.shape
    shape = _divisible_points(whole, scheme.fault) if len(blocks) == 1 else (1, *whole[1:])
    for steps, found in _reaches(case, blocks, parts, around):
        least = _least_points(blocks, scheme, steps, found)
        cut = best_cut(shape, count, around, least)
        if cut is not None:
            return [
                Subdomain(Cut(b.grid.shape, cut.counts, around), rank, steps, f.margin, b.joined_below)
                for b, f in zip(blocks, found, strict=True)
            ]
    most = max(n for n in range(1, count) if n == 1 or best_cut(shape, n, around, least) is not None)
    nz, ny, nx = whole
    what = (
        (
            f"{nx} x {ny} x {nz} points are too few for {count} processes, which need {least} points along each "
            "partitioned axis"
        )
        if len(blocks) == 1
        else f"{nx} x {ny} points of the lowest block are too few along x and y for {count} processes"
    )
    raise InputError(Problem("ranks", what, f"{most} or fewer, or a larger grid"))


def _least_points(blocks: Sequence[GridBlock], scheme: Scheme, steps: int, found: Sequence[Reach]) -> int:
    """Return the least number of points of a box along each axis that is divided.

    Parameters
    ----------
    blocks : sequence of GridBlock
    scheme : Scheme
        Scheme of the uppermost block.
    steps : int
        Number of steps between two exchanges, which is worthwhile for boxes of a certain size.
    found : sequence of Reach
        Reach of these steps in each block.
    """
    if len(blocks) > 1:  # of the lowest block, whose points are furthest apart
        wider = blocks[-1].grid.spacing / blocks[0].grid.spacing
        return max(*(max(f.margin[1:]) for f in found), int(np.ceil(WORTH * steps / wider)) if steps > 1 else 0)
    margin = found[0].margin
    deep = scheme.deep * scheme.free_surface  # planes that no division and no overlap of a neighbour may reach
    return max(*margin, margin[0] + deep, WORTH * steps if steps > 1 else 0)


def _divisible_points(shape: Triple, fault: FaultPlane | None) -> Triple:
    """Return the number of points that may be divided along each axis.

    A fault is not divided across its plane, so that each of its processes has both sides.
    """
    z, y, x = (1 if fault is not None and axis == fault.axis else n for n, axis in zip(shape, "zyx", strict=True))
    return z, y, x


def _periodic_axes(sides: Mapping[str, SideKind]) -> tuple[bool, bool, bool]:
    """Return True for each axis (z, y, x) that is periodic."""
    found = periodic_axes(sides)
    return "z" in found, "y" in found, "x" in found


def _reaches(
    case: Case, blocks: Sequence[GridBlock], parts: Mapping[str, GridCapabilityPlan], around: tuple[bool, bool, bool]
) -> Iterator[tuple[int, list[Reach]]]:
    """Yield possible numbers of steps between two exchanges, descending, with their reach in each block.

    Raises InputError if there is none.
    """
    if (problem := single_process_reason(case, blocks, parts)) is not None:
        raise InputError(problem)
    programs = [_program(parts, block.scheme(case)) for block in blocks]
    for steps in range(1 if case.numerics.backend in ("cuda", "hip", "opencl") else FUSED, 0, -1):
        found = [reach(program, steps) for program in programs]
        if all(map(_mechanisms_stay_aligned, programs, found, _odd_periodic_axes(blocks, around))):
            yield steps, found


def _odd_periodic_axes(blocks: Sequence[GridBlock], around: tuple[bool, bool, bool]) -> list[tuple[bool, bool, bool]]:
    """Return, for each block, True for each axis (z, y, x) that is periodic with an odd number of points."""
    return [(around[0] and z % 2 == 1, around[1] and y % 2 == 1, around[2] and x % 2 == 1)
            for z, y, x in (block.grid.shape for block in blocks)]  # fmt: skip


def single_process_reason(
    case: Case, blocks: Sequence[GridBlock], parts: Mapping[str, GridCapabilityPlan]
) -> Problem | None:
    """Return the reason why only one process can compute the grid, whatever its size; None if several can."""
    odd = _odd_periodic_axes(blocks, _periodic_axes(blocks[0].sides))
    if case.attenuation is None or not any(z or y for z, y, _ in odd):
        return None
    for block, each in zip(blocks, odd, strict=True):
        program = _program(parts, block.scheme(case))
        if not _mechanisms_stay_aligned(program, reach(program, 1), each):
            number, axis = next((block.grid.shape[k], "zy"[k]) for k in (0, 1) if each[k])
            ground = (
                " and soil" if case.soil is not None else " and rock that yields" if case.plasticity is not None else ""
            )
            what = (
                f"{number} points along {axis}, which is periodic, run on one process only with attenuation{ground}: "
                "mechanisms alternate from point to point"
            )
            return Problem("grid", what, "an even number of points, or one process")
    return None


def make_partition(
    case: Case,
    scheme: Scheme,
    medium: Medium,
    subdomain: Subdomain,
    parts: Mapping[str, GridCapabilityPlan],
    world: World,
) -> ProcessPartition:
    """Return the data that a process needs to compute its box among the others."""
    units = Units.holding(*world.largest(largest_coefficients(medium.coefficients)))
    rounding, requested = case.numerics.halo_compression, case.numerics.halo
    reach = reach_of(parts, scheme, subdomain.steps)
    return ProcessPartition(
        world, subdomain, units, rounding, lambda device, ranks: halo_path(world, requested, device, ranks), reach
    )
