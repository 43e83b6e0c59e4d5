"""Places of characters inside YAML scalars of every style."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultwave.base.errors import InputError
from faultwave.media.easi.source import Source
from tests.messages import raises


@pytest.mark.parametrize(
    ("text", "needle", "place"),
    [
        ("a: return one;\n", "one", "1:11"),
        ("a: 'return one;'\n", "one", "1:12"),
        ('a: "return one;"\n', "one", "1:12"),
        ("a: |\n  first;\n\n    one;\n", "one", "4:5"),
        ("a: |2\n    first;\n  one;\n", "one", "3:3"),
        ("a: >-\n  first\n  second\n\n  one;\n", "one", "5:3"),
        ("a: return\n   two +\n   one;\n", "one", "3:4"),
        ("a: | # a remark\n  one;\n", "one", "2:3"),
    ],
)
def test_places_of_characters(text, needle, place):
    block = Source.of(Path("f"), text).compose().require("a")
    assert block.locate(block.text().index(needle)) == f"f:{place}"


def test_place_after_the_end_is_behind_the_last_character():
    block = Source.of(Path("f"), "a: |\n  x = 1\n\n\nb: 1\n").compose().require("a")
    assert block.locate(len(block.text())) == "f:2:8"


def test_windows_lines_and_marks(tmp_path):
    path = tmp_path / "w.yaml"
    path.write_bytes("\ufeffa: 1\r\nb: c\r\n".encode())
    block = Source.read(path).compose().require("b")
    assert block.where == f"{path}:2:4"
    with raises(InputError):
        block.number("'b'")


def test_not_text(tmp_path):
    path = tmp_path / "b.yaml"
    path.write_bytes(b"a: \xff\xfe")
    with raises(InputError):
        Source.read(path)


@pytest.mark.parametrize("text", ["1_000", "0x10", "nan", "inf", ".nan", "1e", "--1", "1,5", "12 34"])
def test_numbers_the_reference_does_not_read(text):
    with raises(InputError):
        Source.of(Path("f"), f"a: '{text}'\n").compose().require("a").number()
