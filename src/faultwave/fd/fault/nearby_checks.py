"""Checks of sources and receivers close to a fault plane of a grid."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from faultwave.base.errors import InputError
from faultwave.base.types import Setting
from faultwave.fd.capability import GridCapabilityPlan, PlacementContext
from faultwave.fd.method.fault_plane import EVEN, MARGIN, across

PUSHED, READ = 3.0, 1.5
"""Smallest distances of sources and receivers to the fault plane, in spacings.

The weights of a nearer source assume continuous rock and would push one side only; the weights of a nearer
receiver would mix both sides.
"""


def check_near_fault(placing: PlacementContext, parts: Mapping[str, GridCapabilityPlan]) -> None:
    """Report errors for sources and receivers that are too close to the plane of the fault."""
    setting: Setting = placing.case.grid.fault  # type: ignore[union-attr]
    if setting is None or placing.case.fault is None:
        return
    try:
        k = "xyz".index(across(setting))
    except InputError:
        return  # the planning of the fault reports it
    h, lower, upper = placing.grid.spacing, np.array(setting.lower, float), np.array(setting.upper, float)
    for part in parts.values():
        kind, places = type(part), part.places
        pushes, reads = kind.drive is not GridCapabilityPlan.drive, kind.sampler is not GridCapabilityPlan.sampler
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


__all__ = ["check_near_fault"]
