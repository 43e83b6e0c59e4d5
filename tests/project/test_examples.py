"""The examples of grids: their inputs are what their texts say, and they run to the picture."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from faultwave.base.projection import Projection
from faultwave.case.load import example_text, load_case
from faultwave.cli.main import app
from faultwave.output.formats.maps_netcdf import read_maps
from faultwave.physics.sources.readers.srf import read_srf

BASIN = Path(__file__).parents[2] / "examples" / "basin" / "basin.py"


def test_the_inputs_of_the_basin(tmp_path):
    example = runpy.run_path(str(BASIN))
    case, problems = load_case(example["write_inputs"](tmp_path))
    assert case is not None and not problems.items
    sources = read_srf(tmp_path / "rupture.srf", Projection(case.projection.crs, case.projection.origin))
    moment = sum(s.moment_tensor(3.2e10, 3.2e10) * float(s.integral(0, 100)) for s in sources)
    size = np.sqrt((moment[:3] ** 2).sum() + 2 * (moment[3:] ** 2).sum()) / np.sqrt(2)
    assert (np.log10(size) - 9.1) / 1.5 == pytest.approx(6.5, abs=1e-3)
    places = np.array([s.location for s in sources])
    assert np.hypot(*(places[:, :2] - places[0, :2]).T).max() == pytest.approx(23e3, rel=2e-3)
    assert places[:, 2].max() == -3500 and places[:, 2].min() == -14500


def test_the_basin_runs_to_the_picture(tmp_path):
    """As the guide says, with the commands; at a tenth of the frequency, and so in seconds."""
    runpy.run_path(str(BASIN))["main"]([str(tmp_path), "--frequency", "0.1", "--inputs-only"])
    for command in (
        ["run", str(tmp_path / "case.yaml"), "--output", str(tmp_path / "results")],
        ["plot", str(tmp_path / "results")],
    ):
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
    made = {p.name for p in (tmp_path / "results").iterdir()}
    assert {"run-intensity.png", "run-intensity.nc", "run-intensity.tif", "run-grid.xml", "run-receivers.h5"} <= made
    maps = read_maps(tmp_path / "results" / "run-intensity.nc")
    speed = maps["PGV"]
    assert 0.02 < speed.max() < 5.0 and np.isfinite(speed).all()
    # the rupture runs to the north-west: its end shakes harder than its beginning
    x, y = (np.argmin(np.abs(maps[a][:, None] - 1e3 * np.array(p)), 0) for a, p in (("x", (-8, 8)), ("y", (14, -14))))
    assert speed[y[0], x[0]] > 2 * speed[y[1], x[1]]


@pytest.mark.parametrize(
    "small", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["small", "as the guide says"]
)
def test_two_engines(tmp_path, monkeypatch, small):
    """One case on a grid and on tetrahedra, compared."""
    monkeypatch.chdir(tmp_path)
    text = example_text("two-engines")
    if small:  # twice the wavelength of the source, as coarse as that allows
        changes = {
            "duration: 0.25 s": "duration: 0.5 s",
            "[20, 20, 12]": "[10, 10, 6]",
            "80 m": "160 m",
            "end_time: 2.4 s": "end_time: 1.6 s",
        }
        for old, new in changes.items():
            assert old in text
            text = text.replace(old, new)
    (tmp_path / "case.yaml").write_text(text)
    for engine in ("fd", "dg"):
        done = CliRunner().invoke(app, ["run", "case.yaml", "--engine", engine, "--output", engine])
        assert done.exit_code == 0, done.output
    done = CliRunner().invoke(app, ["compare", "fd", "dg"])
    misfit = float(re.search(r"velocity\D+([\d.]+)", done.output)[1])
    assert misfit < (0.2 if small else 0.03), done.output
    assert small or done.exit_code == 0, done.output
