"""Starting a command on several processes: the MPI launcher, started here, starts the same command again."""

from __future__ import annotations

import atexit
import ctypes
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from faultwave.base import cores, signals
from faultwave.base.children import PYTHON
from faultwave.base.errors import BackendError, FaultwaveError, InputError, Interrupted, Problem
from faultwave.base.watchdog import GRACE, WATCHDOG, end_children
from faultwave.comm.world import launched, world

LEAST, EACH = 16, 4
"""So many processes are started on any machine, and so many a core."""

MACHINES = ("HYDRA_HOST_FILE", "SLURM_JOB_NODELIST", "PBS_NODEFILE", "LSB_DJOB_HOSTFILE", "LSB_HOSTS", "PE_HOSTFILE")
"""Where launchers find the machines they start on; where none is set it is this one."""

NEVER = 1 << 30
"""Signals that end a program which waits for others that are told of them."""

PR_SET_PDEATHSIG = 1
"""Of prctl(2): the signal that a process gets when its parent dies."""


def first() -> bool:
    """Whether this process speaks for all."""
    return not launched() or world().first


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
    _need_mpi4py()
    affordable(ranks, f"Start them yourself, here or on many machines: mpiexec -n {ranks} faultwave run ...")
    command = [mpiexec(), "-n", str(ranks), *PYTHON, "-m", "faultwave.cli.main", *_without_ranks(sys.argv[1:])]
    environment = dict(os.environ)
    if threads is None:
        environment.setdefault("OMP_NUM_THREADS", str(max(1, cores.count() // ranks - (progress == "thread"))))
    raise typer.Exit(_run(command, environment))


def affordable(ranks: int, advice: str = "", option: str = "--ranks") -> None:
    """Refuse what would fill this machine with interpreters before anything is read. Raises InputError."""
    most = max(LEAST, EACH * cores.count())
    if ranks > most and not any(name in os.environ for name in MACHINES):
        what = f"{ranks} processes, but this machine has {cores.count()} cores for them"
        raise InputError(Problem(option, what, f"1 to {most}", advice))


def _run(command: list[str], environment: dict[str, str]) -> int:
    """The exit code of a launcher. It is told what this process is told, and does not outlive it. Raises Interrupted where that
    came too early for its processes to tell of it."""
    numbers = [n for n in signals.telling_to_stop() if signal.getsignal(n) != signal.SIG_IGN]
    told: list[int] = []
    passed: list[int] = []
    process: subprocess.Popen[bytes] | None = None

    def stop(number: int, frame: Any) -> None:
        told.append(number)
        pass_on()

    def pass_on() -> None:
        while process is not None and len(passed) < len(told):
            passed.append(signal.SIGUSR1)  # launchers pass this one on; they take the others for themselves
            process.send_signal(signal.SIGUSR1)
        if len(told) == 2 and process is not None:  # what they leave undone then is ended
            signal.signal(signal.SIGALRM, end)
            signal.setitimer(signal.ITIMER_REAL, GRACE)

    def end(number: int, frame: Any) -> None:
        end_children(os.getpid(), WATCHDOG.pid)

    old = {n: signal.signal(n, stop) for n in numbers}
    try:
        with WATCHDOG.phase(NEVER, ""):
            environment = environment | {signals.BY_OUR_LAUNCHER: "1"}
            process = subprocess.Popen(command, env=environment, start_new_session=True, preexec_fn=_bound(os.getpid()))
            pass_on()  # what came before
            code = process.wait()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in old.items():
            signal.signal(number, handler)
    if len(told) > 1 and code not in (0, FaultwaveError.code, InputError.code, Interrupted.code):
        return 128 + told[-1]
    if told and code not in (0, FaultwaveError.code, InputError.code, Interrupted.code):
        raise too_early(told[0])
    return code if code >= 0 else 128 - code


def _bound(parent: int) -> Callable[[], None] | None:
    """What a child does on Linux before it becomes another program, so that it dies with its parent, which may be killed without a
    chance to tell it."""
    if sys.platform != "linux":
        return None
    control = getattr(ctypes.CDLL(None), "prctl", None)

    def bind() -> None:
        if control is not None:
            control(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
            if os.getppid() != parent:  # it died before it was looked at
                os._exit(1)

    return bind


def too_early(number: int) -> signals.Told:
    """Return what to tell of a signal that came before the first step."""
    name = signal.Signals(number).name
    what = f"told to stop by {name} while the run was being set up"
    text = f"{what}; nothing was computed and no output was changed, the same command starts anew"
    return signals.Told(text, number)


def unfinished(number: int) -> signals.Told:
    """Return what to tell of a signal that came while a command worked that keeps nothing of what it has done."""
    text = f"told to stop by {signal.Signals(number).name}; nothing is left of what was begun, the same command starts anew"
    return signals.Told(text, number)


@contextmanager
def heeding(told: Callable[[int], signals.Told] = too_early) -> Iterator[None]:
    """Signals that tell a program to stop are an error that says so: what it has begun is tidied up, compilers that it started among it.
    Once it steps, a run has its own way with them."""

    def stop(number: int, frame: Any) -> None:
        signals.forget_lost_terminal()
        raise told(number)

    old = {n: signal.signal(n, stop) for n in signals.telling_to_stop()}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def leave(error: FaultwaveError | signals.Told) -> None:
    """Before this process ends with an error: others may not have been told to stop."""
    if isinstance(error, Interrupted | signals.Told) and launched():
        world().abort(error)


def end(code: Any) -> None:
    """End this process with an exit code as Python would, but without taking a thousand modules apart, a quarter of a second. Returns
    where Python has to end it: where this is a part of another program, of several processes, where somebody watches what is done, where
    threads go on, and where output cannot be written."""
    if (
        not _ours()
        or not isinstance(code, int | None)
        or launched()
        or _watched()
        or any(not t.daemon for t in threading.enumerate()[1:])
    ):
        return
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        return
    os._exit(code or 0)


def _ours() -> bool:
    """Whether Python was started for this program: by its command, or as ``python -m faultwave``."""
    main = sys.modules.get("__main__")
    module = getattr(main, "__spec__", None)
    if module is not None:
        return module.name in ("faultwave.__main__", "faultwave.cli.main")
    return os.path.basename(getattr(main, "__file__", None) or "") == "faultwave"


def watch() -> None:
    """Let the program be ended within two seconds of a signal, where it is one of its own and nobody debugs it."""
    if _ours() and not _watched() and threading.active_count() == 1:
        WATCHDOG.start()


def _watched() -> bool:
    """Whether a debugger, a profiler or a count of what is covered has to write its results, or somebody types."""
    tools = getattr(sys, "monitoring", None)
    tool = tools is not None and any(tools.get_tool(i) for i in range(6))
    return bool(tool or sys.gettrace() or sys.getprofile() or sys.flags.interactive or sys.flags.inspect)


def from_tuned(
    file: Path | None, ranks: int | None, threads: int | None, progress: str | None = None
) -> tuple[int | None, int | None, str | None]:
    """Processes, threads and progress mode of a file that `faultwave tune` wrote; what is given beside it wins."""
    if file is None:
        return ranks, threads, progress
    try:
        best = json.loads(file.read_text())
        found, mode = [best["ranks"], best["threads"]], best["progress"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(Problem(str(file), f"is no file of faultwave tune: {error}")) from None
    _tuned(file, found, mode)
    if launched():  # the launcher has said how many processes
        found[0] = ranks
    return found[0] if ranks is None else ranks, found[1] if threads is None else threads, progress or mode


def _tuned(file: Path, numbers: list[Any], mode: Any) -> None:
    problems = [
        Problem(f"{file}: {name}", f"is {json.dumps(number)}", "1 or more")
        for name, number in zip(("ranks", "threads"), numbers, strict=True)
        if type(number) is not int or number < 1
    ]
    if mode not in ("polling", "thread"):
        problems.append(Problem(f"{file}: progress", f"is {json.dumps(mode)}", "polling, thread"))
    if problems:
        raise InputError(problems)


def _need_mpi4py() -> None:
    if importlib.util.find_spec("mpi4py") is None:
        raise BackendError("several processes need mpi4py: pip install 'faultwave[mpi]'")


def starter(ranks: int) -> str:
    """What starts so many processes; empty where one is all. Raises InputError for more than this machine can have."""
    affordable(ranks)
    return mpiexec() if ranks > 1 else ""


def mpiexec() -> str:
    """The launcher: that of this Python environment, else the system's. Raises BackendError where there is none, or no mpi4py, of which
    each of its processes would complain in its own words."""
    _need_mpi4py()
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
