"""Fluids beside rock on a grid: what is not to be trusted there, and moments that a fluid cannot take."""

from __future__ import annotations

import numpy as np

from faultwave.base.errors import Problems
from faultwave.case.model import Case
from faultwave.media.field import Field
from faultwave.media.homogenise import at_points
from faultwave.physics.sources.point import PointSource

REACH = 2.0
"""Spacings within which a source pushes points."""


def check_fluids(
    case: Case, field: Field, sources: tuple[PointSource, ...], modulus: np.ndarray, box: tuple[np.ndarray, np.ndarray], spacing: float,
    problems: Problems,
) -> None:  # fmt: skip
    """``modulus``: mu on a coarse lattice of the ``box``. Moments that shear in or beside a fluid are errors: stress that is left where
    nothing relaxes it pushes for ever. So does, more weakly, what stays in rock within two points of a fluid: that is told."""
    _check_moments(field, sources, box, spacing, problems)
    fluid = modulus == 0
    if not fluid.any() or fluid.all():
        return
    what = "holds fluid beside rock, for which grids are not verified: stress that stays in rock after a source goes on pushing the fluid"
    advice = "Do not use slow motion or displacement there; use engine: dg, or give the fluid a shear speed."
    problems.warn("material", what, advice=advice)
    if case.output.intensity is not None or case.output.surface is not None:
        what = "maps and snapshots of the surface take a fluid there for a solid: horizontal motion on it is wrong"
        problems.warn("output", what, advice="Receivers on a fluid know it.")


def _check_moments(
    field: Field,
    sources: tuple[PointSource, ...],
    box: tuple[np.ndarray, np.ndarray],
    spacing: float,
    problems: Problems,
) -> None:
    shearing = [s for s in sources if s.potency.any() or _shears(s.moment)]
    if not shearing:
        return
    offsets = [sign * share * REACH * spacing * axis for axis in np.eye(3) for share in (0.5, 1.0) for sign in (-1, 1)]
    around = np.array([np.zeros(3), *offsets])
    near = np.clip(np.array([s.location for s in shearing], float)[:, None] + around, *box).reshape(-1, 3)
    modulus = at_points(field, ["mu"], near, np.ones(len(near), np.int64))["mu"].reshape(-1, len(around))
    for source, beside in zip(shearing, (modulus == 0).any(1), strict=True):
        if beside:
            x, y, z = source.location
            problems.error(
                f"source {source.name} at ({x:g}, {y:g}, {z:g})", f"is a moment that shears in a fluid or within {REACH:g} points of one",
                f"a place {REACH * spacing:g} m or more from fluids", "Or use engine: dg, or give the fluid a shear speed.",
            )  # fmt: skip


def _shears(moment: np.ndarray) -> bool:
    """Whether a moment (6,) is more than an explosion."""
    return bool(moment[3:].any() or np.ptp(moment[:3]) > 1e-9 * np.abs(moment).max())


__all__ = ["check_fluids"]
