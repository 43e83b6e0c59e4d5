"""Native case file: YAML 1.2 with units in values, errors with line numbers, and the location of a plan's problems."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from faultwave.base.errors import Problem, Problems
from faultwave.base.files.paths import similar
from faultwave.base.types import Settings
from faultwave.base.wording import option
from faultwave.case.settings.model import Case
from faultwave.case.settings.parameters import known, nearest
from faultwave.case.validate import OVERRIDES, Location, build, dotted


def load_native(
    path: str | Path, overrides: Mapping[str, object] | None = None, partial: bool = False
) -> tuple[Case | None, Problems]:
    """Read a native case file. Relative input paths are searched in the file's folder.

    Parameters
    ----------
    path : str or Path
        Case file.
    overrides : mapping, optional
        Command-line options that replace settings, see ``validate.OVERRIDES``.
    partial : bool
        If True, the valid settings of an invalid case are returned.

    Returns
    -------
    case : Case or None
        None if there are errors.
    problems : Problems
        Every error and warning with file:line.
    """
    path, problems = Path(path), Problems()
    read = read_yaml(path, problems)
    if read is None:
        return None, problems
    document, data = read

    def where(location: Location) -> str:
        return f"{path}:{line_of(document, location)}"

    data["source_files"] = (path.absolute(),)
    case = build(data, (path.absolute().parent,), where, problems, overrides, partial=partial)
    wrong = {problem.where for problem in problems.items}
    for location in _locations_without_value(data):
        if where(location) not in wrong:
            problems.warn(where(location), f"'{dotted(location)}' is empty: it has no effect")
    for location, name in _unknown_parameters(data):
        if not any(p.where == where(location) and dotted(location) in p.what for p in problems.items):
            problems.error(
                where(location), f"'{name}' is not a parameter", "names that 'faultwave laws' lists", nearest(name)
            )
    problems.items.sort(key=lambda problem: _number(problem.where))
    return case, problems


def read_yaml(path: Path, problems: Problems) -> tuple[CommentedMap, Settings] | None:
    """Return the document of a YAML file, for ``line_of``, and its plain contents; None if it has errors."""
    document = _read(path, problems)
    if document is None:
        return None
    try:
        return document, _plain(document, [MAX_VALUES])
    except ValueError as error:
        problems.error(str(path), str(error))
        return None


def _number(where: str) -> int:
    """Return the line in 'file:line[:column]', 0 without one, to sort problems in the order of the file."""
    found = re.search(r":(\d+)(?::\d+)?$", where)
    return int(found[1]) if found else 0


def _read(path: Path, problems: Problems) -> CommentedMap | None:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        problems.error(str(path), f"cannot be read: {error.strerror}", advice=similar([path]))
        return None
    except UnicodeDecodeError as error:
        problems.error(str(path), f"is not UTF-8 text (byte {error.start})", "a YAML file")
        return None
    reader = YAML(typ="rt")
    try:
        document = reader.load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)
        # ruamel explains at length how to allow a duplicate key, which is no help to users.
        what = " ".join(str(error.problem or error.context).split("\n")[0].split())
        problems.error(place, f"not valid YAML: {what}", advice=_yaml_advice(what))
        return None
    except RecursionError:
        problems.error(str(path), "not valid YAML: it is nested too deeply", "at most 50 nested groups")
        return None
    except Exception as error:  # the parser raises many kinds: a key that is a list or a group causes a TypeError
        what = " ".join(str(error).split())
        problems.error(str(path), f"not valid YAML: {what}", "keys that are words")
        return None
    if not isinstance(document, CommentedMap):
        given = "empty" if document is None else f"a {type(document).__name__.removeprefix('Commented').lower()}"
        problems.error(
            f"{path}:1",
            f"a case file consists of 'name: value' lines; this file is {given}",
            advice="Start from an example: faultwave examples.",
        )
        return None
    return document


def _yaml_advice(what: str) -> str:
    if "tab" in what or "\\t" in what:
        return "Indent with spaces, not tabs"
    return "Remove one of the two" if "duplicate key" in what else ""


MAX_VALUES, DEEPEST = 1_000_000, 50
"""Limits of a case file, since nested aliases in a few lines can expand beyond any memory."""


def _plain(node: object, left: list[int], depth: int = 0) -> Any:
    """Convert ruamel's types to built-in types, which drops formatting.

    Parameters
    ----------
    node : object
        Value of the document.
    left : list of int
        Single counter of the values still allowed.
    depth : int
        Nesting depth of the node.

    Raises
    ------
    ValueError
        If there are too many values or levels.
    """
    left[0] -= 1
    if left[0] < 0 or depth > DEEPEST:
        raise ValueError(
            f"has more than {MAX_VALUES:,} values or {DEEPEST} nested groups, which aliases (*) can create"
        )
    if isinstance(node, Mapping):
        return {(k if isinstance(k, int) else str(k)): _plain(value, left, depth + 1) for k, value in node.items()}
    if isinstance(node, CommentedSeq | list):
        return [_plain(value, left, depth + 1) for value in node]
    for kind in (bool, int, float, str):
        if isinstance(node, kind):
            return kind(node)
    return node


def line_of(document: CommentedMap, location: Location) -> int:
    """Return the 1-based line of the innermost part of ``location`` that exists in the file."""
    node: Any = document
    line = document.lc.line or 0
    for part in location:
        try:
            if isinstance(node, CommentedMap) and part in node:
                line = node.lc.key(part)[0]
            elif isinstance(node, CommentedSeq) and isinstance(part, int) and part < len(node):
                line = node.lc.item(part)[0]
            else:
                break
        except (KeyError, TypeError):  # a key from an alias has no line of its own
            pass
        node = node[part]
    return int(line) + 1


def _locations_without_value(node: object, location: Location = ()) -> Iterator[Location]:
    """Yield the locations of keys without a value."""
    items = node.items() if isinstance(node, Mapping) else enumerate(node) if isinstance(node, list) else ()
    for part, value in items:
        if value is None:
            yield (*location, part)
        yield from _locations_without_value(value, (*location, part))


def _unknown_parameters(data: Mapping[str, object]) -> Iterator[tuple[Location, str]]:
    """Yield unknown parameter names, which are misspelt and would otherwise silently have no effect."""
    for location, field in _fields(data):
        tables: list[tuple[Location, object]] = [((way,), field.get(way)) for way in ("constant", "expression")]
        regions = field.get("regions")
        if isinstance(regions, Mapping):
            tables += [(("regions", region), names) for region, names in regions.items()]
        random = field.get("random")
        for title, one in random.items() if isinstance(random, Mapping) else ():
            if isinstance(one, Mapping):
                tables += [(("random", title, way), one.get(way)) for way in ("relative", "absolute")]
        for path, names in tables:
            for name in names if isinstance(names, Mapping) else ():
                if not known(str(name)):
                    yield (*location, *path, name), str(name)


def _fields(data: Mapping[str, object]) -> Iterator[tuple[Location, Mapping[str, object]]]:
    fault = data.get("fault")
    fault = fault if isinstance(fault, Mapping) else {}
    episodes = fault.get("nucleation")
    initial = data.get("initial")
    rock = data.get("plasticity")
    rock = rock if isinstance(rock, Mapping) else {}
    candidates: list[tuple[Location, object]] = [
        (("material",), data.get("material")),
        (("fault", "parameters"), fault.get("parameters")),
        *((("plasticity", name), rock.get(name)) for name in ("parameters", "initial_stress")),
        (("initial", "field"), initial.get("field") if isinstance(initial, Mapping) else None),
    ]
    boundaries = data.get("dirichlet")
    for number, given in enumerate(boundaries if isinstance(boundaries, list) else ()):
        if isinstance(given, Mapping):
            candidates += [(("dirichlet", number, name), given.get(name)) for name in ("velocity", "traction", "ghost")]
    for number, episode in enumerate(episodes if isinstance(episodes, list) else ()):
        if isinstance(episode, Mapping):
            candidates.append((("fault", "nucleation", number, "stress"), episode.get("stress")))
    yield from ((location, field) for location, field in candidates if isinstance(field, Mapping))


_PATH = re.compile(r"[a-z_]+(?:\.[\w+-]+|\[\d+\])*")
_PART = re.compile(r"[\w+-]+")
_RECEIVER = re.compile(r"(fault )?receiver (\d+) at ")
_SOURCE = re.compile(r"source (.+?)(?: (?:subfault|source) \d+.*)? at \(")


def located(case: Case, problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems with their origins as locations.

    A problem that refers to a replaced setting is located at the option; one of a setting, receiver or source at file and line of the
    native case file or input of SW4; one of a deck at the deck or the easi file.
    """
    problems = [_replaced(p, case) for p in problems]
    document = _document(case)
    if document is None:
        locate = {".par": _in_deck, ".in": _in_sw4_input}.get(_suffix(case))
        return problems if locate is None else [locate(p, case) for p in problems]
    return [_placed(p, case, document) for p in problems]


