"""Staggered-grid differences: weights by order, summation-by-parts closures at the free surface, and their matrices.

Order 4 uses closures of second order in the uppermost planes ([1]_, as in the MIT-licensed tables of sbp.jl). Order 8
uses closures of third order found for this engine. Differences and norms that are exact for polynomials of degree 3
and satisfy summation by parts leave eight free parameters. They are chosen such that Rayleigh waves of 3.5 to 10
points per wavelength have their exact speed for Vp/Vs of 1.73 and 3, and that no frequency exceeds the interior ones
(docs/decisions/0020).

References
----------
.. [1] O'Reilly & Petersson (2019), arXiv:1907.01105.

Differences next to the surface satisfy summation by parts. Along z the quantities live on two grids: w, sxz and syz
on *whole* planes, the others on *half* planes between them. Both grids have a plane on the surface: u, v, the normal
stresses and sxy have one plane more, which lies on it. In spacings downwards from the surface,

    whole: 0, 1, 2, 3, ...        half: 0, 1/2, 3/2, 5/2, ...

Differences of quantities of one grid are evaluated on the other. With the diagonal norms H (quadrature weights of the
planes, in cells) of ``closures``, the differences of stresses are minus the adjoints of the differences of
velocities, as summation by parts requires for a traction-free boundary. The operator of the grid is therefore
self-adjoint in the energy norm for any material: energy is conserved, and sources and receivers are reciprocal. Means
along z, needed by grids that follow a topography, are adjoints of each other in the same norms. ``closures`` holds
half of the weights; the others follow from them. The weights of means are from [1]_, as in the MIT-licensed tables of
sbp.jl.

Where a grid is joined to another one above or below, the same differences end at the shared plane, mirrored at the
lower end. On the plane itself they include one half of the jump to the interpolated value of the other grid, divided
by the weight of the plane, on both sides and for velocities and stresses alike. The operator of both grids together
is then self-adjoint in the sum of their norms ([2]_, [3]_): energy is conserved for any material.

References
----------
.. [1] O'Reilly & Petersson (2019), arXiv:1907.01105.
.. [2] O'Reilly et al. (2017).
.. [3] Gao & Keyes, arXiv:1903.06795.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache

import numpy as np


class PlanePosition(StrEnum):
    """Position of planes along z: half planes hold the cell centres, whole planes are half an edge above them."""

    WHOLE = "whole"
    HALF = "half"


@dataclass(frozen=True)
class Weights:
    """Weights of the staggered differences of one order.

    Attributes
    ----------
    inside : tuple of float
        Interior weights of the nearest pair of points, the next pair and so on.
    norm : dict of tuple of float
        Weights of planes in the norm H [cells], from the surface down, for ``whole`` and ``half`` planes.
    on_half : tuple of tuple of float
        Downward differences on the uppermost half planes of values on the uppermost whole planes.
    """

    inside: tuple[float, ...]
    norm: dict[PlanePosition, tuple[float, ...]]
    on_half: tuple[tuple[float, ...], ...]

    @property
    def reach(self) -> int:
        """Number of points to either side that interior differences read."""
        return len(self.inside)

    @property
    def deep(self) -> int:
        """Number of planes of the arrays with modified differences, including the half plane on the surface."""
        return max(len(self.norm[PlanePosition.WHOLE]) + 1, len(self.norm[PlanePosition.HALF]))

    @property
    def read(self) -> int:
        """Number of planes from the surface down that the modified differences read."""
        return self.deep + self.reach - 1

    @property
    def limit(self) -> float:
        """Largest Courant number, step times P speed over spacing, in three dimensions.

        The interior has the highest frequencies.
        """
        return float(1.0 / (np.sqrt(3.0) * np.abs(self.inside).sum()))


WEIGHTS = {
    4: Weights(
        (9.0 / 8.0, -1.0 / 24.0),
        {
            PlanePosition.WHOLE: (0.2812150147607664, 1.4480216223843674, 0.6769783776156325, 1.0937849852392336),
            PlanePosition.HALF: (0.344556397209992, 0.43729008856459833, 1.30569549651249, 0.9124580177129197),
        },
        (
            (-1.4511412472637157, 1.853423741791147, -0.3534237417911469, -0.04885875273628437, 0.0),
            (-0.8577143189081458, 0.5731429567244373, 0.4268570432755628, -0.14228568109185424, 0.0),
            (-0.16745485058828774, -0.4976354482351368, 0.4976354482351368, 0.16745485058828774, 0.0),
            (0.10270611134051243, -0.26245413264698597, -0.8288742701021167, 1.0342864927831414, -0.04566420137455131),
        ),
    ),
    8: Weights(
        (1225.0 / 1024.0, -245.0 / 3072.0, 49.0 / 5120.0, -5.0 / 7168.0),
        {
            PlanePosition.WHOLE: (0.32104496354467976, 1.3649140711654706, 0.6785051910024128, 1.1895503645531342, 0.937169262167886,
                                  1.0088161475664221),
            PlanePosition.HALF: (0.24965730078969042, 0.5097211102497532, 1.603488509767943, 0.29812285605738703, 1.5063135067835969,
                                 0.7989963402634811, 1.033700376088148),
        },
        (
            (-1.6903217410976188, 2.3891992201808896, -0.48691280308064083, -0.4712395008672072, 0.2980292357408866,
             -0.03875441087630341, 0.0, 0.0, 0.0, 0.0),
            (-0.7628785795333473, 0.21696699555269341, 0.8025844797893988, -0.08076961735086123, -0.29968928921050064,
             0.12378601075261816, 0.0, 0.0, 0.0, 0.0),
            (-0.20037628352966608, -0.22734508989864316, -0.045190138442088405, 0.5034037900147897, 0.04002461253958924,
             -0.0705168906839813, 0.0, 0.0, 0.0, 0.0),
            (0.08711843395131848, -0.4254201178680166, -0.13017699058785046, 0.07420712867178829, 0.5058652269220804,
             -0.1092538918759696, -0.002339789213353267, 0.0, 0.0, 0.0),
            (0.12675502101083003, -0.3053608692356153, 6.10774513004978e-05, -0.44053245165232113, 0.47397734809620434,
             0.1392094884191088, 0.006353466563833256, -0.0004630806533406163, 0.0, 0.0),
            (-0.11045028271259034, 0.36283879428572796, -0.36582025469178914, 0.09405121032570163, -1.0682246445721677,
             1.176316267438635, -0.09981598181083914, 0.011977917817300697, -0.0008730260799781849, 0.0),
            (0.003387948159108779, -0.04415075613301315, 0.11215506309978651, -0.08007234075175211, 0.011401425891860297,
             -1.091440327144359, 1.1572880209516219, -0.07715253473010812, 0.009258304167612976, -0.0006748035107589632),
        ),
    ),
}  # fmt: skip
"""Weights of each order."""


C1, C2 = WEIGHTS[4].inside
"""Weights of the nearest and the next pair of a fourth-order staggered difference."""
DEEP, READ = WEIGHTS[4].deep, WEIGHTS[4].read
"""Number of planes with modified differences, and number of planes these read, for order 4."""
GRIDS = tuple(PlanePosition)
M1, M2 = 9.0 / 16.0, -1.0 / 16.0
"""Weights of the nearest and the next pair of a mean half a point ahead or behind."""
WHOLE = ("w", "sxz", "syz", "mean_w")
"""Quantities on whole planes; all others are on half planes."""
_MEANS_ON_HALF = (
    (0.8338228784688313, 0.17751233164292596, 0.14350670130765417, -0.15484191141941145, 0.0),
    (0.1813404047323969, 1.1246711188154426, -0.2933634518280757, -0.012648071719763686, 0.0),
    (-0.13311427062823994, 0.7930714675884345, 0.31319987670785077, 0.026842926331954644, 0.0),
    (0.09690785566330458, -0.1539344946680898, 0.44864912028443893, 0.6768738207821733, -0.06849630206182696),
)
"""Means on the uppermost half planes of values on the uppermost whole planes."""
LOWS = {order: max(len(norm) for norm in of.norm.values()) for order, of in WEIGHTS.items()}
"""Number of planes with modified differences at a lower end joined to another grid, by order.

