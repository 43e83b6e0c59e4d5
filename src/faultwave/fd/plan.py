"""Case -> plan of a grid: spacing, step, material, sources and receivers, everything checked before a run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from faultwave import backends
from faultwave.base.collect import collected
from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.projection import Projection, check_lengths
from faultwave.case.grid import Grid as Setting
from faultwave.case.model import Case
from faultwave.comm import World
from faultwave.engine.backend import check_backend
from faultwave.fd.absorbing import Absorber, stable_along
from faultwave.fd.band import check_band, check_periods
from faultwave.fd.decomposition import Subdomain
from faultwave.fd.fields import Window, volume_window
from faultwave.fd.fluids import check_fluids
from faultwave.fd.grid import SIDES, Grid, SideKind
from faultwave.fd.ground import check_relief, counted
from faultwave.fd.idle import check_idle, check_initial
from faultwave.fd.incoming import check_plane_waves, heard
from faultwave.fd.media import Medium, effective_medium
from faultwave.fd.operator import Shared
from faultwave.fd.points import outside
from faultwave.fd.program import Scheme
from faultwave.fd.quality import check_quality, spectrum_of
from faultwave.fd.room import check_disk, check_memory, check_observed
from faultwave.fd.share import cut_up, share, shared_medium
from faultwave.media import load_field
from faultwave.media.attenuation import Relaxation, relaxation
from faultwave.media.field import Field, axes_of, limits_told
from faultwave.media.homogenise import at_points
from faultwave.observe.fields import surface_fields, volume_fields
from faultwave.observe.points import read_points
from faultwave.physics.sources.load import load_sources
from faultwave.physics.sources.lowpass import lowpassed
from faultwave.physics.sources.point import PointSource
from faultwave.physics.sources.released import check_time
from faultwave.physics.waves import Law, law

LIMIT = 6.0 / (7.0 * np.sqrt(3.0))
"""Largest step times P speed over spacing of the scheme in three dimensions."""
CFL, CFL_LAYERS = 0.95, 0.9
WIDTH = {"cpml": 10, "sponge": 20}
LEAST = 8
"""Cells along an axis of the smallest grid."""
LARGEST = 2_000  # points of a coarse look at the material, along each axis that it depends on: as far as fits SAMPLES
SAMPLES = 400_000


@dataclass(frozen=True)
class FdPlan:
    """Frozen answer to: what exactly will be computed. ``lower`` and ``upper`` (3,) [m] bound the box asked for, which
    absorbing layers surround."""

    case: Case
    law: Law
    scheme: Scheme
    lower: np.ndarray
    upper: np.ndarray
    medium: Medium
    relaxation: Relaxation | None
    frequency: float  # resolved everywhere [Hz]
    receivers: np.ndarray | None
    sources: tuple[PointSource, ...]
    source_material: np.ndarray  # lambda, mu, rho at the sources
    steps: int
    warnings: tuple[Problem, ...]
    window: Window | None = None  # of the volume's snapshots
    material: Field | None = None  # as the case gives it
    shared: Shared | None = None  # where other processes have the rest of the grid

    @property
    def projection(self) -> Projection | None:
        """How x and y become longitude and latitude."""
        p = self.case.projection
        return None if p is None else Projection(p.crs, p.origin, p.azimuth)

    @property
    def world(self) -> World:
        """The processes of the run."""
        return self.shared.world if self.shared else World()

    @property
    def points(self) -> int:
        return self.scheme.grid.box.points


@dataclass(frozen=True)
class _Read:
    """What files say, and the box asked for; ``field`` is None where it cannot be had."""

    lower: np.ndarray
    upper: np.ndarray
    sides: dict[str, SideKind]
    field: Field | None
    receivers: np.ndarray | None
    sources: tuple[PointSource, ...]

    @property
    def listening(self) -> int:
        """How many receivers there are."""
        return 0 if self.receivers is None else len(self.receivers)


@dataclass(frozen=True)
class _Laid:
    """The grid, the box of whole cells that it holds, and the window of the volume's snapshots."""

    grid: Grid
    lower: np.ndarray
    upper: np.ndarray
    window: Window | None


@dataclass(frozen=True)
class _Filled:
    """The material on the grid, or on the ``part`` of it that this process has."""

    field: Field
    medium: Medium
    relaxation: Relaxation | None
    part: Subdomain | None


