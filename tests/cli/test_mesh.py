"""mesh info, convert and generate, on real files."""

import numpy as np
import pytest

from faultwave.domain.tets import load_mesh, read_puml, write_puml


@pytest.fixture
def box(tmp_path):
    """A small mesh in a file, with a fault across it."""
    mesh = load_mesh(type("Setting", (), {"generate": {
        "shape": "box", "cells": (2, 2, 2), "lower": (0.0, 0.0, 0.0), "upper": (2.0, 2.0, 2.0),
        "boundaries": {"z+": "free-surface"}, "fault": ("x", 1.0),
    }}))  # fmt: skip
    write_puml(tmp_path / "box.h5", mesh)
    return tmp_path / "box.h5"


def test_info(cli, box):
    result = cli("mesh", "info", box)
    assert result.exit_code == 0
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    for line in ("cells 48", "vertices 27", "x 0 to 2 m", "1 8 4 free surface", "3 8 4 fault"):
        assert line in lines
    assert "smallest cells" in result.stdout


def test_info_of_a_broken_mesh_says_what_is_wrong(cli, box, tmp_path):
    from dataclasses import replace

    mesh = read_puml(box)
    cells = mesh.cells.copy()
    cells[0] = cells[0][[1, 0, 2, 3]]
    write_puml(tmp_path / "bad.h5", replace(mesh, cells=cells))
    result = cli("mesh", "info", tmp_path / "bad.h5")
    assert result.exit_code == 2
    assert "volume" in result.stderr
    assert "cells" in result.stdout


def test_info_of_named_parts(cli, tmp_path):
    (tmp_path / "named.msh").write_text(NAMED)
    result = cli("mesh", "info", tmp_path / "named.msh")
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "7 rock 1 0.166667" in lines
    assert "1 absorbing 3 1.5 absorbing" in lines
    assert "105 slope 1 0.866025 absorbing" in lines
    assert result.exit_code == 0, result.stderr
    (tmp_path / "named.msh").write_text(NAMED.replace("absorbing", "sides"))
    result = cli("mesh", "info", tmp_path / "named.msh")
    assert result.exit_code == 2 and "'sides'" in result.stderr and "mesh.boundaries" in result.stderr


NAMED = """$MeshFormat
2.2 0 8
$EndMeshFormat
$PhysicalNames
3
2 1 "absorbing"
2 105 "slope"
3 7 "rock"
$EndPhysicalNames
$Nodes
4
1 0 0 0
2 1 0 0
3 0 1 0
4 0 0 1
$EndNodes
$Elements
5
1 2 2 1 1 1 2 3
2 2 2 1 1 1 2 4
3 2 2 1 1 1 3 4
4 2 2 105 2 2 3 4
5 4 2 7 1 1 2 3 4
$EndElements
"""


def test_convert(cli, box, tmp_path):
    result = cli("mesh", "convert", box, tmp_path / "wide.h5", "--boundary-format", "i32x4")
    assert result.exit_code == 0
    assert result.stdout.split() == [str(tmp_path / "wide.h5")]
    before, after = read_puml(box), read_puml(tmp_path / "wide.h5")
    assert np.array_equal(before.cells, after.cells)
    assert np.array_equal(before.tags, after.tags)


def test_convert_replaces_only_when_told(cli, box, tmp_path):
    target = tmp_path / "there.h5"
    target.write_text("precious")
    result = cli("mesh", "convert", box, target)
    assert result.exit_code == 2
    assert "--force" in result.stderr
    assert target.read_text() == "precious"
    assert cli("mesh", "convert", box, target, "--force").exit_code == 0
    assert len(read_puml(target).cells) == 48


def test_a_folder_that_is_not_there_is_an_error_for_users(cli, box, tmp_path):
    result = cli("mesh", "convert", box, tmp_path / "no" / "x.h5")
    assert result.exit_code != 0
    assert str(tmp_path / "no") in result.stderr


def test_no_mesh(cli, tmp_path):
    (tmp_path / "x.msh").write_text("hello")
    result = cli("mesh", "info", tmp_path / "x.msh")
    assert result.exit_code == 2
    assert "is not a known mesh file" in result.stderr


def test_generate_with_units(cli, tmp_path):
    settings = ["cells=[2, 1, 1]", "lower=[0, 0, -1 km]", "upper=[2 km, 1000, 0]", "boundaries={z+: free-surface}"]
    result = cli("mesh", "generate", "box", tmp_path / "made.h5", *settings)
    assert result.exit_code == 0, result.stderr
    mesh = read_puml(tmp_path / "made.h5")
    assert len(mesh.cells) == 12
    assert mesh.vertices.min(0).tolist() == [0.0, 0.0, -1000.0]
    assert mesh.vertices.max(0).tolist() == [2000.0, 1000.0, 0.0]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["sphere"], "sphere"),
        (["tpv5", "sise=400m"], "sise"),
        (["tpv5", "size=400 kg"], "kg"),
        (["tpv5", "size"], "KEY=VALUE"),
        (["tpv5", "half_width=[1,"], "YAML"),
    ],
)
def test_generate_refuses(cli, tmp_path, arguments, text):
    shape, *settings = arguments
    result = cli("mesh", "generate", shape, tmp_path / "x.h5", *settings)
    assert result.exit_code == 2
    assert text in result.stderr
    assert not (tmp_path / "x.h5").exists()


def test_files_of_other_formats_are_not_written(cli, box, tmp_path):
    target = tmp_path / "copy.vtu"
    result = cli("mesh", "convert", box, target)
    assert result.exit_code == 2 and "'.vtu'" in result.stderr and ".h5" in result.stderr
    assert not target.exists()
