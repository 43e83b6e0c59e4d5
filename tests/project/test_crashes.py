"""A crash of a worker process of the tests is reported with its signal and its stack."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGKILL"])
def test_the_signal_and_the_stack_of_a_crashed_worker(tmp_path: Path, name: str) -> None:
    pytest.importorskip("xdist")
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["tests.crashes"]\n')
    (tmp_path / "test_a.py").write_text(
        f"import os, signal\ndef test_that_crashes():\n    os.kill(os.getpid(), signal.{name})\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "1", "--max-worker-restart", "0", "-p", "no:cacheprovider", "."],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}, capture_output=True, text=True,
    )  # fmt: skip
    summary = done.stdout.split("crashed workers")[1]
    assert f"gw0: its process was ended by {name}" in summary
    assert ("in test_that_crashes" in summary) == (name == "SIGSEGV")
    assert not list(tmp_path.glob("faultwave-tests-*"))
