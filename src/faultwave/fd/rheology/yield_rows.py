"""Detection of rows of rock in which no point can yield, from four numbers per row.

A point yields only if waves have moved its stress farther than its initial distance from yield (``Rheology.distance``,
in the Frobenius norm). The change at a centre is bounded by its normal stresses and the largest of the shear stresses
around it, because means never exceed the values that they average. Therefore each row stores the peaks of these, found
during the stress update, and the smallest distance of its centres. Rows that are safe are skipped; all others are
evaluated as usual, so that results do not depend on the rows.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from faultwave.fd.method.program import STRESS_LEVEL
from faultwave.fd.method.stencils import NORMAL
from faultwave.fd.operators.cell_means import IN_PLANE, LOW_OFFSETS, OFFSETS
from faultwave.kernels import math as m
from faultwave.kernels.stencil import Axis, Peak, Row
from faultwave.kernels.types import Condition, Named
from faultwave.physics.rheology import STRESS, Rheology

YIELD_DISTANCE = "yield_room"
"""Array of the squared distance from yield of every row, the smallest of its centres [Pa^2].

NaN where rock never yields.
"""
MARGIN = 1e-3
"""Safety margin relative to distances and initial stress, far larger than rounding in single precision."""


def peak(name: str) -> str:
    """Return the name of the row peak of a shear stress, or of the normal stresses together."""
    return f"peak_{name}"


def peaks() -> dict[str, Peak]:
    """Return the row peaks of wave stresses: sum of squares of normal ones [Pa^2], size of shear ones [Pa]."""

    def size(name: str) -> Peak:
        return Peak(STRESS_LEVEL, lambda p: m.abs(p.at(name)))

    found = {
        peak("normal"): Peak(
            STRESS_LEVEL, lambda p: sum(p.at(n) * p.at(n) for n in NORMAL[1:]) + p.at("sxx") * p.at("sxx")
        )
    }
    return found | {peak(n): size(n.replace("_", "")) for n in IN_PLANE}


def _planes(axes: tuple[Axis, Axis], to: str, kind: str) -> tuple[int, ...]:
    """Return the plane offsets that means on planes of this kind (``fd.operators.cell_means``) read."""
    if "z" not in axes:
        return (0,)
    if kind == "inside":
        return (-1, 0) if to == "half" else (0, 1)
    return (LOW_OFFSETS if kind == "low" else OFFSETS)[to]


def may_yield(row: Row, lost: str, kind: str) -> Condition:
    """Return True if a row may have points that yield, or had some in the step before.

    ``lost`` is the array of the share lost.
    """
    moved = row.largest(peak("normal"))
    for name, axes in IN_PLANE.items():
        rows = (-1, 0) if "y" in axes else (0,)
        around = [row.largest(peak(name), z, y) for z in _planes(axes, "half", kind) for y in rows]
        size = around[0]
        for other in around[1:]:
            size = m.maximum(size, other)
        moved = moved + 2.0 * (size * size)
    return (row.number(YIELD_DISTANCE) <= moved) | (row.changed(lost) > 0.0)


def may_have_losses(row: Row, lost: str, kind: str) -> Condition:
    """Return True if centres around a row (on the surface, in it) have lost stress in this step."""
    planes = (0,) if kind == "surface" else _planes(("y", "z"), "whole", kind)
    return sum(row.changed(lost, z, y) for z in planes for y in (0, 1)) > 0.0


def distance_to_yield(law: Rheology, given: Named, constants: Mapping[str, float], rest: Named) -> np.ndarray:
    """Return the squared distance of centres from yield, less a margin [Pa^2]; negative if it is within the margin.

    Parameters
    ----------
    law : Rheology
    given : mapping of str to array
        Parameters of the rheology.
    constants : mapping of str to float
    rest : mapping of str to array
        Initial stress [Pa].
    """
    stress = {n: np.asarray(rest[n], float) for n in STRESS}
    distance = law.distance({n: np.asarray(v, float) for n, v in given.items()}, constants, stress)
    if distance is None:
        return np.array(-1.0)
    size = np.sqrt(sum((1.0 if n[2] == n[3] else 2.0) * v * v for n, v in stress.items()))
    left = distance - MARGIN * (np.abs(distance) + size)
    return np.where(left > 0.0, left * left, -1.0)


__all__ = ["YIELD_DISTANCE", "may_have_losses", "may_yield", "peaks", "distance_to_yield"]
