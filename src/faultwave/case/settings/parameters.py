"""Units of field parameters, so that text such as '70 MPa' can be converted for each of them.

easi models, SeisSol's decks of the SCEC problems and this package share the names.
"""

from __future__ import annotations

import functools
import re
from math import inf

from faultwave.base.errors import suggest
from faultwave.base.quantities import declared
from faultwave.base.units import to_si

DECLARE = (
    "faultwave.physics.waves",
    "faultwave.physics.friction",
    "faultwave.physics.friction.modifiers",
    "faultwave.physics.rheology",
)
"""Packages, and groups of entry points, whose laws declare parameters with units."""

_UNITS: dict[str, str] = {
    # alternative material parameters
    "vp": "m/s", "vs": "m/s", "Qp": "", "Qs": "",
    "relative_permittivity": "", "relative_permeability": "",
    # boundary values
    "T1": "Pa", "T2": "Pa", "T3": "Pa", "pressure": "Pa", "const_u": "m/s", "const_Tn": "Pa",
    # initial fields
    "v1": "m/s", "v2": "m/s", "v3": "m/s", "sigma": "Pa", "pprime": "Pa", "p": "Pa",
    **{f"E{i}": "V/m" for i in (1, 2, 3)}, **{f"H{i}": "A/m" for i in (1, 2, 3)},
    # initial stress on the fault as tractions, old and new names
    "T_n": "Pa", "T_s": "Pa", "T_d": "Pa", "Pn0": "Pa", "Ts0": "Pa", "Td0": "Pa",
    # laws of other programs' decks that are not available
    "rs_srW": "m/s",
}  # fmt: skip
"""Parameters that no law declares."""

_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"[sb]_(xx|yy|zz|xy|yz|xz)"), "Pa"),
    (re.compile(r"nuc\d*_(xx|yy|zz|xy|yz|xz)"), "Pa"),
    (re.compile(r"Tnuc\d*_[nsd]"), "Pa"),
    (re.compile(r"nuc\d*_p"), "Pa"),
    (re.compile(r"c[1-6][1-6]"), "Pa"),
    (re.compile(r"(map|const)(_(Tn|Ts|Td|unused[123]|u|v|w))+"), ""),
)


@functools.cache
def _declared() -> dict[str, frozenset[str]]:
    """Return the units that laws declare for each parameter or alias."""
    units: dict[str, set[str]] = {}
    for parameter in declared(DECLARE):
        for name in (parameter.name, *parameter.aliases):
            units.setdefault(name, set()).add(parameter.unit)
    return {name: frozenset(found) for name, found in units.items()}


def known(name: str) -> bool:
    """Return True if the table or a law defines a parameter of this name."""
    return name in _UNITS or any(pattern.fullmatch(name) for pattern, _ in _PATTERNS) or name in _declared()


def unit_of(name: str) -> str | None:
    """Return the SI unit of a parameter ('' for a pure number), None for an unknown name.

    Raises
    ------
    ValueError
        If two laws declare it with different units.
    """
    found = units_of(name)
    if len(found) > 1:
        given = " and ".join(f"[{unit or 'none'}]" for unit in found)
        raise ValueError(f"laws declare '{name}' with different units, {given}: write the number in SI")
    return found[0] if found else None


def units_of(name: str) -> list[str]:
    """Return the SI units of a parameter, several if laws use its name differently."""
    if name in _UNITS:
        return [_UNITS[name]]
    pattern = next((unit for pattern, unit in _PATTERNS if pattern.fullmatch(name)), None)
    return sorted(_declared().get(name, ())) if pattern is None else [pattern]


def nearest(name: str) -> str:
    """Return 'did you mean ...?' for a parameter name, or an empty text."""
    tensor = [f"{kind}_{ij}" for kind in ("s", "nuc") for ij in ("xx", "yy", "zz", "xy", "yz", "xz")]
    return suggest(name, [*_UNITS, *_declared(), *tensor, "Tnuc_n", "Tnuc_s", "Tnuc_d"])


_POSITIVE = (
    "rho",
    "vp",
    "Qp",
    "Qs",
    "permittivity",
    "permeability",
    "relative_permittivity",
    "relative_permeability",
    "d_c",
)
_NOT_NEGATIVE = (
    "vs",
    "mu",
    "conductivity",
    "plastCo",
    "plastic_cohesion",
    "bulkFriction",
    "bulk_friction",
    "mu_s",
    "mu_d",
    "tau_S",
    "tau_R",
    "rupture_rise_time",
)
_LARGEST = {"vp": 299_792_458.0, "vs": 299_792_458.0}
"""Upper bound of wave speeds, the speed of light [m/s]."""


def _sound(name: str, value: float) -> float:
    """Return the value. Raises ValueError if no material and no fault can have it."""
    if name in _POSITIVE and not value > 0:
        raise ValueError(f"{value:g} is not above 0")
    if name in _NOT_NEGATIVE and not value >= 0:
        least = f"0 {unit_of(name) or ''}".strip()
        raise ValueError(f"{value:g} is negative (allowed: {least} or more)")
    if value > _LARGEST.get(name, value):
        raise ValueError(f"{value:g} is beyond {_LARGEST[name]:g} {unit_of(name)}, the speed of light")
    return value


def _fits(value: object, unit: str) -> bool:
    try:
        to_si(value, unit)
    except ValueError:
        return False
    return True


def parameter_to_si(name: str, value: object) -> float:
    """Return the value of parameter ``name`` in SI.

    A time may be infinite, for an event that never happens; so may quality factors. If laws declare different units, text may have any of
    them.

    Raises
    ------
    ValueError
        If the value is no number, has an incompatible unit or is physically impossible.
    """
    return _sound(name, _in_si(name, value))


def deviation_to_si(name: str, value: object) -> float:
    """Return a difference of values of parameter ``name`` in SI, which may have any sign.

    Raises
    ------
    ValueError
        If the value is no number or has an incompatible unit.
    """
    return _in_si(name, value)


def _in_si(name: str, value: object) -> float:
    """Return a value of parameter ``name`` in SI."""
    if value is None:
        comma = "; numbers have a decimal point, as in 6.5 km/s, and no comma" if name[:1].isdigit() else ""
        raise ValueError(f"'{name}' has no value{comma}")
    units = units_of(name)
    if len(units) > 1 and isinstance(value, int | float):
        return to_si(value, "")
    unit = next((u for u in units if _fits(value, u)), None) if len(units) > 1 else None
    unit = unit_of(name) if unit is None else unit
    if (unit == "s" or name in ("Qp", "Qs")) and value in (inf, "inf"):
        return inf
    if unit is not None:
        return to_si(value, unit)
    try:
        return to_si(value, "")
    except ValueError:
        advice = nearest(name) or "write the number in SI"
        raise ValueError(f"{value!r}: the unit of '{name}' is not known; {advice}") from None
