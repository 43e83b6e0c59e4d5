"""Numbers with units: ``Quantity('m')`` declares a setting in SI that also reads '70 MPa' or '500 m'."""

from __future__ import annotations

import functools
from typing import Annotated, Any

from pydantic import BeforeValidator, Field


@functools.cache
def _registry() -> Any:
    import pint  # slow to import and only needed where a user wrote a unit

    return pint.UnitRegistry(autoconvert_offset_to_baseunit=True)


def to_si(value: Any, unit: str) -> float:
    """A bare number is SI already; text is a number with a unit compatible with ``unit``.

    Raises ValueError naming the mistake: not a number, an unknown unit or one of another dimension.
    """
    if isinstance(value, bool):
        raise ValueError(f"{value!r} is not a number")
    if isinstance(value, int | float):
        return float(value)
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a number with an optional unit")
    try:
        return float(value)
    except ValueError:
        pass
    import pint

    try:
        quantity = _registry().Quantity(value)
    except (pint.errors.UndefinedUnitError, pint.errors.DefinitionSyntaxError) as error:
        raise ValueError(f"'{value}': {error}; expected a number, optionally with a unit like '{unit}'") from None
    except Exception:
        raise ValueError(f"'{value}' is not a number with a unit like '{unit}'") from None
    target = unit or "dimensionless"
    if quantity.dimensionless and unit:
        raise ValueError(f"'{value}' has no unit that converts to {target}")
    try:
        return float(quantity.to(target).magnitude)
    except pint.errors.DimensionalityError:
        raise ValueError(f"'{value}' is a {quantity.dimensionality}, expected a unit like '{target}'") from None


def Quantity(unit: str, **bounds: Any) -> Any:
    """A float annotation with a unit and pydantic bounds (gt, ge, lt, le)."""
    return Annotated[
        float,
        BeforeValidator(lambda value: to_si(value, unit)),
        Field(json_schema_extra={"unit": unit}, allow_inf_nan=False, **bounds),
    ]
