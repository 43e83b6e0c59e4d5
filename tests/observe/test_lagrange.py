"""Cells of high degree: nodes as VTK has them, exact means, and pieces that stay right-handed."""

from __future__ import annotations

from math import factorial
from types import SimpleNamespace

import numpy as np
import pytest

from faultwave.observe.snapshots.pieces import (
    MOST_DEGREE,
    degree_of,
    lagrange_nodes,
    mean_weights,
    node_count,
    tet_pieces,
    triangle_pieces,
)

DEGREES = range(1, MOST_DEGREE + 1)


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("dimension", [2, 3])
def test_nodes_are_those_of_vtk(dimension: int, degree: int) -> None:
    model = pytest.importorskip("vtkmodules.vtkCommonDataModel", reason="the vtk package is not installed")
    found = lagrange_nodes(dimension, degree)
    assert len(found) == node_count(dimension, degree) and degree_of(dimension, len(found)) == degree
    cell = {2: model.vtkLagrangeTriangle, 3: model.vtkLagrangeTetra}[dimension]()
    cell.GetPointIds().SetNumberOfIds(len(found))
    cell.GetPoints().SetNumberOfPoints(len(found))
    cell.Initialize()
    for i, node in enumerate(found):
        weights = [0] * (dimension + 1)
        cell.ToBarycentricIndex(i, weights)
        # VTK counts the weights from the second corner on; the first corner's stands last
        np.testing.assert_array_equal(np.roll(weights, 1), np.rint(degree * node))


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("dimension", [2, 3])
def test_means_of_polynomials_are_exact(dimension: int, degree: int) -> None:
    nodes, weights = lagrange_nodes(dimension, degree), mean_weights(dimension, degree)
    assert len(weights) == len(nodes) and abs(weights.sum() - 1.0) < 1e-14
    for power in range(degree + 1):
        exact = factorial(power) * factorial(dimension) / factorial(power + dimension)
        np.testing.assert_allclose((nodes**power).T @ weights, exact, rtol=1e-13)


@pytest.mark.parametrize("pieces", [triangle_pieces, tet_pieces])
@pytest.mark.parametrize("refinement, degree", [(0, None), (2, None), (0, 1), (0, 3), (2, 2)])
def test_exchanged_corners_turn_the_other_way(pieces, refinement: int, degree: int | None) -> None:
    made = pieces(SimpleNamespace(refinement=refinement, degree=degree))
    count, each, dimension = made.nodes.shape
    turned = made.nodes.reshape(-1, dimension)[made.mirrored()].reshape(made.nodes.shape)
    for nodes, sign in ((made.nodes, 1), (turned, -1)):
        corners = nodes[:, : dimension + 1]
        assert (np.sign(np.linalg.det(corners[:, 1:] - corners[:, :1])) == sign).all()
        if degree:  # every node is where its weights of the corners say
            np.testing.assert_allclose(nodes, lagrange_nodes(dimension, degree) @ corners, atol=1e-14)
    assert len(made.points) == (count * each if degree else count)


def test_a_count_that_no_degree_has() -> None:
    with pytest.raises(ValueError, match="cells of 11 nodes"):
        degree_of(3, 11)
