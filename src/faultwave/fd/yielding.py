"""Rock that yields on the staggered grid: stencils after the elastic update of the stresses.

A rheology that scales the deviator (``Rheology.scales``) tells at each centre what share of the deviator of the whole stress, that at rest
included, is lost in the step; shear stresses are there the means of the four around. Then normal stresses lose the share of their own
centre, shear stresses the mean share of the four centres around, as AWP-ODC does it (Roten et al. 2016, SC16). No stress is
interpolated to any other place than centres, and only the share is read from neighbours. As each part of the deviator only shrinks, the
strain energy of the whole stress never rises. Means to and from centres are adjoints of each other (``fd.cell_means``), so that centres
count the work that the stresses around them lose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultwave.fd import yield_rows
from faultwave.fd.cap import stretched
from faultwave.fd.cell_means import IN_PLANE, mean, mean_arrays, mean_lines, planes_of
from faultwave.fd.grid import Grid
from faultwave.fd.program import LOSS_LEVEL, YIELD_LEVEL, Observer, Scheme, line_of
from faultwave.fd.stencils import AXES, NORMAL
from faultwave.kernels import math as m
from faultwave.kernels.stencil import Axis, Box, Launch, Layout, Point, Stencil
from faultwave.physics.rheology import STRESS, Rheology

YIELDED = ("eta", "plastic_work")
"""What is known of the past of each centre: state of the rheology."""
WORK = YIELDED[1]
LOST, GIVEN = "lost_share", "rest_work"
"""The share of the deviator lost in a step, and the work [J/m^3] that the stress at rest has done."""
LOAD = "rest_load"
"""The number at each centre that all six stresses at rest are in proportion to, where these are not kept by depth [Pa]."""


@dataclass(frozen=True)
class Kept:
    """How a grid keeps its rock. ``lateral``: strength at every point, else by depth; ``proportional``: of the stress at rest one number at
    every point, to which its components are in proportion, else all by depth; ``bent``: whether planes follow a topography."""

    lateral: bool = False
    proportional: bool = False
    bent: bool = False


def rest(name: str, on_faces: bool = False) -> str:
    """The line along z with a stress at rest, at the levels of centres or of the faces between them."""
    return f"rest_{name}" + "_faces" * on_faces


def lines_at_rest() -> tuple[tuple[str, str, bool], ...]:
    """Lines of stress at rest: their name, the stress, and whether at the levels of faces."""
    at_centres = [(rest(name), name, False) for name in STRESS]
    return (*at_centres, *((rest(name, True), name, True) for name in ("s_xz", "s_yz")))


def own_parameters(law: Rheology) -> tuple[str, ...]:
    """What a rheology's formulas need of every point, but what the grid knows."""
    return tuple(name for name in law.kernel_parameters if name != "compliance")


def active(axis: Axis) -> str:
    """The line that is 1 where rock may yield and 0 in layers."""
    return f"yields_{axis}"


def losses(law: Rheology, constants: Mapping[str, float], kept: Kept, kind: str) -> Stencil:
    """The share lost at a centre, and its past; ``kind`` of the planes (``planes_of``)."""

    def own(p: Point) -> dict[str, Any]:
        return {n: p.at(n) if kept.lateral else p.line(n, "z") for n in own_parameters(law)}

    def changes(p: Point) -> Any:
        past = {s.name: p.at(s.name) if s.name in YIELDED else 0.0 for s in law.state}
        at_rest = _at_rest(p, kept)
        whole = {n: v + at_rest[n] for n, v in _at_centre(p, kind).items()}
        yields = law.yields(own(p), constants, whole, past, p.scalar("yield_step"))
        return (yields & _may(p)) | (p.at(LOST) > 0.0)

    def function(p: Point) -> dict[str, Any]:
        mu2 = p.at("mu2")
        solid = mu2 > 0.0
        at_rest, moving = _at_rest(p, kept), _at_centre(p, kind)
        whole = {n: moving[n] + at_rest[n] for n in STRESS}
        modulus = m.where(solid, mu2, 1.0) * p.scalar("unit_of_moduli")
        if kept.bent:  # coefficients are kept over the stretch of cells
            modulus = modulus * stretched(p, "sxx", "x")(0)
        given = own(p) | {"compliance": 1.0 / modulus}
        past = {s.name: p.at(s.name) if s.name in YIELDED else 0.0 for s in law.state}
        share, after = law.loss(given, constants, whole, past, (p.scalar("yield_step"), p.scalar("yield_relaxed")))
        after[WORK] = after[WORK] + share * (2.0 - share) * given["compliance"] * _spread(p, moving, kind)
        yields = solid & _may(p)
        strain = [after[n] for n in STRAIN_NAMES]
        work = sum((1.0 if n[2] == n[3] else 2.0) * (at_rest[n] * e) for n, e in zip(STRESS, strain, strict=True))
        result = {LOST: m.where(yields, share, 0.0), GIVEN: p.at(GIVEN) + m.where(yields, work, 0.0)}
        return result | {n: m.where(yields, after[n], p.at(n)) for n in YIELDED}

    return Stencil(f"yield_loss_{kind}", function, changes, lambda row: yield_rows.may_yield(row, LOST, kind))


