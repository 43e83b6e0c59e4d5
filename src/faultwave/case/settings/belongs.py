"""Association of settings with an engine, or with a kind of their group.

It is declared once at the setting, as ``json_schema_extra=only('fd')`` or ``only_for_kinds('ricker', 'burst')``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, Self

from pydantic import BaseModel, SerializerFunctionWrapHandler, model_serializer, model_validator

from faultwave.base.errors import Problem
from faultwave.case.settings.common import ParameterErrors, Settings, need

Location = tuple[str | int, ...]


def one_of(*names: str) -> Any:
    """Return the annotation of a setting that takes one of several names found by scanning."""
    return Literal[names]


def only(engine: str, why: str = "") -> dict[str, Any]:
    """Return the schema entry of a setting that exists for one engine only.

    ``why`` is the error text on another engine.
    """
    return {"engine": engine, "why": why or f"needs the engine {engine}"}


def only_for_kinds(*kinds: str) -> dict[str, Any]:
    """Return the schema entry of a setting that only these kinds of its group use.

    ``Kinds`` rejects it with any other.
    """
    return {"kinds": kinds}


class Kinds(Settings):
    """Base of groups with a ``kind``, in which a setting that the chosen kind does not use is an error."""

    def conditions(self) -> Iterable[tuple[object, str]]:
        """Return further conditions, each with the error text if it does not hold."""
        return ()

    @model_validator(mode="after")
    def _sound_kind(self) -> Self:
        chosen: str = self.kind  # type: ignore[attr-defined]
        given = [n for n in self.model_fields_set if getattr(self, n) not in (None, [], {})]  # values without effect
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
        """Serialise only settings that the kind uses, so that a written case can be read again."""
        return {name: value for name, value in plain(self).items() if self._uses(name)}


class WrongSettings(ValueError):
    """Raised with the problems of settings of a case, by location."""

    def __init__(self, wrong: dict[Location, Problem]):
        self.wrong = wrong
        super().__init__("; ".join(map(str, wrong.values())))


def misplaced_settings(settings: BaseModel, engine: str, at: Location = ()) -> Iterator[tuple[Location, Problem]]:
    """Yield the settings given in a case on ``engine`` that belong to another engine, with their problems.

    Parameters
    ----------
    settings : BaseModel
        Group of settings.
    engine : str
        Engine of the case.
    at : Location
        Location of the group in the case.
    """
    for name, field in type(settings).model_fields.items():
        value, extra, here = getattr(settings, name), field.json_schema_extra, (*at, name)
        if isinstance(extra, dict) and value and extra.get("engine", engine) != engine:
            allowed = f"engine: {extra['engine']}"
            yield here, Problem(".".join(map(str, here)), str(extra["why"]), allowed)
        elif isinstance(value, BaseModel):
            yield from misplaced_settings(value, engine, here)


__all__ = ["Kinds", "WrongSettings", "misplaced_settings", "only_for_kinds", "one_of", "only"]
