"""Loads, strengths and elastic constants of a planned fault, for the checks of ``physics.friction.plausibility``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from faultwave.observe.model import Label, Sheet
from faultwave.physics.friction import forecast
from faultwave.physics.friction.forecast import Added, Surroundings
from faultwave.physics.friction.law import Weakening
from faultwave.physics.friction.plausibility import LoadedFault

if TYPE_CHECKING:
    from faultwave.dg.fault.faces import FaultFaces, Model


def loaded_fault(rupture: Model, order: int, end: float) -> LoadedFault:
    """Return the points of a planned rupture with their loads before the start and after nucleation.

    Elastic constants are taken from the softer side.

    Parameters
    ----------
    rupture
        CapabilityPlan rupture with faces, point rule, material, friction law, parameters and stress.
    order : int
        Order of the scheme, which sets the resolved length: edge / order.
    end : float
        End of the simulation [s], until which nucleation is added.
    """
    faces, rule, material = rupture.faces, rupture.rule, rupture.material
    count = len(rule.weights)
    modulus, first = material["mu"], material["lambda"]
    softer = np.argmin(modulus, axis=1)[:, None]
    mu, lam = (np.repeat(np.take_along_axis(v, softer, 1)[:, 0], count) for v in (modulus, first))
    edge = np.sqrt(4.0 * faces.area / np.sqrt(3.0))
    area = (2.0 * faces.area[:, None] * rule.weights).reshape(-1)
    p = {name: v.reshape(-1, *v.shape[2:]) for name, v in rupture.parameters.items()}
    episodes = [Added(e.traction.reshape(-1, 3), e.start, e.duration) for e in rupture.episodes]
    around = Surroundings(area, mu, lam, np.repeat(edge / order, count))
    return forecast.loaded(rupture.law, (p, rupture.constants), rupture.stress.reshape(-1, 3), episodes, around, end)


def largest_patch(corners: np.ndarray, fault: LoadedFault) -> np.ndarray:
    """Return the points (k,) of the largest connected area above its strength, now or after nucleation.

    Faces that share a vertex are connected. Points with forced rupture count as above their strength.

    Parameters
    ----------
    corners : (n, 3, 3) float
        Vertices of the faces [m].
    fault : LoadedFault
        Points of the faces.
    """
    if not fault.starts.any():
        return np.zeros(0, np.int64)
    grain = 1e-6 * max(float(np.ptp(corners.reshape(-1, 3), axis=0).max()), 1.0)
    _, vertex = np.unique(np.round(corners.reshape(-1, 3) / grain), axis=0, return_inverse=True)
    return forecast.largest_patch(vertex.reshape(-1, 3), fault)


FORECASTS = {name: Label(*reported) for name, reported in forecast.SHOWN.items()}
"""Labels of the fields that plots of a planned fault show."""


def sheet(faces: FaultFaces, fault: LoadedFault) -> Sheet:
    """Return a planned fault as a surface with face means of loads, strength and derived numbers.

    A value is NaN where the number is undefined at all points of a face.
    """
    share = fault.area.reshape(len(faces.area), -1)

    def mean(values: np.ndarray) -> np.ndarray:
        known = np.isfinite(values).reshape(share.shape)
        weight = np.where(known, share, 0.0)
        total = weight.sum(1)
        filled = np.where(known, values.reshape(share.shape), 0.0)
        return np.where(total > 0, (weight * filled).sum(1) / np.where(total > 0, total, 1.0), np.nan)

    points, cells = np.unique(faces.corners.reshape(-1, 3), axis=0, return_inverse=True)
    values = {name: mean(v) for name, v in forecast.shown(fault).items() if np.isfinite(v).any()}
    return Sheet("fault", points, cells.reshape(-1, 3), values, FORECASTS, np.asarray(faces.tags))


@dataclass(frozen=True)
class FaultPiece:
    """Part of a fault on one process: the vertices ``corners`` (n, 3, 3) [m] of its faces, and its points."""

    corners: np.ndarray
    points: LoadedFault


def merge_pieces(pieces: Sequence[FaultPiece]) -> FaultPiece:
    """Merge the parts of all processes into the whole fault."""
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
    """Join the weakening of all parts; None if the friction law of one does not define it."""
    known = [w for w in each if w is not None]
    if len(known) < len(each):
        return None

    def joined(values: Iterable[np.ndarray | float]) -> np.ndarray:
        return np.concatenate([np.broadcast_to(v, fault.tau.shape) for v, fault in zip(values, faults, strict=True)])

    forced = None
    if any(w.forced is not None for w in known):
        forced = joined(np.inf if w.forced is None else w.forced for w in known)
    lengths: dict[str, Any] = {
        name: joined(getattr(w, name) for w in known) for name in ("peak", "dynamic", "distance")
    }
    return replace(known[0], **lengths, forced=forced)


__all__ = ["FaultPiece", "largest_patch", "loaded_fault", "merge_pieces", "sheet"]