@dataclass(frozen=True)
class _Stepped:
    """The frequency that is resolved everywhere [Hz], the step [s] and how many."""

    frequency: float
    step: float
    steps: int


def make_plan(case: Case, world: World | None = None) -> FdPlan:
    """Read and check everything; of several processes each for its part. Raises InputError with all problems that can be known at
    once."""
    world = world or World()
    problems = Problems()
    read = _read(case, problems)
    laid = _lay(case, read, world, problems)
    filled = _fill(case, read, laid, world, problems)
    stepped = _check(case, read, laid, filled, world, problems)
    problems.raise_errors()
    scheme = _scheme(case, read, laid, filled, stepped)
    material = _material_at(filled.field, read.sources)
    shared = share(case, scheme, filled.medium, filled.part, world) if filled.part else None
    return FdPlan(
        case, law(case.law), scheme, laid.lower, laid.upper, filled.medium, filled.relaxation, stepped.frequency, read.receivers,
        read.sources, material, stepped.steps, problems.warnings, laid.window, filled.field, shared,
    )  # fmt: skip


def _read(case: Case, problems: Problems) -> _Read:
    """Settings that need no grid, and all files."""
    _not_built(case, problems)
    lower, upper = _corners(case, problems)
    sides = _sides(case, problems)
    field: Field | None = None
    with collected(problems):
        field = load_field(case.material, "material", projection=case.projection)
        _check_parameters(case, field)
        check_idle(case, field, sides, problems)
    _surface(case, sides, lower, upper, problems)
    receivers = None
    with collected(problems):
        receivers = read_points(case.output.receivers, case.projection) if case.output.receivers else None
    sources: tuple[PointSource, ...] = ()
    with collected(problems):
        sources = tuple(load_sources(case.sources, projection=case.projection, warned=problems))
    sources = tuple(lowpassed(s, _setting(case).lowpass, case.end_time) for s in sources)
    with collected(problems):
        volume_fields(case.output.volume, law(case.law)) if case.output.volume is not None else None
    return _Read(lower, upper, sides, field, receivers, sources)


def _lay(case: Case, read: _Read, world: World, problems: Problems) -> _Laid:
    """The grid, what lies in it, and whether memory and disk hold it."""
    setting, field, window = _setting(case), read.field, None
    spacing = setting.spacing
    if spacing is None and field is not None and (read.upper > read.lower).all():
        with collected(problems):
            spacing = _spacing(field, read.lower, read.upper, setting.frequency, setting.points_per_wavelength)
    if spacing is None:
        problems.raise_errors()
    assert spacing is not None
    grid, lower, upper = _grid(case, read.lower, read.upper, spacing, read.sides, problems)
    _place(grid, lower, upper, read.receivers, read.sources, problems)
    if case.output.volume is not None:
        window = volume_window(case.output.volume, grid, lower, upper, problems)
    fits = check_memory(case, grid, world, problems)
    with collected(problems):
        check_disk(case, grid, lower, upper, window, read.listening, problems)
    if field is None or not fits:
        problems.raise_errors()
    return _Laid(grid, lower, upper, window)


def _fill(case: Case, read: _Read, laid: _Laid, world: World, problems: Problems) -> _Filled:
    """The material where the grid needs it; raises InputError where it cannot be had."""
    setting, field, grid, lower, upper = _setting(case), read.field, laid.grid, laid.lower, laid.upper
    assert field is not None
    names = ["rho", "lambda", "mu"] + (["Qp", "Qs"] if case.attenuation else [])
    fitted: Relaxation | None = None
    with collected(problems):
        resolved = setting.frequency
        if case.attenuation and resolved is None:
            slowest = counted(lambda: _slowest(field, lower, upper), field, names, grid, lower, upper)
            resolved = slowest / (setting.points_per_wavelength * grid.spacing)
        spectrum = spectrum_of(case, resolved or 0.0, problems)
        fitted = relaxation(spectrum) if spectrum else None
    part: Subdomain | None = None
    with collected(problems):
        part = cut_up(case, grid, read.sides, world) if world.size > 1 else None
    if world.size > 1 and part is None:
        problems.raise_errors()
    dtype = np.float32 if case.numerics.precision == "single" else np.float64
    needed = setting.points_per_wavelength * grid.spacing * (setting.frequency or 0.0) * (1 - 1e-6)
    medium: Medium | None = None
    with collected(problems):
        medium = counted(
            lambda: shared_medium(
                lambda box: effective_medium(field, grid, lower, upper, fitted, dtype, needed, box), part, world
            ),
            field, names, grid, lower, upper,
        )  # fmt: skip
    if medium is None:
        problems.raise_errors()
    assert medium is not None
    return _Filled(field, medium, fitted, part)


