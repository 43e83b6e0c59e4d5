"""A case that cannot be planned is drawn as far as it goes, with crosses where something is wrong."""

import numpy as np
import pytest
from typer.testing import CliRunner

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.cli.main import app
from faultwave.run.inputs import load_valid_case
from faultwave.run.planned import plan_model
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
    case, _ = load_valid_case("case.yaml")
    with pytest.raises(InputError) as error:
        plan_model(case)
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
    case, _ = load_valid_case({
        "engine": "fd", "end_time": 1.0, "grid": {"lower": [0, 0, -2e3], "upper": [2e3, 2e3, 0], "spacing": 100.0},
        "material": {"expression": {"rho": "2500", "vp": "5000", "vs": "if (x > 1900 && z > -100) { return -1; } return 2500;"}},
        "output": {"receivers": {"points": [[5e3, 1e3, 0.0]]}},
    })  # fmt: skip
    with pytest.raises(InputError) as error:
        plan_model(case)
    model = sketch(case, error.value.problems)
    assert model is not None and model.trouble is not None
    x = model.trouble.points[:, 0]
    assert 5e3 in x or (x > 1900).any()


RASTER = "topography: { file: dem.asc, crs: local }"


def raster(path, hole):
    """Ground at 100 m from -12 to 12 km, with a hole around (5, 5) km."""
    values = np.full((25, 25), 100.0)
    if hole:
        values[5:9, 16:20] = -9999.0
    header = "ncols 25\nnrows 25\nxllcenter -12000\nyllcenter -12000\ncellsize 1000\nNODATA_value -9999"
    np.savetxt(path, values, fmt="%g", header=header, comments="")


def with_raster(tmp_path, monkeypatch, upper):
    monkeypatch.chdir(tmp_path)
    text = CASE.replace("depth: 10 km", f"depth: 10 km\n    {RASTER}").replace("upper: [10 km", f"upper: [{upper}")
    (tmp_path / "case.yaml").write_text(text)
    (tmp_path / "trace.csv").write_text("x[km],y[km]\n-5,0\n0,1\n")
    case, _ = load_valid_case("case.yaml")
    with pytest.raises(InputError) as error:
        plan_model(case)
    return sketch(case, error.value.problems)


def covered(model, x, y):
    """Whether the ground is drawn at a place."""
    (ground,) = model.of("ground")
    middle = ground.points[ground.cells].mean(1)[:, :2]
    return bool((np.abs(middle - [x, y]).max(1) < 150.0).any())


def test_a_hole_in_a_raster_is_left_open(tmp_path, monkeypatch):
    raster(tmp_path / "dem.asc", hole=True)
    model = with_raster(tmp_path, monkeypatch, "10 km")
    assert (np.abs(model.trouble.points[:, :2] - [5.5e3, 5.5e3]).max(1) < 4e3).all()
    assert covered(model, -5e3, -5e3) and not covered(model, 5.5e3, 5.5e3)


def test_a_raster_smaller_than_the_region_is_drawn_as_far_as_it_goes(tmp_path, monkeypatch):
    raster(tmp_path / "dem.asc", hole=False)
    model = with_raster(tmp_path, monkeypatch, "20 km")
    assert (model.trouble.points[:, 0] > 12e3).all()
    assert model.trouble.points[:, 0].max() > 19e3  # of many places some from all over
    assert covered(model, 11e3, 0.0) and not covered(model, 14e3, 0.0)


@pytest.mark.parametrize(
    "rows, words",
    [
        ("lon,lat\n35.65,-117.55\n35.72,-117.5\n", "seem to be exchanged"),
        ("x,y\n-4,-5\n0,0\n5,6\n", "kilometres"),
        ("x,y\n450000,3950000\n455000,3958000\n", "another coordinate system"),
        ("x[km],y[km]\n-5,0\n5,0\n5,5\n0,-5\n", "crosses itself"),
    ],
)
def test_new_draws_where_a_trace_is_wrong(tmp_path, rows, words):
    (tmp_path / "trace.csv").write_text(rows)
    place = ["--lon", "-117.5", "--lat", "35.7", "--size", "30km", "--fault", str(tmp_path / "trace.csv")]
    result = CliRunner().invoke(app, ["new", str(tmp_path / "case"), *place])
    assert result.exit_code == 2 and words in result.output
    assert "case-problems/map.png" in result.output.replace("\\", "/") and not (tmp_path / "case").exists()
    assert (tmp_path / "case-problems" / "map.png").stat().st_size > 5000


def test_check_says_who_draws_where(tmp_path, monkeypatch):
    assert drawn(tmp_path, monkeypatch, "x[km],y[km]\n-5,0\n15,2\n") is not None
    assert "`faultwave plot CASE` draws" in CliRunner().invoke(app, ["check", "case.yaml"]).output
    assert "`faultwave plot CASE` draws" not in CliRunner().invoke(app, ["plot", "case.yaml", "--dpi", "40"]).output


def test_problems_without_a_place_are_not_drawn():
    case, _ = load_valid_case("plane-wave")
    problems = Problems()
    problems.error("somewhere", "is wrong")
    assert sketch(case, problems.items) is None
    assert Problem("a", "b", places=((1.0, 2.0),)) == Problem("a", "b")
