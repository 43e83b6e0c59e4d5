"""Total field on one side of the faces of a box and scattered field on the other: geometry and corrections of the stencils.

All updates are linear. One side holds the total wave field, the other only the difference from a known incident field.
Where the stencil of a point with the total field reads one across the faces, the incident field there is missing and is
added; where the stencil of a point with the scattered field does, it is in excess and is subtracted (Robertsson &
Chapman 2000, Geophysics 65; the domain reduction method of Bielak et al. 2003, BSSA 93, is equivalent for linear media).
The total field is inside the box for waves of sources outside, and outside for waves of sources inside. The corrections
are derived from the stencils themselves: these are called with linear forms in place of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, cast

import numpy as np

from faultwave.base.errors import Problems
from faultwave.case.settings.model import Case
from faultwave.fd.capability import FdPlan
from faultwave.fd.contexts import MaterialContext, PlacementContext
from faultwave.fd.method import stencils
from faultwave.fd.method.differences import WEIGHTS, WHOLE, PlanePosition, Weights
from faultwave.fd.method.effective_medium import rounded_at
from faultwave.fd.method.grid import Grid
from faultwave.fd.method.program import coefficients, fields
from faultwave.fd.method.scheme import Level
from faultwave.fd.operators.operator import storage_units
from faultwave.fd.operators.time_dispersion import removes
from faultwave.kernels.stencil import Axis, Box, Stencil

if TYPE_CHECKING:
    from scipy import sparse


Points = np.ndarray
"""Indices (n, 3) along (z, y, x) of points of the grid."""


@dataclass(frozen=True)
class TotalField:
    """Box whose faces separate the total field from the scattered field.

    Attributes
    ----------
    box : Box
    top : int or None
        Plane on the free surface if the box extends up to it.
    outward : bool
        True if the total field is outside the box, False if it is inside.
    """

    box: Box
    top: int | None = None
    outward: bool = False

    def total(self, points: Points) -> np.ndarray:
        """Return a mask of the points (n, 3) that hold the total field."""
        return self.inside(points) != self.outward

    def inside(self, points: Points) -> np.ndarray:
        """Return a mask of the points (n, 3) inside the box, which has no upper side if it reaches the free surface."""
        lo, hi = np.array(self.box.lo), np.array(self.box.hi)
        if self.top is not None:
            hi[0] = np.iinfo(np.int64).max
        return np.asarray(((points >= lo) & (points < hi)).all(1))

    def strip(self, reach: int) -> Points:
        """Return all points from which the other side is at most ``reach`` points away."""
        lo, hi = np.array(self.box.lo) - reach, np.array(self.box.hi) + reach
        if self.top is not None:
            hi[0] = self.top + 1
        axes = [np.arange(a, b) for a, b in zip(lo, hi, strict=True)]
        deep = [(x >= a + reach) & (x < b - reach) for x, a, b in zip(axes, self.box.lo, self.box.hi, strict=True)]
        if self.top is not None:
            deep[0] = axes[0] >= self.box.lo[0] + reach
        z, y, x = np.nonzero(~(deep[0][:, None, None] & deep[1][:, None] & deep[2]))
        return np.stack([axes[0][z], axes[1][y], axes[2][x]], 1)

    def there(self, name: str, points: Points) -> np.ndarray:
        """Return a mask of the points (n, 3) at which a quantity exists; on a free surface, only if on half planes."""
        return np.ones(len(points), bool) if self.top is None else points[:, 0] < self.top + (name not in WHOLE)


class _LinearForm:
    """Linear form: sum of values of arrays at offsets (name, z, y, x), each times a factor per point."""

    __array_ufunc__ = None

    def __init__(self, terms: dict[tuple[str, int, int, int], np.ndarray]):
        self.terms = terms

    def __add__(self, other: _LinearForm) -> _LinearForm:
        found = dict(self.terms)
        for key, factor in other.terms.items():
            found[key] = found[key] + factor if key in found else factor
        return _LinearForm(found)

    def __mul__(self, factor: np.ndarray | float) -> _LinearForm:
        return _LinearForm({key: factor * value for key, value in self.terms.items()})

    def __neg__(self) -> _LinearForm:
        return self * -1.0

    def __sub__(self, other: _LinearForm) -> _LinearForm:
        return self + (-other)

    def __truediv__(self, divisor: np.ndarray | float) -> _LinearForm:
        return self * (1.0 / divisor)

    def _not_linear(self, other: object) -> NoReturn:
        raise TypeError("linear forms can be added and multiplied by numbers, and nothing else")

    __rmul__ = __mul__
    __radd__ = __add__
    __rsub__ = __rtruediv__ = __lt__ = __le__ = __gt__ = __ge__ = _not_linear


@dataclass(frozen=True)
class _Point:
    """Stencil points whose wave fields are linear forms and whose coefficients are numbers."""

    moving: frozenset[str]
    coefficients: Mapping[str, np.ndarray]
    scalars: Mapping[str, float]
    parities: Mapping[str, np.ndarray]

    def at(self, name: str, x: int = 0, y: int = 0, z: int = 0) -> _LinearForm | np.ndarray:
        if name in self.moving:
            return _LinearForm({(name, z, y, x): np.ones(())})
        if x or y or z:
            raise ValueError(f"{name} is read away from the point")
        return self.coefficients[name]

    def on(self, name: str, plane: int, x: int = 0, y: int = 0) -> _LinearForm:
        raise ValueError("the stencils of points inside the grid read no planes by number")

    def line(self, name: str, axis: Axis) -> float:
        raise ValueError(f"{name}: absorbing layers have no total field")

    def parity(self, name: str) -> np.ndarray:
        return self.parities[name]

    def scalar(self, name: str) -> float:
        return self.scalars[name]


@dataclass(frozen=True)
class LevelCorrections:
    """Corrections after one level of the program.

    Attributes
    ----------
    number : int
        LevelCorrections.
    rows : mapping of str to ndarray
        Indices of the corrected points by array; rows of all arrays are concatenated.
    weights : mapping of str to sparse array (rows, points)
        Factors of the incident field by array; the columns are the points of ``needed``.
    """

    number: int
    rows: Mapping[str, np.ndarray]
    weights: Mapping[str, sparse.csr_array]

    @property
    def count(self) -> int:
        """Number of rows."""
        return sum(map(len, self.rows.values()))

    def increments(self, incident: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the corrections (steps, rows) for an incident field (steps, points) by array."""
        parts = [(weights @ incident[name].T).T for name, weights in self.weights.items() if weights.shape[1]]
        return np.asarray(sum(parts[1:], start=parts[0]))


