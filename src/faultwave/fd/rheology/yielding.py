"""Yielding rock on the staggered grid: stencils after the elastic update, and the rows in which no point can yield.

A point yields only if waves have moved its stress farther than its initial distance from yield (``Rheology.distance``,
in the Frobenius norm). The change at a centre is bounded by its normal stresses and the largest of the shear stresses
around it, because means never exceed the values that they average. Therefore each row stores the peaks of these, found
during the stress update, and the smallest distance of its centres. Rows that are safe are skipped; all others are
evaluated as usual, so that results do not depend on the rows.

A rheology that scales the deviator (``Rheology.scales``) returns, at each cell centre, the share of the deviator of the
total stress (initial stress included) that is lost in the step; shear stresses enter as the means of the four around
the centre. Then normal stresses lose the share of their own centre, shear stresses the mean share of the four centres
around, as in AWP-ODC (Roten et al. 2016, SC16). Stresses are interpolated to centres only, and only the share is read
from neighbours. Because each component of the deviator only shrinks, the strain energy of the total stress never
increases. Means to and from centres are adjoint to each other (``fd.rheology.cell_means``), so that centres account for the work
that the stresses around them lose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from faultwave.fd.method.curvilinear_layer import stretched
from faultwave.fd.method.differences import PlanePosition
from faultwave.fd.method.grid import Grid, SideKind
from faultwave.fd.method.program import Observer
from faultwave.fd.method.scheme import Level, PlaneKind, Scheme, line_of
from faultwave.fd.method.stencils import AXES, NORMAL
from faultwave.fd.rheology.cell_means import IN_PLANE, LOW_OFFSETS, OFFSETS, mean, mean_arrays, mean_lines, planes_of
from faultwave.kernels import math as m
from faultwave.kernels.expr import Condition, Named, Number
from faultwave.kernels.stencil import Axis, Box, Launch, Layout, Peak, Point, Row, Stencil
from faultwave.physics.rheology import STRESS, Rheology

YIELD_DISTANCE = "yield_room"
"""Array of the squared distance from yield of every row, the smallest of its centres [Pa^2].

