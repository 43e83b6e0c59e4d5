"""Command on campaigns: check, compute missing sites, and show the hazard."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from faultwave.base.processes import signals
from faultwave.cli import screen
from faultwave.cli.cases import warn
from faultwave.cli.launch import stop_signals_as_errors
from faultwave.cli.options import Output

if TYPE_CHECKING:
    from faultwave.campaign.campaign import CampaignProgress


def campaign(
    file: Annotated[str, typer.Argument(metavar="CAMPAIGN", help="A campaign file (YAML).")],
    output: Output = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything, show sizes and time, and compute nothing.")
    ] = False,
    points: Annotated[
        Path | None,
        typer.Option(
            "--points", metavar="FILE", help="Only write the places of all subfaults, for `sgt --points FILE`."
        ),
    ] = None,
) -> None:
    """Compute ground motion and hazard at many sites from stored strain Green tensors and many ruptures.

    All problems are reported before the first site. The same command computes only the sites that are missing, also after a crash, and
    may run several times at once to divide the sites.
    """
    from faultwave.campaign.campaign import Campaign

    requested = Campaign(file, output)
    if points is not None:
        count = requested.write_points(points)
        screen.err().print(f"{count:,} points", soft_wrap=True)
        screen.files([points])
        return
    with screen.status(file) as say:
        say("reading everything")
        plan = requested.plan(say, write_cache=not dry_run)
    warn(plan.warnings)
    if dry_run:
        screen.out().print(screen.table(requested.settings.title or file, plan.rows()))
        return
    with stop_signals_as_errors(_stopped), _progress() as show:
        tables = requested.run(show, plan)
    if not tables:
        screen.out().print("other processes still compute sites: the last one writes the tables", soft_wrap=True)
        return
    from faultwave.plot.campaigns.hazard import draw_hazard
    from faultwave.plot.campaigns.shaking import draw_shaking

    screen.files([*tables, draw_hazard(requested.folder), *draw_shaking(requested.folder)])


def _stopped(number: int) -> signals.StopSignal:
    """Return the error for a signal during a campaign."""
    name = signal.Signals(number).name
    return signals.StopSignal(
        f"stopped by {name}: finished sites are stored, and the same command computes the others", number
    )


@contextmanager
def _progress() -> Iterator[Callable[[CampaignProgress], None]]:
    """Provide a function that shows progress: a live bar on a terminal, a line at every tenth elsewhere."""
    console = screen.err()
    if not console.is_terminal:
        last = [-1]

        def line(state: CampaignProgress) -> None:
            tenth = 10 * state.done // max(state.total, 1)
            if tenth > last[0]:
                last[0] = tenth
                console.print(str(state), soft_wrap=True)

        yield line
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    with Progress(BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"), console=console) as bar:
        task = bar.add_task("reading tensors", total=1.0)

        def change(state: CampaignProgress) -> None:
            bar.update(task, completed=state.done / max(state.total, 1), description=str(state))

        yield change


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    app.command(epilog="Example: faultwave campaign campaign.yaml --dry-run")(campaign)
