"""Basis, reference matrices and quadrature: exact integrals, counts, polynomials."""

from __future__ import annotations

from math import factorial

import numpy as np
import pytest

from faultwave.dg.fault.points import PERMUTATIONS, permuted, point_rule, transfer, vertex_permutation
from faultwave.dg.method import basis as B

ORDERS = range(2, 9)
EVERY_ORDER = pytest.mark.parametrize("order", ORDERS)
# Nonzeros of the three derivative matrices and of the traces on the faces (0,1,2), (0,1,3), (0,2,3), (1,2,3); the code
# numbers faces the other way round: face f lies opposite vertex f.
COUNTS = {
    2: ((1, 2, 3), (4, 6, 9, 9)),
    3: ((7, 17, 22), (10, 20, 40, 40)),
    4: ((33, 77, 92), (20, 50, 125, 125)),
    5: ((108, 252, 287), (35, 105, 309, 309)),
    6: ((294, 672, 742), (56, 196, 672, 672)),
    7: ((686, 1554, 1680), (84, 336, 1320, 1320)),
    8: ((1446, 3228, 3438), (120, 540, 2394, 2394)),
}


@EVERY_ORDER
def test_sizes(order: int) -> None:
    assert B.tet_size(order - 1) == order * (order + 1) * (order + 2) // 6 == len(B.modes(order - 1))
    assert B.triangle_size(order - 1) == order * (order + 1) // 2 == len(B.triangle_modes(order - 1))
    assert [sum(m) for m in B.modes(order - 1)] == sorted(sum(m) for m in B.modes(order - 1))  # hierarchical


@EVERY_ORDER
def test_nonzeros_of_the_table(order: int) -> None:
    tables = B.matrices(order - 1)
    derivative, trace = COUNTS[order]
    assert tuple(np.count_nonzero(d) for d in tables.derivative) == derivative
    assert tuple(np.count_nonzero(r) for r in tables.trace[::-1]) == trace


@EVERY_ORDER
def test_mass_is_the_identity(order: int) -> None:
    p, w = B.tet_quadrature(order + 1)
    psi = B.tet_basis(p, order - 1)
    np.testing.assert_allclose(psi.T @ (w[:, None] * psi), np.eye(psi.shape[1]), atol=2e-13)
    p, w = B.triangle_quadrature(order + 1)
    phi = B.triangle_basis(p, order - 1)
    np.testing.assert_allclose(phi.T @ (w[:, None] * phi), np.eye(phi.shape[1]), atol=2e-13)
    np.testing.assert_allclose(B.tet_basis(p @ np.eye(2, 3), 0), np.sqrt(6.0))  # mode 0


def test_second_order_basis_by_hand() -> None:
    """psi_100, psi_010, psi_001 are multiples of 2x-1+y+z, 3y-1+z and 4z-1."""
    x, y, z = p = np.random.default_rng(0).uniform(0, 0.4, (3, 7))
    want = np.stack(
        [
            np.full(7, np.sqrt(6)),
            np.sqrt(60) * (2 * x - 1 + y + z),
            np.sqrt(20) * (3 * y - 1 + z),
            np.sqrt(10) * (4 * z - 1),
        ]
    )
    np.testing.assert_allclose(B.tet_basis(p.T, 1), want.T, rtol=1e-13)


def monomials(points: np.ndarray, degree: int) -> tuple[list[tuple[int, ...]], np.ndarray, np.ndarray]:
    """Exponents, values (n, k) and gradients (n, k, dim) of all monomials up to a degree."""
    dim = points.shape[1]
    powers = [e for e in np.ndindex(*(degree + 1,) * dim) if sum(e) <= degree]
    values = np.stack([np.prod(points ** np.array(e), 1) for e in powers], 1)
    gradients = []
    for e in powers:
        parts = []
        for d in range(dim):
            lower = np.array(e)
            lower[d] -= 1
            parts.append(e[d] * np.prod(points ** np.maximum(lower, 0), 1))
        gradients.append(np.stack(parts, 1))
    return powers, values, np.stack(gradients, 1)


@EVERY_ORDER
def test_derivatives_are_exact_on_monomials(order: int) -> None:
    degree = order - 1
    p, w = B.tet_quadrature(order + 1)
    psi = B.tet_basis(p, degree)
    _, values, gradients = monomials(p, degree)
    coefficients = psi.T @ (w[:, None] * values)
    tables = B.matrices(degree)
    here = np.random.default_rng(1).dirichlet(np.ones(4), 30)[:, 1:]
    at = B.tet_basis(here, degree)
    _, want, slopes = monomials(here, degree)
    np.testing.assert_allclose(at @ coefficients, want, atol=1e-12)
    for d in range(3):
        np.testing.assert_allclose(at @ tables.derivative[d] @ coefficients, slopes[..., d], atol=1e-11)
        # degree m goes to degree m - 1: rows and columns beyond are zero
        for m in range(degree + 1):
            assert not tables.derivative[d][B.tet_size(m - 1) :, : B.tet_size(m)].any()
    assert gradients.shape == (*values.shape, 3)


