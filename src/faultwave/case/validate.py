"""Validation of plain data into a Case, with errors at their places, and the valid subset of an invalid case."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from faultwave.base.errors import Problem, Problems, suggest, without_repeated_place
from faultwave.base.types import Settings
from faultwave.base.wording import option
from faultwave.case import describe
from faultwave.case.settings.common import ParameterErrors, WrongSettings
from faultwave.case.settings.model import Case

Location = tuple[str | int, ...]

ROUNDS = 20
"""Largest number of removals; a removed setting may invalidate its group, and that the case."""

PLACEHOLDERS: Settings = {
    "end_time": 1.0,
    "mesh": {"generate": {"shape": "box", "cells": [2, 2, 2], "lower": [0, 0, -1], "upper": [1, 1, 0]}},
    "grid": {"lower": [0, 0, -1], "upper": [1, 1, 0], "spacing": 0.1},
    "material": {"constant": {"rho": 1.0}},
}
"""Placeholders for settings that every case requires."""


ErrorReceiver = Callable[[Sequence[ErrorDetails], Settings], None]
"""Function that receives errors of pydantic and the settings that they refer to."""


def sound_part(data: Settings, folders: Sequence[Path], tell: ErrorReceiver) -> Case | None:
    """Return the case without the settings that validation rejects, None if nothing remains.

    Of a list, the entries before the first invalid one are retained, so that their indices stay; ``Case.left_out`` lists the removed
    settings. Some rules are checked only once every setting is valid by itself: ``tell`` receives the violations of such rules by the
    remaining settings. It receives neither the errors of the first validation nor any that result from removed settings or placeholders.

    Parameters
    ----------
    data : dict
        Settings.
    folders : sequence of Path
        Folders in which relative input paths are searched.
    tell : callable
        Receives errors and the settings that they refer to.
    """
    data, left_out, put_in = copy.deepcopy(data), list[Location](), list[Location]()
    for number in range(ROUNDS):
        try:
            case = Case.model_validate(data, context={"folders": tuple(folders)})
        except ValidationError as error:
            items = error.errors(include_url=False)
            if number:
                tell(list(_independent_errors(items, data, [*left_out, *put_in])), data)
            wrong = [location for item in items for location in _wrong(item)]
            found = dict.fromkeys(_user_location(data, location) for location in wrong)
            taken = list(filter(None, found))
            lacking = _insert_placeholders(data, wrong) if not all(found) else []
            waiting = _without_fault(data, wrong) if not all(found) and not lacking else []
            for location in taken:
                _remove(data, location)
            if not all(found) and not lacking and not waiting:
                return None
            put_in += lacking
            left_out += [*taken, *waiting]
            continue
        case._left_out = tuple(left_out)
        return case
    return None


def _independent_errors(
    items: Iterable[ErrorDetails], data: Settings, changed: Sequence[Location]
) -> Iterator[ErrorDetails]:
    """Yield errors, and parts of errors, that do not result from the ``changed`` settings."""
    for item in items:
        cause = item.get("ctx", {}).get("error")
        at = _user_location(data, item["loc"])
        if isinstance(cause, WrongSettings):
            retained = {
                place: reported for place, reported in cause.wrong.items() if not _may_result_from(place, changed)
            }
            if retained:
                yield item | {"ctx": {"error": WrongSettings(retained)}}
            continue
        if item["type"] == "missing":
            at = (*at, item["loc"][-1])
        if not _may_result_from(at, changed):
            yield item


def _may_result_from(at: Location, changed: Iterable[Location]) -> bool:
    """Return True if an error may result from a change.

    This holds inside and above the change, for a name similar to a misspelt setting in the same group, for list entries after the first
    invalid one, and for the engine, which determines the required settings.
    """
    for other in changed:
        shared = min(len(at), len(other))
        if other == ("engine",) or at[:shared] == other[:shared]:
            return True
        adjacent = len(at) == len(other) and at[:-1] == other[:-1]
        if adjacent and (_later(at[-1], other[-1]) or suggest(str(other[-1]), [str(at[-1])])):
            return True
    return False


def _later(entry: str | int, other: str | int) -> bool:
    """Return True for a list entry after the first invalid one, which is removed with it."""
    return isinstance(entry, int) and isinstance(other, int) and entry > other


def _wrong(item: ErrorDetails) -> Iterator[Location]:
    location, cause = item["loc"], item.get("ctx", {}).get("error")
    if isinstance(cause, WrongSettings):
        yield from cause.wrong
    elif isinstance(cause, ParameterErrors) and cause.wrong:
        yield from ((*location, name) for name in cause.wrong)
    elif item["type"] == "missing":
        yield location[:-1] or (location[-1],)
    else:
        yield location


def _user_location(data: Settings, location: Location) -> Location:
    """Return the part of pydantic's location that the user wrote, up to the first list entry; () for the whole case."""
    node: Any = data
    path = list[str | int]()
    for part in location:  # some parts are names of alternatives, which the user did not write
        inside = part in node if isinstance(node, dict) else isinstance(node, list) and part in range(len(node))
        if inside:
            path.append(part)
            if isinstance(node, list):
                break
            node = node[part]
    return tuple(path)


