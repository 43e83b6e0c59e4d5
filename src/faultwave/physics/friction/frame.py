"""Sides, directions and rotations on the fault (host functions; docs/theory/friction.md, "Sides and directions").

The normal n is the outward normal of the plus cell: it points from plus to minus. All vectors are (n, 3).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.physics.friction.law import Directions

_FLAT = 1e-10


def plus_side(
    method: Literal["point", "direction"],
    reference: tuple[float, float, float],
    normals: np.ndarray,
    on_face: np.ndarray,
    opposite: np.ndarray,
) -> np.ndarray:
    """True (n,) for cells that are the plus side of their fault face.

    ``normals`` outward normals of the cells, ``on_face`` a vertex of each face, ``opposite`` the cell's vertex off it.
    By 'point' plus is the side the reference point lies on; by 'direction' the side whose outward normal is along the
    reference vector, that is the side the vector points away from. Raises InputError where the reference cannot tell.
    """
    r = np.asarray(reference, float)
    if method == "point":
        away = r - on_face
        measure = np.einsum("ni,ni->n", away, normals)
        size = np.linalg.norm(away, axis=1)
        plus = measure * np.einsum("ni,ni->n", opposite - on_face, normals) > 0
        what, advice = "lies in the plane of the fault face", "choose a point off the fault"
    elif method == "direction":
        if not np.any(r):
            raise InputError(
                Problem(
                    "fault.reference",
                    "the reference direction is the null vector",
                    "a direction that is not zero, across the fault",
                )
            )
        measure, size = normals @ r, np.full(len(normals), np.linalg.norm(r))
        plus = measure > 0
        what, advice = "is parallel to the fault face", "choose a direction across the fault"
    else:
        raise InputError(Problem("fault.reference_method", f"is '{method}'", "point, direction"))
    vague = np.abs(measure) <= _FLAT * size
    if vague.any():
        x = on_face[np.argmax(vague)]
        advice += "" if np.any(r) else "; where none is given it is (0, 0, 0)"
        text = f"the {method} ({r[0]:g}, {r[1]:g}, {r[2]:g}) {what} at ({x[0]:g}, {x[1]:g}, {x[2]:g})"
        raise InputError(Problem("fault.reference", f"{text}, {vague.sum()} faces in all", advice=advice))
    return plus


def strike_dip(normals: np.ndarray, points: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Unit strike -e_z x n (horizontal) and dip n x strike (never upwards) of faults with normal n.

    Raises InputError for horizontal faces, where neither exists; ``points`` (n,3) names the place.
    """
    n = np.asarray(normals, float)
    length = np.hypot(n[:, 0], n[:, 1])
    flat = length <= _FLAT
    if flat.any():
        i = int(np.argmax(flat))
        place = "" if points is None else f" at ({points[i][0]:g}, {points[i][1]:g}, {points[i][2]:g})"
        what = f"{flat.sum()} fault faces are horizontal, the first{place or f' is number {i}'}"
        raise InputError(Problem("fault", what, advice="strike and dip are undefined there; tilt the fault"))
    strike = np.stack([n[:, 1], -n[:, 0], np.zeros(len(n))], axis=1) / length[:, None]
    return strike, np.cross(n, strike)


def tangents(normals: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """s1 along the given edge (made orthogonal to n) and s2 = n x s1, unit vectors."""
    s1 = edges - np.einsum("ni,ni->n", edges, normals)[:, None] * normals
    s1 /= np.linalg.norm(s1, axis=1)[:, None]
    return s1, np.cross(normals, s1)


def directions(s1: np.ndarray, s2: np.ndarray, strike: np.ndarray, dip: np.ndarray) -> Directions:
    """Cosines that take (strike, dip) components to (s1, s2) ones; their transpose takes them back."""

    def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.einsum("ni,ni->n", a, b)

    return Directions(dot(strike, s1), dot(strike, s2), dot(dip, s1), dot(dip, s2))


def traction(stress: np.ndarray, normal: np.ndarray, s1: np.ndarray, s2: np.ndarray) -> np.ndarray:
    """Traction (normal, s1, s2) (n,3) on faces from Cartesian stress (n,6), order xx yy zz xy yz xz."""
    xx, yy, zz, xy, yz, xz = np.asarray(stress, float).T
    tensor = np.stack([np.stack(row, -1) for row in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))], -2)
    t = np.einsum("nij,nj->ni", tensor, normal)
    return np.stack([np.einsum("ni,ni->n", t, axis) for axis in (normal, s1, s2)], axis=1)


def to_tangents(values: np.ndarray, d: Directions) -> np.ndarray:
    """(T_n, T_strike, T_dip) (n,3) to (T_n, T_s1, T_s2)."""
    n, strike, dip = np.asarray(values, float).T
    return np.stack([n, strike * d.strike1 + dip * d.dip1, strike * d.strike2 + dip * d.dip2], axis=1)


def to_strike_dip(along1: np.ndarray, along2: np.ndarray, d: Directions) -> tuple[np.ndarray, np.ndarray]:
    """Components along s1, s2 to components along strike and dip."""
    return along1 * d.strike1 + along2 * d.strike2, along1 * d.dip1 + along2 * d.dip2