@EVERY_ORDER
def test_gradients_also_at_the_vertices(order: int) -> None:
    """Regular where collapsed coordinates are not."""
    rng = np.random.default_rng(2)
    points = np.concatenate([B.VERTICES, B.VERTICES.mean(0)[None], rng.dirichlet(np.ones(4), 4)[:, 1:]])
    _, gradient = B.tet_basis_gradient(points, order - 1)
    assert np.isfinite(gradient).all()
    # Of a polynomial of degree <= 7 a seven-point difference is exact.
    weights = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60
    for d in range(3):
        e = 0.05 * np.eye(3)[d]
        near = np.stack([B.tet_basis(points + s * e, order - 1) for s in range(-3, 4)])
        tolerance = 1e-9 if order <= 7 else 1e-2
        np.testing.assert_allclose(
            np.tensordot(weights, near, 1) / 0.05, gradient[..., d], atol=tolerance * np.abs(gradient).max()
        )
    flat = np.concatenate([[[0.0, 0], [1, 0], [0, 1]], rng.dirichlet(np.ones(3), 4)[:, 1:]])
    _, gradient = B.triangle_basis_gradient(flat, order - 1)
    for d in range(2):
        e = 0.05 * np.eye(2)[d]
        near = np.stack([B.triangle_basis(flat + s * e, order - 1) for s in range(-3, 4)])
        np.testing.assert_allclose(
            np.tensordot(weights, near, 1) / 0.05, gradient[..., d], atol=tolerance * np.abs(gradient).max()
        )


@EVERY_ORDER
def test_traces_are_the_function_on_the_face(order: int) -> None:
    degree = order - 1
    rng = np.random.default_rng(3)
    q = rng.normal(size=B.tet_size(degree))
    flat = rng.dirichlet(np.ones(3), 20)[:, 1:]
    for f in range(4):
        x = B.face_points(f, flat)
        barycentric = np.concatenate([1 - x.sum(1, keepdims=True), x], 1)
        np.testing.assert_allclose(barycentric[:, f], 0.0, atol=1e-15)  # opposite vertex f
        np.testing.assert_allclose(
            B.triangle_basis(flat, degree) @ B.matrices(degree).trace[f] @ q, B.tet_basis(x, degree) @ q, atol=1e-11
        )


@EVERY_ORDER
def test_both_sides_of_a_face_see_the_same_trace(order: int) -> None:
    """A global polynomial has one trace, whatever the local numbers of the face, when vertices ascend on both sides."""
    degree = order - 1
    rng = np.random.default_rng(4)
    vertices = rng.normal(size=(5, 3))  # two cells share three of five vertices
    p, w = B.tet_quadrature(order + 1)
    psi = B.tet_basis(p, degree)
    direction = rng.normal(size=3)
    for apexes in ((0, 1), (0, 4), (2, 3), (1, 4), (3, 4)):
        traces = []
        for apex in apexes:
            cell = sorted(set(range(5)) - {apex})
            local = cell.index(next(a for a in apexes if a != apex))  # the face opposite the vertex the other has not
            v = vertices[cell]
            x = v[0] + p @ (v[1:] - v[0])
            q = psi.T @ (w * (x @ direction) ** degree)
            traces.append(B.matrices(degree).trace[local] @ q)
        np.testing.assert_allclose(traces[0], traces[1], atol=1e-10 * np.abs(traces[0]).max())


@pytest.mark.parametrize("n", range(1, 11))
def test_quadrature_is_exact_to_degree_2n_minus_1(n: int) -> None:
    for points, weights in (B.tet_quadrature(n), B.triangle_quadrature(n)):
        dim = points.shape[1]
        assert (weights > 0).all() and (points > 0).all() and (points.sum(1) < 1).all()
        assert len(weights) == n**dim
        powers, values, _ = monomials(points, 2 * n - 1)
        exact = [np.prod([float(factorial(k)) for k in e]) / factorial(sum(e) + dim) for e in powers]
        np.testing.assert_allclose(weights @ values, exact, rtol=2e-12)


# ---- fault points -------------------------------------------------------------------------------------------------

RULES = pytest.mark.parametrize("kind", ("symmetric", "conical"))


