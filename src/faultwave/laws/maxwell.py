"""Maxwell's equations in linear isotropic media, SI: eps E_t = curl H - sigma E - j, mu H_t = -curl E (NUMERICS 2.1).

In the form of ``laws.law``: curl H is the divergence of the flux F n = n x H, curl E follows from the gradient of the
potential E. Across a face T = E_tan and v = n x H are continuous, two numbers each, linked by Z = sqrt(mu/eps).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from faultwave.laws.law import Boundary, Parameter, PlainLaw, cross

VACUUM_PERMITTIVITY = 8.8541878128e-12
VACUUM_PERMEABILITY = 1.25663706212e-6


@dataclass(frozen=True)
class Maxwell(PlainLaw):
    """``lossy`` adds the term of conductivity, which costs rows in the predictor: only where a material needs it."""

    lossy: bool = False

    name = "maxwell"
    title = "Electromagnetic waves in linear isotropic media"
    quantities = ("E1", "E2", "E3", "H1", "H2", "H3")
    parameters = (
        Parameter("permittivity", "F/m", "or relative_permittivity", positive=True, default=VACUUM_PERMITTIVITY),
        Parameter("permeability", "H/m", "or relative_permeability", positive=True, default=VACUUM_PERMEABILITY),
        Parameter("conductivity", "S/m", "electric conductivity", default=0.0),
    )
    channels = 3
    face_channels = 2
    stability = 0.8  # largest steps were measured as for fluids
    traction_is_flux = False
    boundaries = {"pec": Boundary(-1.0), "pmc": Boundary(1.0), "absorbing": Boundary(0.0)}
    point_sources = ("current",)

    def adapted(self, values: dict[str, np.ndarray]) -> Maxwell:
        return Maxwell(lossy=bool(np.any(np.asarray(values["conductivity"]) > 0)))

    def constants(self, values: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        return 1.0 / values["permittivity"], 1.0 / values["permeability"]

    def rates(self, values: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        return (values["conductivity"] / values["permittivity"],) if self.lossy else ()

    def reaction(self, q: Any, rates: Any) -> list[Any]:
        return [*[-rates[0] * x for x in q[:3]], *[0.0 * x for x in q[3:6]]]

    def impedance(self, values: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        return (np.sqrt(values["permeability"] / values["permittivity"]),)

    def apply_impedance(self, z: Any, n: Any, x: Any) -> list[Any]:
        return [z[0] * y for y in x]

    def flux(self, q: Any, n: Any) -> list[Any]:
        return cross(n, q[3:6])

    def potential(self, q: Any) -> list[Any]:
        return [q[0], q[1], q[2]]

    def rate(self, divergence: Any, gradient: Any, material: Any) -> list[Any]:
        inverse_permittivity, inverse_permeability = material
        g = gradient
        return [
            inverse_permittivity * divergence[0],
            inverse_permittivity * divergence[1],
            inverse_permittivity * divergence[2],
            inverse_permeability * (g[2][1] - g[1][2]),
            inverse_permeability * (g[0][2] - g[2][0]),
            inverse_permeability * (g[1][0] - g[0][1]),
        ]

    def source(self, moment: np.ndarray, force: np.ndarray, values: dict[str, float]) -> np.ndarray:
        """A current moment [A m] takes its displacement current away."""
        return np.concatenate([-force / values["permittivity"], np.zeros(3)])

    def plane_wave(self, direction: np.ndarray, amplitude: np.ndarray, values: dict[str, np.ndarray]) -> np.ndarray:
        """(Q,) state of a plane wave along the unit vector ``direction`` with electric field ``amplitude`` (3,)."""
        return np.concatenate([amplitude, np.cross(direction, amplitude) / self.impedance(values)[0]])

    def speed(self, values: dict[str, np.ndarray]) -> np.ndarray:
        return 1.0 / np.sqrt(values["permittivity"] * values["permeability"])

    def energies(self, q: np.ndarray, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        permittivity, permeability = (np.asarray(values[k])[..., None] for k in ("permittivity", "permeability"))
        return {
            "electric_energy": 0.5 * permittivity * (q[..., :3] ** 2).sum(-1),
            "magnetic_energy": 0.5 * permeability * (q[..., 3:6] ** 2).sum(-1),
        }


LAW = Maxwell()
