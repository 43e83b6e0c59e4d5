"""Which engine, or which kind of its group, a setting belongs to: said once where it is declared, as
``json_schema_extra=only('fd')`` or ``of_kind('ricker', 'burst')``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from pydantic import BaseModel, SerializerFunctionWrapHandler, model_serializer, model_validator

from faultwave.base.errors import Problem
from faultwave.case.common import ParameterErrors, Settings, need

Location = tuple[str | int, ...]


def one_of(*names: str) -> Any:
    """The annotation of a setting that takes one of names found by scanning."""
    return Literal[names]


def only(engine: str, why: str = "") -> dict[str, Any]:
    """Of a setting that one engine has; ``why`` is what a case on another engine is told."""
    return {"engine": engine, "why": why or f"needs the engine {engine}"}


def of_kind(*kinds: str) -> dict[str, Any]:
    """Of a setting that only these kinds of its group use; ``Kinds`` refuses it with any other."""
    return {"kinds": kinds}


class Kinds(Settings):
    """Base of groups that have a ``kind``: a setting that the chosen one does not use is an error, not ignored."""

    def conditions(self) -> Iterable[tuple[object, str]]:
        """What else must hold, each with the text of the error where it does not."""
        return ()

    @model_validator(mode="after")
    def _sound_kind(self) -> Any:
        chosen: str = self.kind  # type: ignore[attr-defined]
        given = [n for n in self.model_fields_set if getattr(self, n) not in (None, [], {})]  # those say nothing
        unused = sorted(name for name in given if not self._uses(name))
        failed = [text for holds, text in self.conditions() if not holds]
        if unused:
            used = ", ".join(n for n in type(self).model_fields if n != "kind" and self._uses(n))
            what = f"does nothing with kind {chosen}, which uses {used}"
            raise ParameterErrors(dict.fromkeys(unused, what), "; ".join(failed))
        need(*((False, text) for text in failed))
        return self

    def _uses(self, name: str) -> bool:
        extra = type(self).model_fields[name].json_schema_extra
        kinds = extra.get("kinds") if isinstance(extra, dict) else None
        return not isinstance(kinds, tuple) or self.kind in kinds  # type: ignore[unreachable]

    @model_serializer(mode="wrap")
    def _without_unused(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A case that is written down can be read again: defaults of settings of other kinds are not told."""
        return {name: value for name, value in plain(self).items() if self._uses(name)}


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


__all__ = ["Kinds", "WrongSettings", "misplaced", "of_kind", "one_of", "only"]
