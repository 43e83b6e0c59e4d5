"""Stencil program of one time step, built from a grid, its boundary conditions and its sources."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType

import numpy as np

from faultwave.fd.method import curvilinear_layer, fluid_solid_interface, split_nodes, stencils
from faultwave.fd.method.absorbing import Absorber, along, cpml, depths, sponge
from faultwave.fd.method.differences import CURVILINEAR_PLANES, LOWS, WEIGHTS, Ends, Weights
from faultwave.fd.method.effective_medium import SI, Units
from faultwave.fd.method.grid import SIDES, Grid, SideKind
from faultwave.fd.method.split_nodes import FaultPlane
from faultwave.kernels.overlap import FAR
from faultwave.kernels.stencil import REACH, Axis, Box, Injection, Launch, Layout, Peak, Program, SampleBuffer

ELASTIC = ("b_x", "b_y", "b_z", "lam", "mu2", "mu_xy", "mu_xz", "mu_yz")
DEFECTS = ("defect_p", "defect_s")
AXES = stencils.AXES
MEMORIES = (*(f"psi_{n}" for n in stencils.VELOCITY), *(f"psi_e{n}" for n in stencils.VELOCITY))
"""Memory variables of a perfectly matched layer, of the stress derivatives and of the velocity gradients."""
VECTOR = 16
"""Granularity along x of the first point of a layer, in points."""
VELOCITY_LEVEL, STRESS_LEVEL = 0, 1
LEVELS = 2
LOSS_LEVEL, YIELD_LEVEL = 2, 3
"""Levels after the stresses in rock that yields: share of the deviator lost at centres, then the reduced stresses."""
FRICTION_LEVEL, VERTICAL_FRICTION_LEVEL = 4, 5
"""Levels between velocities and stresses on a fault: friction of horizontal, then of vertical slip.

Only the second reads a plane above its own, so that a pass needs no more planes in cache than without a fault.
"""
FAULT_LEVELS = {VELOCITY_LEVEL: 0, FRICTION_LEVEL: 1, VERTICAL_FRICTION_LEVEL: 2, STRESS_LEVEL: 3}
CURVILINEAR_LEVELS = (1, 3, 4, 5)
"""Program levels of velocities, stresses and the two yield levels with a topography.

