"""Plan a case on a grid: capabilities, spacing, time step and material, with all checks before a run."""

from __future__ import annotations

import functools
import time as clock
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from faultwave import backends
from faultwave.base.errors import Problem, Problems, collect_problems
from faultwave.base.progress import startup_age
from faultwave.base.projection import Projection, warn_map_distortion
from faultwave.base.registry import modules
from faultwave.base.types import number_type
from faultwave.case.plausibility import Scene, warn_rock_properties, warn_scene
from faultwave.case.settings.grid import Grid as Setting
from faultwave.case.settings.model import Case
from faultwave.comm import World
from faultwave.engine import checks
from faultwave.engine.checks import check_backend
from faultwave.engine.precision import choose_precision
from faultwave.fd.blocks.layout import build_blocks, check_faces, moved
from faultwave.fd.capability import FdPlan, GridCapabilityPlan, MaterialContext, PlacementContext, Planning
from faultwave.fd.checkpoint import checkpoint_bytes
from faultwave.fd.checks.accuracy import (
    check_band,
    check_fluids,
    check_reflections,
    estimate_rounding_error,
    has_fluid_and_rock,
    needs_double,
)
from faultwave.fd.checks.case_checks import check_near_fault, check_relief, check_unused, explain_missing_rock
from faultwave.fd.method.absorbing import Absorber, stable_along
from faultwave.fd.method.differences import WEIGHTS
from faultwave.fd.method.effective_medium import Medium, count_samples, effective_medium, survey_medium
from faultwave.fd.method.grid import SIDES, Grid, SideKind
from faultwave.fd.method.grid_block import GridBlock, Subdomain
from faultwave.fd.method.scheme import Scheme
from faultwave.fd.operators.resources import check_disk, check_memory, check_stored_output, disk_needed
from faultwave.fd.operators.time_dispersion import check_removal
from faultwave.fd.operators.topography import (
    AxisNodes,
    FieldBelowGround,
    Ground,
    check_slopes,
    read_ground,
    relative_stable_step,
    relief_of,
)
from faultwave.fd.process_partition import (
    decompose,
    partitioned_medium,
    share,
    single_process_reason,
    with_fluid_solid_interface,
)
from faultwave.media import load_field, quality
from faultwave.media.attenuation import Relaxation, relaxation
from faultwave.media.checks import warn_layers
from faultwave.media.field import Field, axes_of, limit_messages, missing
from faultwave.media.homogenise import at_points
from faultwave.physics.sources.acting import check_representable, check_time, scalar_moments
from faultwave.physics.sources.point import Sources
from faultwave.physics.waves import law

CAPABILITY_PACKAGE, CAPABILITY_GROUP = "faultwave.fd.capabilities", "faultwave.fd.parts"
"""Package of the capabilities, and the entry point group of capabilities in other packages."""


@cache
def capability_modules() -> tuple[ModuleType, ...]:
    """Return the capability modules of ``fd.capabilities``, sorted by name."""
    return tuple(module for module in modules(CAPABILITY_PACKAGE, CAPABILITY_GROUP) if hasattr(module, "plan"))


CFL, CFL_LAYERS = 0.95, 0.9
MAX_CHECKED_SAMPLES = 20_000_000
"""Largest number of places where a survey reads the material of a grid; of more, it reads a sample."""
SURVEY_NOTE = "checked the material at a sample of the {points:,} grid points; a run checks every point"
MAX_LATTICE_POINTS_PER_AXIS = 2_000  # most points of the coarse lattice along an axis, and in all (SAMPLES)
SAMPLES = 400_000


@dataclass(frozen=True)
class _CaseInput:
    """Content of the settings and files of a case, before there is a grid.

    Attributes
    ----------
    lower, upper : ndarray (3,)
        Corners of the requested box [m].
    sides : dict of str to SideKind
        Boundary condition of each side.
    field : Field or None
        Material; None if it cannot be read.
    parts : mapping of str to GridCapabilityPlan
        Capabilities by name.
    ground : Ground or None
        Topography, None if the surface is flat.
    """

    lower: np.ndarray
    upper: np.ndarray
    sides: dict[str, SideKind]
    field: Field | None
    parts: Mapping[str, GridCapabilityPlan]
    ground: Ground | None = None


@dataclass(frozen=True)
class _MaterialOnGrid:
    """Material on the grid, or on the ``subdomains`` of this process, and on a ``coarse`` lattice."""

    field: Field
    media: Sequence[Medium]  # of each block
    relaxation: Relaxation | None
    subdomains: Sequence[Subdomain | None]
    coarse: dict[str, np.ndarray]
    surveyed: bool = False  # media were read at a sample of the points


