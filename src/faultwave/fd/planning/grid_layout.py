"""Grid of a case: its spacing, its blocks and planes below a topography, with the capabilities positioned in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from faultwave.base.errors import Problems, collect_problems
from faultwave.base.spans import phase
from faultwave.case.settings.model import Case
from faultwave.comm import World
from faultwave.engine.capability import output_size
from faultwave.fd.blocks.layout import build_blocks, check_faces, moved
from faultwave.fd.capability import GridCapabilityPlan
from faultwave.fd.checks.case_checks import check_near_fault
from faultwave.fd.contexts import PlacementContext
from faultwave.fd.method.grid import Grid, SideKind
from faultwave.fd.method.grid_block import GridBlock
from faultwave.fd.operators.resources import check_disk, check_memory
from faultwave.fd.operators.topography import (
    AxisNodes,
    check_slopes,
    relief_of,
)
from faultwave.fd.planning.case_input import CaseInput, grid_settings
from faultwave.media.field import Field, axes_of
from faultwave.media.homogenise import at_points
from faultwave.physics.waves import law

MAX_LATTICE_POINTS_PER_AXIS = 2_000  # most points of the coarse lattice along an axis, and in all (SAMPLES)
SAMPLES = 400_000


@phase("grid")
def build_grid(
    case: Case, read: CaseInput, world: World, problems: Problems
) -> tuple[PlacementContext, list[GridBlock], Mapping[str, GridCapabilityPlan]]:
    """Build the grid or its blocks, position the capabilities in it and check memory and disk space."""
    setting, field = grid_settings(case), read.field
    spacing = setting.spacing
    if spacing is None and field is not None and (read.upper > read.lower).all():
        with collect_problems(problems):
            spacing = _spacing(field, read.lower, read.upper, setting.frequency, setting.points_per_wavelength)
    if spacing is None:
        problems.raise_errors()
    assert spacing is not None
    blocks = build_blocks(case, read.lower, read.upper, spacing, read.sides, problems)
    if grid_settings(case).topography is not None:
        with collect_problems(problems):
            blocks = _curvilinear_blocks(case, blocks, read, problems)
        if blocks[0].grid.relief is None:
            problems.raise_errors()
    lower, upper = np.array([*blocks[0].lower[:2], blocks[-1].lower[2]]), blocks[0].upper
    placing = PlacementContext(case, law(case.law), blocks[0].grid, lower, upper, problems, tuple(blocks))
    grids = [block.grid for block in blocks]
    if not check_memory(case, grids, world, problems):
        problems.raise_errors()  # capabilities allocate memory in proportion to the grid when placed
    parts = {name: part.locate(placing) for name, part in read.parts.items()}
    check_faces(placing, blocks, parts)
    check_near_fault(placing, parts)
    with collect_problems(problems):
        check_disk(case, grids, output_size(parts.values()), problems)
    if field is None:
        problems.raise_errors()
    return placing, blocks, parts


def sample_coarse_lattice(
    field: Field, lower: np.ndarray, upper: np.ndarray, grid: Grid | None = None
) -> dict[str, np.ndarray]:  # fmt: skip
    """Return rho, lambda and mu on a coarse lattice of a box.

    The lattice is the finer, the fewer axes the material depends on.

    Parameters
    ----------
    field : Field
    lower, upper : ndarray (3,)
        Corners of the box [m].
    grid : Grid, optional
        Grid below a topography, whose curvilinear coordinates the lattice then follows.

    Returns
    -------
    dict of str to ndarray (n,)
    """
    axes = axes_of(field)
    count = max(2, min(MAX_LATTICE_POINTS_PER_AXIS, int(SAMPLES ** (1 / max(1, len(axes))))))
    lines = [np.linspace(a, b, count if n in axes else 1) for n, a, b in zip("xyz", lower, upper, strict=True)]
    points = np.stack(np.meshgrid(*lines, indexing="ij"), -1).reshape(-1, 3)
    points = points if grid is None else grid.up(points)
    return at_points(field, ["rho", "lambda", "mu"], points, np.ones(len(points), np.int64))


def slowest_speed(field: Field, lower: np.ndarray, upper: np.ndarray) -> float:
    """Return the smallest S speed (P speed in fluids) [m/s] on a coarse lattice."""
    values = sample_coarse_lattice(field, lower, upper)
    modulus = np.where(values["mu"] > 0, values["mu"], values["lambda"])
    return float(np.sqrt((modulus / values["rho"]).min()))


def _spacing(field: Field, lower: np.ndarray, upper: np.ndarray, frequency: float | None, points: float) -> float:
    """Return the spacing [m] that resolves ``frequency`` [Hz], rounded down to two digits."""
    assert frequency is not None
    exact = slowest_speed(field, lower, upper) / (points * frequency)
    digit = 10.0 ** (np.floor(np.log10(exact)) - 1)
    return float(np.floor(exact / digit * (1 + 1e-12)) * digit)


def _curvilinear_blocks(
    case: Case, blocks: Sequence[GridBlock], read: CaseInput, problems: Problems
) -> list[GridBlock]:
    """Return the blocks below a topography.

    The uppermost block has the same number of planes as without; its top is at the lowest point of the ground before
    the planes are made curvilinear. The blocks below move along.
    """
    if read.ground is None:
        return list(blocks)
    first = blocks[0]
    grid, lower, upper, lines = first.grid, first.lower, first.upper, list[AxisNodes]()
    for k, axis in enumerate("xy"):
        kinds = [read.sides[f"{axis}{end}"] for end in "-+"]
        ends = (kinds[0] == SideKind.ABSORBING, kinds[1] == SideKind.ABSORBING)
        lines.append(
            AxisNodes(grid.lower[k], grid.shape[2 - k], lower[k], upper[k], ends, kinds[0] == SideKind.PERIODIC)
        )
    available = float(upper[2] - lower[2])
    relief = relief_of(case, read.ground, (lines[0], lines[1]), grid.spacing, available, problems)
    check_slopes(relief, read.ground, lower, upper, problems)
    found = moved(blocks, relief.top - float(upper[2]))
    corner = (grid.lower[0], grid.lower[1], relief.top - grid.spacing * grid.shape[0])
    lower, upper = np.array([*lower[:2], relief.top - (upper[2] - lower[2])]), np.array([*upper[:2], relief.top])
    bent = replace(first, grid=replace(grid, lower=corner, relief=relief), lower=lower, upper=upper)
    return [bent, *found[1:]]
