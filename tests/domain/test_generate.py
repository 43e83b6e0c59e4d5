import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.domain import tets
from faultwave.domain.tets import generators
from faultwave.domain.tets.generators.box import Box, box_mesh
from faultwave.domain.tets.generators.generate import generate
from faultwave.domain.tets.generators.graded import Tpv5, graded_mesh
from faultwave.domain.tets.geometry import aspect_ratios
from faultwave.domain.tets.mesh import SORTED_FACES, signed_volumes
from tests.messages import raises


def measured(mesh):
    assert not tets.check_mesh(mesh).items
    assert (signed_volumes(mesh) > 0).all()
    topology = tets.build_topology(mesh)
    return topology, tets.geometry(mesh, topology)


def fault_is(mesh, setting):
    """Fault faces cover the dipping rectangle exactly and the box is whole."""
    topology, shape = measured(mesh)
    (wx, wy), (y, z) = setting.widths, setting.bottom
    assert shape.volume.sum() == pytest.approx(4 * wx * wy * setting.depth)
    fault = topology.kinds == tets.BoundaryKind.FAULT
    assert shape.areas[fault].sum() / 2 == pytest.approx(setting.fault_length * setting.fault_depth)
    corners = mesh.vertices[topology.cells[:, SORTED_FACES][fault]].reshape(-1, 3)
    np.testing.assert_allclose(corners.min(axis=0), [-setting.fault_length / 2, 0, z], atol=1e-6)
    np.testing.assert_allclose(corners.max(axis=0), [setting.fault_length / 2, y, 0], atol=1e-6)
    dip = np.radians(setting.dip)
    np.testing.assert_allclose(np.abs(shape.normals[fault] @ [0, np.sin(dip), np.cos(dip)]), 1, atol=1e-9)
    top = topology.kinds == tets.BoundaryKind.FREE_SURFACE
    assert shape.areas[top].sum() == pytest.approx(4 * wx * wy)
    assert np.abs(mesh.vertices[topology.cells[:, SORTED_FACES][top]][..., 2]).max() < 1e-6
    absorbing = topology.kinds == tets.BoundaryKind.ABSORBING
    assert shape.areas[absorbing].sum() == pytest.approx(4 * wx * wy + 4 * (wx + wy) * setting.depth)
    return topology, shape


def fault_edges(mesh, topology):
    """Edges (n,) of the fault triangles."""
    corners = mesh.vertices[topology.cells[:, SORTED_FACES][topology.kinds == tets.BoundaryKind.FAULT]]
    return np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)


@pytest.mark.parametrize("dip", [90.0, 60.0, 30.0])
@pytest.mark.parametrize(("length", "width"), [(30e3, 15e3), (17e3, 12.5e3)])
def test_built_in_fault_mesh(dip, length, width):
    setting = Tpv5(size=1000.0, dip=dip, fault_length=length, fault_depth=width, mesher="builtin")
    mesh = graded_mesh(setting)
    topology, shape = fault_is(mesh, setting)
    legs = np.sort(fault_edges(mesh, topology), axis=1)[:, :2]
    assert 600 < legs.min() and legs.max() <= 1000 + 1e-6
    assert aspect_ratios(mesh, topology, shape).max() < {90.0: 2.2, 60.0: 4, 30.0: 16}[dip]


def test_size_of_the_built_in_mesh():
    mesh = graded_mesh(Tpv5())
    assert 20_000 < len(mesh.cells) < 70_000
    topology, shape = measured(mesh)
    legs = np.sort(fault_edges(mesh, topology), axis=1)[:, :2]
    assert legs.min() == pytest.approx(30e3 / 64) and legs.max() == pytest.approx(30e3 / 64)
    far = np.abs(shape.centroids[:, 1]) > 20e3
    edges = np.cbrt(6 * shape.volume)
    assert edges[far].min() > 2000 and edges.max() < 1.1 * 5000
    assert len(graded_mesh(Tpv5(size=2000.0)).cells) < len(mesh.cells) / 5


