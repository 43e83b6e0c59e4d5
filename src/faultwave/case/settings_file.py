"""Reading of settings files other than cases, such as studies and campaigns: contents, places of settings, and errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from faultwave.base.errors import InputError, Problems, suggest
from faultwave.base.files.paths import shown
from faultwave.base.types import JsonObject
from faultwave.base.types import Settings as Data
from faultwave.case.native import line_of, read_yaml
from faultwave.case.settings.common import ParameterErrors, Settings
from faultwave.case.validate import Location, dotted, written_location

T = TypeVar("T", bound=Settings)
Where = Callable[[Location], str]
"""Function that returns the place of a setting, such as file:line."""
LIMITS = {
    "greater_than": "> {gt:g}",
    "greater_than_equal": "{ge:g} or more",
    "less_than": "< {lt:g}",
    "less_than_equal": "{le:g} or less",
    "too_short": "{min_length} or more entries",
    "too_long": "{max_length} or fewer entries",
    "string_too_short": "a text that is not empty",
    "finite_number": "a finite number",
    "float_parsing": "a number",
    "float_type": "a number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "bool_parsing": "true or false",
    "bool_type": "true or false",
}
"""Allowed values by pydantic's type of error; others have pydantic's text."""
OF_PARTS = ("literal_error", "too_short", "too_long")
"""Errors of a value that follow from errors of its parts."""


def read_contents(source: object, what: str, problems: Problems) -> tuple[Data, Sequence[Path], Where]:
    """Return the contents of a settings file or mapping.

    Parameters
    ----------
    source : str, PathLike or mapping
        File (YAML), or its contents.
    what : str
        Kind of the file for messages, such as 'study'.
    problems : Problems
        Collects errors.

    Returns
    -------
    data : dict
        Contents, empty if there are errors.
    folders : sequence of Path
        Folders in which relative paths are searched.
    where : callable
        Place of a setting.
    """
    if isinstance(source, Mapping):
        return dict(source), (Path.cwd(),), lambda location: dotted(location) if location else what
    path = Path(str(source)).expanduser()
    if path.suffix.lower() not in (".yaml", ".yml"):
        problems.error(shown(source, 500), f"is no {what}", "a YAML file, or a mapping of its settings")
        return {}, (), dotted
    read = read_yaml(path, problems)
    if read is None:
        return {}, (), dotted
    document, data = read
    return data, (path.absolute().parent,), lambda location: f"{path}:{line_of(document, location)}"


def validated(model: type[T], data: Data, folders: Sequence[Path], where: Where, what: str) -> T:
    """Return the settings of a file, or raise InputError with every error at its place.

    Parameters
    ----------
    model : type of Settings
        Declaration of the settings.
    data : dict
        Contents of the file.
    folders : sequence of Path
        Folders in which input files are searched.
    where : callable
        Place of a setting.
    what : str
        Kind of the file for messages, such as 'study'.
    """
    try:
        return model.model_validate(data, context={"folders": tuple(folders)})
    except ValidationError as error:
        problems = Problems()
        _translate(error.errors(include_url=False), data, where, problems, (model, what))
        raise InputError(dict.fromkeys(problems.items)) from None


def _translate(
    items: Sequence[ErrorDetails],
    data: Data,
    where: Where,
    problems: Problems,
    kind_of_file: tuple[type[Settings], str],
) -> None:
    """Add the errors of pydantic with place, allowed values and a suggestion."""
    model, file = kind_of_file
    alternatives: dict[Location, list[ErrorDetails]] = {}
    for item in items:  # each alternative of a union reports an error
        alternatives.setdefault(written_location(item["loc"], data, item["type"]), []).append(item)
    for location, found in alternatives.items():
        if any(other[: len(location)] == location for other in alternatives if other != location):
            found = [item for item in found if item["type"] not in OF_PARTS]
        absent = [item for item in found if item["type"] == "missing"]
        found = [
            item for item in found if item not in absent[:-1]
        ]  # a list that is too short has an error for each absent entry
        name = dotted(location) if location else file
        if not found:
            continue
        item, kind = found[0], found[0]["type"]
        cause = item.get("ctx", {}).get("error")
        if kind == "extra_forbidden":
            names = _names(model, location[:-1])
            group = f"'{dotted(location[:-1])}'" if location[:-1] else f"a {file}"
            what, allowed = f"'{location[-1]}' is not a setting of {group}", ", ".join(names)
            problems.error(where(location), what, allowed, suggest(str(location[-1]), names))
        elif kind == "missing" and isinstance(item["loc"][-1], str):
            problems.error(where(location), f"{name} is missing")
        elif isinstance(cause, ParameterErrors):
            for part, text in cause.wrong.items():
                problems.error(where((*location, part)), f"{dotted((*location, part))}: {text}")
            if cause.group:
                problems.error(where(location), f"{name}: {cause.group}")
        elif kind == "value_error":
            problems.error(where(location), f"{name}: {cause}")
        else:
            causes = [str(one["ctx"]["error"]) for one in found if one["type"] == "value_error"]
            permitted = [_allowed(one) for one in found if one["type"] != "value_error"]
            value, allowed = item["input"], ", ".join(dict.fromkeys(permitted))
            advice = suggest(value, allowed.split(", ")) if isinstance(value, str) else ""
            advice = advice or "; ".join(causes)
            problems.error(where(location), f"{name} is {shown(repr(value))}", allowed, advice)


def _allowed(item: ErrorDetails) -> str:
    """Return the values that one alternative of a setting permits."""
    if item["type"] == "missing":
        return f"{int(item['loc'][-1]) + 1} entries"
    if item["type"] == "literal_error":
        return str(item["ctx"]["expected"]).replace("'", "").replace(" or ", ", ")
    return LIMITS.get(item["type"], "{msg}").format(msg=item["msg"], **item.get("ctx", {}))


def _names(model: type[Settings], location: Location) -> list[str]:
    """Return the names of the settings in a group."""
    schema: JsonObject = model.model_json_schema()
    node: JsonObject = schema
    for part in location:
        node = node.get("properties", {}).get(part) or node.get("additionalProperties") or node.get("items") or {}
        node = next((n for n in node.get("anyOf", ()) if n.get("type") != "null"), node)
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
    return list(node.get("properties", {}))


def markdown_tables(groups: Sequence[tuple[str, type[Settings]]]) -> str:
    """Return the reference of settings, a table for each group with its title."""
    parts = []
    for title, group in groups:
        rows = [f"### {title}", "", "| setting | default | what it is |", "|---|---|---|"]
        for name, field in group.model_fields.items():
            plain = field.default is None or isinstance(field.default, bool | int | float | str)
            default = (
                "**required**"
                if field.is_required()
                else f"`{field.default}`"
                if plain and field.default not in (None, "")
                else ""
            )
            rows.append(f"| `{name}` | {default} | {field.description} |")
        parts.append("\n".join(rows))
    return "\n\n".join(parts) + "\n"
