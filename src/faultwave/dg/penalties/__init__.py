"""Penalties on jumps that Godunov's flux does not damp, or not enough: one file each. ``choice`` says which faces of a case have one,
``penalty`` what one is."""

from __future__ import annotations

from faultwave.dg.penalties.penalty import Penalised, Penalty, Sides
from faultwave.dg.penalties.rusanov import Rusanov

PENALTIES: dict[str, type[Rusanov]] = {"rusanov": Rusanov}
"""By the names that ``numerics.flux`` has for Godunov's flux with them."""

__all__ = ["PENALTIES", "Penalised", "Penalty", "Rusanov", "Sides"]
