"""Soil with multiple yield surfaces: elastic-plastic elements in parallel (Iwan 1967, J. Appl. Mech. 34; Mroz 1967).

All elements have the same strain. Element i has the fraction m_i of the shear modulus G and yields where sqrt(J2) of
its deviator reaches m_i G gamma_i, with J2 half the sum of squares of all nine components; then its deviator is scaled
back to that (radial return). The stress is the sum over all elements; the mean stress is elastic. On first loading the
sum follows a polygon through points of the backbone, a curve of shear stress over shear strain gamma (twice the tensor
component). Unloading and reloading follow this curve scaled by two in both directions (Masing 1926), on any path and in
three dimensions.

Here strains are in units of the reference strain gamma_ref of a point, stresses in units of G gamma_ref, so that one
set of surfaces serves points of any stiffness and strength. Strains are deviators, doubled like gamma, with five
components (xx, yy, xy, yz, xz). The state of an element is its plastic strain p, zero before it yields: its deviator
over m_i G gamma_ref is the total strain minus p.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.base.quantities import Parameter
from faultwave.kernels import math as m
from faultwave.kernels.expr import Condition, Number, Numbers

PARTS = ("xx", "yy", "xy", "yz", "xz")
"""Components of a deviator; zz follows from zero trace."""
RANGE = (0.01, 20.0)
"""Strains of the first and the last surface, in units of the reference strain."""
FIRST = 0.1
"""Strain of one more surface, relative to the first; below it the modulus is exactly the one of the rock."""
DARENDELI = (0.0352, 0.0010, 0.3246, 0.3483, 0.919)
"""Coefficients a, b, c, d and exponent of the curve of Darendeli (2001), table 8.12.

Reference strain [%] = (a + b PI OCR^c) (mean effective stress [atm])^d. PhD thesis, University of Texas at Austin.
"""
ATMOSPHERE = 101325.0


@dataclass(frozen=True)
class Surfaces:
    """Yield surfaces: increasing ``strains`` at which they yield, and their ``shares`` of the shear modulus, whose sum is one."""

    strains: tuple[float, ...]
    shares: tuple[float, ...]

    def stress(self, strain: np.ndarray) -> np.ndarray:
        """Return the stress on first loading in shear, in units of G gamma_ref."""
        x = np.asarray(strain, float)[..., None]
        return np.asarray((np.array(self.shares) * np.minimum(x, np.array(self.strains))).sum(-1))

    def damping(self, amplitude: np.ndarray) -> np.ndarray:
        """Return the fraction of critical damping in a cycle of strain ``amplitude``: loop area over 2 pi stress strain."""
        x = np.asarray(amplitude, float)[..., None]
        of, shares = np.array(self.strains), np.array(self.shares)
        area = (4.0 * shares * of * np.maximum(x - of, 0.0)).sum(-1)
        return np.asarray(area / (2.0 * np.pi * self.stress(amplitude) * np.asarray(amplitude, float)))


def surfaces(strains: Sequence[float], stresses: Sequence[float]) -> Surfaces:
    """Return the yield surfaces whose backbone passes through the points (strain, stress), with an initial slope of one.

    Raises
    ------
    ValueError
        If no soil of this kind can follow the backbone.
    """
    x, y = np.array(strains, float), np.array(stresses, float)
    if len(x) < 2 or len(x) != len(y):
        raise ValueError("a backbone needs two points or more")
    if not (x[0] > 0 and (np.diff(x) > 0).all()):
        raise ValueError("strains of a backbone must be above 0 and rise")
    falling = np.flatnonzero(np.diff(np.r_[0.0, y]) < 0)
    if len(falling):
        raise ValueError(f"the stress of the backbone falls before the strain {x[falling[0]]:.4g}; it must not fall")
    x, y = np.r_[FIRST * x[0], x], np.r_[FIRST * x[0], y]
    slopes = np.r_[np.diff(np.r_[0.0, y]) / np.diff(np.r_[0.0, x]), 0.0]
    shares = -np.diff(slopes)
    steeper = np.flatnonzero(shares < -1e-12)
    if len(steeper):
        raise ValueError(f"the backbone gets steeper at the strain {x[steeper[0]]:.4g}; its slope must fall")
    retained = shares > 0
    return Surfaces(tuple(x[retained].tolist()), tuple(shares[retained].tolist()))


def curve(exponent: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return the normalised backbone stress(strain): the hyperbola for exponent 1 (Hardin & Drnevich 1972)."""
    return lambda x: x / (1.0 + x**exponent)


