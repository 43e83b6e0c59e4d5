"""Report of how a worker process of pytest-xdist ended: its exit status and the stack of each of its threads."""

from __future__ import annotations

import faulthandler
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

LINES: list[str] = []
"""Sentences and stacks of all crashed workers, for the summary."""


def stack_file(run: str, worker: str) -> Path:
    """Return the file to which a worker writes its stack when it crashes."""
    return Path(tempfile.gettempdir()) / f"faultwave-tests-{run}-{worker}.txt"


def describe_end(code: int | None) -> str:
    """Return a sentence for the exit status of a process, None if it has not ended."""
    if code is None:
        return "its process has not ended"
    if code >= 0:
        return f"its process ended with exit code {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    return f"its process was ended by {name}"


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Let a worker write its stack to a file, since what it writes to the terminal is far above the summary."""
    given = getattr(config, "workerinput", None)
    if given is not None:
        file = stack_file(given["testrunuid"], given["workerid"]).open("w")
        config.add_cleanup(file.close)
        faulthandler.enable(file)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Collect the exit status and the stack of a worker that crashed, and remove its file."""
    path = stack_file(node.workerinput["testrunuid"], node.gateway.id)
    if error:
        process = getattr(getattr(node.gateway, "_io", None), "popen", None)
        code = None
        if process is not None:
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(5)
        LINES.append(f"{node.gateway.id}: {describe_end(code)}")
        with suppress(OSError):
            LINES.extend(path.read_text().splitlines())
    with suppress(OSError):
        path.unlink()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Show how workers crashed."""
    if LINES:
        terminalreporter.section("crashed workers")
        for line in LINES:
            terminalreporter.line(line)
