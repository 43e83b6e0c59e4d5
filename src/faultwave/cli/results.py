"""Commands that start from results: plot, report, convert, compare, verify."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from faultwave.base.errors import InputError, Problem
from faultwave.base.types import Settings
from faultwave.cli import screen
from faultwave.cli.options import Order, with_record_options

if TYPE_CHECKING:
    from faultwave.case.settings.model import Case
    from faultwave.plot.style import Look
    from faultwave.verify.case import Result

LIMIT, RUPTURE_TIME = 0.05, 0.012
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run.")]


@dataclass(frozen=True)
class PictureOptions:
    """Options of pictures of a run."""

    field: Annotated[
        str | None, typer.Option("--field", help="Only maps of this field: v3, PGV, slip, speed (horizontal), ...")
    ] = None
    time: Annotated[
        str | None,
        typer.Option("--time", metavar="TIME", help="Time of the field, in seconds or with a unit; default the last."),
    ] = None
    format: Annotated[str, typer.Option("--format", help="png, pdf or svg.")] = "png"
    dpi: Annotated[int, typer.Option("--dpi", help="Dots per inch.")] = 200
    log: Annotated[bool, typer.Option("--log", help="Logarithmic colours on maps.")] = False
    stations: Annotated[
        str | None,
        typer.Option("--stations", metavar="A,B", help="Receivers by code or number, named on maps; default all."),
    ] = None
    axes: Annotated[
        str | None,
        typer.Option(
            "--axes", metavar="X,Y,Z", help="Names of the axes; default east,north,up if the case has these directions."
        ),
    ] = None


def plot(
    what: Annotated[str, typer.Argument(metavar="DIR|CASE", help="Folder of a run, or a case.")],
    drawing: PictureOptions,
    order: Order = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="DIR", help="Folder for the pictures; default DIR, for a case PREFIX-plan."),
    ] = None,
) -> None:
    """Draw the results of a run, or a case before it is run.

    Of a run: rupture time and slip on the fault, the surface, seismograms, energies. Of a case: map, sections and profiles of the
    material, faults with their stress and strength, resolution, time steps. Pictures go into the same folder; their names are printed.
    """
    from faultwave.plot.style import Look

    lists = {name: _words(getattr(drawing, name)) for name in ("stations", "axes")}
    look = Look(**{**vars(drawing), **lists})
    if Path(what).is_dir() or not _is_case(what):
        from faultwave.plot.run import plot_run

        if order is not None:
            raise InputError(
                Problem(
                    "--order", "is for pictures of a case; this is a run", advice="Leave it out, or name the case file."
                )
            )
        pictures = plot_run(what, output, look)
        if pictures.notes:
            screen.show_problems(pictures.notes)
        screen.files(pictures)
        return
    _plot_case(what, {} if order is None else {"order": order}, look, output)


def _is_case(name: str) -> bool:
    """Return True if a text names a file or an example, and no folder."""
    from faultwave.case.load import examples

    return Path(name).is_file() or name in examples()


def _plot_case(name: str, overrides: Settings, look: Look | None, output: Path | None) -> None:
    """Draw pictures of a plan."""
    from faultwave.plot.plans import plot_model
    from faultwave.run.inputs import load_valid_case
    from faultwave.run.planned import plan_model

    with screen.status(name) as say:
        say("reading everything")
        case, problems = load_valid_case(name, overrides)
        target = output or Path(f"{case.output.prefix}-plan")
        try:
            model, warnings = plan_model(case)
        except InputError as error:
            raise error_with_map(case, error, target, look) from None
        say("drawing")
        drawn = plot_model(model, target, look)
    if problems.warnings or warnings:
        screen.show_problems([*problems.warnings, *warnings])
    screen.files(drawn)


def _words(text: str | None) -> list[str] | None:
    """Split a text at commas."""
    return None if text is None else [word.strip() for word in text.split(",")]


def error_with_map(case: Case, error: InputError, folder: Path, look: Look | None = None) -> InputError:
    """Return the error after drawing a map of its places, if its problems have any."""
    from faultwave.plot.plans import plot_model
    from faultwave.run.sketch import sketch

    model = sketch(case, error.problems)
    if model is None:
        return error
    screen.files(plot_model(model, folder, look))
    return type(error)([replace(p, places=()) for p in error.problems])  # the places have been drawn


def report(
    folder: Folder,
    other: Annotated[
        Path | None, typer.Option("--compare", metavar="DIR", help="Folder of another run, shown side by side.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", help="The page; default PREFIX-report.html in DIR.")
    ] = None,
    observed: Annotated[
        Path | None,
        typer.Option("--observed", metavar="DIR", help="Folder of miniSEED or SAC files, shown with the seismograms."),
    ] = None,
) -> None:
    """Write an HTML report on a run or an ensemble: interactive figures, seismograms with filters, energies, cost, and provenance.

    The page is self-contained and fetches nothing.
    """
    from faultwave.report import write_report

    with screen.status("report"):
        written = write_report(folder, output, compare=other, observed=observed)
    screen.files([written])


def convert(
    folder: Folder,
    kind: Annotated[
        str,
        typer.Argument(
            metavar="FORMAT",
            help="csv, sac, mseed, stationxml, motions, scec, dtopo, srf, nrf, fsrm, fsp, param, rupture-json, or a "
            "format of an installed package.",
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", metavar="DIR", help="Folder for the files; default DIR itself.")
    ] = None,
    spacing: Annotated[
        float | None,
        typer.Option(
            "--spacing",
            metavar="METRES",
            help="Spacing of the grid of dtopo, by default the size of the triangles; edge of the subfaults of a "
            "finite source, by default one for each face of the fault.",
        ),
    ] = None,
    frequency: Annotated[
        float | None,
        typer.Option(
            "--frequency",
            metavar="HZ",
            help="Highest frequency of a finite source; default the highest that is stored.",
        ),
    ] = None,
    srf_version: Annotated[
        str | None, typer.Option("--srf-version", help="Version of srf: 2.0 (default) or 1.0.")
    ] = None,
) -> None:
    """Write the results of a run in another format.

    Receivers as csv, sac, mseed, stationxml (their positions), motions (tables of intensity measures), or scec station files and contours;
    the motion of the sea floor as dtopo, for tsunami codes; a rupture as srf, nrf, fsrm, fsp or param, a finite source for
    other codes; its extent as rupture-json, for ShakeMap.
    """
    from faultwave.output.results import convert as convert_run

    screen.files(convert_run(folder, kind, output, spacing=spacing, frequency=frequency, srf_version=srf_version))


@dataclass(frozen=True)
class Records:
    """Options on the processing of observed records, and of the run, before they are compared."""

    quantity: Annotated[
        str, typer.Option("--quantity", help="For records: compare displacement, velocity or acceleration.")
    ] = "velocity"
    low: Annotated[
        float | None, typer.Option("--low", metavar="HZ", help="Corner of the high-pass filter of both.")
    ] = None
    high: Annotated[
        float | None, typer.Option("--high", metavar="HZ", help="Corner of the low-pass filter of both.")
    ] = None
    units: Annotated[
        str | None,
        typer.Option("--units", metavar="QUANTITY", help="For records: SI unit of files that do not state theirs."),
    ] = None
    least: Annotated[
        float | None,
        typer.Option("--least", metavar="SCORE", help="For records: exit with 1 if the mean score is lower."),
    ] = None


def compare(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")],
    reference: Annotated[
        Path,
        typer.Argument(metavar="REFERENCE", help="Folder of the reference: a run, or miniSEED and SAC files."),
    ],
    records: Records,
    limit: Annotated[float, typer.Option("--limit", help="Largest misfit allowed of any group.")] = LIMIT,
    group: Annotated[
        list[str] | None,
        typer.Option("--group", metavar="NAME=LIMIT", help="Another limit for one group; may be repeated."),
    ] = None,
    rupture_time: Annotated[
        float, typer.Option("--rupture-time", help="Difference allowed in seconds.")
    ] = RUPTURE_TIME,
    until: Annotated[
        str | None,
        typer.Option("--until", metavar="TIME", help="Ignore later times; in seconds or with a unit."),
    ] = None,
    json: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Also write the misfits here.")] = None,
) -> None:
    """Compare a run with a reference run, ours or SeisSol's, or score it against observed records.

    Runs: receivers, fault receivers, energies. Records, by station code or place: goodness of fit after Anderson (2004), envelope and
    phase after Kristekova et al. (2009), 0 to 10.

    Exits with 0 within all limits, 1 over a limit or something missing, 2 nothing to compare.
    """
    limits = {"--limit": limit != LIMIT, "--group": bool(group), "--rupture-time": rupture_time != RUPTURE_TIME}
    observed = _has_records(reference)
    _check_options(reference, observed, [name for name, reported in limits.items() if reported], records)
    if observed:
        _score(run, reference, records, until, json)
        return
    from faultwave.output.atomic import atomic_text
    from faultwave.verify.compare import compare as compare_runs
    from faultwave.verify.compare import render_comparison

    of_groups = dict(_group_limit(text) for text in group or ())
    comparison = compare_runs(
        run,
        reference,
        limit,
        limits=of_groups,
        rupture_time=rupture_time,
        until=until,
        band=(records.low, records.high),
    )
    screen.out().print(render_comparison(comparison))
    if json is not None:
        import json as writer

        with atomic_text(json) as file:
            writer.dump(comparison.as_dict(), file, indent=1)
            file.write("\n")
    if comparison.exit_code:
        raise typer.Exit(comparison.exit_code)


def _check_options(reference: Path, observed: bool, of_runs: Sequence[str], records: Records) -> None:
    """Raise InputError for options that do nothing: ``of_runs`` with observed records, those of records with a run."""
    if observed and of_runs:
        raise InputError(Problem(", ".join(of_runs), f"has no effect: {reference} contains records", "--least SCORE"))
    if not observed and replace(records, low=None, high=None) != Records():
        what = "contains no records, so --quantity, --units and --least have no effect"
        advice = "Leave them out, or name a folder of miniSEED or SAC files."
        raise InputError(Problem(str(reference), what, advice=advice))


def _has_records(folder: Path) -> bool:
    """Return True if a folder holds observed records and no run."""
    from faultwave.output.folder import find_prefix
    from faultwave.output.observed import holds_records

    try:
        find_prefix(folder)
    except InputError:
        return folder.is_dir() and holds_records(folder)
    return False


def _score(run: Path, data: Path, records: Records, until: str | None, json: Path | None) -> None:
    """Print scores against observed records."""
    from faultwave.base.units import seconds
    from faultwave.output.atomic import atomic_text
    from faultwave.verify.observed import HEADER, score

    requested = {name: value for name, value in vars(records).items() if name != "least"}
    found = score(run, data, until=seconds(until, "until"), **requested)
    if found.warnings:
        screen.show_problems(found.warnings)
    title = f"{run} against {data}: {found.processing.describe()}"
    screen.out().print(screen.table(title, [s.row for s in found.scores], HEADER))
    screen.out().print(f"mean score {found.mean:.2f} of 10")
    if json is not None:
        import json as writer

        with atomic_text(json) as file:
            writer.dump(found.as_dict(), file, indent=1)
            file.write("\n")
    if records.least is not None and not found.mean >= records.least:
        raise typer.Exit(screen.EXIT_RUN)


def _group_limit(text: str) -> tuple[str, float]:
    name, equals, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError:
        what = f"'{text}' is not of the form NAME=LIMIT" if not equals else f"'{value}' is not a number"
        raise InputError(Problem("--group", what, "a limit like 'slip rate=0.04'")) from None


def verify(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A verification case; without it all are listed.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Argument(metavar="[BENCHMARK]...", help="For 'scec': benchmarks such as tpv5; default all."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Run all cases, the quick ones first.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="For 'scec': coarse elements, a minute or two each.")] = False,
    engine: Annotated[
        str, typer.Option("--engine", help="For 'scec': dg, or fd for benchmarks on a grid, compared with dg.")
    ] = "dg",
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="DIR", help="For 'scec': folder for cases, meshes, results and pictures."),
    ] = None,
    reuse: Annotated[
        bool, typer.Option("--reuse", help="For 'scec': read completed runs in --output instead of running them again.")
    ] = False,
    write: Annotated[
        Path | None,
        typer.Option("--write", metavar="FILE", help="For 'scec': write all results in --output to this page."),
    ] = None,
) -> None:
    """Run a case with a known solution and print measured against expected values; exits with 1 if it falls short.

    'scec' runs all benchmarks of the SCEC/USGS rupture code comparison, or those that are named after it.
    """
    from faultwave.verify.case import VerificationCase, cases, find, render_list, render_result

    if name is None and not every:
        screen.out().print(render_list(cases()))
        return
    plan = _scec_plan(name, write, only or [], quick, output, engine, reuse)
    chosen: list[VerificationCase]
    chosen = sorted(cases().values(), key=lambda case: case.minutes) if every else [find(str(name))]
    fell_short = []
    for case in chosen:
        with screen.status(case.name) as say:
            result = case.run(say) if plan is None else plan(say)
        screen.out().print(render_result(case, result), "")
        if result.exit_code:
            fell_short.append(case.name)
    if write is not None and output is not None:
        from faultwave.verify.scec.page import write as write_page

        screen.files(write_page(write, output))
    if fell_short:
        screen.err().print(f"below the limit: {', '.join(fell_short)}", style="bold red", soft_wrap=True)
        raise typer.Exit(screen.EXIT_RUN)


def _scec_plan(
    name: str | None, write: Path | None, only: list[str], quick: bool, output: Path | None, engine: str, reuse: bool
) -> Callable[[Callable[[str], None]], Result] | None:
    """Return the function that runs 'scec', None for other cases, which have none of its options."""
    if name != "scec":
        given = {"BENCHMARK": only, "--quick": quick, "--engine": engine != "dg", "--output": output, "--reuse": reuse}
        if wrong := [option for option, value in {**given, "--write": write}.items() if value]:
            raise InputError(Problem(wrong[0], "applies to 'faultwave verify scec' only", "--all"))
        return None
    if engine not in ("dg", "fd"):
        raise InputError(Problem("--engine", f"'{engine}' is not an engine that runs benchmarks", "dg, fd"))
    for option, given_too in (("--write", write), ("--reuse", reuse)):
        if given_too and output is None:
            raise InputError(Problem(option, "needs the results of a folder", "--output DIR as well"))
    from faultwave.verify.scec.drive import Plan, run_all

    return partial(run_all, plan=Plan(tuple(only), quick, output, engine, reuse))


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    commands: tuple[tuple[Callable[..., None], str], ...] = (
        (plot, "Example: faultwave plot demo --field PGV --log --format pdf"),
        (report, "Example: faultwave report demo --compare other --observed data"),
        (convert, "Example: faultwave convert demo csv --output tables"),
        (compare, "Example: faultwave compare results reference --limit 0.08 --group 'slip rate=0.04'"),
        (verify, "Example: faultwave verify plane-wave, or faultwave verify scec tpv5 tpv10 --quick --output scec"),
    )
    for command, example in commands:
        app.command(epilog=example)(with_record_options(command))
