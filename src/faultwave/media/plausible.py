"""Warning about files of layers whose depths may be in other units; for plain numbers see ``case.plausibility``."""

from __future__ import annotations

from faultwave.base.errors import Problems
from faultwave.media.field import Field, Layers, leaves

THIN = 0.005
"""Fraction of a model's depth above which layers that end there are doubted, equal to 40 m in 8 km."""


def warn_layers(field: Field, depth: float, problems: Problems) -> None:
    """Warn if all layers of a file lie in the uppermost metres of a model that is ``depth`` [m] deep."""
    for leaf in leaves(field):
        if isinstance(leaf, Layers) and 0.0 < leaf.tops[-1] < THIN * depth:
            what = f"the deepest layer begins {leaf.tops[-1]:g} m down, and the model is {depth:g} m deep"
            advice = "Are depths in km? A header 'depth[km]' says so; vp[km/s] and rho[g/cm^3] likewise."
            problems.warn(leaf.source, what, advice=advice)


__all__ = ["warn_layers"]
