"""Rows of rock in which no point can yield, told by four numbers a row.

A point yields only where waves have moved its stress farther than its distance from yield at rest (``Rheology.distance``, in the Frobenius
norm). What waves have moved at a centre is at most its normal stresses and the largest of the shear stresses around it, as means are no
larger than what they are means of. So each row keeps the peaks of these, found while stresses are updated, and the smallest distance of
its centres. Rows that are safe need no look at their points; all others are looked at as ever, so that nothing depends on the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from faultwave.fd.cell_means import IN_PLANE, LOW_OFFSETS, OFFSETS
from faultwave.fd.program import STRESS_LEVEL
from faultwave.fd.stencils import NORMAL
from faultwave.kernels import math as m
from faultwave.kernels.stencil import Axis, Peak, Row
from faultwave.physics.rheology import STRESS, Rheology

ROOM = "yield_room"
"""The square of how far waves may move the stress of every centre of a row [Pa^2]; no number where rock never yields."""
MARGIN = 1e-3
"""Of distances and of the stress at rest: far more than rounding in single precision."""


def peak(name: str) -> str:
    """Of a shear stress along rows, or of the normal stresses together."""
    return f"peak_{name}"


def peaks() -> dict[str, Peak]:
    """Of the stresses of waves: of the normal ones the sum of squares [Pa^2], of shear stresses their size [Pa]."""

    def size(name: str) -> Peak:
        return Peak(STRESS_LEVEL, lambda p: m.abs(p.at(name)))

    found = {
        peak("normal"): Peak(
            STRESS_LEVEL, lambda p: sum(p.at(n) * p.at(n) for n in NORMAL[1:]) + p.at("sxx") * p.at("sxx")
        )
    }
    return found | {peak(n): size(n.replace("_", "")) for n in IN_PLANE}


def _planes(axes: tuple[Axis, Axis], to: str, kind: str) -> tuple[int, ...]:
    """Further up, of what means on such planes (``fd.cell_means``) read."""
    if "z" not in axes:
        return (0,)
    if kind == "inside":
        return (-1, 0) if to == "half" else (0, 1)
    return (LOW_OFFSETS if kind == "low" else OFFSETS)[to]


def may_yield(row: Row, lost: str, kind: str) -> Any:
    """Whether a row may have points that yield, or had some in the step before (``lost``: array of what they lost)."""
    moved = row.largest(peak("normal"))
    for name, axes in IN_PLANE.items():
        rows = (-1, 0) if "y" in axes else (0,)
        around = [row.largest(peak(name), z, y) for z in _planes(axes, "half", kind) for y in rows]
        size = around[0]
        for other in around[1:]:
            size = m.maximum(size, other)
        moved = moved + 2.0 * (size * size)
    return (row.number(ROOM) <= moved) | (row.changed(lost) > 0.0)


def may_lose(row: Row, lost: str, kind: str) -> Any:
    """Whether centres have lost something in this step around a row; on the surface, in it."""
    planes = (0,) if kind == "surface" else _planes(("y", "z"), "whole", kind)
    return sum(row.changed(lost, z, y) for z in planes for y in (0, 1)) > 0.0


def room(
    law: Rheology, given: Mapping[str, Any], constants: Mapping[str, float], rest: Mapping[str, Any]
) -> np.ndarray:
    """The square of the distance of centres from yield, less the margin [Pa^2]; below zero where rock at rest is that near. ``given``:
    parameters, ``rest``: stress at rest."""
    stress = {n: np.asarray(rest[n], float) for n in STRESS}
    distance = law.distance({n: np.asarray(v, float) for n, v in given.items()}, constants, stress)
    if distance is None:
        return np.array(-1.0)
    size = np.sqrt(sum((1.0 if n[2] == n[3] else 2.0) * v * v for n, v in stress.items()))
    left = distance - MARGIN * (np.abs(distance) + size)
    return np.where(left > 0.0, left * left, -1.0)


__all__ = ["ROOM", "may_lose", "may_yield", "peaks", "room"]
