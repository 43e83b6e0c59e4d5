"""From a grid, its sides and what shakes it to the program of one step."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType

import numpy as np

from faultwave.fd import borders, cap, split, stencils
from faultwave.fd.absorbing import Absorber, along, cpml, depths, sponge
from faultwave.fd.closures import WEIGHTS, Weights
from faultwave.fd.differences import BENT_DEEP, LOWS, Ends
from faultwave.fd.fault_plane import FaultPlane
from faultwave.fd.grid import SIDES, Grid, SideKind
from faultwave.fd.half_precision import SI, Units
from faultwave.kernels.overlap import FAR
from faultwave.kernels.stencil import REACH, Axis, Box, Injection, Launch, Layout, Peak, Program, SampleBuffer

ELASTIC = ("b_x", "b_y", "b_z", "lam", "mu2", "mu_xy", "mu_xz", "mu_yz")
DEFECTS = ("defect_p", "defect_s")
AXES = stencils.AXES
MEMORIES = (*(f"psi_{n}" for n in stencils.VELOCITY), *(f"psi_e{n}" for n in stencils.VELOCITY))
"""Of a matched layer: of the derivatives across it that push each velocity, and of those of each velocity."""
VECTOR = 16
"""Points along x where layers may begin."""
VELOCITY_LEVEL, STRESS_LEVEL = 0, 1
LEVELS = 2
LOSS_LEVEL, YIELD_LEVEL = 2, 3
"""After the stresses, of rock that yields: the share of them that is lost at each centre, and the stresses without it."""
FRICTION_LEVEL, UPRIGHT_LEVEL = 4, 5
"""Between velocities and stresses, where a fault is: friction of horizontal slip, and of vertical slip. That alone reads a plane above its
own, so that a pass keeps no more planes at hand than without a fault."""
WITH_FAULT = {VELOCITY_LEVEL: 0, FRICTION_LEVEL: 1, UPRIGHT_LEVEL: 2, STRESS_LEVEL: 3}
WITH_CAP = (1, 3, 4, 5)
"""Levels of velocities, stresses and what follows these in programs with a topography: the first two come after what the cap needs for
them."""
BELOW_CAP = 4
"""Planes below the lowest bent one that are computed as if they were bent: they read those."""


@dataclass(frozen=True)
class Observer:
    """Launches of others (peak values and the like) after a level, with their arrays, numbers and peaks along rows. Those with a lag stay
    as many rows behind as stencils reach."""

    arrays: Mapping[str, Layout] = field(default_factory=dict)
    launches: Sequence[tuple[int, Launch]] = ()
    scalars: Mapping[str, float] = field(default_factory=dict)
    peaks: Mapping[str, Peak] = field(default_factory=dict)


@dataclass(frozen=True)
class Scheme:
    """What the program, sources and receivers depend on. ``step`` [s]; ``speed`` is the largest P speed [m/s]; ``order`` that of
    differences in space; ``border``: first plane and end of those around fluids beside rock (``fd.borders``); ``yields``: whether
    rock does beyond its strength; ``fault``: where its nodes are split."""

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
        """Those of its order."""
        return WEIGHTS[self.order]

    @property
    def deep(self) -> int:
        """Planes of the arrays that are not as those inside beside a free surface or the face to a grid above."""
        return self.differences.deep if self.cap is None else BENT_DEEP

    @property
    def reach(self) -> int:
        """Points to either side that stencils read."""
        return self.differences.reach

    @property
    def weights(self) -> tuple[tuple[str, float], ...]:
        """Weights of differences away from the free surface, by the names stencils give them."""
        return tuple((f"c{n}", c) for n, c in enumerate(self.differences.inside, 1))

    @property
    def ends(self) -> Ends:
        """What is at the ends of the grid along z."""
        return Ends(self.grid.shape[0], self.free_surface, self.joined_above, self.joined_below, self.order)

    @property
    def stages(self) -> tuple[tuple[int, ...], ...]:
        """Levels that are run together where other grids are joined to this one, which tell it theirs in between."""
        if not (self.joined_above or self.joined_below):
            return ()
        before = 1 if self.cap is None else 2
        return tuple(range(before)), tuple(range(before, 2 * before + 2 * self.yields))

    @property
    def away_from_faces(self) -> tuple[int, int]:
        """The first plane and the end of those whose differences are not those beside a face to another grid."""
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
        """The lowest plane of the curvilinear cap below a topography."""
        relief = self.grid.relief
        if relief is None:
            return None
        return int(np.floor((relief.bottom - self.grid.lower[2]) / self.grid.spacing)) - BELOW_CAP

    def across(self, box: Box) -> Box | None:
        """Where a part keeps what the cap needs between levels; None where it has nothing of the cap."""
        if self.cap is None or box.hi[0] <= self.cap - REACH:
            return None
        return Box((max(box.lo[0], self.cap - REACH), *box.lo[1:]), box.hi)

    def level(self, number: int) -> int:
        """A level of the program: of velocities, of stresses or of rock that yields."""
        if self.fault is not None:
            return WITH_FAULT[number]
        return number if self.cap is None else WITH_CAP[number]

    def read_level(self, number: int) -> int:
        """The level of the program after which velocities or stresses are read: stresses once rock has yielded, velocities once friction
        has acted."""
        if self.fault is not None and number == VELOCITY_LEVEL:
            return WITH_FAULT[UPRIGHT_LEVEL]
        return self.level(YIELD_LEVEL if self.yields and number == STRESS_LEVEL else number)

    def observed_level(self, number: int) -> int:
        """The level of the program of what others look at after velocities or stresses."""
        return self.level(number) if self.fault is None or number != VELOCITY_LEVEL else self.read_level(number)

    def together(self, box: Box) -> int | None:
        """The plane of a box of the grid from which on levels work on all planes at once; None where they do so nowhere."""
        if not self.surfaced(box):
            return None
        return self.grid.shape[0] + 1 - self.deep - (self.cap is not None)  # what is bent reads a plane farther

    def surfaced(self, box: Box) -> bool:
        """Whether a free surface or the face to a grid above bounds a box of the grid: half planes have one more, which is on it."""
        return self.ends.upper and box.hi[0] == self.grid.shape[0]

    def filled(self, box: Box) -> Box:
        """A box with the planes on the free surface and on faces to other grids, where these bound it."""
        lowest = box.lo[0] - (self.joined_below and box.lo[0] == 0)
        return Box((lowest, *box.lo[1:]), (box.hi[0] + self.surfaced(box), *box.hi[1:]))


def build_program(
    scheme: Scheme, injections: Sequence[Injection] = (), sample_buffers: Sequence[SampleBuffer] = (), observers: Sequence[Observer] = (),
    units: Units = SI, part: Box | None = None,
) -> Program:  # fmt: skip
    """The program, and nothing allocated yet; coefficients will be given in ``units``. ``part``: of this box only, which may go beyond
    the grid where that is periodic; its halo is then somebody else's work."""
    grid, box, of = scheme.grid, part or scheme.grid.box, scheme.differences
    arrays = {name: Layout(box, group="wave", halo=of.reach) for name in fields(scheme.attenuation)}
    arrays |= {name: Layout(box, group="medium", halo=of.reach, half=True) for name in coefficients(scheme.attenuation)}
    if scheme.border is not None:
        arrays |= {name: Layout(box, group="border", halo=of.reach, half=True) for name in borders.ARRAYS}
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
        arrays |= _others(scheme, box)
    if scheme.fault is not None:
        arrays |= scheme.fault.layouts(box, of.reach)
        arrays |= {name: line_of(scheme, box, scheme.fault.axis) for name in split.LINES}
        weights = [*dict([*weights, ("share_", 1.0)]).items()]
    _add_regions(scheme, box, arrays, velocity, stress)
    levels = [velocity, stress]
    if scheme.cap is not None:
        before = _add_cap(scheme, box, arrays)
        levels = [before[0], velocity, before[1], stress]
        weights += cap.weights()
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
        scalars |= borders.scalars(share, units.buoyancy, units.modulus)
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
    """Add what observers need and do; their peaks by name."""
    peaks = dict[str, Peak]()
    for observer in observers:
        arrays |= observer.arrays
        scalars |= observer.scalars
        peaks |= {n: replace(p, level=scheme.observed_level(p.level)) for n, p in observer.peaks.items()}
        for level, launch in observer.launches:
            at = scheme.observed_level(level)
            levels[at].append(replace(launch, lag=scheme.differences.reach) if launch.lag else launch)
    return peaks


