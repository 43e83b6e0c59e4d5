"""Geometries meshed on the way: Gmsh scripts, shapes with and without labels, what cannot be meshed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.domain import tets
from faultwave.domain.tets.load import read_mesh

gmsh = pytest.importorskip("gmsh", exc_type=(ImportError, OSError))

SCRIPT = """SetFactory("OpenCASCADE");
Box(1) = {0, 0, 0, 1, 1, 1};
Sphere(2) = {0.5, 0.5, 0.5, 0.25};
BooleanFragments{ Volume{1}; Delete; }{ Volume{2}; Delete; }
Physical Volume("ball") = {2};
Physical Volume("around") = {3};
walls() = CombinedBoundary{ Volume{2, 3}; };
Physical Surface("walls") = {walls()};
Mesh.MeshSizeMax = 0.3;
"""


def test_a_script_with_physical_names(tmp_path: Path) -> None:
    path = tmp_path / "ball.geo"
    path.write_text(SCRIPT)
    mesh = read_mesh(path)
    assert set(mesh.named(3)) == {"ball", "around"} and set(mesh.named(2)) == {"walls"}
    tets.check_mesh(mesh, {"pec": ["walls"]}).raise_errors()
    topology = tets.build_topology(mesh, {"pec": ["walls"]})
    volume = tets.geometry(mesh, topology).volume
    ball = mesh.groups == mesh.named(3)["ball"]
    assert volume.sum() == pytest.approx(1.0) and volume[ball].sum() == pytest.approx(4 / 3 * np.pi / 64, rel=0.15)
    assert len(read_mesh(path, size=0.12).cells) > 2 * len(mesh.cells)


def test_shapes_come_in_metres_and_are_named(tmp_path: Path) -> None:
    path = tmp_path / "bar.step"
    gmsh.initialize(argv=[], readConfigFiles=False, interruptible=False)
    try:
        gmsh.option.setNumber("General.Terminal", 0)
        gmsh.model.occ.addBox(0, 0, 0, 20, 10, 10)  # a STEP file is in millimetres
        gmsh.model.occ.addBox(20, 0, 0, 20, 10, 10)
        gmsh.model.occ.synchronize()
        gmsh.write(str(path))
    finally:
        gmsh.finalize()
    with pytest.raises(InputError, match="says no element sizes"):
        read_mesh(path)
    mesh = read_mesh(path, size=0.006)
    assert np.ptp(mesh.vertices, axis=0) == pytest.approx([0.04, 0.01, 0.01])
    assert len(mesh.named(3)) == 2 and len(mesh.named(2)) == 11, "the two touch in one surface"
    shared = [tag for tag in mesh.named(2).values() if {1, 2} <= set(mesh.groups[(mesh.tags == tag).any(1)])]
    assert len(shared) == 1, "both volumes see the surface between them"


def test_what_cannot_be_meshed_is_told(tmp_path: Path) -> None:
    path = tmp_path / "wrong.geo"
    path.write_text("Box(1) = {0, 0\n")
    with pytest.raises(InputError, match=r"wrong.geo"):
        read_mesh(path)
    mesh = tmp_path / "some.msh"
    mesh.write_text("$MeshFormat\n4.1 0 8\n$EndMeshFormat\n")
    with pytest.raises(InputError, match="meshed already"):
        read_mesh(mesh, size=0.1)