def _may(p: Point) -> Any:
    """Whether a centre is where rock may yield."""
    return p.line(active("x"), "x") * (p.line(active("y"), "y") * p.line(active("z"), "z")) > 0.0


def _at_rest(p: Point, kept: Kept) -> dict[str, Any]:
    """The stress at rest at a centre."""
    if kept.proportional:
        load = p.at(LOAD)
        return {n: p.scalar(rest(n)) * load for n in STRESS}
    return {n: p.line(rest(n), "z") for n in STRESS}


def _at_rest_around(p: Point, name: str, kept: Kept, kind: str) -> Any:
    """A shear stress at rest where the grid has it."""
    if kept.proportional:
        return p.scalar(rest(name)) * mean(p, LOAD, IN_PLANE[name], 1, kind)
    return p.line(rest(name, IN_PLANE[name][1] == "z"), "z")


def _at_centre(p: Point, kind: str) -> dict[str, Any]:
    """The stress of waves at a centre."""
    found = dict(zip(("s_xx", "s_yy", "s_zz"), (p.at(n) for n in NORMAL), strict=True))
    return found | {n: mean(p, n.replace("_", ""), axes, -1, kind) for n, axes in IN_PLANE.items()}


def _spread(p: Point, means: Mapping[str, Any], kind: str) -> Any:
    """Mean squares of the shear stresses around less the squares of their means: the stresses around lose their share of these, too."""

    def square(name: str) -> Callable[..., Any]:
        return lambda **far: p.at(name, **far) * p.at(name, **far)

    found = [mean(p, square(n.replace("_", "")), axes, -1, kind) - means[n] * means[n] for n, axes in IN_PLANE.items()]
    return m.maximum(sum(found), 0.0)


STRAIN_NAMES = ("ep_xx", "ep_yy", "ep_zz", "ep_xy", "ep_yz", "ep_xz")


def yielding(kept: Kept, kind: str) -> Stencil:
    """The stresses without what is lost; ``kind`` of the planes: on the surface, of what is in the plane above."""

    def shares(p: Point) -> dict[str, Any]:
        kept_below = [n for n, axes in IN_PLANE.items() if kind == "surface" and "z" in axes]
        return {n: mean(p, LOST, axes, 1, kind) for n, axes in IN_PLANE.items() if n not in kept_below}

    def changes(p: Point) -> Any:
        return sum(shares(p).values()) + p.at(LOST) > 0.0

    def function(p: Point) -> dict[str, Any]:
        at_rest = _at_rest(p, kept)
        whole = {n: p.at(n) + at_rest[f"s_{n[1:]}"] for n in NORMAL}
        third = (whole["sxx"] + whole["syy"] + whole["szz"]) * (1.0 / 3.0)
        lost = p.at(LOST)
        result = {n: p.at(n) - lost * (whole[n] - third) for n in NORMAL}
        for n, share in shares(p).items():
            array = n.replace("_", "")
            result[array] = p.at(array) - share * (p.at(array) + _at_rest_around(p, n, kept, kind))
        return result

    return Stencil(f"yielding_{kind}", function, changes, lambda row: yield_rows.may_lose(row, LOST, kind))