def _check(case: Case, read: _Read, laid: _Laid, filled: _Filled, world: World, problems: Problems) -> _Stepped:
    """What the material says of waves, outputs and sources; the step."""
    setting, field, medium = _setting(case), filled.field, filled.medium
    grid, lower, upper = laid.grid, laid.lower, laid.upper
    coarse = _coarse(field, lower, upper)
    check_initial(case, coarse if axes_of(field) else None, read.sides, problems)
    with collected(problems):
        check_fluids(case, field, read.sources, coarse["mu"], (lower, upper), grid.spacing, problems)
    check_relief(field, lower, upper, problems)
    with collected(problems):
        check_plane_waves(case, field, lower, upper, read.sides, problems)
    for text in limits_told(field):
        problems.warn("material", text)
    frequency = medium.slowest / (setting.points_per_wavelength * grid.spacing)
    _check_resolution(case, medium, frequency, grid, problems)
    check_quality(case, medium, grid, problems)
    step, steps = _step(case, grid, medium, read.sides, problems)
    surface = int(np.prod(np.round((upper - lower)[:2] / grid.spacing)))
    check_observed(case, grid, surface, read.listening, steps, world, problems)
    with collected(problems):
        told, highest = [*read.sources, *heard(case)], min(frequency, setting.frequency or np.inf)
        check_time(told, case.end_time, problems)
        check_band(told, highest, step, case.end_time, problems)
        check_periods(case, highest, problems)
    return _Stepped(frequency, step, steps)


def _scheme(case: Case, read: _Read, laid: _Laid, filled: _Filled, stepped: _Stepped) -> Scheme:
    setting, medium = _setting(case), filled.medium
    absorbing = setting.absorbing
    along = absorbing.along if absorbing.along is not None else stable_along(medium.fastest / medium.shear)
    absorber = Absorber(
        absorbing.kind, absorbing.width or WIDTH[absorbing.kind],
        absorbing.frequency or setting.frequency or min(stepped.frequency, 1.0 / stepped.step), along=along,
    )  # fmt: skip
    fluid = partial(_fluid, filled.field, laid.grid, laid.lower, laid.upper)
    return Scheme(laid.grid, stepped.step, medium.fastest, read.sides, absorber, filled.relaxation is not None, fluid)


def _setting(case: Case) -> Setting:
    """The case's ``grid``."""
    assert case.grid is not None
    return case.grid


def _not_built(case: Case, problems: Problems) -> None:
    if case.law != "elastic":
        problems.error("law", f"the engine fd has no '{case.law}'", "elastic")
    if case.fault is not None:
        problems.error(
            "fault", "the engine fd cannot simulate dynamic rupture", advice="Use engine: dg, or kinematic sources."
        )
    if case.initial.kind == "easi":
        problems.error("initial.kind", "'easi' cannot start a grid", "zero, plane-wave")
    out = case.output
    for name in ("fault", "fault_receivers"):
        if getattr(out, name) is not None:
            problems.error(f"output.{name}", "the engine fd has no fault")
    if out.volume is not None and out.volume.groups is not None:
        problems.error("output.volume.groups", "a grid has no groups", "output.volume.region")
    for name in ("surface", "volume"):
        shots = getattr(out, name)
        if shots is not None and shots.refinement:
            problems.error(f"output.{name}.refinement", "a grid is not refined", "0")
    if out.xdmf and out.surface is not None and out.surface.every != 1:
        problems.error("output.xdmf", "holds the whole surface only", "output.surface: {every: 1}")
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
    asked: dict[str, Any] = {"z+": "free-surface"}
    box = getattr(case.mesh, "generate", None)
    if setting.boundaries is not None:
        named = {"z", "z+"} & setting.boundaries.keys()
        asked = dict(setting.boundaries) if named else asked | setting.boundaries
    elif setting.lower is None and box is not None and box.shape == "box":
        asked = dict(box.boundaries)
    result = {side: asked.get(side, asked.get(side[0], "absorbing")) for side in SIDES}
    for side, kind in result.items():
        if kind == "symmetry" or (kind == "free-surface" and side != "z+"):
            problems.error(
                "grid.boundaries", f"'{kind}' at {side} is not possible on a grid", "free-surface at z+ only"
            )
    return result