def _remove(data: Settings, path: Location) -> None:
    owner: object = data
    for part in path[:-1]:
        owner = owner.get(part, {}) if isinstance(owner, dict) else owner
    if isinstance(owner, list) and isinstance(path[-1], int):
        del owner[path[-1] :]
    elif isinstance(owner, dict):
        owner.pop(path[-1], None)


def _insert_placeholders(data: Settings, wrong: Sequence[Location]) -> list[Location]:
    """Insert placeholders for missing required settings and return their locations."""
    needed = {str(location[-1]) for location in wrong if location} & PLACEHOLDERS.keys()
    needed |= {"grid" if data.get("engine") == "fd" else "mesh"}
    lacking = {name: copy.deepcopy(PLACEHOLDERS[name]) for name in needed if data.get(name) is None}
    data |= lacking
    return [(name,) for name in lacking]


def _without_fault(data: Settings, wrong: Sequence[Location]) -> list[Location]:
    """Remove settings that require a fault if there is none, and return their locations."""
    if ("fault",) not in wrong or "stop" not in data:
        return []
    del data["stop"]
    return [("stop",)]


OVERRIDES: dict[str, Location] = {
    "engine": ("engine",),
    "order": ("numerics", "order"),
    "precision": ("numerics", "precision"),
    "backend": ("numerics", "backend"),
    "threads": ("numerics", "threads"),
    "progress": ("numerics", "progress"),
    "halo": ("numerics", "halo"),
    "until": ("end_time",),
    "output": ("output", "folder"),
    "checkpoint_every": ("output", "checkpoint", "interval"),
}
"""Options that may replace settings: option -> location of the setting."""


def dotted(location: Sequence[str | int]) -> str:
    """Return a location as text, such as 'output.receivers.points[0]'."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return text.lstrip(".") or "case"


def set_value(data: Settings, location: Location, value: object) -> None:
    """Set a setting in nested groups, which are created where they are missing.

    Raises
    ------
    KeyError
        If the location leads through a value that is no group, or to a list entry that does not exist.
    """
    owner: Any = data
    for part, after in zip(location, [*location[1:], None], strict=True):
        if isinstance(owner, tuple):
            raise KeyError(f"'{dotted(location)}' cannot be changed")
        if isinstance(part, int):
            if not isinstance(owner, list) or not part < len(owner):
                count = len(owner) if isinstance(owner, list) else "no"
                raise KeyError(f"the base case has {count} entries there, so that there is no [{part}]")
        elif not isinstance(owner, dict):
            raise KeyError(f"the base case has no group at '{dotted(location)}'")
        if after is None:
            owner[part] = value
        else:
            below = owner[part] if isinstance(part, int) else owner.get(part)
            if below is None:
                if isinstance(after, int):
                    raise KeyError(f"the base case has no list there, so that there is no [{after}]")
                below = {}
            below = list(below) if isinstance(below, tuple) else below
            owner[part] = below
            owner = below


def apply_overrides(data: Settings, overrides: Mapping[str, object] | None, problems: Problems) -> Settings:
    """Return a copy of ``data`` with the overrides that are not None; groups along the path are copied or created."""
    data = dict(data)
    for name, value in (overrides or {}).items():
        if name not in OVERRIDES:
            problems.error(option(name), "does not exist", ", ".join(map(option, OVERRIDES)), suggest(name, OVERRIDES))
            continue
        if value is None:
            continue
        group, location = data, OVERRIDES[name]
        for part in location[:-1]:
            below = group.get(str(part))
            if below is not None and not isinstance(below, Mapping):
                break  # not a group, which validation reports
            group[str(part)] = group = dict(below or {})
        else:
            group[str(location[-1])] = value
    return data


def build(
    data: Settings,
    folders: Sequence[Path],
    where: Callable[[Location], str],
    problems: Problems,
    overrides: Mapping[str, object] | None = None,
    spell: Callable[[Location], str] = dotted,
    partial: bool = False,
) -> Case | None:
    """Validate ``data`` into a case.

    Parameters
    ----------
    data : dict
        Settings.
    folders : sequence of Path
        Folders in which relative input paths are searched, in this order.
    where : callable
        ``where(location)`` returns the place of a setting for messages.
    problems : Problems
        Collects errors. With ``partial``, only errors that appear in the valid subset are added.
    overrides : mapping, optional
        Command-line options that replace settings, see ``OVERRIDES``.
    spell : callable
        ``spell(location)`` returns the user's name of a setting.
    partial : bool
        If True, return the valid subset of an invalid case.

    Returns
    -------
    Case or None
        None if ``data``, or anything found before, is invalid.
    """
    # The default of output.folder is made absolute by validation, which pydantic runs on given groups only.
    data = apply_overrides({"output": {}, **data}, overrides, problems)
    options = {OVERRIDES[n]: option(n) for n, v in (overrides or {}).items() if v is not None and n in OVERRIDES}

    def place(location: Location) -> str:
        return options.get(location) or where(location)

    if partial:
        return sound_part(data, folders, lambda items, rest: _translate(items, rest, place, spell, problems))
    try:
        case = Case.model_validate(data, context={"folders": tuple(folders)})
    except ValidationError as error:
        _translate(error.errors(include_url=False), data, place, spell, problems)
        return None
    case._overridden = tuple(n for n, v in (overrides or {}).items() if v is not None)
    return None if problems.errors else case


def _translate(
    items: Iterable[ErrorDetails],
    data: object,
    place: Callable[[Location], str],
    spell: Callable[[Location], str],
    problems: Problems,
) -> None:
    seen: set[Location] = set()
    for item in items:
        location = written_location(item["loc"], data, item["type"])
        if location in seen:  # each alternative of a union reports an error
            continue
        seen.add(location)
        cause = item.get("ctx", {}).get("error")
        if isinstance(cause, WrongSettings):
            for there, found in cause.wrong.items():
                what = without_repeated_place(place(there), f"{spell(there)}: {found.what}")
                problems.error(place(there), what, found.allowed, found.advice)
            continue
        if isinstance(cause, ParameterErrors):
            for name, text in cause.wrong.items():
                at = place((*location, name))
                problems.error(at, without_repeated_place(at, f"{dotted((*location, name))}: {text}"))
            if cause.group:
                problems.error(
                    place(location), without_repeated_place(place(location), f"{spell(location)}: {cause.group}")
                )
            continue
        what, allowed, advice = _describe_error(item, location, spell)
        at = place(location)
        problem = Problem(at, without_repeated_place(at, what), allowed, advice)
        if problem not in problems.items:  # one key of a deck may feed several settings
            problems.items.append(problem)


def written_location(location: Location, data: Any, kind: str) -> Location:
    """Return the part of pydantic's location that the user wrote, without tags of union members and '[key]'."""
    parts: list[str | int] = []
    for part in location:
        if isinstance(data, Mapping):
            inside = part in data
        else:
            inside = isinstance(part, int) and isinstance(data, list | tuple) and 0 <= part < len(data)
        if inside:
            parts.append(part)
            data = data[part]
    if kind == "missing" and location and isinstance(location[-1], str):
        parts.append(location[-1])
    return tuple(parts)