NaN where rock never yields.
"""
MARGIN = 1e-3
"""Safety margin relative to distances and initial stress, far larger than rounding in single precision."""


def row_peak(name: str) -> str:
    """Return the name of the row peak of a shear stress, or of the normal stresses together."""
    return f"peak_{name}"


def row_peaks() -> dict[str, Peak]:
    """Return the row peaks of wave stresses: sum of squares of normal ones [Pa^2], size of shear ones [Pa]."""

    def size(name: str) -> Peak:
        return Peak(Level.STRESS, lambda p: m.abs(p.at(name)))

    found = {
        row_peak("normal"): Peak(
            Level.STRESS, lambda p: sum(p.at(n) * p.at(n) for n in NORMAL[1:]) + p.at("sxx") * p.at("sxx")
        )
    }
    return found | {row_peak(n): size(n.replace("_", "")) for n in IN_PLANE}


def _planes(axes: tuple[Axis, Axis], to: PlanePosition, kind: PlaneKind) -> tuple[int, ...]:
    """Return the plane offsets that means on planes of this kind (``fd.rheology.cell_means``) read."""
    if "z" not in axes:
        return (0,)
    if kind == PlaneKind.INSIDE:
        return (-1, 0) if to == PlanePosition.HALF else (0, 1)
    return (LOW_OFFSETS if kind == PlaneKind.LOW else OFFSETS)[to]


def may_yield(row: Row, lost: str, kind: PlaneKind) -> Condition:
    """Return True if a row may have points that yield, or had some in the step before.

    ``lost`` is the array of the share lost.
    """
    moved = row.largest(row_peak("normal"))
    for name, axes in IN_PLANE.items():
        rows = (-1, 0) if "y" in axes else (0,)
        around = [row.largest(row_peak(name), z, y) for z in _planes(axes, PlanePosition.HALF, kind) for y in rows]
        size = around[0]
        for other in around[1:]:
            size = m.maximum(size, other)
        moved = moved + 2.0 * (size * size)
    return (row.number(YIELD_DISTANCE) <= moved) | (row.changed(lost) > 0.0)


def may_have_losses(row: Row, lost: str, kind: PlaneKind) -> Condition:
    """Return True if centres around a row (on the surface, in it) have lost stress in this step."""
    planes = (0,) if kind == PlaneKind.SURFACE else _planes(("y", "z"), PlanePosition.WHOLE, kind)
    return sum(row.changed(lost, z, y) for z in planes for y in (0, 1)) > 0.0


def distance_to_yield(law: Rheology, given: Named, constants: Mapping[str, float], rest: Named) -> np.ndarray:
    """Return the squared distance of centres from yield, less a margin [Pa^2]; negative if it is within the margin.

    Parameters
    ----------
    law : Rheology
    given : mapping of str to array
        Parameters of the rheology.
    constants : mapping of str to float
    rest : mapping of str to array
        Initial stress [Pa].
    """
    stress = {n: np.asarray(rest[n], float) for n in STRESS}
    distance = law.distance({n: np.asarray(v, float) for n, v in given.items()}, constants, stress)
    if distance is None:
        return np.array(-1.0)
    size = np.sqrt(sum((1.0 if n[2] == n[3] else 2.0) * v * v for n, v in stress.items()))
    left = distance - MARGIN * (np.abs(distance) + size)
    return np.where(left > 0.0, left * left, -1.0)


YIELDED = ("eta", "plastic_work")
"""State variables of the rheology that are stored at each centre."""
WORK = YIELDED[1]
LOST_SHARE, INITIAL_STRESS_WORK = "lost_share", "rest_work"
"""Arrays of the share of the deviator lost in a step, and of the work [J/m^3] done by the initial stress."""
LOAD = "rest_load"
"""Array of the common factor of all six initial stresses at each centre [Pa], where they are not stored by depth."""


@dataclass(frozen=True)
class RockStorage:
    """Storage of rock properties on a grid.

    Attributes
    ----------
    lateral : bool
        True if strength is stored at every point, False for profiles along z.
    proportional : bool
        True if the initial stress is stored as one factor at every point, to which its components are proportional;
        False for profiles along z.
    bent : bool
        True if planes follow a topography.
    """

    lateral: bool = False
    proportional: bool = False
    bent: bool = False


def rest(name: str, on_faces: bool = False) -> str:
    """Return the name of the profile along z of an initial stress, at cell centres or at the faces between them."""
    return f"rest_{name}" + "_faces" * on_faces


def lines_at_rest() -> tuple[tuple[str, str, bool], ...]:
    """Return the profiles of initial stress: name of the profile, stress, and True if at faces."""
    at_centres = [(rest(name), name, False) for name in STRESS]
    return (*at_centres, *((rest(name, True), name, True) for name in ("s_xz", "s_yz")))


def own_parameters(law: Rheology) -> tuple[str, ...]:
    """Return the parameters that a rheology needs at every point and that the grid does not have otherwise."""
    return tuple(name for name in law.kernel_parameters if name != "compliance")


def may_yield_profile(axis: Axis) -> str:
    """Return the name of the profile that is 1 where rock may yield and 0 in layers."""
    return f"yields_{axis}"


def losses(law: Rheology, constants: Mapping[str, float], storage: RockStorage, kind: PlaneKind) -> Stencil:
    """Return the stencil of the fraction of deviatoric stress that yielding removes at cell centres, and of its state variables.

    Parameters
    ----------
    law : Rheology
    constants : mapping of str to float
        Constants of the rheology.
    storage : RockStorage
        Storage of the rock properties.
    kind : PlaneKind
        Kind of the planes (``planes_of``).
    """

    def own(p: Point) -> dict[str, Number]:
        return {n: p.at(n) if storage.lateral else p.line(n, "z") for n in own_parameters(law)}

    def changes(p: Point) -> Condition:
        past = {s.name: p.at(s.name) if s.name in YIELDED else 0.0 for s in law.state}
        at_rest = _at_rest(p, storage)
        whole = {n: v + at_rest[n] for n, v in _at_centre(p, kind).items()}
        yields = law.yields(own(p), constants, whole, past, p.scalar("yield_step"))
        return (yields & _may(p)) | (p.at(LOST_SHARE) > 0.0)

    def function(p: Point) -> dict[str, Number]:
        mu2 = p.at("mu2")
        solid = mu2 > 0.0
        at_rest, moving = _at_rest(p, storage), _at_centre(p, kind)
        whole = {n: moving[n] + at_rest[n] for n in STRESS}
        modulus = m.where(solid, mu2, 1.0) * p.scalar("unit_of_moduli")
        if storage.bent:  # coefficients are stored divided by the stretch of cells
            modulus = modulus * stretched(p, "sxx", "x")(0)
        given = own(p) | {"compliance": 1.0 / modulus}
        past = {s.name: p.at(s.name) if s.name in YIELDED else 0.0 for s in law.state}
        share, after = law.loss(given, constants, whole, past, (p.scalar("yield_step"), p.scalar("yield_relaxed")))
        after[WORK] = after[WORK] + share * (2.0 - share) * given["compliance"] * _shear_scatter(p, moving, kind)
        yields = solid & _may(p)
        strain = [after[n] for n in STRAIN_NAMES]
        work = sum((1.0 if n[2] == n[3] else 2.0) * (at_rest[n] * e) for n, e in zip(STRESS, strain, strict=True))
        result = {
            LOST_SHARE: m.where(yields, share, 0.0),
            INITIAL_STRESS_WORK: p.at(INITIAL_STRESS_WORK) + m.where(yields, work, 0.0),
        }
        return result | {n: m.where(yields, after[n], p.at(n)) for n in YIELDED}

    return Stencil(f"yield_loss_{kind}", function, changes, lambda row: may_yield(row, LOST_SHARE, kind))


def _may(p: Point) -> Condition:
    """Return True at a centre where rock may yield."""
    return (
        p.line(may_yield_profile("x"), "x")
        * (p.line(may_yield_profile("y"), "y") * p.line(may_yield_profile("z"), "z"))
        > 0.0
    )


def _at_rest(p: Point, storage: RockStorage) -> dict[str, Number]:
    """Return the initial stress at a centre."""
    if storage.proportional:
        load = p.at(LOAD)
        return {n: p.scalar(rest(n)) * load for n in STRESS}
    return {n: p.line(rest(n), "z") for n in STRESS}


def _at_rest_around(p: Point, name: str, storage: RockStorage, kind: PlaneKind) -> Number:
    """Return an initial shear stress at the place of the grid's shear stress."""
    if storage.proportional:
        return p.scalar(rest(name)) * mean(p, LOAD, IN_PLANE[name], 1, kind)
    return p.line(rest(name, IN_PLANE[name][1] == "z"), "z")


