"""Command on inversions: check, compute the posterior, and show it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from faultwave.cli import screen
from faultwave.cli.cases import warn
from faultwave.cli.options import Output


def invert(
    file: Annotated[str, typer.Argument(metavar="INVERSION", help="An inversion file (YAML).")],
    output: Output = None,
    points: Annotated[
        Path | None,
        typer.Option(
            "--points", metavar="FILE", help="Only write the places of all subfaults, for `sgt --points FILE`."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything, show sizes, and compute nothing.")
    ] = False,
) -> None:
    """Find kinematic slip or a moment tensor, with uncertainty, from seismograms, static offsets and stored strain Green tensors.

    All problems are reported before the computation. The result is one NetCDF file and a picture; of slip also SRF files of the mean and
    of samples of the posterior, of a moment tensor a table of the places that were tried and an event in QuakeML.
    """
    from faultwave.inversion.inversion import Inversion
    from faultwave.inversion.moment_tensor import quakeml
    from faultwave.inversion.moment_tensor import result as moment_tensor
    from faultwave.inversion.result import NAME
    from faultwave.plot.inversions.moment_tensor import draw_moment_tensor
    from faultwave.plot.inversions.slip import draw_inversion

    requested = Inversion(file, output)
    if points is not None:
        count = requested.write_points(points)
        screen.err().print(f"{count:,} points", soft_wrap=True)
        screen.files([points])
        return
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
    if isinstance(found, moment_tensor.MomentTensorResult):
        warn(found.warnings)
    folder = requested.folder
    if requested.settings.moment_tensor is not None:
        path = folder / moment_tensor.NAME
        event = [folder / quakeml.NAME] if requested.settings.origin_time is not None else []
        screen.files([path, draw_moment_tensor(path), folder / moment_tensor.TABLE, *event])
        return
    path = folder / NAME
    screen.files([path, draw_inversion(path), folder / "mean.srf", folder / "samples"])


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    app.command(epilog="Example: faultwave invert inversion.yaml --dry-run")(invert)
