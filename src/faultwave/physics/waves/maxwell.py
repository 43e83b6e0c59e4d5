"""Maxwell's equations in linear isotropic media, SI units: eps E_t = curl H - sigma E - j, mu H_t = -curl E.

Theory: docs/theory/electromagnetics.md, "Equations". In the form of ``law``, curl H is the divergence of the flux F n =
n x H, and curl E follows from the gradient of the potential E. Across a face T = E_tan and v = n x H are continuous,
two components each, related by Z = sqrt(mu/eps).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.base.quantities import Parameter
from faultwave.kernels.expr import Components, Computed, Named, Numbers
from faultwave.physics.waves.law import LAYER, Boundary, PlainLaw, cross, dot

VACUUM_PERMITTIVITY = 8.8541878128e-12
VACUUM_PERMEABILITY = 1.25663706212e-6


FIELD = {"electric": ("E1", "E2", "E3"), "magnetic": ("H1", "H2", "H3")}


@dataclass(frozen=True)
class Maxwell(PlainLaw):
    """Maxwell's equations with optional terms for conductivity and a perfectly matched layer.

    The layer is a uniaxial medium (Gedney 1996) with s_d = 1 + d_d/(a + i w) along each axis: i w s_y s_z/s_x E_x
    replaces i w E_x, and likewise for the other components and H. Its curls, and therefore faces and star states, are
    unchanged. With S_x = d_y + d_z - d_x and C_x = d_y d_z - S_x (a + d_x) the remainder is a reaction with one memory
    variable per component,

        eps E_x' = (curl H)_x - eps (S_x E_x + C_x m_x),    m_x' = E_x - (a + d_x) m_x,

    exact where a d_y d_z = 0: the shift a, which prevents growth of a static field, acts only in layers across one
    axis.

    Attributes
    ----------
    lossy : bool
        True if the material is conductive.
    matched : bool
        True if there is a perfectly matched layer.
    """

    lossy: bool = False
    matched: bool = False

    name = "maxwell"
    title = "Electromagnetic waves in linear isotropic media"
    parameters = (
        Parameter("permittivity", "F/m", "or relative_permittivity", positive=True, default=VACUUM_PERMITTIVITY),
        Parameter("permeability", "H/m", "or relative_permeability", positive=True, default=VACUUM_PERMEABILITY),
        Parameter("conductivity", "S/m", "electric conductivity", default=0.0, lower=0.0),
    )
    channels = 3
    face_channels = 2
    stability = 0.8  # measured largest steps are as for fluids
    traction_is_flux = False
    boundaries = {"pec": Boundary(-1.0), "pmc": Boundary(1.0), "absorbing": Boundary(0.0)}
    point_sources = ("current",)

    layered = True

    @property
    def roles(self) -> Mapping[str, tuple[str, ...]]:  # type: ignore[override]
        memory = {"memory": tuple(f"memory_{name}" for names in FIELD.values() for name in names)}
        return FIELD | memory if self.matched else FIELD

    def adapted(self, values: dict[str, np.ndarray]) -> Maxwell:
        damped = any(np.any(values[name] > 0) for name in LAYER[:3] if name in values)
        return Maxwell(bool(np.any(np.asarray(values["conductivity"]) > 0)), damped)

    def constants(self, values: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        return 1.0 / values["permittivity"], 1.0 / values["permeability"]

    def rates(self, values: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        loss = (values["conductivity"] / values["permittivity"],) if self.lossy else ()
        return (*loss, *layer_rates(values)) if self.matched else loss

    def stiffness(self, values: dict[str, np.ndarray]) -> np.ndarray | float:
        loss: np.ndarray | float = values["conductivity"] / values["permittivity"] if self.lossy else 0.0
        return np.maximum(loss, layer_rates(values)[9]) if self.matched else loss

    def reaction(self, q: Numbers, rates: Numbers) -> Components:
        field = (
            [*[-rates[0] * x for x in q[:3]], *[0.0 * x for x in q[3:6]]] if self.lossy else [0.0 * x for x in q[:6]]
        )
        if not self.matched:
            return field
        shape, memory, decay, entry = (rates[i : i + 3] for i in range(int(self.lossy), int(self.lossy) + 10, 3))
        own = [-shape[i % 3] * q[i] - memory[i % 3] * q[6 + i] for i in range(6)]
        return [
            *[x + y for x, y in zip(field, own, strict=True)],
            *[entry[0] * q[i] - decay[i % 3] * q[6 + i] for i in range(6)],
        ]

    def impedance(self, values: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        return (np.sqrt(values["permeability"] / values["permittivity"]),)

    def apply_impedance(self, z: Numbers, n: Numbers, x: Numbers) -> Components:
        return [z[0] * y for y in x]

    def flux(self, q: Numbers, n: Numbers) -> Components:
        return cross(n, q[3:6])

    def potential(self, q: Numbers) -> Components:
        return [q[0], q[1], q[2]]

    def rate(self, divergence: Numbers, gradient: Sequence[Numbers] | np.ndarray, material: Numbers) -> Components:
        inverse_permittivity, inverse_permeability = material
        g = gradient
        return [
            inverse_permittivity * divergence[0],
            inverse_permittivity * divergence[1],
            inverse_permittivity * divergence[2],
            inverse_permeability * (g[2][1] - g[1][2]),
            inverse_permeability * (g[0][2] - g[2][0]),
            inverse_permeability * (g[1][0] - g[0][1]),
            *[0.0 * divergence[0]] * (len(self.quantities) - 6),
        ]

    def source(self, moment: np.ndarray, force: np.ndarray, values: dict[str, float]) -> np.ndarray:
        """Return the right-hand side of a point source with a current moment [A m], which reduces the displacement current."""
        return np.concatenate([-force / values["permittivity"], np.zeros(len(self.quantities) - 3)])

    def plane_wave(self, direction: np.ndarray, amplitude: np.ndarray, values: dict[str, np.ndarray]) -> np.ndarray:
        """Return the state (Q,) of a plane wave along the unit vector ``direction`` with electric field ``amplitude`` (3,) [V/m]."""
        magnetic = np.cross(direction, amplitude) / self.impedance(values)[0]
        return np.concatenate([amplitude, magnetic, np.zeros(len(self.quantities) - 6)])

    def speed(self, values: dict[str, np.ndarray]) -> np.ndarray:
        return 1.0 / np.sqrt(values["permittivity"] * values["permeability"])

    def energies(self, q: Numbers, values: Named) -> Computed:
        return {
            "electric_energy": 0.5 * values["permittivity"] * dot(q[:3], q[:3]),
            "magnetic_energy": 0.5 * values["permeability"] * dot(q[3:6], q[3:6]),
        }


def layer_rates(values: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
    """Return S_i, C_i/k and a + d_i for the three axes, and k, all [1/s].

    Memory variables are scaled by k = a + d_x + d_y + d_z.
    """
    d, shift = [values[name] for name in LAYER[:3]], values[LAYER[3]]
    total = shift + d[0] + d[1] + d[2]
    shapes, memories = [], []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        shape = d[j] + d[k] - d[i]
        shapes.append(shape)
        memories.append((d[j] * d[k] - shape * (shift + d[i])) / np.where(total > 0, total, 1.0))
    return (*shapes, *memories, *[shift + x for x in d], total)


LAW = Maxwell()