The plane on the face, stored in plane -1 of the arrays, is included.
"""
LOW = LOWS[4]


@cache
def _matrices(order: int) -> dict[tuple[PlanePosition, bool], np.ndarray]:
    """Return the downward difference matrices from the surface down, by (grid of the result, traction-free surface).

    Rows are planes of the result, columns planes of the other grid.
    """
    of = WEIGHTS[order]
    count, near = 2 * of.read, of.reach
    half = np.zeros((count, count))
    half[: len(of.on_half), : len(of.on_half[0])] = of.on_half
    inside = [*(-c for c in reversed(of.inside)), *of.inside]
    for n in range(len(of.on_half), count):
        for column, weight in zip(range(n - near, n + near), inside, strict=True):
            if column < count:
                half[n, column] = weight
    h, p = (
        np.r_[of.norm[grid], np.ones(count - len(of.norm[grid]))] for grid in (PlanePosition.HALF, PlanePosition.WHOLE)
    )
    whole_free = -(h[:, None] * half).T / p[:, None]
    whole = whole_free.copy()
    whole[0, 0] -= 1.0 / p[0]
    half_free = -(p[:, None] * whole).T / h[:, None]
    return {
        (PlanePosition.HALF, False): half,
        (PlanePosition.HALF, True): half_free,
        (PlanePosition.WHOLE, False): whole,
        (PlanePosition.WHOLE, True): whole_free,
    }


def _joined(grid: PlanePosition, order: int) -> np.ndarray:
    """Return the difference matrix at the face to another grid without the coupling term, half of the jump over H."""
    found = _matrices(order)[grid, False].copy()
    found[0, 0] = 0.0 if order == 4 else found[0, 0] + 0.5 / WEIGHTS[order].norm[grid][0]  # for order 4 exactly zero
    return found


def joint(grid: PlanePosition, order: int = 4) -> float:
    """Return the coupling weight of the other grid's value on the face in a downward difference [1/spacing]."""
    return -0.5 / WEIGHTS[order].norm[grid][0]


