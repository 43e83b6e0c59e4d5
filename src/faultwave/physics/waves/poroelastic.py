"""Poroelasticity at low frequencies: fluid-saturated porous rock (Biot 1956, 1962; de la Puente et al. 2008).

Quantities are the total stress, the velocity v of the frame, the pore pressure p, and the filtration velocity w =
porosity (fluid velocity - v).

    sigma_t = (lambda_u div v + alpha M div w) I + mu (grad v + grad v^T),    p_t = -alpha M div v - M div w
    rho v_t + rho_f w_t = div sigma,    rho_f v_t + m w_t = -grad p - (viscosity/permeability) w

with the bulk density rho, m = tortuosity rho_f / porosity, Biot's alpha = 1 - K/K_s and M, and lambda_u = lambda +
alpha^2 M. The drag makes w decay at one rate and conserves the momentum rho v + rho_f w: it is -rate P q with a
projection P. Across an open face the traction and -p are continuous, and so are v and w.n:
docs/theory/poroelasticity.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.base.quantities import Parameter
from faultwave.base.types import Record
from faultwave.kernels.expr import Components, Computed, Named, Number, Numbers
from faultwave.physics.waves.law import Boundary, PlainLaw, dot, traction


@dataclass(frozen=True)
class PoreBoundary(Boundary):
    """Boundary condition of a porous medium.

    Attributes
    ----------
    fluid : float
        Reflection coefficient of the wave in the pores.
    sealed : bool
        True if no fluid crosses; ``a`` and ``b`` then act on the traction as at a face without pores.
    """

    fluid: float = 0.0
    sealed: bool = False


OPEN = PoreBoundary(-1.0, fluid=-1.0)
SEALED = PoreBoundary(-1.0, fluid=1.0, sealed=True)


@dataclass(frozen=True)
class Moduli:
    """Coefficients of Biot's equations, each (cells,): ``drag`` is viscosity/permeability."""

    lam: np.ndarray
    mu: np.ndarray
    alpha: np.ndarray
    storage: np.ndarray  # M
    density: np.ndarray  # bulk density of rock and fluid
    fluid: np.ndarray
    inertia: np.ndarray  # m
    drag: np.ndarray

    @classmethod
    def of(cls, values: Record) -> Moduli:
        lam, mu, solid, phi = values["lambda"], values["mu"], values["bulk_solid"], values["porosity"]
        drained = lam + 2.0 * mu / 3.0
        fluid = values["rho_fluid"]
        return cls(
            lam=lam,
            mu=mu,
            alpha=1.0 - drained / solid,
            storage=solid / (1.0 - phi - drained / solid + phi * solid / values["bulk_fluid"]),
            density=(1.0 - phi) * values["rho"] + phi * fluid,
            fluid=fluid,
            inertia=fluid * values["tortuosity"] / phi,
            drag=values["viscosity"] / values["permeability"],
        )

    @property
    def determinant(self) -> np.ndarray:
        """Determinant of the matrix of densities."""
        return self.density * self.inertia - self.fluid * self.fluid

    @property
    def undrained(self) -> np.ndarray:
        """Undrained Lamé parameter lambda_u [Pa]."""
        return self.lam + self.alpha * self.alpha * self.storage

    def squared_speeds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the matrix D^-1 C row by row (4 values), with densities D and moduli C of strain along one axis."""
        c11, c12, c22 = self.undrained + 2.0 * self.mu, self.alpha * self.storage, self.storage
        d11, d12, d22, det = self.density, self.fluid, self.inertia, self.determinant
        return (
            (d22 * c11 - d12 * c12) / det, (d22 * c12 - d12 * c22) / det,
            (d11 * c12 - d12 * c11) / det, (d11 * c22 - d12 * c12) / det,
        )  # fmt: skip


@dataclass(frozen=True)
class Poroelastic(PlainLaw):
    """Poroelastic law; ``viscous`` is True if the fluid has viscosity and the drag is included."""

    viscous: bool = False

    name = "poroelastic"
    title = "Porous rock with a fluid in its pores (Biot, low frequency)"
    roles = {
        "stress": ("s_xx", "s_yy", "s_zz", "s_xy", "s_yz", "s_xz"), "velocity": ("v1", "v2", "v3"), "pressure": ("p",),
        "filtration": ("v1_f", "v2_f", "v3_f"),
    }  # fmt: skip
    parameters = (
        Parameter("rho", "kg/m^3", "density of the grains", positive=True),
        Parameter("mu", "Pa", "shear modulus of the frame", positive=True),
        Parameter("lambda", "Pa", "first Lame parameter of the drained frame"),
        Parameter("bulk_solid", "Pa", "bulk modulus of the grains", positive=True),
        Parameter("bulk_fluid", "Pa", "bulk modulus of the fluid", positive=True),
        Parameter("rho_fluid", "kg/m^3", "density of the fluid", positive=True),
        Parameter("porosity", "", "volume fraction of the pores", lower=1e-6, upper=1.0 - 1e-6),
        Parameter("permeability", "m^2", "of the frame", positive=True),
        Parameter("tortuosity", "", "of the pores", lower=1.0),
        Parameter("viscosity", "Pa s", "of the fluid", lower=0.0),
    )
    derived = None  # speeds depend on the fluid too
    channels = 4  # the traction and -p; v and w.n
    principal, mixing = False, 5
    stability = 1.0
    traction_is_flux = True
    boundaries = {
        "free-surface": OPEN,
        "sealed-surface": SEALED,
        "absorbing": PoreBoundary(0.0),
        "rigid": PoreBoundary(1.0, fluid=1.0),
        "symmetry": PoreBoundary(-1.0, 2.0, fluid=1.0),
    }

    @property
    def decays(self) -> bool:  # type: ignore[override]
        return self.viscous

    def adapted(self, values: dict[str, np.ndarray]) -> Poroelastic:
        return Poroelastic(bool(np.any(np.asarray(values["viscosity"]) > 0)))

    def constants(self, values: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        c = Moduli.of(values)
        share = c.fluid / c.determinant
        return (
            c.undrained, c.mu, c.alpha * c.storage, c.storage, c.inertia / c.determinant, share,
            c.density / c.determinant, c.fluid / c.density,
        )  # fmt: skip

    def flux(self, q: Numbers, n: Numbers) -> Components:
        return [*traction(q[:6], n), dot(q[10:], n)]

    def potential(self, q: Numbers) -> Components:
        return [q[6], q[7], q[8], -q[9]]

    def sides(self, flux: Components, potential: Components) -> tuple[Components, Components]:
        return [*flux[:3], potential[3]], [*potential[:3], flux[3]]

    def rate(self, divergence: Numbers, gradient: Sequence[Numbers] | np.ndarray, material: Numbers) -> Components:
        undrained, mu, coupling, storage, solid, share, fluid, _ = material
        g = gradient
        volume = g[0][0] + g[1][1] + g[2][2]
        mean, twice = undrained * volume + coupling * divergence[3], 2.0 * mu
        return [
            mean + twice * g[0][0],
            mean + twice * g[1][1],
            mean + twice * g[2][2],
            mu * (g[0][1] + g[1][0]),
            mu * (g[1][2] + g[2][1]),
            mu * (g[0][2] + g[2][0]),
            *[solid * divergence[x] - share * g[x][3] for x in range(3)],
            -coupling * volume - storage * divergence[3],
            *[fluid * g[x][3] - share * divergence[x] for x in range(3)],
        ]

    # Drag

    def rates(self, values: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        """Return the decay rate of w, and the rate at which v increases per unit of w [1/s]."""
        if not self.viscous:
            return ()
        c = Moduli.of(values)
        rate = c.density * c.drag / c.determinant
        return rate, rate * c.fluid / c.density

    def reaction(self, q: Numbers, rates: Numbers) -> Components:
        if not self.viscous:
            return [0.0 * x for x in q]
        return [*[0.0 * q[0]] * 6, *[rates[1] * x for x in q[10:]], 0.0 * q[0], *[-rates[0] * x for x in q[10:]]]

    def decay(self, rates: Numbers) -> Number:
        return rates[0]

    def decaying(self, q: Numbers, material: Numbers) -> Components:
        return [*[0.0] * 6, *[-material[7] * x for x in q[10:]], 0.0, *q[10:]]

    # Faces: the values of an impedance are 11, 12, 22 for (normal traction, -p), and the one for shear.

    def impedance(self, values: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        """Return Z = D A^(1/2), A = D^-1 C, whose root follows from its trace and determinant (Cayley-Hamilton)."""
        c = Moduli.of(values)
        a11, a12, a21, a22 = c.squared_speeds()
        product = np.sqrt(a11 * a22 - a12 * a21)  # product of both speeds
        total = np.sqrt(a11 + a22 + 2.0 * product)
        r11, r12, r22 = (a11 + product) / total, a12 / total, (a22 + product) / total
        return (
            c.density * r11 + c.fluid * a21 / total, c.density * r12 + c.fluid * r22, c.fluid * r12 + c.inertia * r22,
            np.sqrt(c.mu * c.determinant / c.inertia),
        )  # fmt: skip

    def apply_impedance(self, z: Numbers, n: Numbers, x: Numbers) -> Components:
        along = dot(n, x[:3])
        normal = (z[0] - z[3]) * along + z[1] * x[3]
        return [*[z[3] * x[i] + normal * n[i] for i in range(3)], z[1] * along + z[2] * x[3]]

    def admittance(self, own: np.ndarray, other: np.ndarray, scale: np.ndarray | float) -> np.ndarray:
        nn, nf, ff, shear = np.moveaxis(own + other, -1, 0)
        inverse = np.stack([ff, -nf, nn], -1) / (nn * ff - nf * nf)[..., None]
        return np.asarray(scale)[..., None] * np.concatenate([inverse, 1.0 / shear[..., None]], -1)

    def mix(self, boundary: Boundary | None, values: dict[str, np.ndarray], normal: np.ndarray) -> np.ndarray:
        """Return the coefficient of the returning shear traction, and the matrix 11, 12, 21, 22 for (normal traction, -p).

        The normal of the neighbour is opposite, so that its traction changes sign and its p does not. At a sealed face
        w.n = 0 and the traction vanishes.
        """
        mixed = np.zeros((len(normal), 5))
        a, b = (-1.0, 0.0) if boundary is None else (boundary.a, boundary.b)
        mixed[:, 0], mixed[:, 1] = a, a + b
        mixed[:, 4] = 1.0 if boundary is None else getattr(boundary, "fluid", a)
        if isinstance(boundary, PoreBoundary) and boundary.sealed:
            nn, nf = self.impedance(values)[:2]
            mixed[:, 3] = -2.0 * nf / nn
        return mixed

    def incoming(self, mix: Numbers, n: Numbers, w: Numbers) -> Components:
        along = dot(n, w[:3])
        normal = (mix[1] - mix[0]) * along + mix[2] * w[3]
        return [*[mix[0] * w[i] + normal * n[i] for i in range(3)], mix[3] * along + mix[4] * w[3]]

    def density(self, values: Named) -> np.ndarray:
        """Return the bulk density of rock and fluid: below Biot's frequency they shear together."""
        return Moduli.of(values).density

    def speed(self, values: dict[str, np.ndarray]) -> np.ndarray:
        """Return the speed of fast P waves [m/s]."""
        a11, a12, a21, a22 = Moduli.of(values).squared_speeds()
        half = 0.5 * (a11 + a22)
        return np.sqrt(half + np.sqrt(half * half - (a11 * a22 - a12 * a21)))

    def source(self, moment: np.ndarray, force: np.ndarray, values: dict[str, float]) -> np.ndarray:
        """Return the right-hand side of a point source; a force acts on rock and fluid together."""
        c = Moduli.of(values)
        solid, fluid = c.inertia / c.determinant, -c.fluid / c.determinant
        return np.concatenate([-moment, solid * force, [0.0], fluid * force])

    def wrong(self, values: dict[str, np.ndarray]) -> Iterable[tuple[np.ndarray, Callable[[int], str], str]]:
        drained = values["lambda"] + 2.0 * values["mu"] / 3.0
        most = (1.0 - values["porosity"]) * values["bulk_solid"]
        with np.errstate(invalid="ignore"):
            bad = ~((drained > 0) & (drained <= most))

        def describe(cell: int) -> str:
            return f"the bulk modulus lambda + 2 mu/3 of the drained frame is {drained[cell]:.4g} Pa, not up to {most[cell]:.4g} Pa"

        yield bad, describe, "> 0 and at most (1 - porosity) bulk_solid: a frame cannot be stiffer than its grains"

    def energies(self, q: Numbers, values: Named) -> Computed:
        """Return the energy densities [J/m^3] and the power of the drag [W/m^3].

        Elastic energy is the strain energy of the frame under its own stress plus the compression energy of the fluid;
        kinetic energy includes both (Biot 1962, section 3).
        """
        c = Moduli.of(values)
        v, p, w = q[6:9], q[9], q[10:]
        frame = [*[s + c.alpha * p for s in q[:3]], *q[3:6]]
        trace = frame[0] + frame[1] + frame[2]
        square = dot(frame[:3], frame[:3]) + 2.0 * dot(frame[3:], frame[3:])
        strain = (square - c.lam / (3.0 * c.lam + 2.0 * c.mu) * (trace * trace)) / (4.0 * c.mu)
        momentum = [c.density * v[i] + c.fluid * w[i] for i in range(3)]
        lost = {"drag_power": c.drag * dot(w, w)} if self.viscous else {}
        return {
            "elastic_energy": strain + p * p / (2.0 * c.storage),
            "elastic_kinetic_energy": 0.5 * (dot(v, momentum) + c.fluid * dot(v, w) + c.inertia * dot(w, w)),
            "momentumX": momentum[0],
            "momentumY": momentum[1],
            "momentumZ": momentum[2],
            **lost,
        }


LAW = Poroelastic()
