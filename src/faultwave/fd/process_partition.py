"""Partition of a planned grid among processes: decomposition, material of each box, and values that all must agree on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.case.settings.model import Case
from faultwave.comm import World
from faultwave.domain.grids import Cut, Triple, best_cut
from faultwave.engine.halo import halo_path
from faultwave.fd.capability import GridCapabilityPlan, needs_surface_motion
from faultwave.fd.method.effective_medium import Medium, Units, effective_medium, largest_coefficients
from faultwave.fd.method.fluid_solid_interface import at_ends, bordered, grown, plain
from faultwave.fd.method.grid import SideKind
from faultwave.fd.method.grid_block import FUSED, WORTH, GridBlock, Subdomain
from faultwave.fd.method.program import Observer, build_program
from faultwave.fd.method.scheme import Scheme
from faultwave.fd.method.split_nodes import FaultPlane
from faultwave.fd.method.stencils import AXES
from faultwave.fd.operators.overlap import Shared
from faultwave.fd.surface_motion import observe_surface
from faultwave.kernels.overlap import Reach, key_of, reach
from faultwave.kernels.stencil import Box, Program, record
from faultwave.media.field import Field
from faultwave.media.quality import combine_bounds


def observers(parts: Mapping[str, GridCapabilityPlan], scheme: Scheme, box: Box) -> list[Observer]:
    """Return the observers of all capabilities in a box of a grid or block, and on the surface above it."""
    found = [observer for part in parts.values() for observer in part.volume_observers(scheme, box)]
    if scheme.joined_above or not needs_surface_motion(parts) or box.hi[0] != scheme.grid.shape[0]:
        return found
    found.append(observe_surface(box, scheme.step, scheme.order))
    return found + [observer for part in parts.values() for observer in part.observers(box, scheme.step)]


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
        f"{nx} x {ny} x {nz} points are too few for {count} processes: parts need {least} along each axis that is cut"
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
    return sides["z-"] == "periodic", sides["y-"] == "periodic", sides["x-"] == "periodic"


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


def inside_grid(subdomain: Subdomain) -> Box:
    """Return the box of grid points whose material a process needs, all points along periodic axes."""
    lo, hi = list(subdomain.box.lo), list(subdomain.box.hi)
    for k, (around, count) in enumerate(zip(subdomain.cut.around, subdomain.cut.shape, strict=True)):
        lo[k], hi[k] = (0, count) if around else (lo[k], hi[k])
    return Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))


def partitioned_medium(make: Callable[[Box | None], Medium], subdomain: Subdomain | None, world: World) -> Medium:
    """Return the effective medium of a process with the extreme values of the whole grid.

    Parameters
    ----------
    make : callable
        Returns the medium of a box of the grid, or of the whole grid for None.
    subdomain : Subdomain or None
        Box of this process; None for the whole grid.
    world : World

    Raises
    ------
    InputError
        On all processes, if one of them raises it.
    """
    if subdomain is None:
        return make(None)
    medium: Medium | None = None
    reported: Any = None
    try:
        medium = make(inside_grid(subdomain))
        reported = (
            medium.fastest,
            medium.slowest,
            medium.slow_place,
            medium.too_slow,
            medium.gains,
            medium.strong,
            medium.shear,
        )
    except InputError as error:
        reported = error
    everyone = world.mpi.allgather(reported)
    for other in everyone:
        if isinstance(other, InputError):
            raise other
    assert medium is not None
    coefficients = {name: _within(values, subdomain) for name, values in medium.coefficients.items()}
    fastest, (slowest, place) = max(m[0] for m in everyone), min((m[1], m[2]) for m in everyone)
    return replace(
        medium, coefficients=coefficients, fastest=fastest, slowest=slowest, slow_place=place,
        too_slow=float(np.mean([m[3] for m in everyone])), gains=combine_bounds([m[4] for m in everyone]),
        strong=combine_bounds([m[5] for m in everyone]), shear=min(m[6] for m in everyone),
    )  # fmt: skip


def with_fluid_solid_interface(
    medium: Medium, block: GridBlock, box: Box, subdomain: Subdomain | None, world: World, field: Field
) -> Medium:  # fmt: skip
    """Return the medium of a block with the data that stencils need at fluid-solid interfaces.

    Curvilinear blocks and blocks of an order other than 4 have no such stencils. All processes must call it.

    Parameters
    ----------
    medium : Medium
        Medium on ``box``.
    block : grid block
    box : Box
    subdomain : Subdomain or None
    world : World
    field : Field
        Material.
    """
    grid = block.grid
    periodic = frozenset(axis for axis in AXES if block.sides[f"{axis}-"] == "periodic")
    around = grown(box, grid.shape, periodic)
    cells = (
        effective_medium(field, grid, (block.lower, block.upper), None, np.float32, box=around).coefficients["mu2"] == 0
    )
    below, above = at_ends(cells, around, grid.shape[0], block.order)
    if grid.relief is None and block.order == 4:
        made = bordered(medium, box, grid.shape, periodic, cells, block.joined_below)
    else:
        made = replace(medium, shallow=bool(cells.any() and not cells.all()))
    here = made.border, made.shallow, below, above
    found = [here] if subdomain is None else world.mpi.allgather(here)
    known, shallow = [each[0] for each in found if each[0] is not None], any(each[1] for each in found)
    below = frozenset[bool]().union(*(each[2] for each in found))
    above = frozenset[bool]().union(*(each[3] for each in found))
    if not known:
        return replace(medium, shallow=shallow, below=below, above=above)
    made = made if made.border is not None else plain(made)
    border = min(b[0] for b in known), max(b[1] for b in known)
    return replace(made, shallow=shallow, below=below, above=above, border=border)


def _within(values: np.ndarray, subdomain: Subdomain) -> np.ndarray:
    """Return coefficients on the box of a process.

    Beyond the end of a periodic axis its points are images of the other end.
    """
    for k, (around, count) in enumerate(zip(subdomain.cut.around, subdomain.cut.shape, strict=True)):
        if around and values.shape[k] > 1:
            values = np.take(values, np.arange(subdomain.box.lo[k], subdomain.box.hi[k]) % count, axis=k)
    return values


def share(
    case: Case,
    scheme: Scheme,
    medium: Medium,
    subdomain: Subdomain,
    parts: Mapping[str, GridCapabilityPlan],
    world: World,
) -> Shared:
    """Return the data that a process needs to compute its box among the others."""
    units = Units.holding(*world.largest(largest_coefficients(medium.coefficients)))
    rounding, requested = case.numerics.halo_compression, case.numerics.halo
    reach = reach_of(parts, scheme, subdomain.steps)
    return Shared(
        world, subdomain, units, rounding, lambda device, ranks: halo_path(world, requested, device, ranks), reach
    )
