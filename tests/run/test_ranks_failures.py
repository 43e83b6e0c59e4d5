"""What goes wrong on one of several processes: the others do not wait for it, and the first reason is the one that is told."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

from faultwave.cli.launch import mpiexec
from tests.run.launch import launch
from tests.run.test_restart import asked

pytestmark = pytest.mark.mpi

FULL = """
import resource
from faultwave.comm import world
def full(limit=0):
    if world().first:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
"""
"""From now on the first process finds no room for another byte on any disk."""

WHERE = {
    "beginning": ("sim = fw.simulate(case, force=True); full()", "", "run-volume.vtkhdf: the file exceeds"),
    "middle": ("", "progress=lambda p: full() if p.time > 0.1 else None", "run-volume.vtkhdf: the file exceeds"),
    "end": ("import faultwave.run.session as s\nclose = s.Session._write\n"
            "s.Session._write = lambda self, *given: (full(), close(self, *given))", "", "run-energy.csv: the file exceeds"),
}  # fmt: skip


@pytest.mark.parametrize("where", WHERE)
def test_a_disk_that_is_full_for_the_first_process_ends_all(tmp_path, where):
    """Then no manifest can tell of it either; what is told is what failed first."""
    setup, run, told = WHERE[where]
    case = asked(tmp_path, "out", end_time=0.3)
    case["output"] |= {"checkpoint": None, "fault": None, "surface": None, "volume": {"interval": 0.05}}
    body = FULL.strip() + "\n" + setup
    if where == "beginning":
        body += "\nfw.simulate = lambda *given, **more: sim"
    started = time.monotonic()
    done = launch(2, case, setup=body, run=run, timeout=600)
    assert done.returncode != 0 and time.monotonic() - started < 50
    assert told in done.stderr, done.stderr
    status = json.loads((tmp_path / "out" / "run-manifest.json").read_text())["status"] if where != "beginning" else ""
    assert status == ("" if where == "beginning" else "running")


def test_the_manifest_tells_why_a_run_failed(tmp_path):
    """Also where it was not the first process that failed."""
    fail = (
        "from faultwave.dg.blowup import StateMonitor\n"
        "def broken(self, world, time):\n"
        "    if world.rank == 1:\n"
        "        raise MemoryError('no more memory on this node')\n"
        "StateMonitor.check = broken"
    )
    done = launch(2, asked(tmp_path, "out", end_time=0.3), setup=fail, timeout=600)
    assert done.returncode != 0 and "process 1 of 2 failed and ends the run" in done.stderr
    found = json.loads((tmp_path / "out" / "run-manifest.json").read_text())
    assert (found["status"], found["error"]) == ("failed", "no more memory on this node")
    assert "run-volume.vtkhdf" in found["outputs"] and found["inputs"]


def test_a_blow_up_away_from_the_first_process(tmp_path):
    """Its file is among those of the run."""
    spoil = (
        "from faultwave.dg.blowup import StateMonitor\n"
        "check = StateMonitor.check\n"
        "def spoilt(self, world, time):\n"
        "    if world.rank == 1 and time > 0.05:\n"
        "        self.operator.set_dofs(np.full_like(self.operator.dofs(), np.nan))\n"
        "    check(self, world, time)\n"
        "StateMonitor.check = spoilt"
    )
    case = asked(tmp_path, "out", end_time=0.3)
    case["output"] |= {"checkpoint": None, "fault": None, "surface": None, "volume": None}
    done = launch(2, case, setup=spoil, timeout=600)
    assert done.returncode != 0 and "blew up" in done.stderr and "run-blowup.vtkhdf" in done.stderr, done.stderr
    found = json.loads((tmp_path / "out" / "run-manifest.json").read_text())
    assert found["status"] == "failed" and "run-blowup.vtkhdf" in found["outputs"]
    assert (tmp_path / "out" / "run-blowup.vtkhdf").exists()


TOLD = """
import os, signal
import faultwave.dg.capabilities.initial as s
from faultwave.cli.main import app
from faultwave.comm import world
made = s.solution_of
def told(*given):
    if world().rank in {ranks}:
        os.kill(os.getpid(), signal.SIGUSR1)
    return made(*given)
s.solution_of = told
app()
"""


@pytest.mark.parametrize("ranks", [(0, 1), (1,)])
def test_told_to_stop_while_it_is_set_up(tmp_path, ranks):
    """All end with the code of an interrupted run, also those that were not told."""
    box = {"shape": "box", "cells": [2, 2, 2], "lower": [0, 0, 0], "upper": [1, 1, 1]}
    case = {
        "end_time": 1.0,
        "mesh": {"generate": box},
        "material": {"constant": {"rho": 1.0, "mu": 1.0, "lambda": 2.0}},
    }
    (tmp_path / "case.yaml").write_text(json.dumps(case))  # which YAML can read
    command = [mpiexec(), "-n", "2", sys.executable, "-c", TOLD.format(ranks=ranks), "run", str(tmp_path / "case.yaml")]
    done = subprocess.run([*command, "--output", str(tmp_path / "out")], capture_output=True, text=True, timeout=600)
    assert done.returncode == 75 and "stopped by SIGUSR1 while" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr and not (tmp_path / "out").exists()
