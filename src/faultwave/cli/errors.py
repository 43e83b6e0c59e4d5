"""Command that estimates errors of seismograms."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from faultwave.cli import screen
from faultwave.cli.launch import relaunch
from faultwave.cli.options import Ranks, Threads

HEADER = ("", "median", "90 % are below", "largest", "at receiver")


def estimate_errors(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a finished run with receivers.")],
    *,
    ranks: Ranks = None,
    threads: Threads = None,
) -> None:
    """Estimate the errors of the seismograms of a finished run, and write the estimates to its folder.

    Its case runs twice more, in memory and in single precision: at two lower orders, or on two coarser grids. Each receiver gets its
    relative errors of velocity and stress, in PREFIX-receivers.h5 and PREFIX-errors.csv.
    """
    relaunch(ranks, threads)
    estimate(folder, threads)


def estimate(folder: Path, threads: int | None = None) -> None:
    """Estimate errors and show them."""
    from faultwave.run.errors import estimate_errors as estimate_of
    from faultwave.run.errors import summary

    with screen.progress() as report:
        found = estimate_of(folder, report, threads)
    title = f"estimated errors of seismograms, from {found.attrs['estimated_from']}"
    screen.out().print(screen.table(title, summary(found), HEADER))
    screen.out().print(f"which took {found.attrs['cost']:.2f} times as long as the run", soft_wrap=True)


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    app.command("estimate-errors", epilog="Example: faultwave estimate-errors results")(estimate_errors)
