from dataclasses import replace

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.domain import tets
from faultwave.domain.tets.generators.box import Box, box_mesh
from faultwave.domain.tets.generators.graded import Tpv5, graded_mesh
from faultwave.domain.tets.mesh import SORTED_FACES
from faultwave.domain.tets.triangles import nearest_on_triangles
from tests.messages import raises


def prepared(mesh):
    topology = tets.build_topology(mesh)
    return topology, tets.geometry(mesh, topology), mesh.vertices


def barycentric(point, triangle):
    return np.linalg.lstsq(np.vstack([triangle.T, np.ones(3)]), np.append(point, 1), rcond=None)[0]


def by_search(points, topology, geometry):
    """Lowest cell whose reference coordinates hold the point: all cells tried."""
    found = []
    for x in points:
        xi = np.einsum("nij,nj->ni", geometry.inverse, x - geometry.origin())
        inside = np.flatnonzero((xi.min(axis=1) >= -1e-9) & (xi.sum(axis=1) <= 1 + 1e-9))
        found.append(inside[0] if len(inside) else -1)
    return np.array(found)


@pytest.mark.parametrize("name", ["box", "graded"])
def test_against_full_search(name, box):
    mesh = box if name == "box" else graded_mesh(Tpv5(size=2500.0, far_size=20e3, dip=45.0))
    topology, geometry, vertices = prepared(mesh)
    rng = np.random.default_rng(1)
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    points = rng.uniform(low - 0.05 * (high - low), high + 0.05 * (high - low), (200, 3))
    cells = rng.integers(len(mesh.cells), size=60)
    corners = vertices[topology.cells[cells]]
    # On vertices, edge midpoints and face centres several cells hold the point.
    points = np.concatenate([points, corners[:, 0], corners[:, :2].mean(axis=1), corners[:, 1:].mean(axis=1)])
    found = tets.locate(points, topology, geometry, vertices)
    assert np.array_equal(found.cells, by_search(points, topology, geometry))
    inside = found.cells >= 0
    assert 100 < inside.sum() < len(points) and inside[200:].all()
    assert (found.distance[inside] == 0).all() and (found.distance[~inside] > 0).all()
    xi = found.xi[inside]
    mapped = geometry.origin(found.cells[inside]) + np.einsum("nij,nj->ni", geometry.jacobian(found.cells[inside]), xi)
    np.testing.assert_allclose(mapped, points[inside], atol=1e-9 * np.abs(high).max())
    assert np.isnan(found.xi[~inside]).all()
    outside = np.maximum(np.maximum(low - points, points - high), 0)
    np.testing.assert_allclose(found.distance, np.linalg.norm(outside, axis=1), atol=1e-9 * np.abs(low).max())


def test_distance_to_a_periodic_box():
    """Its sides have neighbours, yet the box ends there."""
    mesh = box_mesh(Box((3, 3, 3), (0, 0, 0), (3, 3, 3), dict.fromkeys("xyz", "periodic")))
    found = tets.locate(np.array([[1.2, 1.3, 5.0], [-3, -4, 1.0], [1, 1, 1.0]]), *prepared(mesh))
    np.testing.assert_allclose(found.distance, [2, 5, 0], atol=1e-12)
    assert found.cells.tolist()[:2] == [-1, -1]


def test_real_receivers(cases):
    mesh = tets.read_puml(cases / "tpv5" / "tpv5-20k.h5")
    points = np.loadtxt(cases / "tpv101" / "Receivers.dat")
    topology, geometry, vertices = prepared(mesh)
    found = tets.locate(points, topology, geometry, vertices)
    assert np.array_equal(found.cells, by_search(points, topology, geometry)) and (found.cells >= 0).all()
    everywhere = tets.locate(geometry.centroids, topology, geometry, vertices)
    assert np.array_equal(everywhere.cells, np.arange(len(mesh.cells)))


def test_bad_points(box):
    with raises(InputError):
        tets.locate(np.array([[0, 0, 0], [0, np.nan, 0]]), *prepared(box))
    assert len(tets.locate(np.empty((0, 3)), *prepared(box)).cells) == 0


def test_nearest_fault_face(box):
    topology, geometry, vertices = prepared(box)
    rng = np.random.default_rng(2)
    points = np.concatenate([rng.uniform([-299, -50, -499], [299, 50, -1], (50, 3)), [[500, 30, 40]]])
    found = tets.nearest_fault_face(points, topology, geometry, vertices)
    expected = points * [1, 0, 1]
    expected[-1] = 300, 0, 0
    np.testing.assert_allclose(found.points, expected, atol=1e-9)
    np.testing.assert_allclose(found.distance, np.linalg.norm(points - expected, axis=1))
    assert (topology.kinds[found.cells, found.faces] == tets.BoundaryKind.FAULT).all()
    assert (found.cells < topology.neighbours[found.cells, found.faces]).all()
    corners = vertices[np.take_along_axis(topology.cells[found.cells], SORTED_FACES[found.faces], axis=1)]
    for x, triangle in zip(found.points, corners, strict=True):
        assert barycentric(x, triangle).min() > -1e-9
    welded = replace(box, tags=np.where(box.tags == 3, 0, box.tags).astype(np.int32))
    with raises(InputError):
        tets.nearest_fault_face(points, *prepared(welded))


def test_equally_near_fault_faces_choose_the_lower_cell(box):
    topology, geometry, vertices = prepared(box)
    cell, face = np.nonzero(topology.kinds == tets.BoundaryKind.FAULT)
    triangles = np.take_along_axis(topology.cells[cell], SORTED_FACES[face], axis=1)
    for vertex in np.unique(triangles)[:10]:
        found = tets.nearest_fault_face(vertices[vertex] + [0, 3.0, 0], topology, geometry, vertices)
        assert found.cells[0] == cell[(triangles == vertex).any(axis=1)].min()


def test_a_receiver_on_an_edge_belongs_to_the_face_that_it_lies_in(cases):
    """The edge passes the second receiver of this deck a picometre away; SeisSol takes the same face."""
    mesh = tets.read_puml(cases / "tpv5" / "tpv5-20k.h5")
    found = tets.nearest_fault_face(np.loadtxt(cases / "tpv105" / "FaultReceivers.dat"), *prepared(mesh))
    assert found.cells.tolist() == [5088, 7679, 18654, 195] and found.distance.max() < 1e-12


def test_nearest_point_of_a_triangle():
    """Against a fine scan of the triangle, for points above, beside edges and beyond corners."""
    rng = np.random.default_rng(3)
    triangles = rng.normal(size=(40, 3, 3))
    n = 60
    a, b = np.meshgrid(np.arange(n + 1) / n, np.arange(n + 1) / n)
    weights = np.stack([a, b, 1 - a - b])[:, a + b <= 1 + 1e-12]
    for x in rng.normal(size=(10, 3)) * 2:
        nearest, distance = nearest_on_triangles(x, triangles)
        scan = np.linalg.norm(np.einsum("wp,nwi->npi", weights, triangles) - x, axis=2).min(axis=1)
        assert (distance <= scan + 1e-12).all() and (scan - distance < 0.1).all()
        np.testing.assert_allclose(np.linalg.norm(nearest - x, axis=1), distance, atol=1e-12)
        assert min(barycentric(p, t).min() for p, t in zip(nearest, triangles, strict=True)) > -1e-9
