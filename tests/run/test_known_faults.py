"""Inputs that once ended in a traceback, or were accepted in silence, are answered by messages."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from faultwave.cli.main import app

DEFECTS = Path(__file__).resolve().parents[2] / ".." / "shared" / "defects"

pytestmark = pytest.mark.skipif(not DEFECTS.is_dir(), reason="needs shared/defects")

ANSWERS = {
    "check-on-grids/checkyaml-1240.yaml": (
        2,
        "fault.parameters.constant.T_n: '1000 km' is a [length], expected a unit like 'Pa'",
    ),
    "check-on-grids/checkyaml-55.yaml": (2, "not valid YAML: found unexpected end of stream"),
    "check-on-grids/checkyaml-381.yaml": (2, "injection.file: no such file"),
    "check-on-grids/checkyaml-1348.yaml": (2, "injection.file: no such file"),
    "numbers/force1e30s.yaml": (2, "sources[0] is 1e+40, which single precision cannot represent"),
    "numbers/nuc1e40.yaml": (2, "nucleation stress of episode 1 is 1e+40"),
    "numbers/L1e-30.yaml": (
        0,
        "the forecast median number of points in the cohesive zone is 3.7e-29",
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_check_answers(name: str, tmp_path: Path) -> None:
    code, words = ANSWERS[name]
    path = tmp_path / "case.yaml"
    path.write_bytes((DEFECTS / name).read_bytes())
    result = CliRunner().invoke(app, ["check", str(path)])
    assert result.exit_code == code and isinstance(result.exception, SystemExit | None), result.output
    text = " ".join(result.output.split())
    assert words in text and "Traceback" not in text, text
