"""A signal ends every command within two seconds, whatever it is doing then, and leaves no process and no scratch folder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from faultwave.base.processes import signals

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only handlers of Python end a program")

PROGRAM = """
import hashlib, itertools, os, pathlib, subprocess, sys, time
from faultwave.base.files.cache import scratch_folder
from faultwave.cli import cases, main
def released():
    hashlib.pbkdf2_hmac("sha256", b"a", b"b", 1 << 30)
def held():
    any(itertools.repeat(0))
def swallowed():
    while True:
        try:
            time.sleep(600)
        except BaseException:
            pass
def waits():
    time.sleep(600)
def busy(*given, **more):
    with scratch_folder() as folder:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
        pathlib.Path("ready").write_text(f"{folder} {child.pid} {os.getpid()}")
        try:
            globals()[os.environ["DOES"]]()
        finally:
            child.kill()
            child.wait()
cases.load = busy
main.app(prog_name="faultwave")
"""
"""The program, in which a check does something that takes long; called as the program is, so that it is watched."""

BEGINS = "import os, signal, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)\nos.execv(sys.argv[1], sys.argv[1:])"
"""Shells have programs in the background ignore Ctrl-C."""


def begin(command: list[str], folder: Path, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", BEGINS, *command], cwd=folder, env=os.environ | more, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)  # fmt: skip


def until(what: Path, process: subprocess.Popen[str], patience: float = 120.0) -> str:
    """The content of a file that the process writes."""
    deadline = time.monotonic() + patience
    while not (what.exists() and what.read_text()):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "it never begins"
        time.sleep(0.02)
    return what.read_text()


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def gone(pid: int) -> bool:
    deadline = time.monotonic() + 5
    while runs(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not runs(pid)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["INT", "TERM"])
@pytest.mark.parametrize("does", ["waits", "released", "swallowed", "held"])
def test_a_check_ends(tmp_path: Path, does: str, number: signal.Signals) -> None:
    """While it waits, in a library that lets other threads go on, where what a handler raises is swallowed, and in a library that holds
    Python's lock, which only a kill ends."""
    if does == "held" and number == signal.SIGINT:
        pytest.skip("as SIGTERM")
    (tmp_path / "faultwave").write_text(PROGRAM)
    process = begin([sys.executable, "faultwave", "check", "case.yaml"], tmp_path, DOES=does)
    folder, child, _ = until(tmp_path / "ready", process).split()
    time.sleep(0.2)
    begun = time.monotonic()
    process.send_signal(number)
    _, told = process.communicate(timeout=600)
    took = time.monotonic() - begun
    assert process.returncode == (-signal.SIGKILL if does == "held" else 128 + number), told
    assert number.name in told and "run the same command to start again" in told and "Traceback" not in told
    assert took < signals.GRACE + signals.LAST + 3.0  # 2 s where nothing else is computed
    assert not Path(folder).exists() and gone(int(child))


LUA = """
import pathlib
from faultwave.cli import main
from faultwave.media.easi.components import lua as lua_process
from faultwave.media.easi.components import lua
lua.INSTRUCTION_LIMIT, lua_process.SECONDS, lua_process.PATIENCE = 1 << 40, 600.0, 600.0
read = lua_process.LuaProcess._line
def wait(process, deadline):
    pathlib.Path("ready").write_text(str(process.process.pid))
    return read(process, deadline)
lua_process.LuaProcess._line = wait
main.app(prog_name="faultwave")
"""
"""The program, without the limits that end scripts."""


