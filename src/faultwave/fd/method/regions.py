"""Regions of points that have the same stencils: layers, ends of the grid, a topography, interfaces and a fault."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from types import ModuleType

from faultwave.fd.method import curvilinear_layer, fluid_solid_interface, split_nodes, stencils
from faultwave.fd.method.absorbing import AbsorberKind
from faultwave.fd.method.differences import LOWS
from faultwave.fd.method.grid import Side, SideKind
from faultwave.fd.method.scheme import Scheme, line_of
from faultwave.fd.method.split_nodes import FaultRows
from faultwave.fd.method.stencils import AXES
from faultwave.kernels.stencil import REACH, Axis, Box, Launch, Layout

MEMORIES = (*(f"psi_{n}" for n in stencils.VELOCITY), *(f"psi_e{n}" for n in stencils.VELOCITY))
"""Memory variables of a perfectly matched layer, of the stress derivatives and of the velocity gradients."""
VECTOR = 16
"""Granularity along x of the first point of a layer, in points."""


class Zone(Enum):
    """Planes with stencils of their own at the ends of a grid along z."""

    INSIDE = "inside"
    NEAR_SURFACE = "near the surface"  # planes of a curvilinear layer that reach the surface (``StencilPlace.near``)
    SURFACE = "surface"
    LOW_END = "low end"  # at a face to a grid below


@dataclass(frozen=True)
class Segment:
    """Range of points along an axis, within which stencils are the same.

    Attributes
    ----------
    first, end : int
    layer : Side or None
        Side of the absorbing layer that the points belong to.
    zone : Zone
    rows : FaultRows or None
        Position of rows next to a fault.
    """

    first: int
    end: int
    layer: Side | None = None
    zone: Zone = Zone.INSIDE
    rows: FaultRows | None = None

    def cut(self, *places: int) -> list[Segment]:
        """Return the segment divided at places inside it."""
        ends = [self.first, *(n for n in places if self.first < n < self.end), self.end]
        return [replace(self, first=a, end=b) for a, b in itertools.pairwise(ends)]


def segments(scheme: Scheme, axis: Axis, box: Box) -> list[Segment]:
    """Return the segments of a box along an axis.

    Along x segments begin at whole vectors; a layer then has some additional points, where it has no effect. The
    boundaries depend on the grid alone, so that a point is computed identically in every decomposition.
    """
    found = _layers(scheme, axis, box)
    if axis == "z":
        if scheme.cap is not None:
            found = _at_curvilinear_layer(found, scheme.cap)
        if scheme.joined_below:
            found = _at_low_end(found, scheme.cap, LOWS[scheme.order])
        if scheme.surfaced(box):
            found = _at_surface(scheme, found)
        places = scheme.border or ()
        found = [part for s in found for part in (s.cut(*places) if s.zone is not Zone.SURFACE else [s])]
    if scheme.fault is not None and axis == scheme.fault.axis:
        found = _at_fault(found, scheme.fault.index)
    return found


def _layers(scheme: Scheme, axis: Axis, box: Box) -> list[Segment]:
    """Return the segments of a box along an axis inside and outside absorbing layers."""
    k, width = "zyx".index(axis), scheme.absorber.width
    sides: tuple[Side, Side] = (f"{axis}-", f"{axis}+")  # type: ignore[assignment]
    low, high = (
        scheme.absorber.kind == AbsorberKind.CPML and scheme.sides[side] == SideKind.ABSORBING for side in sides
    )
    count = scheme.grid.shape[k]
    first, last = (width if low else 0), (count - width if high else count)
    if axis == "x" and -(-first // VECTOR) <= last // VECTOR:
        first, last = -(-first // VECTOR) * VECTOR, (last // VECTOR * VECTOR if high else count)
    if first > last:
        raise ValueError(f"layers of {width} points at both ends of {count} points overlap")
    found = [Segment(first if low else box.lo[k], last if high else box.hi[k])]
    found = [Segment(0, first, sides[0])] * low + found + [Segment(last, count, sides[1])] * high
    cut = [replace(s, first=max(s.first, box.lo[k]), end=min(s.end, box.hi[k])) for s in found]
    return [s for s in cut if s.first < s.end]


def _at_curvilinear_layer(parts: Sequence[Segment], lowest: int) -> list[Segment]:
    """Return segments along z, divided at the lowest plane of the curvilinear layer, into which no layer may extend."""
    for s in parts:
        if s.layer and s.end > lowest:
            raise ValueError(f"the layer {s.layer} reaches the curvilinear layer below the topography")
    return [part for s in parts for part in s.cut(lowest)]


def _at_low_end(parts: Sequence[Segment], cap: int | None, planes: int) -> list[Segment]:
    """Return segments along z, the lowest divided above the planes at a face to a grid below."""
    lowest, *over = parts
    last = planes - 1
    if lowest.layer or lowest.end < last or (cap is not None and cap - REACH < last):
        raise ValueError(
            f"absorbing layers or the curvilinear layer reach the {planes} planes next to the face of a block below"
        )
    rest = [replace(lowest, first=last)] if last < lowest.end else []
    return [Segment(-1, last, zone=Zone.LOW_END), *rest, *over]


def _at_surface(scheme: Scheme, parts: Sequence[Segment]) -> list[Segment]:
    """Return segments along z, the uppermost divided into planes inside, near the surface and at the surface."""
    *below, uppermost = parts
    top = scheme.grid.shape[0]
    near, surface = top + 1 - scheme.deep, top + 1 - scheme.differences.deep
    if uppermost.layer or uppermost.first > near:
        raise ValueError(f"absorbing layers leave fewer than {scheme.deep} of {top} planes below the free surface")
    listed = [
        replace(uppermost, end=near), Segment(near, surface, zone=Zone.NEAR_SURFACE), Segment(surface, top + 1, zone=Zone.SURFACE)
    ]  # fmt: skip
    return [*below, *(s for s in listed if s.first < s.end)]


def _at_fault(parts: Sequence[Segment], plane: int) -> list[Segment]:
    """Return segments across a fault with the rows near its plane separated."""
    rows = [Segment(plane + a, plane + b, rows=kind) for kind, (a, b) in split_nodes.ROWS.items()]
    low, top, found = rows[0].first, rows[-1].end, list[Segment]()
    for s in parts:
        if not s.first < low or not top < s.end:
            found.append(s)
            continue
        if s.layer:
            raise ValueError(f"the plane of a fault is in the layer {s.layer}")
        found += [replace(s, end=low), *rows, replace(s, first=top)]
    return found


def region_launches(scheme: Scheme, box: Box) -> tuple[list[Launch], list[Launch], dict[str, Layout]]:
    """Return the launches of velocities and of stresses of every region, and the arrays of absorbing layers."""
    top = scheme.grid.shape[0]
    if scheme.free_surface and top - scheme.deep < box.hi[0] < top:
        raise ValueError(f"a part ends {top - box.hi[0]} planes below the free surface, within those that differ there")
    arrays = dict[str, Layout]()
    for axis in AXES:
        for s in _layers(scheme, axis, box):
            if s.layer:
                arrays |= _layer_arrays(scheme, s.layer, s, box)
    velocity, stress = list[Launch](), list[Launch]()
    for place in itertools.product(*(segments(scheme, axis, box) for axis in reversed(AXES))):
        z, y, x = place
        at, names = _stencil_place(scheme, z, (x, y, z)), dict[str, str]()
        for s in (x, y, z):
            if s.layer:
                names |= {f"{memory}_{s.layer[0]}": f"{memory}@{s.layer}" for memory in MEMORIES}
        region = Box((z.first, y.first, x.first), (z.end, y.end, x.end))
        for kind, part in _stencil_kinds(scheme, region, place, bool(at.layers)):
            velocity.append(Launch(kind.velocity(scheme.sponge, at), part, names))
            stress.append(Launch(kind.stress(scheme.attenuation, scheme.sponge, at), part, names))
    return velocity, stress, arrays


def _stencil_place(scheme: Scheme, z: Segment, place: tuple[Segment, Segment, Segment]) -> stencils.StencilPlace:
    """Return the position of a region, with the segment ``z`` along z, relative to layers and ends of the grid."""
    top, at_surface = scheme.grid.shape[0], z.zone is Zone.SURFACE
    layers = tuple(axis for axis, s in zip(AXES, place, strict=True) if s.layer)
    joined = z.zone is Zone.LOW_END or (at_surface and scheme.joined_above)
    near = top if z.zone in (Zone.SURFACE, Zone.NEAR_SURFACE) and scheme.cap is not None else None
    damped = scheme.absorber.along > 0
    return stencils.StencilPlace(layers, damped, top if at_surface else None, scheme.order, joined, near)


def _stencil_kinds(
    scheme: Scheme, region: Box, place: Sequence[Segment], in_layer: bool
) -> list[tuple[ModuleType | split_nodes.Rows, Box]]:
    """Return the stencil modules of a region and their boxes; next to a fault a region has several sets of stencils."""
    rows = next((s.rows for s in place if s.rows is not None), None)
    if rows is not None and scheme.fault is not None:
        return list(split_nodes.regions(scheme.fault, rows, region, in_layer))
    z = place[0]
    if scheme.cap is not None and z.end > scheme.cap:
        return [(curvilinear_layer, region)]
    adjacent = (
        scheme.border is not None
        and z.zone is not Zone.SURFACE
        and scheme.border[0] <= z.first
        and z.end <= scheme.border[1]
    )
    return [(fluid_solid_interface if adjacent else stencils, region)]


def _layer_arrays(scheme: Scheme, side: Side, segment: Segment, box: Box) -> dict[str, Layout]:
    """Return the layouts of a layer's memory variables and of the profiles across it."""
    axis: Axis = side[0]  # type: ignore[assignment]
    filled, k = scheme.filled(box), "zyx".index(axis)
    lo, hi = list(filled.lo), list(filled.hi)
    lo[k], hi[k] = segment.first, segment.end
    available = Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))
    needed = [*(["pml_g"] if scheme.absorber.along > 0 else []), *(f"pml_{c}{at}" for c in "ba" for at in "ch")]
    found = {f"{memory}@{side}": Layout(available, group=f"psi@{side}", halo=0) for memory in MEMORIES}
    return found | {f"{line}@{axis}": line_of(scheme, box, axis) for line in needed}
