"""Statements of Gmsh scripts that affect more than the geometry: other programs, other files, the end of the program.

A .geo file is a program. A file from somebody else must only mesh a geometry, so these words are rejected before Gmsh
reads them, unless the user trusts the file.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from faultwave.base.errors import InputError, Problem, Problems

TRUST = "FAULTWAVE_TRUST_GEO"
"""Environment variable; 1 permits all statements in Gmsh scripts."""

_PROGRAMS = (
    "System",
    "SystemCall",
    "NonBlockingSystemCall",
    "OnelabRun",
    "OnelabAction",
    "ExternalProcess",
    "Solver",
    "Plugin",
)
_READS = ("Include", "Merge", "MergeFile", "MergeWithBoundingBox", "ShapeFromFile", "ListFromFile", "ReadFile", "Structured", "OpenFile",
          "GetEnv", "Parse", "ParseString", "ParseFile", "FileName", "Load", "NewModel", "Open")  # fmt: skip
_WRITES = ("Save", "Print", "CreateDir", "Export", "Write")
_ENDS = ("Exit", "Abort", "Sleep")
REFUSED = {
    **dict.fromkeys(_PROGRAMS, "starts programs"),
    **dict.fromkeys(_READS, "reads other files"),
    **dict.fromkeys(_WRITES, "writes files"),
    **dict.fromkeys(_ENDS, "ends or halts the program"),
}

_TOKEN = re.compile(
    r"(?P<comment>//[^\n\r]*|/\*.*?(?:\*/|\Z))|(?P<text>\"[^\"\n\r\\]*\"|'[^'\n\r\\]*')|(?P<open>[\"'])"
    r"|(?P<redirect>\)\s*>{1,2}(?=\s*(?:[\"']|Str|Sprintf)))|(?P<word>[A-Za-z_]\w*)",
    re.DOTALL,
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def check_script(path: Path) -> None:
    """Raise InputError with every statement of the script that does more than describe a geometry and its mesh."""
    if os.environ.get(TRUST) == "1":
        return
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from None
    problems = Problems()
    advice = f"Do without it, or set {TRUST}=1 in the environment if you trust whoever wrote the file."
    for match in _CONTROL.finditer(text):
        problems.error(_place(path, text, match), "has a control character, where only text is read")
        break
    for match in _TOKEN.finditer(text):
        word = match["word"]
        if match["open"]:
            what = (
                "begins a text that does not end on its line, or holds a backslash: what follows could be hidden in it"
            )
            problems.error(_place(path, text, match), what, advice=advice)
            break
        if match["redirect"]:
            problems.error(_place(path, text, match), "'>' writes files", "a geometry and its mesh", advice)
        elif word in REFUSED:
            problems.error(_place(path, text, match), f"'{word}' {REFUSED[word]}", "a geometry and its mesh", advice)
    problems.raise_errors()


def _place(path: Path, text: str, match: re.Match[str]) -> str:
    return f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