PATCHES = [(-1500.0, 1500.0, 6000.0, 9000.0), (6000.0, 9000.0, 6000.0, 9000.0)]


def follows(mesh, topology, patches, dip):
    """No fault triangle lies on both sides of a patch's border."""
    corners = mesh.vertices[topology.cells[:, SORTED_FACES][topology.kinds == tets.BoundaryKind.FAULT]]
    x, down = corners[..., 0], np.linalg.norm(corners[..., 1:], axis=-1)
    for a, b, c, d in patches:
        inside = (np.maximum(np.abs(x - (a + b) / 2) - (b - a) / 2, np.abs(down - (c + d) / 2) - (d - c) / 2)) <= 1e-6
        within = inside.all(1)
        centre_x, centre_down = x.mean(1), down.mean(1)
        assert within.any()
        expected = (centre_x > a) & (centre_x < b) & (centre_down > c) & (centre_down < d)
        assert np.array_equal(within, expected)


@pytest.mark.parametrize("dip", [90.0, 60.0])
@pytest.mark.parametrize("mesher", ["builtin", "gmsh"])
def test_faces_follow_patches(mesher, dip):
    if mesher == "gmsh":
        pytest.importorskip("faultwave.domain.tets.generators.gmsh_planar", exc_type=(ImportError, OSError))
    setting = Tpv5(size=1500.0, dip=dip, mesher=mesher, patches=PATCHES)
    mesh = generate(setting_with_shape(setting))
    topology, _ = fault_is(mesh, setting)
    follows(mesh, topology, PATCHES, dip)
    assert fault_edges(mesh, topology).mean() < 1900


def test_patches_that_no_bricks_follow():
    with raises(InputError):
        graded_mesh(Tpv5(size=1500.0, patches=[(-1501.3, 1507.7, 6000.0, 9000.0)]))


def test_gmsh_fault_mesh():
    gmsh_planar = pytest.importorskip("faultwave.domain.tets.generators.gmsh_planar", exc_type=(ImportError, OSError))
    for dip in (90.0, 60.0):
        setting = Tpv5(size=1000.0, dip=dip, mesher="gmsh")
        mesh = generate(setting_with_shape(setting))
        topology, shape = fault_is(mesh, setting)
        assert np.median(fault_edges(mesh, topology)) == pytest.approx(1000, rel=0.15)
        assert aspect_ratios(mesh, topology, shape).max() < 8
        again = gmsh_planar.gmsh_mesh(setting)
        assert np.array_equal(again.vertices, mesh.vertices) and np.array_equal(again.cells, mesh.cells)


def test_gmsh_leaves_an_open_session_alone():
    gmsh_planar = pytest.importorskip("faultwave.domain.tets.generators.gmsh_planar", exc_type=(ImportError, OSError))
    gmsh = gmsh_planar.gmsh
    gmsh.initialize(argv=[], readConfigFiles=False, interruptible=False)
    try:
        gmsh.option.setNumber("General.Verbosity", 0)
        gmsh.model.add("mine")
        gmsh.model.occ.addPoint(1, 2, 3)
        gmsh.model.occ.synchronize()
        gmsh_planar.gmsh_mesh(Tpv5(size=3000.0))
        assert gmsh.isInitialized() and gmsh.model.getCurrent() == "mine"
        assert gmsh.model.getEntities() == [(0, 1)] and gmsh.option.getNumber("General.Verbosity") == 0
    finally:
        gmsh.finalize()


def setting_with_shape(setting):
    return SimpleNamespace(shape="tpv5", **{name: getattr(setting, name) for name in setting.__dataclass_fields__})


def test_without_gmsh(monkeypatch, caplog):
    """auto goes on with the built-in mesher and says what to install; gmsh is an error that says the same."""
    monkeypatch.delitem(sys.modules, "faultwave.domain.tets.generators.gmsh_planar", raising=False)
    monkeypatch.delattr(generators, "gmsh_planar", raising=False)
    monkeypatch.setitem(sys.modules, "gmsh", None)
    with caplog.at_level("WARNING", logger="faultwave"):
        mesh = generate({"shape": "tpv5", "size": 3000.0})
    assert "built-in" in mesh.name
    assert "apt-get install libglu1-mesa" in caplog.text and "pip install" in caplog.text
    with raises(InputError):
        generate({"shape": "tpv5", "mesher": "gmsh"})


