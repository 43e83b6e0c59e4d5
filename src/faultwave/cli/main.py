"""`faultwave`: the program. Commands live beside this file; the rooms they call are imported only when they run."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from faultwave.base.errors import FaultwaveError
from faultwave.cli import bench, cases, grids, kernels, launch, lists, mesh, ports, results, screen


class Guarded(screen.Commands):
    """The one place where an error meant for users becomes text on the screen and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except FaultwaveError as error:
            screen.show_error(error)
            launch.leave(error)
            raise typer.Exit(error.code) from error


app = typer.Typer(
    cls=Guarded,
    name="faultwave",
    help="Simulate spontaneous earthquake rupture and the waves that follow.",
    epilog="Example: faultwave run tpv5 --output demo",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help takes half the time
    pretty_exceptions_show_locals=False,
)
for part in (cases, results, grids, ports, lists):
    part.add_commands(app)
app.add_typer(mesh.app, name="mesh")
app.add_typer(kernels.app, name="kernels")
app.add_typer(bench.app, name="bench")


def _version(wanted: bool) -> None:
    if wanted:
        from faultwave.base.version import __version__

        screen.out().print(f"faultwave {__version__}")
        raise typer.Exit


@app.callback()
def options(
    ctx: typer.Context,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Also say what goes on inside.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Settle what holds for every command."""
    from faultwave.base.log import configure

    if launch.launched():
        ctx.with_resource(launch.heeding())  # as soon as can be: launchers tell all processes at once
    configure("INFO" if verbose else "WARNING")
    screen.speaking = launch.first()
    if not screen.speaking:
        configure("ERROR")


if __name__ == "__main__":
    app()
