"""Isotropic elasticity, velocity-stress: sigma_t = lambda div v I + mu (grad v + grad v^T), rho v_t = div sigma.

Cells with mu = 0 are fluids: their shear stress stays zero and the same Riemann states give the exact fluid-solid
interface (Wilcox et al. 2010; docs/theory/formulation.md, "Riemann problem at faces").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from faultwave.base.quantities import Parameter
from faultwave.kernels.expr import Components, Computed, Named, Numbers
from faultwave.kernels.math import where
from faultwave.physics.waves.law import BOUNDARIES, Boundary, VelocityStress, dot


class Elastic(VelocityStress):
    """Waves in an isotropic elastic solid, and in fluids where mu is 0."""

    name = "elastic"
    title = "Isotropic elastic solid (and fluid where mu = 0)"
    parameters = (
        Parameter("rho", "kg/m^3", "density", positive=True),
        Parameter("mu", "Pa", "shear modulus", lower=0.0),
        Parameter("lambda", "Pa", "first Lame parameter"),
    )
    channels = 3
    stability = 1.0
    traction_is_flux = True
    boundaries = BOUNDARIES | {"symmetry": Boundary(-1.0, 2.0)}

    def constants(self, values: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        return values["lambda"], values["mu"], 1.0 / values["rho"]

    def impedance(self, values: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        p_modulus = values["lambda"] + 2.0 * values["mu"]
        return np.sqrt(values["rho"] * p_modulus), np.sqrt(values["rho"] * values["mu"])

    def apply_impedance(self, z: Numbers, n: Numbers, x: Numbers) -> Components:
        normal = (z[0] - z[1]) * dot(n, x)
        return [z[1] * x[i] + normal * n[i] for i in range(3)]

    def rate(self, divergence: Numbers, gradient: Sequence[Numbers] | np.ndarray, material: Numbers) -> Components:
        lam, mu, inverse_density = material
        g = gradient
        pressure = lam * (g[0][0] + g[1][1] + g[2][2])
        twice = 2.0 * mu
        return [
            pressure + twice * g[0][0],
            pressure + twice * g[1][1],
            pressure + twice * g[2][2],
            mu * (g[0][1] + g[1][0]),
            mu * (g[1][2] + g[2][1]),
            mu * (g[0][2] + g[2][0]),
            inverse_density * divergence[0],
            inverse_density * divergence[1],
            inverse_density * divergence[2],
        ]

    def speed(self, values: dict[str, np.ndarray]) -> np.ndarray:
        return np.sqrt((values["lambda"] + 2.0 * values["mu"]) / values["rho"])

    def energies(self, q: Numbers, values: Named) -> Computed:
        """Return strain and kinetic energy densities [J/m^3]; fluid cells are counted as acoustic."""
        lam, mu, rho = values["lambda"], values["mu"], values["rho"]
        s, v = q[:6], q[6:]
        trace = s[0] + s[1] + s[2]
        square = dot(s[:3], s[:3]) + 2.0 * dot(s[3:], s[3:])
        fluid = mu <= 0.0
        solid_mu = where(fluid, 1.0, mu)
        strain = (square - lam / (3.0 * lam + 2.0 * solid_mu) * (trace * trace)) / (4.0 * solid_mu)
        kinetic = 0.5 * rho * dot(v, v)
        acoustic = trace * trace / (18.0 * where(fluid, lam, 1.0))
        return {
            "acoustic_energy": where(fluid, acoustic, 0.0),
            "acoustic_kinetic_energy": where(fluid, kinetic, 0.0),
            "elastic_energy": where(fluid, 0.0, strain),
            "elastic_kinetic_energy": where(fluid, 0.0, kinetic),
            "momentumX": rho * v[0],
            "momentumY": rho * v[1],
            "momentumZ": rho * v[2],
        }


LAW = Elastic()
