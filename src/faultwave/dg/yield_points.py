"""Points of a cell at which a rheology looks at the stress, and the way back from values there to modes."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal

import numpy as np

from faultwave.dg.basis import modes, tet_basis, tet_size

Kind = Literal["nodes", "quadrature", "lattice"]


@dataclass(frozen=True)
class YieldPoints:
    """points (n, 3) in the reference cell; values (n, B3) of the basis there; back (B3, n) from values to modes; weights (n,) of the
    integral over a cell, of which the sum is 1.

    The first ``pairs`` points and the next as many are images of each other where the first two vertices change places.
    """

    points: np.ndarray
    values: np.ndarray
    back: np.ndarray
    weights: np.ndarray
    pairs: int

    @property
    def halves(self) -> tuple[np.ndarray, np.ndarray]:
        """``values`` and ``back`` with half the entries: values at the points of a pair are sum and difference of what the first
        matrix gives in their places, and the second matrix takes their sum and difference."""
        even = np.array(
            [m[0] % 2 == 0 for m in modes(_degree(self.values.shape[1]))]
        )  # in the mirror; others change sign
        there, back, n = self.values.copy(), self.back.copy(), self.pairs
        there[:n, ~even], there[n : 2 * n, even] = 0.0, 0.0
        there[n : 2 * n, ~even] = self.values[:n, ~even]
        back[~even, :n], back[even, n : 2 * n] = 0.0, 0.0
        back[~even, n : 2 * n] = self.back[~even, :n]
        return there, back

    @property
    def amplification(self) -> np.ndarray:
        """(degrees, B3) positive numbers: of the modes of each degree but 0, the largest sum of psi^2 at a point, so that a field
        of these modes is nowhere larger than the root of ``amplification @ squares``."""
        degree = np.array([sum(m) for m in modes(_degree(self.values.shape[1]))])
        found = np.zeros((degree.max(), len(degree)))
        for d in range(1, degree.max() + 1):
            found[d - 1, degree == d] = (self.values[:, degree == d] ** 2).sum(1).max()
        return found


@functools.cache
def yield_points(kind: Kind, degree: int) -> YieldPoints:
    """``nodes``: as many as modes, where values can be given at will: those of Vioreanu and Rokhlin (2014, doi:10.1137/110860082), inside
    of the cell, with positive weights. ``lattice``: the same with points on faces, edges and vertices (warp and blend: Warburton 2006,
    doi:10.1007/s10665-006-9086-6). The stress of the modes then is what the rheology allows at every point.

    ``quadrature``: the rule of Xiao and Gimbutas (2010, doi:10.1016/j.camwa.2009.10.027) of degree 2 N, whose weights are positive;
    the way back is the projection in the mean square, by which yielding never adds energy.
    """
    import modepy

    if kind == "quadrature":
        rule = modepy.XiaoGimbutasSimplexQuadrature(2 * degree, 3)
        points, pairs = (rule.nodes.T + 1.0) / 2.0, 0
        values, weights = tet_basis(points, degree), rule.weights / 8.0  # of a reference cell of volume 1/6
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
    """The points with those first that the change of the first two vertices moves, then their images, then those that stay; and the
    number of the first."""
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
