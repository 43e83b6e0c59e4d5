"""A planned fault as ``physics.friction.plausibility`` looks at it: its points with loads, strengths and elastic constants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from faultwave.observe.model import Label, Sheet
from faultwave.physics.friction.law import Weakening
from faultwave.physics.friction.nucleation import increment
from faultwave.physics.friction.plausibility import LoadedFault


def loaded_fault(rupture: Any, order: int, end: float) -> LoadedFault:
    """Points of a planned rupture before it starts, and with what nucleation adds until the end; the softer side's elastic constants."""
    faces, rule, material = rupture.faces, rupture.rule, rupture.material
    count = len(rule.weights)
    stress = rupture.stress.reshape(-1, 3)
    shares = [increment(0.0, end, e.start, e.duration) for e in rupture.episodes]
    added = stress + sum(share * e.traction.reshape(-1, 3) for share, e in zip(shares, rupture.episodes, strict=True))
    tau, nucleated = (np.hypot(s[:, 1], s[:, 2]) for s in (stress, added))
    moved = bool(np.any(added[:, 0] != stress[:, 0]))
    modulus, first = material["mu"], material["lambda"]
    softer = np.argmin(modulus, axis=1)[:, None]
    mu, lam = (np.take_along_axis(v, softer, 1)[:, 0] for v in (modulus, first))
    p = {name: v.reshape(-1, *v.shape[2:]) for name, v in rupture.parameters.items()}
    with np.errstate(all="ignore"):  # tension and absent loads are told of, not computed with
        weakening = rupture.law.weakening(p, rupture.constants, tau, stress[:, 0]) if rupture.law.needs_stress else None
        after = None
        if moved and weakening is not None and weakening.threshold:
            after = rupture.law.weakening(p, rupture.constants, nucleated, added[:, 0])
    edge = np.sqrt(4.0 * faces.area / np.sqrt(3.0))
    return LoadedFault(
        (2.0 * faces.area[:, None] * rule.weights).reshape(-1), tau, nucleated, stress[:, 0], np.repeat(mu, count),
        np.repeat(lam / (2.0 * (lam + mu)), count), np.repeat(edge / order, count), weakening, end, after,
    )  # fmt: skip


def largest_patch(corners: np.ndarray, fault: LoadedFault) -> np.ndarray:
    """Points (k,) of the largest connected piece of those that break by themselves; faces with ``corners`` (n, 3, 3) that share a
    vertex are connected."""
    starts = np.flatnonzero(fault.starts)
    if not len(starts):
        return starts
    each = len(fault.tau) // len(corners)
    grain = 1e-6 * max(float(np.ptp(corners.reshape(-1, 3), axis=0).max()), 1.0)
    _, vertex = np.unique(np.round(corners.reshape(-1, 3) / grain), axis=0, return_inverse=True)
    broken, at = np.unique(starts // each, return_inverse=True)
    piece = _pieces(vertex.reshape(-1, 3)[broken])[at]
    area = np.bincount(piece, fault.area[starts])
    return np.asarray(starts[piece == int(np.argmax(area))])


def _pieces(vertices: np.ndarray) -> np.ndarray:
    """The lowest number (n,) of a face in the piece of each of the faces with these vertices (n, 3)."""
    label = np.arange(len(vertices))
    while True:
        lowest = np.full(int(vertices.max()) + 1, len(vertices))
        np.minimum.at(lowest, vertices, label[:, None])
        found = lowest[vertices].min(1)
        if (found == label).all():
            return label
        label = found


FORECASTS = {
    "normal stress": Label("normal stress, compression", "MPa"),
    "shear stress": Label("shear stress", "MPa"),
    "nucleated": Label("shear stress after nucleation", "MPa"),
    "strength": Label("strength before slip", "MPa"),
    "excess": Label("strength excess", "MPa"),
    "S ratio": Label("S ratio"),
    "cohesive points": Label("points in the cohesive zone"),
    "breaks": Label("share that breaks by itself"),
}
"""What pictures show of a fault."""


def sheet(faces: Any, fault: LoadedFault) -> Sheet:
    """A planned fault with means over its faces of loads, strength and what follows; NaN where a number does not exist."""
    share = fault.area.reshape(len(faces.area), -1)

    def mean(values: np.ndarray) -> np.ndarray:
        known = np.isfinite(values).reshape(share.shape)
        weight = np.where(known, share, 0.0)
        total = weight.sum(1)
        filled = np.where(known, values.reshape(share.shape), 0.0)
        return np.where(total > 0, (weight * filled).sum(1) / np.where(total > 0, total, 1.0), np.nan)

    shown = {"normal stress": -1e-6 * fault.sigma, "shear stress": 1e-6 * fault.tau}
    if (fault.nucleated != fault.tau).any():
        shown["nucleated"] = 1e-6 * fault.nucleated
    w = fault.weakening
    if w is not None:
        slips = fault.may_slip
        peak = np.broadcast_to(w.peak, slips.shape)
        shown["strength"] = 1e-6 * np.where(slips, peak, np.nan)
        shown["excess"] = 1e-6 * np.where(slips, peak - fault.tau, np.nan)
        shown["S ratio"] = fault.s_ratio
        shown["cohesive points"] = fault.cohesive_zone / fault.spacing
        shown["breaks"] = fault.starts.astype(float)
    points, cells = np.unique(faces.corners.reshape(-1, 3), axis=0, return_inverse=True)
    values = {name: mean(v) for name, v in shown.items() if np.isfinite(v).any()}
    return Sheet("fault", points, cells.reshape(-1, 3), values, FORECASTS, np.asarray(faces.tags))


@dataclass(frozen=True)
class FaultPiece:
    """The faces of a fault that one process has: their ``corners`` (n, 3, 3) and points."""

    corners: np.ndarray
    points: LoadedFault


def put_together(pieces: Sequence[FaultPiece]) -> FaultPiece:
    """The whole fault."""
    if len(pieces) == 1:
        return pieces[0]
    faults = [piece.points for piece in pieces]
    arrays: dict[str, Any] = {
        f.name: np.concatenate([getattr(fault, f.name) for fault in faults])
        for f in fields(LoadedFault)
        if isinstance(getattr(faults[0], f.name), np.ndarray)
    }
    after = None
    if any(fault.nucleated_weakening is not None for fault in faults):
        after = _weakening(faults, [fault.nucleated_strength for fault in faults])
    whole = replace(
        faults[0], **arrays, weakening=_weakening(faults, [f.weakening for f in faults]), nucleated_weakening=after
    )
    return FaultPiece(np.concatenate([piece.corners for piece in pieces]), whole)


def _weakening(faults: Sequence[LoadedFault], each: Sequence[Weakening | None]) -> Weakening | None:
    """Of all points; None where the law cannot tell."""
    known = [w for w in each if w is not None]
    if len(known) < len(each):
        return None

    def joined(values: Iterable[Any]) -> np.ndarray:
        return np.concatenate([np.broadcast_to(v, fault.tau.shape) for v, fault in zip(values, faults, strict=True)])

    forced = None
    if any(w.forced is not None for w in known):
        forced = joined(np.inf if w.forced is None else w.forced for w in known)
    lengths: dict[str, Any] = {
        name: joined(getattr(w, name) for w in known) for name in ("peak", "dynamic", "distance")
    }
    return replace(known[0], **lengths, forced=forced)


__all__ = ["FaultPiece", "largest_patch", "loaded_fault", "put_together", "sheet"]
