"""Soft soil whose stiffness decreases with strain: stencils of its yield surfaces, and the capability.

Elements are evaluated at cell centres. Their input is the increment of the deviator in the elastic update (with
attenuation, its stress), where shear stresses are means of the four around the centre. The stress that their sum loses
is stored as a strain at the centres. Then normal stresses lose the modulus times the strain of their own centre, and
shear stresses lose their own modulus times the mean strain of the four centres around. Because these means are adjoint
to each other in the norm of the grid, and moduli at edges are harmonic means, elements only ever take energy from the
grid. Near a free surface, where planes have other weights, means along z are weighted by the overlap of cells as thick
as these weights: no weight is negative, and the adjoint of a mean is a mean. Where no element yields, every loss is
exactly zero.

Element states are stored in tiles of columns that contain soil, down to the lowest soil of each tile. Losses are stored
in all columns down to the lowest soil of all, because shear stresses adjacent to tiles need them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from typing import Self

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems, collect_problems
from faultwave.base.precision import number_bytes
from faultwave.base.quantities import parameters_at_points
from faultwave.base.types import Json
from faultwave.case.settings.model import Case
from faultwave.comm import World
from faultwave.fd.capability import FdPlan, GridCapability, GridCapabilityPlan, Running
from faultwave.fd.checks.case_checks import check_combined
from faultwave.fd.contexts import MaterialContext, PlacementContext, Planning
from faultwave.fd.method.differences import PlanePosition
from faultwave.fd.method.grid import SideKind, periodic_axes
from faultwave.fd.method.program import Observer
from faultwave.fd.method.scheme import Level, PlaneKind, Scheme
from faultwave.fd.method.stencils import NORMAL
from faultwave.fd.operators.points import norm_weights
from faultwave.fd.operators.resources import Memory
from faultwave.fd.rheology.cell_means import IN_PLANE, mean, mean_arrays, mean_lines, planes_of
from faultwave.fd.rheology.yielding import active_cells
from faultwave.kernels import math as m
from faultwave.kernels.expr import Condition, Number
from faultwave.kernels.overlap import intersect
from faultwave.kernels.stencil import Box, Launch, Layout, Point, Stencil
from faultwave.media import Field, load_field
from faultwave.media.field import check_used
from faultwave.media.homogenise import at_points
from faultwave.physics.rheology import iwan
from faultwave.physics.rheology.iwan import BACKBONES, PARTS, Backbone, Surfaces

TILES_ALONG = 4
"""Largest number of tiles along x and along y."""
VECTOR_POINTS = 16
"""Granularity of tiles along x, in points."""
REFERENCE, WORK, PEAK = "soil_reference_strain", "soil_work", "soil_peak_strain"
"""Arrays at each point of soil: reference strain (0 in rock), dissipated energy [J/m^3] and peak strain.

The peak strain is in the sense of J2, relative to the reference strain.
"""
ELEMENTS_PER_LAUNCH = 5
"""Number of elements that are skipped together while the strain has never reached the yield strain of their first."""
SHEAR_PARTS = {"s_xy": "xy", "s_yz": "yz", "s_xz": "xz"}


def element(number: int, part: str) -> str:
    """Return the name of the array of a component of an element's plastic strain."""
    return f"soil{number}_{part}"


def before(part: str) -> str:
    """Return the name of the array of a component of the deviator before the elastic update."""
    return f"soil_before_{part}"


def loss(part: str) -> str:
    """Return the name of the array of a component of the strain lost in the step, twice the tensor's."""
    return f"soil_loss_{part}"


def total(part: str) -> str:
    """Return the name of the array of a component of the strain common to all elements, over the reference strain."""
    return f"soil_strain_{part}"


@dataclass(frozen=True)
class Tile:
    """Columns [y0, y1) x [x0, x1) of the grid with soil down to the plane ``lowest``."""

    number: int
    y: tuple[int, int]
    x: tuple[int, int]
    lowest: int

    def box(self, within: Box) -> Box:
        """Return the intersection of the tile with a box."""
        whole = Box((self.lowest, self.y[0], self.x[0]), (within.hi[0], self.y[1], self.x[1]))
        return intersect(whole, within)

    def holds(self, cells: np.ndarray) -> np.ndarray:
        """Return a mask of the cells (n, 3) as (z, y, x) in the columns of the tile and not below its lowest soil."""
        z, y, x = cells.T
        return np.asarray((z >= self.lowest) & (y >= self.y[0]) & (y < self.y[1]) & (x >= self.x[0]) & (x < self.x[1]))

    def named(self, name: str) -> str:
        """Return the name of one of the tile's arrays."""
        return f"{name}@{self.number}"


