"""Settings reference as Markdown, generated from the declarations so that it is always current."""

from __future__ import annotations

import json
from collections.abc import Iterator

from faultwave.base.types import Settings
from faultwave.case import describe

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
    """Yield the groups that a setting may contain, also in a list, with their mark in the heading."""
    for choice in describe.branches(item):
        if "properties" in choice:
            shape = choice["properties"].get("shape", {}).get("const")
            yield choice, f" (shape {shape})" if shape else ""
        elif isinstance(choice.get("items"), dict):
            yield from ((group, "[]") for group, _ in _inner(choice["items"]))


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
