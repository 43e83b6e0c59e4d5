"""Starting the launcher: it hears what the command hears, does not outlive it, and is not started for what cannot be."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from faultwave.base.errors import BackendError, InputError
from faultwave.base.processes import host, signals
from faultwave.cli import launch
from tests.messages import raises

HEARS = """
import os, signal, sys, time
def heard(number, frame):
    print(signal.Signals(number).name, flush=True)
    sys.exit(75)
signal.signal(signal.SIGUSR1, heard)
print(os.getpid(), flush=True)
time.sleep(60)
"""
"""A launcher that says who it is and by what it was stopped."""

HEEDING = """
import signal
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
"""nohup has programs ignore the first, shells those in the background the second, and tests may run there."""

PARENT = """
import os, signal, sys
from faultwave.cli import launch
sys.exit(launch._run([sys.executable, "-c", sys.argv[1]], dict(os.environ)))
"""


@pytest.fixture
def parent():
    process = subprocess.Popen([sys.executable, "-c", HEEDING + PARENT, HEARS], stdout=subprocess.PIPE, text=True)
    child = int(process.stdout.readline())
    yield process, child
    for pid in (process.pid, child):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    process.wait(10)
    process.stdout.close()


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_the_launcher_hears_of_it(parent, number):
    process, _ = parent
    process.send_signal(number)
    assert process.stdout.readline() == "SIGUSR1\n"
    assert process.wait(10) == 75


def test_what_nohup_ignores_is_ignored():
    command = [sys.executable, "-c", "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n" + PARENT, HEARS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        child = int(process.stdout.readline())
        process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        assert process.poll() is None
        os.kill(child, signal.SIGUSR1)
        assert process.stdout.read() == "SIGUSR1\n"


@pytest.mark.skipif(sys.platform != "linux", reason="nobody tells a child there")
def test_the_launcher_does_not_outlive_a_parent_that_is_killed(parent):
    process, child = parent
    process.kill()
    assert process.wait(10) == -signal.SIGKILL
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and alive(child):
        time.sleep(0.02)
    assert not alive(child)


def alive(pid):
    """Whether it runs; one that has ended may wait for a parent that asks for it."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_signal_before_there_is_a_launcher(monkeypatch):
    """Is not lost, and ends neither this process nor the launcher without a word."""
    real = subprocess.Popen

    def popen(*given, **more):
        os.kill(os.getpid(), signal.SIGTERM)
        return real(*given, **more)

    monkeypatch.setattr(launch.subprocess, "Popen", popen)
    before = signal.getsignal(signal.SIGTERM)
    with raises(signals.StopSignal):
        launch._run([sys.executable, "-c", "import time; time.sleep(30)"], dict(os.environ))
    assert signal.getsignal(signal.SIGTERM) == before


def test_exit_codes():
    def run(code):
        return launch._run([sys.executable, "-c", code], dict(os.environ))

    assert [run(f"raise SystemExit({n})") for n in (0, 1, 2, 75)] == [0, 1, 2, 75]
    assert run("import os; os.kill(os.getpid(), 9)") == 128 + 9


CALLS = """
import sys
from faultwave.cli.main import app
sys.argv = ["faultwave", "--version"]
try:
    app()
except SystemExit as done:
    print("goes on after", done.code)
"""
"""Another program that runs a command of ours."""


def test_a_program_that_runs_a_command_goes_on(tmp_path):
    """Also where it is started as a module, whose file is called as that of ours is."""
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "__main__.py").write_text(CALLS)
    command = [sys.executable, "-m", "theirs"]
    path = os.pathsep.join(map(str, [tmp_path, *filter(None, sys.path)]))
    done = subprocess.run(command, env=dict(os.environ, PYTHONPATH=path), capture_output=True, text=True, timeout=600)
    assert "goes on after 0" in done.stdout, done.stderr


def test_far_more_processes_than_cores(monkeypatch):
    """Are refused before one is started; on many machines that is the launcher's business."""
    for name in launch.MACHINES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(launch, "launched", lambda: False)
    monkeypatch.setattr(launch, "_run", lambda *given: 0)
    monkeypatch.setattr(host, "core_count", lambda: 6)
    with raises(InputError):
        launch.relaunch(900, 1)
    with raises(InputError):
        launch.relaunch(25, 1)
    with pytest.raises(launch.typer.Exit):
        launch.relaunch(24, 1)
    with raises(InputError):
        launch.check_process_limit(25, option="--cores")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-200]")
    with pytest.raises(launch.typer.Exit):
        launch.relaunch(900, 1)


