"""Starting a command on several processes: the MPI launcher, started here, starts the same command again."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from faultwave.base import cores
from faultwave.base.errors import BackendError, InputError, Problem
from faultwave.comm.world import launched, world

Ranks = Annotated[
    int | None, typer.Option("--ranks", min=1, help="Processes; starts mpiexec itself. Under a launcher leave it out.")
]


def first() -> bool:
    """Whether this process speaks for all."""
    return not launched() or world().first


Progress = Annotated[
    str | None, typer.Option("--progress", help="polling, or thread: a core of each process keeps messages moving.")
]


def relaunch(ranks: int | None, threads: int | None, progress: str | None = None) -> None:
    """Where ``ranks`` processes are wanted and no launcher started this one: start them, wait, and leave with their exit
    code. Threads that are not given share the cores, but for one a process with progress 'thread'. Raises InputError under
    a launcher of another number."""
    if ranks is None:
        return
    if launched():
        if world().size != ranks:
            raise InputError(Problem("--ranks", f"{ranks}, but the launcher started {world().size} processes"))
        return
    if ranks == 1:
        return
    if importlib.util.find_spec("mpi4py") is None:
        raise BackendError("several processes need mpi4py: pip install 'faultwave[mpi]'")
    command = [mpiexec(), "-n", str(ranks), sys.executable, "-m", "faultwave.cli.main", *_without_ranks(sys.argv[1:])]
    environment = dict(os.environ)
    if threads is None:
        environment.setdefault("OMP_NUM_THREADS", str(max(1, cores.count() // ranks - (progress == "thread"))))
    process = subprocess.Popen(command, env=environment, start_new_session=True)

    def stop(number: int, frame: Any) -> None:
        process.send_signal(signal.SIGUSR1)  # launchers pass this one on; they take the others for themselves

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    raise typer.Exit(process.wait())


def from_tuned(
    file: Path | None, ranks: int | None, threads: int | None, progress: str | None = None
) -> tuple[int | None, int | None, str | None]:
    """Processes, threads and progress mode of a file that `faultwave tune` wrote; what is given beside it wins."""
    if file is None:
        return ranks, threads, progress
    try:
        best = json.loads(file.read_text())
        found = int(best["ranks"]), int(best["threads"])
        progress = progress or best["progress"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(Problem(str(file), f"is no file of faultwave tune: {error}")) from None
    if launched():  # the launcher has said how many processes
        return ranks, threads or found[1], progress
    return ranks or found[0], threads or found[1], progress


def mpiexec() -> str:
    """The launcher: that of this Python environment, else the system's. Raises BackendError where there is none."""
    found = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
    if found is None:
        raise BackendError("no mpiexec was found: pip install 'faultwave[mpi]', or load your cluster's MPI")
    return found


def _without_ranks(arguments: list[str]) -> list[str]:
    kept, skip = [], False
    for word in arguments:
        if skip or word.startswith("--ranks="):
            skip = False
        elif word == "--ranks":
            skip = True
        else:
            kept.append(word)
    return kept
