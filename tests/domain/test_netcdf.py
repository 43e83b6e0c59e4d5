"""SeisSol's netCDF meshes, written here as ``cube_c`` and ``gambit2netcdf`` lay them out."""

from types import SimpleNamespace

import netCDF4
import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.domain import tets
from faultwave.domain.tets.generators.box import Box, box_mesh
from faultwave.domain.tets.mesh import FILE_FACES, signed_volumes
from tests.messages import expect, raises

THEIR_FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
"""Faces as SeisSol numbers them (its MeshTools)."""


def write(path, mesh, blocks=1, groups=True, skip=()):
    """The cells dealt out to ``blocks``, of unequal length, each with the vertices that it uses in an order of its own."""
    rng = np.random.default_rng(3)
    owner = np.sort(rng.integers(blocks, size=len(mesh.cells)))
    ours = {frozenset(face): f for f, face in enumerate(FILE_FACES.tolist())}
    tags = mesh.tags[:, [ours[frozenset(face)] for face in THEIR_FACES]]
    parts = []
    for block in range(blocks):
        mine = np.flatnonzero(owner == block)
        used = rng.permutation(np.unique(mesh.cells[mine]))
        number = np.full(len(mesh.vertices), -1)
        number[used] = np.arange(len(used))
        parts.append((number[mesh.cells[mine]], tags[mine], mesh.groups[mine], mesh.vertices[used]))
    with netCDF4.Dataset(path, "w", format="NETCDF4") as file:
        sizes = {"partitions": blocks, "elements": max(len(p[0]) for p in parts), "element_sides": 4,
                 "element_vertices_dim": 4, "vertices": max(len(p[3]) for p in parts), "dimension": 3}  # fmt: skip
        for name, size in sizes.items():
            file.createDimension(name, size)

        def variable(name, kind, *dimensions):
            return None if name in skip else file.createVariable(name, kind, ("partitions", *dimensions))

        written = [
            (variable("element_vertices", "i4", "elements", "element_vertices_dim"), 0),
            (variable("element_boundaries", "i4", "elements", "element_sides"), 1),
            (variable("element_group", "i4", "elements") if groups else None, 2),
            (variable("vertex_coordinates", "f8", "vertices", "dimension"), 3),
        ]
        for block, part in enumerate(parts):
            for made, k in written:
                if made is not None:
                    made[block, : len(part[k])] = part[k]
        for name, k in (("element_size", 0), ("vertex_size", 3)):
            made = variable(name, "i4")
            if made is not None:
                made[:] = [len(p[k]) for p in parts]


def faces_of(mesh, tag):
    """Corners of the faces with a tag, as a set that no numbering shows in."""
    corners = mesh.vertices[mesh.cells[:, FILE_FACES][mesh.tags == tag]]
    return {tuple(sorted(map(tuple, face.tolist()))) for face in corners}


@pytest.mark.parametrize("blocks", [1, 3])
def test_blocks_make_one_mesh(tmp_path, box, blocks):
    write(tmp_path / "m.nc", box, blocks)
    mesh = tets.load_mesh(SimpleNamespace(file=tmp_path / "m.nc"))  # known by its content
    assert np.array_equal(mesh.vertices[mesh.cells], box.vertices[box.cells])  # every cell with its corners in order
    assert len(mesh.vertices) == len(box.vertices) and mesh.identify is None
    assert np.array_equal(mesh.groups, box.groups) and np.array_equal(mesh.tags, box.tags)
    tets.check_mesh(mesh)
    for tag in (1, 3, 5):
        assert faces_of(mesh, tag) == faces_of(box, tag) != set()
    assert tets.cells_ahead(SimpleNamespace(file=tmp_path / "m.nc")) == len(box.cells)


def test_periodic_sides_are_joined(tmp_path):
    """As in SeisSol's convergence tests: a cube with tag 6 on all its sides, cut for several processes."""
    cube = box_mesh(Box((4, 4, 4), (-50, -50, -50), (50, 50, 50), dict.fromkeys("xyz", "periodic"), tetrahedra=5))
    write(tmp_path / "m.nc", cube, 4, groups=False)
    mesh = tets.load_mesh(SimpleNamespace(file=tmp_path / "m.nc", format="netcdf"))
    assert (mesh.groups == 1).all() and (signed_volumes(mesh) > 0).all()
    topology, expected = tets.build_topology(mesh), tets.build_topology(cube)
    assert (topology.neighbours >= 0).all()
    assert np.array_equal(np.sort(topology.neighbours, 1), np.sort(expected.neighbours, 1))
    half = box_mesh(Box((4, 4, 4), (-50, -50, -50), (50, 50, 50), {"x": "periodic", "z+": "free-surface"}))
    write(tmp_path / "half.nc", half, 2)
    topology = tets.build_topology(tets.load_mesh(SimpleNamespace(file=tmp_path / "half.nc")))
    assert (topology.neighbours < 0).sum() == 4 * 2 * 16


