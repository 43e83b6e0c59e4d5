"""Order along a curve, and the worst cells."""

import numpy as np
import pytest

from faultwave.domain import tets
from faultwave.domain.tets.geometry import aspect_ratios
from faultwave.domain.tets.mesh import make_mesh, reorder_cells


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
def test_hilbert_curve_visits_neighbours(bits):
    """On a full grid of 2^bits points each way consecutive points are one step apart: what makes it a Hilbert curve."""
    n = 2**bits
    grid = np.stack(np.meshgrid(*[np.arange(n)] * 3), axis=-1).reshape(-1, 3).astype(float)
    grid = grid[np.random.default_rng(bits).permutation(len(grid))]
    # Half a cell of room on each side puts every point into its own octant at all levels.
    order = tets.hilbert_order(np.concatenate([grid + 0.5, [[0, 0, 0], [n, n, n]]]))
    order = order[order < len(grid)]
    assert sorted(order.tolist()) == list(range(len(grid)))
    assert (np.abs(np.diff(grid[order], axis=0)).sum(axis=1) == 1).all()


def test_hilbert_order_of_real_cells(tpv5_file):
    mesh = tets.read_puml(tpv5_file)
    centroids = mesh.vertices[mesh.cells].mean(axis=1)
    order = tets.hilbert_order(centroids)
    assert np.array_equal(np.sort(order), np.arange(len(order)))

    def reach(m):
        topology = tets.build_topology(m)
        far = np.abs(topology.neighbours - np.arange(len(m.cells))[:, None])[topology.neighbours >= 0]
        return np.median(far)

    scattered = reorder_cells(mesh, np.random.default_rng(0).permutation(len(order)))
    along = tets.hilbert_order(scattered.vertices[scattered.cells].mean(axis=1))
    assert reach(reorder_cells(scattered, along)) < reach(scattered) / 50
    assert np.array_equal(tets.hilbert_order(np.ones((5, 3))), np.arange(5))


def test_aspect_ratio():
    regular = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1.0]])
    corner = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    vertices = np.concatenate([5 * regular, corner + 40])
    mesh = make_mesh(vertices, [[0, 1, 3, 2], [4, 5, 6, 7]], [1, 1], np.full((2, 4), 5))
    topology = tets.build_topology(mesh)
    aspects = aspect_ratios(mesh, topology, tets.geometry(mesh, topology))
    # The corner of a cube: circumradius sqrt(3)/2, inradius 1/(3 + sqrt(3)).
    assert aspects == pytest.approx([1, np.sqrt(3) / 2 * (3 + np.sqrt(3)) / 3])


def test_worst_cells(box):
    vertices = box.vertices.copy()
    cell = box.cells[100]
    vertices[cell[0]] += 0.97 * (vertices[cell[1:]].mean(axis=0) - vertices[cell[0]])
    mesh = make_mesh(vertices, box.cells, box.groups, box.tags)
    topology = tets.build_topology(mesh)
    shape = tets.geometry(mesh, topology)
    worst = tets.worst_cells(mesh, topology, shape, 5)
    assert len(worst) == 5 and worst[0].cell == 100
    assert worst[0].aspect > 6 and "sliver" in worst[0].reason and "inradius is" in worst[0].reason
    assert np.diff([w.inradius for w in worst]).min() >= 0
    assert worst[0].centroid == pytest.approx(tuple(shape.centroids[100]))
    step = np.ones(len(box.cells))
    step[7] = 0.1
    first = tets.worst_cells(mesh, topology, shape, 1, step)[0]
    assert first.cell == 7 and "time step is 0.1 of the median" in first.reason
