"""Penalties on jumps that Godunov's flux does not damp, or not enough: one file each. ``choice`` says which faces of a case have one,
``penalty`` what one is. Every instance of PenaltyFlux in a module here is one."""

from __future__ import annotations

from faultwave.base.registry import scan
from faultwave.dg.penalties.penalty import Penalised, Penalty, PenaltyFlux, Sides

__all__ = ["Penalised", "Penalty", "PenaltyFlux", "Sides", "penalty_fluxes"]


def penalty_fluxes() -> dict[str, PenaltyFlux]:
    """Godunov's flux with each penalty there is, by the names that ``numerics.flux`` has for them: this package's and those of the entry
    points 'faultwave.dg.penalties'."""
    return scan("faultwave.dg.penalties", PenaltyFlux)