def processor_time(pid: int) -> float:
    """Return the processor time [s] that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize(
    ("number", "body"),
    [
        (signal.SIGINT, "while true do end"),
        (signal.SIGTERM, "while true do end"),
        (signal.SIGINT, 'string.rep("", 1e15)'),
        (signal.SIGTERM, 'string.rep("", 1e15)'),
    ],
    ids=["INT-loop", "TERM-loop", "INT-library", "TERM-library"],
)
def test_a_check_in_an_endless_script_ends(tmp_path: Path, number: signal.Signals, body: str) -> None:
    """In a loop, and in a function of Lua's library, which counts no instructions; the process of the script ends, too."""
    pytest.importorskip("lupa")
    (tmp_path / "faultwave").write_text(LUA)
    text = f"!LuaMap\nreturns: [rho, mu, lambda]\nfunction: |\n  function f(x)\n   {body}\n   return {{rho=1, mu=1, lambda=1}}\n  end\n"
    (tmp_path / "material.yaml").write_text(text)
    (tmp_path / "case.yaml").write_text(json.dumps({**CASE, "material": {"easi": "material.yaml"}}))
    process = begin([sys.executable, "faultwave", "check", "case.yaml"], tmp_path)
    script = int(until(tmp_path / "ready", process))
    deadline = time.monotonic() + 120
    while processor_time(script) < 1.0:  # longer than it takes to load its libraries
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    begun = time.monotonic()
    process.send_signal(number)
    _, told = process.communicate(timeout=600)
    took = time.monotonic() - begun
    assert process.returncode == 128 + number, told
    assert number.name in told and "Traceback" not in told
    assert took < signals.GRACE + signals.LAST + 3.0  # 2 s where nothing else is computed
    assert gone(script)


def test_the_time_that_a_program_may_take_to_end() -> None:
    assert signals.GRACE + signals.LAST < 2.0


def test_nobody_watches_a_program_that_has_ended(tmp_path: Path) -> None:
    """Also where it was killed."""
    (tmp_path / "faultwave").write_text(PROGRAM)
    process = begin([sys.executable, "faultwave", "check", "case.yaml"], tmp_path, DOES="waits")
    _, child, pid = until(tmp_path / "ready", process).split()
    watchers = [p for p in signals.descendants(int(pid), int(child)) if p != int(child)]
    assert len(watchers) == 1
    process.kill()
    os.kill(int(child), signal.SIGKILL)  # it holds the pipes, too
    process.communicate(timeout=600)
    assert gone(watchers[0])


CASE = {
    "end_time": 1000.0,
    "mesh": {"generate": {"shape": "box", "cells": [4, 4, 4], "lower": [0, 0, -1e3], "upper": [1e3, 1e3, 0],
                          "boundaries": {"z+": "free-surface"}}},
    "material": {"constant": {"rho": 2700, "vp": 6000, "vs": 3464}},
    "sources": [{"kind": "moment-tensor", "location": [500, 500, -500], "tensor": {"xy": 1e15},
                 "time_function": {"kind": "brune", "duration": 0.1}}],
    "output": {"folder": "out", "prefix": "p", "receivers": {"points": [[400, 400, 0]], "interval": 0.01},
               "checkpoint": {"interval": 0.02}},
    "numerics": {"order": 2},
}  # fmt: skip

STUCK = """
import itertools, pathlib
from faultwave.cli import main
from faultwave.output import results
from faultwave.run import session
def written(*given):
    pathlib.Path("writes").write_text("yes")
    any(itertools.repeat(0))
session.write_results = written
main.app(prog_name="faultwave")
"""
"""The program, which never ends writing its results."""


def test_a_second_signal_ends_a_run_that_writes(tmp_path: Path) -> None:
    """The first has it write what it has, which may take its time; the checkpoint stays, and the run goes on from it."""
    (tmp_path / "faultwave").write_text(STUCK)
    (tmp_path / "case.yaml").write_text(json.dumps(CASE))
    process = begin([sys.executable, "faultwave", "run", "case.yaml"], tmp_path)
    folder = tmp_path / "out" / "p-checkpoints" / "000001"
    until(folder / "index.json", process)
    process.send_signal(signal.SIGTERM)
    until(tmp_path / "writes", process)
    time.sleep(signals.GRACE + signals.LAST + 0.5)
    assert process.poll() is None  # one signal lets it write
    begun = time.monotonic()
    process.send_signal(signal.SIGTERM)
    _, told = process.communicate(timeout=600)
    assert time.monotonic() - begun < signals.GRACE + signals.LAST + 3.0
    assert "SIGTERM" in told and "Continue from it" in told and "faultwave resume" in told, told
    there = sorted(p.name for p in (tmp_path / "out" / "p-checkpoints").iterdir())
    assert there and not any(name.startswith(".") for name in there)