@dataclass(frozen=True)
class Update:
    """Update of points outside absorbing layers: with ``attenuation`` or without, by differences of an ``order``."""

    attenuation: bool
    order: int

    @classmethod
    def of(cls, case: Case, order: int) -> Update:
        """Return the update of a case in a block of this order."""
        return cls(case.attenuation is not None, order)

    @property
    def kernels(self) -> tuple[tuple[int, Stencil], ...]:
        """Stencils by level."""
        place = stencils.StencilPlace(order=self.order)
        return (
            (Level.VELOCITY, stencils.velocity(False, place)),
            (Level.STRESS, stencils.stress(self.attenuation, False, place)),
        )

    @property
    def weights(self) -> Weights:
        """Weights of the differences."""
        return WEIGHTS[self.order]

    @property
    def reach(self) -> int:
        """Number of points that stencils read to either side."""
        return self.weights.reach


def _crossing(
    where: TotalField, points: Points, form: _LinearForm
) -> dict[str, list[tuple[np.ndarray, Points, np.ndarray]]]:
    """Return the terms of a form that cross the boundary of the box.

    Returns
    -------
    dict of str to list
        By array: indices of points, the points that they read on the other side, and signed factors.
    """
    here, total = where.inside(points), where.total(points)
    found = dict[str, list[tuple[np.ndarray, Points, np.ndarray]]]()
    for (name, *offset), factor in form.terms.items():
        other = points + np.array(offset)
        across = np.flatnonzero((where.inside(other) != here) & where.there(name, other))
        if len(across):
            signed = np.broadcast_to(factor, len(points))[across] * np.where(total[across], 1.0, -1.0)
            found.setdefault(name, []).append((across, other[across], signed))
    return found


@dataclass(frozen=True)
class StencilCoefficients:
    """Coefficients of the stencils.

    Attributes
    ----------
    coefficient : callable
        Returns a material coefficient by name at all points.
    scalars : mapping of str to float
    parities : mapping of str to ndarray (2, 2, 2)
        Tables by parity along z, y and x.
    """

    coefficient: Callable[[str], np.ndarray]
    scalars: Mapping[str, float]
    parities: Mapping[str, np.ndarray]


def needed(where: TotalField, update: Update) -> dict[str, Points]:
    """Return the points (n, 3), by array, whose incident field is needed; the same for every material."""
    blank = StencilCoefficients(
        lambda name: np.ones(()),
        {f"c{n + 1}{kind}": 1.0 for n in range(update.reach) for kind in "sv"},
        dict.fromkeys("AB", np.ones((2, 2, 2))),
    )
    found: dict[str, list[Points]] = {}
    points = where.strip(update.reach)
    for _, forms in _forms(points, update, blank):
        for output, form in forms.items():
            mine = where.there(output, points)
            for name, parts in _crossing(where, points, form).items():
                found.setdefault(name, []).extend(other[mine[across]] for across, other, _ in parts)
    return {name: np.unique(np.concatenate(found[name]), axis=0) for name in stencils.FIELDS if name in found}


