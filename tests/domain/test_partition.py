"""Cutting meshes into parts, storing them, and opening a part."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from faultwave.base.errors import InputError, Problems
from faultwave.domain import tets
from faultwave.domain.tets.connectivity.matching import sort_cells
from faultwave.domain.tets.formats.parts import read_slice, slice_topology, split, stored_parts, write_parts
from faultwave.domain.tets.generators.box import Box, box_mesh
from faultwave.domain.tets.load import read_mesh
from faultwave.domain.tets.partition import imbalance, partition, weights
from tests.messages import raises


def prepared(n=6, **more):
    mesh = box_mesh(Box((n, n, n), (-1, -1, -1), (1, 1, 1), perturb=0.2, shuffle=True, seed=4, **more))
    topology = tets.build_topology(mesh)
    shape = tets.geometry(mesh, topology)
    fault = (topology.kinds == tets.BoundaryKind.FAULT) & (topology.neighbours >= 0)
    step = shape.inradius * (1 + 8 * (shape.centroids[:, 0] > 0.3))
    clustering = tets.assign_clusters(step, topology.neighbours, fault)
    rates = np.cumprod([1, *clustering.ratios[:-1]])
    return mesh, topology, shape, fault, weights(clustering.cluster, rates, topology.neighbours, fault, 4)


@pytest.fixture(params=["metis", "curve"])
def method(request):
    if request.param == "metis":
        pytest.importorskip("pymetis")
    return request.param


@pytest.mark.parametrize("parts", [2, 3, 16])
def test_work_and_memory_are_balanced_and_faults_stay_whole(method, parts):
    _, topology, shape, fault, given = prepared(8, fault=("y", 0.0))
    found = partition(topology.neighbours, shape.centroids, given, parts, method)
    assert sorted(np.unique(found)) == list(range(parts))
    assert imbalance(found, given.work) < (1.05 if method == "metis" else 1.15)
    if method == "metis":
        assert imbalance(found, given.memory) < 1.08
    assert fault.any() and not (found[topology.neighbours] != found[:, None])[fault].any()
    again = partition(topology.neighbours, shape.centroids, given, parts, method)
    np.testing.assert_array_equal(found, again)


def test_traffic_is_spared(method):
    """Parts are compact: far less is sent than by parts at random."""
    _, topology, shape, _, given = prepared(8)
    found = partition(topology.neighbours, shape.centroids, given, 8, method)
    cut = given.traffic[(found[topology.neighbours] != found[:, None])].sum()
    assert cut < 0.25 * given.traffic.sum()


def test_traffic_counts_what_is_sent():
    """Two cells of one cluster: a trace each a step; a faster one sends a sum, a slower one its derivatives."""
    neighbours = np.array([[1, -1, -1, -1], [0, 2, -1, -1], [1, -1, -1, -1]])
    none = np.zeros((3, 4), bool)
    given = weights(np.array([0, 0, 1]), np.array([1, 2]), neighbours, none, 4)
    assert given.traffic[0, 0] == given.traffic[1, 0] == 2 * 30  # two steps of 10 modes of 3 waves
    assert given.traffic[1, 1] == 30 and given.traffic[2, 0] == 3 * (10 + 6 + 3 + 1)
    np.testing.assert_array_equal(given.work, [2, 2, 1])


def test_one_cell_a_part(method):
    _, topology, shape, _, given = prepared(2)
    found = partition(topology.neighbours, shape.centroids, given, 48, method)
    np.testing.assert_array_equal(np.bincount(found), np.ones(48))
    with raises(InputError):
        partition(topology.neighbours, shape.centroids, given, 49, method)


def test_finer_parts_lie_in_coarser_ones():
    cells = np.arange(60)
    found = split([12, 3], lambda chosen, n: np.arange(len(chosen)) * n // len(chosen), len(cells))
    assert len(np.unique(found)) == 12
    np.testing.assert_array_equal(np.bincount(found // 4), [20, 20, 20])
    with raises(InputError):
        split([4, 6], lambda chosen, n: np.zeros(len(chosen)), 60)


@pytest.mark.parametrize("periodic", [False, True])
def test_a_stored_mesh_is_the_mesh_and_its_slices_make_it_up(tmp_path, method, periodic):
    sides = {"boundaries": dict.fromkeys("xyz", "periodic")} if periodic else {"fault": ("y", 0.0)}
    mesh, topology, shape, _, given = prepared(4, **sides)
    found = split([2, 6], lambda c, n: np.arange(len(c)) * n // len(c), len(mesh.cells))
    if not periodic:
        found = partition(topology.neighbours, shape.centroids, given, 6, method)
    path = tmp_path / "parts.h5"
    write_parts(path, mesh, topology, found, [2, 6], tets.hilbert_order(shape.centroids))
    assert stored_parts(path) == (2, 6)
    whole = read_mesh(path)
    known = tets.build_topology(whole)
    for parts in (1, 2, 3, 6):
        taken = [read_slice(path, parts, i) for i in range(parts)]
        assert sum(len(s.mesh.cells) for s in taken) == len(mesh.cells)
        for s in taken:
            a, b = s.first, s.first + len(s.mesh.cells)
            assert s.starts[s.number] == a and s.starts[s.number + 1] == b
            np.testing.assert_array_equal(s.neighbours, known.neighbours[a:b])
            np.testing.assert_array_equal(s.neighbour_faces, known.neighbour_faces[a:b])
            np.testing.assert_array_equal(s.mesh.vertices[s.mesh.cells], whole.vertices[whole.cells[a:b]])
            np.testing.assert_array_equal(s.mesh.vertices[s.mesh.cells], mesh.vertices[mesh.cells[s.original]])
            np.testing.assert_array_equal(s.mesh.tags, whole.tags[a:b])
            own = sort_cells(s.mesh, s.leading)[1]
            np.testing.assert_array_equal(own, known.order[a:b])  # faces are seen with the same vertex order
    with raises(InputError):
        read_slice(path, 4, 0)


def test_a_part_costs_the_same_however_many_there_are(tmp_path):
    """Memory of opening the first parts, of about as many cells each, in files of 4 to 108 parts: within 20 %."""
    peaks = {}
    for n, parts in ((4, 4), (8, 32), (12, 108)):
        mesh, topology, shape, _, given = prepared(n)
        order = tets.hilbert_order(shape.centroids)
        found = np.empty(len(order), np.int64)
        found[order] = np.arange(len(order)) * parts // len(order)
        write_parts(tmp_path / "parts.h5", mesh, topology, found, [parts], order)
        read_slice(tmp_path / "parts.h5", parts, 0)
        peaks[parts] = []
        for number in range(4):
            tracemalloc.start()
            taken = read_slice(tmp_path / "parts.h5", parts, number)
            slice_topology(taken, taken.mesh, None, Problems())
            peaks[parts].append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    means = [np.mean(p) for p in peaks.values()]
    assert max(means) < 1.2 * min(means), peaks


def test_an_ordinary_mesh_is_not_stored_in_parts(tmp_path):
    mesh = prepared(2)[0]
    tets.write_puml(tmp_path / "a.h5", mesh)
    assert stored_parts(tmp_path / "a.h5") == ()
    with raises(InputError):
        read_slice(tmp_path / "a.h5", 2, 0)


def test_the_command(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from faultwave.cli.main import app

    monkeypatch.setenv("COLUMNS", "120")
    tets.write_puml(tmp_path / "a.h5", prepared(4, fault=("y", 0.0))[0])
    command = ["mesh", "partition", str(tmp_path / "a.h5"), str(tmp_path / "b.h5"), "-n", "2", "-n", "4"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "cells a part" in done.output and stored_parts(tmp_path / "b.h5") == (2, 4)
    assert CliRunner().invoke(app, command).exit_code == 2  # it is there already
