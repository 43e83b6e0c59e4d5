"""Linear acoustics with sigma = -pressure: sigma_t = K div v, rho v_t = grad sigma.

One channel crosses a face.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from faultwave.base.quantities import Parameter
from faultwave.kernels.expr import Components, Computed, Named, Numbers
from faultwave.physics.waves.law import BOUNDARIES, PlainLaw, dot


class Acoustic(PlainLaw):
    """Sound in a compressible inviscid fluid."""

    name = "acoustic"
    title = "Compressible inviscid fluid"
    roles = {"mean_stress": ("sigma",), "velocity": ("v1", "v2", "v3")}
    parameters = (
        Parameter("rho", "kg/m^3", "density", positive=True),
        Parameter("lambda", "Pa", "bulk modulus", positive=True),
    )
    channels = 1
    stability = 0.8  # round-off noise grows at the step limits of elastic solids
    traction_is_flux = False
    boundaries = BOUNDARIES | {"symmetry": BOUNDARIES["rigid"]}

    def constants(self, values: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        return values["lambda"], 1.0 / values["rho"]

    def impedance(self, values: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        return (np.sqrt(values["rho"] * values["lambda"]),)

    def apply_impedance(self, z: Numbers, n: Numbers, x: Numbers) -> Components:
        return [z[0] * x[0]]

    def flux(self, q: Numbers, n: Numbers) -> Components:
        return [dot(q[1:4], n)]

    def potential(self, q: Numbers) -> Components:
        return [q[0]]

    def rate(self, divergence: Numbers, gradient: Sequence[Numbers] | np.ndarray, material: Numbers) -> Components:
        bulk, inverse_density = material
        return [bulk * divergence[0]] + [inverse_density * gradient[x][0] for x in range(3)]

    def source(self, moment: np.ndarray, force: np.ndarray, values: dict[str, float]) -> np.ndarray:
        """Return the right-hand side of a point source; only the isotropic part of a moment tensor acts in a fluid."""
        return np.concatenate([[-moment[:3].mean()], force / values["rho"]])

    def speed(self, values: dict[str, np.ndarray]) -> np.ndarray:
        return np.sqrt(values["lambda"] / values["rho"])

    def energies(self, q: Numbers, values: Named) -> Computed:
        bulk, rho, v = values["lambda"], values["rho"], q[1:4]
        return {
            "acoustic_energy": q[0] * q[0] / (2.0 * bulk),
            "acoustic_kinetic_energy": 0.5 * rho * dot(v, v),
            "momentumX": rho * v[0],
            "momentumY": rho * v[1],
            "momentumZ": rho * v[2],
        }


LAW = Acoustic()
