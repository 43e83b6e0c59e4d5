"""Valid subset of an invalid case, which allows errors in the files it names to be found in the same run."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from faultwave.base.errors import suggest
from faultwave.base.types import Settings
from faultwave.case.settings.belongs import WrongSettings
from faultwave.case.settings.common import ParameterErrors
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


ErrorReceiver = Callable[[Sequence[Any], dict[str, Any]], None]
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


def _independent_errors(items: Iterable[Any], data: Settings, changed: Sequence[Location]) -> Iterator[Any]:
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


def _wrong(item: Any) -> Iterator[Location]:
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
    owner: Any = data
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


__all__ = ["sound_part"]
