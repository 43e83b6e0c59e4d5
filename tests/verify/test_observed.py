"""Scores of a run against records of its stations: in Python, on the command line and in the report."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import faultwave as fw
from faultwave.cli.main import app

pytest.importorskip("obspy")
spec = importlib.util.spec_from_file_location("waves", Path(__file__).parents[1] / "output" / "waves.py")
assert spec is not None and spec.loader is not None
waves = importlib.util.module_from_spec(spec)
spec.loader.exec_module(waves)


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> tuple[Path, Path]:
    """A run, and records of one of its stations: the same but 1.5 times as large along y and half a second late along z."""
    root = tmp_path_factory.mktemp("scores")
    run, data = waves.run(root / "run"), root / "data"
    data.mkdir()
    values = waves.motion(1) * [1.0, 1.5, 1.0]
    values[:, 2] = np.interp(waves.TIME - 0.5, waves.TIME, values[:, 2])
    waves.stream(waves.to_map(values)).write(str(data / "records.mseed"), format="MSEED")
    return run, data


def test_scores_tell_size_from_time(folders) -> None:
    found = fw.score(*folders, low=0.2, high=4.0)
    x, y, z = found.scores
    assert [s.component for s in found.scores] == ["x", "y", "z"] and {s.station for s in found.scores} == {"CI.CCC"}
    assert x.anderson == pytest.approx(10.0, abs=0.01) and x.envelope == pytest.approx(10.0, abs=0.01)
    assert y.envelope_misfit == pytest.approx(1 / 3, rel=1e-3) and y.phase_misfit == pytest.approx(0.0, abs=1e-6)
    assert z.phase_misfit > 0.3 and z.phase < 4.0 < z.envelope  # late, but of the same size
    assert z.criteria[0, -1] < 8.0 and z.criteria[0, 5] == pytest.approx(10.0, abs=0.1)
    assert "0.2 to 4 Hz" in found._repr_html_()


def test_command(folders, tmp_path) -> None:
    run, data = map(str, folders)
    result = CliRunner().invoke(
        app, ["compare", run, data, "--low", "0.2", "--high", "4", "--json", str(tmp_path / "s.json")]
    )
    assert result.exit_code == 0 and "excellent" in result.output and "mean score" in result.output
    told = json.loads((tmp_path / "s.json").read_text())
    assert told["scores"][0]["criteria"]["correlation"][0] == pytest.approx(10.0, abs=0.01)
    assert CliRunner().invoke(app, ["compare", run, data, "--least", "9.9"]).exit_code == 1
    assert CliRunner().invoke(app, ["compare", run, run, "--low", "0.2"]).exit_code == 0  # bands are for two runs, too


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--low 5 --high 2", "--low"),
        ("--low -1", "--low"),
        ("--low nan", "--low"),
        ("--high 0", "--high"),
        ("--low 400 --high 800", "no component can be scored"),
        ("--high 1e-4", "no component can be scored"),
        ("--units metres", "--units"),
        ("--quantity speed", "--quantity"),
        ("--limit 0.1", "--limit"),
        ("--group slip=0.1 --rupture-time 0.1", "--group, --rupture-time"),
    ],
)
def test_what_cannot_be_scored_is_told(folders, words: str, told: str) -> None:
    result = CliRunner().invoke(app, ["compare", *map(str, folders), *words.split()])
    assert result.exit_code == 2 and told in result.output and "nan of 10" not in result.output


def test_the_report_shows_records(folders, tmp_path) -> None:
    run, data = folders
    text = fw.report(run, tmp_path / "page.html", observed=data).read_text()
    assert '"observed"' in text and "Goodness of fit" in text and "Kristekova" in text
