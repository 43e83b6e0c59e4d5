"""What a case can do and nobody means is told as a warning."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import faultwave as fw
from faultwave.base.processes import host
from faultwave.cli.main import app
from tests.messages import expect

CASE = """end_time: 0.1
mesh: {generate: {shape: box, cells: [2, 2, 2], lower: [0, 0, -1e3], upper: [1e3, 1e3, 0], boundaries: {}}}
material: {constant: {rho: 2700, vp: 6000, vs: 3464}}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "case.yaml").write_text(CASE)
    return tmp_path / "case.yaml"


def told(path: Path, threads: int | None) -> list[str]:
    return [str(p) for p in fw.check(path, threads=threads).items if "threads would share" in str(p)]


def test_more_threads_than_cores_are_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "core_count", lambda: 2)
    assert told(path, None) == told(path, 2) == []
    (text,) = told(path, 64)
    assert text.startswith("threads=") and "64 threads would share the 2 cores" in text and "1 to 2" in text
    path.write_text(CASE + "numerics: {threads: 3}\n")
    (text,) = told(path, None)
    assert f"{path}:4" in text and not fw.check(path).errors
    answer = CliRunner().invoke(app, ["check", str(path), "--threads", "64"])
    assert (
        answer.exit_code == 0
        and "--threads" in answer.output
        and "64 threads would share" in " ".join(answer.output.split())
    )


def test_checkpoints_without_an_interval_are_told(path: Path) -> None:
    path.write_text(CASE + "output: {checkpoint: {keep: 3}}\n")
    assert any("has no interval" in str(p) and f"{path}:4" in str(p) for p in fw.check(path).warnings)
    path.write_text(CASE + "output: {checkpoint: {wall_time: 30 min}}\n")
    assert not any("has no interval" in str(p) for p in fw.check(path).warnings)


def test_more_threads_than_openmp_holds_are_refused(path: Path) -> None:
    assert not fw.check(path, threads=host.MAX_THREADS).errors
    (problem,) = fw.check(path, threads=host.MAX_THREADS + 1).errors
    expect(problem)
