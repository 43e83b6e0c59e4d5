"""Warnings about rock that can be computed with and whose numbers speak of other units."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from faultwave.base.errors import Problems
from faultwave.media.field import Field, Layers, leaves

SLOWEST, FASTEST = 10.0, 1e5
"""Wave speeds [m/s] of rock beyond which units are doubted."""
LIGHTEST, HEAVIEST = 50.0, 5e4
"""Densities [kg/m^3] of rock beyond which units are doubted."""
A_PLACE = 100.0
"""Size [m] from which a model is a place on Earth; below it numbers may be without units, as tests and exact solutions have them."""
THIN = 0.005
"""Share of a model's depth above which layers that end there are doubted: it is that of 40 m in 8 km."""


def doubt_rock(values: Mapping[str, np.ndarray], size: float, problems: Problems) -> None:
    """A warning where the elastic parameters ``values`` of a model of a ``size`` [m] look like km/s, g/cm^3 or GPa."""
    if size < A_PLACE or not {"rho", "lambda", "mu"} <= values.keys():
        return
    rho, shear = values["rho"], values["mu"]
    with np.errstate(all="ignore"):  # what is no material is told elsewhere
        speed = np.sqrt((values["lambda"] + 2.0 * shear) / rho)
    if not np.isfinite(speed).all() or not (shear > 0).any():
        return
    if speed.max() < SLOWEST or speed.min() > FASTEST:
        what = f"P waves have {_range(speed)} m/s"
        advice = (
            "Are speeds in km/s, or moduli in GPa? Numbers are in m/s, Pa and kg/m^3; texts may carry units: '6 km/s'."
        )
        problems.warn("material", what, f"{SLOWEST:g} to {FASTEST:g} m/s in rock", advice)
    if rho.max() < LIGHTEST or rho.min() > HEAVIEST:
        what = f"the density is {_range(rho)} kg/m^3"
        advice = "Is it in g/cm^3? Numbers are in kg/m^3; texts may carry units: '2.7 g/cm^3'."
        problems.warn("material", what, f"{LIGHTEST:g} to {HEAVIEST:g} kg/m^3 in rock", advice)


def doubt_layers(field: Field, depth: float, problems: Problems) -> None:
    """A warning where all layers of a file lie in the uppermost metres of a model that is ``depth`` [m] deep."""
    for leaf in leaves(field):
        if isinstance(leaf, Layers) and 0.0 < leaf.tops[-1] < THIN * depth:
            what = f"the deepest layer begins {leaf.tops[-1]:g} m down, and the model is {depth:g} m deep"
            advice = "Are depths in km? A header 'depth[km]' says so; vp[km/s] and rho[g/cm^3] likewise."
            problems.warn(leaf.source, what, advice=advice)


def _range(values: np.ndarray) -> str:
    low, high = f"{values.min():.3g}", f"{values.max():.3g}"
    return low if low == high else f"{low} to {high}"


__all__ = ["FASTEST", "SLOWEST", "doubt_layers", "doubt_rock"]