def test_periodic_faces_need_an_opposite_side(tmp_path):
    mesh = box_mesh(Box((2, 2, 2), (0, 0, 0), (1, 1, 1), {"x-": "rigid"}))
    mesh.tags[mesh.tags == 8] = 6
    write(tmp_path / "m.nc", mesh)
    with raises(InputError):
        tets.load_mesh(SimpleNamespace(file=tmp_path / "m.nc"))


def test_what_is_wrong_is_told(tmp_path, box):
    def told(change=None, **keys):
        path = tmp_path / "m.nc"
        path.unlink(missing_ok=True)
        write(path, box, 2, **keys)
        if change is not None:
            with netCDF4.Dataset(path, "a") as file:
                change(file)
        with pytest.raises(InputError) as error:
            tets.load_mesh(SimpleNamespace(file=path, format="netcdf"))
        return str(error.value)

    assert "has no dataset 'element_boundaries'" in told(skip=("element_boundaries",))
    assert "has no dataset 'vertex_size'" in told(skip=("vertex_size",))

    def beyond(file):
        file["element_vertices"][1, 4, 2] = 10**6

    assert "1 cells refer to vertices that their block lacks" in told(beyond)

    def longer(file):
        file["element_size"][0] = 10**6

    assert "/element_size: counts from" in told(longer)
    write(tmp_path / "whole.nc", box)
    (tmp_path / "cut.nc").write_bytes((tmp_path / "whole.nc").read_bytes()[:4000])
    with raises(InputError):
        tets.load_mesh(SimpleNamespace(file=tmp_path / "cut.nc"))
    with raises(InputError):
        tets.load_mesh(SimpleNamespace(file=tmp_path / "whole.nc", boundary_format="i32"))
    with raises(InputError):
        tets.load_mesh(SimpleNamespace(file=tmp_path / "none.nc", format="netcdf"))


def rounded(path, mesh, by, blocks=3):
    """Written in ``blocks``, of which each has rounded its vertices in its own way."""
    write(path, mesh, blocks)
    rng = np.random.default_rng(5)
    with netCDF4.Dataset(path, "a") as file:
        places = file["vertex_coordinates"][:]
        file["vertex_coordinates"][:] = places + by * rng.uniform(-1, 1, places.shape)


def test_vertices_of_blocks_that_differ_by_rounding_are_joined(tmp_path, box):
    rounded(tmp_path / "m.nc", box, 1e-4)
    mesh = tets.load_mesh(SimpleNamespace(file=tmp_path / "m.nc", scaling=2.0 * np.eye(3)))
    assert len(mesh.vertices) == len(box.vertices)
    (remark,) = mesh.remarks
    expect(remark)
    tets.check_mesh(mesh).raise_errors()
    found, expected = tets.build_topology(mesh), tets.build_topology(box)
    assert np.array_equal(np.sort(found.neighbours, 1), np.sort(expected.neighbours, 1))
    assert np.abs(mesh.vertices[mesh.cells] - 2.0 * box.vertices[box.cells]).max() < 1e-3
    write(tmp_path / "same.nc", box, 3)
    assert tets.load_mesh(SimpleNamespace(file=tmp_path / "same.nc")).remarks == ()


def test_blocks_that_lie_apart_are_refused_with_the_place(tmp_path, box):
    rounded(tmp_path / "m.nc", box, 0.1)
    mesh = tets.load_mesh(SimpleNamespace(file=tmp_path / "m.nc"))
    assert not mesh.remarks
    with raises(InputError):
        tets.check_mesh(mesh).raise_errors()


def test_a_periodic_mesh_of_rounded_blocks(tmp_path):
    cube = box_mesh(Box((4, 4, 4), (-50, -50, -50), (50, 50, 50), dict.fromkeys("xyz", "periodic"), tetrahedra=5))
    rounded(tmp_path / "m.nc", cube, 1e-10, 4)
    assert (tets.build_topology(tets.load_mesh(SimpleNamespace(file=tmp_path / "m.nc"))).neighbours >= 0).all()
