"""Material of a planned grid, in the box of each process, with the extreme values of the whole grid."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from faultwave.base.errors import InputError, collect_problems
from faultwave.base.precision import number_type
from faultwave.base.spans import phase
from faultwave.case.settings.model import Case
from faultwave.comm import World
from faultwave.fd.capability import GridCapabilityPlan
from faultwave.fd.checks.accuracy import (
    has_fluid_and_rock,
)
from faultwave.fd.checks.case_checks import explain_missing_rock
from faultwave.fd.contexts import PlacementContext
from faultwave.fd.method.effective_medium import (
    Medium,
    count_samples,
    effective_medium,
    survey_medium,
)
from faultwave.fd.method.fluid_solid_interface import at_ends, bordered, grown, plain
from faultwave.fd.method.grid import periodic_axes
from faultwave.fd.method.grid_block import GridBlock, Subdomain
from faultwave.fd.planning.case_input import grid_settings
from faultwave.fd.planning.grid_layout import sample_coarse_lattice, slowest_speed
from faultwave.fd.planning.process_partition import decompose, single_process_reason
from faultwave.kernels.stencil import Box
from faultwave.media import quality
from faultwave.media.attenuation import Relaxation, relaxation
from faultwave.media.field import Field
from faultwave.media.quality import combine_bounds

MAX_CHECKED_SAMPLES = 20_000_000
"""Largest number of places where a survey reads the material of a grid; of more, it reads a sample."""


@dataclass(frozen=True)
class MaterialOnGrid:
    """Material on the grid, or on the ``subdomains`` of this process, and on a ``coarse`` lattice."""

    field: Field
    media: Sequence[Medium]  # of each block
    relaxation: Relaxation | None
    subdomains: Sequence[Subdomain | None]
    coarse: dict[str, np.ndarray]
    surveyed: bool = False  # media were read at a sample of the points


@phase("material")
def load_material(
    field: Field,
    placing: PlacementContext,
    blocks: Sequence[GridBlock],
    parts: Mapping[str, GridCapabilityPlan],
    world: World,
    surveying: bool,
) -> MaterialOnGrid:
    """Return the material where the grid needs it; raises InputError where it is not available."""
    case, problems, setting = placing.case, placing.problems, grid_settings(placing.case)
    names = ["rho", "lambda", "mu"] + (["Qp", "Qs"] if case.attenuation else [])
    fitted: Relaxation | None = None
    with collect_problems(problems):
        resolved = setting.frequency
        if case.attenuation and resolved is None:
            slowest = [
                explain_missing_rock(
                    functools.partial(slowest_speed, field, b.lower, b.upper), field, names, b.grid, b.lower, b.upper
                )
                / b.grid.spacing
                for b in blocks
            ]
            resolved = min(slowest) / setting.points_per_wavelength
        if case.attenuation:
            fitted = relaxation(quality.spectrum_of(case.attenuation, resolved or 0.0, problems))
    subdomains: Sequence[Subdomain | None] = [None] * len(blocks)
    with collect_problems(problems):
        if world.size > 1:
            subdomains = decompose(case, blocks, parts, world.size, world.rank)
        elif (alone := single_process_reason(case, blocks, parts)) is not None:
            problems.extend([replace(alone, severity="warning")])
    if world.size > 1 and subdomains[0] is None:
        problems.raise_errors()
    media = list[Medium]()
    surveyed = surveying and sum(count_samples(field, b.grid) for b in blocks) > MAX_CHECKED_SAMPLES
    with collect_problems(problems):
        for block, subdomain in zip(blocks, subdomains, strict=True):
            media.append(_medium(field, case, block, subdomain, fitted, world, surveyed))
    if len(media) < len(blocks):
        problems.raise_errors()
    coarse = sample_coarse_lattice(field, placing.lower, placing.upper, placing.grid)
    if has_fluid_and_rock(coarse["mu"]) and not surveyed:
        media = [
            with_fluid_solid_interface(
                medium, block, block.scheme(case).filled(here.box if here else block.grid.box), here, world, field
            )
            for medium, block, here in zip(media, blocks, subdomains, strict=True)
        ]
    return MaterialOnGrid(field, media, fitted, subdomains, coarse, surveyed)


def _medium(
    field: Field, case: Case, block: GridBlock, subdomain: Subdomain | None, fitted: Relaxation | None, world: World,
    surveyed: bool,
) -> Medium:  # fmt: skip
    """Return the effective medium of a block, if ``surveyed`` from a sample of its points."""
    setting, grid, lower, upper = grid_settings(case), block.grid, block.lower, block.upper
    names = ["rho", "lambda", "mu"] + (["Qp", "Qs"] if case.attenuation else [])
    dtype = number_type(case.numerics.precision)
    needed = setting.points_per_wavelength * grid.spacing * (setting.frequency or 0.0) * (1 - 1e-6)
    if surveyed:
        return explain_missing_rock(
            lambda: survey_medium(field, grid, (lower, upper), fitted, needed), field, names, grid, lower, upper
        )
    scheme = block.scheme(case)
    return explain_missing_rock(
        lambda: partitioned_medium(
            lambda box: effective_medium(
                field, grid, (lower, upper), fitted, dtype, needed, scheme.filled(box or grid.box), block.joined_above
            ),
            subdomain, world,
        ),
        field, names, grid, lower, upper,
    )  # fmt: skip


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
    periodic = periodic_axes(block.sides)
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
