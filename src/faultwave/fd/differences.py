"""Differences on the staggered grid: of fourth order inside, of second order along z beside the free surface.

Beside the surface they are those of staggered summation by parts. Along z quantities live on two grids: w, sxz and syz on *whole*
planes, the others on *half* planes between them. The surface is the uppermost of both: u, v, the normal stresses and sxy have one
plane more, on it. Counted in spacings downwards from the surface,

    whole: 0, 1, 2, 3, ...        half: 0, 1/2, 3/2, 5/2, ...

Differences of quantities of one grid are wanted on the other. With the diagonal norms H (quadrature weights of the planes, in
cells) of ``NORM``, those of stresses are minus the adjoints of those of velocities, as summation by parts asks for where no traction
acts. So the operator of the grid is self-adjoint in the norm of the energy, in any material: energy is kept, and sources and
receivers are reciprocal. Means along z, which grids that follow a topography need, are adjoints of each other in the same norms.
The weights are those of O'Reilly & Petersson (2019, arXiv:1907.01105), as in the MIT-licensed tables of sbp.jl; all others follow
from the ones here.
"""

from __future__ import annotations

import numpy as np

C1, C2 = 9.0 / 8.0, -1.0 / 24.0
"""Weights of the nearest and the next pair of a difference of fourth order on a staggered grid."""
M1, M2 = 9.0 / 16.0, -1.0 / 16.0
"""The same of a mean, which is half a point ahead or behind."""
WHOLE = ("w", "sxz", "syz", "across_u", "across_v")
"""What lives on whole planes; all else on half planes."""
NORM = {
    "whole": (0.2812150147607664, 1.4480216223843674, 0.6769783776156325, 1.0937849852392336),
    "half": (0.344556397209992, 0.43729008856459833, 1.30569549651249, 0.9124580177129197),
}
"""Weights of planes in the norm H from the surface down, in cells; 1 further below."""
_ON_HALF = (
    (-1.4511412472637157, 1.853423741791147, -0.3534237417911469, -0.04885875273628437, 0.0),
    (-0.8577143189081458, 0.5731429567244373, 0.4268570432755628, -0.14228568109185424, 0.0),
    (-0.16745485058828774, -0.4976354482351368, 0.4976354482351368, 0.16745485058828774, 0.0),
    (0.10270611134051243, -0.26245413264698597, -0.8288742701021167, 1.0342864927831414, -0.04566420137455131),
)
"""Differences downwards on the uppermost half planes, by the uppermost whole planes."""
_MEANS_ON_HALF = (
    (0.8338228784688313, 0.17751233164292596, 0.14350670130765417, -0.15484191141941145, 0.0),
    (0.1813404047323969, 1.1246711188154426, -0.2933634518280757, -0.012648071719763686, 0.0),
    (-0.13311427062823994, 0.7930714675884345, 0.31319987670785077, 0.026842926331954644, 0.0),
    (0.09690785566330458, -0.1539344946680898, 0.44864912028443893, 0.6768738207821733, -0.06849630206182696),
)
"""Means on the uppermost half planes, of the uppermost whole planes."""
DEEP = 5
"""Planes of the arrays with differences of their own: that on the surface, which only half planes have, and four below."""
READ = 6
"""Planes that they read, from the surface down."""


def _matrices() -> dict[tuple[str, bool], np.ndarray]:
    """Differences downwards on planes (row) by planes of the other grid (column), from the surface down: by the grid they are on, and
    whether the surface bears no traction."""
    count = 2 * READ
    half = np.zeros((count, count))
    half[: len(_ON_HALF), : len(_ON_HALF[0])] = _ON_HALF
    for n in range(len(_ON_HALF), count):
        for column, weight in zip(range(n - 2, n + 2), (-C2, -C1, C1, C2), strict=True):
            if column < count:
                half[n, column] = weight
    h, p = (np.r_[NORM[grid], np.ones(count - len(NORM[grid]))] for grid in ("half", "whole"))
    whole_free = -(h[:, None] * half).T / p[:, None]
    whole = whole_free.copy()
    whole[0, 0] -= 1.0 / p[0]
    half_free = -(p[:, None] * whole).T / h[:, None]
    return {("half", False): half, ("half", True): half_free, ("whole", False): whole, ("whole", True): whole_free}


_MATRICES = _matrices()


def _means() -> dict[str, np.ndarray]:
    """Means on planes (row) of planes of the other grid (column), from the surface down, by the grid they are on."""
    count = 2 * READ
    half = np.zeros((count, count))
    half[: len(_MEANS_ON_HALF), : len(_MEANS_ON_HALF[0])] = _MEANS_ON_HALF
    for n in range(len(_MEANS_ON_HALF), count):
        for column, weight in zip(range(n - 2, n + 2), (M2, M1, M1, M2), strict=True):
            if column < count:
                half[n, column] = weight
    h, p = (np.r_[NORM[grid], np.ones(count - len(NORM[grid]))] for grid in ("half", "whole"))
    return {"half": half, "whole": (h[:, None] * half).T / p[:, None]}


_MEANS = _means()