def along_curve(count: int, exponent: float = 1.0) -> Surfaces:
    """Return ``count`` surfaces on the curve with an exponent, evenly spaced in the logarithm of strain, plus the first one."""
    strains = np.geomspace(*RANGE, count)
    return surfaces(strains.tolist(), curve(exponent)(strains).tolist())


def masing_damping(ratio: float) -> float:
    """Return the damping of the exact hyperbola at a strain of ``ratio`` reference strains."""
    return float(4 / np.pi * (1 + 1 / ratio) * (1 - np.log1p(ratio) / ratio) - 2 / np.pi)


def square(of: Numbers) -> Number:
    """Return J2 of a deviator (xx, yy, xy, yz, xz)."""
    xx, yy, xy, yz, xz = of
    return (xx * xx + yy * yy + xx * yy) + (xy * xy + yz * yz + xz * xz)


def step(
    of: Surfaces, plastic: Sequence[Sequence[Number]], strain: Sequence[Number], may: Condition = True
) -> tuple[list[list[Number]], Numbers, Number]:
    """Return the plastic strain of each element, the lost stress and the dissipated energy of a step (kernel).

    If no element yields, plastic strains are bitwise unchanged and the others are zero.

    Parameters
    ----------
    of
        Yield surfaces.
    plastic
        Plastic strains (5) of each element before the step.
    strain
        Total strain (5) after the step.
    may
        Mask of points that are allowed to yield.

    Returns
    -------
    plastic, lost, work
        Plastic strains after the step; reduction of the summed stress (5) by them; energy over G gamma_ref^2.
    """
    after = list[list[Number]]()
    lost: list[Number] = [0.0] * len(PARTS)
    work: Number = 0.0
    for limit, share, own in zip(of.strains, of.shares, plastic, strict=True):
        trial = [e - p for e, p in zip(strain, own, strict=True)]
        size = square(trial)
        yields = (size > limit * limit) & may
        gone = m.where(yields, 1.0 - limit / m.sqrt(m.where(yields, size, 1.0)), 0.0)
        more = [gone * t for t in trial]
        after.append([p + x for p, x in zip(own, more, strict=True)])
        lost = [a + share * x for a, x in zip(lost, more, strict=True)]
        work = work + share * (
            (gone * (1.0 - gone)) * size
        )  # work of the yield stress, which is also the stress at the end of the step
    return after, lost, work


@dataclass(frozen=True)
class Backbone:
    """Model of the reference strain of a point.

    Attributes
    ----------
    parameters
        Parameters of the soil.
    strain
        ``strain(p, mu, confining)`` computes it from them, the shear modulus and the mean effective stress [Pa],
        compression positive.
    exponent
        Exponent of the curve.
    confined
        True if it depends on the confining stress.
    """

    name: str
    parameters: tuple[Parameter, ...]
    strain: Callable[[Mapping[str, np.ndarray], np.ndarray, np.ndarray], np.ndarray]
    exponent: float = 1.0
    confined: bool = True


def _strength(p: Mapping[str, np.ndarray], mu: np.ndarray, confining: np.ndarray) -> np.ndarray:
    phi = np.radians(p["friction_angle"])
    return np.asarray((p["cohesion"] * np.cos(phi) + confining * np.sin(phi)) / mu)


def _darendeli(p: Mapping[str, np.ndarray], mu: np.ndarray, confining: np.ndarray) -> np.ndarray:
    a, b, c, d, _ = DARENDELI
    per_cent = (a + b * p["plasticity_index"] * p["overconsolidation_ratio"] ** c) * (confining / ATMOSPHERE) ** d
    return np.asarray(0.01 * per_cent)


BACKBONES = {
    of.name: of
    for of in (
        Backbone(
            "reference-strain",
            (Parameter("reference_strain", "", "shear strain at which the modulus has halved", positive=True),),
            lambda p, mu, confining: p["reference_strain"],
            confined=False,
        ),
        Backbone(
            "strength",
            (
                Parameter("cohesion", "Pa", "cohesion of the soil", lower=0.0),
                Parameter("friction_angle", "deg", "angle of internal friction of the soil", lower=0.0, upper=89.0),
            ),
            _strength,
        ),
        Backbone(
            "darendeli",
            (
                Parameter("plasticity_index", "", "plasticity index of the soil [%]", 0.0, lower=0.0),
                Parameter("overconsolidation_ratio", "", "largest over present effective stress", 1.0, lower=1.0),
            ),
            _darendeli,
            DARENDELI[-1],
        ),
        Backbone("table", (), lambda p, mu, confining: np.ones(len(mu)), confined=False),
    )
}
"""Backbone models by name."""


class Soil:
    """Parameters of all soil models, for their units."""

    parameters = tuple(q for of in BACKBONES.values() for q in of.parameters)


SOIL = Soil()
