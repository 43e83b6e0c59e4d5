"""Boundary faces against the law: whether its waves can meet such a face at all."""

from __future__ import annotations

import numpy as np

from faultwave.case.model import Case
from faultwave.dg.planning import Planning
from faultwave.domain import tets
from faultwave.physics.waves import Law
from faultwave.physics.waves.law import impedance_numbers

OF_PARTS = (tets.BoundaryKind.GRAVITY, tets.BoundaryKind.DIRICHLET, tets.BoundaryKind.ANALYTIC)
"""Their parts say by themselves what is wrong with such faces."""


def allowed_kinds(law: Law) -> list[str]:
    """Names of the boundary kinds that a law can have."""
    kinds = list(law.boundaries)
    if impedance_numbers(law) == 1:
        kinds.append("impedance")
    if "velocity" in law.roles and law.channels in (1, 3):
        kinds += ["dirichlet"] if law.directional else ["gravity", "dirichlet"]
    return [*kinds, "analytic"]


def check_kinds(planning: Planning, driven: np.ndarray) -> None:
    """An error for each kind of boundary faces that the law does not have. ``driven`` (nc, 4): faces where a part says what arrives."""
    topology, law = planning.topology, planning.law
    allowed = allowed_kinds(law)
    outer = ~planning.across & ~driven & (topology.kinds != tets.BoundaryKind.FAULT)
    for kind in np.unique(topology.kinds[outer]):
        name = tets.BoundaryKind(kind).name.lower().replace("_", "-")
        if kind in OF_PARTS or name in allowed:
            continue
        count = int((outer & (topology.kinds == kind)).sum())
        what = f"{count} boundary faces are of kind {name}, which the {law.name} law does not have"
        planning.problems.error(_setting(planning.case, name), what, ", ".join(allowed))


def _setting(case: Case, kind: str) -> str:
    """Where a case says that faces are of a kind."""
    made = getattr(case.mesh.generate, "boundaries", None) or {}
    for side, given in made.items():
        if given == kind:
            return f"mesh.generate.boundaries.{side}"
    return f"mesh.boundaries.{kind}" if kind in (case.mesh.boundaries or {}) else "mesh.boundaries"


__all__ = ["allowed_kinds", "check_kinds"]
