from dataclasses import replace

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.domain import tets
from faultwave.domain.tets.mesh import make_mesh, permute_vertices


def texts(mesh, boundaries=None):
    found = tets.check_mesh(mesh, boundaries).errors
    if found:  # who wants the topology is told the same
        with pytest.raises(InputError) as raised:
            tets.build_topology(mesh, boundaries, volumes=True)
        assert list(raised.value.problems) == list(found)
    return [p.what for p in found]


def only(mesh, start):
    """The one problem found, which begins with ``start``."""
    found = texts(mesh)
    assert len(found) == 1 and found[0].startswith(start), found
    return found[0]


def test_sound_meshes_pass(box, two_cells):
    assert texts(box) == [] and texts(two_cells) == []


def test_negative_volumes(box):
    order = np.tile([0, 1, 2, 3], (len(box.cells), 1))
    order[5:25] = [1, 0, 2, 3]
    text = only(permute_vertices(box, order), "20 cells with negative volume: cell 5 at (")
    assert text.count("; cell ") == 9 and text.endswith("; and 10 more")
    centroid = box.vertices[box.cells[5]].mean(axis=0)
    assert f"{centroid[0]:.6g}, {centroid[1]:.6g}, {centroid[2]:.6g}" in text


def test_no_volume(box):
    vertices = box.vertices.copy()
    cell = box.cells[11]
    vertices[cell[3]] = vertices[cell[:3]].mean(axis=0)
    assert any("cells with no volume: cell 11 at" in t for t in texts(replace(box, vertices=vertices)))


def test_broken_numbers(box):
    vertices = box.vertices.copy()
    vertices[[3, 8], 1] = np.nan, np.inf
    text = only(replace(box, vertices=vertices), "2 vertices with a coordinate that is not a finite number: vertex 3")
    assert "vertex 8" in text
    cells = box.cells.copy()
    cells[4, 2], cells[9, 0] = -1, len(box.vertices)
    only(replace(box, cells=cells), f"2 cells with vertex ids outside 0..{len(box.vertices) - 1}: cell 4 = [")
    cells = box.cells.copy()
    cells[7, 1] = cells[7, 3]
    only(replace(box, cells=cells), "1 cells with the same vertex twice: cell 7")
    only(replace(box, tags=box.tags - 1), f"{(box.tags == 0).any(axis=1).sum()} cells with a negative face tag")
    for broken in (cells, box.cells + 10**6):
        with pytest.raises(InputError):
            tets.build_topology(replace(box, cells=broken))
    assert "0 cells" in only(make_mesh(box.vertices, np.empty((0, 4)), [], np.empty((0, 4))), "the mesh has")
    assert any("groups has shape" in t for t in texts(replace(box, groups=box.groups[1:])))


def test_duplicate_cells(two_cells):
    twice = make_mesh(
        two_cells.vertices, two_cells.cells[[0, 1, 1]], [1, 1, 1], two_cells.tags[[0, 1, 1]], name="twice"
    )
    found = texts(twice)
    assert found[0].startswith("3 faces shared by more than two cells: ") and "cell 2 at" in found[0]
    with pytest.raises(InputError, match="more than two cells"):
        tets.build_topology(twice)


def test_missing_neighbour_and_its_reason(two_cells):
    alone = make_mesh(two_cells.vertices, two_cells.cells[:1], [1], two_cells.tags[:1], name="alone")
    problem = tets.check_mesh(alone).errors[0]
    assert problem.what.startswith("1 faces without neighbour but with the tag of an inner face: cell 0 at (0.333333, ")
    assert "hanging node or a missing cell" in problem.advice and "3 fault" in problem.allowed
    vertices = np.concatenate([two_cells.vertices, two_cells.vertices[1:4]])
    torn = make_mesh(vertices, [[0, 1, 2, 3], [5, 6, 7, 4]], [1, 1], two_cells.tags, name="torn")
    problem = tets.check_mesh(torn).errors[0]
    assert (
        problem.what.startswith("2 faces without neighbour") and "3 pairs of their vertices coincide" in problem.advice
    )


def test_hanging_node(two_cells):
    """One side of a face is cut in two: three faces find no partner."""
    middle = (two_cells.vertices[1] + two_cells.vertices[2]) / 2
    vertices = np.concatenate([two_cells.vertices, [middle]])
    cells = [[0, 1, 2, 3], [1, 5, 3, 4], [5, 2, 3, 4]]
    tags = [[1, 1, 0, 1], [0, 1, 0, 1], [0, 1, 1, 0]]
    mesh = make_mesh(vertices, cells, [1, 1, 1], tags, name="hanging")
    assert any(t.startswith("3 faces without neighbour") for t in texts(mesh))


def test_boundary_tag_inside(box):
    topology = tets.build_topology(box)
    cell, face = np.argwhere(topology.kinds == 3)[0]
    tags = np.where(box.tags == 3, 5, box.tags).astype(np.int32)
    text = only(replace(box, tags=tags), "60 faces with a boundary tag but with a neighbour: cell ")
    assert f"cell {cell} at" in text


def test_unknown_tag(box):
    tags = np.where(box.tags == 1, 42, box.tags).astype(np.int32)
    problem = tets.check_mesh(replace(box, tags=tags)).errors[0]
    assert problem.what.startswith("24 faces with an unknown tag: ") and "with tag 42" in problem.what
    assert "5 absorbing" in problem.allowed and "65 and up fault" in problem.allowed
    known = {"free-surface": [42], "fault": [3], "absorbing": [5]}
    assert texts(replace(box, tags=tags), known) == []


@pytest.mark.parametrize(("other", "text"), [(0, "3, 0 in cell 1"), (65, "3, 65 in cell 1")])
def test_fault_sides_that_differ(two_cells, other, text):
    tags = two_cells.tags.copy()
    tags[1, 0] = other
    found = only(replace(two_cells, tags=tags), "1 fault faces whose two cells carry different tags: cell 0 at")
    assert text in found
    tags = two_cells.tags.copy()
    tags[0, 2] = 0
    assert "cell 1 at" in only(replace(two_cells, tags=tags), "1 fault faces whose two cells carry different tags")


def test_periodic_without_topology(box):
    tags = np.where(box.tags == 5, 6, box.tags).astype(np.int32)
    problem = tets.check_mesh(replace(box, tags=tags)).errors[0]
    assert "identify or topology data" in problem.advice


def test_real_mesh_with_one_mistake(tpv5_file):
    mesh = tets.read_puml(tpv5_file)
    vertices = mesh.vertices.copy()
    vertices[mesh.cells[777, 0]] += [0, 0, 30e3]
    found = texts(replace(mesh, vertices=vertices))
    assert len(found) == 1 and "cells with negative volume" in found[0]