def plain_numbers(scheme: Scheme) -> dict[str, float]:
    """The numbers of differences away from the free surface, for coefficients in SI units."""
    share = scheme.step / scheme.grid.spacing
    return {f"{c}{kind}": value * share for c, value in scheme.weights for kind in "sv"}


def _others(scheme: Scheme, box: Box) -> dict[str, Layout]:
    """Planes of what grids above and below have on the faces to this one."""
    plane = Layout(Box((0, *box.lo[1:]), (1, *box.hi[1:])), group="joined", halo=0)
    sides = [above for above in (True, False) if (scheme.joined_above if above else scheme.joined_below)]
    return {stencils.beyond(name, above): plane for above in sides for name in stencils.ON_FACES}


def fields(attenuation: bool) -> tuple[str, ...]:
    """What moves at every point: velocities, stresses and memory variables."""
    return (*stencils.FIELDS, *(stencils.memory(n) for n in stencils.STRESS if attenuation))


def coefficients(attenuation: bool) -> tuple[str, ...]:
    """What every point is made of."""
    return (*ELASTIC, *(DEFECTS if attenuation else ()))


def bytes_a_point(attenuation: bool, precision: str) -> int:
    """Memory of a point without halos and layers."""
    full, half = {"single": (4, 2), "double": (8, 8)}[precision]
    return full * len(fields(attenuation)) + half * len(coefficients(attenuation))


