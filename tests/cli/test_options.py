"""Records of options: a command takes a record, its command line has an option a field."""

import json
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from faultwave.cli.main import app
from faultwave.cli.options import given, with_record_options
from tests.messages import raises


@dataclass(frozen=True)
class Size:
    width: Annotated[int, typer.Option("--width", min=1, help="Across.")]
    height: Annotated[int, typer.Option("--tall", help="Up.")] = 3


def called(*arguments):
    """What a command with a record got, and the result of calling it."""
    got = []
    app = typer.Typer()

    @app.command()
    @with_record_options
    def draw(name: str, size: Size, colour: Annotated[str, typer.Option("--colour")] = "red") -> None:
        """Draw a box."""
        got.append((name, size, colour))

    return got, CliRunner().invoke(app, list(arguments))


def test_fields_are_options_with_their_names_and_defaults():
    got, result = called("box", "--width", "7")
    assert result.exit_code == 0
    assert got == [("box", Size(7, 3), "red")]
    got, _ = called("box", "--tall", "9", "--colour", "blue", "--width", "1")
    assert got == [("box", Size(1, 9), "blue")]


def test_options_stand_where_the_record_stands_and_keep_their_help():
    _, result = called("--help")
    places = [result.stdout.index(text) for text in ("Draw a box.", "--width", "Across.", "--tall", "Up.", "--colour")]
    assert places == sorted(places)


@pytest.mark.parametrize("arguments", [("box",), ("box", "--width", "0"), ("box", "--width", "wide")])
def test_a_field_is_required_and_checked_like_any_option(arguments):
    got, result = called(*arguments)
    assert (result.exit_code, got) == (2, [])


def test_two_options_of_one_name_are_refused():
    def twice(width: int, size: Size) -> None: ...

    twice.__annotations__ = {"width": int, "size": Size}
    with raises(TypeError):
        with_record_options(twice)


def test_given_leaves_out_what_is_not():
    assert given(order=4, threads=None, force=False) == {"order": 4, "force": False}


def test_an_end_time_reaches_every_command_that_runs_a_case(cli, room, tmp_path):
    asked = []

    def save(case, *places, **changes):
        asked.append(changes["until"])
        return tmp_path / "file"

    room("faultwave.run.scattering", save_scattering=save)
    room("faultwave.plot.scattering", plot_scattering=lambda path: path)
    room("faultwave.green_tensors", save_green_tensors=save)
    assert cli("scatter", "guide.yaml", "--until", "5 ns").exit_code == 0
    assert cli("sgt", "basin.yaml", "--until", "20 s").exit_code == 0
    assert asked == ["5 ns", "20 s"]
    case, script = tmp_path / "case.yaml", tmp_path / "case.sbatch"
    case.touch()
    assert cli("submit", case, "--nodes", 2, "--until", "90 s", "--script", script).exit_code == 0
    assert "--force --until '90 s'\n" in script.read_text()


@pytest.mark.parametrize(("given", "name"), [("new/folder", "new/folder/tuned.json"), ("best.json", "best.json")])
def test_tune_writes_into_a_folder(cli, monkeypatch, tmp_path, given, name):
    best = {"processes": 1, "threads": 2, "progress": "polling", "rate": 1e6}
    monkeypatch.setattr("faultwave.bench.scaling.tune", lambda *settings: [best])
    monkeypatch.setattr("faultwave.bench.scaling.scaling", lambda found: ([("1", "2")], ("a", "b")))
    monkeypatch.setattr("faultwave.cli.launch.mpiexec", lambda: "mpiexec")
    monkeypatch.chdir(tmp_path)
    assert cli("tune", "tpv5", "--cores", 2, "--output", given).exit_code == 0
    assert json.loads((tmp_path / name).read_text())["threads"] == 2


def refused(result):
    """What a command that wrote nothing said."""
    assert result.exit_code != 0
    return " ".join(result.output.split())


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (("--accuracy", "1%", "--frequency", 0), "more than 0 Hz"),
        (("--accuracy", "1%", "--frequency", -2), "more than 0 Hz"),
        (("--frequency", 2), "Add --accuracy"),
    ],
)
def test_a_frequency_is_positive_and_of_an_accuracy(cli, given, what):
    assert what in refused(cli("plan", "tpv5", *given))


def test_accuracy_of_nothing_is_not_written(cli, monkeypatch, tmp_path):
    page, kept = tmp_path / "page.md", tmp_path / "kept.json"
    page.write_text("<!-- accuracy table: begin -->\nold\n<!-- accuracy table: end -->\n")
    kept.write_text("old")
    files = ("--write", page, "--json", kept)
    for wrong in (("--engine", "fdd"), ("--order", 9), ("--problem", "cavity", "--engine", "fd")):
        assert "is not measured on" in refused(cli("bench", "accuracy", *wrong, *files))
    monkeypatch.setattr("faultwave.bench.accuracy.ladder.absent", lambda problem: True)
    assert "nothing was measured" in refused(cli("bench", "accuracy", "--problem", "tpv5", *files))
    assert "old" in page.read_text()
    assert kept.read_text() == "old"


SHARED = (
    "engine",
    "order",
    "precision",
    "backend",
    "until",
    "output",
    "threads",
    "ranks",
    "progress",
    "halo",
    "force",
    "checkpoint_every",
)
"""Options that mean the same wherever a case is run, checked, planned or drawn, or a run goes on."""
OF_CASES = ("run", "resume", "check", "plan", "scatter", "sgt", "estimate-errors")


def test_an_option_of_commands_for_cases_is_the_same_in_all_of_them():
    """Its type, its bounds, what its value is called and its help; only a number of processes that nobody starts is told otherwise."""
    commands = get_command(app).commands
    found = {}
    for command in OF_CASES:
        for option in commands[command].params:
            if option.name in SHARED:
                shape = (option.type_descriptor.annotation, option.min, option.max, option.metavar, *option.opts)
                told = option.help if (command, option.name) != ("check", "ranks") else ""
                found.setdefault(option.name, {})[command] = (shape, told)
    assert set(found) == set(SHARED)
    for name, of in found.items():
        assert len({shape for shape, _ in of.values()}) == 1, (name, of)
        assert len({told for _, told in of.values() if told}) == 1, (name, of)
    assert {command for of in found.values() for command in of} == set(OF_CASES)
