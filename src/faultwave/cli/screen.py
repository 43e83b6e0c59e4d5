"""Screen output of commands: problems, tables, progress.

Results go to standard output, everything else to standard error.
"""

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
from faultwave.base.log import status_listener
from faultwave.base.progress import Report, shown
from faultwave.base.wording import printable

if TYPE_CHECKING:  # rich is imported when something is shown: help needs none of it
    from rich.console import Console, Group

EXIT_RUN, EXIT_INPUT = 1, 2

speaking = True
"""True if this process writes to the terminal, which only process 0 does."""


class Commands(TyperGroup):
    """Group of commands whose help shows the complete first paragraph of each."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Show the help and exit successfully if there are no arguments."""
        if not args and not ctx.resilient_parsing:
            echo(ctx.get_help())
            ctx.exit()
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write names and first paragraphs of all commands, wrapped."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(n, " ".join((c.help or "").split("\n\n")[0].split())) for n, c in commands if c and not c.hidden]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def out() -> Console:
    """Return standard output; created on each call, so that a replaced stream of a test or pipe is used."""
    from rich.console import Console

    return Console(highlight=False, quiet=not speaking)


def discard_output() -> None:
    """Discard the rest of standard output, which Python would otherwise fail on again at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def err() -> Console:
    """Return standard error."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, quiet=not speaking)


def show_error(error: FaultwaveError) -> None:
    """Show an error in full: every problem of an InputError, the text of any other."""
    from rich.text import Text

    if isinstance(error, InputError):
        show_problems(error.problems)
        return
    title = "the run stopped" if isinstance(error, RunError) else "error"
    err().print(Text.assemble((f"{title}: ", "bold red"), printable(str(error))), soft_wrap=True)


def show_problems(problems: Iterable[Problem]) -> None:
    """Show each problem as a short block of place, description, allowed values and advice, then their number."""
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
        # soft_wrap: a broken path or number could not be searched for
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


def table(title: str, rows: Iterable[Sequence[object]], header: Sequence[str] = ()) -> Group:
    """Return a plain table with a title; without a header the first column names the rows."""
    from rich.console import Group
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    cells = [[printable(str(value)) for value in row] for row in rows]
    made = Table(box=None, pad_edge=False, show_header=bool(header))
    columns = max([len(header), *map(len, cells)])
    for i in range(columns):
        name = header[i] if i < len(header) else ""
        # entries of the first column and numbers must be searchable, so they are never broken
        words = [word for row in cells if i < len(row) for word in row[i].split() if word[:1].isdigit()]
        width = max(map(len, words), default=None) if max(map(len, words), default=0) <= 20 else None
        made.add_column(escape(name), overflow="fold", no_wrap=i == 0, min_width=width, style="cyan" if i == 0 else "")
    for row in cells:
        made.add_row(*(Text(value) for value in row))
    # the title is separate, because a table's own title is wrapped at the width of a narrow table
    return Group(Text(printable(title), style="bold"), made)


def heading(text: str) -> None:
    """Print a line that separates parts of a long output."""
    from rich.text import Text

    out().rule(Text(printable(text), style="bold"), align="left")


def files(paths: Iterable[object]) -> None:
    """Print one written file per line, plain, so that a script can read the list."""
    from rich.text import Text

    for path in paths:
        out().print(Text(str(path)), soft_wrap=True)


def progress() -> AbstractContextManager[Report]:
    """Provide a progress callback for a simulation: a live bar on a terminal, occasional lines elsewhere."""
    return shown(err())


@contextmanager
def status(title: str) -> Iterator[Callable[[str], None]]:
    """Provide a status callback for long work: one changing line on a terminal, lines elsewhere."""
    from rich.markup import escape
    from rich.text import Text

    console = err()
    if not console.is_terminal:

        def line(text: str) -> None:
            console.print(Text(f"{title}: {text}"), soft_wrap=True)

        with status_listener(line):
            yield line
        return
    with console.status(escape(title)) as spinner:

        def change(text: str) -> None:
            spinner.update(Text(f"{title}: {text}"))

        with status_listener(change):
            yield change
