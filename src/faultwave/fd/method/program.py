"""Stencil program of one time step, built from a grid, its boundary conditions and its sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from faultwave.fd.method import curvilinear_layer, fluid_solid_interface, split_nodes, stencils
from faultwave.fd.method.absorbing import AbsorberKind, along, cpml, depths, sponge
from faultwave.fd.method.differences import PlanePosition
from faultwave.fd.method.effective_medium import SI, Units
from faultwave.fd.method.grid import SideKind
from faultwave.fd.method.regions import region_launches
from faultwave.fd.method.scheme import Level, Scheme, above, line_of
from faultwave.fd.method.stencils import AXES
from faultwave.kernels.stencil import REACH, Box, Injection, Launch, Layout, Peak, Program, SampleBuffer

ELASTIC = ("b_x", "b_y", "b_z", "lam", "mu2", "mu_xy", "mu_xz", "mu_yz")
DEFECTS = ("defect_p", "defect_s")


@dataclass(frozen=True)
class Observer:
    """Additional launches after a level of the program, such as peak values, with their data.

    Attributes
    ----------
    arrays : mapping of str to Layout
        Arrays of the launches.
    launches : sequence of (int, Launch)
        Level and launch. A launch with a lag stays behind by as many rows as stencils reach.
    scalars : mapping of str to float
    peaks : mapping of str to Peak
        Peak values along rows.
    """

    arrays: Mapping[str, Layout] = field(default_factory=dict)
    launches: Sequence[tuple[int, Launch]] = ()
    scalars: Mapping[str, float] = field(default_factory=dict)
    peaks: Mapping[str, Peak] = field(default_factory=dict)


def build_program(
    scheme: Scheme, injections: Sequence[Injection] = (), sample_buffers: Sequence[SampleBuffer] = (), observers: Sequence[Observer] = (),
    units: Units = SI, part: Box | None = None,
) -> Program:  # fmt: skip
    """Return the stencil program of a time step; nothing is allocated yet.

    Parameters
    ----------
    scheme : Scheme
    injections : sequence of Injection
        Source terms.
    sample_buffers : sequence of SampleBuffer
        Points whose values are recorded every step.
    observers : sequence of Observer
        Additional launches.
    units : Units
        Units in which the coefficients will be given.
    part : Box, optional
        Box of one process instead of the whole grid. It may extend beyond the ends of periodic axes; its halo is then
        filled by exchanges.

    Returns
    -------
    Program
    """
    box = part or scheme.grid.box
    velocity, stress, layers = region_launches(scheme, box)
    arrays = _point_arrays(scheme, box) | _profile_arrays(scheme, box) | layers
    levels: list[list[Launch]] = [[] for _ in range(1 + max(scheme.levels.values()))]
    levels[scheme.levels[Level.VELOCITY]], levels[scheme.levels[Level.STRESS]] = velocity, stress
    if scheme.cap is not None:
        arrays |= _curvilinear_arrays(scheme, box)
        levels[0], levels[2] = _curvilinear_launches(scheme, box)
    scalars = _scalars(scheme, units)
    peaks = _observe(scheme, observers, arrays, scalars, levels)
    injections = [replace(i, level=scheme.levels[Level(i.level)]) for i in injections]
    sample_buffers = [replace(b, level=scheme.last_level(Level(b.level))) for b in sample_buffers]
    return Program(
        "fd_step", box, arrays, levels, scalars, injections, sample_buffers, frozenset() if part else scheme.periodic,
        scheme.together(box), scheme.reach, scheme.stages, peaks,
    )  # fmt: skip


def _point_arrays(scheme: Scheme, box: Box) -> dict[str, Layout]:
    """Return the layouts of fields and coefficients at all points."""
    halo = scheme.reach
    arrays = {name: Layout(box, group="wave", halo=halo) for name in fields(scheme.attenuation)}
    arrays |= {name: Layout(box, group="medium", halo=halo, half=True) for name in coefficients(scheme.attenuation)}
    if scheme.border is not None:
        arrays |= {name: Layout(box, group="border", halo=halo, half=True) for name in fluid_solid_interface.ARRAYS}
    return arrays


def _profile_arrays(scheme: Scheme, box: Box) -> dict[str, Layout]:
    """Return the layouts of relaxation tables and profiles, and of the arrays on faces to other grids and on a fault."""
    arrays: dict[str, Layout] = {}
    if scheme.attenuation:
        arrays |= dict.fromkeys("AB", Layout(Box((0, 0, box.lo[2]), (2, 2, box.hi[2])), "parity"))
    if scheme.sponge:
        arrays |= {f"g{axis}": line_of(scheme, box, axis) for axis in AXES}
    if scheme.surfaced(box) or scheme.joined_below:
        arrays |= {name: line_of(scheme, box, "z") for name in scheme.ends.lines()}
    arrays |= _adjoining_face_arrays(scheme, box)
    if scheme.fault is not None:
        arrays |= scheme.fault.layouts(box, scheme.reach, scheme.attenuation)
        arrays |= {name: line_of(scheme, box, scheme.fault.axis) for name in split_nodes.LINES}
    return arrays


def _scalars(scheme: Scheme, units: Units) -> dict[str, float]:
    """Return the difference weights times dt/h and the units of coefficients, by the names that stencils use."""
    weights = dict(scheme.weights)
    if scheme.ends.upper or scheme.joined_below or scheme.fault is not None:
        weights["share_"] = 1.0
    if scheme.cap is not None:
        weights |= curvilinear_layer.weights()
    ratio = scheme.step / scheme.grid.spacing
    scalars = {
        f"{c}{kind}": value * ratio * unit
        for c, value in weights.items()
        for kind, unit in (("s", units.buoyancy), ("v", units.modulus))
    }
    if scheme.border is not None:
        scalars |= fluid_solid_interface.scalars(ratio, units.buoyancy, units.modulus)
    if scheme.yields:
        scalars["unit_of_moduli"] = units.modulus
    return scalars


def _observe(
    scheme: Scheme, observers: Sequence[Observer], arrays: dict[str, Layout], scalars: dict[str, float], levels: list[list[Launch]]
) -> dict[str, Peak]:  # fmt: skip
    """Add the arrays, scalars and launches of observers, and return their peaks by name."""
    peaks = dict[str, Peak]()
    for observer in observers:
        arrays |= observer.arrays
        scalars |= observer.scalars
        peaks |= {n: replace(p, level=scheme.observed_level(Level(p.level))) for n, p in observer.peaks.items()}
        for level, launch in observer.launches:
            at = scheme.observed_level(Level(level))
            levels[at].append(replace(launch, lag=scheme.differences.reach) if launch.lag else launch)
    return peaks


def interior_coefficients(scheme: Scheme) -> dict[str, float]:
    """Return the difference weights times dt/h away from the free surface, for coefficients in SI units."""
    share = scheme.step / scheme.grid.spacing
    return {f"{c}{kind}": value * share for c, value in scheme.weights for kind in "sv"}


def _adjoining_face_arrays(scheme: Scheme, box: Box) -> dict[str, Layout]:
    """Return the layouts of the planes that hold values of adjoining grids on the common faces."""
    plane = Layout(Box((0, *box.lo[1:]), (1, *box.hi[1:])), group="joined", halo=0)
    sides = [above for above in (True, False) if (scheme.joined_above if above else scheme.joined_below)]
    return {stencils.beyond(name, above): plane for above in sides for name in stencils.ON_FACES}


def fields(attenuation: bool) -> tuple[str, ...]:
    """Return the names of the fields of every point: velocities, stresses and memory variables."""
    return (*stencils.FIELDS, *(stencils.memory(n) for n in stencils.STRESS if attenuation))


def coefficients(attenuation: bool) -> tuple[str, ...]:
    """Return the names of the material coefficients of every point."""
    return (*ELASTIC, *(DEFECTS if attenuation else ()))


def point_nbytes(attenuation: bool, precision: str) -> int:
    """Return the memory [bytes] of a point without halos and layers."""
    full, half = {"single": (4, 2), "double": (8, 8)}[precision]
    return full * len(fields(attenuation)) + half * len(coefficients(attenuation))


def _curvilinear_arrays(scheme: Scheme, box: Box) -> dict[str, Layout]:
    """Return the layouts of heights, slopes, profiles and intermediate values of the curvilinear layer."""
    plane = Box((0, *box.lo[1:]), (1, *box.hi[1:]))
    arrays = {name: Layout(plane, group="relief") for name in curvilinear_layer.sheets()}
    arrays |= {name: line_of(scheme, box, "z") for name in cap_profiles(scheme)}
    available = scheme.across(box)
    if available is not None:
        arrays |= {name: Layout(available, group="across") for name in curvilinear_layer.MEANS.values()}
    return arrays


def _curvilinear_launches(scheme: Scheme, box: Box) -> tuple[list[Launch], list[Launch]]:
    """Return the launches that prepare the curvilinear layer before the velocities and before the stresses."""
    available = scheme.across(box)
    assert scheme.cap is not None
    lowest = 0 if available is None else max(available.lo[0], scheme.cap)  # below, all values stay zero
    if available is None or lowest >= available.hi[0]:
        return [], []
    (_, y0, x0), (_, y1, x1), surfaced = box.lo, box.hi, scheme.surfaced(box)
    available = Box((lowest, *available.lo[1:]), available.hi)
    parts = (available, above(box)) if surfaced else (available,)
    forces = [Launch(curvilinear_layer.slope_forces(), part) for part in parts]
    top, first, end = scheme.grid.shape[0], scheme.grid.shape[0] + 1 - scheme.deep, scheme.filled(available).hi[0]
    ranges = [(lowest, first, None), (first, end, top)] if surfaced else [(lowest, available.hi[0], None)]
    gradients = [
        Launch(curvilinear_layer.mean_gradients(stencils.StencilPlace(near=near)), Box((z0, y0, x0), (z1, y1, x1)))
        for z0, z1, near in ranges
    ]
    return forces, gradients


def cap_profiles(scheme: Scheme) -> dict[str, np.ndarray]:
    """Return the profiles along z of the curvilinear layer."""
    grid, relief = scheme.grid, scheme.grid.relief
    assert relief is not None
    levels = {kind: grid.levels(kind) for kind in (PlanePosition.WHOLE, PlanePosition.HALF)}
    rise, rate = ({kind: of(r) for kind, r in levels.items()} for of in (relief.rise, relief.rate))
    return curvilinear_layer.profiles(grid.shape[0], rise, rate)


def sheets(scheme: Scheme, box: Box) -> dict[str, np.ndarray]:
    """Return heights and slopes (ny, nx) of a topography at the points of a box, with a halo of ``REACH`` points."""
    relief, found = scheme.grid.relief, dict[str, np.ndarray]()
    if relief is None:
        return found
    first = (box.lo[1] - REACH, box.lo[2] - REACH)
    count = (box.shape[1] + 2 * REACH, box.shape[2] + 2 * REACH)
    halves = {name: half for half, name in curvilinear_layer.PLACES.items()}
    return {
        name: relief.sheet(halves[at], axis, first, count) for name, (at, axis) in curvilinear_layer.sheets().items()
    }


def profiles(scheme: Scheme) -> dict[str, np.ndarray]:
    """Return the profiles of absorbing layers, fault, curvilinear layer and closures, by name."""
    result: dict[str, np.ndarray] = {}
    absorber, grid = scheme.absorber, scheme.grid
    for axis in AXES:
        count = grid.shape["zyx".index(axis)]
        low, high = (scheme.sides[f"{axis}{end}"] == SideKind.ABSORBING for end in "-+")
        if absorber.kind == AbsorberKind.SPONGE:
            result[f"g{axis}"] = sponge(
                depths(count, absorber.width, low, high, False), absorber.width, absorber.strength
            )
        elif low or high:
            for at in "ch":
                depth = depths(count, absorber.width, low, high, at == "h")
                values = cpml(depth, absorber.width * grid.spacing, scheme.speed, absorber.frequency, scheme.step)
                result |= {f"pml_{c}{at}@{axis}": v for c, v in zip("ba", values, strict=True)}
            if absorber.along > 0:
                depth, thickness = depths(count, absorber.width, low, high, False), absorber.width * grid.spacing
                result[f"pml_g@{axis}"] = along(depth, thickness, scheme.speed, absorber.along, scheme.step)
    if scheme.fault is not None:
        result |= split_nodes.lines(scheme.fault, grid.shape["zyx".index(scheme.fault.axis)])
    ends = scheme.ends
    if not (ends.upper or ends.joined_below):
        return result
    more = (-ends.first, int(ends.upper))  # planes on the faces
    result |= {n: np.pad(v, more, "edge") for n, v in result.items() if n == "gz" or n.endswith("@z")}
    if scheme.cap is not None:
        result |= {name: np.pad(v, (more[0], 0)) for name, v in cap_profiles(scheme).items()}
    return result | ends.lines()
