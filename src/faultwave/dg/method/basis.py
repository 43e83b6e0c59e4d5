"""Orthonormal Dubiner basis on the reference tetrahedron and triangle, its matrices, and quadrature.

Homogeneous Jacobi polynomials avoid the singular collapsed coordinates (Dubiner 1991; docs/theory/formulation.md,
"Basis, matrices and quadrature"). Cells have vertices in ascending global order; face f lies opposite vertex f and its
coordinates run from its first to its second and third vertex, so that both sides of a face see the same coordinates.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from faultwave.base.formulas import gauss_jacobi

VERTICES = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
FACES = ((1, 2, 3), (0, 2, 3), (0, 1, 3), (0, 1, 2))  # face f is opposite vertex f


def tet_size(degree: int) -> int:
    """Return the number of basis functions of a tetrahedron."""
    return (degree + 1) * (degree + 2) * (degree + 3) // 6 if degree >= 0 else 0


def triangle_size(degree: int) -> int:
    """Return the number of basis functions of a face."""
    return (degree + 1) * (degree + 2) // 2 if degree >= 0 else 0


def _homogeneous(n: int, a: int, b: int, x: np.ndarray, y: np.ndarray) -> list[tuple[np.ndarray, ...]]:
    """Return H_k(x, y) = y^k P_k^{a,b}(x/y) for k = 0..n with dH/dx and dH/dy."""
    one, zero = np.ones_like(x), np.zeros_like(x)
    rows: list[tuple[np.ndarray, ...]] = [(one, zero, zero)]
    if n >= 1:
        c0, c1 = (a - b) / 2.0, 1.0 + (a + b) / 2.0
        rows.append((c0 * y + c1 * x, c1 * one, c0 * one))
    for k in range(2, n + 1):
        c = 2.0 * k + a + b
        d = 2.0 * k * (k + a + b) * (c - 2.0)
        p, q = (c - 1.0) * (a * a - b * b) / d, (c - 1.0) * c * (c - 2.0) / d
        r = 2.0 * (k + a - 1.0) * (k + b - 1.0) * c / d
        (h1, x1, y1), (h0, x0, y0) = rows[-1], rows[-2]
        line = p * y + q * x
        rows.append(
            (
                line * h1 - r * y**2 * h0,
                q * h1 + line * x1 - r * y**2 * x0,
                p * h1 + line * y1 - r * (2 * y * h0 + y**2 * y0),
            )
        )
    return rows


def modes(degree: int) -> list[tuple[int, int, int]]:
    """Return the indices (i, j, k) by total degree, then k, then j ascending; the first B3(d) span degree <= d."""
    return [(d - j - k, j, k) for d in range(degree + 1) for k in range(d + 1) for j in range(d - k + 1)]


def triangle_modes(degree: int) -> list[tuple[int, int]]:
    """Return the indices of the face modes, sorted by total degree."""
    return [(d - j, j) for d in range(degree + 1) for j in range(d + 1)]


def tet_basis_gradient(points: np.ndarray, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Return values (n, B3) and gradients (n, B3, 3) of the basis at reference points (n, 3)."""
    x, y, z = np.asarray(points, float).T
    u, s = 2 * x - 1 + y + z, 1 - y - z
    v, t = 2 * y - 1 + z, 1 - z
    first = _homogeneous(degree, 0, 0, u, s)
    values, gradients = [], []
    second = [_homogeneous(degree - i, 2 * i + 1, 0, v, t) for i in range(degree + 1)]
    third: dict[int, list] = {}
    for i, j, k in modes(degree):
        if i + j not in third:
            third[i + j] = _homogeneous(degree - i - j, 2 * (i + j) + 2, 0, 2 * z - 1, np.ones_like(z))
        f, fu, fs = first[i]
        g, gv, gt = second[i][j]
        h, hz, _ = third[i + j][k]
        c = np.sqrt((2 * i + 1) * (2 * i + 2 * j + 2) * (2 * i + 2 * j + 2 * k + 3.0))
        values.append(c * f * g * h)
        gradients.append(
            c * np.stack([2 * fu * g * h, ((fu - fs) * g + f * 2 * gv) * h,
                          ((fu - fs) * g + f * (gv - gt)) * h + f * g * 2 * hz])
        )  # fmt: skip
    return np.array(values).T, np.moveaxis(np.array(gradients), 2, 0)


def tet_basis(points: np.ndarray, degree: int) -> np.ndarray:
    """Return the basis functions psi (n, B3) at reference points (n, 3)."""
    return tet_basis_gradient(points, degree)[0]