def test_bad_fault_settings():
    with raises(InputError):
        generate({"shape": "tpv5", "far_sice": 1.0})
    with raises(InputError):
        generate({"shape": "tvp5"})
    for wrong in (
        {"fault_length": 90e3},
        {"dip": 5.0},
        {"size": -1.0},
        {"size": 9e3},
        {"mesher": "netgen"},
        {"depth": 14e3},
    ):
        with raises(InputError):
            generate({"shape": "tpv5", **wrong})


def test_box_sides():
    sides = {"x": "rigid", "y": "symmetry", "y+": "absorbing", "z+": "free-surface"}
    mesh = generate({"shape": "box", "cells": (2, 3, 4), "lower": (0, 0, 0), "upper": (2, 3, 4), "boundaries": sides})
    assert len(mesh.cells) == 6 * 24 and mesh.identify is None and (mesh.groups == 1).all()
    topology, shape = measured(mesh)
    kind = tets.BoundaryKind
    areas = {k: shape.areas[topology.kinds == k].sum() for k in kind}
    assert areas[kind.RIGID] == pytest.approx(24) and areas[kind.SYMMETRY] == pytest.approx(8)
    assert areas[kind.ABSORBING] == pytest.approx(8 + 6) and areas[kind.FREE_SURFACE] == pytest.approx(6)
    up = shape.normals[topology.kinds == kind.FREE_SURFACE]
    np.testing.assert_allclose(up, np.broadcast_to([0, 0, 1.0], up.shape))


@pytest.mark.parametrize("periodic", [False, True])
def test_a_box_of_five_tetrahedra_a_brick(periodic):
    sides = {"x": "periodic" if periodic else "rigid", "y": "absorbing", "z-": "dirichlet", "z+": "gravity"}
    mesh = box_mesh(Box((4, 3, 2), (0, 0, 0), (4, 3, 2), sides, tetrahedra=5))
    topology, shape = measured(mesh)
    assert len(mesh.cells) == 5 * 24 and shape.volume.sum() == pytest.approx(24)
    np.testing.assert_allclose(np.sort(np.unique(shape.volume.round(12))), [1 / 6, 1 / 3])
    assert shape.areas[topology.kinds == tets.BoundaryKind.GRAVITY].sum() == pytest.approx(12)
    assert (topology.neighbours < 0).sum() == 2 * (2 * (4 * 3 + 4 * 2) + (0 if periodic else 2 * 3 * 2))


def test_an_odd_number_of_mirrored_bricks_does_not_close():
    with raises(InputError):
        box_mesh(Box((3, 2, 2), (0, 0, 0), (1, 1, 1), {"x": "periodic"}, tetrahedra=5))


def test_box_perturbation_and_seed():
    setting = Box((5, 5, 5), (0, 0, 0), (1, 1, 1), {"x": "periodic"}, 0.2, 4)
    plain, moved = box_mesh(replace(setting, perturb=0.0)), box_mesh(setting)
    shift = moved.vertices - plain.vertices
    assert 0.15 / 5 < np.abs(shift).max() <= 0.2 / 5
    on_side = (plain.vertices == 0) | (plain.vertices == 1)
    assert (shift[on_side[:, 1], 1] == 0).all() and (shift[on_side[:, 2], 2] == 0).all()
    assert (shift[on_side[:, 0], 0] != 0).any(), "periodic sides need not stay flat"
    left, right = plain.vertices[:, 0] == 0, plain.vertices[:, 0] == 1
    np.testing.assert_allclose(shift[left], shift[right], atol=1e-15)
    assert np.array_equal(moved.vertices, box_mesh(setting).vertices)
    assert not np.array_equal(moved.vertices, box_mesh(replace(setting, seed=5)).vertices)
    with raises(InputError):
        box_mesh(replace(setting, perturb=0.49))


