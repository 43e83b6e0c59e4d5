"""Commands that start from a case: run, resume, check, plan, tune, submit."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from faultwave.base.spans import phase
from faultwave.base.types import Settings
from faultwave.cli import screen
from faultwave.cli.launch import read_tuned, relaunch, stop_signals_as_errors
from faultwave.cli.options import (
    CaseName,
    Changes,
    Every,
    Force,
    Processes,
    ResumedChanges,
    Trace,
    Until,
    given,
    with_record_options,
)

if TYPE_CHECKING:
    from faultwave.backends.device.target import Target
    from faultwave.base.errors import Problem, Problems
    from faultwave.case.settings.model import Case
    from faultwave.dg.planning.plan import Plan
    from faultwave.run.session import Session


def load(name: str, overrides: Settings) -> tuple[Case, Problems]:
    """Return the case with the overrides applied, and its warnings.

    Raises
    ------
    InputError
        With all errors and warnings at once: a warning, such as a misspelt key of a deck, may be the cause.
    """
    from faultwave.base.errors import InputError
    from faultwave.run.inputs import load_case_and_inputs

    case, problems = load_case_and_inputs(name, overrides)
    if problems.errors:
        raise InputError(dict.fromkeys(problems.items))
    assert case is not None
    return case, problems


def warn(warnings: Sequence[Problem]) -> None:
    """Show the warnings, if there are any."""
    if warnings:
        screen.show_problems(warnings)


@contextmanager
def suspended_gc() -> Iterator[None]:
    """Suspend garbage collection during imports and reading of a case, of which it would take a tenth of the time.

    Existing objects are also excluded from later collections, except in large processes, where arrays may be among the garbage.
    """
    from faultwave.base.processes.host import SMALL, peak_memory

    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if (peak_memory() or SMALL) < SMALL:
            gc.freeze()
        if was:
            gc.enable()


def run(
    case: CaseName,
    changes: Changes,
    processes: Processes,
    tuned: Annotated[
        Path | None, typer.Option("--tuned", metavar="FILE", help="Processes, threads and mode from tune.")
    ] = None,
    checkpoint_every: Every = None,
    estimate_errors: Annotated[
        bool,
        typer.Option(
            "--estimate-errors", help="Estimate errors of the seismograms after the run, as estimate-errors does."
        ),
    ] = False,
    trace: Trace = None,
    force: Force = False,
) -> None:
    """Run a case and write its outputs.

    Ctrl-C, SIGTERM and a lost terminal finish the step, close the outputs, write a checkpoint and report the time reached.
    """
    ranks, threads, progress = read_tuned(tuned, processes.ranks, changes.threads, processes.progress)
    relaunch(ranks, threads, progress)
    changes = replace(changes, threads=threads)
    requested = given(
        **vars(changes), progress=progress, halo=processes.halo, checkpoint_every=checkpoint_every, trace=trace
    )
    with tracing(trace):
        with stop_signals_as_errors(), screen.status(case) as say, suspended_gc():
            with phase("load libraries"):
                from faultwave.run.simulation import prepare_run

            say("reading and preparing")
            simulation = prepare_run(case, force=force, **requested)
            if estimate_errors:
                from faultwave.run.coarser import check_coarser

                check_coarser(simulation.case)  # reported before the run instead of after it
        run_and_show(simulation)
    if estimate_errors:
        from faultwave.cli.errors import estimate

        place = simulation.case.output.folder
        del simulation
        estimate(place, threads)


def resume(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run that was interrupted.")],
    changes: ResumedChanges,
    processes: Processes,
    checkpoint_every: Every = None,
    case: Annotated[
        Path | None,
        typer.Option(
            "--case",
            metavar="CASE",
            help="Case to compare with the recorded one; by default the file it was read from.",
        ),
    ] = None,
    as_recorded: Annotated[
        bool,
        typer.Option("--as-recorded", help="Use the settings in the checkpoint and ignore changes of the case file."),
    ] = False,
    put_aside: Annotated[
        bool,
        typer.Option("--put-aside", help="Start missing or damaged snapshot files again; existing ones are renamed."),
    ] = False,
    trace: Trace = None,
) -> None:
    """Resume a run from its last checkpoint, as if it had never stopped.

    End time, threads, backend, precision and order may change; at another order the state is projected. A case file or an input file that
    has changed otherwise is refused, with each difference named. A finished run is left unchanged. A damaged checkpoint is reported and the
    previous one used.
    """
    relaunch(processes.ranks, changes.threads, processes.progress)
    requested = given(
        **vars(changes), progress=processes.progress, halo=processes.halo, checkpoint_every=checkpoint_every
    )
    with tracing(trace):
        with stop_signals_as_errors(), screen.status(str(folder)) as say, suspended_gc():
            with phase("load libraries"):
                from faultwave.run.simulation import prepare_resumption, restore_session

            say("reading and preparing")
            found = prepare_resumption(folder, case, as_recorded, trace, **requested)
            simulation = None if found.finished is not None else restore_session(found, put_aside)
        for change in found.applied:
            text = f"{change.path}: {change.values}; the run continues with that of the case"
            screen.out().print(text, soft_wrap=True)
        if simulation is None:
            warn(found.warnings)
            screen.out().print(f"{folder}: already finished at t = {found.finished:g} s", soft_wrap=True)
            return
        screen.out().print(f"continuing from t = {simulation.time:.6g} s", soft_wrap=True)
        run_and_show(simulation)


@contextmanager
def tracing(path: Path | None) -> Iterator[None]:
    """Write a trace of the run inside the context, if a file is given."""
    if path is None:
        yield
        return
    from faultwave.run.trace_file import traced

    with traced(path) as trace:
        yield
    warn(trace.warnings)
    screen.out().print(f"trace of {trace.spans:,} spans: {path}; open it at https://ui.perfetto.dev", soft_wrap=True)


def run_and_show(simulation: Session) -> None:
    """Run a simulation, with its warnings and progress on the screen."""
    before = tuple(simulation.warnings)
    warn(before)
    if simulation.case.numerics.backend == "auto":
        screen.out().print(f"backend auto: {simulation.solver.runs_on}", soft_wrap=True)
    for note in getattr(simulation.plan, "notes", ()):  # engines of other packages may lack notes
        screen.out().print(note, soft_wrap=True)
    if simulation.solver.halo is not None:
        screen.out().print(f"halo {simulation.case.numerics.halo}: {simulation.solver.halo}", soft_wrap=True)
    from faultwave.run.energy import EnergyMeter

    simulation.energy_meter = meter = EnergyMeter(simulation.world)
    with screen.progress() as report:
        simulation.run(progress=report)
    screen.out().print(report.summary(), soft_wrap=True)
    for line in simulation.balance.lines() if simulation.balance else ():
        screen.out().print(line, soft_wrap=True)
    if meter.used is not None:
        screen.out().print(meter.used.line(), soft_wrap=True)
    warn([reported for reported in simulation.warnings if reported not in before])  # warnings about the results
    screen.out().print(f"plot the results with: faultwave plot {simulation.case.output.folder}", soft_wrap=True)


def check(
    case: CaseName,
    changes: Changes,
    ranks: Annotated[
        int, typer.Option("--ranks", min=1, help="Number of processes of the intended run; none is started.")
    ] = 1,
) -> None:
    """Report all problems of a case at once, without running it or writing anything.

    Reads the settings, the mesh, the models at every cell and fault point, and places sources and receivers.
    """
    with screen.status(case) as say, suspended_gc():
        say("reading everything")
        requested, problems = load(case, given(**vars(changes)))
        from faultwave.run.planned import check as check_case

        found = check_case(requested, ranks)
    problems.extend(p for p in found.items if p not in problems.items)
    if problems.items:
        screen.show_problems(problems.items)
    if problems.errors:
        raise typer.Exit(screen.EXIT_INPUT)
    for note in found.notes:
        screen.out().print(note, soft_wrap=True)
    screen.out().print(f"{case}: this case can run")


@dataclass(frozen=True)
class TargetMachine:
    """Hardware other than this machine for which a plan is requested."""

    nodes: Annotated[
        int | None,
        typer.Option("--nodes", min=1, max=8192, help="Also predict the scaling up to this number of nodes."),
    ] = None
    arch: Annotated[
        str | None,
        typer.Option("--arch", help="Also report the memory on a graphics processor, which need not be present."),
    ] = None
    tasks: Annotated[int, typer.Option("--tasks", min=1, help="Processes per node, each with --threads threads.")] = 1
    latency: Annotated[
        float, typer.Option("--latency", min=0.0, help="Latency of a message between nodes in seconds.")
    ] = 2e-6
    bandwidth: Annotated[float, typer.Option("--bandwidth", min=1.0, help="Network bandwidth of a node [bytes/s].")] = (
        1.2e10
    )


@dataclass(frozen=True)
class AccuracyGoal:
    """Accuracy for which settings are proposed."""

    accuracy: Annotated[
        str | None,
        typer.Option(
            "--accuracy", metavar="SHARE", help="Also propose settings for this error of seismograms, such as 1%."
        ),
    ] = None
    frequency: Annotated[
        float | None,
        typer.Option(
            "--frequency",
            help="Highest frequency of interest [Hz], with --accuracy; default: 95 % of the radiated energy is below it.",
        ),
    ] = None


def plan(case: CaseName, changes: Changes, elsewhere: TargetMachine, goal: AccuracyGoal) -> None:
    """Show the cost and resolution of a run, without running it.

    Cells, memory, time steps and clusters, an estimate of the run time from a few seconds' measurement, output size,
    points per wavelength and per cohesive zone, and the worst cells. --accuracy shows which order, elements or spacing and precision
    reach it, and at what cost, from a table of measured errors. --nodes shows how the run would scale: strong (the same mesh) and
    weak (as much on every node). With --arch (sm_70 to sm_100, gfx90a, gfx942) memory is counted for such a processor, and times
    are measured here.
    """
    share = _share(goal)
    target = None
    if elsewhere.arch is not None:
        from faultwave.bench.kernel_report import architecture

        wanted = changes.backend or ""
        far = wanted in ("cuda", "hip")
        target = architecture(wanted if far else "", elsewhere.arch)
        changes = replace(changes, backend=wanted if wanted and not far else "auto")
    requested, problems = load(case, given(**vars(changes)))
    warn(problems.warnings)  # even if the plan fails, since they may explain it
    from faultwave.comm import World
    from faultwave.run.engines import engine_of
    from faultwave.run.planned import doubts

    with screen.status(case) as say:
        say("reading everything")
        chosen = engine_of(requested)
        # The plan of a single process, which may exceed the memory of this machine.
        made: Any = chosen.process_plan(requested, World())
        warn(doubts(requested, made))
        sections = []
        if share is not None:
            from faultwave.bench.accuracy import proposals, table

            sections = [proposals.section(made, table.read(), share, goal.frequency)]
        say("measuring")
        sections = [*chosen.report(made, requested), *sections]
        if target is not None:
            sections.append(_device_memory_section(cast("Plan", made), requested, target))
        scaling = _forecast(cast("Plan", made), requested, elsewhere, say) if elsewhere.nodes is not None else None
    for section, rows in sections:
        screen.out().print(screen.table(section, rows), "")
    if scaling is not None:
        network = f"{1e6 * elsewhere.latency:g} us and {1e-9 * elsewhere.bandwidth:g} GB/s between nodes"
        title = f"{elsewhere.nodes} nodes of {elsewhere.tasks} processes; {network}"
        screen.out().print(screen.table(title, *scaling))


def _share(goal: AccuracyGoal) -> float | None:
    """Return the requested accuracy, None if there is none. Raises InputError if it or its frequency is invalid."""
    from faultwave.base.errors import InputError, Problem

    if goal.frequency is not None and goal.accuracy is None:
        raise InputError(
            Problem("--frequency", "sets the frequency of --accuracy, which is missing", advice="Add --accuracy.")
        )
    if goal.frequency is not None and not 0 < goal.frequency < float("inf"):
        raise InputError(Problem("--frequency", f"is {goal.frequency:g}", "more than 0 Hz"))
    if goal.accuracy is None:
        return None
    from faultwave.bench.accuracy.proposals import accuracy

    return accuracy(goal.accuracy)


def _device_memory_section(made: Plan, case: Case, target: Target) -> tuple[str, list[tuple[str, ...]]]:
    """Return section and rows on the memory of a graphics processor that need not be installed."""
    from faultwave.base.errors import NotBuiltError, Problem

    if case.engine != "dg":
        raise NotBuiltError(
            Problem("--arch", f"memory is estimated for meshes, not for the engine {case.engine}", "engine: dg")
        )
    from faultwave.dg.report import absent_device_memory

    return absent_device_memory(made, target)


def _forecast(
    made: Plan, case: Case, elsewhere: TargetMachine, say: Callable[[str], None]
) -> tuple[list[tuple[str, ...]], Sequence[str]]:
    """Return rows and header of the scaling table."""
    from faultwave.base.errors import NotBuiltError, Problem

    if case.engine != "dg":
        raise NotBuiltError(
            Problem("--nodes", f"scaling is predicted for meshes, not for the engine {case.engine}", "engine: dg")
        )
    from faultwave.bench import forecast
    from faultwave.dg.solver import Solver

    say("measuring kernels, partitioning the mesh")
    costs = forecast.measure(made, Solver(made), 5.0)
    machine = forecast.Machine(elsewhere.tasks, elsewhere.latency, elsewhere.bandwidth)
    return forecast.table(made, costs, machine, elsewhere.nodes or 1), forecast.HEADER


def tune(
    case: CaseName,
    cores: Annotated[int | None, typer.Option("--cores", min=1, help="Cores to fill; default all.")] = None,
    seconds: Annotated[float, typer.Option("--seconds", help="Stepping in each of three repeats.")] = 2.0,
    output: Annotated[
        Path,
        typer.Option("--output", metavar="DIR", help="Folder for all files that are written, or a file NAME.json."),
    ] = Path("."),
) -> None:
    """Find the numbers of processes and threads and the progress mode that make a case fastest on this machine.

    Steps the case for a while with every number of processes that fills the cores, with polling and with a thread for messages,
    shows the rates and writes the best into DIR/tuned.json, which `faultwave run CASE --tuned FILE` takes.
    """
    from faultwave.base.processes import host as available
    from faultwave.bench import scaling as bench
    from faultwave.bench.results import write_json
    from faultwave.cli.launch import check_process_limit, mpiexec
    from faultwave.output.atomic import translate_os_errors

    number = cores or available.core_count()
    bench.check(case, [{}], seconds)
    check_process_limit(number, option="--cores")
    target = output if output.suffix == ".json" else output / "tuned.json"
    with translate_os_errors(target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
    with screen.status(case) as say:
        found = bench.tune(mpiexec(), case, {}, number, say, seconds)
    screen.out().print(screen.table(f"{case} on {number} cores", *bench.scaling(found)))
    best = {
        "ranks": found[0]["processes"], "threads": found[0]["threads"], "progress": found[0]["progress"],
        "updates_per_second": found[0]["rate"],
    }  # fmt: skip
    screen.files([write_json(target, best)])


@dataclass(frozen=True)
class Allocation:
    """Slurm allocation to request."""

    nodes: Annotated[int, typer.Option("--nodes", min=1, help="Nodes.")]
    tasks: Annotated[
        int, typer.Option("--tasks", min=1, help="Processes per node; one per NUMA domain is a good choice.")
    ] = 2
    cores: Annotated[int, typer.Option("--cores", min=1, help="Cores of each process, with one thread per core.")] = 16
    time: Annotated[str, typer.Option("--time", help="Time limit, as Slurm writes it.")] = "24:00:00"
    partition: Annotated[str, typer.Option("--partition", help="Slurm's partition.")] = ""
    account: Annotated[str, typer.Option("--account", help="Slurm's account.")] = ""


def submit(
    case: Annotated[Path, typer.Argument(metavar="CASE", help="A case file.")],
    allocation: Allocation,
    until: Until = None,
    output: Annotated[
        Path, typer.Option("--output", metavar="DIR", help="Folder for all files that are written.")
    ] = Path("output"),
    script: Annotated[Path | None, typer.Option("--script", metavar="FILE", help="Name of the script.")] = None,
    force: Force = False,
) -> None:
    """Write a batch script for Slurm with processes bound to cores.

    Before its time limit the run writes a checkpoint, and the job is requeued. A folder that holds a run is refused, unless
    it has a checkpoint of this case to resume from.
    """
    from faultwave.base.errors import InputError, Problem
    from faultwave.cli.slurm import SlurmJob
    from faultwave.cli.slurm import script as text
    from faultwave.output.atomic import atomic_text

    if not case.is_file():
        raise InputError(
            Problem(
                str(case),
                "no such case file",
                "a .yaml, a .par, an .in of SW4, or the name of an example",
                "`faultwave examples` lists them.",
            )
        )
    target = script or Path(f"{case.stem}.sbatch")
    if target.exists() and not force:
        raise InputError(Problem(str(target), "is there already", advice="Use --force to replace it"))
    _check_job_folder(output, case, until)
    job = SlurmJob(
        case.absolute(), output.absolute(), **vars(allocation), arguments=("--until", until) if until else ()
    )
    with atomic_text(target) as file:
        file.write(text(job))
    screen.files([target])
    screen.out().print(f"submit it with: sbatch {target}", soft_wrap=True)


def _check_job_folder(folder: Path, case: Path, until: str | None) -> None:
    """Report from where a job in ``folder`` will resume.

    Raises
    ------
    InputError
        If the folder holds another run, or one without checkpoints.
    """
    from faultwave.base.errors import InputError, Problem
    from faultwave.output.folder import refuse_folder
    from faultwave.run.resumption import find_resumption_of_case

    found = find_resumption_of_case(folder, case, **given(until=until))
    if found is None:
        try:
            refuse_folder(folder)
        except InputError as error:
            advice = "Choose another --output, or move that run: the job does not replace its results."
            raise InputError([Problem(p.where, p.what, p.allowed, advice) for p in error.problems]) from None
        return
    warn(found.warnings)
    time = found.checkpoint.notes["time"]
    if found.finished is not None:
        what = f"holds this case, already finished at t = {found.finished:g} s"
        raise InputError(
            Problem(str(folder), what, advice="Set a later --until to extend it, or choose another --output.")
        )
    screen.out().print(
        f"{folder} holds a checkpoint of this case: the job continues from t = {time:g} s", soft_wrap=True
    )


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    commands: tuple[tuple[Callable[..., None], str], ...] = (
        (run, "Example: faultwave run parameters.par --order 5 --until 2 --output results"),
        (resume, "Example: faultwave resume results --threads 8"),
        (check, "Example: faultwave check parameters.par"),
        (plan, "Example: faultwave plan tpv5 --order 6"),
        (tune, "Example: faultwave tune parameters.par --output results"),
        (submit, "Example: faultwave submit case.yaml --nodes 16 --tasks 8 --cores 16"),
    )
    for command, example in commands:
        app.command(epilog=example)(with_record_options(command))
