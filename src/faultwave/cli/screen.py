"""What commands show: problems, tables, progress. Results go to standard output, all else to standard error."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from typer.core import TyperGroup

from faultwave.base.errors import FaultwaveError, InputError, Problem, RunError

if TYPE_CHECKING:  # rich is imported when something is shown: help needs none of it
    from rich.console import Console, Group
    from rich.progress import Progress

EXIT_RUN, EXIT_INPUT = 1, 2

speaking = True
"""Of several processes only the first speaks."""


class Commands(TyperGroup):
    """Commands whose help says of each what it does, however long the line."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Names and the first sentence of every command, wrapped."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(n, " ".join((c.help or "").split("\n\n")[0].split())) for n, c in commands if c and not c.hidden]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class StepProgress(Protocol):
    """What a simulation reports while it runs."""

    @property
    def time(self) -> float:
        """Simulated so far [s]."""

    @property
    def end_time(self) -> float:
        """To be simulated [s]."""

    @property
    def updates(self) -> int:
        """Element updates so far."""

    @property
    def rate(self) -> float:
        """Element updates a second."""

    @property
    def eta(self) -> float:
        """Wall-clock seconds left."""


def out() -> Console:
    """Standard output; made when needed, so that a test or a pipe that replaced it is honoured."""
    from rich.console import Console

    return Console(highlight=False, quiet=not speaking)


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
    err().print(Text.assemble((f"{title}: ", "bold red"), str(error)), soft_wrap=True)


def show_problems(problems: Iterable[Problem]) -> None:
    """Each problem as a short block: where, what, what is allowed, what to do; then how many there are."""
    from rich.text import Text

    problems = list(problems)
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


def table(title: str, rows: Iterable[Sequence[Any]], header: Sequence[str] = ()) -> Group:
    """A plain table under its title; without a header the first column names what the others say."""
    from rich.console import Group
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    rows = [[str(value) for value in row] for row in rows]
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
    return Group(Text(title, style="bold"), made)


def heading(text: str) -> None:
    """A line that separates parts of a long output."""
    from rich.text import Text

    out().rule(Text(text, style="bold"), align="left")


def files(paths: Iterable[Any]) -> None:
    """One written file a line, plain, so that a script can read the list."""
    from rich.text import Text

    for path in paths:
        out().print(Text(str(path)), soft_wrap=True)


def rate(updates: float) -> str:
    """'1.23 M updates/s'."""
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if updates >= factor:
            return f"{updates / factor:.3g} {prefix} updates/s"
    return f"{updates:.3g} updates/s"


def duration(seconds: float) -> str:
    """'42 s', '3 min 05 s', '2 h 07 min', or '?' where it is not known yet."""
    if not seconds < 1e9:  # NaN and infinity too
        return "?"
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


@contextmanager
def progress() -> Iterator[Report]:
    """A callback for a simulation: a live bar on a terminal, now and then a line elsewhere."""
    console = err()
    if console.is_terminal:
        with _bar(console) as report:
            yield report
    else:
        yield Lines(console)


class Report:
    """Callback of a simulation; remembers the last step."""

    def __init__(self) -> None:
        self.step: StepProgress | None = None
        self.start = clock.monotonic()

    def __call__(self, step: StepProgress) -> None:
        self.step = step
        self.show(step)

    def show(self, step: StepProgress) -> None:
        """Put a step on the screen."""
        raise NotImplementedError

    def summary(self) -> str:
        """'2 s simulated in 17 s: 5830000 element updates, 343 k updates/s'."""
        if self.step is None:
            return "nothing was left to simulate"
        spent = duration(clock.monotonic() - self.start)
        step = self.step
        return f"{step.time:.6g} s simulated in {spent}: {step.updates} element updates, {rate(step.rate)}"


class Bar(Report):
    """A live bar."""

    def __init__(self, bar: Progress):
        super().__init__()
        self.bar = bar
        self.task = bar.add_task("", total=1.0, time=0.0, end=float("nan"), rate="", left="?")

    def show(self, step: StepProgress) -> None:
        fields: dict[str, Any] = {
            "time": step.time,
            "end": step.end_time,
            "rate": rate(step.rate),
            "left": duration(step.eta),
        }
        self.bar.update(self.task, completed=_share(step), **fields)


@contextmanager
def _bar(console: Console) -> Iterator[Report]:
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = (
        TextColumn("t = {task.fields[time]:.4g} of {task.fields[end]:.4g} s"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
        TextColumn("{task.fields[left]} left"),
    )
    with Progress(*columns, console=console) as bar:
        yield Bar(bar)


class Lines(Report):
    """Progress in a log file: a line at every tenth of the way and at least every half minute."""

    def __init__(self, console: Console, seconds: float = 30.0):
        super().__init__()
        self.console, self.seconds = console, seconds
        self.tenth, self.last = -1, clock.monotonic()

    def show(self, step: StepProgress) -> None:
        from rich.text import Text

        tenth, now = int(10 * _share(step) + 1e-9), clock.monotonic()
        if tenth == self.tenth and now - self.last < self.seconds:
            return
        self.tenth, self.last = tenth, now
        share = f"{100 * _share(step):3.0f} %"
        text = f"{share}  t = {step.time:.4g} of {step.end_time:.4g} s  {rate(step.rate)}  {duration(step.eta)} left"
        self.console.print(Text(text), soft_wrap=True)


def _share(step: StepProgress) -> float:
    return min(step.time / step.end_time, 1.0) if step.end_time > 0 else 1.0


@contextmanager
def status(title: str) -> Iterator[Callable[[str], None]]:
    """A callback for long work that tells what it is doing: one changing line on a terminal, lines elsewhere."""
    from rich.markup import escape
    from rich.text import Text

    console = err()
    if not console.is_terminal:
        yield lambda text: console.print(Text(f"{title}: {text}"), soft_wrap=True)
        return
    with console.status(escape(title)) as spinner:
        yield lambda text: spinner.update(Text(f"{title}: {text}"))