def _at_centre(p: Point, kind: PlaneKind) -> dict[str, Number]:
    """Return the stress of waves at a centre."""
    found = dict(zip(("s_xx", "s_yy", "s_zz"), (p.at(n) for n in NORMAL), strict=True))
    return found | {n: mean(p, n.replace("_", ""), axes, -1, kind) for n, axes in IN_PLANE.items()}


def _shear_scatter(p: Point, means: Named, kind: PlaneKind) -> Number:
    """Return mean squares of the surrounding shear stresses less the squares of their means.

    Stresses around a centre lose their share of this energy, too.
    """

    def square(name: str) -> Callable[..., Number]:
        return lambda **far: p.at(name, **far) * p.at(name, **far)

    found = [mean(p, square(n.replace("_", "")), axes, -1, kind) - means[n] * means[n] for n, axes in IN_PLANE.items()]
    return m.maximum(sum(found), 0.0)


STRAIN_NAMES = ("ep_xx", "ep_yy", "ep_zz", "ep_xy", "ep_yz", "ep_xz")


def yielding(storage: RockStorage, kind: PlaneKind) -> Stencil:
    """Return the stencil that reduces the stresses by the lost share.

    ``kind`` is the kind of planes; on the surface, quantities of the plane above are included.
    """

    def shares(p: Point) -> dict[str, Number]:
        unchanged = [n for n, axes in IN_PLANE.items() if kind == PlaneKind.SURFACE and "z" in axes]
        return {n: mean(p, LOST_SHARE, axes, 1, kind) for n, axes in IN_PLANE.items() if n not in unchanged}

    def changes(p: Point) -> Condition:
        return sum(shares(p).values()) + p.at(LOST_SHARE) > 0.0

    def function(p: Point) -> dict[str, Number]:
        at_rest = _at_rest(p, storage)
        whole = {n: p.at(n) + at_rest[f"s_{n[1:]}"] for n in NORMAL}
        third = (whole["sxx"] + whole["syy"] + whole["szz"]) * (1.0 / 3.0)
        lost = p.at(LOST_SHARE)
        result = {n: p.at(n) - lost * (whole[n] - third) for n in NORMAL}
        for n, share in shares(p).items():
            array = n.replace("_", "")
            result[array] = p.at(array) - share * (p.at(array) + _at_rest_around(p, n, storage, kind))
        return result

    return Stencil(f"yielding_{kind}", function, changes, lambda row: may_have_losses(row, LOST_SHARE, kind))


