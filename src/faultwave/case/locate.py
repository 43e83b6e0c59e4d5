"""Location of a plan's problems in the native case file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError

from faultwave.base.errors import Problem
from faultwave.base.wording import option
from faultwave.case.native import line_of
from faultwave.case.settings.model import Case
from faultwave.case.validate import OVERRIDES, Location

_PATH = re.compile(r"[a-z_]+(?:\.[\w+-]+|\[\d+\])*")
_PART = re.compile(r"[\w+-]+")
_RECEIVER = re.compile(r"(fault )?receiver (\d+) at ")
_SOURCE = re.compile(r"source (.+?)(?: (?:subfault|source) \d+.*)? at \(")


def located(case: Case, problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems with their origins as locations.

    A problem that refers to a replaced setting is located at the option; one of a setting, receiver or source at file and line of the
    native case file; one of a deck at the deck or the easi file.
    """
    problems = [_replaced(p, case) for p in problems]
    document = _document(case)
    if document is None:
        return [_in_deck(p, case) for p in problems] if _is_deck(case) else problems
    return [_placed(p, case, document) for p in problems]


def _document(case: Case) -> CommentedMap | None:
    if len(case.source_files) != 1 or case.source_files[0].suffix.lower() not in (".yaml", ".yml"):
        return None
    try:
        document = YAML(typ="rt").load(case.source_files[0].read_text(encoding="utf-8"))
    except (OSError, ValueError, YAMLError):  # changed since it was read
        return None
    return document if isinstance(document, CommentedMap) else None


def _is_deck(case: Case) -> bool:
    return len(case.source_files) == 1 and case.source_files[0].suffix.lower() == ".par"


def _in_deck(problem: Problem, case: Case) -> Problem:
    """Locate a problem of a setting in a deck: in the easi file that gives the field, else in the deck itself."""
    match = _PATH.match(problem.where)
    location = _location(match[0]) if match else ()
    if not location or location[0] not in Case.model_fields:
        return problem
    found, file = case, case.source_files[0]  # type: Any, Path
    for key in location:
        try:
            found = found[key] if isinstance(key, int) else getattr(found, key)
        except (AttributeError, IndexError, TypeError):
            break
        file = getattr(found, "easi", None) or file
    return replace(problem, where=str(file), what=f"{problem.where}: {problem.what}")


def _replaced(problem: Problem, case: Case) -> Problem:
    match = _PATH.match(problem.where)
    location = _location(match[0]) if match else ()
    for name in case.overridden:
        if location == OVERRIDES[name]:
            return replace(problem, where=option(name), what=f"{problem.where}: {problem.what}")
    return problem


def _placed(problem: Problem, case: Case, document: CommentedMap) -> Problem:
    found = _receiver(problem.where, case, document) or _setting(problem.where, case, document)
    if found is None:
        return problem
    return replace(problem, where=found, what=f"{problem.where}: {problem.what}")


def _setting(where: str, case: Case, document: CommentedMap) -> str | None:
    path = case.source_files[0]
    source = _SOURCE.match(where)
    if source:
        named = _PATH.fullmatch(source[1])
        location = _location(source[1]) if named else _source_file(source[1], document)
    else:
        match = _PATH.match(where)
        location = _location(match[0]) if match else None
    if not location or location[0] not in Case.model_fields or location[0] not in document:
        return None
    return f"{path}:{line_of(document, location)}"


def _location(path: str) -> Location:
    return tuple(int(part) if part.isdigit() else part for part in _PART.findall(path))


def _source_file(name: str, document: CommentedMap) -> Location | None:
    """Return the location of the source that reads a file of this name."""
    listed: Any = document.get("sources")
    for number, source in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(source, dict) and Path(str(source.get("file", ""))).name == name:
            return ("sources", number)
    return None


def _receiver(where: str, case: Case, document: CommentedMap) -> str | None:
    match = _RECEIVER.match(where)
    if not match:
        return None
    kind, number = "fault_receivers" if match[1] else "receivers", int(match[2]) - 1
    setting = getattr(case.output, kind)
    if setting is None:
        return None
    for key in ("points", "geographic"):
        listed = getattr(setting, key, ())
        if number < len(listed):
            return f"{case.source_files[0]}:{line_of(document, ('output', kind, key, number))}"
        number -= len(listed)
    for path in (setting.file, getattr(setting, "geographic_file", None)):
        try:
            lines = path.read_text(errors="replace").splitlines() if path is not None else []
        except OSError:
            continue
        rows = [k for k, line in enumerate(lines, 1) if line.split("#")[0].strip()]
        if number < len(rows):
            return f"{path}:{rows[number]}"
        number -= len(rows)
    return None
