"""A fault before a run, on any engine, as ``plausibility`` looks at it: loads of its points, where it will break, what pictures show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.physics.friction.law import FrictionLaw
from faultwave.physics.friction.nucleation import increment
from faultwave.physics.friction.plausibility import ENOUGH, LoadedFault, cohesive_points


@dataclass(frozen=True)
class Surroundings:
    """Of the points (n,) of a fault: area [m^2] that each stands for, Lame's parameters [Pa] of the softer side, ``spacing`` of the
    solution's points [m]."""

    area: np.ndarray
    mu: np.ndarray
    lam: np.ndarray
    spacing: np.ndarray


@dataclass(frozen=True)
class Added:
    """Traction (n, 3) [Pa] that an episode of nucleation adds from its ``start`` [s] on, over its ``duration`` [s]."""

    traction: np.ndarray
    start: float
    duration: float


def loaded(
    law: FrictionLaw, given: tuple[Mapping[str, np.ndarray], Mapping[str, float]], stress: np.ndarray, episodes: Sequence[Added],
    around: Surroundings, end: float,
) -> LoadedFault:  # fmt: skip
    """Points of a fault before it starts, and with what nucleation adds until the ``end``: ``given`` are the law's prepared parameters (n,)
    and its constants, ``stress`` (n, 3) the traction at rest along the normal and both tangents."""
    p, constants = given
    added = stress + sum(increment(0.0, end, e.start, e.duration) * e.traction for e in episodes)
    tau, nucleated = (np.hypot(s[:, 1], s[:, 2]) for s in (stress, added))
    moved = bool(np.any(added[:, 0] != stress[:, 0]))
    with np.errstate(all="ignore"):  # tension and absent loads are told of, not computed with
        weakening = law.weakening(p, constants, tau, stress[:, 0]) if law.needs_stress else None
        after = None
        if moved and weakening is not None and weakening.threshold:
            after = law.weakening(p, constants, nucleated, added[:, 0])
    poisson = around.lam / (2.0 * (around.lam + around.mu))
    return LoadedFault(
        around.area,
        tau,
        nucleated,
        stress[:, 0],
        around.mu,
        poisson,
        around.spacing,
        weakening,
        end,
        after,
        added[:, 0],
    )


def largest_patch(vertices: np.ndarray, fault: LoadedFault) -> np.ndarray:
    """Points (k,) of the largest connected piece of those that break by themselves. Faces with ``vertices`` (n, m), each of as many points,
    are connected where they share one."""
    starts = np.flatnonzero(fault.starts)
    if not len(starts):
        return starts
    each = len(fault.tau) // len(vertices)
    broken, at = np.unique(starts // each, return_inverse=True)
    piece = pieces(vertices[broken])[at]
    area = np.bincount(piece, fault.area[starts])
    return np.asarray(starts[piece == int(np.argmax(area))])


def pieces(vertices: np.ndarray) -> np.ndarray:
    """The lowest number (n,) of a face in the piece of each of the faces with these vertices (n, m)."""
    label = np.arange(len(vertices))
    while True:
        lowest = np.full(int(vertices.max()) + 1, len(vertices))
        np.minimum.at(lowest, vertices, label[:, None])
        found = lowest[vertices].min(1)
        if (found == label).all():
            return label
        label = found


def shown(fault: LoadedFault) -> dict[str, np.ndarray]:
    """What pictures show of its points (n,), by name; NaN where a number does not exist."""
    found = {"normal stress": -1e-6 * fault.sigma, "shear stress": 1e-6 * fault.tau}
    if (fault.nucleated != fault.tau).any():
        found["nucleated"] = 1e-6 * fault.nucleated
    w = fault.weakening
    if w is not None:
        slips = fault.may_slip
        peak = np.broadcast_to(w.peak, slips.shape)
        found["strength"] = 1e-6 * np.where(slips, peak, np.nan)
        found["excess"] = 1e-6 * np.where(slips, peak - fault.tau, np.nan)
        found["S ratio"] = fault.s_ratio
        found["cohesive points"] = fault.cohesive_zone / fault.spacing
        found["breaks"] = fault.starts.astype(float)
    return found


SHOWN = {
    "normal stress": ("normal stress, compression", "MPa"),
    "shear stress": ("shear stress", "MPa"),
    "nucleated": ("shear stress after nucleation", "MPa"),
    "strength": ("strength before slip", "MPa"),
    "excess": ("strength excess", "MPa"),
    "S ratio": ("S ratio", ""),
    "cohesive points": ("points in the cohesive zone", ""),
    "breaks": ("share that breaks by itself", ""),
}
"""Titles and units of them."""


def cohesive_zone(fault: LoadedFault) -> str:
    """How many points hold it, in words."""
    points = cohesive_points(fault)
    if not len(points):
        return "no weakening"
    worst = float(points.min())
    enough = "enough" if worst >= ENOUGH else "too few"
    return f"{worst:.1f} at least, {np.median(points):.1f} in the median ({enough}: 2 to 3 are needed)"


__all__ = ["SHOWN", "Added", "Surroundings", "cohesive_zone", "largest_patch", "loaded", "pieces", "shown"]
