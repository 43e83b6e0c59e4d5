"""Progress of a run: a live bar or lines in a log file."""

from __future__ import annotations

import importlib.util
import os
import sys
import time as clock
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from faultwave.base.types import Settings

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


YOUNG = 10.0
"""Age [s] up to which a process has only loaded libraries and read its arguments."""


def startup_age() -> float:
    """Return the age of this process [s] if it is at most ``YOUNG``; 0 if it is older or unknown."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19])
        now = float(Path("/proc/uptime").read_text().split()[0])
        age = now - ticks / os.sysconf("SC_CLK_TCK")
    except (ValueError, IndexError, OSError, AttributeError):
        return 0.0
    return age if 0.0 <= age <= YOUNG else 0.0


class StepProgress(Protocol):
    """Progress report of a simulation."""

    @property
    def time(self) -> float:
        """Simulated time [s]."""

    @property
    def end_time(self) -> float:
        """End time of the simulation [s]."""

    @property
    def updates(self) -> int:
        """Updates of cells or grid points so far."""

    @property
    def rate(self) -> float:
        """Updates of cells or grid points per second."""

    @property
    def eta(self) -> float:
        """Wall-clock time left [s]."""


def rate(updates: float) -> str:
    """Return a rate as text, such as '1.23 M updates/s'."""
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if updates >= factor:
            return f"{updates / factor:.3g} {prefix} updates/s"
    return f"{updates:.3g} updates/s"


def duration(seconds: float) -> str:
    """Return a duration as text, such as '42 s', '3 min 05 s' or '2 h 07 min', and '?' if unknown."""
    if not seconds < 1e9:  # NaN and infinity too
        return "?"
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def interactive() -> bool:
    """Return True in an interactive IPython session or notebook."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None


@contextmanager
def shown(console: Console) -> Iterator[Report]:
    """Provide a progress callback: a live bar on a terminal and in a notebook, occasional lines elsewhere.

    A live bar in a notebook requires the package ipywidgets; without it lines are printed.
    """
    live = importlib.util.find_spec("ipywidgets") is not None if console.is_jupyter else console.is_terminal
    if live:
        with _bar(console) as report:
            yield report
    else:
        yield Lines(console)


class Report:
    """Progress callback that remembers the last step."""

    def __init__(self) -> None:
        self.step: StepProgress | None = None
        self.start = clock.monotonic()

    def __call__(self, step: StepProgress) -> None:
        self.step = step
        self.show(step)

    def show(self, step: StepProgress) -> None:
        """Show a step on the screen."""
        raise NotImplementedError

    def summary(self) -> str:
        """Return a summary such as '2 s simulated in 17 s: 5830000 updates, 343 k updates/s'."""
        if self.step is None:
            return "nothing remained to simulate"
        spent = duration(clock.monotonic() - self.start)
        step = self.step
        return f"{step.time:.6g} s simulated in {spent}: {step.updates} updates, {rate(step.rate)}"


class Bar(Report):
    """Progress callback with a live bar."""

    def __init__(self, bar: Progress):
        super().__init__()
        self.bar = bar
        self.task = bar.add_task("", total=1.0, at="before the first step", rate="", left="")

    def show(self, step: StepProgress) -> None:
        fields: Settings = {
            "at": f"t = {step.time:.4g} of {step.end_time:.4g} s",
            "rate": rate(step.rate),
            "left": f"{duration(step.eta)} left",
        }
        self.bar.update(self.task, completed=_share(step), **fields)


@contextmanager
def reporting(
    progress: Callable[..., None] | bool | None, speaking: bool = True
) -> Iterator[Callable[..., None] | None]:
    """Provide the progress callback of a run, None if progress is not shown.

    Parameters
    ----------
    progress : callable, bool or None
        Callback itself; True for a bar; None for a bar in interactive IPython only.
    speaking : bool
        True if this process writes to the terminal.
    """
    if callable(progress):
        yield progress
    elif not (progress is None or isinstance(progress, bool)):
        raise TypeError(f"progress is {progress!r}: give True, False, None, or a function of one argument")
    elif speaking and (progress or (progress is None and interactive())):
        from rich.console import Console

        with shown(Console(stderr=True, highlight=False)) as report:
            yield report
    else:
        yield None


@contextmanager
def _bar(console: Console) -> Iterator[Report]:
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = (
        TextColumn("{task.fields[at]}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=console) as bar:
        yield Bar(bar)


class Lines(Report):
    """Progress callback for log files: a line at every tenth of the run and at least every half minute."""

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
