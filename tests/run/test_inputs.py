"""All that is wrong appears at once: a wrong setting hides neither other settings nor errors inside files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.case.load import load_case
from faultwave.case.settings.model import Mesh
from faultwave.domain.tets.formats.puml import write_puml
from faultwave.domain.tets.generators.generate import generate

FILES = {
    "m.yaml": "!ConstantMap\nmap: {rho: 2700, mu: }\n",
    "st.txt": "0 0 0\n0 0 x\n",
    "s.nrf": "no NRF",
    "m.nc": "no NetCDF",
    "broken.h5": "contain a mesh",
}
NATIVE = """end_time: 1
mesh: {file: MESH}
material: {easi: m.yaml}
sources:
  - {kind: nrf, file: s.nrf}
output:
  receivers: {interval: 0.1, file: st.txt}
OUTPUT
"""
DECK = """&equations
MaterialFileName = 'm.yaml'
/
&MeshNml
MeshFile = 'MESH'
meshgenerator = 'PUML'
/
&SourceType
Type = 42
FileName = 's.nrf'
/
&Discretization
FixFimeStep = 1
CFL = x
/
&Output
OutputFile = 'out'
ReceiverOutput = 1
RFileName = 'st.txt'
/
&AbortCriteria
EndTime = 1.0
/
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def told(path: Path) -> str:
    found = fw.check(path)
    assert found.errors
    with pytest.raises(InputError) as error:
        fw.simulate(path)
    texts = {str(p) for p in found.errors}
    assert len(texts) == len(found.errors), "told twice"
    assert {str(p) for p in error.value.problems} == texts
    return repr(found)


INSIDE = ("m.yaml:2", "st.txt:2", "s.nrf")


@pytest.mark.parametrize(
    ("mesh", "output", "words"),
    [
        ("nowhere.h5", "", ["no such file"]),
        ("broken.h5", "", ["broken.h5"]),
        ("broken.h5", "  recievers: {}", ["'recievers' is not a setting", "broken.h5"]),
        ("nowhere.h5", "nunerics: {order: 3}", ["'nunerics' is not a setting", "no such file"]),
    ],
)
def test_native_cases(folder: Path, mesh: str, output: str, words: list[str]) -> None:
    path = folder / "case.yaml"
    path.write_text(NATIVE.replace("MESH", mesh).replace("OUTPUT", output))
    text = told(path)
    assert all(word in text for word in (*INSIDE, *words)), text
    assert text.count("error:") == len({*INSIDE, *words})


@pytest.mark.parametrize("mesh", ["nowhere.h5", "broken.h5"])
def test_decks(folder: Path, mesh: str) -> None:
    path = folder / "parameters.par"
    path.write_text(DECK.replace("MESH", mesh))
    text = told(path)
    assert all(word in text for word in (*INSIDE, mesh, "'x' is not a number", "did you mean 'FixTimeStep'")), text


def test_grids(folder: Path) -> None:
    path = folder / "case.yaml"
    path.write_text(
        "engine: fd\nend_time: 1\ngird: {spacing: 10}\nmaterial: {models: [{kind: netcdf, file: m.nc}]}\n"
        "output: {receivers: {interval: 0.1, file: st.txt}}\n"
    )
    text = told(path)
    assert all(word in text for word in ("'gird' is not a setting", "m.nc", "st.txt:2")), text


def test_nothing_is_told_because_of_what_is_left_out(folder: Path) -> None:
    """Longitudes without the map that was misspelt, names of stations without the places that were."""
    path = folder / "case.yaml"
    path.write_text(
        "end_time: 1\nmesh: {file: nowhere.h5}\nmaterial: {constant: {rho: 2700, vp: 6000, vs: fast}}\n"
        "projection: {crs: EPSG:32611, orgin: [-117, 34]}\n"
        "sources: [{kind: force, location: [0, 0, x], force: [1, 0, 0], time_function: {kind: ricker, frequency: 1}}]\n"
        "fault: {friction: linear-slip-weakening}\n"
        "stop: {time_after_rupture: 1, slip_rate_below: 0.1}\n"
        "output: {receivers: {interval: 0.1, geographic: [[-117, 34, 0]], names: [A, B, C], points: [[0, y, 0]]}}\n"
    )
    found = fw.check(path)
    lines = sorted(int(p.where.rpartition(":")[2]) for p in found.errors)
    assert lines == [2, 3, 4, 5, 6, 8], repr(found)


ROCK = "material: {constant: {rho: 2700, vp: 6000, vs: 3464}}\n"
BOX = "mesh: {generate: {shape: box, cells: [2, 2, 2], lower: [0, 0, -1e3], upper: [1e3, 1e3, 0]}}\n"
WAITS = "stop: {time_after_rupture: 1, slip_rate_below: 0.1}\n"


