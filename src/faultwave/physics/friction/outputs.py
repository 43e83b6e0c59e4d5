"""What outputs can read on a fault, whatever the engine: names, and units of what only the law knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from faultwave.base.errors import InputError
from faultwave.physics.friction.law import FLUID_OUTPUTS, STANDARD_OUTPUTS, FrictionLaw
from faultwave.physics.friction.modifiers import composed

QUANTITIES = (
    "SRs", "SRd", "T_s", "T_d", "P_n", "u_n", *(o.name for o in STANDARD_OUTPUTS),
    "Ts0", "Td0", "Pn0", "Sls", "Sld", "Vr", "ASl", "PSR", "RT", "DS", *(o.name for o in FLUID_OUTPUTS),
)  # fmt: skip
"""What can be read on every fault, named and ordered as in SeisSol's outputs."""


def quantities(law: FrictionLaw) -> tuple[str, ...]:
    """What can be read where this law governs: QUANTITIES and what only it knows."""
    return (*QUANTITIES, *(name for name in law.all_outputs if name not in QUANTITIES))


@dataclass(frozen=True)
class Readable:
    """``names`` of what can be read, ``default``: what is read unless a case says otherwise, ``units`` of what the law itself gives."""

    names: tuple[str, ...]
    default: tuple[str, ...]
    units: dict[str, str]


def readable(setting: Any) -> Readable:
    """What can be read on a case's fault; by default all but FLUID_OUTPUTS where the law has none. A law that does not
    exist is told of where the fault is planned."""
    try:
        law = composed(setting.friction, setting.modifiers) if setting is not None else FrictionLaw()
    except InputError:
        law = FrictionLaw()
    names, own = quantities(law), {output.name: output.unit for output in law.outputs}
    unasked = {output.name for output in FLUID_OUTPUTS} - set(own)
    default = tuple(name for name in names if name not in unasked)
    return Readable(names, default, own)


__all__ = ["QUANTITIES", "Readable", "quantities", "readable"]
