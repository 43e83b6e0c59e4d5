"""Soft soil whose stiffness decreases with strain: stencils of its yield surfaces, and the capability.

Elements are evaluated at cell centres. Their input is the increment of the deviator in the elastic update (with
attenuation, its stress), where shear stresses are means of the four around the centre. The stress that their sum loses
is stored as a strain at the centres. Then normal stresses lose the modulus times the strain of their own centre, and
shear stresses lose their own modulus times the mean strain of the four centres around. Because these means are adjoint
to each other in the norm of the grid, and moduli at edges are harmonic means, elements only ever take energy from the
grid. Near a free surface, where planes have other weights, means along z are weighted by the overlap of cells as thick
as these weights: no weight is negative, and the adjoint of a mean is a mean. Where no element yields, every loss is
exactly zero.

Below a topography, energies are weighted with the vertical stretch J of cells, by which moduli are stored divided. Means
are there weighted with a stretch of each pair of a shear stress and a centre (``fd.rheology.stretched_means``), so that
uniform stress and uniform strain have their exact means to fourth order, and means stay adjoint to each other.

Element states are stored in tiles of columns that contain soil, down to the lowest soil of each tile. Losses are stored
in all columns down to the lowest soil of all, because shear stresses adjacent to tiles need them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from hashlib import sha256
from typing import Self

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems, collect_problems
from faultwave.base.precision import number_bytes
from faultwave.base.quantities import parameters_at_points
from faultwave.base.types import Json
from faultwave.case.settings.model import Case
from faultwave.comm import World
from faultwave.domain.grid_relief import Relief
from faultwave.domain.grids import CENTRE
from faultwave.fd.capability import FdPlan, GridCapability, GridCapabilityPlan, Running
from faultwave.fd.checks.case_checks import check_combined
from faultwave.fd.contexts import MaterialContext, PlacementContext, Planning
from faultwave.fd.method.curvilinear_layer import stretched
from faultwave.fd.method.differences import PlanePosition
from faultwave.fd.method.grid import Grid, SideKind, periodic_axes
from faultwave.fd.method.program import Observer
from faultwave.fd.method.scheme import Level, PlaneKind, Scheme
from faultwave.fd.method.stencils import NORMAL
from faultwave.fd.operators.operator import Operator
from faultwave.fd.operators.points import norm_weights
from faultwave.fd.operators.resources import Memory
from faultwave.fd.operators.topography import FieldBelowGround
from faultwave.fd.rheology.cell_means import IN_PLANE, mean, mean_arrays, mean_lines, planes_of
from faultwave.fd.rheology.stretched_means import stretch_arrays, stretch_lines, stretch_sheets, stretched_mean
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


def _stretch(p: Point, bent: bool) -> Number:
    """Return the vertical stretch of the cell at a centre, 1 in a flat grid."""
    return stretched(p, "sxx", "x")(0) if bent else 1.0


def _deviator(p: Point, kind: PlaneKind, bent: bool) -> dict[str, Number]:
    """Return the five independent components of the deviator at a centre; ``bent`` below a topography."""
    normal = [p.at(n) for n in NORMAL]
    third = ((normal[0] + normal[1]) + normal[2]) * (1.0 / 3.0)
    of = stretched_mean if bent else mean
    shear = {part: of(p, name.replace("_", ""), IN_PLANE[name], -1, kind) for name, part in SHEAR_PARTS.items()}
    if bent:
        shrink = 1.0 / _stretch(p, bent)
        shear = {part: value * shrink for part, value in shear.items()}
    return {"xx": normal[0] - third, "yy": normal[1] - third, **shear}


@cache
def _store_deviator(kind: PlaneKind, bent: bool) -> Stencil:
    """Return the stencil that stores the deviator before the elastic update; ``kind`` of planes as in ``planes_of``."""

    def function(p: Point) -> dict[str, Number]:
        return {before(part): value for part, value in _deviator(p, kind, bent).items()}

    return Stencil(f"soil_before_{kind}" + "_bent" * bent, function)


@cache
def _advance_strain(kind: PlaneKind, bent: bool) -> Stencil:
    """Return the stencil that advances the total strain after the elastic update."""

    def function(p: Point) -> dict[str, Number]:
        reference, mu2 = p.at(REFERENCE), p.at("mu2") * p.scalar("unit_of_moduli") * _stretch(p, bent)
        soft = (reference > 0.0) & (mu2 > 0.0)
        scale = m.where(soft, 2.0 / m.where(soft, reference * mu2, 1.0), 0.0)
        now = _deviator(p, kind, bent)
        strain = {part: p.at(total(part)) + (now[part] - p.at(before(part))) * scale for part in PARTS}
        size = m.sqrt(iwan.square([strain[part] for part in PARTS]))
        return {**{total(part): value for part, value in strain.items()}, PEAK: m.maximum(p.at(PEAK), size)}

    return Stencil(f"soil_strain_{kind}" + "_bent" * bent, function)


@cache
def _elements(of: Surfaces, first: int, kind: PlaneKind, bent: bool) -> Stencil:
    """Return the stencil of up to ``ELEMENTS_PER_LAUNCH`` elements from ``first`` on, which also accumulates the losses."""
    some = Surfaces(of.strains[first : first + ELEMENTS_PER_LAUNCH], of.shares[first : first + ELEMENTS_PER_LAUNCH])
    numbers = range(first, first + len(some.strains))

    def changes(p: Point) -> Condition:
        return p.at(PEAK) > some.strains[0]

    def function(p: Point) -> dict[str, Number]:
        reference, mu2 = p.at(REFERENCE), p.at("mu2") * p.scalar("unit_of_moduli") * _stretch(p, bent)
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

    return Stencil(f"soil_elements{first}_{kind}" + "_bent" * bent, function, changes)


@cache
def _yielding(kind: PlaneKind, bent: bool) -> Stencil:
    """Return the stencil that reduces the stresses by the losses; ``kind`` of planes as in ``fd.rheology.yielding``."""

    def function(p: Point) -> dict[str, Number]:
        half = 0.5 * (p.at("mu2") * p.scalar("unit_of_moduli") * _stretch(p, bent))
        xx, yy = p.at(loss("xx")), p.at(loss("yy"))
        found = {n: p.at(n) - half * lost for n, lost in zip(NORMAL, (xx, yy, 0.0 - (xx + yy)), strict=True)}
        for name, part in SHEAR_PARTS.items():
            axes, array = IN_PLANE[name], name.replace("_", "")
            if kind == PlaneKind.SURFACE and "z" in axes:
                continue  # stored in the plane below
            mu = p.at(f"mu_{part}") * p.scalar("unit_of_moduli")
            found[array] = p.at(array) - mu * (stretched_mean if bent else mean)(p, loss(part), axes, 1, kind)
        return found

    return Stencil(f"soil_yielding_{kind}" + "_bent" * bent, function)


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
    bent = scheme.cap is not None
    if bent:
        arrays |= stretch_arrays(scheme, box)
    launches = list[tuple[int, Launch]]()
    planes = [(max(low, lowest - 1), high, kind) for low, high, kind in planes_of(scheme, box)]
    for low, high, kind in planes:
        if low < high:
            available = Box((low, *box.lo[1:]), (high, *box.hi[1:]))
            launches.append((Level.YIELD, Launch(_yielding(kind, bent), available)))
    for tile in listed:
        part = tile.box(scheme.filled(box))
        if part.points:
            names = {n: tile.named(n) for n in stored_arrays(of)}
            arrays |= dict.fromkeys(names.values(), Layout(part, group=f"soil {tile.number}", halo=0))
            launches += _of_tile(of, part, planes, names, bent)
    return Observer(arrays, launches)


def _of_tile(
    of: Surfaces, part: Box, planes: Sequence[tuple[int, int, PlaneKind]], names: dict[str, str], bent: bool
) -> list[tuple[int, Launch]]:
    """Return the launches at the centres of a tile, each with its level; ``names`` maps arrays to the tile's own."""
    found = list[tuple[int, Launch]]()
    for low, high, kind in planes:
        available = intersect(part, Box((low, *part.lo[1:]), (max(low, high), *part.hi[1:])))
        if available.points:
            groups = [_elements(of, n, kind, bent) for n in range(0, len(of.strains), ELEMENTS_PER_LAUNCH)]
            found.append((Level.VELOCITY, Launch(_store_deviator(kind, bent), available, names)))
            stencils = (_advance_strain(kind, bent), *groups)
            found += [(Level.LOSS, Launch(stencil, available, names)) for stencil in stencils]
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
class BlockSoil:
    """Soil of one block of the grid.

    Attributes
    ----------
    corner : tuple of float
        Lower corner of the block's grid [m].
    tiles : tuple of Tile
        Tiles of the whole block.
    points : int
        Number of points of soil.
    stored_points : int
        Number of points whose states are stored.
    reference : ndarray (nz, ny, nx)
        Reference strain in the box of this process from plane ``first`` on, 0 in rock.
    first : int
    """

    corner: tuple[float, float, float]
    tiles: tuple[Tile, ...]
    points: int
    stored_points: int
    reference: np.ndarray
    first: int

    @classmethod
    def of(cls, checking: MaterialContext, reference: np.ndarray) -> BlockSoil:
        """Return the soil of the one block of ``checking``, in the tiles of all processes.

        ``reference`` (nz, ny, nx) is the reference strain in the box of this process.
        """
        grid, box, world = checking.placing.grid, checking.box, checking.world
        nz, ny, nx = grid.shape
        present = reference > 0
        own = np.where(present.any(0), box.lo[0] + present.argmax(0), nz + 1)
        lowest = np.full((ny, nx), nz + 1)
        y, x = np.arange(box.lo[1], box.hi[1]) % ny, np.arange(box.lo[2], box.hi[2]) % nx
        np.minimum.at(lowest, np.ix_(y, x), own)
        if world.mpi is not None:
            lowest = np.min(world.mpi.allgather(lowest), axis=0)
        listed = tiles(lowest, nz + 1, periodic_axes(checking.sides))
        depth = nz + 1 - lowest
        stored = sum(
            (nz + 1 - t.lowest) * (min(t.y[1], ny) - max(t.y[0], 0)) * (min(t.x[1], nx) - max(t.x[0], 0))
            for t in listed
        )
        first = min((t.lowest for t in listed), default=box.hi[0])
        cut = max(0, min(first - box.lo[0], len(reference)))
        points = int(depth[depth > 0].sum())
        return cls(grid.lower, listed, points, stored, reference[cut:].copy(), box.lo[0] + cut)


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
    blocks : tuple of BlockSoil or None
        Soil of each block of the grid, once there is a material.
    lower, upper : ndarray (3,)
        Corners of the box [m].
    relief : Relief or None
        Topography, which then is the upper side of the box.
    summary : str
        Text for the report.
    """

    case: Case
    backbone: Backbone
    surfaces: Surfaces
    given: Field | None
    blocks: tuple[BlockSoil, ...] | None = None
    lower: np.ndarray = field(default_factory=lambda: np.zeros(3))
    upper: np.ndarray = field(default_factory=lambda: np.zeros(3))
    relief: Relief | None = None
    summary: str = ""
    name = name

    def locate(self, placing: PlacementContext) -> Self:
        relief, given = placing.grid.relief, self.given
        setting = self.case.grid.topography if self.case.grid else None
        if relief is not None and given is not None and setting is not None and setting.material == "depth":
            given = FieldBelowGround(given, relief, "soil.parameters")
        return replace(self, lower=placing.lower, upper=placing.upper, relief=relief, given=given)

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
        found, strains = list[BlockSoil](), list[np.ndarray]()
        for number in range(len(checking.blocks)):
            reference = checking.world.agree(partial(self._references, checking, number))
            found.append(BlockSoil.of(checking.of_block(number), reference))
            strains.append(reference[reference > 0])
        if not any(block.tiles for block in found):
            limit = self.case.soil.slower_than  # type: ignore[union-attr]
            checking.problems.warn(
                name,
                f"the S speed is nowhere below {limit:g} m/s, so the model has no soil",
                advice="Raise soil.slower_than, or remove soil.",
            )
        text = f"{sum(block.points for block in found):,} points, {len(self.surfaces.strains)} surfaces each"
        listed = np.concatenate(strains)
        if len(listed):
            text += f", reference strain {listed.min():.3g} to {listed.max():.3g}"
        return replace(self, blocks=tuple(found), summary=text)

    def _references(self, checking: MaterialContext, number: int) -> np.ndarray:
        """Return the reference strain (nz, ny, nx) in the box of this process in a block, 0 in rock.

        Raises
        ------
        InputError
            If there is water, or the reference strain is not positive.
        """
        (_, box), setting = checking.blocks[number], self.case.soil
        assert setting is not None
        reference = np.zeros(box.shape, np.float32)
        for plane, places, rock, confining in self._planes(checking, number):
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

    def _columns(self, checking: MaterialContext, grid: Grid, box: Box) -> np.ndarray:
        """Return x and y (n, 2) [m] of the columns of cell centres of a box; in layers, of the nearest in the case's box."""
        lines = [grid.line(k, np.arange(box.lo[2 - k], box.hi[2 - k]), CENTRE) for k in range(2)]
        for k, axis in enumerate("xy"):
            if checking.sides[f"{axis}-"] == SideKind.PERIODIC:
                length = grid.spacing * grid.shape[2 - k]
                lines[k] = grid.lower[k] + (lines[k] - grid.lower[k]) % length
        y, x = np.meshgrid(lines[1], lines[0], indexing="ij")
        return np.asarray(np.clip(np.stack([x.ravel(), y.ravel()], 1), self.lower[:2], self.upper[:2]))

    def _levels(self, checking: MaterialContext, number: int) -> Iterator[tuple[int | None, float]]:
        """Yield the half planes of a block and of those above it from the surface down.

        Each has its number, None above the block, and its level [m] in the flat grid.
        """
        for grid, _ in checking.blocks[:number] if self.backbone.confined else ():
            yield from ((None, float(z)) for z in grid.levels(PlanePosition.HALF)[::-1])
        grid, box = checking.blocks[number]
        levels, face = grid.levels(PlanePosition.HALF), number + 1 < len(checking.blocks)
        for plane in range(grid.shape[0], box.lo[0] - 1, -1):
            yield plane, float(grid.lower[2] if face and plane < 0 else levels[plane])

    def _planes(
        self, checking: MaterialContext, number: int
    ) -> Iterator[tuple[int, np.ndarray, dict[str, np.ndarray], np.ndarray]]:
        """Yield each plane of a block from its top down.

        Each has its number, places (n, 3) [m], rho and mu, and the mean effective stress (n,) [Pa].
        """
        setting = self.case.soil
        assert setting is not None
        table = np.inf if setting.water_table is None else setting.water_table
        columns = self._columns(checking, *checking.blocks[number])
        surface = np.full(len(columns), self.upper[2]) if self.relief is None else self.relief.ground(columns)
        rock_above, load, last_z = None, np.zeros(len(columns)), surface
        for plane, level in self._levels(checking, number):
            places = np.column_stack([columns, np.full(len(columns), level)])
            places = places if self.relief is None else self.relief.up(places)
            z = places[:, 2].copy()
            places[:, 2] = np.clip(z, self.lower[2], surface)
            rock = at_points(checking.field, ["rho", "mu"], places, np.ones(len(places), np.int64))
            above = rock if rock_above is None else rock_above
            load = load + 0.5 * (above["rho"] + rock["rho"]) * GRAVITY * (last_z - z)
            wet = np.maximum(surface - z - table, 0.0)
            effective = np.maximum(load - WATER * wet, 0.0)
            if plane is not None:
                yield plane, places, rock, effective * (1.0 + 2.0 * setting.earth_pressure) / 3.0
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
        points = sum(block.stored_points for block in self.blocks or ())
        arrays = len(stored_arrays(self.surfaces))
        needed = float(points) * arrays * number_bytes(self.case.numerics.precision) / world.size
        what = f"yield surfaces of {points:,} points"
        return Memory(needed, name, what, "Use fewer surfaces, or lower soil.slower_than.")

    def tiles_of(self, grid: Grid) -> tuple[Tile, ...]:
        """Return the tiles of the block with this grid; before there is a material, soil may be anywhere."""
        if self.blocks is None:
            far = 1 << 30
            return (Tile(0, (-far, far), (-far, far), -1),)
        return next(block.tiles for block in self.blocks if block.corner == grid.lower)

    def volume_observers(self, scheme: Scheme, box: Box) -> Sequence[Observer]:
        return [observer(scheme, box, self.surfaces, self.tiles_of(scheme.grid))]

    @property
    def must_match(self) -> Json:
        setting, listed = self.case.soil, [block.tiles for block in self.blocks or ()]
        found = sha256(repr((self.surfaces, listed, setting)).encode())
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
        self.blocks = [
            (op, _fill(op, soil)) for op, soil in zip(solver.operator.blocks, part.blocks or (), strict=True)
        ]

    def energies(self) -> Mapping[str, float]:
        """Return the energy [J] dissipated by soil."""
        return {"soil_work": sum(_work(op, tile, box) for op, listed in self.blocks for tile, box in listed)}


