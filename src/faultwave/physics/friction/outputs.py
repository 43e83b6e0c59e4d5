"""Quantities that outputs can read on a fault, for either engine: names, and units of quantities of a friction law."""

from __future__ import annotations

from dataclasses import dataclass

from faultwave.base.errors import InputError
from faultwave.base.types import Setting
from faultwave.physics.friction.law import FLUID_OUTPUTS, STANDARD_OUTPUTS, FrictionLaw
from faultwave.physics.friction.modifiers import composed

QUANTITIES = (
    "SRs", "SRd", "T_s", "T_d", "P_n", "u_n", *(o.name for o in STANDARD_OUTPUTS),
    "Ts0", "Td0", "Pn0", "Sls", "Sld", "Vr", "ASl", "PSR", "RT", "DS", *(o.name for o in FLUID_OUTPUTS),
)  # fmt: skip
"""Quantities available on every fault, with names and order of SeisSol's outputs."""


def quantities(law: FrictionLaw) -> tuple[str, ...]:
    """Return the quantities available with a friction law: QUANTITIES and those that only this law defines."""
    return (*QUANTITIES, *(name for name in law.all_outputs if name not in QUANTITIES))


@dataclass(frozen=True)
class Readable:
    """Quantities that outputs can read on the fault of a case.

    Attributes
    ----------
    names
        All quantities.
    default
        Quantities that are read unless a case chooses others.
    units
        Units of the quantities of the law itself.
    """

    names: tuple[str, ...]
    default: tuple[str, ...]
    units: dict[str, str]


def readable(setting: Setting) -> Readable:
    """Return the quantities available on the fault of a case, by default all but FLUID_OUTPUTS if the law has none.

    An unknown law is reported where the fault is planned, not here.
    """
    try:
        law = composed(setting.friction, setting.modifiers) if setting is not None else FrictionLaw()
    except InputError:
        law = FrictionLaw()
    names, own = quantities(law), {output.name: output.unit for output in law.outputs}
    unasked = {output.name for output in FLUID_OUTPUTS} - set(own)
    default = tuple(name for name in names if name not in unasked)
    return Readable(names, default, own)
