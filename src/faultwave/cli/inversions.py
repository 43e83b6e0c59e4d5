"""Command on inversions: check, compute the posterior, and show it."""

from __future__ import annotations

from typing import Annotated

import typer

from faultwave.cli import screen
from faultwave.cli.cases import warn
from faultwave.cli.options import Output


def invert(
    file: Annotated[str, typer.Argument(metavar="INVERSION", help="An inversion file (YAML).")],
    output: Output = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything, show sizes, and compute nothing.")
    ] = False,
) -> None:
    """Find kinematic slip, with its uncertainty, from seismograms, static offsets and stored strain Green tensors.

    All problems are reported before the computation. The result is one NetCDF file, a picture, and SRF files of the mean and of samples
    of the posterior.
    """
    from faultwave.inversion.inversion import Inversion
    from faultwave.inversion.result import NAME
    from faultwave.plot.slip_inversion import draw_inversion

    requested = Inversion(file, output)
    with screen.status(file) as say:
        say("reading everything")
        plan = requested.plan()
    warn(plan.warnings)
    title = requested.settings.title or file
    if dry_run:
        screen.out().print(screen.table(title, plan.rows()))
        return
    with screen.status(file) as say:
        say("computing the posterior")
        found = requested.run(plan)
    screen.out().print(screen.table(title, found.rows()))
    path = requested.folder / NAME
    screen.files([path, draw_inversion(path), requested.folder / "mean.srf", requested.folder / "samples"])


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    app.command(epilog="Example: faultwave invert inversion.yaml --dry-run")(invert)