def _forms(points: Points, update: Update, numbers: StencilCoefficients) -> list[tuple[int, dict[str, _LinearForm]]]:
    """Return, by level, the update of every array at points (n, 3) as linear forms."""
    moving = frozenset(fields(update.attenuation))
    known = {name: numbers.coefficient(name) for name in coefficients(update.attenuation)}
    z, y, x = (points % 2).T
    point = _Point(moving, known, numbers.scalars, {name: table[z, y, x] for name, table in numbers.parities.items()})
    return [(level, cast(dict[str, _LinearForm], kernel.function(point))) for level, kernel in update.kernels]


def levels(
    where: TotalField, update: Update, numbers: StencilCoefficients, listed: Mapping[str, Points], points: Points
) -> list[LevelCorrections]:
    """Return the corrections at ``points`` due to an incident field.

    Parameters
    ----------
    where : TotalField
    update : Update
    numbers : StencilCoefficients
        Coefficients at ``points``.
    listed : mapping of str to ndarray
        Points of the incident field by array (see ``needed``).
    points : ndarray (n, 3)

    Returns
    -------
    list of LevelCorrections
    """
    columns = {name: _Columns(of) for name, of in listed.items()}
    found = []
    for number, forms in _forms(points, update, numbers):
        rows, parts, count = dict[str, np.ndarray](), dict[str, list[tuple[np.ndarray, ...]]](), 0
        for output, form in forms.items():
            mine = where.there(output, points)
            crossing = _crossing(where, points, form)
            acting = [across[mine[across]] for listed_ in crossing.values() for across, _, _ in listed_]
            at = np.unique(np.concatenate(acting)) if acting else np.zeros(0, np.int64)
            if not len(at):
                continue
            rows[output] = at
            for name, terms in crossing.items():
                for across, other, factor in terms:
                    retained = mine[across]
                    place = count + np.searchsorted(at, across[retained])
                    parts.setdefault(name, []).append((place, columns[name].of(other[retained]), factor[retained]))
            count += len(at)
        weights = {}
        for name, listed_parts in parts.items():
            from scipy import sparse  # takes long to import, and few runs need it

            row, column, factor = (np.concatenate(part) for part in zip(*listed_parts, strict=True))
            weights[name] = sparse.csr_array((factor, (row, column)), (count, len(listed[name])))
        found.append(LevelCorrections(number, rows, weights))
    return found


class _Columns:
    """Inverse index of a list of points."""

    def __init__(self, points: Points):
        self.low, self.size = points.min(0), np.ptp(points, axis=0) + 1
        self.keys = np.ravel_multi_index((points - self.low).T, self.size)
        self.order = np.argsort(self.keys)

    def of(self, points: Points) -> np.ndarray:
        keys = np.ravel_multi_index((points - self.low).T, self.size)
        return np.asarray(self.order[np.searchsorted(self.keys, keys, sorter=self.order)])


def stored_coefficient(plan: FdPlan, name: str, points: np.ndarray) -> np.ndarray:
    """Return a coefficient (n,) in SI units at points (n, 3) of the box of this process."""
    made, box = plan.medium.coefficients, plan.scheme.filled(plan.box)
    whole = np.broadcast_to(made[name], box.shape)
    values = np.asarray(whole[tuple((points - np.array(box.lo)).T)], float)
    units = storage_units(plan.medium, plan.case.numerics.precision, plan.partition)
    if units is None:
        return values
    unit, number = units.of(name), list(made).index(name)
    return unit * rounded_at(values / unit, points % np.array(plan.scheme.grid.shape), number)


LEAST_BOX_CELLS = 4
"""Smallest number of cells of a box along each axis."""


def block_with(placing: PlacementContext, lower: np.ndarray, upper: np.ndarray) -> int:
    """Return the number of the block that contains the middle of a box."""
    return int(placing.block_at(np.array([0.5 * (lower[2] + upper[2])]))[0])