Velocities and stresses each come after a level of preparations of the curvilinear layer.
"""
PLANES_BELOW_CURVILINEAR = 4
"""Planes below the lowest curvilinear one that are computed as curvilinear, because it reads them."""


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


@dataclass(frozen=True)
class Scheme:
    """Discretisation of a block: all that the program, sources and receivers depend on.

    Attributes
    ----------
    grid : Grid
    step : float
        Time step [s].
    speed : float
        Largest P speed [m/s].
    sides : mapping of str to SideKind
        Boundary condition of each side.
    absorber : Absorber
        Absorbing layers.
    attenuation : bool
        True if stresses have memory variables.
    order : int
        Order of spatial differences, 4 or 8.
    border : tuple of int or None
        First plane and end of the planes around fluid-solid interfaces (``fd.method.fluid_solid_interface``).
    joined_above, joined_below : bool
        True if another grid adjoins in that direction.
    yields : bool
        True if rock yields beyond its strength.
    fault : FaultPlane or None
        Plane on which nodes are split.
    """

    grid: Grid
    step: float
    speed: float
    sides: Mapping[str, SideKind]
    absorber: Absorber
    attenuation: bool
    order: int = 4
    border: tuple[int, int] | None = None
    joined_above: bool = False
    joined_below: bool = False
    yields: bool = False
    fault: FaultPlane | None = None

    @property
    def differences(self) -> Weights:
        """Difference weights of the scheme's order."""
        return WEIGHTS[self.order]

    @property
    def deep(self) -> int:
        """Number of planes below a free surface or a face to a grid above whose stencils differ from interior ones."""
        return self.differences.deep if self.cap is None else CURVILINEAR_PLANES

    @property
    def reach(self) -> int:
        """Number of points to either side that stencils read."""
        return self.differences.reach

    @property
    def weights(self) -> tuple[tuple[str, float], ...]:
        """Difference weights away from the free surface, by the names that stencils use."""
        return tuple((f"c{n}", c) for n, c in enumerate(self.differences.inside, 1))

    @property
    def ends(self) -> Ends:
        """Closures of the differences at the ends of the grid along z."""
        return Ends(self.grid.shape[0], self.free_surface, self.joined_above, self.joined_below, self.order)

    @property
    def stages(self) -> tuple[tuple[int, ...], ...]:
        """Levels that run together between two exchanges with adjoining grids; empty without such grids."""
        if not (self.joined_above or self.joined_below):
            return ()
        before = 1 if self.cap is None else 2
        return tuple(range(before)), tuple(range(before, 2 * before + 2 * self.yields))

    @property
    def interior_planes(self) -> tuple[int, int]:
        """First plane and end of the planes whose differences do not involve a face to another grid."""
        first = LOWS[self.order] - 1 if self.joined_below else -FAR
        return first, self.grid.shape[0] + 1 - self.differences.deep if self.joined_above else FAR

    @property
    def free_surface(self) -> bool:
        return self.sides["z+"] == "free-surface"

    @property
    def periodic(self) -> frozenset[Axis]:
        return frozenset(a for a in AXES if self.sides[f"{a}-"] == "periodic")

    @property
    def cap(self) -> int | None:
        """Lowest plane of the curvilinear layer below a topography, None without one."""
        relief = self.grid.relief
        if relief is None:
            return None
        return int(np.floor((relief.bottom - self.grid.lower[2]) / self.grid.spacing)) - PLANES_BELOW_CURVILINEAR

    def across(self, box: Box) -> Box | None:
        """Return the box of intermediate arrays of the curvilinear layer within ``box``.

        None if the layer is not in it.
        """
        if self.cap is None or box.hi[0] <= self.cap - REACH:
            return None
        return Box((max(box.lo[0], self.cap - REACH), *box.lo[1:]), box.hi)

    def level(self, number: int) -> int:
        """Return the program's level of velocities, stresses or yielding."""
        if self.fault is not None:
            return FAULT_LEVELS[number]
        return number if self.cap is None else CURVILINEAR_LEVELS[number]

    def read_level(self, number: int) -> int:
        """Return the level after which velocities or stresses are read.

        Stresses are read after yielding, velocities after friction.
        """
        if self.fault is not None and number == VELOCITY_LEVEL:
            return FAULT_LEVELS[VERTICAL_FRICTION_LEVEL]
        return self.level(YIELD_LEVEL if self.yields and number == STRESS_LEVEL else number)

    def observed_level(self, number: int) -> int:
        """Return the level after which observers act on velocities or stresses."""
        return self.level(number) if self.fault is None or number != VELOCITY_LEVEL else self.read_level(number)

    def together(self, box: Box) -> int | None:
        """Return the lowest plane of ``box`` from which levels are run on all planes at once; None if there is none."""
        if not self.surfaced(box):
            return None
        return self.grid.shape[0] + 1 - self.deep - (self.cap is not None)  # curvilinear stencils read a plane farther

    def surfaced(self, box: Box) -> bool:
        """Return True if a free surface or a face to a grid above bounds ``box``.

        Quantities on half planes then have one more plane, which lies on it.
        """
        return self.ends.upper and box.hi[0] == self.grid.shape[0]

    def filled(self, box: Box) -> Box:
        """Return ``box`` with the planes on the free surface and on faces to other grids that bound it."""
        lowest = box.lo[0] - (self.joined_below and box.lo[0] == 0)
        return Box((lowest, *box.lo[1:]), (box.hi[0] + self.surfaced(box), *box.hi[1:]))


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
    grid, box, of = scheme.grid, part or scheme.grid.box, scheme.differences
    arrays = {name: Layout(box, group="wave", halo=of.reach) for name in fields(scheme.attenuation)}
    arrays |= {name: Layout(box, group="medium", halo=of.reach, half=True) for name in coefficients(scheme.attenuation)}
    if scheme.border is not None:
        arrays |= {name: Layout(box, group="border", halo=of.reach, half=True) for name in fluid_solid_interface.ARRAYS}
    velocity: list[Launch] = []
    stress: list[Launch] = []
    if scheme.attenuation:
        table = Layout(Box((0, 0, box.lo[2]), (2, 2, box.hi[2])), "parity")
        arrays |= {"A": table, "B": table}
    if scheme.absorber.kind == "sponge" and "absorbing" in scheme.sides.values():
        arrays |= {f"g{axis}": line_of(scheme, box, axis) for axis in AXES}
    weights = list(scheme.weights)
    if scheme.ends.upper or scheme.joined_below:
        if scheme.surfaced(box) or scheme.joined_below:
            arrays |= {name: line_of(scheme, box, "z") for name in scheme.ends.lines()}
            weights.append(("share_", 1.0))
        arrays |= _adjoining_face_arrays(scheme, box)
    if scheme.fault is not None:
        arrays |= scheme.fault.layouts(box, of.reach)
        arrays |= {name: line_of(scheme, box, scheme.fault.axis) for name in split_nodes.LINES}
        weights = [*dict([*weights, ("share_", 1.0)]).items()]
    _add_regions(scheme, box, arrays, velocity, stress)
    levels = [velocity, stress]
    if scheme.cap is not None:
        before = _add_cap(scheme, box, arrays)
        levels = [before[0], velocity, before[1], stress]
        weights += curvilinear_layer.weights()
    if scheme.yields:
        levels += [[], []]
    if scheme.fault is not None:
        levels = [velocity, [], [], stress]
    share = scheme.step / grid.spacing
    scalars = {
        f"{c}{kind}": value * share * unit
        for c, value in weights
        for kind, unit in (("s", units.buoyancy), ("v", units.modulus))
    }
    if scheme.border is not None:
        scalars |= fluid_solid_interface.scalars(share, units.buoyancy, units.modulus)
    if scheme.yields:
        scalars["unit_of_moduli"] = units.modulus
    peaks = _observe(scheme, observers, arrays, scalars, levels)
    injections = [replace(i, level=scheme.level(i.level)) for i in injections]
    sample_buffers = [replace(t, level=scheme.read_level(t.level)) for t in sample_buffers]
    return Program(
        "fd_step", box, arrays, levels, scalars, injections, sample_buffers, frozenset() if part else scheme.periodic,
        scheme.together(box), of.reach, scheme.stages, peaks,
    )  # fmt: skip


