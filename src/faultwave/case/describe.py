"""Description of settings from their declarations, for error messages and the settings reference in Markdown.

Everything is read from the JSON schema that pydantic derives from the model, so there is a single description.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Sequence

from faultwave.base.types import Settings
from faultwave.case import describe
from faultwave.case.settings.model import Case, described

Node = Settings
_BOUNDS = (("exclusiveMinimum", ">"), ("minimum", ">="), ("exclusiveMaximum", "<"), ("maximum", "<="))


@functools.cache
def schema() -> Node:
    """Return the JSON schema of a whole case, with the settings of capabilities from other installed packages."""
    return described(Case.model_json_schema())


def resolve(node: Node) -> Node:
    """Return the node itself, or the target of its ``$ref`` with the reference's own keys on top."""
    if "$ref" not in node:
        return node
    target = schema()["$defs"][node["$ref"].rsplit("/", 1)[1]]
    return {**target, **{key: value for key, value in node.items() if key != "$ref"}}


def branches(node: Node) -> Iterator[Node]:
    """Yield the alternatives of a node except null; the node itself if there is no choice."""
    node = resolve(node)
    choices = node.get("anyOf") or node.get("oneOf")
    if not choices:
        if node.get("type") != "null":
            yield node
        return
    for choice in choices:
        yield from branches(choice)


def _step(node: Node, part: str | int) -> list[Node]:
    """Return the nodes one level below; a part that is only the tag of an alternative selects that alternative."""
    found: list[Node] = []
    for choice in branches(node):
        tag = choice.get("properties", {}).get("shape", {}).get("const")
        if isinstance(part, int):
            prefix = choice.get("prefixItems", [])
            item = prefix[part] if 0 <= part < len(prefix) else choice.get("items")
        elif tag is not None and part == tag:
            item = choice
        else:
            item = choice.get("properties", {}).get(part) or choice.get("additionalProperties")
        if isinstance(item, dict):
            found.append(item)
    return found


def at(location: Sequence[str | int]) -> list[Node]:
    """Return the schema nodes at a location such as ('fault', 'nucleation', 0, 'start'), possibly none."""
    nodes = [schema()]
    for part in location:
        nodes = [below for node in nodes for below in _step(node, part)]
    return nodes


def names_at(location: Sequence[str | int]) -> list[str]:
    """Return the names of the settings in the group at ``location``."""
    found = [choice.get("properties", {}) for node in at(location) for choice in branches(node)]
    return list(dict.fromkeys(name for properties in found for name in properties if name != "source_files"))


def keys_at(location: Sequence[str | int]) -> list[str]:
    """Return the names that a mapping at ``location`` may use, if they are limited."""
    found = [choice.get("propertyNames", {}) for node in at(location) for choice in branches(node)]
    return [name for keys in found for name in keys.get("enum", [])]


def bounds(node: Node) -> str:
    """Return the bounds of a number, such as '> 0 and <= 1', else an empty text."""
    return " and ".join(f"{sign} {node[key]:g}" for key, sign in _BOUNDS if key in node)


def _number(node: Node) -> str:
    unit = f"[{node['unit']}]" if node.get("unit") else ""
    return " ".join(filter(None, (str(node["type"]), bounds(node), unit)))


def _array(node: Node) -> str:
    items = [type_text(item) for item in node.get("prefixItems", [])]
    if items and len(set(items)) == 1:
        return f"{len(items)} times {items[0]}"
    if items:
        return "[" + ", ".join(items) + "]"
    return f"list of {type_text(node.get('items', {}))}"


def _one(node: Node) -> str:
    if "words" in node:  # texts with a pattern
        return str(node["words"])
    if "enum" in node:
        return ", ".join(map(str, node["enum"]))
    if "const" in node:
        return str(node["const"])
    kind = node.get("type")
    if kind in ("number", "integer"):
        return _number(node)
    if kind == "array":
        return _array(node)
    if kind == "object":
        if "properties" in node:
            return f"settings {', '.join(n for n in node['properties'] if n != 'source_files')}"
        return f"name: {type_text(node.get('additionalProperties') or {})}"
    if node.get("format") == "path":
        return "path"
    return {"boolean": "true, false", "string": "text"}.get(str(kind), str(kind))


def type_text(node: Node) -> str:
    """Return type, unit and bounds, such as 'number > 0 [s]', 'double, single' or 'list of 3 times number [m]'."""
    return " or ".join(dict.fromkeys(_one(choice) for choice in branches(node)))


def allowed_at(location: Sequence[str | int]) -> str:
    """Return the allowed values at ``location``, an empty text for a location that is not in the schema."""
    return " or ".join(dict.fromkeys(type_text(node) for node in at(location)))


