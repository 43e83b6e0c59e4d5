from dataclasses import replace

import numpy as np
import pytest

from faultwave.base.errors import InputError, Problems
from faultwave.domain import tets
from faultwave.domain.tets.connectivity.overlaps import check_part_folds
from faultwave.domain.tets.generators.box import Box, box_mesh
from faultwave.domain.tets.load import read_mesh
from faultwave.domain.tets.mesh import make_mesh, orient, permute_vertices, signed_volumes, turn_mirrored
from tests.messages import expect, raises


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
    with raises(InputError):
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
    assert problem.what.startswith("24 faces with an unknown tag: ")
    expect(problem)
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


@pytest.mark.parametrize("periodic", [False, True])
def test_cells_turned_inside_out(periodic):
    """A vertex beyond the opposite faces: the sum of volumes exceeds the box by twice the cells that are inside out."""
    kinds = {"x": "periodic", "y": "periodic", "z": "periodic"} if periodic else {}
    mesh = box_mesh(Box((4, 4, 4), (0, 0, 0), (4, 4, 4), kinds))
    vertices = mesh.vertices.copy()
    inner = np.flatnonzero((vertices == 2).all(axis=1))[0]
    vertices[inner] += [1.4, 0.2, 0.1]
    moved = replace(mesh, vertices=vertices)
    volumes = signed_volumes(moved)
    text = only(moved, f"{(volumes < 0).sum()} cells with negative volume are inverted")
    for cell in np.flatnonzero(volumes < 0)[:10]:
        assert f"cell {cell} at (" in text
    more = 100 * (np.abs(volumes).sum() / 64 - 1)
    assert f"sum to {np.abs(volumes).sum():.6g} m^3, {more:.2g} % more than the 64 m^3" in text
    assert only(orient(moved), text.split(":")[0]), "turning cells does not hide them"


def test_meshes_of_other_shapes_pass():
    """A slab one cell wide that is periodic, a box far from the origin, a mirrored one, curved ground."""
    thin = box_mesh(Box((1, 3, 1), (0, 0, 0), (1, 3, 1), {"x": "periodic", "y": "periodic", "z": "periodic"}))
    far = box_mesh(Box((5, 4, 3), (4e6, 5e5, -2e3), (4.001e6, 5.01e5, 0), {}, 0.2, 3, True))
    x, y, z = far.vertices.T
    hilly = replace(far, vertices=np.stack([x, y, z + (z + 2e3) * 0.2 * np.sin(x / 200) * np.cos(y / 300)], axis=1))
    for mesh in (thin, far, hilly, turn_mirrored(permute_vertices(far, np.tile([1, 0, 2, 3], (len(far.cells), 1))))):
        assert tets.check_mesh(mesh).items == []


def test_two_bodies():
    """Side by side they touch, which is a warning; one within the other is an error, wherever it is."""
    whole = box_mesh(Box((6, 5, 4), (0, 0, 0), (6, 5, 4)))

    def with_other(shift, scale=1.0, cells=(3, 3, 3)):
        other = box_mesh(Box(cells, (0, 0, 0), (3, 3, 3), {}, 0.1, 5))
        moved = other.vertices * scale + shift
        return make_mesh(
            np.concatenate([whole.vertices, moved]),
            np.concatenate([whole.cells, other.cells + len(whole.vertices)]),
            np.concatenate([whole.groups, other.groups]),
            np.concatenate([whole.tags, other.tags]),
            name="two",
        )

    assert tets.check_mesh(with_other((10, 0, 0))).items == []
    for shift in ((6, 0.2, 0.3), (0.2, 5, 0.3), (0.2, 0.3, 4)):
        [warning] = tets.check_mesh(with_other(shift)).items
        assert warning.severity == "warning"
        expect(warning)
        assert any(f"{x:g}" in warning.what.split("at (")[1] for x in (4, 5, 6))
    for shift, scale in (((5.5, 1, 1), 1), ((1, 1, 1), 0.5), ((-1, -1, -1), 3), ((2, 4.7, 1), 1), ((0, 0, 0), 4)):
        assert "cells that are not neighbours overlap: at (" in texts(with_other(shift, scale))[0]


def test_opposite_order_in_all_cells(box, tmp_path):
    """A file of the other convention is turned; cells of both orders are a warning where their places are sound."""
    mirrored = permute_vertices(box, np.tile([1, 0, 2, 3], (len(box.cells), 1)))
    tets.write_puml(tmp_path / "m.h5", mirrored)
    read = read_mesh(tmp_path / "m.h5")
    assert (signed_volumes(read) > 0).all() and texts(read) == []
    tags = sorted(map(tuple, np.sort(box.tags[box.tags.any(axis=1)], axis=1).tolist()))
    assert tags == sorted(map(tuple, np.sort(read.tags[read.tags.any(axis=1)], axis=1).tolist()))
    order = np.tile([0, 1, 2, 3], (len(box.cells), 1))
    order[[7, 30]] = [1, 0, 2, 3]
    turned = orient(permute_vertices(box, order), remark=True)
    assert texts(turned) == []
    assert turned.remarks[0].what.startswith(f"2 of {len(box.cells)} cells have their vertices in the opposite order")
    assert turned.remarks[0].severity == "warning"
    expect(turned.remarks[0])
    assert orient(mirrored, remark=True).remarks == ()


def test_part_that_folds_over_its_border(box):
    """A part sees its neighbours' orientation only by what their processes send."""
    topology = tets.build_topology(box)
    moved = box.vertices.copy()
    inner = next(v for v in range(len(moved)) if (np.abs(moved[v] / [300, 400, 250] - [0, 0, -1]) < 0.9).all())
    moved[inner] += [250, 30, 20]
    for mesh, folded in ((box, False), (replace(box, vertices=moved), True)):

        def beyond(x):
            return np.where(topology.neighbours >= 0, x[topology.neighbours], 0.0)

        problems = Problems()
        check_part_folds(mesh, topology, topology.neighbour_faces, beyond, problems)
        assert bool(problems.errors) == folded
        assert all("cells overlap a neighbour: cell " in p.what for p in problems.errors)