def _surface(case: Case, sides: dict[str, SideKind], lower: np.ndarray, upper: np.ndarray, problems: Problems) -> None:
    """Outputs of the surface need one; formats of maps need a projection that they can name."""
    out = case.output
    for name, setting in (("surface", out.surface), ("intensity", out.intensity)):
        if setting is not None and sides["z+"] != "free-surface":
            problems.error(f"output.{name}", "the grid has no free surface", "grid.boundaries: {z+: free-surface}")
    if out.surface is not None:
        with collected(problems):
            surface_fields(out.surface)
    projection = None
    if case.projection is not None:
        with collected(problems):
            projection = Projection(case.projection.crs, case.projection.origin, case.projection.azimuth)
            check_lengths(projection, lower, upper, problems)
    if out.intensity is None:
        return
    periods = out.intensity.periods
    if len({f"{p:g}" for p in periods}) != len(periods):  # as the maps are called
        problems.error("output.intensity.periods", "a period stands twice, to the six digits of the maps' names")
    wanted = [f for f in out.intensity.formats if f != "netcdf"]
    if wanted and case.projection is None:
        problems.error(
            "output.intensity.formats", f"{', '.join(wanted)} need longitude and latitude", "a case with a projection"
        )
    if "geotiff" in wanted and projection is not None and projection.epsg() is None:
        problems.error("output.intensity.formats", "geotiff needs a projection with an EPSG number", "crs: EPSG:...")


def _check_parameters(case: Case, field: Field) -> None:
    names = ["rho", "lambda", "mu"] + (["Qp", "Qs"] if case.attenuation else [])
    missing = [n for n in names if n not in field.parameters]
    if missing:
        given = ", ".join(sorted(field.parameters))
        raise InputError(
            [Problem("material", f"parameter {n} is needed and cannot be had", f"given are {given}") for n in missing]
        )


def _coarse(field: Field, lower: np.ndarray, upper: np.ndarray) -> dict[str, np.ndarray]:
    """rho, lambda and mu on a coarse lattice, finer the fewer axes the material depends on."""
    axes = axes_of(field)
    count = max(2, min(LARGEST, int(SAMPLES ** (1 / max(1, len(axes))))))
    lines = [np.linspace(a, b, count if n in axes else 1) for n, a, b in zip("xyz", lower, upper, strict=True)]
    points = np.stack(np.meshgrid(*lines, indexing="ij"), -1).reshape(-1, 3)
    return at_points(field, ["rho", "lambda", "mu"], points, np.ones(len(points), np.int64))


def _slowest(field: Field, lower: np.ndarray, upper: np.ndarray) -> float:
    """Smallest S speed, P speed in fluids, of a coarse look."""
    values = _coarse(field, lower, upper)
    modulus = np.where(values["mu"] > 0, values["mu"], values["lambda"])
    return float(np.sqrt((modulus / values["rho"]).min()))


def _spacing(field: Field, lower: np.ndarray, upper: np.ndarray, frequency: float | None, points: float) -> float:
    """Spacing that resolves ``frequency``, rounded down to two digits."""
    assert frequency is not None
    exact = _slowest(field, lower, upper) / (points * frequency)
    digit = 10.0 ** (np.floor(np.log10(exact)) - 1)
    return float(np.floor(exact / digit * (1 + 1e-12)) * digit)


