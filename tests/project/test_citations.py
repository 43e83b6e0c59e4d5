"""What comments, docstrings and pages cite is in the repository: no absent sheet, no section that is gone."""

from __future__ import annotations

import functools
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "tests", "docs", "tools", "examples")
ABSENT = re.compile(
    r"(?<!`)\b(NUMERICS|KERNELS|FORMATS|PHYSICS|FDPHYS|STACK|TARGETS|HOUSE)\b(?!`)|\bFD (\d|[A-K]\.\d)|\bFD\.md"
)
"""Sheets that the project was planned with; they were never in the repository."""
PAGE = re.compile(r"docs/[a-z]+/[\w-]+\.md(?:,\s\"([^\"]+)\")?")
DECISION = re.compile(r"(?:docs/decisions/|\bdecision )(\d{4})\b")
CITES = re.compile(f"{ABSENT.pattern}|\\bFD\\b|docs/|\\bdecision\\b")
"""In every text in which one of the others is found, however its lines are broken; only these are split into tokens."""


def files(*suffixes: str) -> list[Path]:
    found = [p for folder in FOLDERS for p in sorted((ROOT / folder).rglob("*")) if p.suffix in suffixes]
    assert found
    return found


def remarks(text: str) -> list[str]:
    """Comments and triple-quoted strings of Python source, blocks of comments as one."""
    found: list[str] = []
    last = (tokenize.ENCODING, 0)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            if last == (tokenize.COMMENT, token.start[0] - 1):
                found[-1] += " " + token.string.lstrip("#: ")
            else:
                found.append(token.string.lstrip("#: "))
            last = tokenize.COMMENT, token.start[0]
        elif token.type == tokenize.STRING and token.string.lstrip("rRbBuU").startswith('"""'):
            found.append(token.string)
    return [re.sub(r"\s+", " ", remark) for remark in found]


@functools.cache
def text_of(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return re.sub(r"\s+", " ", text)
    return "\n".join(remarks(text)) if CITES.search(text) else ""


def headings(page: Path) -> set[str]:
    """Of a page, without numbers and anchors."""
    lines = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"^\d+\. |\s*\{ *#[\w-]+ *\}$", "", line).strip() for line in lines}


def wrong(text: str) -> list[str]:
    """Everything that a text cites and that is not there."""
    found = [f"'{m.group()}' is no document of the repository" for m in ABSENT.finditer(text)]
    for m in PAGE.finditer(text):
        page = ROOT / m.group().split(",")[0]
        if not page.is_file():
            found.append(f"{page.relative_to(ROOT)} does not exist")
        elif m.group(1) and m.group(1) not in headings(page):
            found.append(f"{page.relative_to(ROOT)} has no section '{m.group(1)}': {', '.join(sorted(headings(page)))}")
    numbers = {p.name[:4] for p in (ROOT / "docs" / "decisions").glob("[0-9]*.md")}
    return found + [f"there is no decision {n}" for n in DECISION.findall(text) if n not in numbers]


def test_everything_cited_is_there() -> None:
    told = {p.relative_to(ROOT).as_posix(): wrong(text_of(p)) for p in files(".py", ".md") if p != Path(__file__)}
    assert not {name: problems for name, problems in told.items() if problems}


@pytest.mark.parametrize(
    "text",
    [
        "# as in NUMERICS 2.3",
        '"""The scheme (FD A.3)."""',
        "# docs/theory/absent.md has it",
        '# docs/theory/friction.md, "No such section"',
        '# docs/theory/friction.md,\n# "No such\n# section"',
        "# decision 9999",
    ],
)
def test_wrong_citations_are_found(text: str) -> None:
    assert wrong("\n".join(remarks(text)))


def test_right_citations_are_none() -> None:
    text = '# docs/theory/friction.md,\n# "Friction solve"; decision 0009\nTARGETS = "FORMATS"\n'
    assert not wrong("\n".join(remarks(text)))


def test_theory_is_cited() -> None:
    cited = {m.group().split(",")[0] for p in files(".py") for m in PAGE.finditer(text_of(p))}
    assert {"docs/theory/formulation.md", "docs/theory/friction.md", "docs/theory/time-stepping.md"} <= cited