def line_of(scheme: Scheme, box: Box, axis: Axis) -> Layout:
    """Of a profile along an axis of the grid; where that is periodic, along the ``box`` of a part, which may go on beyond its ends."""
    return Layout(scheme.filled(box if axis in scheme.periodic else scheme.grid.box), "line", axis)


def segments(scheme: Scheme, axis: Axis, box: Box) -> list[tuple[int, int, str]]:
    """(first, end, side) along an axis of a box: points in the matched layer at that side, "" for those in none.

    Along x segments begin at whole vectors: a layer then has some points more, where it does nothing. Where they begin depends on
    the grid alone, so that a point is computed in the same way on every part.
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
    """One launch for every region of points that lie in the same layers."""
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
        parts[scheme.fault.axis] = split.cut(parts[scheme.fault.axis], scheme.fault)
    for (z0, z1, below), (y0, y1, aside), (x0, x1, beside) in itertools.product(parts["z"], parts["y"], parts["x"]):
        sides = [side for side in (beside, aside, below) if side in SIDES]
        layers = tuple(axis for axis in AXES if any(side[0] == axis for side in sides))
        joined = below == "low" or (below == "surface" and scheme.joined_above)
        near = top if below in ("surface", "near") and scheme.cap is not None else None
        place = stencils.Place(layers, damped, top if below == "surface" else None, scheme.order, joined, near)
        region = Box((z0, y0, x0), (z1, y1, x1))
        names = {f"{memory}_{side[0]}": f"{memory}@{side}" for side in sides for memory in MEMORIES}
        for kind, part in _kinds(scheme, region, (below, aside, beside), bool(layers)):
            for level, of in (
                (velocity, kind.velocity(sponge_layers, place)),
                (stress, kind.stress(scheme.attenuation, sponge_layers, place)),
            ):
                level.append(Launch(of, part, names))


def _kinds(
    scheme: Scheme, region: Box, segment: tuple[str, str, str], in_layer: bool
) -> list[tuple[ModuleType | split.Rows, Box]]:
    """Where the stencils of a region are, whose segments along (z, y, x) these are; beside a fault there are several."""
    rows = next((name for name in segment if name in split.ROWS), None)
    if rows is not None and scheme.fault is not None:
        return list(split.regions(scheme.fault, rows, region, in_layer))
    return [(_kind(scheme, region.lo[0], region.hi[0], segment[0]), region)]


def _kind(scheme: Scheme, first: int, end: int, place: str) -> ModuleType:
    """Where the stencils of such planes are."""
    if scheme.cap is not None and end > scheme.cap:
        return cap
    beside = scheme.border is not None and place != "surface" and scheme.border[0] <= first and end <= scheme.border[1]
    return borders if beside else stencils


def _cut(parts: list[tuple[int, int, str]], at: int) -> list[tuple[int, int, str]]:
    """Segments along z, cut at a plane; those beside the surface stay whole."""
    found = []
    for first, end, side in parts:
        inside = first < at < end and side != "surface"
        found += [(first, at, side), (at, end, side)] if inside else [(first, end, side)]
    return found


def _layer_arrays(scheme: Scheme, side: str, first: int, end: int, box: Box, damped: bool) -> dict[str, Layout]:
    """Memories of a layer, and the profiles across it."""
    axis: Axis = side[0]  # type: ignore[assignment]
    filled, k = scheme.filled(box), "zyx".index(axis)
    lo, hi = list(filled.lo), list(filled.hi)
    lo[k], hi[k] = first, end
    room = Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))
    needed = [*(["pml_g"] if damped else []), *(f"pml_{c}{at}" for c in "ba" for at in "ch")]
    found = {f"{memory}@{side}": Layout(room, group=f"psi@{side}", halo=0) for memory in MEMORIES}
    return found | {f"{line}@{axis}": line_of(scheme, box, axis) for line in needed}


def _with_cap(parts: list[tuple[int, int, str]], lowest: int) -> list[tuple[int, int, str]]:
    """Segments along z, cut where the cap begins, which no layer reaches."""
    found = []
    for first, end, side in parts:
        if side and end > lowest:
            raise ValueError(f"the layer {side} reaches the cap below the topography")
        found += [(first, lowest, side), (lowest, end, side)] if first < lowest < end else [(first, end, side)]
    return found


def _add_cap(scheme: Scheme, box: Box, arrays: dict[str, Layout]) -> list[list[Launch]]:
    """Arrays and profiles of the cap, and what it does before velocities and before stresses: a level each."""
    (_, y0, x0), (_, y1, x1) = box.lo, box.hi
    arrays |= {name: Layout(Box((0, y0, x0), (1, y1, x1)), group="relief") for name in cap.sheets()}
    arrays |= {name: line_of(scheme, box, "z") for name in cap_profiles(scheme)}
    found: list[list[Launch]] = [[], []]
    room = scheme.across(box)
    if room is None:
        return found
    arrays |= {name: Layout(room, group="across") for name in cap.MEANS.values()}
    assert scheme.cap is not None
    lowest = max(room.lo[0], scheme.cap)  # below, the rise is zero, and all stays zero
    if lowest >= room.hi[0]:
        return found
    room = Box((lowest, *room.lo[1:]), room.hi)
    whole, first = scheme.filled(room), scheme.grid.shape[0] + 1 - scheme.deep
    for part in (room, above(box)) if scheme.surfaced(box) else (room,):
        found[0].append(Launch(cap.slope_forces(), part))
    for z0, z1 in ((room.lo[0], first), (first, whole.hi[0])) if scheme.surfaced(box) else ((room.lo[0], room.hi[0]),):
        place = stencils.Place(near=scheme.grid.shape[0] if z0 == first else None)
        found[1].append(Launch(cap.mean_gradients(place), Box((z0, y0, x0), (z1, y1, x1))))
    return found


def cap_profiles(scheme: Scheme) -> dict[str, np.ndarray]:
    """Profiles along z of the cap."""
    grid, relief = scheme.grid, scheme.grid.relief
    assert relief is not None
    levels = {kind: grid.levels(kind) for kind in ("whole", "half")}
    rise, rate = ({kind: of(r) for kind, r in levels.items()} for of in (relief.rise, relief.rate))
    return cap.profiles(grid.shape[0], rise, rate)


def sheets(scheme: Scheme, box: Box) -> dict[str, np.ndarray]:
    """Heights and slopes (ny, nx) of a topography at the points of a box, with so many around as stencils read."""
    relief, found = scheme.grid.relief, dict[str, np.ndarray]()
    if relief is None:
        return found
    first = (box.lo[1] - REACH, box.lo[2] - REACH)
    count = (box.shape[1] + 2 * REACH, box.shape[2] + 2 * REACH)
    halves = {name: half for half, name in cap.PLACES.items()}
    return {name: relief.sheet(halves[at], axis, first, count) for name, (at, axis) in cap.sheets().items()}


def _with_surface(scheme: Scheme, parts: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Segments along z, the uppermost cut where planes have differences of their own, and where those are near (``Place``)."""
    *below, (first, _, side) = parts
    top = scheme.grid.shape[0]
    lowest, beside = top + 1 - scheme.deep, top + 1 - scheme.differences.deep
    if side or first > lowest:
        raise ValueError(
            f"layers of so many points leave fewer than {scheme.deep} of {top} planes below the free surface"
        )
    listed = [(first, lowest, side), (lowest, beside, "near"), (beside, top + 1, "surface")]
    return [*below, *((a, b, name) for a, b, name in listed if a < b)]


