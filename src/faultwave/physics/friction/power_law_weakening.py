"""Slip weakening by a power law, a proxy for thermal pressurisation (Herrera et al. 2024; deck number 1058).

mu = mu_d + (mu_s - mu_d) (1 + slip/d_c)^-alpha: friction decreases fast at first and never stops decreasing; d_c is a
scale of slip.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from faultwave.base.errors import Problems
from faultwave.kernels import math as m
from faultwave.kernels.types import Number
from faultwave.physics.friction.law import Directions, Values, Weakening
from faultwave.physics.friction.slip_weakening import SlipWeakening
from faultwave.physics.friction.uniform import check_filled, filled, point_or_uniform

_EXPONENT = point_or_uniform(
    "weakening_exponent", "", "exponent alpha", 1.0 / 3.0, positive=True, aliases=("TpProxyExponent",)
)


class PowerLawWeakening(SlipWeakening):
    name = "power-law-slip-weakening"
    title = "Slip weakening by a power law (proxy of thermal pressurisation)"
    deck_number = 1058
    work = 1.4
    parameters = (*SlipWeakening.parameters, _EXPONENT.point)
    constants = (*SlipWeakening.constants, _EXPONENT.uniform)
    kernel_parameters = (*SlipWeakening.kernel_parameters, _EXPONENT.point.name)
    project = False

    def prepare(self, p: Values, c: Values, directions: Directions | None) -> dict[str, np.ndarray]:
        return super().prepare(p, c, directions) | filled(p, c, [_EXPONENT])

    def check(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray, points: np.ndarray) -> Problems:
        missing = Problems()
        problems = super().check({**p, **check_filled(p, c, [_EXPONENT], missing)}, c, tau, sigma, points)
        problems.extend(missing.items)
        return problems

    def weakening(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray) -> Weakening:
        """Return the strengths, with the distance of a linear decrease of the same initial slope.

        The power law has no end and its fracture energy may be unbounded.
        """
        linear = super().weakening(p, c, tau, sigma)
        return replace(linear, distance=linear.distance / p["weakening_exponent"])

    def weakened(self, p: Values, c: Values, slip: Number) -> Number:
        return -m.expm1(-p["weakening_exponent"] * m.log1p(slip * (1.0 / p["d_c"])))


POWER_LAW_SLIP_WEAKENING = PowerLawWeakening()
