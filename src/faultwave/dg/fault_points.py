"""Points of a fault face: where friction is solved, and the tables between points and face modes."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal

import numpy as np

from faultwave.dg.basis import triangle_basis, triangle_quadrature, triangle_size

PERMUTATIONS = tuple(itertools.permutations(range(3)))


@dataclass(frozen=True)
class PointRule:
    """Points in face coordinates for each of the ways a face's own vertex order maps to ascending order.

    points (groups, n, 2); weights (n,) sum to 1/2; phi (groups, n, B2); back (groups, B2, n). turn (groups, B2, B2): modes in a
    face's own order of vertices from those in ascending order, where points depend on it.
    """

    points: np.ndarray
    weights: np.ndarray
    phi: np.ndarray
    back: np.ndarray
    own: np.ndarray | None = None  # (n, 2) in a face's own vertex order, where that matters
    turn: np.ndarray | None = None

    def projection(self, degree: int) -> np.ndarray:
        """Of point values on polynomials of a degree (n, n)."""
        kept = triangle_size(degree)
        return np.asarray(self.phi[0][:, :kept] @ self.back[0][:kept])


def point_rule(kind: Literal["symmetric", "conical"], degree: int) -> PointRule:
    """``conical``: (degree + 2)^2 points, not symmetric, hence one group per vertex permutation (SeisSol's fault
    points).

    ``symmetric``: the Xiao-Gimbutas rule of degree 2 N + 2, positive, invariant under permutations, so one group
    suffices (Xiao & Gimbutas 2010, doi:10.1016/j.camwa.2009.10.027).
    """
    own = turn = None
    if kind == "conical":
        points, weights = triangle_quadrature(degree + 2)
        own = points
        groups = np.stack([permuted(points, p) for p in PERMUTATIONS])
    else:
        import modepy

        rule = modepy.XiaoGimbutasSimplexQuadrature(2 * degree + 2, 2)
        groups = ((rule.nodes.T + 1.0) / 2.0)[None]
        weights = rule.weights / 4.0
    phi = np.stack([triangle_basis(p, degree) for p in groups])
    back = np.einsum("gnk,n->gkn", phi, weights)
    if own is not None:
        turn = (triangle_basis(own[:, ::-1], degree).T * weights) @ phi
    return PointRule(groups, weights, phi, back, own, turn)


def permuted(points: np.ndarray, permutation: tuple[int, ...]) -> np.ndarray:
    """Coordinates in ascending vertex order of points given in a face's own order; own vertex k is ascending vertex
    permutation[k]."""
    own = np.stack([1.0 - points.sum(1), points[:, 0], points[:, 1]], 1)
    ascending = np.empty_like(own)
    ascending[:, list(permutation)] = own
    return ascending[:, 1:]


def vertex_permutation(
    order: np.ndarray, face: np.ndarray, file_faces: np.ndarray, sorted_faces: np.ndarray
) -> np.ndarray:
    """Index into ``PERMUTATIONS`` for sorted local ``face`` (n,) of cells with ``order`` (n, 4): sorted vertex i is
    file vertex order[i].

    ``file_faces`` (4, 3) lists the vertices of the file's faces, the first being the origin of its coordinates.
    """
    vertices = np.take_along_axis(order, sorted_faces[face], 1)  # file-local numbers, ascending order
    result = np.empty(len(face), np.int64)
    table = {frozenset(f): f for f in map(tuple, file_faces.tolist())}
    for i, ascending in enumerate(vertices.tolist()):
        own = table[frozenset(ascending)]
        result[i] = PERMUTATIONS.index(tuple(ascending.index(v) for v in own))
    return result


def transfer(
    values: np.ndarray, old: PointRule, new: PointRule, group: np.ndarray, jumps: np.ndarray, decades: np.ndarray
) -> np.ndarray:
    """Values (faces, points, columns) at the points of another rule: the projection on the old rule's polynomials, kept
    within what the face had; of columns marked in ``decades`` (columns,) that of their logarithms. Those in ``jumps`` take the nearest
    point."""
    values = np.array(values)
    values[..., decades] = np.log(np.maximum(values[..., decades], 1e-300))
    degree = next(d for d in range(20) if (d + 1) * (d + 2) // 2 == old.phi.shape[2])
    at_new = np.stack([triangle_basis(p, degree) for p in new.points])
    smooth = np.einsum("nqk,nkp,npc->nqc", at_new[group], old.back[group], values)
    smooth = np.clip(smooth, values.min(1, keepdims=True), values.max(1, keepdims=True))
    distance = ((new.points[:, :, None] - old.points[:, None]) ** 2).sum(-1)  # (groups, new, old)
    nearest = np.take_along_axis(values, distance.argmin(-1)[group][..., None], 1)
    found = np.where(jumps, nearest, smooth)
    found[..., decades] = np.exp(found[..., decades])
    return found


def of_modes(values: np.ndarray, rows: int) -> np.ndarray:
    """Values (faces, modes, columns) of ``rows`` modes: those of higher degrees are left out, or zero."""
    found = np.zeros((len(values), rows, values.shape[2]))
    kept = min(rows, values.shape[1])
    found[:, :kept] = values[:, :kept]
    return found
