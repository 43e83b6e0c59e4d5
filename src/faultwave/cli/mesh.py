"""Commands on meshes: look at one, convert one, make a built-in one."""

from __future__ import annotations

import typer

app = typer.Typer(help="Look at meshes, convert and make them.", no_args_is_help=True)