def _describe_error(item: ErrorDetails, location: Location, spell: Callable[[Location], str]) -> tuple[str, str, str]:
    """Return the error text, the allowed values and advice."""
    kind, name = item["type"], spell(location)
    allowed = describe.allowed_at(location)
    if item["loc"][-1:] == ("[key]",):
        names = describe.keys_at(location[:-1])
        return (
            f"'{location[-1]}' is not a valid name in {dotted(location[:-1])}",
            ", ".join(names),
            suggest(str(item["input"]), names),
        )
    if kind == "missing" and not isinstance(item["loc"][-1], str):
        return f"{name} is {_show(item['input'])}, too short", allowed, ""
    if kind == "extra_forbidden":
        names = describe.names_at(item["loc"][:-1])
        group = f"'{dotted(location[:-1])}'" if location[:-1] else "a case"
        return f"'{location[-1]}' is not a setting of {group}", ", ".join(names), suggest(str(location[-1]), names)
    if kind == "missing":
        return f"'{name}' is missing", allowed, describe.help_at(location)
    if kind == "union_tag_not_found":
        return f"'{name}.shape' is missing", "box, tpv5", ""
    if kind == "union_tag_invalid":
        return f"{name}.shape is '{item['ctx']['tag']}'", "box, tpv5", suggest(str(item["ctx"]["tag"]), ["box", "tpv5"])
    if kind == "value_error":
        text = str(item["ctx"]["error"])
        whole = not isinstance(item["input"], str | int | float) or "path" in allowed
        advice = re.search(r",? did you mean .*\?$", text)
        return f"{name}: {text[: advice.start()] if advice else text}", "" if whole else allowed, _tidy(advice)
    if kind == "finite_number":
        return f"{name} is {_show(item['input'])}", allowed or "a finite number", ""
    if kind == "literal_error":
        options = allowed.split(", ")
        return f"{name} is {_show(item['input'])}", allowed, suggest(str(item["input"]), options)
    if item["input"] is None:
        return f"'{name}' is empty", allowed, ""
    return f"{name} is {_show(item['input'])}", allowed or item["msg"], "" if allowed else item["msg"]


def _tidy(match: re.Match[str] | None) -> str:
    return match[0].lstrip(", ") if match else ""


def _show(value: object) -> str:
    text = f"'{value}'" if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