def _means() -> dict[PlanePosition, np.ndarray]:
    """Return the matrices of means from the surface down, by the grid of the result.

    Rows are planes of the result, columns planes of the other grid.
    """
    count = 2 * WEIGHTS[4].read
    half = np.zeros((count, count))
    half[: len(_MEANS_ON_HALF), : len(_MEANS_ON_HALF[0])] = _MEANS_ON_HALF
    for n in range(len(_MEANS_ON_HALF), count):
        for column, weight in zip(range(n - 2, n + 2), (M2, M1, M1, M2), strict=True):
            if column < count:
                half[n, column] = weight
    norms = WEIGHTS[4].norm
    h, p = (np.r_[norms[grid], np.ones(count - len(norms[grid]))] for grid in (PlanePosition.HALF, PlanePosition.WHOLE))
    return {PlanePosition.HALF: half, PlanePosition.WHOLE: (h[:, None] * half).T / p[:, None]}


_MEANS = _means()


def grid_of(name: str) -> PlanePosition:
    """Return the planes that a quantity lives on."""
    return PlanePosition.WHOLE if name in WHOLE else PlanePosition.HALF


def other(grid: PlanePosition) -> PlanePosition:
    """Return the grid on which differences of quantities of ``grid`` are evaluated."""
    return PlanePosition.HALF if grid == PlanePosition.WHOLE else PlanePosition.WHOLE


def low_planes(order: int = 4) -> np.ndarray:
    """Return the planes read by differences at a joined lower end, from the face up.

    Half planes on the face are stored in plane -1, as whole planes are.
    """
    return np.arange(LOWS[order] + WEIGHTS[order].reach) - 1


def planes(grid: PlanePosition, top: int, order: int = 4) -> np.ndarray:
    """Return the planes of a quantity of ``grid`` that differences near the surface read, from the surface down.

    Half planes on the surface are stored in plane ``top``, one above the last.
    """
    return top - (grid == PlanePosition.WHOLE) - np.arange(WEIGHTS[order].read)


def weights(grid: PlanePosition, traction_free: bool, order: int = 4, joined: bool = False) -> np.ndarray:
    """Return the upward difference weights of a quantity of ``grid`` near the surface or the face to a grid above.

    Parameters
    ----------
    grid : PlanePosition
    traction_free : bool
        True for stresses, which have no traction on the surface.
    order : int
    joined : bool
        True at the face to a grid above.

    Returns
    -------
    ndarray, shape (deep, read)
        Weights [1/spacing] by plane of the result, the uppermost ones from below up to the surface, and by the planes
        of ``planes``. Zero where the result has no such plane.
    """
    of = _joined(other(grid), order) if joined else _matrices(order)[other(grid), traction_free]
    return _uppermost(grid, -of, order)


