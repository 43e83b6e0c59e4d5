"""Commands that list examples and laws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from faultwave.base.errors import InputError, Problem, suggest
from faultwave.cli import screen

if TYPE_CHECKING:
    from faultwave.base.quantities import Parameter

Table = tuple[str, tuple[str, ...], list[tuple[str, ...]]]  # title, header, rows
HEADER = ("parameter", "unit", "default", "given", "meaning")


def examples(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Print this case.")] = None,
) -> None:
    """List the built-in cases, whose names run, check and plan accept, or print one of them."""
    from faultwave.case.load import example_text
    from faultwave.case.load import examples as find

    found = find()
    if name is None:
        screen.out().print(screen.table("examples", found.items(), ("name", "what it is")))
    elif name in found:
        typer.echo(example_text(name), nl=False)
    else:
        raise InputError(Problem("examples", f"'{name}' does not exist", ", ".join(found), suggest(name, found)))


def laws() -> None:
    """List wave laws, friction laws, modifiers and rheologies, with their parameters, units and defaults."""
    for title, header, rows in law_tables():
        screen.out().print(screen.table(title, rows, header), "")


def law_tables() -> Iterator[Table]:
    """Yield a table for each law, wave laws first: parameters with unit, default, place and meaning."""
    from faultwave.physics.friction import laws as friction_laws
    from faultwave.physics.friction.modifiers import modifiers
    from faultwave.physics.rheology import rheologies
    from faultwave.physics.waves import laws as wave_laws

    for wave in wave_laws().values():
        yield f"{wave.name} (waves): {wave.title}", HEADER, [_row(p, "in every cell") for p in wave.parameters]
    for law in friction_laws().values():
        number = f", FL = {law.deck_number}" if law.deck_number > 0 else ""
        yield f"{law.name} (friction{number}): {law.title}", HEADER, _rows(law)
    for modifier in modifiers().values():
        yield f"{modifier.name} (modifies friction): {modifier.title}", HEADER, _rows(modifier)
    for rheology in rheologies().values():
        yield f"{rheology.name} (rheology): {rheology.title}", HEADER, _rows(rheology)


class Parametrised(Protocol):
    """Law, modifier or rheology with its parameters."""

    @property
    def parameters(self) -> Sequence[Parameter]: ...

    @property
    def constants(self) -> Sequence[Parameter]: ...


def _rows(law: Parametrised) -> list[tuple[str, ...]]:
    """Return rows for the parameters and constants of a law."""
    rows = [_row(p, "at every point") for p in law.parameters]
    return rows + [_row(p, "once, in constants") for p in law.constants]


def _row(parameter: Parameter, given: str) -> tuple[str, ...]:
    default = parameter.default
    known = default is not None and bool(parameter.accepts(default))  # others mean what the description states
    return parameter.name, parameter.unit, f"{default:g}" if known else "", given, parameter.description


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    app.command(epilog="Example: faultwave examples")(examples)
    app.command(epilog="Example: faultwave laws")(laws)