def _with_low_end(parts: list[tuple[int, int, str]], cap: int | None, planes: int) -> list[tuple[int, int, str]]:
    """Segments along z, the lowest cut above the planes beside the face to a grid below."""
    (first, end, side), *over = parts
    last = planes - 1
    if side or end < last or (cap is not None and cap - REACH < last):
        raise ValueError(
            f"layers or the cap of so many points reach the {planes} planes beside the face to a grid below"
        )
    return [(-1, last, "low"), *([(last, end, side)] if last < end else []), *over]


def above(box: Box) -> Box:
    """The plane above the last one of a box."""
    (_, y0, x0), (nz, y1, x1) = box.lo, box.hi
    return Box((nz, y0, x0), (nz + 1, y1, x1))


def profiles(scheme: Scheme) -> dict[str, np.ndarray]:
    """Values of the lines that the absorbing sides need, and the differences beside the free surface."""
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
        result |= split.lines(scheme.fault, grid.shape["zyx".index(scheme.fault.axis)])
    ends = scheme.ends
    if not (ends.upper or ends.joined_below):
        return result
    more = (-ends.first, int(ends.upper))  # planes on the faces
    result |= {n: np.pad(v, more, "edge") for n, v in result.items() if n == "gz" or n.endswith("@z")}
    if scheme.cap is not None:
        result |= {name: np.pad(v, (more[0], 0)) for name, v in cap_profiles(scheme).items()}
    return result | ends.lines()
