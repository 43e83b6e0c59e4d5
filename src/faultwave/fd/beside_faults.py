"""What may not lie beside a fault in a plane of the grid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from faultwave.base.errors import InputError
from faultwave.fd.fault_plane import EVEN, MARGIN, across
from faultwave.fd.part import GridPart, Placing

PUSHED, READ = 3.0, 1.5
"""Spacings from the plane: nearer sources would push one side with weights of rock without a fault, receivers read across it."""


def check_beside(placing: Placing, parts: Mapping[str, GridPart]) -> None:
    """Errors of what pushes or reads the grid so near a plane with a fault that it would mix both sides, or their weights."""
    setting: Any = placing.case.grid.fault  # type: ignore[union-attr]
    if setting is None or placing.case.fault is None:
        return
    try:
        k = "xyz".index(across(setting))
    except InputError:
        return  # told where the fault is planned
    h, lower, upper = placing.grid.spacing, np.array(setting.lower, float), np.array(setting.upper, float)
    for part in parts.values():
        kind, places = type(part), part.places
        pushes, reads = kind.drive is not GridPart.drive, kind.sampler is not GridPart.sampler
        away = np.abs(places[:, k] - lower[k])
        split = ((places > lower - (MARGIN + 2) * h) & (places < upper + (MARGIN + 2) * h)).all(1)
        wrong = away < PUSHED * h * (1 - EVEN) if pushes else (away < READ * h * (1 - EVEN)) & split
        listed = np.flatnonzero(wrong & (pushes or reads))
        if len(listed):
            x, y, z = places[listed[0]]
            many = f" ({len(listed) - 1:,} more are as near)" if len(listed) > 1 else ""
            what = f"number {listed[0] + 1} at ({x:g}, {y:g}, {z:g}) lies {away[listed[0]]:.4g} m from the plane of grid.fault{many}"
            advice = "" if pushes else "output.fault_receivers gives the motion of the fault."
            least = f"{(PUSHED if pushes else READ) * h:g} m or more, {PUSHED if pushes else READ:g} spacings"
            placing.problems.error(part.name, what, least, advice)


__all__ = ["check_beside"]