@pytest.mark.parametrize(
    ("settings", "misspelt", "words"),
    [
        (BOX + "law: viscoelastik\n", "nunerics: {}", "law: 'viscoelastik' does not exist"),
        ("engine: fd\n", "nunerics: {}", "grid: missing, the engine fd needs one"),
        (BOX + WAITS, "nunerics: {}", "fault: missing, stop refers to a rupture"),
        ("engine: fd\n", "gird: {spacing: 10}", ""),
        (BOX + WAITS, "fualt: {}", ""),
        ("engine: df\n" + BOX + "grid: {lower: [0, 0, -1], upper: [1, 1, 0], spacing: 0.1}\n", "nunerics: {}", "engine is 'df'"),
    ],
)  # fmt: skip
def test_a_misspelt_key_hides_no_rule_of_the_whole_case(folder: Path, settings: str, misspelt: str, words: str) -> None:
    """What settings need together is told beside it, unless the misspelt key is what they need."""
    path = folder / "case.yaml"
    path.write_text(f"end_time: 1\n{ROCK}{settings}{misspelt}\n")
    text = told(path)
    assert f"'{misspelt.partition(':')[0]}' is not a setting of a case" in text and words in text
    assert text.count("error:") == 1 + bool(words), text


@pytest.mark.parametrize(("cells", "wrong"), [([0, 4, 4], [0]), ([4, 0, 4], [1]), ([4, -2, 0], [1, 2])])
def test_entries_after_a_wrong_one_are_not_called_missing(cells: list[int], wrong: list[int]) -> None:
    """They are left out with it when the rest of the case is looked at."""
    box = {"shape": "box", "cells": cells, "lower": [0, 0, 0], "upper": [1, 1, 1]}
    case = {"end_time": 1.0, "mesh": {"generate": box}, "material": {"constant": {"rho": 1, "mu": 1, "lambda": 1}}}
    told = [(problem.where, problem.what) for problem in fw.check(case).errors]
    assert told == [(f"mesh.generate.cells[{i}]", f"is {cells[i]}") for i in wrong]


def test_stop_is_left_out_with_the_fault_that_it_waits_for(folder: Path) -> None:
    (folder / "case.yaml").write_text(f"end_time: 1\n{ROCK}{BOX}{WAITS}fault: {{friction: 3}}\n")
    case, problems = load_case(folder / "case.yaml", partial=True)
    assert case is not None and case.stop.time_after_rupture is None and not problems.items
    assert case.left_out == (("fault", "friction"), ("fault",), ("stop",))


def test_places_of_sound_entries_stay(folder: Path) -> None:
    """Entries of a list that precede a wrong one are read, and told at their own lines."""
    path = folder / "case.yaml"
    source = "{kind: force, location: [0, 0, -500], force: [1, 0, 0], time_function: {kind: ricker, frequency: 1}}"
    path.write_text(
        "end_time: 1\nmesh: {generate: {shape: box, cells: [2, 2, 2], lower: [0, 0, -1e3], upper: [1e3, 1e3, 0], boundaries: {}}}\n"
        f"material: {{constant: {{rho: 2700, vp: 6000, vs: 3464}}}}\nsources:\n  - {source}\n  - {{kind: nrf, file: s.nrf}}\n"
        f"  - {source.replace('force', 'farce')}\n"
    )
    text = told(path)
    assert f"{path}:7" in text and "s.nrf" in text


def test_the_sound_part_keeps_what_is_sound(folder: Path) -> None:
    whole = NATIVE.replace("MESH", "broken.h5").replace("OUTPUT", "numerics: {order: 3, ordre: 2}")
    (folder / "case.yaml").write_text(whole)
    case, _ = load_case(folder / "case.yaml", partial=True)
    assert case is not None and isinstance(case.mesh, Mesh)
    assert case.numerics.order == 3 and case.mesh.file == folder / "broken.h5"
    assert case.left_out == (("numerics", "ordre"),)


def test_a_sound_mesh_beside_a_misspelt_key_is_read(folder: Path) -> None:
    box = {"shape": "box", "cells": (2, 2, 2), "lower": (0.0, 0.0, -1.0), "upper": (1.0, 1.0, 0.0), "boundaries": {}}
    mesh = generate(box)
    write_puml(folder / "mesh.h5", mesh)
    text = NATIVE.replace("MESH", "mesh.h5").replace("OUTPUT", "titel: a")
    (folder / "case.yaml").write_text(text)
    assert "mesh.h5" not in told(folder / "case.yaml")
    mesh.vertices[3] = np.nan
    write_puml(folder / "mesh.h5", mesh)
    assert "not a finite number" in told(folder / "case.yaml")
