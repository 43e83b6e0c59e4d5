"""Differences on the staggered grid: of order 4 or 8 inside, of second or third order along z beside the free surface.

Beside the surface they are those of staggered summation by parts. Along z quantities live on two grids: w, sxz and syz on *whole*
planes, the others on *half* planes between them. The surface is the uppermost of both: u, v, the normal stresses and sxy have one
plane more, on it. Counted in spacings downwards from the surface,

    whole: 0, 1, 2, 3, ...        half: 0, 1/2, 3/2, 5/2, ...

Differences of quantities of one grid are wanted on the other. With the diagonal norms H (quadrature weights of the planes, in
cells) of ``closures``, those of stresses are minus the adjoints of those of velocities, as summation by parts asks for where no traction
acts. So the operator of the grid is self-adjoint in the norm of the energy, in any material: energy is kept, and sources and
receivers are reciprocal. Means along z, which grids that follow a topography need, are adjoints of each other in the same norms.
The weights of ``closures`` are half of them, all others follow. Those of means are of O'Reilly & Petersson (2019, arXiv:1907.01105), as in
the MIT-licensed tables of sbp.jl.

Where a grid is joined to another one, which lies above or below, the same differences end at the plane that both share, upside down at
its lower end. There they take the other grid's value on that plane, interpolated, where they would take half of their own jump to it:
of what is on the plane itself, one half of the jump over the plane's weight, on both sides and for velocities and stresses alike. So
the operator of both grids together is self-adjoint in the sum of their norms (O'Reilly et al. 2017; Gao & Keyes,
arXiv:1903.06795): energy is kept, whatever the material.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from faultwave.fd.closures import WEIGHTS

C1, C2 = WEIGHTS[4].inside
"""Weights of the nearest and the next pair of a difference of fourth order on a staggered grid."""
NORM, DEEP, READ = WEIGHTS[4].norm, WEIGHTS[4].deep, WEIGHTS[4].read
"""Of order 4: the norm H by grid, planes with differences of their own, and how many these read."""
GRIDS = ("whole", "half")
M1, M2 = 9.0 / 16.0, -1.0 / 16.0
"""The same of a mean, which is half a point ahead or behind."""
WHOLE = ("w", "sxz", "syz", "mean_w")
"""What lives on whole planes; all else on half planes."""
_MEANS_ON_HALF = (
    (0.8338228784688313, 0.17751233164292596, 0.14350670130765417, -0.15484191141941145, 0.0),
    (0.1813404047323969, 1.1246711188154426, -0.2933634518280757, -0.012648071719763686, 0.0),
    (-0.13311427062823994, 0.7930714675884345, 0.31319987670785077, 0.026842926331954644, 0.0),
    (0.09690785566330458, -0.1539344946680898, 0.44864912028443893, 0.6768738207821733, -0.06849630206182696),
)
"""Means on the uppermost half planes, of the uppermost whole planes."""
LOWS = {order: max(len(norm) for norm in of.norm.values()) for order, of in WEIGHTS.items()}
"""Planes with differences of their own at the lower end of a grid that is joined to one below, by order: that on the face, which is kept in
plane -1 of the arrays, and those above."""
LOW = LOWS[4]


@cache
def _matrices(order: int) -> dict[tuple[str, bool], np.ndarray]:
    """Differences downwards on planes (row) by planes of the other grid (column), from the surface down: by the grid they are on, and
    whether the surface bears no traction."""
    of = WEIGHTS[order]
    count, near = 2 * of.read, of.reach
    half = np.zeros((count, count))
    half[: len(of.on_half), : len(of.on_half[0])] = of.on_half
    inside = [*(-c for c in reversed(of.inside)), *of.inside]
    for n in range(len(of.on_half), count):
        for column, weight in zip(range(n - near, n + near), inside, strict=True):
            if column < count:
                half[n, column] = weight
    h, p = (np.r_[of.norm[grid], np.ones(count - len(of.norm[grid]))] for grid in ("half", "whole"))
    whole_free = -(h[:, None] * half).T / p[:, None]
    whole = whole_free.copy()
    whole[0, 0] -= 1.0 / p[0]
    half_free = -(p[:, None] * whole).T / h[:, None]
    return {("half", False): half, ("half", True): half_free, ("whole", False): whole, ("whole", True): whole_free}


def _joined(grid: str, order: int) -> np.ndarray:
    """Those where the surface is the face to another grid, without what that adds: half of the jump over H."""
    found = _matrices(order)[grid, False].copy()
    found[0, 0] = 0.0 if order == 4 else found[0, 0] + 0.5 / WEIGHTS[order].norm[grid][0]  # of order 4 exactly zero
    return found


def joint(grid: str, order: int = 4) -> float:
    """What a difference downwards on the face itself takes of the other grid's value there, one over a spacing."""
    return -0.5 / WEIGHTS[order].norm[grid][0]


