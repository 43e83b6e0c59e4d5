"""Docstrings, comments and documentation use standard English, without the words of ``private_words.txt``."""

import ast
import io
import re
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINES = Path(__file__).with_name("private_words.txt").read_text().splitlines()
WORDS = re.compile(rf"\b(?:{'|'.join(line for line in LINES if line and line[0] != '#')})\b", re.IGNORECASE)
QUOTED = re.compile(r"```.*?```|`[^`]*`|\]\([^)]*\)|\{ ?#[\w-]+ ?\}|^ *\**\w+(?:, \w+)* :.*$", re.DOTALL | re.MULTILINE)
"""Code, addresses, anchors, and names of parameters with their types."""


def prose(path: Path) -> str:
    """Return docstrings and comments of a module, or the text of a page."""
    text = path.read_text()
    if path.suffix == ".md":
        return text
    found = [t.string for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type == tokenize.COMMENT]
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        for line in body if isinstance(body, list) else ():
            if (
                isinstance(line, ast.Expr)
                and isinstance(line.value, ast.Constant)
                and isinstance(line.value.value, str)
            ):
                found.append(line.value.value)
    return "\n".join(found)


def test_prose_uses_no_private_words():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
    wrong = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in [*pages, *(ROOT / "src").rglob("*.py")]
        for match in WORDS.finditer(QUOTED.sub(" ", prose(path)))
    ]
    assert wrong == []


def test_words_are_found():
    assert WORDS.search("cells that are told") and not WORDS.search("the hanging wall moves upwards")
