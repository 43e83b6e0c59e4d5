"""Geometries meshed on the way: Gmsh scripts, shapes with and without labels, what cannot be meshed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.base.processes.host import PYTHON
from faultwave.domain import tets
from faultwave.domain.tets.generators import generate
from faultwave.domain.tets.gmsh import child
from faultwave.domain.tets.load import read_mesh
from tests.messages import raises

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
    with raises(InputError):
        read_mesh(path)
    mesh = read_mesh(path, size=0.006)
    assert np.ptp(mesh.vertices, axis=0) == pytest.approx([0.04, 0.01, 0.01])
    assert len(mesh.named(3)) == 2 and len(mesh.named(2)) == 11, "the two touch in one surface"
    shared = [tag for tag in mesh.named(2).values() if {1, 2} <= set(mesh.groups[(mesh.tags == tag).any(1)])]
    assert len(shared) == 1, "both volumes see the surface between them"


def test_what_cannot_be_meshed_is_told(tmp_path: Path) -> None:
    path = tmp_path / "wrong.geo"
    path.write_text("Box(1) = {0, 0\n")
    with raises(InputError):
        read_mesh(path)
    mesh = tmp_path / "some.msh"
    mesh.write_text("$MeshFormat\n4.1 0 8\n$EndMeshFormat\n")
    with raises(InputError):
        read_mesh(mesh, size=0.1)


ESCAPES = {
    "SystemCall": 'SystemCall "touch PWNED";',
    "System": 'System "touch PWNED";',
    "NonBlockingSystemCall": 'NonBlockingSystemCall "touch PWNED";',
    "OnelabRun": 'OnelabRun("x", "touch PWNED");',
    "ExternalProcess": 'Field[1] = ExternalProcess; Field[1].CommandLine = "touch PWNED";',
    "Include": 'Include "other.geo";',
    "Merge": 'Merge "other.step";',
    "Plugin": "Plugin(NewView).Run;",
    "Save": 'Save "PWNED";',
    "Print": 'Print "PWNED";',
    "'>'": 'Printf("a") > "PWNED";',
    "Exit": "Exit;",
}


@pytest.mark.parametrize("word", ESCAPES)
def test_a_script_that_reaches_beyond_its_geometry_is_refused(tmp_path: Path, word: str) -> None:
    path = tmp_path / "guest.geo"
    path.write_text(SCRIPT + ESCAPES[word].replace("PWNED", str(tmp_path / "PWNED")) + "\n")
    with raises(InputError):
        read_mesh(path)
    assert not (tmp_path / "PWNED").exists()


@pytest.mark.parametrize(
    "hidden", ['x = "a\n// ";  SystemCall "id";', 'x = "\\"; // ";\nSystemCall "id";', "/* */ System 'id';"]
)
def test_statements_cannot_hide_in_texts_and_comments(tmp_path: Path, hidden: str) -> None:
    path = tmp_path / "guest.geo"
    path.write_text(hidden + "\n" + SCRIPT)
    with raises(InputError):
        read_mesh(path)


def test_words_in_comments_and_texts_are_no_statements(tmp_path: Path) -> None:
    path = tmp_path / "ball.geo"
    path.write_text('// System of units: m. Print nothing.\n/* Merge\n"Include" */ Name = "Save 3";\n' + SCRIPT)
    assert len(read_mesh(path).cells) > 10


def test_gmsh_itself_can_start_no_program_and_write_nothing_else(tmp_path: Path) -> None:
    """What slips through the words is still held by the process."""
    home = tmp_path / "home"
    home.mkdir()
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    path = tmp_path / "guest.geo"
    lines = [f'SystemCall "touch {home}/called";', f'Printf("a") > "{home}/printed";']
    path.write_text("\n".join(lines) + "\n" + SCRIPT)
    asked = {
        "geometry": str(path),
        "made": str(scratch / "guest.msh"),
        "size": None,
        "script": True,
        "confined": True,
        "opening": 60.0,
        "meshing": 60.0,
    }
    held = subprocess.run([*PYTHON, "-c", CONFINED, child.__file__, str(scratch)], check=False).returncode
    if held:
        pytest.skip("this Linux has no Landlock")
    subprocess.run([*PYTHON, child.__file__, json.dumps(asked)], check=False, capture_output=True)
    assert not list(home.iterdir())
    asked["confined"] = False
    subprocess.run([*PYTHON, child.__file__, json.dumps(asked)], check=False, capture_output=True)
    assert sorted(p.name for p in home.iterdir()) == ["called", "printed"], "else this test would hold nothing"


CONFINED = """
import runpy, sys
raise SystemExit(not runpy.run_path(sys.argv[1])["confine"](sys.argv[2]))
"""


def test_a_trusted_script_may_do_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.geo"
    path.write_text(f'SystemCall "touch {tmp_path}/called";\n' + SCRIPT)
    monkeypatch.setenv("FAULTWAVE_TRUST_GEO", "1")
    assert len(read_mesh(path).cells) > 10 and (tmp_path / "called").exists()


def test_a_script_that_never_ends_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generate, "OPENING", 0.5)
    path = tmp_path / "endless.geo"
    path.write_text("For i In {1:1000000000}\n  x = i;\nEndFor\n" + SCRIPT)
    with raises(InputError):
        read_mesh(path)


@pytest.mark.parametrize("given", ["0", "-1", "nan", "soon", "1e30"])
def test_a_limit_that_is_no_time(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv(generate.MESHING, given)
    with raises(InputError):
        generate.meshing_seconds()


def test_meshing_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(generate.MESHING, "0.3")
    path = tmp_path / "fine.geo"
    path.write_text(SCRIPT.replace("0.3;", "0.005;"))
    with raises(InputError):
        read_mesh(path)