def _means() -> dict[str, np.ndarray]:
    """Means on planes (row) of planes of the other grid (column), from the surface down, by the grid they are on."""
    count = 2 * WEIGHTS[4].read
    half = np.zeros((count, count))
    half[: len(_MEANS_ON_HALF), : len(_MEANS_ON_HALF[0])] = _MEANS_ON_HALF
    for n in range(len(_MEANS_ON_HALF), count):
        for column, weight in zip(range(n - 2, n + 2), (M2, M1, M1, M2), strict=True):
            if column < count:
                half[n, column] = weight
    norms = WEIGHTS[4].norm
    h, p = (np.r_[norms[grid], np.ones(count - len(norms[grid]))] for grid in ("half", "whole"))
    return {"half": half, "whole": (h[:, None] * half).T / p[:, None]}


_MEANS = _means()


def grid_of(name: str) -> str:
    """'whole' or 'half': the planes a quantity lives on."""
    return "whole" if name in WHOLE else "half"


def other(grid: str) -> str:
    """The grid that differences of quantities of ``grid`` are on."""
    return "half" if grid == "whole" else "whole"


def low_planes(order: int = 4) -> np.ndarray:
    """Those that the differences beside a joined lower end read, from the face up: half planes on it are kept in plane -1, as whole ones
    are."""
    return np.arange(LOWS[order] + WEIGHTS[order].reach) - 1


def planes(grid: str, top: int, order: int = 4) -> np.ndarray:
    """The planes of the arrays that the differences beside the surface read, of a quantity of ``grid``, from the surface down; half planes
    on the surface are kept in plane ``top``, one above the last."""
    return top - (grid == "whole") - np.arange(WEIGHTS[order].read)


def weights(grid: str, traction_free: bool, order: int = 4, joined: bool = False) -> np.ndarray:
    """Differences upwards of a quantity of ``grid`` on the other one, in spacings: (deep, read), in the uppermost planes of the arrays up
    to the one on the surface, or on the face to a grid above, by those of ``planes``. Zero where there is no such plane."""
    of = _joined(other(grid), order) if joined else _matrices(order)[other(grid), traction_free]
    return _uppermost(grid, -of, order)


def low_weights(grid: str, order: int = 4) -> np.ndarray:
    """The same beside a joined lower end: (LOWS, planes), from plane -1 up, by those of ``low_planes``."""
    return _joined(other(grid), order)[: LOWS[order], : len(low_planes(order))]


def _uppermost(grid: str, matrix: np.ndarray, order: int) -> np.ndarray:
    """Rows of a matrix, from the surface down, as weights of planes of the arrays of a quantity of ``grid``, from the lowest up."""
    deep, read = WEIGHTS[order].deep, WEIGHTS[order].read
    found = np.zeros((deep, read))
    if grid == "whole":
        found[:] = matrix[:deep, :read][::-1]
    else:
        found[:-1] = matrix[: deep - 1, :read][::-1]
    return found


WIDE, ROWS = 9, 24
"""Planes that a mean of differences reads, and how many are told apart below the surface."""
BENT = (M1 * (C1 + C2) - M2 * C1, M1 * C2 + M2 * C1, M2 * C2)
"""Of the mean of a difference, or the difference of a mean: weights of the nearest pair of planes, the next and so on, inside."""


