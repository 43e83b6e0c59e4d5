"""A planned fault as ``physics.friction.plausibility`` looks at it: its points with loads, strengths and elastic constants."""

from __future__ import annotations

from typing import Any

import numpy as np

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


def largest_patch(faces: Any, fault: LoadedFault) -> np.ndarray:
    """Points (k,) of the largest connected piece of those that break by themselves; faces that share a vertex are connected."""
    starts = np.flatnonzero(fault.starts)
    if not len(starts):
        return starts
    each = len(fault.tau) // len(faces.area)
    grain = 1e-6 * max(float(np.ptp(faces.corners.reshape(-1, 3), axis=0).max()), 1.0)
    _, vertex = np.unique(np.round(faces.corners.reshape(-1, 3) / grain), axis=0, return_inverse=True)
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


__all__ = ["largest_patch", "loaded_fault"]
