"""A case that cannot be planned is drawn as far as it goes, with crosses where something is wrong."""

import numpy as np
import pytest
from typer.testing import CliRunner

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.cli.main import app
from faultwave.run.inputs import load_sound
from faultwave.run.planned import model_of
from faultwave.run.sketch import sketch

CASE = """
title: A place with mistakes
end_time: 1 s
mesh:
  build:
    lower: [-10 km, -10 km]
    upper: [10 km, 10 km]
    depth: 10 km
    faults: [{ name: main, trace: trace.csv, depth: 8 km, size: 2 km }]
material: { constant: { rho: 2700, vp: 6000, vs: 3464 } }
sources:
  - { kind: moment-tensor, location: [1 km, 2 km, -3 km], tensor: { xy: 1e16 }, time_function: { kind: brune, duration: 1 s } }
output: { folder: results, receivers: { points: [[0, 0, 0], [3 km, 3 km, 0]] } }
"""


def drawn(tmp_path, monkeypatch, trace):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "case.yaml").write_text(CASE)
    (tmp_path / "trace.csv").write_text(trace)
    case, _ = load_sound("case.yaml")
    with pytest.raises(InputError) as error:
        model_of(case)
    return sketch(case, error.value.problems)


def test_a_trace_that_leaves_the_region(tmp_path, monkeypatch):
    model = drawn(tmp_path, monkeypatch, "x[km],y[km]\n-5,0\n0,1\n15,2\n")
    assert model is not None and model.trouble is not None
    np.testing.assert_allclose(model.trouble.points, [[15e3, 2e3, 0.0]])
    np.testing.assert_allclose([model.lower, model.upper], [[-1e4, -1e4, -1e4], [1e4, 1e4, 0.0]])
    assert {m.kind: len(m.points) for m in model.marks} == {"receivers": 2, "sources": 1}
    assert len(model.of("fault")) == 1 and "outside of the region" in model.reason


def test_a_trace_that_crosses_itself(tmp_path, monkeypatch):
    model = drawn(tmp_path, monkeypatch, "x[km],y[km]\n-5,0\n5,0\n5,5\n0,-5\n")
    assert model is not None and model.trouble is not None
    np.testing.assert_allclose(model.trouble.points[0, :2], [2500.0, 0.0])


def test_the_command_draws_it_and_fails(tmp_path, monkeypatch):
    assert drawn(tmp_path, monkeypatch, "x[km],y[km]\n-5,0\n15,2\n") is not None
    result = CliRunner().invoke(app, ["plot", "case.yaml", "--output", "pictures", "--dpi", "40"])
    assert result.exit_code != 0
    assert [p.name for p in (tmp_path / "pictures").iterdir()] == ["map.png"]


def test_receivers_outside_and_holes_say_where():
    case, _ = load_sound({
        "engine": "fd", "end_time": 1.0, "grid": {"lower": [0, 0, -2e3], "upper": [2e3, 2e3, 0], "spacing": 100.0},
        "material": {"expression": {"rho": "2500", "vp": "5000", "vs": "if (x > 1900 && z > -100) { return -1; } return 2500;"}},
        "output": {"receivers": {"points": [[5e3, 1e3, 0.0]]}},
    })  # fmt: skip
    with pytest.raises(InputError) as error:
        model_of(case)
    model = sketch(case, error.value.problems)
    assert model is not None and model.trouble is not None
    x = model.trouble.points[:, 0]
    assert 5e3 in x or (x > 1900).any()


def test_problems_without_a_place_are_not_drawn():
    case, _ = load_sound("plane-wave")
    problems = Problems()
    problems.error("somewhere", "is wrong")
    assert sketch(case, problems.items) is None
    assert Problem("a", "b", places=((1.0, 2.0),)) == Problem("a", "b")