def observers(
    scheme: Scheme, box: Box, law: Rheology, constants: Mapping[str, float], kept: Kept, factors: Mapping[str, float]
) -> Observer:
    """Arrays and launches in a box of the grid; next to its ends along z some of their own. ``factors`` of the stresses at rest
    where they are in proportion."""
    halo, line = scheme.reach, line_of(scheme, box, "z")
    arrays = dict.fromkeys((LOST, GIVEN, *YIELDED), Layout(box, group="yield", halo=halo))
    if kept.proportional:
        arrays[LOAD] = Layout(box, group="load", halo=halo)
    else:
        arrays |= {name: line for name, _, _ in lines_at_rest()}
    arrays |= mean_arrays(scheme)
    arrays |= {active(a): line_of(scheme, box, a) for a in AXES}
    strength = Layout(box, group="strength", halo=halo) if kept.lateral else line
    arrays |= dict.fromkeys(own_parameters(law), strength)
    (z0, y0, _), (z1, y1, _) = (scheme.filled(box).lo, scheme.filled(box).hi)
    arrays[yield_rows.ROOM] = Layout(Box((z0, y0, 0), (z1, y1, 1)), group="yield rows", halo=0)
    launches = []
    for low, high, kind in planes_of(scheme, box):
        region = Box((low, *box.lo[1:]), (high, *box.hi[1:]))
        launches += [
            (LOSS_LEVEL, Launch(losses(law, constants, kept, kind), region)),
            (YIELD_LEVEL, Launch(yielding(kept, kind), region)),
        ]
    relaxed = float(law.relaxed(constants, scheme.step))
    scalars = {"yield_step": scheme.step, "yield_relaxed": relaxed}
    scalars |= {rest(n): factors.get(n, 0.0) for n in STRESS if kept.proportional}
    return Observer(arrays, launches, scalars, yield_rows.peaks())


def lines(scheme: Scheme, at_rest: Callable[[np.ndarray], Mapping[str, np.ndarray]] | None) -> dict[str, np.ndarray]:
    """Values of the lines: stress at rest (``at_rest`` of heights z (n,) [m]) where that is kept by depth, and where rock may yield."""
    grid, found = scheme.grid, mean_lines(scheme)
    if at_rest is not None:
        values = {on: at_rest(heights(scheme, kind)) for kind, on in (("half", False), ("whole", True))}
        found = {line: values[on][name] for line, name, on in lines_at_rest()} | found
    return found | {active(a): active_cells(scheme, grid, a) for a in AXES}


def heights(scheme: Scheme, kind: str) -> np.ndarray:
    """Of the planes of the arrays, 'half' or 'whole' ones, those on faces and the surface too [m]."""
    found = scheme.grid.levels(kind)[: scheme.grid.shape[0] + scheme.ends.upper]
    return np.r_[scheme.grid.lower[2], found] if scheme.joined_below else found


def active_cells(scheme: Scheme, grid: Grid, axis: Axis) -> np.ndarray:
    """1, and 0 in absorbing layers and in the cells beside rigid sides, around which some shear stresses are not known. Beside faces to
    other grids they are."""
    count, more = grid.shape["zyx".index(axis)], 0
    widths = {"absorbing": scheme.absorber.width, "rigid": 1}
    low, high = (widths.get(scheme.sides[f"{axis}{end}"], 0) for end in "-+")
    if axis == "z":
        low, high = low * (not scheme.joined_below), high * (not scheme.joined_above)
        count, more = count - scheme.ends.first, int(scheme.ends.upper)
    found = np.ones(count + more)
    found[:low] = 0.0
    found[count - high :] *= not high
    return found


__all__ = [
    "GIVEN",
    "LOAD",
    "LOST",
    "YIELDED",
    "Kept",
    "active",
    "active_cells",
    "heights",
    "lines",
    "losses",
    "observers",
    "own_parameters",
    "rest",
    "yielding",
]