@pytest.mark.parametrize(
    ("name", "value"), [("ranks", 0), ("ranks", -2), ("threads", 0), ("threads", 1.5), ("progress", "often"), ("ranks", True)]
)  # fmt: skip
def test_a_tuned_file_with_numbers_that_cannot_be(tmp_path, name, value):
    file = tmp_path / "tuned.json"
    file.write_text(json.dumps({"ranks": 2, "threads": 1, "progress": "polling", name: value}))
    with raises(InputError):
        launch.read_tuned(file, None, None)


def test_without_mpi4py_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """`tune` starts processes too, whose own complaints would be those of another program."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("shutil.which", lambda *_, **__: "/usr/bin/mpiexec")
    with raises(BackendError):
        launch.mpiexec()


SLOW = """
import os, pathlib, signal, sys, time
from faultwave.backends.cpu import compile as compilation
from faultwave.cli import cases, main
def begin(*given):
    made = compilation.begin_building((f'k{i}', f'long run(void) {{ return {i}; }}') for i in range(8))
    while not any(pathlib.Path(sys.argv[2]).iterdir()):
        time.sleep(0.05)
    os.kill(os.getpid(), int(sys.argv[1]))
    time.sleep(60)
cases.load = begin
main.app(["check", "tpv5"])
"""
"""A command that is told to stop while its compilers work."""


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_a_command_that_is_stopped_leaves_no_compiler(tmp_path, number):
    marks, script = tmp_path / "marks", tmp_path / "cc-slow"
    marks.mkdir()
    script.write_text(f'#!/bin/sh\ncase "$*" in *-shared*) echo $$ > {marks}/$$; sleep 600;; esac\nexec gcc "$@"\n')
    script.chmod(0o755)
    env = dict(os.environ, CC=str(script), FAULTWAVE_CACHE=str(tmp_path / "own"))
    command = [sys.executable, "-c", HEEDING + SLOW, str(int(number)), str(marks)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 128 + number, done.stderr
    assert f"stopped by {number.name}" in done.stderr
    assert not any(alive(int(mark.name)) for mark in marks.iterdir())


TWICE = """
import os, signal, sys, time
from faultwave.cli import main
from faultwave.run.session import Session
step = Session._step
def told(*given):
    os.kill(os.getpid(), int(sys.argv[1]))
    step(*given)
def writing(*given):
    os.kill(os.getpid(), int(sys.argv[1]))
    time.sleep(600)
Session._step, Session._write = told, writing
main.app(["run", "point-source", "--order", "2", "--output", sys.argv[2]])
"""
"""A run that is told to stop before its first step, and again while it writes what it has."""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_told_to_stop_twice_ends_at_once(tmp_path, number):
    command = [sys.executable, "-c", TWICE, str(int(number)), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 128 + number, done.stderr
    told = " ".join(done.stderr.split())
    assert "stopped by a second signal: ended at once at t = 0" in told and "Traceback" not in told
    assert "continue from the last checkpoint with: faultwave resume" in told
    (manifest,) = (tmp_path / "out").glob("*manifest.json")
    assert json.loads(manifest.read_text())["status"] == "failed"


def test_a_check_that_is_stopped_blames_no_case(monkeypatch):
    from faultwave.run import planned as room

    def stopped(*given):
        raise launch.stopped_without_result(signal.SIGTERM)

    monkeypatch.setattr(room, "engine_of", stopped)
    case = {"end_time": 1, "mesh": {"generate": {"shape": "box", "cells": [2, 2, 2], "lower": [0, 0, 0], "upper": [1, 1, 1]}},
            "material": {"constant": {"rho": 2700, "vp": 6000, "vs": 3464}}}  # fmt: skip
    with raises(signals.StopSignal):
        room.check(case)


def test_an_interruption_while_modules_are_imported_leaves_no_traceback(tmp_path):
    code = (
        "import importlib.abc, sys\n"
        "class Interrupts(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'faultwave.cli.main':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupts())\n"
        "from faultwave.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (130, "")