def triangle_basis_gradient(points: np.ndarray, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the face basis phi (n, B2) and its gradients (n, B2, 2) at reference points (n, 2)."""
    x, y = np.asarray(points, float).T
    first = _homogeneous(degree, 0, 0, 2 * x - 1 + y, 1 - y)
    values, gradients = [], []
    for i, j in triangle_modes(degree):
        f, fu, fs = first[i]
        g, gy, _ = _homogeneous(j, 2 * i + 1, 0, 2 * y - 1, np.ones_like(y))[j]
        c = np.sqrt((2 * i + 1) * (2 * i + 2 * j + 2.0))
        values.append(c * f * g)
        gradients.append(c * np.stack([2 * fu * g, (fu - fs) * g + f * 2 * gy]))
    return np.array(values).T, np.moveaxis(np.array(gradients), 2, 0)


def triangle_basis(points: np.ndarray, degree: int) -> np.ndarray:
    """Return the face basis functions phi (n, B2) at reference points (n, 2)."""
    return triangle_basis_gradient(points, degree)[0]


@functools.cache
def tet_quadrature(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points and weights of the conical rule with n^3 points, exact to degree 2n - 1; weights sum to 1/6."""
    (a, wa), (b, wb), (c, wc) = (gauss_jacobi(n, k) for k in (0, 1, 2))
    a, b, c = (1 + a) / 2, (1 + b) / 2, (1 + c) / 2
    z, y, x = np.meshgrid(c, b, a, indexing="ij")
    y = y * (1 - z)
    x = x * (1 - y - z)
    weights = (wc / 8)[:, None, None] * (wb / 4)[None, :, None] * (wa / 2)[None, None, :]
    return np.stack([x, y, z], -1).reshape(-1, 3), weights.reshape(-1)


@functools.cache
def triangle_quadrature(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points and weights of the conical rule with n^2 points, exact to degree 2n - 1; weights sum to 1/2.

    The points are chi = (1 + x_i)/2 from Gauss-Jacobi (1, 0) and tau = (1 + y_j)(1 - x_i)/4: the fault points of SeisSol decks.
    """
    (x, wx), (y, wy) = gauss_jacobi(n, 1), gauss_jacobi(n)
    chi = np.repeat((1 + x) / 2, n)
    tau = ((1 + y)[None, :] * (1 - x)[:, None] / 4).reshape(-1)
    return np.stack([chi, tau], -1), (wx[:, None] / 4 * wy[None, :] / 2).reshape(-1)


def two_stages(trace: np.ndarray, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Factor the trace matrix (B2, B3) of face 0 or 1 of a basis of ``degree`` into two sparser ones, (B2, n) and (n, B3).

    On these faces mode (i, j, k) is (+-1)^i times a polynomial of degree i + j in the first face coordinate times one in the
    second: for every n = i + j the first stage converts the modes i = 0..n into face modes a = 0..n, for each k alike, and the second
    stage converts k into b. Each block of the trace matrix is an outer product, which gives both factors.

    Raises
    ------
    ValueError
        If a block of the trace matrix is not an outer product.
    """
    cells, faces = modes(degree), triangle_modes(degree)
    column, row = {m: i for i, m in enumerate(cells)}, {m: i for i, m in enumerate(faces)}
    middle = [(a, n, k) for n in range(degree + 1) for k in range(degree + 1 - n) for a in range(n + 1)]
    first, second = np.zeros((len(middle), len(cells))), np.zeros((len(faces), len(middle)))
    place = {m: i for i, m in enumerate(middle)}
    for n in range(degree + 1):
        for a in range(n + 1):
            pairs = [(k, b) for k in range(degree + 1 - n) for b in range(degree + 1 - a)]
            block = np.array([[trace[row[a, b], column[i, n - i, k]] for i in range(n + 1)] for k, b in pairs])
            left, size, right = np.linalg.svd(block)
            if len(size) > 1 and size[1] > 1e-10 * max(size[0], 1e-300):
                raise ValueError("not the trace of a face that two stages reach")
            for i in range(n + 1):
                for k in range(degree + 1 - n):
                    first[place[a, n, k], column[i, n - i, k]] = right[0, i]
            for (k, b), value in zip(pairs, left[:, 0] * size[0], strict=True):
                second[row[a, b], place[a, n, k]] = value
    first[np.abs(first) < 1e-10] = 0.0
    second[np.abs(second) < 1e-10] = 0.0
    return second, first


def face_points(face: int, points: np.ndarray) -> np.ndarray:
    """Return the tetrahedron coordinates (n, 3) of points in coordinates (n, 2) of a face."""
    a, b, c = VERTICES[list(FACES[face])]
    return a + points[:, :1] * (b - a) + points[:, 1:] * (c - a)


@dataclass(frozen=True)
class Matrices:
    """Reference matrices of one degree: D_d (3, B3, B3) with coefficients of d psi / d xi_d, R_f (4, B2, B3)."""

    degree: int
    derivative: np.ndarray
    trace: np.ndarray


def inner(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the sum of a * b over the last axis, in ascending order, with the other axes broadcast.

    Unlike in einsum, the rounding does not depend on the shapes: a value at a point must not change with the number of
    points read with it, hence not with the number of processes.
    """
    total = np.asarray(a[..., 0] * b[..., 0])
    product = np.empty_like(total)
    for i in range(1, a.shape[-1]):
        np.multiply(a[..., i], b[..., i], out=product)
        np.add(total, product, out=total)
    return total


@functools.cache
def matrices(degree: int) -> Matrices:
    """Return derivative and trace matrices by quadrature exact to degree 2N + 3, with rounding noise set to zero."""
    points, weights = tet_quadrature(degree + 2)
    values, gradients = tet_basis_gradient(points, degree)
    derivative = np.einsum("n,nk,nld->dkl", weights, values, gradients)
    flat, face_weights = triangle_quadrature(degree + 2)
    phi = triangle_basis(flat, degree)
    trace = np.stack(
        [np.einsum("n,nk,nl->kl", face_weights, phi, tet_basis(face_points(f, flat), degree)) for f in range(4)]
    )
    noise = 1e-10
    derivative[np.abs(derivative) < noise] = 0.0
    trace[np.abs(trace) < noise] = 0.0
    return Matrices(degree, derivative, trace)