def total_field(
    placing: PlacementContext, lower: np.ndarray, upper: np.ndarray, free_surface: bool, where: str
) -> TotalField | None:  # fmt: skip
    """Return the cells whose centres lie in a box, or None with problems reported if the box does not fit.

    Parameters
    ----------
    placing : PlacementContext
        Grid that must contain the box; one of the blocks if it has several.
    lower, upper : ndarray, shape (3,)
        Corners [m].
    free_surface : bool
        True if the upper side of the grid is a free surface. A box that reaches it has no upper face.
    where : str
        Setting named in the problems.
    """
    update, block = Update.of(placing.case, placing.order), placing.blocks[0]
    grid, reach, problems = placing.grid, 2 * update.reach, placing.problems
    read = update.weights.read
    joined = block.joined_below, block.joined_above
    free_surface = free_surface and not block.joined_above
    h, count, before = grid.spacing, np.array(grid.shape[::-1]), len(problems.items)
    a, b = (np.rint((corner - np.array(grid.lower)) / h).astype(int) for corner in (lower, upper))
    first, last = (
        np.rint((corner - np.array(grid.lower)) / h).astype(int) for corner in (placing.lower, placing.upper)
    )
    open_top = bool(free_surface and b[2] >= count[2])
    for k, axis in enumerate("xyz"):
        below = axis == "z" and free_surface  # a free surface
        if b[k] - a[k] < LEAST_BOX_CELLS:
            problems.error(
                where, f"the box has {max(b[k] - a[k], 0)} cells of {h:g} m along {axis}", f"at least {LEAST_BOX_CELLS}"
            )
        ends = [axis == "z" and end for end in joined]  # faces to other blocks
        available = read + reach // 2 if ends[0] else reach
        low = grid.lower[k] + h * (first[k] + available)
        if a[k] < first[k] + available:
            side, advice = _side(ends[0], available)
            what = f"the face {axis} = {lower[k]:g} m is too close to the {side}"
            problems.error(where, what, f"{low:g} m or more", advice)
        if below and b[2] > count[2]:
            problems.error(
                where, f"the face z = {upper[2]:g} m is above the free surface", f"at most {grid.upper[2]:g} m"
            )
        far = last[k] - (read + reach // 2 if below or ends[1] else reach)
        if b[k] > far and not (below and open_top):
            side, advice = ("free surface", "") if below else _side(ends[1], read + reach // 2 if ends[1] else reach)
            what = f"the face {axis} = {upper[k]:g} m is too close to the {side}"
            surface = f", or {grid.upper[2]:g} m, the free surface" if below else ""
            problems.error(where, what, f"at most {grid.lower[k] + h * far:g} m{surface}", advice)
    if open_top and a[2] > count[2] - read - reach // 2:
        allowed = f"at most {grid.upper[2] - h * (read + reach // 2):g} m"
        problems.error(where, f"the lower face z = {lower[2]:g} m is too close to the free surface", allowed)
    _check_flat(grid, b[2], where, problems)
    if len(problems.items) > before:
        return None
    top = int(count[2]) if open_top else None
    return TotalField(Box((int(a[2]), int(a[1]), int(a[0])), (int(b[2]), int(b[1]), int(b[0]))), top)


def _side(joined: bool, available: int) -> tuple[str, str]:
    """Return the side or face that a box is too close to, and the advice."""
    if joined:
        return (
            "face between two blocks of the grid",
            f"A box must be in one block, at least {available} of its points away from others.",
        )
    return "side of the grid or to its layers", f"The faces stay {available} points from both."


def _check_flat(grid: Grid, highest: int, where: str, problems: Problems) -> None:
    """Report an error if the box reaches planes that follow the topography."""
    if grid.relief is None:
        return
    bent = grid.relief.bottom - grid.spacing * REACHED
    if grid.lower[2] + grid.spacing * highest > bent:
        what = "the box reaches the curvilinear layer below the ground"
        problems.error(
            where,
            what,
            f"an upper face at {bent:.6g} m or below",
            "Boxes below topography are not supported; use engine: dg.",
        )


REACHED = 14
"""Number of planes below the curvilinear layer that its stencils read and compute."""


def check_border(checking: MaterialContext, where: TotalField, setting: str) -> None:
    """Report an error if the box overlaps planes with a fluid-solid interface, where differences are modified."""
    border, reach = checking.medium.border, Update.of(checking.case, checking.placing.order).reach
    if border is None:
        return
    low, high = where.box.lo[0] - reach, where.box.hi[0] + reach
    if low < border[1] and border[0] < high:
        first, end = (checking.placing.grid.levels(PlanePosition.HALF)[[max(v - 1, 0) for v in border]]).tolist()
        what = (
            f"the box intersects planes around a fluid-solid interface, z = {first:.6g} to {end:.6g} m, "
            "which use different stencils"
        )
        checking.problems.error(
            setting,
            what,
            "a box above or below them",
            "Record and inject without a fluid-solid interface at those depths.",
        )


def check_dispersion_is_uncorrected(case: Case, where: str, problems: Problems) -> None:
    """Report an error if time dispersion is removed: recorded or injected waves must be the grid's own."""
    if removes(case):
        what = (
            "waves at the box include the time dispersion of the grid, but sources and seismograms are corrected for it"
        )
        problems.error(where, what, "grid.time_dispersion: keep")


def box_corners(grid: Grid, where: TotalField) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and the upper corner (3,) [m] of the cells of a box."""
    lo, hi = np.array(where.box.lo[::-1]), np.array(where.box.hi[::-1])
    return np.array(grid.lower) + grid.spacing * lo, np.array(grid.lower) + grid.spacing * hi
