"""An error of one input does not hide those of the others, and each says in which line of the case it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultwave.run.planned import check

CASE = """\
end_time: 0.5
mesh:
  file: {mesh}
material:
  expression:
    rho: "2700"
    vp: "return 6000 + ;"
    vs: "3464"
fault:
  friction: linear-slip-weakening
  parameters:
    constant: {{mu_s: 0.7, mu_d: 0.5, d_c: 0.4, T_n: -120e6, T_s: 70e6}}
    expression:
      T_d: "return (1;"
  nucleation:
    - duration: 0.1
      stress: {{easi: {easi}}}
sources:
  - {{kind: fsrm, file: {source}}}
output:
  folder: {folder}
  receivers:
    file: {stations}
"""


@pytest.mark.parametrize("mesh", ["broken", "empty"])
def test_mesh_models_expressions_sources_and_stations(tmp_path: Path, mesh: str) -> None:
    (tmp_path / "mesh.msh").write_text(
        "" if mesh == "empty" else "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\nnone\n"
    )
    (tmp_path / "nucleation.yaml").write_text("!FunctionMap\nmap:\n  Tnuc_n: return q;\n")
    (tmp_path / "source.dat").write_text("nothing of the kind\n")
    (tmp_path / "stations.txt").write_text("0 0 0\n1 two 3\n")
    path = tmp_path / "case.yaml"
    path.write_text(
        CASE.format(
            mesh="mesh.msh",
            easi="nucleation.yaml",
            source="source.dat",
            stations="stations.txt",
            folder=tmp_path / "out",
        )
    )
    found = check(path)
    told = "\n".join(map(str, found.errors))
    assert f"{tmp_path / 'mesh.msh'}: " in told
    assert f"{path}:7: material.expression.vp" in told
    assert f"{path}:14: fault.parameters.expression.T_d" in told, told
    assert f"{tmp_path / 'nucleation.yaml'}:3" in told and "q" in told
    assert str(tmp_path / "source.dat") in told
    assert f"{tmp_path / 'stations.txt'}:2" in told
    assert len(found.errors) == len(set(found.errors))
