"""Sides, directions and rotations on the fault (host functions; docs/theory/friction.md, "Sides and directions")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from faultwave.base.errors import InputError, Problem


@dataclass(frozen=True)
class Directions:
    """Direction cosines of the strike and dip vectors along the face tangents s1, s2; arrays (n,)."""

    strike1: np.ndarray
    strike2: np.ndarray
    dip1: np.ndarray
    dip2: np.ndarray


_FLAT = 1e-10


def plus_side(
    method: Literal["point", "direction"],
    reference: tuple[float, float, float],
    normals: np.ndarray,
    on_face: np.ndarray,
    opposite: np.ndarray,
) -> np.ndarray:
    """Return True for each cell that is the plus side of its fault face.

    Parameters
    ----------
    method
        'point': plus is the side on which the reference point lies. 'direction': plus is the side whose outward normal
        is along the reference vector, which is the side that the vector points away from.
    reference
        Point [m] or direction.
    normals : (n, 3) array
        Outward normals of the cells.
    on_face, opposite : (n, 3) array
        A vertex of each face, and the vertex of the cell that is not on it [m].

    Returns
    -------
    (n,) array of bool

    Raises
    ------
    InputError
        If the reference point lies in the plane of a face, or the direction is parallel to one or zero.
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
        advice += "" if np.any(r) else "; the default is (0, 0, 0)"
        text = f"the {method} ({r[0]:g}, {r[1]:g}, {r[2]:g}) {what} at ({x[0]:g}, {x[1]:g}, {x[2]:g})"
        raise InputError(Problem("fault.reference", f"{text}, {vague.sum()} faces in all", advice=advice))
    return plus


def strike_dip(normals: np.ndarray, points: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the unit vectors of strike, -e_z x n (horizontal), and of dip, n x strike (never upwards), of faces with normals n.

    Parameters
    ----------
    normals : (n, 3) array
        Unit normals.
    points : (n, 3) array, optional
        Points [m], which only the error message states.

    Raises
    ------
    InputError
        If a face is horizontal, where neither direction exists.
    """
    n = np.asarray(normals, float)
    length = np.hypot(n[:, 0], n[:, 1])
    flat = length <= _FLAT
    if flat.any():
        i = int(np.argmax(flat))
        place = "" if points is None else f" at ({points[i][0]:g}, {points[i][1]:g}, {points[i][2]:g})"
        what = f"{flat.sum()} fault faces are horizontal, the first{place or f' is number {i}'}"
        raise InputError(Problem("fault", what, advice="Strike and dip are undefined there; tilt the fault."))
    strike = np.stack([n[:, 1], -n[:, 0], np.zeros(len(n))], axis=1) / length[:, None]
    return strike, np.cross(n, strike)


def tangents(normals: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the unit tangents s1, along the given edges made orthogonal to the normals n, and s2 = n x s1."""
    s1 = edges - np.einsum("ni,ni->n", edges, normals)[:, None] * normals
    s1 /= np.linalg.norm(s1, axis=1)[:, None]
    return s1, np.cross(normals, s1)


def directions(s1: np.ndarray, s2: np.ndarray, strike: np.ndarray, dip: np.ndarray) -> Directions:
    """Return the cosines that transform components along (strike, dip) to (s1, s2); their transpose is the inverse."""

    def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.einsum("ni,ni->n", a, b)

    return Directions(dot(strike, s1), dot(strike, s2), dot(dip, s1), dot(dip, s2))


def traction(stress: np.ndarray, normal: np.ndarray, s1: np.ndarray, s2: np.ndarray) -> np.ndarray:
    """Return the traction (n, 3) along (normal, s1, s2) on faces, from Cartesian stresses (n, 6) in the order xx yy zz xy yz xz."""
    xx, yy, zz, xy, yz, xz = np.asarray(stress, float).T
    tensor = np.stack([np.stack(row, -1) for row in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))], -2)
    t = np.einsum("nij,nj->ni", tensor, normal)
    return np.stack([np.einsum("ni,ni->n", t, axis) for axis in (normal, s1, s2)], axis=1)


def to_tangents(values: np.ndarray, d: Directions) -> np.ndarray:
    """Rotate tractions (n, 3) from (T_n, T_strike, T_dip) to (T_n, T_s1, T_s2)."""
    n, strike, dip = np.asarray(values, float).T
    return np.stack([n, strike * d.strike1 + dip * d.dip1, strike * d.strike2 + dip * d.dip2], axis=1)


def to_strike_dip(along1: np.ndarray, along2: np.ndarray, d: Directions) -> tuple[np.ndarray, np.ndarray]:
    """Rotate components along the tangents s1 and s2 to components along strike and dip."""
    return along1 * d.strike1 + along2 * d.strike2, along1 * d.dip1 + along2 * d.dip2
