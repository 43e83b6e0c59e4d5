"""Commands that list what there is: examples and laws."""

from __future__ import annotations

from typing import Protocol

import typer

from faultwave.cli import screen

Table = tuple[str, tuple[str, ...], list[tuple[str, ...]]]  # title, header, rows


def examples() -> None:
    """List the built-in cases; run, check and plan take their names."""
    from faultwave.case.examples import examples as find

    rows = [(example.name, example.title) for example in find().values()]
    screen.out().print(screen.table("examples", rows, ("name", "what it is")))


def laws() -> None:
    """List wave laws and friction laws with their parameters, constants and units."""
    for title, header, rows in law_tables():
        screen.out().print(screen.table(title, rows, header), "")


def law_tables() -> list[Table]:
    """Wave laws, then friction laws, as (title, header, rows): one row a law, its parameters on lines of their own."""
    from faultwave.base.registry import scan
    from faultwave.faults.law import FrictionLaw
    from faultwave.laws import laws as wave_laws

    waves: list[tuple[str, ...]] = [
        (law.name, law.title, "\n".join(map(_parameter, law.parameters))) for law in wave_laws().values()
    ]
    friction: list[tuple[str, ...]] = []
    for law in scan("faultwave.faults", FrictionLaw).values():
        numbers = "\n".join(map(_parameter, law.parameters))
        constants = "\n".join(map(_parameter, law.constants))
        friction.append((law.name, law.title, numbers, constants, str(law.deck_number)))
    return [
        ("wave laws", ("name", "what it is", "parameters"), waves),
        ("friction laws", ("name", "what it is", "parameters at every point", "constants", "FL in decks"), friction),
    ]


class Described(Protocol):
    """A parameter of any law."""

    @property
    def name(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def description(self) -> str: ...


def _parameter(parameter: Described) -> str:
    unit = f" [{parameter.unit}]" if parameter.unit else ""
    default = getattr(parameter, "default", None)
    end = f" (default {default:g})" if default is not None else ""
    return f"{parameter.name}{unit}: {parameter.description}{end}"


def add_commands(app: typer.Typer) -> None:
    """Give the program the commands of this file."""
    app.command(epilog="Example: faultwave examples")(examples)
    app.command(epilog="Example: faultwave laws")(laws)