def tiles(lowest: np.ndarray, none: int, around: Iterable[str]) -> tuple[Tile, ...]:
    """Return the tiles that contain soil.

    Parameters
    ----------
    lowest : ndarray (ny, nx) of int
        Lowest plane of soil in each column, at least ``none`` where there is none.
    none : int
    around : iterable of str
        Periodic axes, along which a tile contains all points and their images.
    """
    ny, nx = lowest.shape
    far = 1 << 30
    ys = [(-far, far)] if "y" in around else _cut(ny, 1)
    xs = [(-far, far)] if "x" in around else _cut(nx, VECTOR_POINTS)
    found: list[Tile] = []
    for y in ys:
        for x in xs:
            part = lowest[max(0, y[0]) : y[1], max(0, x[0]) : x[1]]
            if part.min() < none:
                found.append(Tile(len(found), y, x, int(part.min())))
    return tuple(found)


def _cut(count: int, multiple: int) -> list[tuple[int, int]]:
    size = -(-count // TILES_ALONG)
    size = -(-size // multiple) * multiple
    return [(a, min(a + size, count)) for a in range(0, count, size)]


def _deviator(p: Point, kind: PlaneKind) -> dict[str, Number]:
    """Return the five independent components of the deviator at a centre."""
    normal = [p.at(n) for n in NORMAL]
    third = ((normal[0] + normal[1]) + normal[2]) * (1.0 / 3.0)
    shear = {part: mean(p, name.replace("_", ""), IN_PLANE[name], -1, kind) for name, part in SHEAR_PARTS.items()}
    return {"xx": normal[0] - third, "yy": normal[1] - third, **shear}


@cache
def _store_deviator(kind: PlaneKind) -> Stencil:
    """Return the stencil that stores the deviator before the elastic update; ``kind`` of planes as in ``planes_of``."""

    def function(p: Point) -> dict[str, Number]:
        return {before(part): value for part, value in _deviator(p, kind).items()}

    return Stencil(f"soil_before_{kind}", function)


@cache
def _advance_strain(kind: PlaneKind) -> Stencil:
    """Return the stencil that advances the total strain after the elastic update."""

    def function(p: Point) -> dict[str, Number]:
        reference, mu2 = p.at(REFERENCE), p.at("mu2") * p.scalar("unit_of_moduli")
        soft = (reference > 0.0) & (mu2 > 0.0)
        scale = m.where(soft, 2.0 / m.where(soft, reference * mu2, 1.0), 0.0)
        now = _deviator(p, kind)
        strain = {part: p.at(total(part)) + (now[part] - p.at(before(part))) * scale for part in PARTS}
        size = m.sqrt(iwan.square([strain[part] for part in PARTS]))
        return {**{total(part): value for part, value in strain.items()}, PEAK: m.maximum(p.at(PEAK), size)}

    return Stencil(f"soil_strain_{kind}", function)


@cache
def _elements(of: Surfaces, first: int, kind: PlaneKind) -> Stencil:
    """Return the stencil of up to ``ELEMENTS_PER_LAUNCH`` elements from ``first`` on, which also accumulates the losses."""
    some = Surfaces(of.strains[first : first + ELEMENTS_PER_LAUNCH], of.shares[first : first + ELEMENTS_PER_LAUNCH])
    numbers = range(first, first + len(some.strains))

    def changes(p: Point) -> Condition:
        return p.at(PEAK) > some.strains[0]

    def function(p: Point) -> dict[str, Number]:
        reference, mu2 = p.at(REFERENCE), p.at("mu2") * p.scalar("unit_of_moduli")
        states = [[p.at(element(n, part)) for part in PARTS] for n in numbers]
        after, lost, work = iwan.step(some, states, [p.at(total(part)) for part in PARTS], changes(p))
        found = {
            element(n, part): v
            for n, values in zip(numbers, after, strict=True)
            for part, v in zip(PARTS, values, strict=True)
        }
        for part, value in zip(PARTS, lost, strict=True):
            found[loss(part)] = reference * value + (p.at(loss(part)) if first else 0.0)
        found[WORK] = p.at(WORK) + (0.5 * mu2) * (reference * reference) * work
        return found

    return Stencil(f"soil_elements{first}_{kind}", function, changes)


@cache
def _yielding(kind: PlaneKind) -> Stencil:
    """Return the stencil that reduces the stresses by the losses; ``kind`` of planes as in ``fd.rheology.yielding``."""

    def function(p: Point) -> dict[str, Number]:
        half = 0.5 * (p.at("mu2") * p.scalar("unit_of_moduli"))
        xx, yy = p.at(loss("xx")), p.at(loss("yy"))
        found = {n: p.at(n) - half * lost for n, lost in zip(NORMAL, (xx, yy, 0.0 - (xx + yy)), strict=True)}
        for name, part in SHEAR_PARTS.items():
            axes, array = IN_PLANE[name], name.replace("_", "")
            if kind == PlaneKind.SURFACE and "z" in axes:
                continue  # stored in the plane below
            mu = p.at(f"mu_{part}") * p.scalar("unit_of_moduli")
            found[array] = p.at(array) - mu * mean(p, loss(part), axes, 1, kind)
        return found

    return Stencil(f"soil_yielding_{kind}", function)


def stored_arrays(of: Surfaces) -> list[str]:
    """Return the names of the arrays of each tile."""
    states = [element(n, part) for n in range(len(of.strains)) for part in PARTS]
    return [*states, *(of_part(part) for of_part in (before, total) for part in PARTS), REFERENCE, WORK, PEAK]


def observer(scheme: Scheme, box: Box, of: Surfaces, listed: Sequence[Tile]) -> Observer:
    """Return the arrays and launches of soil in a box of the grid.

    Parameters
    ----------
    scheme : Scheme
    box : Box
    of : Surfaces
        Yield surfaces of the soil.
    listed : sequence of Tile
    """
    lowest = min((tile.lowest for tile in listed), default=box.hi[0] + 1)
    if "z" in scheme.periodic:
        lowest = box.lo[0]
    if lowest > box.hi[0]:
        return Observer()
    if scheme.surfaced(box):  # means near the surface reach some planes down
        lowest = min(lowest, scheme.grid.shape[0] - scheme.differences.deep - 2)
    first = max(box.lo[0], min(lowest - 1, box.hi[0] - 1))  # shear stresses just below the lowest soil have losses, too
    wide = Box((first, *box.lo[1:]), box.hi)
    arrays = dict.fromkeys(map(loss, PARTS), Layout(wide, group="soil loss", halo=scheme.reach))
    arrays |= mean_arrays(scheme)
    launches = list[tuple[int, Launch]]()
    planes = [(max(low, lowest - 1), high, kind) for low, high, kind in planes_of(scheme, box)]
    for low, high, kind in planes:
        if low < high:
            available = Box((low, *box.lo[1:]), (high, *box.hi[1:]))
            launches.append((Level.YIELD, Launch(_yielding(kind), available)))
    for tile in listed:
        part = tile.box(scheme.filled(box))
        if part.points:
            names = {n: tile.named(n) for n in stored_arrays(of)}
            arrays |= dict.fromkeys(names.values(), Layout(part, group=f"soil {tile.number}", halo=0))
            launches += _of_tile(of, part, planes, names)
    return Observer(arrays, launches)


def _of_tile(
    of: Surfaces, part: Box, planes: Sequence[tuple[int, int, PlaneKind]], names: dict[str, str]
) -> list[tuple[int, Launch]]:
    """Return the launches at the centres of a tile, each with its level; ``names`` maps arrays to the tile's own."""
    found = list[tuple[int, Launch]]()
    for low, high, kind in planes:
        available = intersect(part, Box((low, *part.lo[1:]), (max(low, high), *part.hi[1:])))
        if available.points:
            groups = [_elements(of, n, kind) for n in range(0, len(of.strains), ELEMENTS_PER_LAUNCH)]
            found.append((Level.VELOCITY, Launch(_store_deviator(kind), available, names)))
            found += [(Level.LOSS, Launch(stencil, available, names)) for stencil in (_advance_strain(kind), *groups)]
    return found


name = "soil"
GRAVITY, WATER = 9.81, 9810.0
"""Acceleration of gravity [m/s^2] and specific weight of water [N/m^3]."""


def plan(planning: Planning) -> Soil | None:
    """Return the soil of the case, None if all ground is linear."""
    case, problems = planning.case, planning.problems
    if case.soil is None:
        return None
    check_combined(planning, "soil", NOT_COMBINED)
    with collect_problems(problems):
        return _read(case, problems)
    return None


NOT_COMBINED = {
    "grid.blocks": "a grid of one spacing",
    "grid.topography": "flat ground",
    "plasticity": "one of both",
    "fault": "kinematic sources",
    "injection": "sources in the box",
    "grid.time_dispersion": "keep",
}
"""Allowed values of settings that are not implemented together with soil."""


def _read(case: Case, problems: Problems) -> Soil:
    setting = case.soil
    assert setting is not None
    backbone, given = BACKBONES[setting.backbone], None
    if setting.parameters is not None:
        given = load_field(setting.parameters, "soil.parameters", projection=case.projection)
        check_used(given, {q.name for q in backbone.parameters}, f"backbone {backbone.name}", problems)
    names = frozenset[str]() if given is None else given.parameters
    parameters_at_points(backbone.parameters, dict.fromkeys(names, 0.0), 1, backbone.name, "soil.parameters", problems)
    try:
        if setting.table:
            strains, left = zip(*setting.table, strict=True)
            made = iwan.surfaces(strains, [x * y for x, y in setting.table])
        else:
            made = iwan.along_curve(setting.surfaces, backbone.exponent)
    except ValueError as error:
        raise InputError(Problem("soil.table", str(error))) from None
    return Soil(case, backbone, made, given)


@dataclass(frozen=True)
class Soil(GridCapabilityPlan):
    """Soft soil of a case.

    Attributes
    ----------
    case : Case
    backbone : Backbone
        Curve of shear stress against strain.
    surfaces : Surfaces
        Yield surfaces.
    given : Field or None
        Parameters of the backbone.
    tiles : tuple of Tile or None
        Tiles of the whole grid, once there is a material.
    points : int
        Number of points of soil.
    kept_points : int
        Number of points whose states are stored.
    reference : ndarray (nz, ny, nx)
        Reference strain in the box of this process from plane ``first`` on, 0 in rock.
    first : int
    lower, upper : ndarray (3,)
        Corners of the box [m].
    summary : str
        Text for the report.
    """

    case: Case
    backbone: Backbone
    surfaces: Surfaces
    given: Field | None
    tiles: tuple[Tile, ...] | None = None
    points: int = 0
    kept_points: int = 0
    reference: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 0), np.float32))
    first: int = 0
    lower: np.ndarray = field(default_factory=lambda: np.zeros(3))
    upper: np.ndarray = field(default_factory=lambda: np.zeros(3))
    summary: str = ""
    name = name

    def locate(self, placing: PlacementContext) -> Self:
        return replace(self, lower=placing.lower, upper=placing.upper)

    def check(self, checking: MaterialContext) -> Self:
        """Report soil below water and invalid parameters; warn if there is no soil."""
        problems = checking.problems
        if (checking.coarse["mu"] <= 0).any():
            problems.error(name, "soil next to or below water is not supported yet", "a box without water")
        if len(problems.errors) or checking.surveyed:
            return self
        found = self
        with collect_problems(problems):
            found = self._placed_soil(checking)
        return found

    def _placed_soil(self, checking: MaterialContext) -> Self:
        """Return the capability with the location and strength of the soil."""
        reference = checking.world.agree(lambda: self._references(checking))
        return self._tiled(checking, reference, checking.placing.grid.shape)

    def _references(self, checking: MaterialContext) -> np.ndarray:
        """Return the reference strain (nz, ny, nx) in the box of this process, 0 in rock.

        Raises
        ------
        InputError
            If there is water, or the reference strain is not positive.
        """
        box, setting = checking.box, self.case.soil
        assert setting is not None
        reference = np.zeros(box.shape, np.float32)
        for plane, rock, confining in self._planes(checking):
            places = self._places(checking, plane)
            water = np.flatnonzero(rock["mu"] <= 0)
            if len(water):  # missed by the coarse lattice
                x, y, z = places[water[0]]
                what = (
                    f"soil next to or below water is not supported yet, but the box has water at ({x:g}, {y:g}, {z:g})"
                )
                raise InputError(Problem(name, what, "a box without water"))
            is_soil = np.sqrt(rock["mu"] / rock["rho"]) < setting.slower_than
            if box.lo[0] <= plane < box.hi[0] and is_soil.any():
                row = np.zeros(is_soil.shape)
                row[is_soil] = self._strain(places[is_soil], rock["mu"][is_soil], confining[is_soil])
                reference[plane - box.lo[0]] = row.reshape(box.shape[1:])
        return reference

    def _tiled(self, checking: MaterialContext, reference: np.ndarray, shape: tuple[int, int, int]) -> Self:
        """Return the capability with the tiles of all processes."""
        box, (nz, ny, nx), world = checking.box, shape, checking.world
        sides = checking.sides
        present = reference > 0
        own = np.where(present.any(0), box.lo[0] + present.argmax(0), nz + 1)
        lowest = np.full((ny, nx), nz + 1)
        y, x = np.arange(box.lo[1], box.hi[1]) % ny, np.arange(box.lo[2], box.hi[2]) % nx
        np.minimum.at(lowest, np.ix_(y, x), own)
        if world.mpi is not None:
            lowest = np.min(world.mpi.allgather(lowest), axis=0)
        around = periodic_axes(sides)
        listed = tiles(lowest, nz + 1, around)
        depth = nz + 1 - lowest
        points = int(depth[depth > 0].sum())
        if not listed:
            limit = self.case.soil.slower_than  # type: ignore[union-attr]
            checking.problems.warn(
                name,
                f"the S speed is nowhere below {limit:g} m/s, so the model has no soil",
                advice="Raise soil.slower_than, or remove soil.",
            )
        kept_points = sum(
            (nz + 1 - t.lowest) * (min(t.y[1], ny) - max(t.y[0], 0)) * (min(t.x[1], nx) - max(t.x[0], 0))
            for t in listed
        )
        first = min((t.lowest for t in listed), default=box.hi[0])
        cut = max(0, min(first - box.lo[0], len(reference)))
        text = f"{points:,} points, {len(self.surfaces.strains)} surfaces each"
        if present.any():
            strains = reference[present]
            text += f", reference strain {strains.min():.3g} to {strains.max():.3g}"
        return replace(
            self, tiles=listed, points=points, kept_points=kept_points, reference=reference[cut:].copy(),
            first=box.lo[0] + cut, summary=text,
        )  # fmt: skip

    def _places(self, checking: MaterialContext, plane: int) -> np.ndarray:
        """Return the cell centres (n, 3) [m] of a plane of this process; in layers, the nearest points of the box."""
        grid, box = checking.placing.grid, checking.box
        places = grid.places("sxx", Box((plane, *box.lo[1:]), (plane + 1, *box.hi[1:]))).reshape(-1, 3)
        for axis, k in (("x", 0), ("y", 1)):
            if checking.sides[f"{axis}-"] == SideKind.PERIODIC:
                length = grid.spacing * grid.shape[2 - k]
                places[:, k] = grid.lower[k] + (places[:, k] - grid.lower[k]) % length
        return np.asarray(np.clip(places, self.lower, self.upper))

    def _planes(self, checking: MaterialContext) -> Iterator[tuple[int, dict[str, np.ndarray], np.ndarray]]:
        """Yield each plane from the surface down: number, rho and mu, and mean effective stress (n,) [Pa]."""
        setting, grid, box = self.case.soil, checking.placing.grid, checking.box
        assert setting is not None
        top, rock_above, load = grid.shape[0], None, np.zeros(box.shape[1] * box.shape[2])
        last_z = grid.upper[2]
        for plane in range(top, box.lo[0] - 1, -1):
            places = self._places(checking, plane)
            rock = at_points(checking.field, ["rho", "mu"], places, np.ones(len(places), np.int64))
            z = float(grid.levels(PlanePosition.HALF)[plane])
            above = rock if rock_above is None else rock_above
            load = load + 0.5 * (above["rho"] + rock["rho"]) * GRAVITY * (last_z - z)
            depth = grid.upper[2] - z
            wet = max(0.0, depth - setting.water_table) if setting.water_table is not None else 0.0
            effective = np.maximum(load - WATER * wet, 0.0)
            yield plane, rock, effective * (1.0 + 2.0 * setting.earth_pressure) / 3.0
            rock_above, last_z = rock, z

    def _strain(self, places: np.ndarray, mu: np.ndarray, confining: np.ndarray) -> np.ndarray:
        """Return the reference strain (n,) at places (n, 3) [m].

        Raises InputError with the first place where it is invalid.
        """
        if self.backbone.confined:  # on the surface itself the stress at a depth of some centimetres is used
            confining = np.maximum(confining, SHALLOWEST)
        names = [q.name for q in self.backbone.parameters if self.given and q.name in self.given.parameters]
        values = self.given.evaluate(places, np.ones(len(places), np.int64), names) if self.given else {}
        problems = Problems()
        found = parameters_at_points(
            self.backbone.parameters, values, len(places), self.backbone.name, "soil.parameters", problems
        )
        problems.raise_errors()
        for q in self.backbone.parameters:
            _check(places, q.accepts(found[q.name]), found[q.name], q.name, q.allowed())
        strain = np.broadcast_to(self.backbone.strain(found, mu, confining), len(places))
        _check(
            places, np.isfinite(strain) & (strain > 0), strain, "the reference strain", "> 0, from cohesion or friction"
        )
        return strain

    def memory(self, steps: int, world: World) -> Memory:
        arrays = len(stored_arrays(self.surfaces))
        needed = float(self.kept_points) * arrays * number_bytes(self.case.numerics.precision) / world.size
        what = f"yield surfaces of {self.kept_points:,} points"
        return Memory(needed, name, what, "Use fewer surfaces, or lower soil.slower_than.")

    def volume_observers(self, scheme: Scheme, box: Box) -> Sequence[Observer]:
        listed = self.tiles
        if listed is None:  # before there is a material, soil may be anywhere
            listed = (Tile(0, (-(1 << 30), 1 << 30), (-(1 << 30), 1 << 30), 0),)
        return [observer(scheme, box, self.surfaces, listed)]

    @property
    def must_match(self) -> Json:
        setting = self.case.soil
        found = sha256(repr((self.surfaces, self.tiles, setting)).encode())
        return {"backbone": self.backbone.name, "digest": found.hexdigest()}

    def report(self, plan: FdPlan) -> dict[str, list[tuple[str, ...]]]:
        return {"size": [("soil", self.summary)]}

    def attach(self, solver: Running) -> AttachedSoil:
        return AttachedSoil(self, solver)


