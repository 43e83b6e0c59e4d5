"""Building blocks of setting declarations: base class, paths, named parameters, cross checks, and the engine or kind they belong to.

It is declared once at the setting, as ``json_schema_extra=only('fd')`` or ``only_for_kinds('ricker', 'burst')``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    model_serializer,
    model_validator,
)

from faultwave.base.errors import Problem
from faultwave.base.files.paths import shown, similar
from faultwave.base.types import JsonObject
from faultwave.base.units import Quantity
from faultwave.case.settings.parameters import deviation_to_si, parameter_to_si

Vector = tuple[Quantity("m"), Quantity("m"), Quantity("m")]  # type: ignore[valid-type,misc]
"""Point in space."""

Geographic = tuple[Quantity("deg"), Quantity("deg"), Quantity("m")]  # type: ignore[valid-type,misc]
"""Point by longitude, latitude and z."""


def _as_matrix(value: Any) -> object:
    """Convert one factor or three factors into a diagonal matrix."""
    numbers = list(value) if isinstance(value, list | tuple) else [value] * 3
    if len(numbers) != 3 or not all(isinstance(x, int | float) and not isinstance(x, bool) for x in numbers):
        return value
    return tuple(tuple(float(x) if i == j else 0.0 for j in range(3)) for i, x in enumerate(numbers))


_Row = tuple[float, float, float]
Scaling = Annotated[tuple[_Row, _Row, _Row], BeforeValidator(_as_matrix)]
"""Linear map of space: a factor, one factor for each axis, or a 3x3 matrix."""


class Settings(BaseModel):
    """Base of all groups of settings: immutable, with finite numbers, and unknown keys are errors."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=False, allow_inf_nan=False, defer_build=True
    )


def _locate(path: Path, info: ValidationInfo) -> Path:
    """Return the absolute path of an input file in the first of the loader's folders that contains it."""
    if not info.context:
        return path
    try:
        tried = [(folder / path.expanduser()).absolute() for folder in info.context["folders"]]
        for candidate in tried:
            if candidate.is_file():
                return candidate
        folder = any(candidate.is_dir() for candidate in tried)
    except (OSError, ValueError, RuntimeError) as error:  # name too long, null character, or home of an unknown user
        what = getattr(error, "strerror", None) or error
        raise ValueError(f"'{shown(path)}' is not the name of a file: {what}") from None
    if folder:
        raise ValueError(f"'{path}' is a folder, not a file")
    near = similar(tried)
    raise ValueError(f"no such file: {' nor '.join(map(str, dict.fromkeys(tried)))}" + (f", {near}" if near else ""))


class ParameterErrors(ValueError):
    """Raised with the errors of parameters or settings of a group, by name, and an error of the group itself."""

    def __init__(self, wrong: dict[str, str], group: str = ""):
        self.wrong, self.group = wrong, group
        super().__init__("; ".join([*(f"{name}: {text}" for name, text in wrong.items()), *filter(None, [group])]))


def _convert(values: object, to_si: Callable[[str, object], float] = parameter_to_si) -> object:
    """Convert named parameters to SI, and report every invalid one."""
    if not isinstance(values, dict):
        return values
    converted, wrong = {}, {}
    for name, value in values.items():
        try:
            converted[name] = to_si(str(name), value)
        except ValueError as error:
            wrong[str(name)] = str(error)
    if wrong:
        raise ParameterErrors(wrong)
    return converted


def _from_here(folder: Path, info: ValidationInfo) -> Path:
    """Return an output folder relative to the working folder, even for an example inside the package."""
    return folder.expanduser().absolute() if info.context else folder


InputFile = Annotated[Path, AfterValidator(_locate)]
"""Input file, which must exist once a loader provides the folders to search."""

OutputFolder = Annotated[Path, AfterValidator(_from_here)]
Parameters = Annotated[dict[str, Annotated[float, Field(allow_inf_nan=True)]], BeforeValidator(_convert)]
Constants = Annotated[dict[str, float], BeforeValidator(_convert)]
"""Constants that hold everywhere, which must be finite."""

Deviations = Annotated[dict[str, float], BeforeValidator(lambda values: _convert(values, deviation_to_si))]
"""Standard deviations of parameters, of either sign."""


def check_ascending(
    lower: Sequence[float] | None, upper: Sequence[float] | None, what: str = "lower must be below upper on every axis"
) -> tuple[bool, str]:
    """Return a condition for ``need``: each coordinate of ``lower`` is below its counterpart in ``upper``.

    Corners may be None.
    """
    if lower is None or upper is None:
        return True, what
    wrong = [f"{a} is from {low:g} to {up:g}" for a, low, up in zip("xyz", lower, upper, strict=False) if not low < up]
    return not wrong, f"{what}: {', '.join(wrong)}"


LARGEST_EXTENT = 1e8
"""Largest extent of a region [m]."""

MAX_ELEMENTS = 1e10
"""Largest number of elements of a mesh that a machine can generate at once."""


def check_meshable(sides: Sequence[float], size: float, keys: str) -> tuple[bool, str]:
    """Return a condition for ``need``: a box with ``sides`` [m] can be meshed with elements of ``size`` [m].

    ``keys`` names the settings of the extents in the error text.
    """
    count = 1.0
    for side in sides:
        count *= min(max(side, size) / size, 1e30)
    return max(sides) <= LARGEST_EXTENT and count <= MAX_ELEMENTS, (
        f"{keys} make a box of {' x '.join(f'{side:.4g}' for side in sides)} m, which holds about {count:.2g} "
        f"elements of {size:.4g} m: at most {LARGEST_EXTENT:g} m a side and {MAX_ELEMENTS:g} elements. Are the "
        "lengths in metres or kilometres?"
    )


def need(*conditions: tuple[object, str]) -> None:
    """Raise one ValueError with the texts of all conditions that do not hold."""
    failed = [text for holds, text in conditions if not holds]
    if failed:
        raise ValueError("; ".join(failed))


Location = tuple[str | int, ...]


def one_of(*names: str) -> Any:
    """Return the annotation of a setting that takes one of several names found by scanning."""
    return Literal[names]


def only(engine: str, why: str = "") -> JsonObject:
    """Return the schema entry of a setting that exists for one engine only.

    ``why`` is the error text on another engine.
    """
    return {"engine": engine, "why": why or f"needs the engine {engine}"}


def only_for_kinds(*kinds: str) -> JsonObject:
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
            what = f"has no effect with kind {chosen}, which uses {used}"
            raise ParameterErrors(dict.fromkeys(unused, what), "; ".join(failed))
        need(*((False, text) for text in failed))
        return self

    def _uses(self, name: str) -> bool:
        extra = type(self).model_fields[name].json_schema_extra
        kinds = extra.get("kinds") if isinstance(extra, dict) else None
        return not isinstance(kinds, tuple) or self.kind in kinds  # type: ignore[unreachable]

    @model_serializer(mode="wrap")
    def _without_unused(self, plain: SerializerFunctionWrapHandler) -> dict[str, object]:
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
