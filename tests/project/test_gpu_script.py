"""tools/gpu.sh, with an interpreter that only notes what it is asked for."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "tools" / "gpu.sh"


def test_a_step_that_fails_keeps_no_other_from_being_done(tmp_path: Path) -> None:
    """From another folder, with relative paths; everything said is kept, and the exit code tells."""
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\necho said\ncase "$*" in *test_buffers*) exit 3;; esac\n'
    )
    python.chmod(0o755)
    asked = ["bash", str(SCRIPT), "opencl", "bin/python", "quick"]
    found = subprocess.run(
        asked, cwd=tmp_path, env=os.environ | {"RESULTS": "kept"}, capture_output=True, text=True, check=False
    )
    assert found.returncode == 1
    summary = (tmp_path / "kept" / "summary.txt").read_text().splitlines()
    assert [line.split(" after")[0].split(" in ")[0] for line in summary] == [
        "compilers: done", "kernels: FAILED", "runs: done", "sanitizers: NOT RUN, there is no compute-sanitizer for opencl here",
        "proxy: done", "rates: done", "members: done", "messages: done",
    ]  # fmt: skip
    assert found.stdout.endswith("\n".join(summary) + "\n")
    assert all((tmp_path / "kept" / f"{name}.log").read_text() == "said\n" for name in ("kernels", "rates", "messages"))
    assert f"--json {tmp_path}/kept/bench-device.json" in (tmp_path / "calls").read_text()
