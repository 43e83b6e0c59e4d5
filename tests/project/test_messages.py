"""Files of expected messages (tests/messages.py)."""

import ast
from pathlib import Path

import pytest

from tests.messages import ROOT, Expectations, normalised, read, write

FILES = sorted((ROOT / "tests").glob("*/messages.txt"))


@pytest.mark.parametrize("path", FILES, ids=[path.parent.name for path in FILES])
def test_every_entry_belongs_to_a_test(path: Path) -> None:
    for test in read(path):
        file, _, name = test.partition("[")[0].partition("::")
        tree = ast.parse((path.parent / file).read_text())
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, test


def test_texts_are_read_as_they_were_written(tmp_path: Path) -> None:
    texts = {"test_b.py::b[x\\ny]": ["one\ntwo", ""], "test_a.py::a": ["- of a list"]}
    write(tmp_path / "messages.txt", texts)
    assert read(tmp_path / "messages.txt") == texts


def test_a_wrong_a_new_and_a_missing_text_fail(tmp_path: Path) -> None:
    found = Expectations()
    found.path, found.test = tmp_path / "messages.txt", "test_a.py::a"
    write(found.path, {found.test: ["is 1", "is 2"]})
    found.compare("is 1")
    with pytest.raises(pytest.fail.Exception, match="compared 1 of its 2 texts"):
        found.end()
    with pytest.raises(pytest.fail.Exception, match="the text differs"):
        found.compare("is 3")
    with pytest.raises(pytest.fail.Exception, match="has no text number 3"):
        found.compare("is 3")


def test_an_update_replaces_the_texts_of_the_tests_that_ran(tmp_path: Path) -> None:
    found = Expectations()
    found.update, found.path = True, tmp_path / "messages.txt"
    write(found.path, {"test_a.py::a[old]": ["stale"], "test_a.py::a[new]": ["before"], "test_b.py::b": ["other"]})
    found.collected = {(found.path, "test_a.py::a[new]")}
    found.test = "test_a.py::a[new]"
    found.compare("after")
    found.end()
    found.store()
    assert read(found.path) == {"test_a.py::a[new]": ["after"], "test_b.py::b": ["other"]}


def test_paths_of_the_machine_are_replaced() -> None:
    text = f"{ROOT}/a: x/pytest-of-me/pytest-3/popen-gw0/test_x0/b.h5: Unable to open file (eof = 3)"
    assert normalised(text) == "ROOT/a: TMP/b.h5: HDF5"