def grid_of(name: str) -> str:
    """'whole' or 'half': the planes a quantity lives on."""
    return "whole" if name in WHOLE else "half"


def other(grid: str) -> str:
    """The grid that differences of quantities of ``grid`` are on."""
    return "half" if grid == "whole" else "whole"


def planes(grid: str, top: int) -> np.ndarray:
    """The planes of the arrays that the differences beside the surface read, of a quantity of ``grid``, from the surface down; half planes
    on the surface are kept in plane ``top``, one above the last."""
    return top - (grid == "whole") - np.arange(READ)


def weights(grid: str, traction_free: bool) -> np.ndarray:
    """Differences upwards of a quantity of ``grid`` on the other one, in spacings: (DEEP, READ), in planes top - 4 to ``top`` of the
    arrays, by those of ``planes``. Zero where there is no such plane."""
    return _uppermost(grid, -_MATRICES[other(grid), traction_free])


def mean_weights(grid: str) -> np.ndarray:
    """The same of means."""
    return _uppermost(grid, _MEANS[other(grid)])


def _uppermost(grid: str, matrix: np.ndarray) -> np.ndarray:
    """Rows of a matrix, from the surface down, as weights of planes of the arrays of a quantity of ``grid``, from the lowest up."""
    found = np.zeros((DEEP, READ))
    if grid == "whole":
        found[:] = matrix[:DEEP, :READ][::-1]
    else:
        found[:-1] = matrix[: DEEP - 1, :READ][::-1]
    return found


def along_z(name: str, at: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
    """What differences of a velocity along z are made of: planes and weights (..., READ), one over a spacing, on planes ``at`` (...) of
    the quantities of the other grid below a free surface at the plane ``top``."""
    grid, deep = grid_of(name), np.asarray(at) <= top - DEEP
    first = np.asarray(at)[..., None] - (2 if grid == "whole" else 1)
    inside = np.array([-C2, -C1, C1, C2, 0.0, 0.0])
    nodes = first + np.array([0, 1, 2, 3, 3, 3])
    table = weights(grid, False)[np.clip(np.asarray(at) - (top - DEEP + 1), 0, DEEP - 1)]
    nodes = np.where(deep[..., None], nodes, planes(grid, top))
    return nodes, np.where(deep[..., None], inside, table)


WIDE, ROWS = 9, 24
"""Planes that a mean of differences reads, and how many are told apart below the surface."""


def _composite(grid: str) -> tuple[np.ndarray, np.ndarray]:
    """Means of differences upwards of a quantity of ``grid``, on its own planes from the surface down: the first plane read (ROWS,), and
    the weights of WIDE from there down (ROWS, WIDE)."""
    count = ROWS + WIDE
    steps = {}
    for of in NORM:  # differences downwards and means on planes of ``of``
        behind = (-2, -1, 0, 1) if of == "half" else (-1, 0, 1, 2)
        for kind, table, inside in (
            ("difference", _MATRICES[of, False], (-C2, -C1, C1, C2)),
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
    product = -steps["mean", grid] @ steps["difference", other(grid)]
    first = np.array([np.flatnonzero(row)[0] for row in product[:ROWS]])
    return first, np.stack([row[a : a + WIDE] for row, a in zip(product, first, strict=False)])


def bent_along_z(name: str, at: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
    """What means along z of the differences along z of a velocity are made of, on planes ``at`` (...) of its own grid: planes and weights
    (..., WIDE), one over a spacing."""
    grid = grid_of(name)
    surface = top - (grid == "whole")
    depth = surface - np.asarray(at)
    first, table = _COMPOSITES[grid]
    row = np.clip(depth, 0, ROWS - 1)
    start = first[row] + np.maximum(depth - row, 0)
    return surface - (start[..., None] + np.arange(WIDE)), table[row]


_COMPOSITES = {grid: _composite(grid) for grid in NORM}


def line(grid: str, stresses: bool, number: int) -> str:
    """The profile along z of the weights of the plane that ``planes`` names ``number``-th."""
    return f"{'traction_free' if stresses else 'strain'}_{grid}{number}"


def lines(top: int) -> dict[str, np.ndarray]:
    """All profiles: (top + 1,), of planes 0 to ``top`` of the arrays."""
    found = {}
    for grid in NORM:
        for stresses in (False, True):
            table = weights(grid, stresses)
            for number in range(READ):
                found[line(grid, stresses, number)] = np.r_[np.zeros(top + 1 - DEEP), table[:, number]]
    return found


def norm(name: str, plane: int | np.ndarray, top: int) -> np.ndarray:
    """Weights of planes of the arrays in the norm H of a quantity below a free surface."""
    grid = grid_of(name)
    depth = top - (grid == "whole") - np.asarray(plane)
    share = np.ones(depth.shape)
    for n, weight in enumerate(NORM[grid]):
        share = np.where(depth == n, weight, share)
    return share


__all__ = [
    "C1",
    "C2",
    "DEEP",
    "M1",
    "M2",
    "NORM",
    "READ",
    "along_z",
    "bent_along_z",
    "grid_of",
    "line",
    "lines",
    "mean_weights",
    "norm",
    "other",
    "planes",
    "weights",
]
