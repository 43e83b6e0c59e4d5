import contextlib
import io
import types

import pytest
from rich.console import Console

from faultwave.base import progress
from faultwave.cli import screen


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (9.96, "10.0 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (3599.7, "1 h 00 min"),
        (7620, "2 h 07 min"),
        (float("inf"), "?"),
        (float("nan"), "?"),
    ],
)
def test_duration(seconds, text):
    assert progress.duration(seconds) == text


@pytest.mark.parametrize(
    ("rate", "text"),
    [(999, "999 updates/s"), (1234, "1.23 k updates/s"), (2.5e6, "2.5 M updates/s"), (3e9, "3 G updates/s")],
)
def test_rate(rate, text):
    assert progress.rate(rate) == text


def step(time, end=10.0):
    return types.SimpleNamespace(time=time, end_time=end, updates=1, rate=1e6, eta=5.0)


def test_progress_without_a_terminal_prints_few_lines():
    console = Console(file=io.StringIO(), width=40)
    report = progress.Lines(console)
    for i in range(1, 1001):
        report(step(0.01 * i))
    lines = console.file.getvalue().splitlines()
    assert len(lines) == 11
    assert lines[0].startswith("  0 %")
    assert lines[-1].startswith("100 %  t = 10 of 10 s")
    assert report.summary().startswith("10 s simulated in 0.")
    assert report.summary().endswith(": 1 updates, 1 M updates/s")


def test_slow_progress_prints_now_and_then():
    console = Console(file=io.StringIO())
    report = progress.Lines(console, seconds=0.0)
    for _ in range(3):
        report(step(0.1))
    assert len(console.file.getvalue().splitlines()) == 3


def test_progress_on_a_terminal_shows_time_rate_and_the_rest(monkeypatch):
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    monkeypatch.setattr(screen, "err", lambda: console)
    with screen.progress() as report:
        report(step(5.0))
    text = console.file.getvalue()
    for part in ("t = 5 of 10 s", "50%", "1 M updates/s", "5.0 s left"):
        assert part in text


def test_tables_show_brackets_and_uneven_rows():
    console = Console(file=io.StringIO(), width=80)
    console.print(screen.table("[red]", [("a", "[b]"), ("c", 1, 2)], ("one", "two", "[three]")))
    text = console.file.getvalue()
    for part in ("[red]", "[b]", "[three]", "2"):
        assert part in text


def test_a_bar_claims_no_times_before_the_first_step(monkeypatch):
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    monkeypatch.setattr(screen, "err", lambda: console)
    with screen.progress():
        pass
    text = console.file.getvalue()
    assert "before the first step" in text
    assert "nan" not in text


def test_a_notebook_without_widgets_gets_lines(monkeypatch):
    console = Console(file=io.StringIO(), force_jupyter=True, width=80)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with progress.shown(console) as report:
        assert isinstance(report, progress.Lines)


def test_a_notebook_with_widgets_gets_a_bar(monkeypatch):
    console = Console(file=io.StringIO(), force_jupyter=True, width=80)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: types.SimpleNamespace(name=name))
    monkeypatch.setattr("faultwave.base.progress._bar", lambda console: contextlib.nullcontext("bar"))
    with progress.shown(console) as report:
        assert report == "bar"
