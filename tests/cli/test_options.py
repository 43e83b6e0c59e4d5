"""Records of options: a command takes a record, its command line has an option a field."""

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from faultwave.cli.options import expanded, given


@dataclass(frozen=True)
class Size:
    width: Annotated[int, typer.Option("--width", min=1, help="Across.")]
    height: Annotated[int, typer.Option("--tall", help="Up.")] = 3


def called(*arguments):
    """What a command with a record got, and the result of calling it."""
    got = []
    app = typer.Typer()

    @app.command()
    @expanded
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
    with pytest.raises(TypeError, match="twice: options of the same name"):
        expanded(twice)


def test_given_leaves_out_what_is_not():
    assert given(order=4, threads=None, force=False) == {"order": 4, "force": False}
