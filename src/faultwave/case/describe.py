"""Description of settings from their declarations, for error messages and the settings reference.

Everything is read from the JSON schema that pydantic derives from the model, so there is a single description.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

from faultwave.case.settings.model import Case
from faultwave.case.settings.plugins import described

Node = dict[str, Any]
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
