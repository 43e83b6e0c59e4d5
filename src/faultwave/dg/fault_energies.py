"""Energies of a fault, and sums over its points, as kernels over its faces (docs/theory/friction.md, "Energies of a fault")."""

from __future__ import annotations

from typing import Any

import numpy as np

from faultwave.base.columns import Columns
from faultwave.kernels.language import Kernel

FAULT_ENERGIES = ("total_frictional_work", "static_frictional_work", "seismic_moment", "potency")


def fault_energies(
    record: Columns, state: Columns, weights: np.ndarray, plain_mean: bool, from_velocity: bool
) -> Kernel:
    """``FAULT_ENERGIES`` of every face from what its points, with ``weights`` (p,) that sum to a half, remember;
    ``scale``: area, rigidity times area. ``plain_mean``: of the slip over points alike; ``from_velocity``: by the jump's motion."""
    k, points = Kernel("fault_energies", fixed=True), len(weights)
    records, states = k.batch("record", points, record.size), k.batch("state", points, state.size)
    scale, out = k.batch("scale", 1, 2), k.batch("energies", 1, 4, "out")
    each, mean = k.temp("each", points, 3), k.temp("mean", 1, 3)

    def parts(r: Any, s: Any) -> Any:
        old = record.row(r) | state.row(s)
        names = (
            ("work_moved", "moved1", "moved2", "moved")
            if from_velocity
            else ("work", "slip1", "slip2", "accumulated_slip")
        )
        work, one, two, path = (old[name] for name in names)
        return [[work, old["traction1"] * one + old["traction2"] * two, path]]

    k.pointwise(parts, [records, states], [each])
    k.contract(mean, 2.0 * weights[None], each, [(0, 0), (1, 1)])
    k.contract(mean, np.full((1, points), 1.0 / points) if plain_mean else 2.0 * weights[None], each, [(2, 2)])
    k.pointwise(lambda m, a: [[a[0] * m[0], -0.5 * a[0] * m[1], a[1] * m[2], a[0] * m[2]]], [mean, scale], [out])
    return k


def loaded_slip(state: Columns, points: int) -> Kernel:
    """The sum over a face's points of loads (points,) times the length of the slip's path."""
    k = Kernel("loaded_slip", fixed=True)
    states, loads = k.batch("state", points, state.size), k.batch("loads", points, 1)
    each, out = k.temp("each", points, 1), k.batch("sum", 1, 1, "out")
    slip = states.view(0, points, state.places["accumulated_slip"].start, 1)
    k.pointwise(lambda a, s: [[a[0] * s[0]]], [loads, slip], [each])
    k.contract(out, np.ones((1, points)), each)
    return k


__all__ = ["FAULT_ENERGIES", "fault_energies", "loaded_slip"]