def low_weights(grid: PlanePosition, order: int = 4) -> np.ndarray:
    """Return the upward difference weights (LOWS, planes) at a joined lower end, upwards, by ``low_planes``."""
    return _joined(other(grid), order)[: LOWS[order], : len(low_planes(order))]


def _uppermost(grid: PlanePosition, matrix: np.ndarray, order: int) -> np.ndarray:
    """Return the rows of a matrix as weights of planes of the arrays of a quantity of ``grid``, from the lowest up."""
    deep, read = WEIGHTS[order].deep, WEIGHTS[order].read
    found = np.zeros((deep, read))
    if grid == PlanePosition.WHOLE:
        found[:] = matrix[:deep, :read][::-1]
    else:
        found[:-1] = matrix[: deep - 1, :read][::-1]
    return found


WIDE, ROWS = 9, 24
"""Number of planes that a mean of differences reads, and number of planes below the surface with stored weights."""
BENT = (M1 * (C1 + C2) - M2 * C1, M1 * C2 + M2 * C1, M2 * C2)
"""Interior weights of the mean of a difference, or the difference of a mean: nearest pair of planes, next and so on."""


def _composite(grid: PlanePosition, stresses: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the products of means and differences of a quantity of ``grid`` on its own planes, from the surface down.

    These are means of upward differences of velocities, or differences of means of stresses, which have no traction
    on the surface.

    Returns
    -------
    first : ndarray, shape (ROWS,)
        First plane that is read.
    weights : ndarray, shape (ROWS, WIDE)
        Weights of the planes from there down.
    """
    count = ROWS + WIDE
    steps = {}
    for of in GRIDS:  # downward differences and means on planes of ``of``
        behind = (-2, -1, 0, 1) if of == PlanePosition.HALF else (-1, 0, 1, 2)
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


def curvilinear_along_z(name: str, at: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
    """Return planes and weights (..., WIDE) [1/spacing] of the mean along z of a velocity's difference along z.

    ``at`` (...) are planes of the velocity's own grid.
    """
    grid = grid_of(name)
    surface = top - (grid == PlanePosition.WHOLE)
    depth = surface - np.asarray(at)
    first, table = _COMPOSITES[grid, False]
    row = np.clip(depth, 0, ROWS - 1)
    start = first[row] + np.maximum(depth - row, 0)
    return surface - (start[..., None] + np.arange(WIDE)), table[row]


_COMPOSITES = {(grid, stresses): _composite(grid, stresses) for grid in GRIDS for stresses in (False, True)}
CURVILINEAR_PLANES, CURVILINEAR_PLANES_READ = 6, 9
"""Number of planes where these products have modified weights, and number of planes from the surface down they read."""


def curvilinear_planes(grid: PlanePosition, top: int) -> np.ndarray:
    """Return the planes of the arrays that these products read near the surface, from the surface down."""
    return top - np.arange(grid == PlanePosition.WHOLE, CURVILINEAR_PLANES_READ)


def curvilinear_weights(grid: PlanePosition, stresses: bool) -> np.ndarray:
    """Return the weights (CURVILINEAR_PLANES, planes) of these products near the surface, by ``curvilinear_planes``.

    Rows are the uppermost planes of the arrays from below up to the surface.
    """
    first, table = _COMPOSITES[grid, stresses]
    rows = np.zeros((CURVILINEAR_PLANES, CURVILINEAR_PLANES_READ + WIDE))
    for row, start, values in zip(rows, first, table, strict=False):
        row[start : start + WIDE] = values
    count = CURVILINEAR_PLANES - (grid == PlanePosition.WHOLE)  # the plane above the last has none
    found = np.zeros((CURVILINEAR_PLANES, CURVILINEAR_PLANES_READ - (grid == PlanePosition.WHOLE)))
    found[:count] = rows[:count, : found.shape[1]][::-1]
    return found


def curvilinear_line(grid: PlanePosition, stresses: bool, number: int) -> str:
    """Return the name of the profile along z of the weights of plane ``number`` of ``curvilinear_planes``."""
    return f"bent_{'stress' if stresses else 'velocity'}_{grid}{number}"


def line(grid: PlanePosition, stresses: bool, number: int) -> str:
    """Return the name of the profile along z of the weights of plane ``number`` of ``planes``."""
    return f"{'traction_free' if stresses else 'strain'}_{grid}{number}"


def other_line(grid: PlanePosition) -> str:
    """Return the name of the profile along z of the coupling weights of a quantity of ``grid`` to joined grids."""
    return f"joined_{grid}"


def _padded(values: np.ndarray, count: int) -> np.ndarray:
    """Return values padded by zeros to a length of ``count`` along the last axis."""
    more = np.zeros((*values.shape[:-1], count - values.shape[-1]), values.dtype)
    return np.concatenate([values, more], -1)


@dataclass(frozen=True)
class Ends:
    """Ends along z of a grid at which differences are modified.

    Attributes
    ----------
    top : int
        Number of planes of the grid.
    free : bool
        True for a free surface.
    joined_above, joined_below : bool
        True if another grid is joined above or below.
    order : int
    """

    top: int
    free: bool = False
    joined_above: bool = False
    joined_below: bool = False
    order: int = 4

    @property
    def upper(self) -> bool:
        """True if the upper end is modified; half planes then have one plane more, plane ``top`` of the arrays."""
        return self.free or self.joined_above

    @property
    def first(self) -> int:
        """Number of the lowest plane of the arrays."""
        return -1 if self.joined_below else 0

    def lines(self) -> dict[str, np.ndarray]:
        """Return all profiles along z of the weights, on the planes from ``first`` on."""
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
                    profile[-1 - (result == PlanePosition.WHOLE)] = -joint(result, self.order)
                if self.joined_below:
                    profile[0] = joint(result, self.order)
                found[other_line(grid)] = profile
        return found

    def along_z(self, name: str, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return planes and weights (..., read) [1/spacing] of a velocity's differences along z.

        ``at`` (...) are planes of the other grid, on which they are evaluated. On faces to other grids the coupling
        terms of ``across_z`` are added.
        """
        grid, of, at = grid_of(name), WEIGHTS[self.order], np.asarray(at)
        most = max(of.read, len(low_planes(self.order)) * self.joined_below)  # planes of a row
        nodes = at[..., None] - (of.reach if grid == PlanePosition.WHOLE else of.reach - 1)
        nodes = nodes + np.minimum(np.arange(most), 2 * of.reach - 1)
        shares = np.zeros(most)
        shares[: 2 * of.reach] = [*(-c for c in reversed(of.inside)), *of.inside]
        if self.upper:
            deep, table = self.top + 1 - of.deep, weights(grid, False, self.order, self.joined_above)
            adjacent = (at >= deep)[..., None]
            nodes = np.where(adjacent, _padded(planes(grid, self.top, self.order), most), nodes)
            shares = np.where(adjacent, _padded(table[np.clip(at - deep, 0, of.deep - 1)], most), shares)
        if self.joined_below:
            low = low_weights(grid, self.order)
            adjacent = (at < len(low) - 1)[..., None]
            nodes = np.where(adjacent, _padded(low_planes(self.order), most), nodes)
            shares = np.where(adjacent, _padded(low[np.clip(at + 1, 0, len(low) - 1)], most), shares)
        return nodes, np.broadcast_to(shares, nodes.shape)

    def across_z(self, name: str, at: np.ndarray, above: bool) -> np.ndarray:
        """Return the coupling weight [1/spacing] of the other grid's velocity on the face in a difference."""
        result = other(grid_of(name))
        face = self.top - (result == PlanePosition.WHOLE) if above else -1
        return np.where(np.asarray(at) == face, joint(result, self.order) * (-1.0 if above else 1.0), 0.0)

    def norm(self, name: str, plane: int | np.ndarray) -> np.ndarray:
        """Return the weights of planes of the arrays in the norm H of a quantity."""
        grid, planes_of = grid_of(name), np.asarray(plane)
        share = np.ones(planes_of.shape)
        for n, weight in enumerate(WEIGHTS[self.order].norm[grid]):
            if self.upper:
                share = np.where(self.top - (grid == PlanePosition.WHOLE) - planes_of == n, weight, share)
            if self.joined_below:
                share = np.where(planes_of + 1 == n, weight, share)
        return share