def _grid(
    case: Case, lower: np.ndarray, upper: np.ndarray, spacing: float, sides: dict[str, SideKind], problems: Problems
) -> tuple[Grid, np.ndarray, np.ndarray]:
    """The grid with its layers; the box grows to whole cells, downwards and to larger x and y."""
    setting = _setting(case)
    asked = np.ceil((upper - lower) / spacing - 1e-6).astype(int)
    cells = np.maximum(asked, LEAST)
    grown_lower, grown_upper = lower.copy(), lower + cells * spacing
    grown_lower[2], grown_upper[2] = upper[2] - cells[2] * spacing, upper[2]
    for axis, few, a, b in zip("xyz", asked, grown_lower, grown_upper, strict=True):
        if few < LEAST:
            what = f"{few} cells of {spacing:g} m along {axis} are fewer than the least, {LEAST}: the box becomes [{a:g}, {b:g}] m there"
            problems.warn("grid", what, advice="Lower the spacing, or give the box that shall be computed.")
    width = setting.absorbing.width or WIDTH[setting.absorbing.kind]
    layer = {side: width if kind == "absorbing" else 0 for side, kind in sides.items()}
    first = [float(grown_lower[k] - layer[f"{a}-"] * spacing) for k, a in enumerate("xyz")]
    nx, ny, nz = (int(cells[k]) + layer[f"{a}-"] + layer[f"{a}+"] for k, a in enumerate("xyz"))
    return Grid((first[0], first[1], first[2]), spacing, (nz, ny, nx)), grown_lower, grown_upper


def _place(
    grid: Grid, lower: np.ndarray, upper: np.ndarray, receivers: np.ndarray | None, sources: tuple[PointSource, ...],
    problems: Problems,
) -> None:  # fmt: skip
    listed = [(f"receiver {i + 1}", p) for i, p in enumerate(receivers if receivers is not None else ())]
    listed += [(f"source {s.name}", np.asarray(s.location, float)) for s in sources]
    if not listed:
        return
    far = outside(grid, lower, upper, np.array([p for _, p in listed]).reshape(-1, 3))
    for (name, p), distance in zip(listed, far, strict=True):
        if distance > 0:
            box = " x ".join(f"[{a:g}, {b:g}]" for a, b in zip(lower, upper, strict=True))
            x = ", ".join(f"{v:g}" for v in p)
            problems.error(f"{name} at ({x})", f"lies {distance:.6g} m outside the box", f"a point in {box} m")


def _check_resolution(case: Case, medium: Medium, frequency: float, grid: Grid, problems: Problems) -> None:
    """An error where a spacing was asked for that does not resolve the frequency asked for, a warning where the spacing was
    chosen by a coarse look that missed the slowest places."""
    setting = _setting(case)
    if setting.frequency is None or not medium.too_slow:
        return
    x, y, z = medium.slow_place
    name = "Vs" if medium.slowest == medium.shear else "Vp of a fluid"
    needed = medium.slowest / (setting.points_per_wavelength * setting.frequency)
    what = (
        f"resolves {frequency:.4g} Hz where {name} = {medium.slowest:.6g} m/s at ({x:g}, {y:g}, {z:g}), not the "
        f"{setting.frequency:g} Hz asked for; {100 * medium.too_slow:.3g} % of the points are too slow, about "
        f"{max(1, round(medium.too_slow * grid.box.points)):,} of {grid.box.points:,}"
    )
    allowed = f"at most {needed:.4g} m with {setting.points_per_wavelength:g} points per wavelength"
    (problems.error if setting.spacing else problems.warn)("grid.spacing", what, allowed)


def _step(case: Case, grid: Grid, medium: Medium, sides: dict[str, SideKind], problems: Problems) -> tuple[float, int]:
    """A step that is stable and divides the end time."""
    fraction = case.numerics.cfl or (CFL_LAYERS if "absorbing" in sides.values() else CFL)
    largest = min(fraction * LIMIT * grid.spacing / medium.fastest, case.numerics.largest_step)
    steps = max(1, int(np.ceil(case.end_time / largest * (1 - 1e-12))))
    return case.end_time / steps, steps


def _material_at(field: Field, sources: tuple[PointSource, ...]) -> np.ndarray:
    if not sources:
        return np.zeros((0, 3))
    points = np.array([s.location for s in sources], float)
    values = at_points(field, ["lambda", "mu", "rho"], points, np.ones(len(points), np.int64))
    return np.stack([values["lambda"], values["mu"], values["rho"]], 1)


def _fluid(field: Field, grid: Grid, lower: np.ndarray, upper: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Whether the material on top, above points (n, 3) [m], is a fluid."""
    top = np.clip(points, lower, upper)
    top[:, 2] = grid.upper[2] - 0.25 * grid.spacing
    fluid: np.ndarray = at_points(field, ["mu"], top, np.ones(len(top), np.int64))["mu"] == 0
    return fluid
