"""Settings of parts that other packages bring: each part's module declares them as ``Setting``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import create_model

from faultwave.base.errors import suggest
from faultwave.base.registry import installed
from faultwave.case.common import Settings


def part_settings(given: Any, engine: str, context: Any) -> Any:
    """``given``, settings by the part's name, as those parts declare them. Raises ValueError for a part that is not installed."""
    if not isinstance(given, Mapping) or not given:
        return given
    declared = {entry.name: entry.load().Setting for entry in installed(f"faultwave.{engine}.parts")}
    for name in given:
        if name not in declared:
            advice = suggest(str(name), declared)
            text = f"no installed package has a part '{name}' for the engine {engine}"
            raise ValueError(f"{text} (installed: {', '.join(declared) or 'none'})" + (f", {advice}" if advice else ""))
    fields: dict[str, Any] = {name: (declared[name], ...) for name in given}
    read = create_model("Parts", __base__=Settings, **fields).model_validate(given, context=context)
    return {name: getattr(read, name) for name in given}


__all__ = ["part_settings"]
