"""Commands that measure performance: kernel proxies, machine peaks, scaling, accuracy per cost."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.cli import screen
from faultwave.cli.launch import launcher_for
from faultwave.cli.options import Threads, with_record_options

if TYPE_CHECKING:
    from faultwave.bench.results import Files, Measured

app = typer.Typer(cls=screen.Commands, help="Measure the speed of this machine and of Faultwave.")

Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Also write everything measured here.")]


@dataclass(frozen=True)
class TableOptions:
    """Destinations of a table without a picture."""

    write: Annotated[
        Path | None, typer.Option("--write", metavar="FILE", help="Put the table between the markers of this file.")
    ] = None
    json: Json = None


@dataclass(frozen=True)
class DrawnOptions(TableOptions):
    """Destinations of a table that is also drawn."""

    picture: Annotated[Path | None, typer.Option("--picture", metavar="PNG", help="Also draw it.")] = None


def _print_and_store(
    files: Files, name: str, text: str, found: object, draw: Callable[[Path], Path] | None = None
) -> None:
    """Print the table ``name`` and store it in the requested files."""
    screen.out().print(text, markup=False, soft_wrap=True)
    screen.files(files.keep(found, draw, (name, text)))


def _files(json: Path | None, picture: Path | None = None) -> Files:
    """Return the destinations of a measurement.

    Raises
    ------
    InputError
        If they are not writable, before minutes are spent.
    """
    from faultwave.bench.results import Files

    files = Files(json=json, picture=picture)
    files.check()
    return files


def _show(
    sections: Iterable[tuple[str, Sequence[str], Iterable[Sequence[object]]]], found: object, files: Files
) -> None:
    """Print the measured tables (title, header, rows) and store the results in the requested files."""
    for title, header, rows in sections:
        screen.out().print(screen.table(title, rows, header), "")
    files.keep(found)


@dataclass(frozen=True)
class ProxyOptions:
    """Options of the kernel proxy, the fields of ``bench.proxy.Setting``."""

    law: Annotated[str, typer.Option("--law", help="Wave physics; see faultwave laws.")] = "elastic"
    order: Annotated[int, typer.Option("--order", help="Convergence order, 2 to 8.")] = 4
    precision: Annotated[str, typer.Option("--precision", help="double or single.")] = "double"
    cells: Annotated[
        int | None,
        typer.Option(
            "--cells", help="Approximate number of cells; default more than fit into the caches, at least 100,000."
        ),
    ] = None
    steps: Annotated[
        int | None, typer.Option("--steps", help="Time steps per repeat; default half a second of steps, at least 10.")
    ] = None
    threads: Threads = None
    faults: Annotated[
        float,
        typer.Option("--faults", metavar="SHARE", help="Fraction of the interior faces that have friction, 0 to 1."),
    ] = 0.0
    friction: Annotated[
        str,
        typer.Option(
            "--friction",
            metavar="LAW",
            help="Friction law of the faults, with modifiers after plus signs; see faultwave laws.",
        ),
    ] = "linear-slip-weakening"
    plasticity: Annotated[
        float | None,
        typer.Option(
            "--plasticity", metavar="SHARE", help="Rock that can yield, with this fraction of yielding cells, 0 to 1."
        ),
    ] = None
    stored_waves: Annotated[
        str | None,
        typer.Option("--stored-waves", metavar="single", help="Store the waves between cells in single precision."),
    ] = None
    backend: Annotated[
        str, typer.Option("--backend", help="Where kernels run: cpu, cuda, hip, opencl, numpy or auto.")
    ] = "cpu"
    repeats: Annotated[int, typer.Option("--repeats", help="Number of repeats; medians are shown.")] = 5


@app.command(epilog="Example: faultwave bench proxy --order 4 --threads 1 --json proxy.json")
@with_record_options
def proxy(options: ProxyOptions, json: Json = None) -> None:
    """Run the engine on a synthetic mesh without output and compare its rate with the machine's peaks.

    The mesh is unstructured and periodic, all cells share one time step; kernels, memory and threads are the same as in a run.
    """
    from faultwave.bench import report
    from faultwave.bench.proxy import Setting
    from faultwave.bench.proxy import proxy as measure

    files = _files(json)
    with screen.status("proxy") as say:
        result = measure(Setting(**vars(options)), say)
    _show(report.proxy_sections(result), result, files)


Case = Annotated[str, typer.Argument(metavar="CASE", help="A case, as for run.")]
Seconds = Annotated[float, typer.Option("--seconds", help="Seconds of time stepping in each repeat.")]


@dataclass(frozen=True)
class Several:
    """Numbers of processes and threads to measure."""

    ranks: Annotated[list[int] | None, typer.Option("--ranks", min=1, help="Processes; repeat for several.")] = None
    threads: Annotated[list[int] | None, typer.Option("--threads", min=1, help="Threads; repeat for several.")] = None
    progress: Annotated[list[str] | None, typer.Option("--progress", help="polling or thread; repeat for both.")] = None


@app.command(epilog="Example: faultwave bench scaling tpv5 --ranks 1 --ranks 2 --ranks 4 --threads 1")
@with_record_options
def scaling(
    case: Case,
    several: Several,
    weak: Annotated[
        bool, typer.Option("--weak", help="A box that grows with the processes, instead of one mesh.")
    ] = False,
    order: Annotated[int | None, typer.Option("--order", help="Convergence order.")] = None,
    seconds: Seconds = 2.0,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Repeats; means and deviations are shown.")] = 3,
    json: Json = None,
    picture: Annotated[Path | None, typer.Option("--picture", metavar="PNG", help="Draw the rates.")] = None,
) -> None:
    """Measure the strong or weak scaling of a case over numbers of processes and threads.

    Efficiencies are relative to the first line, for time stepping and for the whole run with its start.
    """
    from faultwave.bench import scaling as bench
    from faultwave.bench.results import Files

    found, files = [], Files(json=json, picture=picture)
    ranks, threads, modes = several.ranks or [1, 2], several.threads or [1], several.progress or ["polling"]
    options = [
        {"progress": m, "threads": n, **({} if order is None else {"order": order})} for m in modes for n in threads
    ]
    bench.check(case, options, seconds, files, weak=weak)
    launcher = launcher_for(max(ranks))
    with screen.status(case) as say:
        for each, mode, number in itertools.product(threads, modes, ranks):
            if number == 1 and mode != modes[0]:
                continue  # a single process sends no messages
            say(f"{number} processes of {each} threads, {mode}")
            requested = {"progress": mode} | ({} if order is None else {"order": order})
            chosen = bench.widened(case, number) if weak else case
            found.append(bench.run(launcher if number > 1 else "", chosen, number, each, requested, seconds, repeats))
    rows, header = bench.weak_scaling(found) if weak else bench.scaling(found)
    screen.out().print(screen.table(f"{case}: {found[0]['cells']:,} cells", rows, header))
    screen.files(files.keep(found, lambda path: bench.draw(found, path)))


@dataclass(frozen=True)
class Together:
    """Processes that exchange messages."""

    ranks: Annotated[int, typer.Option("--ranks", min=2, help="Processes.")] = 2
    threads: Annotated[int, typer.Option("--threads", min=1, help="Threads of each.")] = 1
    progress: Annotated[str, typer.Option("--progress", help="polling or thread.")] = "polling"


@app.command(epilog="Example: faultwave bench comm tpv5 --ranks 4")
@with_record_options
def comm(
    case: Case,
    together: Together,
    backend: Annotated[str | None, typer.Option("--backend", help="Where kernels run, as for run.")] = None,
    halo: Annotated[
        list[str] | None,
        typer.Option("--halo", help="Messages between devices: direct, host or auto; repeat for several."),
    ] = None,
    delay: Annotated[
        float,
        typer.Option(
            "--delay",
            min=0.0,
            help="Also delay messages by this time in seconds; shows how much is hidden.",
        ),
    ] = 0.0,
    seconds: Seconds = 2.0,
    json: Json = None,
) -> None:
    """Show what the processes of a case exchange in a largest time step, and how long they wait for it."""
    from faultwave.bench import scaling as bench
    from faultwave.bench.results import Files

    files = Files(json=json)
    measured, ranks, threads = [], together.ranks, together.threads
    given = {n: v for n, v in (("progress", together.progress), ("backend", backend)) if v is not None}
    options = [given | {"halo": way} for way in halo] if halo else [given]
    bench.check(case, [{**requested, "threads": threads} for requested in options], seconds, files, delay)
    launcher = launcher_for(ranks)
    with screen.status(case) as say:
        for requested in options:
            say(
                f"{ranks} processes of {threads} threads"
                + (f", halo {requested['halo']}" if "halo" in requested else "")
            )
            measured.append(bench.run(launcher, case, ranks, threads, requested, seconds, 10 if delay else 3, delay))
    for found in measured:
        _exchanged(found, delay)
    _show([], measured if len(measured) > 1 else measured[0], files)


def _exchanged(found: Measured, delay: float) -> None:
    """Show the measured communication of one configuration."""
    from faultwave.bench import scaling as bench

    if found["halo"]:
        screen.out().print(f"messages between devices: {found['halo']}", soft_wrap=True)
    screen.out().print(screen.table("a largest time step", *bench.traffic(found)), "")
    screen.out().print(screen.table("calls in a largest time step", *bench.profile(found)), "")
    if delay:
        at_once, times = bench.slowed(found)
        what = f"{1e3 * at_once:.3f} ms a largest time step; with messages {1e3 * delay:g} ms late"
        screen.out().print(f"{what} {100 * (times - 1):+.1f} %", soft_wrap=True)
    screen.out().print(screen.table("one repeat", bench.one_repeat(found, delay)), "")


@app.command(epilog="Example: faultwave bench fd --attenuation --cells 256 256 256 --threads 1 --json fd.json")
def fd(
    attenuation: Annotated[bool, typer.Option("--attenuation", help="With memory variables (constant Q).")] = False,
    cells: Annotated[
        tuple[int, int, int], typer.Option("--cells", metavar="NX NY NZ", help="Points along each axis.")
    ] = (256, 256, 256),
    threads: Threads = None,
    boundaries: Annotated[
        bool, typer.Option("--boundaries", help="CPML of 10 points inside the box, a free surface and receivers.")
    ] = False,
    precision: Annotated[str, typer.Option("--precision", help="single or double.")] = "single",
    repeats: Annotated[int, typer.Option("--repeats", help="Number of repeats; medians are shown.")] = 5,
    json: Json = None,
) -> None:
    """Run the engine fd on a box and compare its rate with the machine's memory bandwidth.

    The best blocking of space and time is searched first, as in a long run.
    """
    from faultwave.bench.grids import proxy as module

    files = _files(json)
    with screen.status("fd") as say:
        result = module.bench(module.Setting(cells, attenuation, boundaries, precision, threads, repeats), say)
    _show(module.sections(result), result, files)


@app.command(epilog="Example: faultwave bench grids --threads 1 --case fault --case few-yield")
def grids(
    cells: Annotated[int, typer.Option("--cells", help="Points along each axis.")] = 256,
    threads: Threads = None,
    precision: Annotated[str, typer.Option("--precision", help="single or double.")] = "single",
    repeats: Annotated[int, typer.Option("--repeats", help="Number of alternating repeats; medians are shown.")] = 5,
    case: Annotated[
        list[str] | None,
        typer.Option(
            "--case",
            help="surface, hill, blocks, everything, fault, few-yield, all-yield or soil; repeat for several. Default all.",
        ),
    ] = None,
    json: Json = None,
) -> None:
    """Measure the cost of surface, hills, blocks, layers, faults, yielding rock and soil on grids, against a plain box.

    The cases are measured in turns, so that a machine that slows down affects all equally.
    """
    from faultwave.bench.grids import features as module

    files = _files(json)
    with screen.status("grids") as say:
        result = module.bench(module.Setting(cells, precision, threads, repeats, case or ()), say)
    _show(module.sections(result), result, files)


@app.command(epilog="Example: faultwave bench peak --threads 2")
def peak(threads: Threads = None, json: Json = None) -> None:
    """Measure the machine's peak rates with C code compiled like kernels, for 1, 2, 4 ... threads.

    Multiply-adds on registers and with operands in the nearest cache; copy and triad of memory, with ordinary and with
    non-temporal stores.
    """
    from faultwave.bench import report
    from faultwave.bench.proxy import facts
    from faultwave.bench.results import check_counts
    from faultwave.bench.rooflines.roofs import measure

    problems = Problems()
    check_counts(problems, threads=threads)
    problems.raise_errors()
    files = _files(json)
    with screen.status("peak") as say:
        say("measuring")
        rows = measure(threads)
    _show([report.peak_section(rows)], {"format": "faultwave-bench-peak-1", **facts(), "roofs": rows}, files)


@app.command(epilog="Example: faultwave bench roofline proxy.json --output roofline.png")
def roofline(
    results: Annotated[list[Path], typer.Argument(metavar="JSON...", help="Files of faultwave bench proxy --json.")],
    output: Annotated[Path, typer.Option("--output", metavar="PNG", help="The picture.")] = Path("roofline.png"),
) -> None:
    """Draw a roofline diagram of kernels and whole updates with the measured peaks."""
    from faultwave.bench.proxy import read
    from faultwave.bench.rooflines.roofline import draw

    screen.files([draw([read(path) for path in results], output)])


@dataclass(frozen=True)
class SizeOptions:
    """Options of the size measurement, the fields of ``bench.size.Setting``."""

    cells: Annotated[
        list[float] | None,
        typer.Option(
            "--cells",
            help="Approximate number of cells, such as 1e4; repeat for several. Default ten thousand to ten million.",
        ),
    ] = None
    order: Annotated[int, typer.Option("--order", help="Convergence order, 2 to 8.")] = 4
    precision: Annotated[str, typer.Option("--precision", help="double or single.")] = "double"
    threads: Threads = None
    steps: Annotated[
        int,
        typer.Option(
            "--steps", help="Consecutive steps after the first; the median of three measurements is reported."
        ),
    ] = 10


@app.command(epilog="Example: faultwave bench size --cells 1e4 --cells 1e5 --picture size.png")
@with_record_options
def size(
    options: SizeOptions,
    destination: DrawnOptions,
) -> None:
    """Measure how set-up, steps and memory grow with the mesh, up to the size that memory allows.

    Each box runs in its own process. Use an otherwise idle machine: ten million cells take minutes and most of 24 GiB.
    """
    from faultwave.bench import size as module
    from faultwave.bench.results import Files

    files = Files(**vars(destination))
    requested = {name: value for name, value in vars(options).items() if value is not None}
    setting = module.Setting(**requested)
    module.check(setting, files)
    with screen.status("size") as say:
        found = module.measure(setting, say)
    _print_and_store(
        files, module.table_name(setting), module.markdown(found), found, lambda path: module.draw(found, path)
    )


@dataclass(frozen=True)
class DeviceOptions:
    """Options of the measurement of a graphics processor."""

    backend: Annotated[str, typer.Option("--backend", help="cuda, hip or opencl.")]
    cells: Annotated[int, typer.Option("--cells", help="Of the proxies.")] = 524_288
    few: Annotated[int, typer.Option("--few", help="Cells of the small proxy.")] = 4_096
    size: Annotated[float, typer.Option("--size", help="Edge of elements on TPV5's fault [m].")] = 160.0
    steps: Annotated[
        int | None, typer.Option("--steps", help="Time steps per repeat; default half a second of steps.")
    ] = None
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Number of repeats.")] = 5
    order: Annotated[
        list[int] | None, typer.Option("--order", help="Only this order; repeat for several, including 4.")
    ] = None


@app.command(epilog="Example: faultwave bench device --backend cuda --write docs/performance.md --json device.json")
@with_record_options
def device(
    options: DeviceOptions,
    destination: TableOptions,
) -> None:
    """Measure a graphics processor: proxies of every order, a small one, and TPV5 with outputs, against the targets."""
    from faultwave.bench import device_table as module
    from faultwave.bench.results import Files

    files = Files(**vars(destination))
    requested = dict(vars(options))
    orders = requested.pop("order")
    plan = module.Plan(**requested, orders=tuple(orders) if orders else None)
    module.check(plan, files)
    with screen.status("device") as say:
        found = module.measure(plan, say)
    _print_and_store(files, "device", module.markdown(found), found)


@dataclass(frozen=True)
class AccuracyOptions:
    """Options of the accuracy measurement."""

    problem: Annotated[
        list[str] | None,
        typer.Option("--problem", help="full-space, loh1, cavity or tpv5; repeat for several. Default all."),
    ] = None
    engine: Annotated[list[str] | None, typer.Option("--engine", help="dg or fd; default both.")] = None
    order: Annotated[list[int] | None, typer.Option("--order", help="Only this; repeat for several.")] = None
    budget: Annotated[
        float,
        typer.Option(
            "--budget",
            min=0.0,
            help="Core-seconds that no run should exceed; four times as much for tpv5.",
        ),
    ] = 40.0


@app.command(epilog="Example: faultwave bench accuracy --problem cavity --order 4 --json accuracy.json")
@with_record_options
def accuracy(
    options: AccuracyOptions,
    destination: DrawnOptions,
) -> None:
    """Measure the core-seconds needed for seismograms of a given error, over engines, orders, spacings and precisions.

    Problems with known solutions: a source in a full space, LOH.1, a ringing cavity, and TPV5 against a finer run. Spacings are refined
    until the error is small or a run would exceed the budget. The measured cost is processor time of one thread.
    """
    from faultwave.base.registry import get_entry
    from faultwave.bench.accuracy import ladder
    from faultwave.bench.accuracy import table as module
    from faultwave.bench.accuracy.picture import draw
    from faultwave.bench.accuracy.problem import problems
    from faultwave.bench.results import Files

    files = Files(**vars(destination))
    known = problems()
    chosen = [get_entry(known, name, "problem", "bench accuracy") for name in options.problem or known]
    ask = ladder.Ask(tuple(chosen), options.budget, tuple(options.engine or ()), tuple(options.order or ()))
    ladder.check(ask, files)
    with screen.status("accuracy") as say:
        measured = ladder.measure(ask, say)
    if not measured:
        what = "nothing was measured or written: the chosen problems need packages that are not installed"
        needs = sorted({problem.needs for problem in chosen if problem.needs})
        raise InputError(Problem("bench accuracy", what, advice=f"Install {', '.join(needs)}, or choose others."))
    found = module.written(measured)
    _print_and_store(files, "accuracy", module.markdown(found), found, lambda path: draw(found, path))


@app.command(epilog="Example: faultwave bench estimates --problem loh1")
def estimates(
    problem: Annotated[
        list[str] | None,
        typer.Option("--problem", help="full-space, loh1, loh1-blocks or tpv5; repeat for several. Default all."),
    ] = None,
) -> None:
    """Compare estimated with true errors of seismograms on problems with known solutions.

    Shown are the share within a factor of two, and the cost.

    The cost is the processor time of stepping on one thread, which short runs on a busy machine measure badly.
    """
    from faultwave.base.registry import get_entry
    from faultwave.bench.accuracy import estimates as module

    names = problem or list(module.TRUTHS)
    chosen = {name: get_entry(module.TRUTHS, name, "problem", "bench estimates") for name in names}
    with screen.status("estimates") as say:
        found = module.measure(chosen, say)
    screen.out().print(screen.table("estimated errors of seismograms", module.rows(found), module.HEADER), "")
    screen.out().print(f"within a factor of 2: {100 * module.within(found):.0f} % of all seismograms", soft_wrap=True)


@app.command(epilog="Example: faultwave bench table --write docs/performance.md --picture roofline.png")
@with_record_options
def table(
    destination: DrawnOptions,
    threads: Annotated[
        list[int] | None, typer.Option("--threads", help="Threads; repeat for several. Default 1 and 2.")
    ] = None,
    repeats: Annotated[int, typer.Option("--repeats", help="Number of repeats of each proxy.")] = 5,
) -> None:
    """Measure the proxies of every order in and out of cache (some minutes) and print the table of the documentation.

    Each runs in its own process. Use an otherwise idle machine.
    """
    from faultwave.bench import table as tables
    from faultwave.bench.results import Files
    from faultwave.bench.rooflines.roofline import draw

    files = Files(**vars(destination))
    counts = sorted(set(threads or (1, 2)))
    tables.check(counts, repeats, files)
    with screen.status("table") as say:
        results = tables.measure(counts, repeats, say)
    out_of_cache = [r for r in results if not r["in_cache"]]
    _print_and_store(files, "bench", tables.markdown(results), results, lambda path: draw(out_of_cache, path))