SHALLOWEST = 1e3
"""Smallest effective stress [Pa] of soil, reached at a depth of about five centimetres."""


def _check(places: np.ndarray, sound: np.ndarray, values: np.ndarray, what: str, allowed: str) -> None:
    bad = ~sound
    if bad.any():
        x = places[np.flatnonzero(bad)[0]]
        at = f"({x[0]:g}, {x[1]:g}, {x[2]:g}) and wrong at {bad.sum() - 1} other points"
        raise InputError(Problem("soil.parameters", f"{what} is {values[bad][0]:g} at {at}", allowed))


class AttachedSoil(GridCapability):
    """Soil of a run; sums cover what this process owns."""

    def __init__(self, part: Soil, solver: Running):
        self.part, self.operator = part, solver.operator
        self.scheme, runner, op = solver.operator.scheme, solver.operator.runner, solver.operator
        may = [active_cells(self.scheme, self.scheme.grid, axis) for axis in "zyx"]  # type: ignore[arg-type]
        origin = (part.first, *op.box.lo[1:])
        for line, values in mean_lines(self.scheme).items():
            if line in runner.program.arrays:
                runner.view(line)[...] = values
        self.boxes: list[tuple[Tile, Box]] = []
        for tile in part.tiles or ():
            array = tile.named(REFERENCE)
            if array not in runner.program.arrays:
                continue
            box = runner.program.arrays[array].box
            self.boxes.append((tile, box))
            at = tuple(slice(a - b, c - b) for a, b, c in zip(box.lo, origin, box.hi, strict=True))
            shares = [line[np.arange(a, b) % len(line)] for line, a, b in zip(may, box.lo, box.hi, strict=True)]
            values = part.reference[at] * shares[0][:, None, None] * shares[1][:, None] * shares[2]
            runner.view(array)[...] = values

    def energies(self) -> Mapping[str, float]:
        """Return the energy [J] dissipated by soil."""
        found, volume = 0.0, self.scheme.grid.spacing**3
        owned = self.scheme.filled(self.operator.subdomain.owned.box)
        for tile, box in self.boxes:
            low = [max(a, b) for a, b in zip(owned.lo, box.lo, strict=True)]
            high = [min(a, b) for a, b in zip(owned.hi, box.hi, strict=True)]
            at = tuple(slice(a - b, max(a, c) - b) for a, b, c in zip(low, box.lo, high, strict=True))
            work = self.operator.runner.values(tile.named(WORK))[at]
            for k, plane in enumerate(work):
                found += float(norm_weights(self.scheme, "szz", low[0] + k)) * volume * float(plane.astype(float).sum())
        return {"soil_work": found}
