"""What commands show: problems, tables, progress. Results go to standard output, all else to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from typer import echo
from typer.core import TyperGroup

from faultwave.base.errors import FaultwaveError, InputError, Problem, RunError
from faultwave.base.progress import Report, shown
from faultwave.base.telling import listening
from faultwave.base.words import printable

if TYPE_CHECKING:  # rich is imported when something is shown: help needs none of it
    from rich.console import Console, Group

EXIT_RUN, EXIT_INPUT = 1, 2

speaking = True
"""Of several processes only the first speaks."""


class Commands(TyperGroup):
    """Commands whose help says of each what it does, however long the line."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Without arguments: the help, which is no mistake."""
        if not args and not ctx.resilient_parsing:
            echo(ctx.get_help())
            ctx.exit()
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Names and the first sentence of every command, wrapped."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(n, " ".join((c.help or "").split("\n\n")[0].split())) for n, c in commands if c and not c.hidden]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def out() -> Console:
    """Standard output; made when needed, so that a test or a pipe that replaced it is honoured."""
    from rich.console import Console

    return Console(highlight=False, quiet=not speaking)


def discard_output() -> None:
    """Let what standard output still holds go nowhere: Python would fail on it once more at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def err() -> Console:
    """Standard error."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, quiet=not speaking)


def show_error(error: FaultwaveError) -> None:
    """An error in full: every problem of an InputError, the text of any other."""
    from rich.text import Text

    if isinstance(error, InputError):
        show_problems(error.problems)
        return
    title = "the run stopped" if isinstance(error, RunError) else "error"
    err().print(Text.assemble((f"{title}: ", "bold red"), printable(str(error))), soft_wrap=True)


def show_problems(problems: Iterable[Problem]) -> None:
    """Each problem as a short block: where, what, what is allowed, what to do; then how many there are."""
    from rich.text import Text

    problems = [
        replace(
            p,
            where=printable(p.where),
            what=printable(p.what),
            allowed=printable(p.allowed),
            advice=printable(p.advice),
        )
        for p in problems
    ]
    console = err()
    for problem in problems:
        style = "red" if problem.severity == "error" else "yellow"
        # soft_wrap: a path or a number must never be broken in two, or nobody can search for it
        console.print(
            Text.assemble((f"{problem.severity}: ", f"bold {style}"), (problem.where, "bold")), soft_wrap=True
        )
        console.print(Text(f"  {problem.what}"), soft_wrap=True)
        if problem.allowed:
            console.print(Text.assemble(("  allowed: ", "dim"), problem.allowed), soft_wrap=True)
        if problem.advice:
            console.print(Text.assemble(("  advice: ", "cyan"), problem.advice), soft_wrap=True)
    counts = [(kind, sum(p.severity == kind for p in problems)) for kind in ("error", "warning")]
    console.print(Text(", ".join(f"{n} {kind}{'s' * (n != 1)}" for kind, n in counts if n), style="bold"))
    if any(p.places for p in problems):
        console.print("`faultwave plot CASE` draws a map of where", soft_wrap=True)


def table(title: str, rows: Iterable[Sequence[Any]], header: Sequence[str] = ()) -> Group:
    """A plain table under its title; without a header the first column names what the others say."""
    from rich.console import Group
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    rows = [[printable(str(value)) for value in row] for row in rows]
    made = Table(box=None, pad_edge=False, show_header=bool(header))
    columns = max([len(header), *map(len, rows)])
    for i in range(columns):
        name = header[i] if i < len(header) else ""
        # what the first column names must be found again, so it is never broken; nor are numbers
        words = [word for row in rows if i < len(row) for word in row[i].split() if word[:1].isdigit()]
        width = max(map(len, words), default=None) if max(map(len, words), default=0) <= 20 else None
        made.add_column(escape(name), overflow="fold", no_wrap=i == 0, min_width=width, style="cyan" if i == 0 else "")
    for row in rows:
        made.add_row(*(Text(value) for value in row))
    # the title stands apart: as the table's own it would be broken at the width of a narrow table
    return Group(Text(printable(title), style="bold"), made)


def heading(text: str) -> None:
    """A line that separates parts of a long output."""
    from rich.text import Text

    out().rule(Text(printable(text), style="bold"), align="left")


def files(paths: Iterable[Any]) -> None:
    """One written file a line, plain, so that a script can read the list."""
    from rich.text import Text

    for path in paths:
        out().print(Text(str(path)), soft_wrap=True)


def progress() -> AbstractContextManager[Report]:
    """A callback for a simulation: a live bar on a terminal, now and then a line elsewhere."""
    return shown(err())


@contextmanager
def status(title: str) -> Iterator[Callable[[str], None]]:
    """A callback for long work that tells what it is doing: one changing line on a terminal, lines elsewhere."""
    from rich.markup import escape
    from rich.text import Text

    console = err()
    if not console.is_terminal:

        def line(text: str) -> None:
            console.print(Text(f"{title}: {text}"), soft_wrap=True)

        with listening(line):
            yield line
        return
    with console.status(escape(title)) as spinner:

        def change(text: str) -> None:
            spinner.update(Text(f"{title}: {text}"))

        with listening(change):
            yield change
