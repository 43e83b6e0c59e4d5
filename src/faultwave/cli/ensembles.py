"""Commands on ensembles: plan, run, submit, show the progress, and serve a study as a model."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.processes import signals
from faultwave.cli import screen
from faultwave.cli.cases import warn
from faultwave.cli.launch import stop_signals_as_errors
from faultwave.cli.options import Output, given, with_record_options

if TYPE_CHECKING:
    from faultwave.ensemble.ensemble import Ensemble
    from faultwave.ensemble.status import EnsembleStatus

SHOWN = 10
"""Largest number of failed members that are listed."""


@dataclass(frozen=True)
class ExecutionChanges:
    """Options that replace settings of the execution."""

    executor: Annotated[str | None, typer.Option("--executor", help="local, mpi, dask or slurm.")] = None
    workers: Annotated[int | None, typer.Option("--workers", min=1, help="Members that run at the same time.")] = None
    threads: Annotated[int | None, typer.Option("--threads", min=1, help="Threads of each member; default 1.")] = None
    time_limit: Annotated[
        str | None, typer.Option("--time-limit", metavar="TIME", help="Wall-clock time of a member, such as '20 min'.")
    ] = None
    scheduler: Annotated[str | None, typer.Option("--scheduler", help="Address of a Dask scheduler.")] = None


@dataclass(frozen=True)
class Display:
    """Options that only show something."""

    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show members, time, memory and disk, and compute nothing.")
    ] = False
    status: Annotated[
        Path | None,
        typer.Option("--status", metavar="DIR", help="Only show the progress of the ensemble in this folder."),
    ] = None


@dataclass(frozen=True)
class Part:
    """Options of the jobs of an array."""

    job: Annotated[int | None, typer.Option("--job", min=0, help="Compute only part JOB of --jobs parts.")] = None
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, help="Number of parts.")] = None
    combine: Annotated[
        bool, typer.Option("--combine", help="Only combine the results of the members computed so far.")
    ] = False

    def check(self, dry_run: bool) -> None:
        """Raise InputError for combinations of options that would do something else than they say."""
        problems = Problems()
        if (self.job is None) != (self.jobs is None):
            given_, missing = ("--jobs", "--job") if self.job is None else ("--job", "--jobs")
            problems.error(
                given_, f"does nothing without {missing}", advice="Use --workers for several members at a time."
            )
        elif self.job is not None and self.jobs is not None and self.job >= self.jobs:
            problems.error("--job", f"is {self.job}", f"0 to {self.jobs - 1}, as --jobs is {self.jobs}")
        if dry_run and (self.job is not None or self.combine):
            problems.error("--dry-run", "computes nothing, but --job and --combine write results", "one of them")
        problems.raise_errors()


def ensemble(
    study: Annotated[str | None, typer.Argument(metavar="STUDY", help="A study file (YAML).")] = None,
    *,
    changes: ExecutionChanges,
    output: Output = None,
    display: Display,
    retry: Annotated[bool, typer.Option("--retry", help="Compute failed members again.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace members in the folder that belong to another study.")
    ] = False,
    part: Part,
) -> None:
    """Run many members of a case with varied settings, and combine their results.

    All problems are reported before the first member. Failed members are recorded with their reason and do not stop the others. The
    same command computes only what is missing, also after a crash.
    """
    if display.status is not None:
        _show_status(display.status)
        return
    if study is None:
        raise InputError(
            Problem("STUDY", "is missing", "a study file", "Use --status DIR to show the progress of an ensemble.")
        )
    from faultwave.ensemble.ensemble import Ensemble

    part.check(display.dry_run)
    with screen.status(study) as say:
        say("reading everything")
        requested = Ensemble(study, **given(**vars(changes), folder=output))
    if part.job is not None or part.combine:
        _run_part(requested, part)
        return
    with screen.status(study) as say:
        say("checking, and stepping the first member for some seconds")
        plan = requested.plan(force, retry)
    warn(plan.warnings)
    if display.dry_run:
        screen.out().print(screen.table(requested.study.title or study, plan.rows()))
        return
    if plan.forecast is not None:
        for name, value in plan.rows():
            screen.out().print(f"{name}: {value}", soft_wrap=True)
    if requested.study.execution.executor == "slurm" and plan.missing:
        from faultwave.ensemble.supervisor import submit_jobs

        job, scripts = submit_jobs(plan, Path(study))
        screen.files(scripts)
        screen.out().print(
            f"submitted as the job array {job}; see it with: faultwave ensemble --status {requested.folder}",
            soft_wrap=True,
        )
        return
    from faultwave.ensemble.supervisor import Supervisor

    with stop_signals_as_errors(_stopped):
        reached = Supervisor(plan, _progress()).run()
    _show(reached)
    screen.out().print(f"results: {requested.folder}", soft_wrap=True)


def serve(
    umbridge: Annotated[
        str, typer.Option("--umbridge", metavar="STUDY", help="Serve a study by the protocol of UM-Bridge.")
    ],
    port: Annotated[int, typer.Option("--port", min=1, max=65535, envvar="PORT", help="Port of the server.")] = 4242,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Evaluations that run at the same time.")
    ] = None,
) -> None:
    """Serve a study as a model: clients send values of its variables and receive scalar results.

    All problems are reported before the server starts. It is open to the whole network of this machine.
    """
    from faultwave.ensemble.ensemble import Ensemble
    from faultwave.ensemble.process import close_processes
    from faultwave.ensemble.served_model import load_served_study
    from faultwave.ensemble.served_model import serve as serve_study

    with screen.status(umbridge) as say:
        say("checking the study and its first member")
        requested = Ensemble(umbridge, **given(workers=workers))
        try:
            served = load_served_study(requested)
        finally:
            close_processes()
    warn(requested.warnings)
    inputs, outputs = ", ".join(served.names), ", ".join(served.outputs)
    screen.err().print(f"port {port}, model {requested.study.serve.name}: {inputs} -> {outputs}", soft_wrap=True)
    try:
        serve_study(served, port)
    finally:
        close_processes()


def _run_part(requested: Ensemble, part: Part) -> None:
    if part.combine:
        _show(requested.combine())
        return
    assert part.job is not None and part.jobs is not None
    with stop_signals_as_errors(_stopped):
        requested.run_part(part.job, part.jobs)


def _stopped(number: int) -> signals.StopSignal:
    """Return the error for a signal during an ensemble."""
    name = signal.Signals(number).name
    return signals.StopSignal(
        f"stopped by {name}: finished members are stored, and the same command computes the others", number
    )


def _progress() -> Callable[[EnsembleStatus], None]:
    """Return a function that prints the status after some members, more rarely the more there are."""
    last = [-1]

    def show(state: EnsembleStatus) -> None:
        ended = state.done + state.failed
        if ended > last[0] and (ended - last[0] >= max(1, state.members // 50) or not state.missing):
            last[0] = ended
            screen.err().print(str(state), soft_wrap=True)

    return show


def _show(state: EnsembleStatus) -> None:
    screen.out().print(str(state), soft_wrap=True)
    for member, reason in state.reasons[:SHOWN]:
        screen.out().print(f"member {member} failed: {reason}", soft_wrap=True, markup=False)
    if len(state.reasons) > SHOWN:
        screen.out().print(f"and {len(state.reasons) - SHOWN} more, see members.csv", soft_wrap=True)


def _show_status(folder: Path) -> None:
    from faultwave.ensemble.status import read_status

    _show(read_status(folder))


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    app.command(epilog="Example: faultwave ensemble study.yaml --workers 4")(with_record_options(ensemble))
    app.command(epilog="Example: faultwave serve --umbridge study.yaml --port 4242")(serve)
