"""Points of a cell at which a rheology evaluates the stress, and the transformation from values there to modes."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal

import numpy as np

from faultwave.dg.method.basis import modes, tet_basis, tet_size

Kind = Literal["nodes", "quadrature", "lattice"]


@dataclass(frozen=True)
class YieldPoints:
    """Points of a cell with the transformations from and to modes.

    The first ``pairs`` points and the next ``pairs`` are images of each other under exchange of the first two vertices.

    Attributes
    ----------
    points : ndarray (n, 3)
        Points in the reference cell.
    values : ndarray (n, B3)
        Basis values at the points.
    back : ndarray (B3, n)
        Transformation from values to modes.
    weights : ndarray (n,)
        Weights of the mean over a cell, with sum 1.
    pairs : int
        Number of pairs of mirror points.
    """

    points: np.ndarray
    values: np.ndarray
    back: np.ndarray
    weights: np.ndarray
    pairs: int

    @property
    def halves(self) -> tuple[np.ndarray, np.ndarray]:
        """Return ``values`` and ``back`` with half the entries, by the mirror symmetry of the points.

        Values at the points of a pair are sum and difference of the results of the first matrix in their rows; the
        second matrix is applied to the sum and the difference of the values.
        """
        even = np.array(
            [m[0] % 2 == 0 for m in modes(_degree(self.values.shape[1]))]
        )  # under reflection; others change sign
        there, back, n = self.values.copy(), self.back.copy(), self.pairs
        there[:n, ~even], there[n : 2 * n, even] = 0.0, 0.0
        there[n : 2 * n, ~even] = self.values[:n, ~even]
        back[~even, :n], back[even, n : 2 * n] = 0.0, 0.0
        back[~even, n : 2 * n] = self.back[~even, :n]
        return there, back

    @property
    def amplification(self) -> np.ndarray:
        """Return bounds (degrees, B3) of the modes of each degree except 0.

        An entry is the largest sum of psi^2 at a point, so that a field of these modes is nowhere larger than the root
        of ``amplification @ squares``.
        """
        degree = np.array([sum(m) for m in modes(_degree(self.values.shape[1]))])
        found = np.zeros((degree.max(), len(degree)))
        for d in range(1, degree.max() + 1):
            found[d - 1, degree == d] = (self.values[:, degree == d] ** 2).sum(1).max()
        return found


@functools.cache
def yield_points(kind: Kind, degree: int) -> YieldPoints:
    """Return the points of a kind for polynomials of a degree.

    - ``nodes``: as many points as modes, so that values can be prescribed: the points of Vioreanu and Rokhlin (2014,
      doi:10.1137/110860082), inside the cell, with positive weights. The stress of the modes is then admissible at
      every point.
    - ``lattice``: the same with points on faces, edges and vertices (warp and blend: Warburton 2006,
    doi:10.1007/s10665-006-9086-6).
    - ``quadrature``: the rule of Xiao and Gimbutas (2010, doi:10.1016/j.camwa.2009.10.027) of degree 2 N with positive
    weights. The
      transformation to modes is the least-squares projection, by which yielding never adds energy.
    """
    import modepy

    if kind == "quadrature":
        rule = modepy.XiaoGimbutasSimplexQuadrature(2 * degree, 3)
        points, pairs = (rule.nodes.T + 1.0) / 2.0, 0
        values, weights = tet_basis(points, degree), rule.weights / 8.0  # the reference cell has volume 1/6
        return YieldPoints(points, values, values.T * weights, 6.0 * weights, pairs)
    found = modepy.warp_and_blend_nodes(3, degree) if kind == "lattice" else _vioreanu_rokhlin(degree)
    points, pairs = _mirrored((found.T + 1.0) / 2.0)
    values = tet_basis(points, degree)
    back = np.linalg.inv(values)
    return YieldPoints(points, values, back, back[0] * 6.0**0.5, pairs)  # mode 0 is the constant sqrt(6)


def _vioreanu_rokhlin(degree: int) -> np.ndarray:
    import modepy

    return np.asarray(modepy.VioreanuRokhlinSimplexQuadrature(degree, 3).nodes)


def _mirrored(points: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the points sorted by the exchange of the first two vertices, and the number of pairs.

    Points on one side come first, then their images, then the points that do not move.
    """
    first = 1.0 - points.sum(1)
    image = points.copy()
    image[:, 0] = first
    near = np.abs(points[:, None] - image[None]).max(2).argmin(0)
    one = np.flatnonzero(points[:, 0] < first - 1e-8)
    same = np.flatnonzero(np.abs(points[:, 0] - first) <= 1e-8)
    return points[np.concatenate([one, near[one], same])], len(one)


def _degree(size: int) -> int:
    return next(d for d in range(20) if tet_size(d) == size)


__all__ = ["Kind", "YieldPoints", "yield_points"]