def help_at(location: Sequence[str | int]) -> str:
    """Return the help text of the setting at ``location``."""
    return next((node["description"] for node in at(location) if "description" in node), "")


_HEAD = "| setting | type | default | unit | bounds | what it is |\n|---|---|---|---|---|---|"
_HIDDEN = {"source_files"}


def settings_markdown() -> str:
    """Return the reference: a table of settings with type, default, unit, bounds and help for each kind of group.

    A group that occurs in several places, such as a field of parameters, has one section that names them all.
    """
    places: dict[str, list[str]] = {}
    _collect("", describe.schema(), places)
    groups = describe.schema()["$defs"]
    return "\n\n".join(_section(paths, groups.get(title, describe.schema())) for title, paths in places.items()) + "\n"


def _collect(path: str, node: Settings, places: dict[str, list[str]]) -> None:
    """Collect the paths of each group by its title, in the order of declaration."""
    places.setdefault(node["title"], []).append(path)
    for name, item in node["properties"].items():
        if name not in _HIDDEN:
            for group, suffix in _inner(item):
                _collect(f"{path}.{name}{suffix}".lstrip("."), group, places)


def _inner(item: Settings) -> Iterator[tuple[Settings, str]]:
    """Yield the groups that a setting may contain, also in a list or by name, with their mark in the heading."""
    for choice in describe.branches(item):
        if "properties" in choice:
            shape = choice["properties"].get("shape", {}).get("const")
            yield choice, f" (shape {shape})" if shape else ""
        elif isinstance(choice.get("items"), dict):
            yield from ((group, "[]") for group, _ in _inner(choice["items"]))
        elif isinstance(choice.get("additionalProperties"), dict):
            yield from ((group, ".NAME") for group, _ in _inner(choice["additionalProperties"]))


def _section(paths: list[str], node: Settings) -> str:
    needed = set(node.get("required", ()))
    rows = [_row(name, item, name in needed) for name, item in node["properties"].items() if name not in _HIDDEN]
    text = " ".join(node.get("description", "").split())
    heading = "## " + (", ".join(f"`{path}`" for path in paths) if paths != [""] else "A case")
    return f"{heading}\n\n" + (f"{text}\n\n" if text else "") + "\n".join([_HEAD, *rows])


def _row(name: str, item: Settings, needed: bool) -> str:
    kinds = dict.fromkeys(_kind(choice) for choice in describe.branches(item))
    limits = dict.fromkeys(filter(None, (describe.bounds(leaf) for leaf in _leaves(item))))
    units = dict.fromkeys(leaf["unit"] for leaf in _leaves(item) if leaf.get("unit"))
    default = "**required**" if needed else _default(item)
    help_text = " ".join(str(describe.resolve(item).get("description", "")).split())
    if "engine" in item:
        help_text += f" Engine {item['engine']} only."
    cells = [f"`{name}`", " or ".join(kinds), default, ", ".join(units), "; ".join(limits), help_text]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _leaves(item: Settings) -> Iterator[Settings]:
    """Yield the numbers and texts in a setting, also inside lists and mappings, but not inside other groups."""
    for choice in describe.branches(item):
        inner = [*choice.get("prefixItems", ()), choice.get("items"), choice.get("additionalProperties")]
        below = [node for node in inner if isinstance(node, dict)]
        if "properties" in choice:
            continue
        if not below:
            yield choice
        for node in below:
            yield from _leaves(node)


def _kind(node: Settings) -> str:
    """Return the type in a word or two; groups have their own section."""
    if "properties" in node:
        return "settings"
    if "words" in node:
        return str(node["words"])
    if "enum" in node or "const" in node:
        return ", ".join(f"`{value}`" for value in node.get("enum", [node.get("const")]))
    kind = node.get("type")
    if kind == "array":
        items = node.get("prefixItems")
        inner = list(dict.fromkeys(_kind(c) for i in items or [node.get("items", {})] for c in describe.branches(i)))
        return f"{len(items)} x {', '.join(inner)}" if items else f"list of {' or '.join(inner)}"
    if kind == "object":
        values = dict.fromkeys(_kind(choice) for choice in describe.branches(node.get("additionalProperties") or {}))
        return f"name: {' or '.join(values)}"
    if node.get("format") == "path":
        return "path"
    return {"string": "text", "boolean": "`true`, `false`"}.get(str(kind), str(kind))


def _default(item: Settings) -> str:
    if "default" not in item:
        groups = any("properties" in choice for choice in describe.branches(item))
        return "its own defaults" if groups else "empty"
    value = item["default"]
    if value is None:
        return "none"
    return f"`{value if isinstance(value, str) else json.dumps(value)}`" if value != "" else "empty"
