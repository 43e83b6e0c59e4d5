"""Numbers with units: ``Quantity('m')`` declares a setting in SI units that also reads '70 MPa' or '500 m'."""

from __future__ import annotations

import functools
import math
import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from faultwave.base.errors import InputError, Problem, suggest

# The number is split off before pint sees the text: pint reads '5 3 m' as 15 m and '1 000 m' as 0 m.
_NUMBER_UNIT = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*?)\s*", re.DOTALL)

_FORTRAN_EXPONENT = re.compile(r"(?<=[0-9.])[dD](?=[+-]?[0-9])")

SMALLEST, LARGEST = 1e-100, 1e100
"""Range of magnitudes of physical quantities in SI units.

Beyond it, products of a few of them overflow or underflow.
"""

_COMMON = (
    "m", "km", "cm", "mm", "s", "ms", "min", "Hz", "kHz", "m/s", "km/s", "cm/s", "mm/s", "Pa", "kPa", "MPa", "GPa",
    "bar", "kg/m^3", "g/cm^3", "N", "kN", "MN", "N*m", "dyne*cm", "deg", "rad", "K", "degC", "m^2", "m^2/s", "Pa*s",
    "Pa/K", "1/m", "Pa/m", "MPa/km",
)  # fmt: skip

FACTORS: dict[str, dict[str, float]] = {
    "m": {"m": 1.0, "km": 1e3, "cm": 1e-2, "mm": 1e-3},
    "s": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0},
    "Hz": {"Hz": 1.0, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9},
    "m/s": {"m/s": 1.0, "km/s": 1e3, "cm/s": 1e-2, "mm/s": 1e-3},
    "Pa": {"Pa": 1.0, "kPa": 1e3, "MPa": 1e6, "GPa": 1e9},
    "kg/m^3": {"kg/m^3": 1.0},
    "N": {"N": 1.0},
    "N*m": {"N*m": 1.0},
    "deg": {"deg": 1.0},
}
"""Factors of common units to SI, as in pint; a case that uses only these avoids the import of pint (half a second)."""


@functools.cache
def _registry() -> Any:
    import pint  # slow to import and only needed where a user wrote a unit

    return pint.UnitRegistry(autoconvert_offset_to_baseunit=True)


def _unit_advice(unit: str) -> str:
    """Return 'did you mean ...?' for a mistyped unit.

    A unit that differs only in case comes first, then one with a similar spelling.
    """
    same_letters = [c for c in _COMMON if c.lower() == unit.lower()]
    return f"did you mean '{same_letters[0]}'?" if same_letters else suggest(unit, _COMMON)


def as_float(text: str) -> float | None:
    """Return the number that a word represents, None if it is not a number."""
    try:
        return float(text) if "_" not in text else None
    except ValueError:
        return None


def finite_number(word: str | None) -> float | None:
    """Return the finite number of a word with an exponent of C or Fortran (1.0D+20), None if it is not one."""
    found = as_float(_FORTRAN_EXPONENT.sub("e", word or ""))
    return found if found is not None and math.isfinite(found) else None


@functools.lru_cache(maxsize=4096)
def _text_to_si(text: str, unit: str) -> float:
    match = _NUMBER_UNIT.fullmatch(text)
    if match is None or not match[2]:
        raise ValueError(f"'{text}' is not a number" + (f" with a unit like '{unit}'" if unit else ""))
    factor = FACTORS.get(unit, {}).get(match[2])
    if factor is not None:
        return float(match[1]) * factor
    import pint

    registry = _registry()
    try:
        given = registry.parse_units(match[2])
    except Exception:  # pint raises many types for text that is no unit, down to tokenizer errors
        advice = _unit_advice(match[2])
        raise ValueError(
            f"'{match[2]}' in '{text}' is not a unit; expected one like '{unit or '(none)'}'"
            + (f", {advice}" if advice else "")
        ) from None
    try:
        quantity = registry.Quantity(float(match[1]), given)
        if quantity.unitless and unit:
            raise ValueError(f"'{text}' has no unit that converts to {unit}")
        return float(quantity.to(registry.parse_units(unit)).magnitude)
    except pint.errors.DimensionalityError:
        advice = _unit_advice(match[2]) if match[2] not in _COMMON else ""
        raise ValueError(
            f"'{text}' is a {given.dimensionality}, expected a unit like '{unit or '(none)'}'"
            + (f", {advice}" if advice else "")
        ) from None
    except ArithmeticError:
        raise ValueError(f"'{text}' is too large or too small a number in {unit or '1'}") from None


def to_si(value: object, unit: str) -> float:
    """Convert a value to SI: a bare number is SI already, text is a number with a unit compatible with ``unit``.

    Angles declared in 'deg' stay in degrees.

    Raises
    ------
    ValueError
        If it is not a finite number, or has an unknown unit or one of another dimension.
    """
    if isinstance(value, bool):
        raise ValueError(f"{value!r} is not a number")
    if not isinstance(value, int | float | str):
        raise ValueError(f"{value!r} is not a number with an optional unit")
    text = value.strip() if isinstance(value, str) else ""
    try:
        number = as_float(text) if isinstance(value, str) else float(value)
        number = _text_to_si(text, unit) if number is None else number
    except OverflowError:  # an integer beyond the range of floats
        number = math.inf
    if number == 0 or SMALLEST <= abs(number) <= LARGEST:
        return number
    shown = repr(text if len(text) <= 60 else f"{text[:57]}...") if text else "the number"
    if math.isnan(number) or (math.isinf(number) and not any(c.isdigit() for c in text) and not isinstance(value, int)):
        raise ValueError(f"{shown if text else value} is not a number: it must be finite")
    size = "small" if abs(number) < 1 else "large"
    raise ValueError(
        f"{shown} is too {size}: magnitudes in {unit or '1'} must be 0 or between {SMALLEST:g} and {LARGEST:g}"
    )


def seconds(value: float | str | None, where: str) -> float | None:
    """Return a time [s] from a number or a text with a unit, None from None.

    Raises
    ------
    InputError
        For anything else, located at ``where``.
    """
    try:
        return None if value is None else to_si(value, "s")
    except ValueError as error:
        raise InputError(Problem(where, str(error), "seconds, or a time with a unit like '500 ms'")) from None


def Quantity(unit: str, **bounds: Any) -> Any:
    """Return an annotation of a float with a unit and pydantic bounds (gt, ge, lt, le)."""
    # The bounds come first, so that they belong to the float itself and its JSON schema states them.
    return Annotated[
        float,
        Field(json_schema_extra={"unit": unit}, allow_inf_nan=False, **bounds),
        BeforeValidator(lambda value: to_si(value, unit)),
    ]
