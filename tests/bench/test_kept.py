"""What benchmarks leave beside what they print."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from faultwave.bench.results import Files, insert, markers
from faultwave.cli.main import app

COMMANDS = {"size": "double size", "device": "device", "accuracy": "accuracy", "table": "bench"}
"""Commands with a table, and the name between whose markers it stands."""


def page_with(path: Path, name: str, text: str) -> Path:
    begin, end = markers(name)
    path.write_text(f"before\n{begin}\n{text}\n{end}\nafter\n")
    return path


def test_only_the_table_of_a_page_changes(tmp_path: Path) -> None:
    page = page_with(tmp_path / "page.md", "bench", "old")
    for text in ("| new |", "| newer |"):
        insert(page, text, "bench")
        assert page.read_text() == page_with(tmp_path / "other.md", "bench", text).read_text()


def test_what_is_asked_for_is_kept(tmp_path: Path) -> None:
    page, kept, picture = page_with(tmp_path / "page.md", "size", "old"), tmp_path / "a.json", tmp_path / "a.png"

    def draw(path: Path) -> Path:
        path.write_text("drawn")
        return path

    assert Files(page, kept, picture).keep({"a": 1}, draw, ("size", "| new |")) == [picture]
    assert "| new |" in page.read_text() and "old" not in page.read_text()
    assert json.loads(kept.read_text()) == {"a": 1} and kept.read_text().endswith("\n")
    assert picture.read_text() == "drawn"


def test_what_is_not_asked_for_is_not(tmp_path: Path) -> None:
    def draw(path: Path) -> Path:
        raise AssertionError("drawn")

    assert Files().keep({"a": 1}, draw, ("size", "| new |")) == []
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_tell_all_that_is_wrong_with_files_before_they_measure(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rooms = {"size": "size", "device": "device_table", "accuracy": "accuracy.ladder", "table": "table"}
    monkeypatch.setattr(f"faultwave.bench.{rooms[command]}.measure", None)  # whoever calls it fails
    page = page_with(tmp_path / "page.md", "another", "old")
    asked = ["--write", str(page), "--json", str(tmp_path / "no" / "a.json")]
    if command == "device":
        asked += ["--backend", "opencl"]
    else:
        asked += ["--picture", str(tmp_path / "none" / "a.png")]
    done = CliRunner().invoke(app, ["bench", command, *asked])
    told = " ".join(done.output.split())
    assert done.exit_code == 2, told
    assert f"<!-- {COMMANDS[command]} table: begin -->" in told and "has no markers for the table" in told
    assert told.count("the folder does not exist") == (1 if command == "device" else 2)
    assert "old" in page.read_text()


@pytest.mark.parametrize(
    "asked", [["proxy"], ["fd"], ["grids"], ["peak"], ["size", "--cells", "100"], ["table"]], ids=lambda a: a[0]
)
def test_more_threads_than_openmp_holds_are_refused(asked: list[str]) -> None:
    answer = CliRunner().invoke(app, ["bench", *asked, "--threads", "100000"])
    assert answer.exit_code == 2 and "is 100000" in answer.output and "1 to 4096" in answer.output


@pytest.mark.parametrize("command", ["proxy", "fd", "grids", "peak", "scaling", "comm"])
def test_files_that_cannot_be_written_are_told_before_anything_is_measured(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for room in ("proxy.proxy", "grids.proxy.bench", "grids.features.bench", "rooflines.roofs.measure", "scaling.run"):
        monkeypatch.setattr(f"faultwave.bench.{room}", None)  # whoever calls it fails
    asked = ["bench", command] + (["tpv5"] if command in ("scaling", "comm") else [])
    for path, why in ((tmp_path / "no" / "a.json", "the folder does not exist"), (tmp_path, "is a folder")):
        answer = CliRunner().invoke(app, [*asked, "--json", str(path)])
        assert answer.exit_code == 2 and why in " ".join(answer.output.split())