@dataclass(frozen=True)
class _TimeStepping:
    """Frequency resolved everywhere [Hz], time step [s], number of steps and checked capabilities."""

    frequency: float
    step: float
    steps: int
    parts: Mapping[str, GridCapabilityPlan]


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
    read = _read(case, problems)
    placing, grid_blocks, parts = _build_grid(case, read, world, problems)
    if placing.grid.relief is not None and _setting(case).topography.material == "depth" and read.field is not None:  # type: ignore[union-attr]
        read = replace(read, field=FieldBelowGround(read.field, placing.grid.relief))
    assert read.field is not None
    filled = _load_material(read.field, placing, grid_blocks, parts, world, surveying)
    stepped = _check(read, placing, grid_blocks, filled, parts, world)
    problems.raise_errors()
    blocks: list[FdPlan] = []
    for n, (block, scheme) in enumerate(zip(grid_blocks, _schemes(placing, grid_blocks, filled, stepped), strict=True)):
        own, subdomain = stepped.parts if n == 0 else {}, filled.subdomains[n]
        shared = share(case, scheme, filled.media[n], subdomain, stepped.parts, world) if subdomain else None
        lower, upper = (placing.lower, placing.upper) if n == 0 else (block.lower, block.upper)
        blocks.append(FdPlan(
            case, placing.law, scheme, lower, upper, filled.media[n], filled.relaxation, stepped.frequency, stepped.steps, own,
            problems.warnings, filled.field, shared,
        ))  # fmt: skip
    made = replace(blocks[0], below=tuple(blocks[1:]))
    made = replace(made, notes=(SURVEY_NOTE.format(points=made.points),) if filled.surveyed else ())
    checks.check_disk(case.output.folder, forecast_disk(made), problems)
    problems.raise_errors()
    return made


def forecast_disk(made: FdPlan) -> float:
    """Return the disk space [bytes] of a planned run."""
    written = float(sum(part.requirements.disk for part in made.parts.values()))
    return disk_needed(made.case, written, 0.0 if made.case.output.checkpoint is None else checkpoint_bytes(made))


def _read(case: Case, problems: Problems) -> _CaseInput:
    """Read all files and the settings that need no grid."""
    _check_supported(case, problems)
    lower, upper = _corners(case, problems)
    sides = _sides(case, problems)
    ground: Ground | None = None
    with collect_problems(problems):
        ground = read_ground(case, lower, upper, sides)
    if ground is not None:
        upper[2] = ground.lowest  # top of the flat grid, whose planes are then deformed up to the ground
    field: Field | None = None
    with collect_problems(problems):
        field = load_field(case.material, "material", projection=case.projection)
        _check_parameters(case, field)
        check_unused(case, field, sides, problems)
    if case.projection is not None:
        with collect_problems(problems):
            projection = Projection(case.projection.crs, case.projection.origin, case.projection.azimuth)
            warn_map_distortion(projection, lower, upper, problems)
    planning = Planning(case, law(case.law), lower, upper, sides, problems)
    found = [part for module in capability_modules() if (part := module.plan(planning)) is not None]
    return _CaseInput(lower, upper, sides, field, {part.name: part for part in found}, ground)


def settings_are_consistent(case: Case) -> bool:
    """Return True if the case's settings are consistent, as far as that can be known without a grid."""
    problems = Problems()
    with collect_problems(problems):
        _read(case, problems)
    return not problems.errors


def check_processes(made: FdPlan, count: int) -> Sequence[Problem]:
    """Return the reasons why ``count`` processes cannot share the grid of a plan; none if they can."""
    problems, none = Problems(), Problems()
    with collect_problems(problems):
        _, blocks, parts = _build_grid(made.case, _read(made.case, none), World(), none)
        decompose(made.case, blocks, parts, count)
    return problems.errors


def _build_grid(
    case: Case, read: _CaseInput, world: World, problems: Problems
) -> tuple[PlacementContext, list[GridBlock], Mapping[str, GridCapabilityPlan]]:
    """Build the grid or its blocks, position the capabilities in it and check memory and disk space."""
    setting, field = _setting(case), read.field
    spacing = setting.spacing
    if spacing is None and field is not None and (read.upper > read.lower).all():
        with collect_problems(problems):
            spacing = _spacing(field, read.lower, read.upper, setting.frequency, setting.points_per_wavelength)
    if spacing is None:
        problems.raise_errors()
    assert spacing is not None
    blocks = build_blocks(case, read.lower, read.upper, spacing, read.sides, problems)
    if _setting(case).topography is not None:
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
        check_disk(case, grids, float(sum(part.requirements.disk for part in parts.values())), problems)
    if field is None:
        problems.raise_errors()
    return placing, blocks, parts


