"""Program `faultwave`.

Its commands are in the other files of this package; a file is imported when one of its commands is used, and the packages that it calls
when the command runs.
"""

from __future__ import annotations

import errno
import importlib
from collections.abc import MutableMapping
from functools import cache
from typing import Annotated, Any

import typer

from faultwave.base.errors import FaultwaveError, InputError, Interrupted, Problem
from faultwave.base.processes import signals
from faultwave.base.types import Settings
from faultwave.base.wording import command_line
from faultwave.cli import launch, screen

FILES = {
    "new": ("new",),
    "cases": ("run", "resume", "check", "plan", "tune", "submit"),
    "ensembles": ("ensemble", "serve"),
    "errors": ("estimate-errors",),
    "results": ("plot", "report", "convert", "compare", "verify"),
    "grids": ("sgt",),
    "campaigns": ("campaign",),
    "inversions": ("invert",),
    "ports": ("scatter",),
    "lists": ("examples", "laws"),
    "mesh": ("mesh",),
    "kernels": ("kernels",),
    "bench": ("bench",),
}
"""Commands of each file, in the order of the help."""


@cache
def commands_of(file: str) -> dict[str, Any]:
    """Return the commands of a file of this package by name."""
    module, made = importlib.import_module(f"faultwave.cli.{file}"), typer.Typer(rich_markup_mode=None)
    if hasattr(module, "add_commands"):
        module.add_commands(made)
    else:
        made.add_typer(module.app, name=file)
    return dict(typer.main.get_group(made).commands)


class FaultwaveCommands(screen.Commands):
    """Group of all commands, each imported on use; errors for users become text on the screen and an exit code here."""

    @property
    def commands(self) -> MutableMapping[str, Any]:
        """All commands by name; every file is imported."""
        found = {name: command for file in FILES for name, command in commands_of(file).items()}
        return {**found, **self._own}

    @commands.setter
    def commands(self, own: MutableMapping[str, Any]) -> None:
        self._own = own

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, None if it does not exist."""
        file = next((file for file, names in FILES.items() if cmd_name in names), None)
        return self._own.get(cmd_name) if file is None else commands_of(file).get(cmd_name)

    def invoke(self, ctx: Any) -> Any:
        reported = (
            launch.stopped_in_setup if launch.launched() else launch.stopped_without_result
        )  # launchers signal all processes at once
        launch.watch()
        with command_line():
            try:
                with launch.stop_signals_as_errors(reported):
                    return super().invoke(ctx)
            except typer.BadParameter as error:
                error.message = _with_value(error)
                raise
            except FaultwaveError as error:
                screen.show_error(error)
                launch.leave(error)
                raise typer.Exit(error.code) from error
            except KeyboardInterrupt as error:
                if str(error):
                    screen.show_error(Interrupted(str(error)))
                if isinstance(error, signals.StopSignal):
                    launch.leave(error)
                raise typer.Exit(getattr(error, "code", signals.AT_ONCE)) from error


def _with_value(error: typer.BadParameter) -> str:
    """Return the error text of an option with the given value, which some versions of typer omit."""
    listed: list[Settings] = getattr(error.__cause__, "errors", list)()
    value = listed[0].get("input") if listed else None
    return error.message if value is None or str(value) in error.message else f"'{value}'. {error.message}"


class Program(typer.Typer):
    """Program that ends with the exit code of its command."""

    def __call__(self, *args: object, **kwargs: object) -> Any:
        try:
            return super().__call__(*args, **kwargs)
        except SystemExit as done:
            launch.end(done.code)
            raise
        except OSError as error:
            if error.errno != errno.ENOSPC or error.filename is not None:
                raise
            # other files are named in their own errors: this is the redirected standard output
            screen.show_error(FaultwaveError("the output of this command could not be written: the disk is full"))
            screen.discard_output()
            raise SystemExit(FaultwaveError.code) from None


app = Program(
    cls=FaultwaveCommands,
    name="faultwave",
    help="Simulate spontaneous earthquake rupture and the waves that follow.",
    epilog="Example: faultwave run tpv5 --output demo",
    rich_markup_mode=None,  # plain help takes half the time
    pretty_exceptions_show_locals=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        from faultwave.base.version import __version__

        screen.out().print(f"faultwave {__version__}")
        raise typer.Exit


@app.callback()
def options(
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Also print internal progress.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Apply the options that all commands share."""
    from faultwave.base.log import configure

    configure("INFO" if verbose else "WARNING")
    screen.speaking = launch.first()
    if not screen.speaking:
        configure("ERROR")


@app.command("help", epilog="Example: faultwave help run")
def help_of(
    ctx: typer.Context,
    names: Annotated[list[str] | None, typer.Argument(metavar="COMMAND", help="A command; default all.")] = None,
) -> None:
    """Print the help of a command, or list all commands."""
    assert ctx.parent is not None  # the program
    context, command = ctx.parent, ctx.parent.command
    for position, name in enumerate(names or ()):
        if not isinstance(command, screen.Commands):
            path = " ".join(["faultwave", *(names or ())[:position]])
            raise InputError(
                Problem("help", f"'{path}' has no commands of its own", advice=f"faultwave help {path[10:]}")
            )
        _, found, _ = command.resolve_command(context, [name])  # suggests a similar name if there is none
        assert found is not None
        command = found
        context = typer.Context(command, info_name=name, parent=context)
    typer.echo(command.get_help(context))


if __name__ == "__main__":
    app()