def test_box_shuffle():
    setting = Box((3, 3, 3), (0, 0, 0), (1, 1, 1), {"z": "periodic"}, 0.1, 4)
    plain, mixed = box_mesh(setting), box_mesh(replace(setting, shuffle=True))
    assert (signed_volumes(mixed) > 0).all()
    first = (np.sort(plain.cells, axis=1) == plain.cells).all(axis=1).mean()
    assert (mixed.cells[:, 0] != mixed.cells.min(axis=1)).mean() > 0.5 and first > 0.2
    np.testing.assert_allclose(
        mixed.vertices[mixed.cells].mean(axis=1), plain.vertices[plain.cells].mean(axis=1), atol=1e-15
    )
    determinants = np.linalg.det(measured(mixed)[1].jacobian())
    assert 0.3 < (determinants < 0).mean() < 0.7, "sorted cells of both orientations occur"


def test_box_mistakes_are_all_reported():
    with pytest.raises(InputError) as caught:
        box_mesh(Box((0, 1, 1), (0, 0, 0), (1, 0, 1), {"x-": "periodic", "w": "rigid", "y": "absorbin"}, 0.7))
    text = str(caught.value)
    for part in ("at least one brick", "lower below upper", "one side is periodic", "'w' is not a side",
                 "did you mean 'absorbing'?", "0 to below 0.5"):  # fmt: skip
        assert part in text
    with raises(InputError):
        box_mesh(Box((2, 2, 2), (0, 0, 0), (1, 1, 1), fault=("x", 0.3)))
    with raises(InputError):
        generate({"shape": "box", "lower": (0, 0, 0), "upper": (1, 1, 1)})


def test_load_mesh_maps_vertices(tmp_path, box):
    tets.write_puml(tmp_path / "no-suffix", box)
    rotation = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]])
    for matrix in (2 * rotation, np.diag([1, 1, -1.0])):
        scaling = tuple(map(tuple, matrix))
        setting = SimpleNamespace(file=tmp_path / "no-suffix", scaling=scaling, displacement=(1.0, 2.0, 3.0))
        mesh = tets.load_mesh(setting)
        np.testing.assert_allclose(mesh.vertices, box.vertices @ matrix.T + [1, 2, 3])
        topology, _ = measured(mesh)
        before = tets.build_topology(box)
        assert np.array_equal(topology.neighbours, before.neighbours)
        assert np.array_equal(topology.tags, before.tags)
    with raises(InputError):
        tets.load_mesh(SimpleNamespace(file=tmp_path / "no-suffix", scaling=np.ones((3, 3))))


def test_mirroring_does_not_hide_bad_cells(tmp_path, box):
    broken = replace(
        box, cells=np.where(np.arange(len(box.cells))[:, None] == 3, box.cells[:, [1, 0, 2, 3]], box.cells)
    )
    tets.write_puml(tmp_path / "m.h5", broken)
    mesh = tets.load_mesh(SimpleNamespace(file=tmp_path / "m.h5", scaling=np.diag([-1, 1, 1.0])))
    assert (signed_volumes(mesh) < 0).nonzero()[0].tolist() == [3]


def test_load_mesh_recognises_files(tmp_path):
    for name, content in (("a", b""), ("b", b"CDF\x01xxxx"), ("c", b"solid")):
        (tmp_path / name).write_bytes(content)
        with raises(InputError):
            tets.load_mesh(SimpleNamespace(file=tmp_path / name))
    with raises(InputError):
        tets.load_mesh(SimpleNamespace(file=tmp_path / "none"))
    with raises(InputError):
        tets.load_mesh(SimpleNamespace(file=None, generate=None))
    setting = SimpleNamespace(shape="box", cells=(1, 1, 2), lower=(0, 0, 0), upper=(1, 1, 1), boundaries={"z": "rigid"},
                              perturb=0.0, seed=0, shuffle=False)  # fmt: skip
    assert len(tets.load_mesh(SimpleNamespace(file=None, generate=setting)).cells) == 12
