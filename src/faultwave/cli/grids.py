"""Commands for cases on grids."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from faultwave.cli import screen
from faultwave.cli.options import Backend, Force, Precision, Threads, Until, given


def sgt(
    case: Annotated[str, typer.Argument(metavar="CASE", help="Case file of the engine fd, or name of an example.")],
    points: Annotated[
        Path | None,
        typer.Option(
            "--points", metavar="FILE", help="File of points for the strain, x y z per line; default the sources."
        ),
    ] = None,
    duration: Annotated[
        float | None,
        typer.Option(
            "--duration",
            help="Standard deviation of the Gaussian of the forces in seconds; default the shortest that is resolved.",
        ),
    ] = None,
    until: Until = None,
    output: Annotated[
        Path, typer.Option("--output", metavar="DIR", help="Folder for all files that are written.")
    ] = Path("."),
    backend: Backend = None,
    precision: Precision = None,
    threads: Threads = None,
    force: Force = False,
) -> None:
    """Compute strain Green tensors by reciprocity: three runs with forces at each receiver, strain at the sources.

    One NetCDF file, PREFIX-sgt.nc; `faultwave.green_tensors.seismograms` makes seismograms of any moment tensors from it.
    """
    from faultwave.green_tensors import save_green_tensors

    changes = given(until=until, backend=backend, precision=precision, threads=threads)
    path = save_green_tensors(case, output, points, duration, screen.out().print, force=force, **changes)
    screen.files([path])


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    app.command(epilog="Example: faultwave sgt basin.yaml --output results")(sgt)