def _observe(
    scheme: Scheme, observers: Sequence[Observer], arrays: dict[str, Layout], scalars: dict[str, float], levels: list[list[Launch]]
) -> dict[str, Peak]:  # fmt: skip
    """Add the arrays, scalars and launches of observers, and return their peaks by name."""
    peaks = dict[str, Peak]()
    for observer in observers:
        arrays |= observer.arrays
        scalars |= observer.scalars
        peaks |= {n: replace(p, level=scheme.observed_level(p.level)) for n, p in observer.peaks.items()}
        for level, launch in observer.launches:
            at = scheme.observed_level(level)
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


def line_of(scheme: Scheme, box: Box, axis: Axis) -> Layout:
    """Return the layout of a profile along an axis of the grid.

    Along a periodic axis it covers ``box``, which may extend beyond the ends of the grid.
    """
    return Layout(scheme.filled(box if axis in scheme.periodic else scheme.grid.box), "line", axis)


def segments(scheme: Scheme, axis: Axis, box: Box) -> list[tuple[int, int, str]]:
    """Return segments (first, end, side) of a box along an axis; ``side`` names the absorbing layer, "" outside layers.

    Along x segments begin at whole vectors; a layer then has some additional points, where it has no effect. The
    boundaries depend on the grid alone, so that a point is computed identically in every decomposition.
    """
    k, width = "zyx".index(axis), scheme.absorber.width
    low, high = (scheme.absorber.kind == "cpml" and scheme.sides[f"{axis}{end}"] == "absorbing" for end in ("-", "+"))
    count = scheme.grid.shape[k]
    first, last = (width if low else 0), (count - width if high else count)
    if axis == "x" and -(-first // VECTOR) <= last // VECTOR:
        first, last = -(-first // VECTOR) * VECTOR, (last // VECTOR * VECTOR if high else count)
    if first > last:
        raise ValueError(f"layers of {width} points at both ends of {count} points overlap")
    found = [(first if low else box.lo[k], last if high else box.hi[k], "")]
    found += ([(0, first, f"{axis}-")] if low else []) + ([(last, count, f"{axis}+")] if high else [])
    cut = [(max(a, box.lo[k]), min(b, box.hi[k]), side) for a, b, side in sorted(found)]
    return [(a, b, side) for a, b, side in cut if a < b]


def _add_regions(
    scheme: Scheme, box: Box, arrays: dict[str, Layout], velocity: list[Launch], stress: list[Launch]
) -> None:
    """Add one launch for every region of points that lie in the same layers."""
    sponge_layers = scheme.absorber.kind == "sponge" and "absorbing" in scheme.sides.values()
    damped = scheme.absorber.along > 0
    parts = {axis: segments(scheme, axis, box) for axis in AXES}
    for axis in AXES:
        for first, end, side in parts[axis]:
            if side:
                arrays |= _layer_arrays(scheme, side, first, end, box, damped)
    top = scheme.grid.shape[0]
    if scheme.free_surface and top - scheme.deep < box.hi[0] < top:
        raise ValueError(f"a part ends {top - box.hi[0]} planes below the free surface, within those that differ there")
    if scheme.cap is not None:
        parts["z"] = _with_cap(parts["z"], scheme.cap)
    if scheme.joined_below:
        parts["z"] = _with_low_end(parts["z"], scheme.cap, LOWS[scheme.order])
    if scheme.surfaced(box):
        parts["z"] = _with_surface(scheme, parts["z"])
    if scheme.border is not None:
        for at in scheme.border:
            parts["z"] = _cut(parts["z"], at)
    if scheme.fault is not None:
        parts[scheme.fault.axis] = split_nodes.cut(parts[scheme.fault.axis], scheme.fault)
    for (z0, z1, below), (y0, y1, aside), (x0, x1, adjacent) in itertools.product(parts["z"], parts["y"], parts["x"]):
        sides = [side for side in (adjacent, aside, below) if side in SIDES]
        layers = tuple(axis for axis in AXES if any(side[0] == axis for side in sides))
        joined = below == "low" or (below == "surface" and scheme.joined_above)
        near = top if below in ("surface", "near") and scheme.cap is not None else None
        place = stencils.StencilPlace(layers, damped, top if below == "surface" else None, scheme.order, joined, near)
        region = Box((z0, y0, x0), (z1, y1, x1))
        names = {f"{memory}_{side[0]}": f"{memory}@{side}" for side in sides for memory in MEMORIES}
        for kind, part in _kinds(scheme, region, (below, aside, adjacent), bool(layers)):
            for level, of in (
                (velocity, kind.velocity(sponge_layers, place)),
                (stress, kind.stress(scheme.attenuation, sponge_layers, place)),
            ):
                level.append(Launch(of, part, names))


def _kinds(
    scheme: Scheme, region: Box, segment: tuple[str, str, str], in_layer: bool
) -> list[tuple[ModuleType | split_nodes.Rows, Box]]:
    """Return the stencil modules of a region and their boxes.

    ``segment`` holds the names of its segments along (z, y, x). Next to a fault a region has several sets of stencils.
    """
    rows = next((name for name in segment if name in split_nodes.ROWS), None)
    if rows is not None and scheme.fault is not None:
        return list(split_nodes.regions(scheme.fault, rows, region, in_layer))
    return [(_kind(scheme, region.lo[0], region.hi[0], segment[0]), region)]


def _kind(scheme: Scheme, first: int, end: int, place: str) -> ModuleType:
    """Return the stencil module of the planes from ``first`` to ``end``."""
    if scheme.cap is not None and end > scheme.cap:
        return curvilinear_layer
    adjacent = (
        scheme.border is not None and place != "surface" and scheme.border[0] <= first and end <= scheme.border[1]
    )
    return fluid_solid_interface if adjacent else stencils


def _cut(parts: list[tuple[int, int, str]], at: int) -> list[tuple[int, int, str]]:
    """Return segments along z, divided at the plane ``at``; those next to the surface are not divided."""
    found = []
    for first, end, side in parts:
        inside = first < at < end and side != "surface"
        found += [(first, at, side), (at, end, side)] if inside else [(first, end, side)]
    return found


def _layer_arrays(scheme: Scheme, side: str, first: int, end: int, box: Box, damped: bool) -> dict[str, Layout]:
    """Return the layouts of a layer's memory variables and of the profiles across it."""
    axis: Axis = side[0]  # type: ignore[assignment]
    filled, k = scheme.filled(box), "zyx".index(axis)
    lo, hi = list(filled.lo), list(filled.hi)
    lo[k], hi[k] = first, end
    available = Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))
    needed = [*(["pml_g"] if damped else []), *(f"pml_{c}{at}" for c in "ba" for at in "ch")]
    found = {f"{memory}@{side}": Layout(available, group=f"psi@{side}", halo=0) for memory in MEMORIES}
    return found | {f"{line}@{axis}": line_of(scheme, box, axis) for line in needed}


