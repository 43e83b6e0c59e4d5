"""What the declarations of settings are made of: the base of all groups, paths, parameters by name, cross checks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo

from faultwave.base.paths import shown, similar
from faultwave.base.units import Quantity
from faultwave.case.parameters import parameter_to_si

Vector = tuple[Quantity("m"), Quantity("m"), Quantity("m")]  # type: ignore[valid-type,misc]
"""A point in space."""

Geographic = tuple[Quantity("deg"), Quantity("deg"), Quantity("m")]  # type: ignore[valid-type,misc]
"""A point by longitude, latitude and z."""


def _as_matrix(value: Any) -> Any:
    """One factor or three, as the matrix that has them on its diagonal."""
    numbers = list(value) if isinstance(value, list | tuple) else [value] * 3
    if len(numbers) != 3 or not all(isinstance(x, int | float) and not isinstance(x, bool) for x in numbers):
        return value
    return tuple(tuple(float(x) if i == j else 0.0 for j in range(3)) for i, x in enumerate(numbers))


_Row = tuple[float, float, float]
Scaling = Annotated[tuple[_Row, _Row, _Row], BeforeValidator(_as_matrix)]
"""A linear map of space: a factor, one for each axis, or a 3x3 matrix."""


class Settings(BaseModel):
    """Base of all groups: frozen, numbers are finite, and an unknown key is an error."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=False, allow_inf_nan=False, defer_build=True
    )


def _locate(path: Path, info: ValidationInfo) -> Path:
    """Absolute path: loaders pass the folders to look in, the first that has the file wins."""
    if not info.context:
        return path
    try:
        tried = [(folder / path.expanduser()).absolute() for folder in info.context["folders"]]
        for candidate in tried:
            if candidate.is_file():
                return candidate
        folder = any(candidate.is_dir() for candidate in tried)
    except (OSError, ValueError, RuntimeError) as error:  # too long a name, a null character, an unknown user's home
        what = getattr(error, "strerror", None) or error
        raise ValueError(f"'{shown(path)}' is not the name of a file: {what}") from None
    if folder:
        raise ValueError(f"'{path}' is a folder, not a file")
    near = similar(tried)
    raise ValueError(f"no such file: {' nor '.join(map(str, dict.fromkeys(tried)))}" + (f", {near}" if near else ""))


class ParameterErrors(ValueError):
    """What is wrong with each parameter or setting of a group, by name, and with the group."""

    def __init__(self, wrong: dict[str, str], group: str = ""):
        self.wrong, self.group = wrong, group
        super().__init__("; ".join([*(f"{name}: {text}" for name, text in wrong.items()), *filter(None, [group])]))


def _convert(values: object) -> object:
    """Parameters by name to SI; every wrong one is told."""
    if not isinstance(values, dict):
        return values
    converted, wrong = {}, {}
    for name, value in values.items():
        try:
            converted[name] = parameter_to_si(str(name), value)
        except ValueError as error:
            wrong[str(name)] = str(error)
    if wrong:
        raise ParameterErrors(wrong)
    return converted


def _from_here(folder: Path, info: ValidationInfo) -> Path:
    """Outputs go where the user stands, also for an example inside the package."""
    return folder.expanduser().absolute() if info.context else folder


InputFile = Annotated[Path, AfterValidator(_locate)]
"""A file that must exist once the loaders say where to look."""

OutputFolder = Annotated[Path, AfterValidator(_from_here)]
Parameters = Annotated[dict[str, Annotated[float, Field(allow_inf_nan=True)]], BeforeValidator(_convert)]
Constants = Annotated[dict[str, float], BeforeValidator(_convert)]
"""Parameters that hold everywhere: those are finite."""


def ascending(lower: Any, upper: Any, what: str = "lower must be below upper on every axis") -> tuple[bool, str]:
    """For ``need``: whether each number of a corner is below that of the other, and which are not. Corners may be left out."""
    if lower is None or upper is None:
        return True, what
    wrong = [f"{a} is from {low:g} to {up:g}" for a, low, up in zip("xyz", lower, upper, strict=False) if not low < up]
    return not wrong, f"{what}: {', '.join(wrong)}"


FARTHEST = 1e8
"""Metres that no region on Earth measures."""

MOST_ELEMENTS = 1e10
"""Elements of a mesh that no machine makes in one piece."""


def meshable(sides: Sequence[float], size: float, keys: str) -> tuple[bool, str]:
    """For ``need``: whether a box with ``sides`` [m] can be meshed with elements up to ``size`` [m]; ``keys`` name its extents."""
    count = 1.0
    for side in sides:
        count *= min(max(side, size) / size, 1e30)
    return max(sides) <= FARTHEST and count <= MOST_ELEMENTS, (
        f"{keys} make a box of {' x '.join(f'{side:.4g}' for side in sides)} m, which holds about {count:.2g} elements of {size:.4g} m: "
        f"at most {FARTHEST:g} m a side and {MOST_ELEMENTS:g} elements. Are metres meant, or kilometres?"
    )


def need(*conditions: tuple[object, str]) -> None:
    """Raise one ValueError with the text of every condition that does not hold."""
    failed = [text for holds, text in conditions if not holds]
    if failed:
        raise ValueError("; ".join(failed))
