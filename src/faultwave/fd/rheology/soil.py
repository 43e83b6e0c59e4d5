"""Soil with multiple yield surfaces (``physics.rheology.iwan``) on the staggered grid, after the elastic stress update.

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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from faultwave.fd.method.program import LOSS_LEVEL, VELOCITY_LEVEL, YIELD_LEVEL, Observer, Scheme
from faultwave.fd.method.stencils import NORMAL
from faultwave.fd.operators.cell_means import IN_PLANE, mean, mean_arrays, planes_of
from faultwave.kernels import math as m
from faultwave.kernels.overlap import intersect
from faultwave.kernels.stencil import Box, Launch, Layout, Point, Stencil
from faultwave.kernels.types import Condition, Number
from faultwave.physics.rheology import iwan
from faultwave.physics.rheology.iwan import PARTS, Surfaces

ALONG = 4
"""Largest number of tiles along x and along y."""
VECTOR = 16
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
    xs = [(-far, far)] if "x" in around else _cut(nx, VECTOR)
    found: list[Tile] = []
    for y in ys:
        for x in xs:
            part = lowest[max(0, y[0]) : y[1], max(0, x[0]) : x[1]]
            if part.min() < none:
                found.append(Tile(len(found), y, x, int(part.min())))
    return tuple(found)


def _cut(count: int, multiple: int) -> list[tuple[int, int]]:
    size = -(-count // ALONG)
    size = -(-size // multiple) * multiple
    return [(a, min(a + size, count)) for a in range(0, count, size)]


def _deviator(p: Point, kind: str) -> dict[str, Number]:
    """Return the five independent components of the deviator at a centre."""
    normal = [p.at(n) for n in NORMAL]
    third = ((normal[0] + normal[1]) + normal[2]) * (1.0 / 3.0)
    shear = {part: mean(p, name.replace("_", ""), IN_PLANE[name], -1, kind) for name, part in SHEAR_PARTS.items()}
    return {"xx": normal[0] - third, "yy": normal[1] - third, **shear}


@cache
def _store_deviator(kind: str) -> Stencil:
    """Return the stencil that stores the deviator before the elastic update; ``kind`` of planes as in ``planes_of``."""

    def function(p: Point) -> dict[str, Number]:
        return {before(part): value for part, value in _deviator(p, kind).items()}

    return Stencil(f"soil_before_{kind}", function)


@cache
def _advance_strain(kind: str) -> Stencil:
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
def _elements(of: Surfaces, first: int, kind: str) -> Stencil:
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
def _yielding(kind: str) -> Stencil:
    """Return the stencil that reduces the stresses by the losses; ``kind`` of planes as in ``fd.rheology.yielding``."""

    def function(p: Point) -> dict[str, Number]:
        half = 0.5 * (p.at("mu2") * p.scalar("unit_of_moduli"))
        xx, yy = p.at(loss("xx")), p.at(loss("yy"))
        found = {n: p.at(n) - half * lost for n, lost in zip(NORMAL, (xx, yy, 0.0 - (xx + yy)), strict=True)}
        for name, part in SHEAR_PARTS.items():
            axes, array = IN_PLANE[name], name.replace("_", "")
            if kind == "surface" and "z" in axes:
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
            launches.append((YIELD_LEVEL, Launch(_yielding(kind), available)))
    for tile in listed:
        part = tile.box(scheme.filled(box))
        if part.points:
            names = {n: tile.named(n) for n in stored_arrays(of)}
            arrays |= dict.fromkeys(names.values(), Layout(part, group=f"soil {tile.number}", halo=0))
            launches += _of_tile(of, part, planes, names)
    return Observer(arrays, launches)


def _of_tile(
    of: Surfaces, part: Box, planes: Sequence[tuple[int, int, str]], names: dict[str, str]
) -> list[tuple[int, Launch]]:
    """Return the launches at the centres of a tile, each with its level; ``names`` maps arrays to the tile's own."""
    found = list[tuple[int, Launch]]()
    for low, high, kind in planes:
        available = intersect(part, Box((low, *part.lo[1:]), (max(low, high), *part.hi[1:])))
        if available.points:
            groups = [_elements(of, n, kind) for n in range(0, len(of.strains), ELEMENTS_PER_LAUNCH)]
            found.append((VELOCITY_LEVEL, Launch(_store_deviator(kind), available, names)))
            found += [(LOSS_LEVEL, Launch(stencil, available, names)) for stencil in (_advance_strain(kind), *groups)]
    return found


__all__ = [
    "PEAK",
    "REFERENCE",
    "WORK",
    "Tile",
    "before",
    "element",
    "stored_arrays",
    "loss",
    "observer",
    "tiles",
    "total",
]
