"""What is left of a case without its wrong settings: by it, what is wrong in the files that it names is found in the same round."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from faultwave.case.belongs import WrongSettings
from faultwave.case.common import ParameterErrors
from faultwave.case.model import Case

Location = tuple[str | int, ...]

ROUNDS = 20
"""What is left out of a group may make the group wrong, and that the case."""

STAND_INS: dict[str, Any] = {
    "end_time": 1.0,
    "mesh": {"generate": {"shape": "box", "cells": [2, 2, 2], "lower": [0, 0, -1], "upper": [1, 1, 0]}},
    "grid": {"lower": [0, 0, -1], "upper": [1, 1, 0], "spacing": 0.1},
    "material": {"constant": {"rho": 1.0}},
}
"""For what every case needs."""


def sound_part(data: dict[str, Any], folders: Sequence[Path]) -> Case | None:
    """The case without the settings that validation refuses, None where nothing can be made of it. Of a list what precedes the first
    wrong entry is kept, so that numbers of entries stay; ``Case.left_out`` says where something is missing."""
    data, left_out = copy.deepcopy(data), list[Location]()
    for _ in range(ROUNDS):
        try:
            case = Case.model_validate(data, context={"folders": tuple(folders)})
        except ValidationError as error:
            wrong = [location for item in error.errors(include_url=False) for location in _wrong(item)]
            found = dict.fromkeys(_written(data, location) for location in wrong)
            lacks = not all(found) and not _stood_in(data, wrong)
            for location in filter(None, found):
                _remove(data, location)
            if lacks:
                return None
            left_out += filter(None, found)
            continue
        case._left_out = tuple(left_out)
        return case
    return None


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


def _written(data: dict[str, Any], location: Location) -> Location:
    """The part of pydantic's location that the user wrote, as far as the first entry of a list; () for the whole case."""
    node: Any = data
    path = list[str | int]()
    for part in location:  # among them are names of alternatives that nobody wrote
        inside = part in node if isinstance(node, dict) else isinstance(node, list) and part in range(len(node))
        if inside:
            path.append(part)
            if isinstance(node, list):
                break
            node = node[part]
    return tuple(path)


def _remove(data: dict[str, Any], path: Location) -> None:
    owner: Any = data
    for part in path[:-1]:
        owner = owner.get(part, {}) if isinstance(owner, dict) else owner
    if isinstance(owner, list) and isinstance(path[-1], int):
        del owner[path[-1] :]
    elif isinstance(owner, dict):
        owner.pop(path[-1], None)


def _stood_in(data: dict[str, Any], wrong: Sequence[Location]) -> bool:
    """Put in what the whole case lacks, or take out what waits for something that was left out; False where nothing helps."""
    needed = {str(location[-1]) for location in wrong if location} & STAND_INS.keys()
    needed |= {"grid" if data.get("engine") == "fd" else "mesh"}
    lacking = {name: copy.deepcopy(STAND_INS[name]) for name in needed if data.get(name) is None}
    data |= lacking
    return bool(lacking) or data.pop("stop", None) is not None


__all__ = ["sound_part"]