def _with_cap(parts: list[tuple[int, int, str]], lowest: int) -> list[tuple[int, int, str]]:
    """Return segments along z, divided at the lowest plane of the curvilinear layer.

    No absorbing layer may extend into it.
    """
    found = []
    for first, end, side in parts:
        if side and end > lowest:
            raise ValueError(f"the layer {side} reaches the cap below the topography")
        found += [(first, lowest, side), (lowest, end, side)] if first < lowest < end else [(first, end, side)]
    return found


def _add_cap(scheme: Scheme, box: Box, arrays: dict[str, Layout]) -> list[list[Launch]]:
    """Add arrays and profiles of the curvilinear layer.

    Returns
    -------
    list of list of Launch
        Launches before the velocities and before the stresses, one level each.
    """
    (_, y0, x0), (_, y1, x1) = box.lo, box.hi
    arrays |= {name: Layout(Box((0, y0, x0), (1, y1, x1)), group="relief") for name in curvilinear_layer.sheets()}
    arrays |= {name: line_of(scheme, box, "z") for name in cap_profiles(scheme)}
    found: list[list[Launch]] = [[], []]
    available = scheme.across(box)
    if available is None:
        return found
    arrays |= {name: Layout(available, group="across") for name in curvilinear_layer.MEANS.values()}
    assert scheme.cap is not None
    lowest = max(available.lo[0], scheme.cap)  # below, the deformation is zero and all values stay zero
    if lowest >= available.hi[0]:
        return found
    available = Box((lowest, *available.lo[1:]), available.hi)
    whole, first = scheme.filled(available), scheme.grid.shape[0] + 1 - scheme.deep
    for part in (available, above(box)) if scheme.surfaced(box) else (available,):
        found[0].append(Launch(curvilinear_layer.slope_forces(), part))
    for z0, z1 in (
        ((available.lo[0], first), (first, whole.hi[0]))
        if scheme.surfaced(box)
        else ((available.lo[0], available.hi[0]),)
    ):
        place = stencils.StencilPlace(near=scheme.grid.shape[0] if z0 == first else None)
        found[1].append(Launch(curvilinear_layer.mean_gradients(place), Box((z0, y0, x0), (z1, y1, x1))))
    return found