@RULES
@EVERY_ORDER
def test_point_rules(kind: str, order: int) -> None:
    """Positive weights, inner points, exact to 2N + 2; points to modes and back loses no polynomial."""
    degree = order - 1
    rule = point_rule(kind, degree)  # type: ignore[arg-type]
    assert (rule.weights > 0).all() and rule.weights.sum() == pytest.approx(0.5, rel=1e-13)
    for g, points in enumerate(rule.points):
        assert (points > 0).all() and (points.sum(1) < 1).all()
        powers, values, _ = monomials(points, 2 * degree + 2)
        exact = [float(factorial(a) * factorial(b)) / factorial(a + b + 2) for a, b in powers]
        np.testing.assert_allclose(rule.weights @ values, exact, rtol=1e-11)
        np.testing.assert_allclose(rule.phi[g], B.triangle_basis(points, degree), atol=1e-13)
        np.testing.assert_allclose(rule.back[g] @ rule.phi[g], np.eye(B.triangle_size(degree)), atol=1e-11)
        same = rule.projection(degree)
        np.testing.assert_allclose(rule.phi[g] @ rule.back[g], same, atol=1e-11)  # one table serves all groups
    np.testing.assert_allclose(same @ same, same, atol=1e-11)
    for left in range(degree + 1):
        table = rule.projection(left)
        modes = rule.back[0] @ table @ rule.phi[0]
        kept = np.arange(len(modes)) < B.triangle_size(left)
        np.testing.assert_allclose(modes, np.diag(kept.astype(float)), atol=1e-11)


@EVERY_ORDER
def test_symmetric_rule_does_not_know_the_order_of_vertices(order: int) -> None:
    rule = point_rule("symmetric", order - 1)
    assert len(rule.points) == 1
    points = rule.points[0]
    for permutation in PERMUTATIONS:
        moved = permuted(points, permutation)
        distance = np.linalg.norm(moved[:, None] - points, axis=2)
        match = distance.argmin(1)
        assert distance.min(1).max() < 1e-12 and len(set(match)) == len(points)
        np.testing.assert_allclose(rule.weights[match], rule.weights, rtol=1e-10)


@EVERY_ORDER
def test_conical_groups_are_the_same_physical_points(order: int) -> None:
    """Group g, in ascending coordinates, is where the face's own vertex order puts the points."""
    rule = point_rule("conical", order - 1)
    own_points, _ = B.triangle_quadrature(order + 1)
    ascending = np.random.default_rng(5).normal(size=(3, 3))
    assert len(rule.points) == 6
    for g, permutation in enumerate(PERMUTATIONS):
        own = ascending[list(permutation)]  # own vertex k is ascending vertex permutation[k]

        def place(corners: np.ndarray, p: np.ndarray) -> np.ndarray:
            a, b, c = corners
            return np.asarray(a + p[:, :1] * (b - a) + p[:, 1:] * (c - a))

        np.testing.assert_allclose(place(ascending, rule.points[g]), place(own, own_points), atol=1e-13)


def test_vertex_permutation_of_every_cell_order() -> None:
    from itertools import permutations

    from faultwave.domain.tets.mesh import FILE_FACES, SORTED_FACES

    vertices = np.random.default_rng(6).normal(size=(4, 3))  # by ascending number
    for order in permutations(range(4)):  # sorted vertex i is file vertex order[i]
        file_cell = np.empty((4, 3))
        file_cell[list(order)] = vertices
        for face in range(4):
            g = int(vertex_permutation(np.array([order]), np.array([face]), FILE_FACES, SORTED_FACES)[0])
            ascending = vertices[SORTED_FACES[face]]
            own = ascending[list(PERMUTATIONS[g])]
            candidates = [file_cell[f] for f in FILE_FACES]
            assert any(np.allclose(own, c) for c in candidates)


def test_positive_states_go_to_points_of_another_order_by_their_logarithms() -> None:
    """A front within the face leaves 1e9 s on one side and seconds on the other."""
    old, new = point_rule("symmetric", 2), point_rule("symmetric", 4)

    def column(points: np.ndarray) -> np.ndarray:
        return np.stack([10.0 ** (9.0 * points[:, 0]), 2.0 + points[:, 1], 1.0 + (points[:, 0] > 0.5)], -1)[None]

    given = column(old.points[0])
    found = transfer(given, old, new, np.zeros(1, int), np.array([False, False, True]), np.array([True, False, False]))
    low, high = given.min(1), given.max(1)
    exact = column(new.points[0])
    np.testing.assert_allclose(found[..., :2], np.clip(exact, low, high)[..., :2], rtol=1e-9)
    assert set(found[0, :, 2]) == {1.0, 2.0}