def _composite(grid: str, stresses: bool) -> tuple[np.ndarray, np.ndarray]:
    """Of a quantity of ``grid``, on its own planes from the surface down: means of differences upwards of velocities, or differences of
    means of stresses, which bear no traction on the surface. The first plane read (ROWS,), and the weights of WIDE from there down (ROWS,
    WIDE)."""
    count = ROWS + WIDE
    steps = {}
    for of in GRIDS:  # differences downwards and means on planes of ``of``
        behind = (-2, -1, 0, 1) if of == "half" else (-1, 0, 1, 2)
        for kind, table, inside in (
            ("difference", _matrices(4)[of, stresses], (-C2, -C1, C1, C2)),
            ("mean", _MEANS[of], (M2, M1, M1, M2)),
        ):
            matrix = np.zeros((2 * count, 2 * count))
            for n in range(2 * count - 2):
                for offset, weight in zip(behind, inside, strict=True):
                    if n + offset >= 0:
                        matrix[n, n + offset] = weight
            matrix[:DEEP] = 0.0
            matrix[:DEEP, : table.shape[1]] = table[:DEEP]
            steps[kind, of] = matrix
    last, before = ("difference", "mean") if stresses else ("mean", "difference")
    product = -steps[last, grid] @ steps[before, other(grid)]
    first = np.array([np.flatnonzero(row)[0] for row in product[:ROWS]])
    return first, np.stack([row[a : a + WIDE] for row, a in zip(product, first, strict=False)])


