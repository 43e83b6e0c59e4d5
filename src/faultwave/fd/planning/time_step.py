"""Time step of a planned grid, and the checks of the case against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import Problems, collect_problems
from faultwave.base.spans import phase
from faultwave.case.plausibility import Scene, warn_rock_properties, warn_scene
from faultwave.case.settings.model import Case
from faultwave.comm import World
from faultwave.fd.capability import GridCapabilityPlan
from faultwave.fd.checks.accuracy import (
    check_band,
    check_fluids,
    check_reflections,
    has_fluid_and_rock,
)
from faultwave.fd.checks.case_checks import check_relief
from faultwave.fd.contexts import MaterialContext, PlacementContext
from faultwave.fd.method.differences import WEIGHTS
from faultwave.fd.method.effective_medium import Medium
from faultwave.fd.method.grid import Grid, SideKind
from faultwave.fd.method.grid_block import GridBlock
from faultwave.fd.operators.resources import check_stored_output
from faultwave.fd.operators.topography import (
    relative_stable_step,
)
from faultwave.fd.planning.case_input import CaseInput, grid_settings
from faultwave.fd.planning.material import MaterialOnGrid
from faultwave.media import quality
from faultwave.media.checks import warn_layers
from faultwave.media.field import limit_messages
from faultwave.media.perturbed import check_read
from faultwave.physics.sources.acting import check_representable, check_time, scalar_moments
from faultwave.physics.sources.point import Sources

CFL, CFL_LAYERS = 0.95, 0.9


@dataclass(frozen=True)
class TimeStepping:
    """Frequency resolved everywhere [Hz], time step [s], number of steps and checked capabilities."""

    frequency: float
    step: float
    steps: int
    parts: Mapping[str, GridCapabilityPlan]


@phase("checks and time step")
def check_plan(
    read: CaseInput,
    placing: PlacementContext,
    grid_blocks: Sequence[GridBlock],
    filled: MaterialOnGrid,
    parts: Mapping[str, GridCapabilityPlan],
    world: World,
) -> TimeStepping:
    """Choose the time step and check material, sources, outputs and layers against it."""
    case, problems, field, media = placing.case, placing.problems, filled.field, filled.media
    setting, grid, lower, upper = grid_settings(case), placing.grid, placing.lower, placing.upper
    coarse = filled.coarse
    if has_fluid_and_rock(coarse["mu"]):
        check_fluids(grid_blocks, media, problems)
    if grid.relief is None:
        check_relief(field, lower, upper, problems)
    for text in limit_messages(field):
        problems.warn("material", text)
    check_read(field, problems)
    warn_rock_properties(coarse, float((upper - lower).max()), problems)
    warn_layers(field, float(upper[2] - lower[2]), problems)
    resolved = [
        m.slowest / (setting.points_per_wavelength * b.grid.spacing) for m, b in zip(media, grid_blocks, strict=True)
    ]
    frequency = min(resolved)
    for medium, block, own in zip(media, grid_blocks, resolved, strict=True):
        _check_resolution(case, medium, own, block.grid, problems)
        if case.attenuation:
            points = block.grid.box.points, "points"
            quality.report_bounds(medium.gains, medium.strong, case.attenuation.limit, points, problems)
    step, steps = _step(case, grid_blocks, media, read.sides, problems)
    highest = min(frequency, setting.frequency or np.inf)
    boxes = [here.box if here else block.grid.box for block, here in zip(grid_blocks, filled.subdomains, strict=True)]
    blocks = [(block.grid, block.scheme(case).filled(box)) for block, box in zip(grid_blocks, boxes, strict=True)]
    checking = MaterialContext(
        placing, field, coarse, read.sides, highest, step, steps, media, blocks, world, filled.surveyed
    )
    parts = {name: part.check(checking) for name, part in parts.items()}
    retained = [part.memory(steps, world) for part in parts.values()]
    check_stored_output(
        case,
        [block.grid for block in grid_blocks],
        world,
        [memory for memory in retained if memory is not None],
        problems,
    )
    radiating = Sources.joined([part.radiating for part in parts.values()])
    with collect_problems(problems):
        check_time(radiating, case.end_time, problems)
        check_representable(radiating, case.numerics.precision, problems)
        check_band(radiating, highest, step, case.end_time, problems, case.source_lowpass)
        check_reflections(placing, read.sides, parts, max(m.fastest for m in media), step)
    if world.size == 1 and not problems.errors:
        warn_scene(case, _scene(placing, parts, media, read.sides), problems)
    return TimeStepping(frequency, step, steps, parts)


def _scene(
    placing: PlacementContext,
    parts: Mapping[str, GridCapabilityPlan],
    media: Sequence[Medium],
    sides: Mapping[str, SideKind],
) -> Scene:
    """Return the quantities of a checked case that the plausibility checks use."""
    none = np.zeros((0, 3))
    sources, receivers = parts.get("sources"), parts.get("receivers")
    table = Sources.of(()) if sources is None else sources.sources
    rock = none if sources is None else sources.source_material
    moment = scalar_moments(table, rock[:, 0], rock[:, 1], placing.case.end_time) if len(rock) else np.zeros(0)
    return Scene(
        placing.lower, placing.upper, placing.grid.spacing, max(m.fastest for m in media), table.location if len(rock) else none, moment,
        table.onset[: len(rock)], none if receivers is None else receivers.places, closed=SideKind.ABSORBING not in sides.values(),
    )  # fmt: skip


def _check_resolution(case: Case, medium: Medium, frequency: float, grid: Grid, problems: Problems) -> None:
    """Check that the grid resolves the requested frequency.

    An error if the spacing was given, a warning if it was chosen from the coarse lattice, which may miss the slowest
    places.
    """
    setting = grid_settings(case)
    if setting.frequency is None or not medium.too_slow:
        return
    x, y, z = medium.slow_place
    name = "Vs" if medium.slowest == medium.shear else "Vp of a fluid"
    stretched = " divided by the stretch of cells" if grid.relief is not None else ""
    needed = medium.slowest / (setting.points_per_wavelength * setting.frequency)
    what = (
        f"resolves {frequency:.4g} Hz where {name}{stretched} = {medium.slowest:.6g} m/s at ({x:g}, {y:g}, "
        f"{z:g}), not the requested {setting.frequency:g} Hz; {100 * medium.too_slow:.3g} % of the points are "
        f"too slow, about {max(1, round(medium.too_slow * grid.box.points)):,} of {grid.box.points:,}"
    )
    allowed = f"at most {needed:.4g} m with {setting.points_per_wavelength:g} points per wavelength"
    (problems.error if setting.spacing else problems.warn)("grid.spacing", what, allowed)


def _step(
    case: Case, blocks: Sequence[GridBlock], media: Sequence[Medium], sides: Mapping[str, SideKind], problems: Problems
) -> tuple[float, int]:
    """Return the time step [s] and the number of steps.

    The step is stable in all blocks and divides the end time. A step given by the case is used as it is; the run then
    ends at or just after the end time.
    """
    fraction = case.numerics.cfl or (CFL_LAYERS if SideKind.ABSORBING in sides.values() else CFL)
    relief = blocks[0].grid.relief
    shares = [1.0 if relief is None else relative_stable_step(relief)] + [1.0] * (len(blocks) - 1)
    bounds = [
        fraction * share * WEIGHTS[block.order].limit * block.grid.spacing / medium.fastest
        for share, block, medium in zip(shares, blocks, media, strict=True)
    ]
    largest = min(*bounds, case.numerics.largest_step)
    own = grid_settings(case).step
    steps = max(1, int(np.ceil(case.end_time / (own or largest) * (1 - 1e-12))))
    if own is None:
        return case.end_time / steps, steps
    if own > largest * (1 + 1e-12):
        advice = "" if case.numerics.cfl is None else "numerics.cfl sets the fraction of the stable step"
        problems.error("grid.step", f"{own:g} s is too long to be stable", f"at most {largest:.6g} s", advice)
    return own, steps