def observers(
    scheme: Scheme,
    box: Box,
    law: Rheology,
    constants: Mapping[str, float],
    storage: RockStorage,
    factors: Mapping[str, float],
) -> Observer:
    """Return the observer of yielding rock in a box of the grid; planes near its ends along z have separate stencils.

    Parameters
    ----------
    scheme : Scheme
    box : Box
    law : Rheology
    constants : mapping of str to float
        Constants of the rheology.
    storage : RockStorage
        Storage of the rock properties.
    factors : mapping of str to float
        Ratios of the six initial stresses to their common factor, if proportional.
    """
    halo, line = scheme.reach, line_of(scheme, box, "z")
    arrays = dict.fromkeys((LOST_SHARE, INITIAL_STRESS_WORK, *YIELDED), Layout(box, group="yield", halo=halo))
    if storage.proportional:
        arrays[LOAD] = Layout(box, group="load", halo=halo)
    else:
        arrays |= {name: line for name, _, _ in lines_at_rest()}
    arrays |= mean_arrays(scheme)
    arrays |= {may_yield_profile(a): line_of(scheme, box, a) for a in AXES}
    strength = Layout(box, group="strength", halo=halo) if storage.lateral else line
    arrays |= dict.fromkeys(own_parameters(law), strength)
    (z0, y0, _), (z1, y1, _) = (scheme.filled(box).lo, scheme.filled(box).hi)
    arrays[YIELD_DISTANCE] = Layout(Box((z0, y0, 0), (z1, y1, 1)), group="yield rows", halo=0)
    launches = []
    for low, high, kind in planes_of(scheme, box):
        region = Box((low, *box.lo[1:]), (high, *box.hi[1:]))
        launches += [
            (Level.LOSS, Launch(losses(law, constants, storage, kind), region)),
            (Level.YIELD, Launch(yielding(storage, kind), region)),
        ]
    relaxed = float(np.asarray(law.relaxed(constants, scheme.step)))
    scalars = {"yield_step": scheme.step, "yield_relaxed": relaxed}
    scalars |= {rest(n): factors.get(n, 0.0) for n in STRESS if storage.proportional}
    return Observer(arrays, launches, scalars, row_peaks())


def lines(scheme: Scheme, at_rest: Callable[[np.ndarray], Mapping[str, np.ndarray]] | None) -> dict[str, np.ndarray]:
    """Return the values of the profiles: where rock may yield, and the initial stress if it is stored by depth.

    ``at_rest`` returns the initial stress [Pa] at heights z (n,) [m]; None if it is stored otherwise.
    """
    grid, found = scheme.grid, mean_lines(scheme)
    if at_rest is not None:
        values = {
            on: at_rest(heights(scheme, kind))
            for kind, on in ((PlanePosition.HALF, False), (PlanePosition.WHOLE, True))
        }
        found = {line: values[on][name] for line, name, on in lines_at_rest()} | found
    return found | {may_yield_profile(a): active_cells(scheme, grid, a) for a in AXES}


def heights(scheme: Scheme, position: PlanePosition) -> np.ndarray:
    """Return the heights [m] of the arrays' half or whole planes, including faces and the surface."""
    found = scheme.grid.levels(position)[: scheme.grid.shape[0] + scheme.ends.upper]
    return np.r_[scheme.grid.lower[2], found] if scheme.joined_below else found


def active_cells(scheme: Scheme, grid: Grid, axis: Axis) -> np.ndarray:
    """Return a profile of 1, with 0 in absorbing layers and in cells next to rigid sides.

    Around cells next to rigid sides some shear stresses are not known; next to faces to other grids all are.
    """
    count, more = grid.shape["zyx".index(axis)], 0
    widths = {SideKind.ABSORBING: scheme.absorber.width, SideKind.RIGID: 1}
    low, high = (widths.get(scheme.sides[f"{axis}{end}"], 0) for end in "-+")
    if axis == "z":
        low, high = low * (not scheme.joined_below), high * (not scheme.joined_above)
        count, more = count - scheme.ends.first, int(scheme.ends.upper)
    found = np.ones(count + more)
    found[:low] = 0.0
    found[count - high :] *= not high
    return found
