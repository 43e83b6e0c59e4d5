from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultwave.base.errors import InputError
from faultwave.domain import tets
from faultwave.domain.tets.connectivity.matching import leading_vertices
from faultwave.domain.tets.connectivity.tags import tag_table
from faultwave.domain.tets.generators.box import Box, box_mesh
from faultwave.domain.tets.mesh import EVEN_PERMUTATIONS, FILE_FACES, SORTED_FACES, permute_vertices, signed_volumes
from tests.messages import raises


def consistent(mesh, topology):
    """Every promise of Topology that does not depend on how it was computed."""
    nc = len(mesh.cells)
    ids = topology.cells if mesh.identify is None else mesh.identify[topology.cells]
    later = ~leading_vertices(mesh)[topology.cells]
    assert (np.diff(ids + later * len(mesh.vertices), axis=1) >= 0).all()
    assert np.array_equal(np.take_along_axis(mesh.cells, topology.order, axis=1), topology.cells)
    inner = topology.neighbours >= 0
    assert np.array_equal(inner, topology.neighbour_faces >= 0)
    cell, face = np.nonzero(inner)
    other, other_face = topology.neighbours[cell, face], topology.neighbour_faces[cell, face]
    assert np.array_equal(topology.neighbours[other, other_face], cell)
    assert np.array_equal(topology.neighbour_faces[other, other_face], face)
    mine = np.take_along_axis(ids[cell], SORTED_FACES[face], axis=1)
    theirs = np.take_along_axis(ids[other], SORTED_FACES[other_face], axis=1)
    assert np.array_equal(mine, theirs), "both sides see the same vertices in the same order"
    # Tags follow their faces from the file's numbering, found here by the vertices alone.
    for c in range(0, nc, max(1, nc // 50)):
        file_tags = {frozenset(mesh.cells[c, f]): t for f, t in zip(FILE_FACES, mesh.tags[c], strict=True)}
        for f in range(4):
            assert file_tags[frozenset(topology.cells[c, SORTED_FACES[f]])] == topology.tags[c, f]


def test_edges_of_cells_are_worked_out_once(monkeypatch):
    """A pass for volumes and areas, and one more where outward normals are asked for."""
    room = import_module("faultwave.domain.tets.geometry")
    edges, asked = room._edges, []
    monkeypatch.setattr(room, "_edges", lambda v: asked.append(len(v)) or edges(v))
    mesh = box_mesh(Box((2, 2, 2), (0.0, 0.0, 0.0), (1.0, 1.0, 1.0), {}))
    topology = tets.build_topology(mesh)
    shape = tets.geometry(mesh, topology)
    assert sum(asked) == len(mesh.cells)
    closed(mesh, topology, shape)


def closed(mesh, topology, geometry):
    """Promises of Geometry."""
    sums = (geometry.normals * geometry.areas[..., None]).sum(axis=1)
    assert np.abs(sums).max(axis=1) == pytest.approx(0, abs=1e-12 * geometry.areas.max())
    assert (np.linalg.norm(sums, axis=1) <= 1e-12 * geometry.areas.sum(axis=1)).all()
    assert (geometry.volume > 0).all()
    assert geometry.volume == pytest.approx(np.abs(signed_volumes(mesh)), rel=1e-12)
    np.testing.assert_allclose(
        geometry.jacobian() @ geometry.inverse, np.broadcast_to(np.eye(3), geometry.inverse.shape), atol=1e-11
    )
    corners = mesh.vertices[topology.cells]
    outward = corners[:, SORTED_FACES].mean(axis=2) - geometry.centroids[:, None]
    heights = (outward * geometry.normals).sum(axis=2)
    assert (heights > 0).all()
    # The centroid of a tetrahedron lies at a quarter of each height, and volume = area * height / 3.
    np.testing.assert_allclose(heights * 4 * geometry.areas / 3, geometry.volume[:, None] * np.ones(4), rtol=1e-10)
    np.testing.assert_allclose(geometry.inradius, 3 * geometry.volume / geometry.areas.sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(geometry.jacobian()[:, :, 2], corners[:, 3] - corners[:, 0])


def test_box(box):
    topology = tets.build_topology(box)
    consistent(box, topology)
    closed(box, topology, tets.geometry(box, topology))
    kinds = np.bincount(topology.kinds.ravel(), minlength=6)
    assert kinds[tets.BoundaryKind.FREE_SURFACE] == 2 * 3 * 4
    assert kinds[tets.BoundaryKind.FAULT] == 2 * 2 * 3 * 5
    assert kinds[tets.BoundaryKind.ABSORBING] == 2 * (3 * 4 + 2 * 3 * 5 + 2 * 4 * 5)
    assert ((topology.neighbours < 0) == np.isin(topology.kinds, (1, 5))).all()
    assert tets.geometry(box, topology).volume.sum() == pytest.approx(600 * 800 * 500)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**31), periodic=st.sets(st.sampled_from("xyz")), cells=st.tuples(*[st.integers(1, 4)] * 3))
def test_relabelling_changes_nothing_that_matters(seed, periodic, cells):
    setting = Box(cells, (0, 0, 0), (3, 2, 1), dict.fromkeys(periodic, "periodic"), 0.15, seed % 97)
    mesh = box_mesh(setting)
    rng = np.random.default_rng(seed)
    turned = permute_vertices(mesh, EVEN_PERMUTATIONS[rng.integers(12, size=len(mesh.cells))])
    assert (signed_volumes(turned) > 0).all()
    assert not tets.check_mesh(turned).items
    before, after = tets.build_topology(mesh), tets.build_topology(turned)
    consistent(turned, after)
    for name in ("cells", "neighbours", "neighbour_faces", "kinds", "tags"):
        assert np.array_equal(getattr(before, name), getattr(after, name)), name
    shape = tets.geometry(turned, after)
    closed(turned, after, shape)
    assert shape.volume.sum() == pytest.approx(6)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**31), cells=st.tuples(*[st.integers(1, 4)] * 3))