def _load_material(
    field: Field,
    placing: PlacementContext,
    blocks: Sequence[GridBlock],
    parts: Mapping[str, GridCapabilityPlan],
    world: World,
    surveying: bool,
) -> _MaterialOnGrid:
    """Return the material where the grid needs it; raises InputError where it is not available."""
    case, problems, setting = placing.case, placing.problems, _setting(placing.case)
    names = ["rho", "lambda", "mu"] + (["Qp", "Qs"] if case.attenuation else [])
    fitted: Relaxation | None = None
    with collect_problems(problems):
        resolved = setting.frequency
        if case.attenuation and resolved is None:
            slowest = [
                explain_missing_rock(
                    functools.partial(_slowest, field, b.lower, b.upper), field, names, b.grid, b.lower, b.upper
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
    return _MaterialOnGrid(field, media, fitted, subdomains, coarse, surveyed)


def _medium(
    field: Field, case: Case, block: GridBlock, subdomain: Subdomain | None, fitted: Relaxation | None, world: World,
    surveyed: bool,
) -> Medium:  # fmt: skip
    """Return the effective medium of a block, if ``surveyed`` from a sample of its points."""
    setting, grid, lower, upper = _setting(case), block.grid, block.lower, block.upper
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


def _check(
    read: _CaseInput,
    placing: PlacementContext,
    grid_blocks: Sequence[GridBlock],
    filled: _MaterialOnGrid,
    parts: Mapping[str, GridCapabilityPlan],
    world: World,
) -> _TimeStepping:
    """Choose the time step and check material, sources, outputs and layers against it."""
    case, problems, field, media = placing.case, placing.problems, filled.field, filled.media
    setting, grid, lower, upper = _setting(case), placing.grid, placing.lower, placing.upper
    coarse = filled.coarse
    if has_fluid_and_rock(coarse["mu"]):
        check_fluids(grid_blocks, media, problems)
    if grid.relief is None:
        check_relief(field, lower, upper, problems)
    for text in limit_messages(field):
        problems.warn("material", text)
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
    return _TimeStepping(frequency, step, steps, parts)


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
        table.onset[: len(rock)], none if receivers is None else receivers.places, closed="absorbing" not in sides.values(),
    )  # fmt: skip


def _schemes(
    placing: PlacementContext, blocks: Sequence[GridBlock], filled: _MaterialOnGrid, stepped: _TimeStepping
) -> Iterator[Scheme]:
    """Yield the scheme of each block; absorbing layers have the same parameters at every depth."""
    setting, absorbing = _setting(placing.case), _setting(placing.case).absorbing
    fastest, shear = max(m.fastest for m in filled.media), min(m.shear for m in filled.media)
    along = absorbing.along if absorbing.along is not None else stable_along(fastest / shear)
    frequency = absorbing.frequency or setting.frequency or min(stepped.frequency, 1.0 / stepped.step)
    for block, medium in zip(blocks, filled.media, strict=True):
        absorber = Absorber(absorbing.kind, block.width, frequency, along=along)
        made = block.scheme(placing.case)
        yield replace(made, step=stepped.step, speed=fastest, absorber=absorber, border=medium.border)


def _setting(case: Case) -> Setting:
    """Return the ``grid`` settings of the case."""
    assert case.grid is not None
    return case.grid


def _check_supported(case: Case, problems: Problems) -> None:
    if case.law != "elastic":
        problems.error("law", f"the engine fd has no '{case.law}'", "elastic")
    setting = _setting(case)
    if setting.order != 4 and setting.topography is not None and not setting.blocks:
        what = f"{setting.order} is for flat planes, and those below a topography bend"
        advice = "The uppermost block then has order 4; the next one may have its spacing or a larger one."
        problems.error("grid.order", what, "4, or grid.blocks with a block below the planes that bend", advice)
    check_removal(case, problems)
    if case.output.fault is not None:
        problems.error("output.fault", "the engine fd writes no snapshots of faults yet", "output.rupture")
    check_backend(case.numerics, [n for n in backends.names() if backends.runs_stencils(n)], problems)
    if case.numerics.cfl is not None and case.numerics.cfl > 1:
        problems.error("numerics.cfl", f"{case.numerics.cfl:g} is unstable", "at most 1 (fraction of the stable step)")


def _corners(case: Case, problems: Problems) -> tuple[np.ndarray, np.ndarray]:
    setting: Any = _setting(case)
    if setting.lower is not None:
        return np.array(setting.lower, float), np.array(setting.upper, float)
    box = getattr(case.mesh, "generate", None)
    if box is None or box.shape != "box":
        problems.error("grid", "says no box", "lower and upper, or a mesh.generate of shape box to take them from")
        return np.zeros(3), np.ones(3)
    return np.array(box.lower, float), np.array(box.upper, float)


def _sides(case: Case, problems: Problems) -> dict[str, SideKind]:
    setting: Any = _setting(case)
    requested: dict[str, SideKind] = {"z+": "free-surface"}
    box = getattr(case.mesh, "generate", None)
    if setting.boundaries is not None:
        named = {"z", "z+"} & setting.boundaries.keys()
        requested = dict(setting.boundaries) if named else requested | setting.boundaries
    elif setting.lower is None and box is not None and box.shape == "box":
        requested = dict(box.boundaries)
    result: dict[str, Any] = {side: requested.get(side, requested.get(side[0], "absorbing")) for side in SIDES}
    for side, kind in result.items():
        if kind == "symmetry" or (kind == "free-surface" and side != "z+"):
            problems.error(
                "grid.boundaries", f"'{kind}' at {side} is not possible on a grid", "free-surface at z+ only"
            )
    return result


def _check_parameters(case: Case, field: Field) -> None:
    names = ["rho", "lambda", "mu"] + (["Qp", "Qs"] if case.attenuation else [])
    if not field.parameters.issuperset(names):
        raise missing(field, names)


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


def _slowest(field: Field, lower: np.ndarray, upper: np.ndarray) -> float:
    """Return the smallest S speed (P speed in fluids) [m/s] on a coarse lattice."""
    values = sample_coarse_lattice(field, lower, upper)
    modulus = np.where(values["mu"] > 0, values["mu"], values["lambda"])
    return float(np.sqrt((modulus / values["rho"]).min()))


def _spacing(field: Field, lower: np.ndarray, upper: np.ndarray, frequency: float | None, points: float) -> float:
    """Return the spacing [m] that resolves ``frequency`` [Hz], rounded down to two digits."""
    assert frequency is not None
    exact = _slowest(field, lower, upper) / (points * frequency)
    digit = 10.0 ** (np.floor(np.log10(exact)) - 1)
    return float(np.floor(exact / digit * (1 + 1e-12)) * digit)


def _curvilinear_blocks(
    case: Case, blocks: Sequence[GridBlock], read: _CaseInput, problems: Problems
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
        ends = (kinds[0] == "absorbing", kinds[1] == "absorbing")
        lines.append(AxisNodes(grid.lower[k], grid.shape[2 - k], lower[k], upper[k], ends, kinds[0] == "periodic"))
    available = float(upper[2] - lower[2])
    relief = relief_of(case, read.ground, (lines[0], lines[1]), grid.spacing, available, problems)
    check_slopes(relief, read.ground, lower, upper, problems)
    found = moved(blocks, relief.top - float(upper[2]))
    corner = (grid.lower[0], grid.lower[1], relief.top - grid.spacing * grid.shape[0])
    lower, upper = np.array([*lower[:2], relief.top - (upper[2] - lower[2])]), np.array([*upper[:2], relief.top])
    bent = replace(first, grid=replace(grid, lower=corner, relief=relief), lower=lower, upper=upper)
    return [bent, *found[1:]]


def _check_resolution(case: Case, medium: Medium, frequency: float, grid: Grid, problems: Problems) -> None:
    """Check that the grid resolves the requested frequency.

    An error if the spacing was given, a warning if it was chosen from the coarse lattice, which may miss the slowest
    places.
    """
    setting = _setting(case)
    if setting.frequency is None or not medium.too_slow:
        return
    x, y, z = medium.slow_place
    name = "Vs" if medium.slowest == medium.shear else "Vp of a fluid"
    stretched = " over the stretch of cells" if grid.relief is not None else ""
    needed = medium.slowest / (setting.points_per_wavelength * setting.frequency)
    what = (
        f"resolves {frequency:.4g} Hz where {name}{stretched} = {medium.slowest:.6g} m/s at ({x:g}, {y:g}, {z:g}), not the "
        f"{setting.frequency:g} Hz asked for; {100 * medium.too_slow:.3g} % of the points are too slow, about "
        f"{max(1, round(medium.too_slow * grid.box.points)):,} of {grid.box.points:,}"
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
    fraction = case.numerics.cfl or (CFL_LAYERS if "absorbing" in sides.values() else CFL)
    relief = blocks[0].grid.relief
    shares = [1.0 if relief is None else relative_stable_step(relief)] + [1.0] * (len(blocks) - 1)
    bounds = [
        fraction * share * WEIGHTS[block.order].limit * block.grid.spacing / medium.fastest
        for share, block, medium in zip(shares, blocks, media, strict=True)
    ]
    largest = min(*bounds, case.numerics.largest_step)
    own = _setting(case).step
    steps = max(1, int(np.ceil(case.end_time / (own or largest) * (1 - 1e-12))))
    if own is None:
        return case.end_time / steps, steps
    if own > largest * (1 + 1e-12):
        advice = "" if case.numerics.cfl is None else "numerics.cfl says how much of the stable step is taken"
        problems.error("grid.step", f"{own:g} s is too long to be stable", f"at most {largest:.6g} s", advice)
    return own, steps
