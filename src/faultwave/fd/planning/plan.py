"""Plan of a case on a grid, with all checks before a run."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator, Sequence
from dataclasses import replace

from faultwave.base.errors import Problem, Problems, collect_problems
from faultwave.base.progress import startup_age
from faultwave.case.settings.model import Case
from faultwave.comm import World
from faultwave.engine import checks
from faultwave.engine.precision import choose_precision
from faultwave.fd.capability import FdPlan
from faultwave.fd.checkpoint import checkpoint_bytes
from faultwave.fd.checks.accuracy import (
    estimate_rounding_error,
    needs_double,
)
from faultwave.fd.contexts import PlacementContext
from faultwave.fd.method.absorbing import Absorber, AbsorberKind, stable_along
from faultwave.fd.method.grid_block import GridBlock
from faultwave.fd.method.scheme import Scheme
from faultwave.fd.operators.resources import disk_needed
from faultwave.fd.operators.topography import (
    FieldBelowGround,
)
from faultwave.fd.planning.case_input import grid_settings, read_case_input
from faultwave.fd.planning.grid_layout import build_grid
from faultwave.fd.planning.material import MaterialOnGrid, load_material
from faultwave.fd.planning.process_partition import decompose, make_partition
from faultwave.fd.planning.time_step import TimeStepping, check_plan

SURVEY_NOTE = "checked the material at a sample of the {points:,} grid points; a run checks every point"


def make_plan(case: Case, world: World | None = None) -> FdPlan:
    """Read and check a case and return its plan on a grid.

    Parameters
    ----------
    case : Case
    world : World, optional
        Processes of the run; of several, each plans its own box.

    Returns
    -------
    FdPlan

    Raises
    ------
    InputError
        With all problems that can be known at once.
    """
    started, before = clock.perf_counter(), startup_age()
    made = _plan_in_chosen_precision(case, world or World())
    return replace(made, seconds=before + clock.perf_counter() - started)


def survey(case: Case) -> FdPlan:
    """Read and check a case as ``make_plan`` does, but read the material of a large grid at a sample of its points.

    The plan then has a note that states the number of places, and cannot be run.
    """
    return _plan_in_chosen_precision(case, World(), surveying=True)


def _plan_in_chosen_precision(case: Case, world: World, surveying: bool = False) -> FdPlan:
    """Plan a case in the precision that it requests.

    With ``precision: auto`` single precision is planned first, because the estimate of its error needs the number of
    steps.
    """
    requested, problems = case.numerics, Problems()
    if requested.precision != "auto":
        made = _plan_in_precision(case, world, surveying)
        if "precision_error" in requested.model_fields_set:  # single is the default of grids
            choose_precision(requested, estimate_rounding_error(made), False, problems)
        return replace(made, warnings=(*made.warnings, *problems.warnings)) if problems.warnings else made
    if needs_double(case):
        note = f"precision auto: double, as friction {case.fault.friction} needs it"  # type: ignore[union-attr]
        made = _plan_in_precision(_with_precision(case, "double"), world, surveying)
        return replace(made, notes=(*made.notes, note))
    made = _plan_in_precision(_with_precision(case, "single"), world, surveying)
    choice = choose_precision(requested, estimate_rounding_error(made), False, problems)
    chosen = choice.numerics.precision
    if chosen != "single":
        made = _plan_in_precision(_with_precision(case, chosen), world, surveying)
    return replace(made, notes=(*made.notes, *choice.notes))


def _with_precision(case: Case, precision: str) -> Case:
    return case.model_copy(update={"numerics": case.numerics.model_copy(update={"precision": precision})})


def _plan_in_precision(case: Case, world: World, surveying: bool = False) -> FdPlan:
    """Plan a case whose precision is known; ``surveying`` reads the material of large grids at a sample of the points."""
    problems = Problems()
    read = read_case_input(case, problems)
    placing, grid_blocks, parts = build_grid(case, read, world, problems)
    topography = grid_settings(case).topography
    if (
        placing.grid.relief is not None
        and topography is not None
        and topography.material == "depth"
        and read.field is not None
    ):
        read = replace(read, field=FieldBelowGround(read.field, placing.grid.relief))
    assert read.field is not None
    filled = load_material(read.field, placing, grid_blocks, parts, world, surveying)
    stepped = check_plan(read, placing, grid_blocks, filled, parts, world)
    problems.raise_errors()
    blocks: list[FdPlan] = []
    for n, (block, scheme) in enumerate(zip(grid_blocks, _schemes(placing, grid_blocks, filled, stepped), strict=True)):
        own, subdomain = stepped.parts if n == 0 else {}, filled.subdomains[n]
        partition = (
            make_partition(case, scheme, filled.media[n], subdomain, stepped.parts, world) if subdomain else None
        )
        lower, upper = (placing.lower, placing.upper) if n == 0 else (block.lower, block.upper)
        blocks.append(FdPlan(
            case, placing.law, scheme, lower, upper, filled.media[n], filled.relaxation, stepped.frequency, stepped.steps, own,
            problems.warnings, filled.field, partition,
        ))  # fmt: skip
    made = replace(blocks[0], below=tuple(blocks[1:]))
    made = replace(made, notes=(SURVEY_NOTE.format(points=made.points),) if filled.surveyed else ())
    checks.check_disk(case.output.folder, forecast_disk(made), problems)
    problems.raise_errors()
    return made


def forecast_disk(made: FdPlan) -> float:
    """Return the disk space [bytes] of a planned run."""
    return disk_needed(
        made.case, made.output_size, 0.0 if made.case.output.checkpoint is None else checkpoint_bytes(made)
    )


def check_processes(made: FdPlan, count: int) -> Sequence[Problem]:
    """Return the reasons why ``count`` processes cannot share the grid of a plan; none if they can."""
    problems, none = Problems(), Problems()
    with collect_problems(problems):
        _, blocks, parts = build_grid(made.case, read_case_input(made.case, none), World(), none)
        decompose(made.case, blocks, parts, count)
    return problems.errors


def _schemes(
    placing: PlacementContext, blocks: Sequence[GridBlock], filled: MaterialOnGrid, stepped: TimeStepping
) -> Iterator[Scheme]:
    """Yield the scheme of each block; absorbing layers have the same parameters at every depth."""
    setting, absorbing = grid_settings(placing.case), grid_settings(placing.case).absorbing
    fastest, shear = max(m.fastest for m in filled.media), min(m.shear for m in filled.media)
    along = absorbing.along if absorbing.along is not None else stable_along(fastest / shear)
    frequency = absorbing.frequency or setting.frequency or min(stepped.frequency, 1.0 / stepped.step)
    for block, medium in zip(blocks, filled.media, strict=True):
        absorber = Absorber(AbsorberKind(absorbing.kind), block.width, frequency, along=along)
        made = block.scheme(placing.case)
        yield replace(made, step=stepped.step, speed=fastest, absorber=absorber, border=medium.border)
