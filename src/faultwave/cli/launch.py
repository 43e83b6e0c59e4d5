"""Launch of a command on several processes: the MPI launcher, started here, starts the same command again."""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from faultwave.base.errors import FaultwaveError, InputError, Interrupted, Problem
from faultwave.base.processes import host, signals
from faultwave.base.processes.host import PYTHON
from faultwave.base.processes.signals import GRACE, WATCHDOG, end_children, end_with_parent
from faultwave.comm.launcher import mpiexec, need_mpi4py
from faultwave.comm.world import launched, world

if TYPE_CHECKING:
    from types import FrameType

PROCESSES_ALLOWED, PROCESSES_PER_CORE = 16, 4
"""Number of processes allowed on any machine, and per core."""

MACHINES = ("HYDRA_HOST_FILE", "SLURM_JOB_NODELIST", "PBS_NODEFILE", "LSB_DJOB_HOSTFILE", "LSB_HOSTS", "PE_HOSTFILE")
"""Environment variables from which launchers obtain their machines; if none is set, processes start on this machine."""

NEVER = 1 << 30
"""Number of signals that is never reached, for a program that forwards signals to its children."""


def first() -> bool:
    """Return True if this process writes to the terminal for all."""
    return not launched() or world().first


def relaunch(ranks: int | None, threads: int | None, progress: str | None = None) -> None:
    """Run this command on ``ranks`` processes and exit with their exit code, if no launcher started this process.

    Parameters
    ----------
    ranks : int or None
        Requested number of processes; nothing happens for None and 1.
    threads : int or None
        Threads of each process; None divides the cores, except one core per process with progress 'thread'.
    progress : str or None
        Progress mode.

    Raises
    ------
    InputError
        Under a launcher with another number of processes.
    """
    if ranks is None:
        return
    if launched():
        if world().size != ranks:
            raise InputError(Problem("--ranks", f"{ranks}, but the launcher started {world().size} processes"))
        return
    if ranks == 1:
        return
    need_mpi4py()
    check_process_limit(
        ranks,
        f"Start the processes with a launcher, on one or several machines: mpiexec -n {ranks} faultwave run ...",
    )
    command = [mpiexec(), "-n", str(ranks), *PYTHON, "-m", "faultwave.cli.main", *_without_ranks(sys.argv[1:])]
    environment = dict(os.environ)
    if threads is None:
        environment.setdefault("OMP_NUM_THREADS", str(max(1, host.core_count() // ranks - (progress == "thread"))))
    raise typer.Exit(_run(command, environment))


def check_process_limit(ranks: int, advice: str = "", option: str = "--ranks") -> None:
    """Raise InputError for more processes than this machine can start, before anything is read.

    Parameters
    ----------
    ranks : int
        Requested number of processes.
    advice : str
        Advice in the error.
    option : str
        Option that requested them.
    """
    most = max(PROCESSES_ALLOWED, PROCESSES_PER_CORE * host.core_count())
    if ranks > most and not any(name in os.environ for name in MACHINES):
        what = f"{ranks} processes, but this machine has {host.core_count()} cores"
        raise InputError(Problem(option, what, f"1 to {most}", advice))


def _run(command: list[str], environment: dict[str, str]) -> int:
    """Run a launcher and return its exit code; signals are forwarded, and it does not outlive this process.

    Raises
    ------
    signals.StopSignal
        If a signal came before its processes could report it.
    """
    numbers = [n for n in signals.stop_signals() if signal.getsignal(n) != signal.SIG_IGN]
    reported: list[int] = []
    passed: list[int] = []
    process: subprocess.Popen[bytes] | None = None

    def stop(number: int, frame: FrameType | None) -> None:
        reported.append(number)
        pass_on()

    def pass_on() -> None:
        while process is not None and len(passed) < len(reported):
            passed.append(signal.SIGUSR1)  # the one that launchers forward; they handle the others themselves
            process.send_signal(signal.SIGUSR1)
        if len(reported) == 2 and process is not None:  # the second signal: what remains after ``GRACE`` is ended
            signal.signal(signal.SIGALRM, end)
            signal.setitimer(signal.ITIMER_REAL, GRACE)

    def end(number: int, frame: FrameType | None) -> None:
        end_children(os.getpid(), WATCHDOG.pid)

    old = {n: signal.signal(n, stop) for n in numbers}
    try:
        with WATCHDOG.phase(NEVER, ""):
            environment = environment | {signals.LAUNCHED_BY_FAULTWAVE: "1"}
            process = subprocess.Popen(
                command, env=environment, start_new_session=True, preexec_fn=end_with_parent(os.getpid())
            )
            pass_on()  # signals that came before
            code = process.wait()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in old.items():
            signal.signal(number, handler)
    if len(reported) > 1 and code not in (0, FaultwaveError.code, InputError.code, Interrupted.code):
        return 128 + reported[-1]
    if reported and code not in (0, FaultwaveError.code, InputError.code, Interrupted.code):
        raise stopped_in_setup(reported[0])
    return code if code >= 0 else 128 - code


def stopped_in_setup(number: int) -> signals.StopSignal:
    """Return the error for a signal that came before the first step."""
    name = signal.Signals(number).name
    what = f"stopped by {name} while the run was being set up"
    text = f"{what}; nothing was computed and no output was changed, run the same command to start again"
    return signals.StopSignal(text, number)


def stopped_without_result(number: int) -> signals.StopSignal:
    """Return the error for a signal during a command that leaves no results when stopped."""
    text = f"stopped by {signal.Signals(number).name}; no files remain, run the same command to start again"
    return signals.StopSignal(text, number)


@contextmanager
def stop_signals_as_errors(error_of: Callable[[int], signals.StopSignal] = stopped_in_setup) -> Iterator[None]:
    """Turn stop signals into errors within the block, so that work in progress is cleaned up, including compilers.

    A run in its time loop handles signals itself.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        signals.detach_lost_terminal()
        raise error_of(number)

    old = {n: signal.signal(n, stop) for n in signals.stop_signals()}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def leave(error: FaultwaveError | signals.StopSignal) -> None:
    """Abort the other processes before this one ends with an error, because they may not have received the signal."""
    if isinstance(error, Interrupted | signals.StopSignal) and launched():
        world().abort(error)


def end(code: object) -> None:
    """End this process with an exit code without the interpreter's teardown, which takes a quarter of a second.

    It returns if Python must end the process: inside another program, with several processes, under a debugger or profiler, with running
    threads, and if output cannot be written.
    """
    if (
        not _is_standalone()
        or not isinstance(code, int | None)
        or launched()
        or _is_debugged()
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


def _is_standalone() -> bool:
    """Return True if Python was started for this program: by its command, or as ``python -m faultwave``."""
    main = sys.modules.get("__main__")
    module = getattr(main, "__spec__", None)
    if module is not None:
        return module.name in ("faultwave.__main__", "faultwave.cli.main")
    return os.path.basename(getattr(main, "__file__", None) or "") == "faultwave"


def watch() -> None:
    """Start the watchdog if this is a stand-alone program without a debugger."""
    if _is_standalone() and not _is_debugged() and threading.active_count() == 1:
        WATCHDOG.start()


def _is_debugged() -> bool:
    """Return True if a debugger, profiler or coverage tool is active, or the session is interactive."""
    tools = getattr(sys, "monitoring", None)
    tool = tools is not None and any(tools.get_tool(i) for i in range(6))
    return bool(tool or sys.gettrace() or sys.getprofile() or sys.flags.interactive or sys.flags.inspect)


def read_tuned(
    file: Path | None, ranks: int | None, threads: int | None, progress: str | None = None
) -> tuple[int | None, int | None, str | None]:
    """Return processes, threads and progress mode from a file of `faultwave tune`.

    Parameters
    ----------
    file : Path or None
        File; None leaves the options unchanged.
    ranks, threads, progress : optional
        Explicit options, which take precedence.
    """
    if file is None:
        return ranks, threads, progress
    try:
        best = json.loads(file.read_text())
        found, mode = [best["ranks"], best["threads"]], best["progress"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = f"it has no {error}" if isinstance(error, KeyError) else error
        raise InputError(Problem(str(file), f"is not a file of faultwave tune: {reason}")) from None
    _tuned(file, found, mode)
    if launched():  # the launcher has determined the number of processes
        found[0] = ranks
    return found[0] if ranks is None else ranks, found[1] if threads is None else threads, progress or mode


def _tuned(file: Path, numbers: Sequence[object], mode: object) -> None:
    problems = [
        Problem(f"{file}: {name}", f"is {json.dumps(number)}", "1 or more")
        for name, number in zip(("ranks", "threads"), numbers, strict=True)
        if type(number) is not int or number < 1
    ]
    if mode not in ("polling", "thread"):
        problems.append(Problem(f"{file}: progress", f"is {json.dumps(mode)}", "polling, thread"))
    if problems:
        raise InputError(problems)


def launcher_for(ranks: int) -> str:
    """Return the launcher for ``ranks`` processes, '' for one.

    Raises
    ------
    InputError
        For more than this machine can start.
    """
    check_process_limit(ranks)
    return mpiexec() if ranks > 1 else ""


def _without_ranks(arguments: list[str]) -> list[str]:
    retained, skip = [], False
    for word in arguments:
        if skip or word.startswith("--ranks="):
            skip = False
        elif word == "--ranks":
            skip = True
        else:
            retained.append(word)
    return retained
