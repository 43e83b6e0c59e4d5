"""Checks of boundary faces against the wave law, which may not support every kind."""

from __future__ import annotations

import numpy as np

from faultwave.case.settings.model import Case
from faultwave.dg.mesh.placement import Planning
from faultwave.domain import tets
from faultwave.physics.waves import Law
from faultwave.physics.waves.anisotropic import lopsidedness
from faultwave.physics.waves.law import impedance_numbers

OF_PARTS = (tets.BoundaryKind.GRAVITY, tets.BoundaryKind.DIRICHLET, tets.BoundaryKind.ANALYTIC)
"""Boundary kinds whose capabilities check their faces themselves."""

LOPSIDED = 1e-6
"""Relative size of elastic constants that may be rounding of a rotation of crystal axes."""


def allowed_kinds(law: Law) -> list[str]:
    """Return the names of the boundary kinds that a law supports."""
    kinds = list(law.boundaries)
    if impedance_numbers(law) == 1:
        kinds.append("impedance")
    if "velocity" in law.roles and law.channels in (1, 3):
        kinds += ["dirichlet"] if law.directional else ["gravity", "dirichlet"]
    return [*kinds, "analytic"]


def check_kinds(planning: Planning, driven: np.ndarray) -> None:
    """Add an error for each kind of boundary faces that the law does not support.

    Faces marked in ``driven`` (nc, 4) are exempt, as a capability prescribes their waves.
    """
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


def warn_symmetry_planes(planning: Planning) -> None:
    """Warn if boundaries of kind symmetry touch rock whose elastic constants lack that symmetry."""
    topology, geometry, material = planning.topology, planning.geometry, planning.material
    mirrors = ~planning.across & (topology.kinds == tets.BoundaryKind.SYMMETRY)
    if "c11" not in material or not mirrors.any():
        return
    cells = np.nonzero(mirrors)[0]
    share = lopsidedness({name: values[cells] for name, values in material.items()}, geometry.normals[mirrors])
    if share.max() > LOPSIDED:
        worst = cells[int(share.argmax())]
        x = ", ".join(f"{v:g}" for v in geometry.centroid(worst))
        what = (
            f"the rock at {int((share > LOPSIDED).sum())} of {len(cells)} faces of kind symmetry is not the same in its mirror image: "
            f"constants of {100 * share.max():.3g} % of the largest should vanish in the cell at ({x})"
        )
        advice = "Waves are then not mirrored: the side holds the normal velocity and is free along itself."
        planning.problems.warn(
            _setting(planning.case, "symmetry"), what, "c15 = c16 = 0 and so on, at sides of x", advice
        )


def _setting(case: Case, kind: str) -> str:
    """Return the setting of a case that gives faces a kind."""
    made = getattr(case.mesh.generate, "boundaries", None) or {}
    for side, given in made.items():
        if given == kind:
            return f"mesh.generate.boundaries.{side}"
    return f"mesh.boundaries.{kind}" if kind in (case.mesh.boundaries or {}) else "mesh.boundaries"


__all__ = ["allowed_kinds", "check_kinds", "warn_symmetry_planes"]
