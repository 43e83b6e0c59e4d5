"""Which engine a setting belongs to: said once where it is declared, as ``json_schema_extra=only('fd')``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import BaseModel

from faultwave.base.errors import Problem

Location = tuple[str | int, ...]


def one_of(*names: str) -> Any:
    """The annotation of a setting that takes one of names found by scanning."""
    return Literal[names]


def only(engine: str, why: str = "") -> dict[str, Any]:
    """Of a setting that one engine has; ``why`` is what a case on another engine is told."""
    return {"engine": engine, "why": why or f"needs the engine {engine}"}


class WrongSettings(ValueError):
    """What is wrong with settings of a case, by their places."""

    def __init__(self, wrong: dict[Location, Problem]):
        self.wrong = wrong
        super().__init__("; ".join(map(str, wrong.values())))


def misplaced(settings: BaseModel, engine: str, at: Location = ()) -> Iterator[tuple[Location, Problem]]:
    """Settings that are given in a case on ``engine`` and belong to another one."""
    for name, field in type(settings).model_fields.items():
        value, extra, here = getattr(settings, name), field.json_schema_extra, (*at, name)
        if isinstance(extra, dict) and value and extra.get("engine", engine) != engine:
            allowed = f"engine: {extra['engine']}"
            yield here, Problem(".".join(map(str, here)), str(extra["why"]), allowed)
        elif isinstance(value, BaseModel):
            yield from misplaced(value, engine, here)


__all__ = ["WrongSettings", "misplaced", "one_of", "only"]