def test_random_numbering_of_vertices(seed, cells):
    """The same box with vertices numbered at random: neighbours stay, whatever the sorted faces are called."""
    boundaries = {"x": "periodic", "z": "periodic"}
    plain = box_mesh(Box(cells, (0, 0, 0), (3, 2, 1), boundaries))
    mixed = box_mesh(Box(cells, (0, 0, 0), (3, 2, 1), boundaries, 0.0, seed, True))
    before, after = tets.build_topology(plain), tets.build_topology(mixed)
    consistent(mixed, after)
    shape = tets.geometry(mixed, after)
    closed(mixed, after, shape)
    assert np.array_equal(np.sort(before.neighbours, axis=1), np.sort(after.neighbours, axis=1))


@pytest.mark.parametrize("cells", [(1, 1, 1), (2, 2, 2), (1, 2, 5), (2, 1, 3), (4, 4, 4)])
def test_periodic_neighbours_are_translated_copies(cells):
    """Narrow periodic boxes have faces with equal topological vertices; each must still find its own image."""
    mesh = box_mesh(Box(cells, (0, 0, 0), (4, 6, 5), dict.fromkeys("xyz", "periodic"), 0.1, 3, True))
    assert not tets.check_mesh(mesh).items
    topology = tets.build_topology(mesh)
    consistent(mesh, topology)
    assert (topology.neighbours >= 0).all() and (topology.kinds == tets.BoundaryKind.REGULAR).all()
    corners = mesh.vertices[topology.cells[:, SORTED_FACES]]
    shift = corners[topology.neighbours, topology.neighbour_faces] - corners
    np.testing.assert_allclose(shift, np.broadcast_to(shift[:, :, :1], shift.shape), atol=1e-12)
    np.testing.assert_allclose(np.abs(shift) / [4, 6, 5], np.round(np.abs(shift) / [4, 6, 5]), atol=1e-12)
    normals = tets.geometry(mesh, topology).normals
    np.testing.assert_allclose(normals[topology.neighbours, topology.neighbour_faces], -normals, atol=1e-12)


def test_real_mesh(tpv5_file):
    mesh = tets.read_puml(tpv5_file)
    assert len(mesh.cells) == 19183 and len(mesh.vertices) == 3454
    assert not tets.check_mesh(mesh).items
    topology = tets.build_topology(mesh)
    consistent(mesh, topology)
    shape = tets.geometry(mesh, topology)
    closed(mesh, topology, shape)
    fault = topology.kinds == tets.BoundaryKind.FAULT
    assert fault.sum() == 2 * 1092
    assert fault[:, 3].sum() > 0.95 * fault.sum(), "on their last face traces of cells cost least"
    assert shape.areas[fault].sum() / 2 == pytest.approx(30e3 * 15e3)
    assert np.abs(np.abs(shape.normals[fault][:, 1]) - 1).max() < 1e-12
    assert shape.volume.sum() == pytest.approx(120e3 * 120e3 * 60e3)
    top = topology.kinds == tets.BoundaryKind.FREE_SURFACE
    assert shape.areas[top].sum() == pytest.approx(120e3**2)


def test_other_real_meshes(cases):
    for name, count in (("tpv13/tpv12_13_example.puml.h5", 562), ("tpvyoffe/mesh_northridge.puml.h5", 1172)):
        mesh = tets.read_puml(cases / name)
        assert not tets.check_mesh(mesh).items
        assert (tets.build_topology(mesh).kinds == tets.BoundaryKind.FAULT).sum() == 2 * count


def test_own_boundary_table(two_cells):
    table = {"fault": [3], "rigid": ["1-2"]}
    topology = tets.build_topology(two_cells, table)
    assert set(topology.kinds.ravel()) == {tets.BoundaryKind.FAULT, tets.BoundaryKind.RIGID}
    with raises(InputError):
        tets.build_topology(two_cells, {"fault": [3]})


def test_default_tags_are_the_communitys():
    kinds = tag_table(None).kinds(np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 64, 65, 1000], np.int32))
    assert kinds.tolist() == [0, 1, 2, 3, 4, 5, 0, 7, 8, 9, 10, 11, 12, 13, -1, -1, 3, 3]
    assert tag_table(None).kinds(np.array([[2**30, 5], [-1, 14]], np.int32)).tolist() == [[3, 5], [-1, -1]]


def test_face_map_of_foreign_decks():
    table = tag_table({"dynamicRupture": ["3", "65-66"], "outflow": [5], "freeSurface": ["67-"]})
    assert table.kinds(np.array([0, 3, 65, 66, 67, 5, 6], np.int32)).tolist() == [0, 3, 3, 3, 1, 5, -1]


def test_boundary_table_mistakes_are_all_reported():
    with pytest.raises(InputError) as caught:
        tag_table({"abosrbing": [5], "fault": ["x-"], "rigid": ["1-4"], "symmetry": [4]})
    text = str(caught.value)
    assert "did you mean 'absorbing'?" in text and "'x-' is not a tag" in text and "overlap" in text


def test_a_flat_cell_has_no_geometry(two_cells):
    flat = replace(two_cells, vertices=np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, 0.5, 0]]))
    with raises(InputError):
        tets.geometry(flat, tets.build_topology(flat))
