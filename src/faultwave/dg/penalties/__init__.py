"""Penalties on jumps that Godunov's flux does not damp enough, one file each.

``choice`` selects the faces of a case that have one; ``penalty`` defines the interface. Every instance of PenaltyFlux
in a module of this package is available.
"""

from __future__ import annotations

from faultwave.base.registry import scan
from faultwave.dg.penalties.penalty import Penalised, Penalty, PenaltyFlux, Sides

__all__ = ["Penalised", "Penalty", "PenaltyFlux", "Sides", "penalty_fluxes"]


def penalty_fluxes() -> dict[str, PenaltyFlux]:
    """Return the available penalties on Godunov's flux by their names in ``numerics.flux``.

    They come from this package and from the entry points 'faultwave.dg.penalties'.
    """
    return scan("faultwave.dg.penalties", PenaltyFlux)