def cap_profiles(scheme: Scheme) -> dict[str, np.ndarray]:
    """Return the profiles along z of the curvilinear layer."""
    grid, relief = scheme.grid, scheme.grid.relief
    assert relief is not None
    levels = {kind: grid.levels(kind) for kind in ("whole", "half")}
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


def _with_surface(scheme: Scheme, parts: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Return segments along z, the uppermost divided into interior, 'near' (see ``StencilPlace``) and 'surface' planes."""
    *below, (first, _, side) = parts
    top = scheme.grid.shape[0]
    lowest, adjacent = top + 1 - scheme.deep, top + 1 - scheme.differences.deep
    if side or first > lowest:
        raise ValueError(
            f"layers of so many points leave fewer than {scheme.deep} of {top} planes below the free surface"
        )
    listed = [(first, lowest, side), (lowest, adjacent, "near"), (adjacent, top + 1, "surface")]
    return [*below, *((a, b, name) for a, b, name in listed if a < b)]


def _with_low_end(parts: list[tuple[int, int, str]], cap: int | None, planes: int) -> list[tuple[int, int, str]]:
    """Return segments along z, the lowest divided above the planes at a face to a grid below."""
    (first, end, side), *over = parts
    last = planes - 1
    if side or end < last or (cap is not None and cap - REACH < last):
        raise ValueError(
            f"layers or the cap of so many points reach the {planes} planes beside the face to a grid below"
        )
    return [(-1, last, "low"), *([(last, end, side)] if last < end else []), *over]


def above(box: Box) -> Box:
    """Return the plane above the last one of a box."""
    (_, y0, x0), (nz, y1, x1) = box.lo, box.hi
    return Box((nz, y0, x0), (nz + 1, y1, x1))


def profiles(scheme: Scheme) -> dict[str, np.ndarray]:
    """Return the profiles of absorbing layers, fault, curvilinear layer and closures, by name."""
    result: dict[str, np.ndarray] = {}
    absorber, grid = scheme.absorber, scheme.grid
    for axis in AXES:
        count = grid.shape["zyx".index(axis)]
        low, high = (scheme.sides[f"{axis}{end}"] == "absorbing" for end in "-+")
        if absorber.kind == "sponge":
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
