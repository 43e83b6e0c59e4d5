"""Expected texts of errors and warnings, in one file for each package: ``tests/PACKAGE/messages.txt``.

A test uses ``raises`` in place of ``pytest.raises``, and ``expect`` for the text of a problem, a list of problems or a
plain text. Both compare the complete text with the next entry of the test in the file of its package. A test that
compares fewer texts than the file has for it fails, too. ``pytest --update-messages TESTS`` writes the texts of the tests
that run; the difference of the file then shows every change of wording. Paths of temporary folders and of this
repository are replaced by ``TMP`` and ``ROOT``, and reasons of the HDF5 library by ``HDF5``.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NAME = "messages.txt"
HEAD = """\
# Texts of errors and warnings that the tests of this package expect; see tests/messages.py.
# To update them: pytest tests/PACKAGE --update-messages
"""
TEMPORARY = re.compile(r"[^\s'\"(]*/pytest-of-[^/]+/pytest-\d+/(popen-gw\d+/)?[^/\s'\":;,)]+")
"""Temporary folder of a test or of a fixture."""
HDF5 = re.compile(r"Unable to [a-z ]+\([^)]*\)")
"""Reason of the HDF5 library, whose wording depends on its version."""


def read(path: Path) -> dict[str, list[str]]:
    """Return the texts of a file by test; a test is named without the folder of the package."""
    found: dict[str, list[str]] = {}
    texts: list[str] = []
    for line in path.read_text().splitlines() if path.exists() else ():
        if line.startswith("- "):
            texts.append(line[2:])
        elif line.startswith("  "):
            texts[-1] += "\n" + line[2:]
        elif line and not line.startswith("#"):
            texts = found.setdefault(line, [])
    return found


def write(path: Path, found: dict[str, list[str]]) -> None:
    """Write the texts of a package, sorted by test; without texts there is no file."""
    parts = [HEAD.replace("PACKAGE", path.parent.name)]
    for test in sorted(found):
        parts += [f"\n{test}\n", *("- " + text.replace("\n", "\n  ") + "\n" for text in found[test])]
    if found:
        path.write_text("".join(parts))
    else:
        path.unlink(missing_ok=True)


def normalised(text: str) -> str:
    """Return a text without the paths of this machine, and without blanks at the ends of lines."""
    text = HDF5.sub("HDF5", TEMPORARY.sub("TMP", text)).replace(str(ROOT), "ROOT")
    return "\n".join(line.rstrip() for line in text.splitlines())


class Expectations:
    """Texts that the tests of a session expect, and those that they have found."""

    def __init__(self) -> None:
        self.update = False
        self.files: dict[Path, dict[str, list[str]]] = {}
        self.collected: set[tuple[Path, str]] = set()
        self.path, self.test = Path(), ""
        self.found: list[str] = []

    def locate(self, nodeid: str) -> tuple[Path, str]:
        """Return the file of a test's package, and the name of the test in it."""
        _, package, test = nodeid.split("/", 2)
        return ROOT / "tests" / package / NAME, test

    def begin(self, nodeid: str) -> None:
        """Start a test."""
        self.path, self.test = self.locate(nodeid)
        self.found = []

    @property
    def known(self) -> dict[str, list[str]]:
        """Texts of the package of the present test."""
        if self.path not in self.files:
            self.files[self.path] = read(self.path)
        return self.files[self.path]

    def compare(self, text: str) -> None:
        """Compare a text with the next one of the test."""
        number, text = len(self.found), normalised(text)
        self.found.append(text)
        expected = self.known.get(self.test, [])
        if self.update:
            return
        advice = f"run pytest --update-messages '{self.path.parent.name}/{self.test}' in tests if the text is right"
        if number >= len(expected):
            pytest.fail(f"{self.path} has no text number {number + 1} of {self.test}: {advice}\n  found: {text}")
        if text != expected[number]:
            pytest.fail(f"the text differs from {self.path}: {advice}\n  expected: {expected[number]}\n  found: {text}")

    def end(self) -> None:
        """Finish a test that has passed."""
        expected = self.known.get(self.test, [])
        if self.update:
            self.known.pop(self.test, None)
            if self.found:
                self.known[self.test] = self.found
        elif len(self.found) < len(expected):
            pytest.fail(f"{self.test} compared {len(self.found)} of its {len(expected)} texts in {self.path}")

    def store(self) -> None:
        """Write the files of the packages, without texts of tests that no longer exist."""
        functions = {(path, test.partition("[")[0]) for path, test in self.collected}
        for path, texts in self.files.items():
            stale = [t for t in texts if (path, t.partition("[")[0]) in functions and (path, t) not in self.collected]
            write(path, {test: lines for test, lines in texts.items() if test not in stale})


SESSION = Expectations()


@contextmanager
def raises(*types: type[BaseException]) -> Iterator[pytest.ExceptionInfo[BaseException]]:
    """Expect an exception of one of the types, with the text in the file of the package."""
    with pytest.raises(types) as caught:
        yield caught
    SESSION.compare(str(caught.value))


def expect(found: object) -> None:
    """Expect the text of a problem, of several ones (an iterable), or a plain text, as in the file of the package."""
    several = isinstance(found, Iterable) and not isinstance(found, str)
    SESSION.compare("\n".join(map(str, found)) if several else str(found))
