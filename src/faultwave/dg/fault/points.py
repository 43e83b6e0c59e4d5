"""Quadrature points of fault faces, where friction is solved, and matrices between point values and face modes."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal

import numpy as np

from faultwave.dg.method.basis import triangle_basis, triangle_quadrature, triangle_size

PERMUTATIONS = tuple(itertools.permutations(range(3)))


@dataclass(frozen=True)
class PointRule:
    """Friction points in face coordinates, for every permutation of a face's vertices.

    Attributes
    ----------
    points : (groups, n, 2) float
        Points in the ascending order of vertices.
    weights : (n,) float
        Quadrature weights, with sum 1/2.
    phi : (groups, n, B2) float
        Values of the face modes at the points.
    back : (groups, B2, n) float
        Projection of point values on the face modes.
    own : (n, 2) float, optional
        Points in a face's own vertex order, where the rule depends on that order.
    turn : (groups, B2, B2) float, optional
        Modes in a face's own vertex order from modes in ascending order, where the rule depends on that order.
    """

    points: np.ndarray
    weights: np.ndarray
    phi: np.ndarray
    back: np.ndarray
    own: np.ndarray | None = None  # (n, 2) in a face's own vertex order, where the rule depends on it
    turn: np.ndarray | None = None

    def projection(self, degree: int) -> np.ndarray:
        """Return the (n, n) projection of point values on the polynomials of a degree."""
        retained = triangle_size(degree)
        return np.asarray(self.phi[0][:, :retained] @ self.back[0][:retained])


def point_rule(kind: Literal["symmetric", "conical"], degree: int) -> PointRule:
    """Return the friction points of faces for face modes up to ``degree``.

    Parameters
    ----------
    kind : {"conical", "symmetric"}
        ``conical``: (degree + 2)^2 points, not symmetric, hence one group per vertex permutation, as in SeisSol.
        ``symmetric``: the Xiao-Gimbutas rule of degree 2 ``degree`` + 2, with positive weights and invariant under permutations,
        so that one group suffices [1]_.
    degree : int
        Polynomial degree of the face modes.

    References
    ----------
    .. [1] Xiao & Gimbutas (2010), doi:10.1016/j.camwa.2009.10.027.
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
    """Convert points from a face's own vertex order to ascending order; own vertex k is ascending vertex ``permutation[k]``."""
    own = np.stack([1.0 - points.sum(1), points[:, 0], points[:, 1]], 1)
    ascending = np.empty_like(own)
    ascending[:, list(permutation)] = own
    return ascending[:, 1:]


def vertex_permutation(
    order: np.ndarray, face: np.ndarray, file_faces: np.ndarray, sorted_faces: np.ndarray
) -> np.ndarray:
    """Return the index into ``PERMUTATIONS`` of each face, (n,).

    Parameters
    ----------
    order : (n, 4) int
        Vertex order of the cells: sorted vertex i is vertex ``order[i]`` of the file.
    face : (n,) int
        Local face in sorted numbering.
    file_faces, sorted_faces : (4, 3) int
        Vertices of the faces in both numberings. The first vertex of a file face is the origin of its coordinates.
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
    """Transfer values from the points of one rule to the points of another.

    Values are projected on the old rule's polynomials, evaluated at the new points and limited to the range that the face had.

    Parameters
    ----------
    values : (faces, p, columns) float
        Values at the old points.
    group : (faces,) int
        Vertex permutation of each face.
    jumps, decades : (columns,) bool
        Columns that take the value of the nearest point instead, and columns whose logarithm is interpolated.
    """
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


def resize_modes(values: np.ndarray, rows: int) -> np.ndarray:
    """Return values (faces, modes, columns) with ``rows`` modes: higher modes are dropped, missing ones are zero."""
    found = np.zeros((len(values), rows, values.shape[2]))
    retained = min(rows, values.shape[1])
    found[:, :retained] = values[:, :retained]
    return found
