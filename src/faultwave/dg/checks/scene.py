"""Summary of a planned run on tetrahedra for the checks of ``case.plausibility``."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from faultwave.case.plausibility import Scene
from faultwave.case.settings.model import Case
from faultwave.dg.checks.resolution import edge_length
from faultwave.dg.mesh.placement import Planning
from faultwave.domain import tets
from faultwave.engine.capability import CapabilityPlan
from faultwave.physics.sources.released import scalar_moments

OPEN = (tets.BoundaryKind.ABSORBING,)
SURFACES = (tets.BoundaryKind.FREE_SURFACE, tets.BoundaryKind.GRAVITY)
UPWARDS = 0.7
"""Vertical component of the outward normal above which a face belongs to the uppermost side."""


def scene_of(planning: Planning, parts: Iterable[CapabilityPlan]) -> Scene:
    """Return the summary of a case whose capabilities are planned; requires the whole mesh."""
    mesh, geometry, law = planning.mesh, planning.geometry, planning.law
    by_name = {part.name: part for part in parts}
    places, moment, onset = np.zeros((0, 3)), np.zeros(0), np.zeros(0)
    sources = by_name.get("point_sources")
    moduli = law.moduli(planning.material)
    if sources is not None and "mu" in moduli:
        table, cells = sources.sources, np.maximum(sources.cells, 0)  # type: ignore[attr-defined]
        places, onset = table.location, table.onset
        moment = scalar_moments(table, moduli["lambda"][cells], moduli["mu"][cells], planning.case.end_time)
    receivers = by_name.get("receivers")
    return Scene(
        mesh.vertices.min(0), mesh.vertices.max(0), float(np.median(edge_length(geometry.volume)) / (planning.case.numerics.order - 1)),
        float(law.speed(planning.material).max()), places, moment, onset,
        np.zeros((0, 3)) if receivers is None else receivers.listed.located,  # type: ignore[attr-defined]
        closed=not np.isin(planning.topology.kinds[~planning.across], OPEN).any(), full_space=is_full_space(planning),
    )  # fmt: skip


def is_full_space(planning: Planning) -> bool:
    """Return True if waves of sources or faults leave through the uppermost side and mesh and case have no free surface."""
    case, kinds = planning.case, planning.topology.kinds
    if (
        "velocity" not in planning.law.roles
        or case.initial.kind != "zero"
        or not (case.sources or case.fault)
        or _states_surface(case)
    ):
        return False
    outer = ~planning.across & (kinds != tets.BoundaryKind.FAULT)
    named = np.unique(kinds[outer])
    if np.isin(named, SURFACES).any():
        return False
    upper = outer & (planning.geometry.normals[..., 2] > UPWARDS)
    return bool(upper.any() and np.isin(kinds[upper], OPEN).all())


def _states_surface(case: Case) -> bool:
    """Return True if the case states the kind of its uppermost side."""
    made = getattr(case.mesh.generate, "boundaries", None) or {}
    return bool({"z", "z+"} & made.keys()) or "free-surface" in (case.mesh.boundaries or {})


__all__ = ["is_full_space", "scene_of"]
