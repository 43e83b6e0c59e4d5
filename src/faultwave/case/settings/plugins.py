"""Settings of capabilities from other packages, which their modules declare as ``Setting``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import create_model

from faultwave.base.errors import suggest
from faultwave.base.registry import entries, installed
from faultwave.case.settings.common import Settings


def declared(engine: str) -> dict[str, type[Settings]]:
    """Return the settings classes of an engine's installed plug-in capabilities, by capability name."""
    loaded = {entry.name: entry.load() for entry in installed(f"faultwave.{engine}.parts")}
    return {name: module.Setting for name, module in loaded.items() if hasattr(module, "Setting")}


def part_settings(given: object, engine: str, context: object) -> object:
    """Validate settings by the declarations of plug-in capabilities.

    Parameters
    ----------
    given : object
        Settings by the capability's name.
    engine : str
        Engine of the case.
    context : object
        Validation context of pydantic.

    Raises
    ------
    ValueError
        If a capability is not installed.
    """
    if not isinstance(given, Mapping) or not given:
        return given
    known = declared(engine)
    for name in given:
        if name not in known:
            advice = suggest(str(name), known)
            text = f"no installed package has a part '{name}' for the engine {engine}"
            raise ValueError(f"{text} (installed: {', '.join(known) or 'none'})" + (f", {advice}" if advice else ""))
    fields: dict[str, Any] = {name: (known[name], ...) for name in given}
    read = create_model("Parts", __base__=Settings, **fields).model_validate(given, context=context)
    return {name: getattr(read, name) for name in given}


def described(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of a case, extended by the settings of all installed plug-in capabilities."""
    engines = entries("faultwave", "engine", "faultwave.engines")
    settings = {name: kind for engine in engines for name, kind in declared(engine).items()}
    groups: dict[str, Any] = {}
    places: dict[str, Any] = {}
    for name, kind in settings.items():
        own = kind.model_json_schema(ref_template=f"#/$defs/{name}.{{model}}")
        nested = {f"{name}.{group}": node for group, node in own.pop("$defs", {}).items()} | {name: own}
        groups |= {key: {**node, "title": key} for key, node in nested.items()}
        places[name] = {"$ref": f"#/$defs/{name}"}
    if not places:
        return schema
    parts = {"type": "object", "title": "Parts", "properties": places}
    return {
        **schema,
        "$defs": {**schema["$defs"], **groups},
        "properties": {**schema["properties"], "parts": {**schema["properties"]["parts"], **parts}},
    }


__all__ = ["declared", "described", "part_settings"]
