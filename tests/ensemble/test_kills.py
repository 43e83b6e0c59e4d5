"""Processes that are killed at random moments: nothing is lost and nothing is computed twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import faultwave as fw
from faultwave.cli.launch import mpiexec
from faultwave.ensemble.folder import EnsembleFolder
from tests.ensemble.case import wave_case
from tests.ensemble.processes import assert_equal, environment, wait_for, workers_of, written

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
KILLS = 20


def members(count: int) -> dict[str, Any]:
    return {"push": {"setting": "sources[0].force[0]", "values": [1.0 + 0.1 * number for number in range(count)]}}


def start(command: list[str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as file:
        return subprocess.Popen(command, stdout=file, stderr=file, env=environment(), start_new_session=True)


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def parent(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("PPid")).split()[1])


def done(folder: EnsembleFolder) -> dict[int, float]:
    """Return when each computed member was finished."""
    return {r.member: r.finished for r in folder.records() if r.status == "done"}


def assert_complete(file: Path, count: int, before: dict[int, float], tmp_path: Path) -> None:
    """Check that all members are there, none of those finished before was computed again, and their results are undisturbed."""
    folder = EnsembleFolder(tmp_path / "out")
    after = done(folder)
    assert len(after) == count and before.items() <= after.items()
    assert not list(folder.path.rglob("*.partial-*")) and not folder.running()
    undisturbed = tmp_path / "undisturbed"
    fw.Ensemble(file, folder=str(undisturbed), executor="local", workers=2).run()
    assert_equal(folder.path, undisturbed)


class Attacked:
    """A supervisor that is started again whenever it has ended, and killed at random moments, as its workers are."""

    def __init__(self, file: Path, folder: EnsembleFolder, log: Path):
        self.command, self.folder, self.log = [sys.executable, "-m", "faultwave", "ensemble", str(file)], folder, log
        self.chance, self.workers, self.supervisors = random.Random(7), 0, 0
        self.process = start(self.command, log)

    def kill(self, during_members: bool) -> None:
        """Kill a worker or the supervisor, at any moment of the start or while members are computed."""
        if self.process.poll() is not None:
            self.process = start(self.command, self.log)
        if during_members:
            before = len(done(self.folder))
            wait_for(lambda: len(done(self.folder)) > before or self.process.poll() is not None)
        time.sleep(self.chance.uniform(0.0, 0.5 if during_members else 5.0))
        workers = workers_of(self.process.pid)
        if workers and self.chance.random() < 0.6:
            kill(self.chance.choice(workers))
            self.workers += 1
        else:
            kill(self.process.pid)
            self.process.wait()
            self.supervisors += 1
            wait_for(lambda: not self.folder.running())  # no member goes on without its supervisor

    def finish(self) -> None:
        """Let it complete; members whose process died several times are left for the next start."""
        for _ in range(3):
            if self.process.wait(600) == 0 and not fw.Ensemble(self.command[-1]).status().missing:
                break
            self.process = start(self.command, self.log)


def test_twenty_kills_at_random_moments(tmp_path):
    """Workers and supervisors are killed while they start, compute, write and wait."""
    count = 80
    file = written(tmp_path, case=wave_case(end=2.0), vary=members(count))
    folder, log = EnsembleFolder(tmp_path / "out"), tmp_path / "log.txt"
    attacked, before = Attacked(file, folder, log), dict[int, float]()
    for number in range(KILLS):
        attacked.kill(during_members=bool(number % 2))
        now = done(folder)
        assert before.items() <= now.items(), "a finished member was computed again"
        before = now
    assert min(attacked.workers, attacked.supervisors) >= 3, "the seed must choose both kinds"
    assert 0 < len(before) < count, "the kills have to hit members before and after the first results"
    attacked.finish()
    assert_complete(file, count, before, tmp_path)


def test_a_killed_worker_of_dask_costs_no_member(tmp_path):
    """Dask starts another worker, which computes the member."""
    pytest.importorskip("distributed")
    file, folder, log = (
        written(tmp_path, case=wave_case(end=4.0), vary=members(6)),
        EnsembleFolder(tmp_path / "out"),
        tmp_path / "log.txt",
    )
    command = [sys.executable, "-m", "faultwave", "ensemble", str(file), "--executor", "dask", "--workers", "2"]
    running = start(command, log)
    wait_for(lambda: folder.running() and _pool_workers(running.pid))
    kill(_pool_workers(running.pid)[0])
    assert running.wait(600) == 0, log.read_text()
    before = done(folder)
    if len(before) < 6:  # the member went to a worker that found it claimed
        assert start(command, log).wait(600) == 0, log.read_text()
    assert_complete(file, 6, before, tmp_path)


@pytest.mark.mpi
def test_a_killed_process_of_mpi_leaves_a_folder_that_can_be_resumed(tmp_path):
    """The launcher ends the job; the same command computes the rest."""
    file, folder, log = (
        written(tmp_path, case=wave_case(end=4.0), vary=members(6), execution={}),
        EnsembleFolder(tmp_path / "out"),
        tmp_path / "log.txt",
    )
    command = [mpiexec(), "-n", "3", sys.executable, "-m", "mpi4py.futures", "-m", "faultwave", "ensemble", str(file),
               "--executor", "mpi"]  # fmt: skip
    first = start(command, log)
    wait_for(lambda: done(folder) and folder.running() and _pool_workers(first.pid))
    kill(_pool_workers(first.pid)[0])
    assert first.wait(600) != 0, "a job that lost a process is no success"
    assert "KILLED BY SIGNAL: 9" in log.read_text() or "signal 9" in log.read_text(), log.read_text()
    wait_for(lambda: not folder.running())
    before = done(folder)
    assert 0 < len(before) < 6
    assert start(command, log).wait(600) == 0, log.read_text()
    assert_complete(file, 6, before, tmp_path)


@pytest.mark.mpi
def test_a_killed_member_of_mpi_is_computed_again(tmp_path):
    """The process of the member is not one of the launcher."""
    file, folder, log = (
        written(tmp_path, case=wave_case(end=4.0), vary=members(4), execution={}),
        EnsembleFolder(tmp_path / "out"),
        tmp_path / "log.txt",
    )
    command = [mpiexec(), "-n", "2", sys.executable, "-m", "mpi4py.futures", "-m", "faultwave", "ensemble", str(file),
               "--executor", "mpi"]  # fmt: skip
    running = start(command, log)
    wait_for(lambda: folder.running() and _pool_workers(running.pid))
    kill(workers_of(running.pid)[0])
    before = done(folder)
    assert running.wait(600) == 0, log.read_text()
    assert_complete(file, 4, before, tmp_path)


def _pool_workers(pid: int) -> list[int]:
    """Return the processes of an executor that compute members now: the parents of their processes."""
    found = []
    for worker in workers_of(pid):
        with suppress(OSError, StopIteration):
            above = parent(worker)
            if b"spawn_main" in (line := Path(f"/proc/{above}/cmdline").read_bytes()) or b"mpi4py.futures" in line:
                found.append(above)
    return found