def _document(case: Case) -> CommentedMap | None:
    if len(case.source_files) != 1 or case.source_files[0].suffix.lower() not in (".yaml", ".yml"):
        return None
    try:
        document = YAML(typ="rt").load(case.source_files[0].read_text(encoding="utf-8"))
    except (OSError, ValueError, YAMLError):  # changed since it was read
        return None
    return document if isinstance(document, CommentedMap) else None


def _suffix(case: Case) -> str:
    """Return the suffix of the only file of a case, empty with several files."""
    return case.source_files[0].suffix.lower() if len(case.source_files) == 1 else ""


def _in_deck(problem: Problem, case: Case) -> Problem:
    """Locate a problem of a setting in a deck: in the easi file that gives the field, else in the deck itself."""
    match = _PATH.match(problem.where)
    location = location_of(match[0]) if match else ()
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


def _in_sw4_input(problem: Problem, case: Case) -> Problem:
    """Locate a problem of a setting, source or receiver at a line of an input of SW4."""
    from faultwave.case.sw4.convert import place_of

    source, receiver = _SOURCE.match(problem.where), _RECEIVER.match(problem.where)
    name = source[1] if source else problem.where
    match = _PATH.fullmatch(name) if source else _PATH.match(name)
    location = location_of(match[0]) if match else ()
    if receiver:
        location = ("output", "receivers", int(receiver[2]) - 1)
    if not location or location[0] not in Case.model_fields:
        return problem
    return replace(problem, where=place_of(case.source_files[0], location), what=f"{problem.where}: {problem.what}")


def _replaced(problem: Problem, case: Case) -> Problem:
    match = _PATH.match(problem.where)
    location = location_of(match[0]) if match else ()
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
        location = location_of(source[1]) if named else _source_file(source[1], document)
    else:
        match = _PATH.match(where)
        location = location_of(match[0]) if match else None
    if not location or location[0] not in Case.model_fields or location[0] not in document:
        return None
    return f"{path}:{line_of(document, location)}"


def location_of(path: str) -> Location:
    """Return the location that a dotted path such as 'output.receivers.points[0]' names."""
    return tuple(int(part) if part.isdigit() else part for part in _PART.findall(path))


def _source_file(name: str, document: CommentedMap) -> Location | None:
    """Return the location of the source that reads a file of this name."""
    listed = document.get("sources")
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
