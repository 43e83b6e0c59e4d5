"""Units of the parameters that fields may carry, so that text such as '70 MPa' can be read for any of them.

easi models, SeisSol's decks for the SCEC problems and this package share the names.
"""

from __future__ import annotations

import re
from math import inf

from faultwave.base.errors import suggest
from faultwave.base.units import to_si

_UNITS: dict[str, str] = {
    # volume
    "rho": "kg/m^3", "mu": "Pa", "lambda": "Pa", "vp": "m/s", "vs": "m/s", "Qp": "", "Qs": "",
    "plastCo": "Pa", "bulkFriction": "",
    "v1": "m/s", "v2": "m/s", "v3": "m/s", "sigma": "Pa", "pprime": "Pa", "p": "Pa",
    "permittivity": "F/m", "permeability": "H/m", "conductivity": "S/m",
    "relative_permittivity": "", "relative_permeability": "",
    **{f"E{i}": "V/m" for i in (1, 2, 3)}, **{f"H{i}": "A/m" for i in (1, 2, 3)},
    # initial stress on the fault as tractions, old and new names
    "T_n": "Pa", "T_s": "Pa", "T_d": "Pa", "Pn0": "Pa", "Ts0": "Pa", "Td0": "Pa",
    # slip weakening
    "mu_s": "", "mu_d": "", "d_c": "m", "cohesion": "Pa", "forced_rupture_time": "s",
    # rate and state
    "rs_a": "", "rs_b": "", "rs_f0": "", "rs_muw": "", "rs_sl0": "m", "RS_sl0": "m", "rs_srW": "m/s", "rs_sr0": "m/s",
    "rs_ini_slip_rate": "m/s", "rs_slip_rate_tolerance": "m/s", "rs_state_tolerance": "m/s",
    # thermal pressurisation
    "tp_halfWidthShearZone": "m", "tp_hydraulicDiffusivity": "m^2/s",
    # imposed slip
    "strike_slip": "m", "dip_slip": "m", "rupture_onset": "s", "tau_S": "s", "tau_R": "s", "rupture_rise_time": "s",
}  # fmt: skip

_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"[sb]_(xx|yy|zz|xy|yz|xz)"), "Pa"),
    (re.compile(r"nuc\d*_(xx|yy|zz|xy|yz|xz)"), "Pa"),
    (re.compile(r"Tnuc\d*_[nsd]"), "Pa"),
    (re.compile(r"c[1-6][1-6]"), "Pa"),
)


def unit_of(name: str) -> str | None:
    """SI unit of a parameter ('' for a pure number), None for a name this table does not know."""
    if name in _UNITS:
        return _UNITS[name]
    return next((unit for pattern, unit in _PATTERNS if pattern.fullmatch(name)), None)


def nearest(name: str) -> str:
    """'did you mean ...?' for a parameter name, or an empty string."""
    tensor = [f"{kind}_{ij}" for kind in ("s", "nuc") for ij in ("xx", "yy", "zz", "xy", "yz", "xz")]
    return suggest(name, [*_UNITS, *tensor, "Tnuc_n", "Tnuc_s", "Tnuc_d"])


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
    "bulkFriction",
    "mu_s",
    "mu_d",
    "tau_S",
    "tau_R",
    "rupture_rise_time",
)
_LARGEST = {"vp": 299_792_458.0, "vs": 299_792_458.0}
"""Speed of light: no wave is faster."""


def _sound(name: str, value: float) -> float:
    """The value; ValueError where no material and no fault has such a one."""
    if name in _POSITIVE and not value > 0:
        raise ValueError(f"{value:g} is not above 0")
    if name in _NOT_NEGATIVE and not value >= 0:
        raise ValueError(f"{value:g} is negative")
    if value > _LARGEST.get(name, value):
        raise ValueError(f"{value:g} is beyond {_LARGEST[name]:g} {unit_of(name)}, the speed of light")
    return value


def parameter_to_si(name: str, value: object) -> float:
    """Value of parameter ``name`` in SI; ValueError when it is no number, its unit does not fit, or nothing has such a value.

    A time may be infinite: what never happens; so may quality factors.
    """
    unit = unit_of(name)
    if (unit == "s" or name in ("Qp", "Qs")) and value in (inf, "inf"):
        return inf
    if unit is not None:
        return _sound(name, to_si(value, unit))
    try:
        return to_si(value, "")
    except ValueError:
        advice = nearest(name) or "write the number in SI"
        raise ValueError(f"{value!r}: the unit of '{name}' is not known; {advice}") from None