def bent_along_z(name: str, at: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
    """What means along z of the differences along z of a velocity are made of, on planes ``at`` (...) of its own grid: planes and weights
    (..., WIDE), one over a spacing."""
    grid = grid_of(name)
    surface = top - (grid == "whole")
    depth = surface - np.asarray(at)
    first, table = _COMPOSITES[grid, False]
    row = np.clip(depth, 0, ROWS - 1)
    start = first[row] + np.maximum(depth - row, 0)
    return surface - (start[..., None] + np.arange(WIDE)), table[row]


_COMPOSITES = {(grid, stresses): _composite(grid, stresses) for grid in GRIDS for stresses in (False, True)}
BENT_DEEP, BENT_READ = 6, 9
"""Planes of the arrays where such products have weights of their own, and how many of those from the surface down they read."""


def bent_planes(grid: str, top: int) -> np.ndarray:
    """The planes of the arrays that such products beside the surface read, from the surface down."""
    return top - np.arange(grid == "whole", BENT_READ)


def bent_weights(grid: str, stresses: bool) -> np.ndarray:
    """Their weights (BENT_DEEP, planes), in the uppermost planes of the arrays up to the one on the surface, by ``bent_planes``."""
    first, table = _COMPOSITES[grid, stresses]
    rows = np.zeros((BENT_DEEP, BENT_READ + WIDE))
    for row, start, values in zip(rows, first, table, strict=False):
        row[start : start + WIDE] = values
    count = BENT_DEEP - (grid == "whole")  # which has none on the plane above the last
    found = np.zeros((BENT_DEEP, BENT_READ - (grid == "whole")))
    found[:count] = rows[:count, : found.shape[1]][::-1]
    return found


def bent_line(grid: str, stresses: bool, number: int) -> str:
    """The profile along z of the weights of the plane that ``bent_planes`` names ``number``-th."""
    return f"bent_{'stress' if stresses else 'velocity'}_{grid}{number}"


def line(grid: str, stresses: bool, number: int) -> str:
    """The profile along z of the weights of the plane that ``planes`` names ``number``-th."""
    return f"{'traction_free' if stresses else 'strain'}_{grid}{number}"


def other_line(grid: str) -> str:
    """The profile along z of what differences of a quantity of ``grid`` take of the grids that this one is joined to."""
    return f"joined_{grid}"


def _padded(values: np.ndarray, count: int) -> np.ndarray:
    """With zeros to so many in the last axis."""
    more = np.zeros((*values.shape[:-1], count - values.shape[-1]), values.dtype)
    return np.concatenate([values, more], -1)


@dataclass(frozen=True)
class Ends:
    """Which ends along z of a grid of ``top`` planes have differences of their own: a ``free`` surface or the face to a grid above,
    ``joined_above``; the face to a grid below, ``joined_below``."""

    top: int
    free: bool = False
    joined_above: bool = False
    joined_below: bool = False
    order: int = 4

    @property
    def upper(self) -> bool:
        """Whether the upper end has, and half planes one more, which is plane ``top`` of the arrays."""
        return self.free or self.joined_above

    @property
    def first(self) -> int:
        """The lowest plane of the arrays."""
        return -1 if self.joined_below else 0

    def lines(self) -> dict[str, np.ndarray]:
        """All profiles along z, of the planes from ``first`` on."""
        count, found, of = self.top + self.upper - self.first, {}, WEIGHTS[self.order]
        for grid in of.norm:
            for stresses in (False, True):
                table, low = weights(grid, stresses, self.order, self.joined_above), low_weights(grid, self.order)
                for number in range(max(of.read, low.shape[1] * self.joined_below)):
                    profile = np.zeros(count)
                    if self.upper and number < of.read:
                        profile[-of.deep :] = table[:, number]
                    if self.joined_below:
                        profile[: len(low)] = low[:, number]
                    found[line(grid, stresses, number)] = profile
            if self.joined_above or self.joined_below:
                result, profile = other(grid), np.zeros(count)
                if self.joined_above:
                    profile[-1 - (result == "whole")] = -joint(result, self.order)
                if self.joined_below:
                    profile[0] = joint(result, self.order)
                found[other_line(grid)] = profile
        return found

    def along_z(self, name: str, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What differences of a velocity along z are made of: planes and weights (..., read), one over a spacing, on planes ``at`` (...) of
        the quantities of the other grid. On faces to other grids they take more: ``across_z``."""
        grid, of, at = grid_of(name), WEIGHTS[self.order], np.asarray(at)
        most = max(of.read, len(low_planes(self.order)) * self.joined_below)  # a row's
        nodes = at[..., None] - (of.reach if grid == "whole" else of.reach - 1)
        nodes = nodes + np.minimum(np.arange(most), 2 * of.reach - 1)
        shares = np.zeros(most)
        shares[: 2 * of.reach] = [*(-c for c in reversed(of.inside)), *of.inside]
        if self.upper:
            deep, table = self.top + 1 - of.deep, weights(grid, False, self.order, self.joined_above)
            beside = (at >= deep)[..., None]
            nodes = np.where(beside, _padded(planes(grid, self.top, self.order), most), nodes)
            shares = np.where(beside, _padded(table[np.clip(at - deep, 0, of.deep - 1)], most), shares)
        if self.joined_below:
            low = low_weights(grid, self.order)
            beside = (at < len(low) - 1)[..., None]
            nodes = np.where(beside, _padded(low_planes(self.order), most), nodes)
            shares = np.where(beside, _padded(low[np.clip(at + 1, 0, len(low) - 1)], most), shares)
        return nodes, np.broadcast_to(shares, nodes.shape)

    def across_z(self, name: str, at: np.ndarray, above: bool) -> np.ndarray:
        """The weight, one over a spacing, of what the grid above or below has of a velocity on the face, in the same differences."""
        result = other(grid_of(name))
        face = self.top - (result == "whole") if above else -1
        return np.where(np.asarray(at) == face, joint(result, self.order) * (-1.0 if above else 1.0), 0.0)

    def norm(self, name: str, plane: int | np.ndarray) -> np.ndarray:
        """Weights of planes of the arrays in the norm H of a quantity."""
        grid, planes_of = grid_of(name), np.asarray(plane)
        share = np.ones(planes_of.shape)
        for n, weight in enumerate(WEIGHTS[self.order].norm[grid]):
            if self.upper:
                share = np.where(self.top - (grid == "whole") - planes_of == n, weight, share)
            if self.joined_below:
                share = np.where(planes_of + 1 == n, weight, share)
        return share


__all__ = [
    "C1",
    "C2",
    "DEEP",
    "GRIDS",
    "LOW",
    "LOWS",
    "M1",
    "M2",
    "NORM",
    "READ",
    "BENT",
    "BENT_DEEP",
    "BENT_READ",
    "Ends",
    "bent_along_z",
    "bent_line",
    "bent_planes",
    "bent_weights",
    "grid_of",
    "joint",
    "line",
    "low_planes",
    "other",
    "other_line",
    "planes",
    "weights",
]
