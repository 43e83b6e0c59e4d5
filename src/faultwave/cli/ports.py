"""Commands for cases with ports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from faultwave.cli import screen
from faultwave.cli.options import Backend, Order, Threads, Until


def scatter(
    case: Annotated[str, typer.Argument(metavar="CASE", help="Case file with ports, or name of an example.")],
    until: Until = None,
    output: Annotated[
        Path, typer.Option("--output", metavar="DIR", help="Folder for all files that are written.")
    ] = Path("."),
    order: Order = None,
    backend: Backend = None,
    threads: Threads = None,
) -> None:
    """Compute scattering parameters of a case with ports: one run per port, a Touchstone file and a picture.

    The file is named by the case's prefix, with suffix .s2p for two ports.
    """
    from faultwave.plot.scattering import plot_scattering
    from faultwave.run.scattering import save_scattering

    path = save_scattering(case, output, screen.out().print, until=until, order=order, backend=backend, threads=threads)
    screen.files([path, plot_scattering(path)])


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    app.command(epilog="Example: faultwave scatter guide.yaml --output results")(scatter)
