"""What Python says of its keywords, and the program of its options: nobody is told to give what does not exist there."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.case.validate import OVERRIDES
from faultwave.cli.main import app
from tests.run.test_python import CASE

FLAG = re.compile(r"(?<!\S)['\"(]*--[a-z]")
WRONG = {
    "engine": "quick", "order": 9, "precision": "half", "backend": "foo", "threads": 0, "progress": "x", "halo": "x", "until": "1 m",
    "output": 3, "checkpoint_every": -1, "ordr": 4,
}  # fmt: skip
YAML = """end_time: 0.02
mesh: {generate: {shape: box, cells: [2, 2, 2], lower: [0, 0, -1e3], upper: [1e3, 1e3, 0]}}
material: {constant: {rho: 2700, vp: 6000, vs: 3464}}
numerics: {order: 2, backend: numpy}
"""


def told(function: Callable[..., Any], *given: Any, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        function(*given, **options)
    return str(caught.value)


def test_every_override_is_tried() -> None:
    assert set(WRONG) == {*OVERRIDES, "ordr"}


@pytest.mark.parametrize("name", WRONG)
def test_python_speaks_of_keywords(tmp_path: Path, name: str) -> None:
    (tmp_path / "case.yaml").write_text(YAML)
    for case in (CASE, tmp_path / "case.yaml"):
        for text in (told(fw.run, case, **{name: WRONG[name]}), told(fw.plan, case, **{name: WRONG[name]}),
                     repr(fw.check(case, **{name: WRONG[name]}))):  # fmt: skip
            assert f"{name}=: " in text and not FLAG.search(text), text
            assert "case.yaml" not in text, "what stands in the file is not wrong"


@pytest.mark.parametrize("name", sorted(set(WRONG) - {"ordr", "output", "progress", "halo"}))
def test_the_program_speaks_of_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    (tmp_path / "case.yaml").write_text(YAML)
    flag = f"--{name.replace('_', '-')}"
    done = CliRunner().invoke(app, ["run", str(tmp_path / "case.yaml"), f"{flag}={WRONG[name]}"])
    assert done.exit_code == 2
    assert flag in done.output and f"{name}=:" not in done.output


def test_a_file_is_told_by_its_setting(tmp_path: Path) -> None:
    (tmp_path / "case.yaml").write_text(YAML.replace("order: 2", "order: 9"))
    text = repr(fw.check(tmp_path / "case.yaml"))
    assert "case.yaml:4: numerics.order is 9" in text and not FLAG.search(text)


def test_other_functions_speak_of_keywords(tmp_path: Path) -> None:
    done = fw.run({**CASE, "output": {**CASE["output"], "folder": str(tmp_path / "out")}})
    folder = done.folder
    texts = [
        told(fw.run, CASE, output=folder),
        told(fw.resume, folder),
        told(fw.resume, folder, order=9),
        told(fw.compare, folder, folder, until="1 m"),
        told(fw.convert, folder, "csv", spacing=3.0),
        told(fw.convert, folder, "csv", stat=True),
        told(fw.plot, folder, format="gif"),
        told(fw.plot, folder, dpi=-1),
        told(fw.plot, folder, field="nothing"),
        told(fw.plot, folder, time="1 m"),
        told(fw.plot, folder, stations=["nowhere"]),
        told(fw.load, tmp_path / "nowhere"),
        told(fw.snapshots, folder, "surface"),
        repr(fw.check(CASE, output=folder)),
    ]
    for text in texts:
        assert not FLAG.search(text), text
    assert (
        "force=True" in texts[0]
        and "checkpoint_every=" in texts[1]
        and "spacing=" in texts[4]
        and "force=True" in texts[-1]
    )
    (trace_warnings,) = [text for text in texts if "stat=" in text]
    assert "does not exist" in trace_warnings