def _fill(op: Operator, soil: BlockSoil) -> list[tuple[Tile, Box]]:
    """Write the profiles and reference strains of a block, and return its tiles with their boxes on this process."""
    scheme, runner, found = op.scheme, op.runner, list[tuple[Tile, Box]]()
    lines = mean_lines(scheme) | (stretch_lines(scheme) if scheme.cap is not None else {})
    for line, values in lines.items():
        if line in runner.program.arrays:
            runner.view(line)[...] = values
    for sheet, heights in (stretch_sheets(scheme, op.box) if scheme.cap is not None else {}).items():
        if sheet in runner.program.arrays:
            runner.view(sheet, 1)[1] = heights
    may = [active_cells(scheme, scheme.grid, axis) for axis in "zyx"]  # type: ignore[arg-type]
    origin, firsts = (soil.first, *op.box.lo[1:]), (scheme.ends.first, 0, 0)
    for tile in soil.tiles:
        array = tile.named(REFERENCE)
        if array not in runner.program.arrays:
            continue
        box = runner.program.arrays[array].box
        found.append((tile, box))
        at = tuple(slice(a - b, c - b) for a, b, c in zip(box.lo, origin, box.hi, strict=True))
        active = [
            line[np.arange(a - n, b - n) % len(line)] for line, a, b, n in zip(may, box.lo, box.hi, firsts, strict=True)
        ]
        runner.view(array)[...] = soil.reference[at] * active[0][:, None, None] * active[1][:, None] * active[2]
    return found


def _work(op: Operator, tile: Tile, box: Box) -> float:
    """Return the energy [J] dissipated in the part of a tile that this process owns; ``box`` is that of its arrays."""
    scheme, found = op.scheme, 0.0
    owned, volume = scheme.filled(op.subdomain.owned.box), scheme.grid.spacing**3
    low = [max(a, b) for a, b in zip(owned.lo, box.lo, strict=True)]
    high = [max(c, min(a, b)) for a, b, c in zip(owned.hi, box.hi, low, strict=True)]
    at = tuple(slice(a - b, c - b) for a, b, c in zip(low, box.lo, high, strict=True))
    for k, plane in enumerate(op.runner.values(tile.named(WORK))[at]):
        here = Box((low[0] + k, low[1], low[2]), (low[0] + k + 1, high[1], high[2]))
        work = plane.astype(float) * scheme.grid.stretch("sxx", here)[0]
        found += float(norm_weights(scheme, "szz", low[0] + k)) * volume * float(work.sum())
    return found
