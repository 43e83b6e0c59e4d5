"""Interface of the laws of wave physics.

Every first-order linear law here has the form

    q_t = rate( div F(q), grad phi(q), material )

with a flux F(q) n linear in q and in the vector n, and a potential phi(q) linear in q: for elasticity F n = sigma n and
phi = v. From these follow the predictor (derivatives act only on F and phi), the jump lifted on a face (div F -> dF,
grad phi -> n (x) dphi), and the Jacobians. The Godunov state needs the generalised traction T and flow v of a face: one
of them is the flux, the other the potential, related by an impedance Z (the trace form of the Riemann problem).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from faultwave.base.quantities import Parameter
from faultwave.kernels.expr import Components, Computed, Named, Number, Numbers


@dataclass(frozen=True)
class Boundary:
    """Boundary condition by its incoming wave: w_R = a w + b n (n.w), where w is the outgoing wave of the cell.

    See docs/theory/formulation.md, "Boundary conditions".
    """

    a: float
    b: float = 0.0


BOUNDARIES: dict[str, Boundary] = {
    "free-surface": Boundary(-1.0),
    "absorbing": Boundary(0.0),
    "rigid": Boundary(1.0),
}


Derived = tuple[str, tuple[str, ...], Callable[[Mapping[str, Any]], Any]]
"""Parameter that can be derived, names of the parameters that it depends on, and the formula."""


class Law(Protocol):
    """Law of wave physics: names, sizes and pure functions valid for NumPy arrays and kernel expressions.

    ``material`` is always the tuple returned by ``constants``; lists hold one value per component.
    """

    name: str
    title: str
    quantities: tuple[str, ...]
    roles: Mapping[str, tuple[str, ...]]  # quantities grouped by meaning, contiguous: velocity, stress, electric, ...
    parameters: tuple[Parameter, ...]
    derived: (
        tuple[Derived, ...] | None
    )  # alternative ways to give parameters; None: moduli do not follow from speeds either
    channels: int  # number of components of F n and of phi
    face_channels: (
        int  # number of components of T and of v; less than ``channels`` if only tangential components cross a face
    )
    traction_is_flux: bool
    principal: (
        bool  # True if impedances are principal values, which are added and inverted one by one; else they are matrices
    )
    directional: (
        bool  # True if the impedance of a cell depends on the direction of a face: kernels then store one for each face
    )
    mixing: int  # number of values per face that ``incoming`` reads
    stability: float  # largest stable time step relative to elastic solids
    boundaries: dict[str, Boundary]
    point_sources: tuple[str, ...]  # kinds of point sources that act on it; sources from files are moment tensors
    visible: int  # number of leading quantities that are the field; the others are memory variables
    decays: bool  # True if ``reaction`` is -r P q with one rate r and a projection P, which is then integrated exactly
    layered: bool  # True if ``adapted`` can include a perfectly matched layer (parameters LAYER)

    def __hash__(self) -> int:
        """Return a hash: forms of equal laws are made once."""
        ...

    def adapted(self, values: dict[str, np.ndarray]) -> Law:
        """Return the law for a material: itself, or a variant with the terms that this material needs."""
        ...

    def rates(self, values: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        """Return the rates [1/s] that ``reaction`` reads, each (cells,); empty if dq/dt has no term without gradients."""
        ...

    def stiffness(self, values: dict[str, np.ndarray]) -> np.ndarray | float:
        """Return a bound of the rates of the reaction [1/s], (cells,), which explicit steps must resolve."""
        ...

    def longest_step(self) -> float:
        """Return the limit of the time step [s] from terms without gradients, for any cell; infinite for most laws."""
        ...

    def reaction(self, q: Numbers, rates: Numbers) -> Components:
        """Return the part of dq/dt that is linear in q itself."""
        ...

    def decay(self, rates: Numbers) -> Number:
        """Return the rate r [1/s] of a law that ``decays``."""
        ...

    def decaying(self, q: Numbers, material: Numbers) -> Components:
        """Return P q of a law that ``decays``."""
        ...

    def constants(self, values: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        """Return the values, each (cells,), that kernels need from the parameters."""
        ...

    def impedance(self, values: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        """Return the impedance, each value (cells,), of a law that is not ``directional``, as input of ``apply_impedance``."""
        ...

    def impedance_at(self, values: dict[str, np.ndarray], normal: np.ndarray) -> np.ndarray:
        """Return the impedance (..., k) at faces with unit normals (..., 3), as input of ``apply_impedance``.

        ``values`` are parameters of shape (...) or broadcast to it.
        """
        ...

    def apply_impedance(self, z: Numbers, n: Numbers, x: Numbers) -> Components:
        """Return Z x for the impedance (principal values, or components of a symmetric matrix) and unit normal n."""
        ...

    def admittance(self, own: np.ndarray, other: np.ndarray, scale: np.ndarray | float) -> np.ndarray:
        """Return scale (Z + Z')^-1 (..., k) for impedances (..., k), as input of ``apply_impedance``.

        ``scale`` is a number or has the shape (...).
        """
        ...

    def mix(self, boundary: Boundary | None, values: dict[str, np.ndarray], normal: np.ndarray) -> np.ndarray:
        """Return the values (n, mixing) that ``incoming`` reads at faces with normals (n, 3).

        ``boundary`` is a boundary condition or, between cells, None; ``values`` are parameters (n,).
        """
        ...

    def incoming(self, mix: Numbers, n: Numbers, w: Numbers) -> Components:
        """Return the incoming wave; w is the outgoing wave of the neighbour or, at a boundary, of the cell itself."""
        ...

    def flux(self, q: Numbers, n: Numbers) -> Components: ...

    def potential(self, q: Numbers) -> Components: ...

    def sides(self, flux: Components, potential: Components) -> tuple[Components, Components]:
        """Return traction T and flow v of a face from the channels of F n and phi that cross it, and vice versa.

        Each channel of T is taken from one of them, and the same channel of v from the other.
        """
        ...

    def rate(self, divergence: Numbers, gradient: Sequence[Numbers] | np.ndarray, material: Numbers) -> Components:
        """Return dq/dt from div F (list) and grad phi (gradient[x][i] = d phi_i / dx)."""
        ...

    def source(self, moment: np.ndarray, force: np.ndarray, values: dict[str, float]) -> np.ndarray:
        """Return the right-hand side (Q,) of a moment tensor (6,) and a force (3,) at a point with unit time function.

        In electromagnetism the vector is a current moment [A m] and there are no moment tensors.
        """
        ...

    def moduli(self, values: Named) -> Computed:
        """Return lambda and mu, for anisotropic solids of a similar isotropic one; moduli that a law lacks are omitted."""
        ...

    def density(self, values: Named) -> Number:
        """Return the total density of moving mass [kg/m^3] of mechanical media."""
        ...

    def stress_of(self, strain: np.ndarray, values: dict[str, float]) -> np.ndarray | None:
        """Return the stress (6,) of a tensor strain (6,), for slip sources, or None if it follows from lambda and mu."""
        ...

    def speed(self, values: dict[str, np.ndarray]) -> np.ndarray:
        """Return the largest wave speed [m/s], (cells,)."""
        ...

    def wrong(self, values: dict[str, np.ndarray]) -> Iterable[tuple[np.ndarray, Callable[[int], str], str]]:
        """Yield physically impossible materials whose parameters are individually valid.

        Each item is a mask (nc,) of cells, a function that describes one of them, and the allowed values.
        """
        ...

    def energies(self, q: Numbers, values: Named) -> Computed:
        """Return densities by name: energies, quadratic in q, and ``momentum`` along the axes, linear; ``values``: parameters."""
        ...


FILLED = Boundary(1.0)
"""Boundary condition of faces where another component computes the incoming wave, as friction does."""


LAYER = ("damping_x", "damping_y", "damping_z", "damping_shift")
"""Parameters of a perfectly matched layer: damping along each axis and a shift of the pole [1/s], constant in a cell."""


class PlainLaw:
    """Base class of laws: mechanical, every channel crosses a face, no terms without gradients."""

    roles: Mapping[str, tuple[str, ...]]
    channels: int
    traction_is_flux: bool
    derived: tuple[Derived, ...] | None = ()
    layered = False
    decays = False
    principal = True
    directional = False
    mixing = 2
    point_sources: tuple[str, ...] = ("moment-tensor", "double-couple", "force")

    @property
    def face_channels(self) -> int:
        return self.channels

    @property
    def quantities(self) -> tuple[str, ...]:
        return tuple(name for names in self.roles.values() for name in names)

    @property
    def visible(self) -> int:
        return len(self.quantities) - len(self.roles.get("memory", ()))

    def impedance(self, values: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        raise NotImplementedError(f"the {type(self).__name__} law states no impedance")

    def impedance_at(self, values: dict[str, np.ndarray], normal: np.ndarray) -> np.ndarray:
        found = self.impedance(values)
        return np.stack([np.broadcast_to(z, normal.shape[:-1]) for z in found], -1)

    def admittance(self, own: np.ndarray, other: np.ndarray, scale: np.ndarray | float) -> np.ndarray:
        total, scale = own + other, np.asarray(scale)[..., None]
        return np.where(total > 0, scale / np.where(total > 0, total, 1.0), 0.0)

    def sides(self, flux: Components, potential: Components) -> tuple[Components, Components]:
        return (flux, potential) if self.traction_is_flux else (potential, flux)

    def mix(self, boundary: Boundary | None, values: dict[str, np.ndarray], normal: np.ndarray) -> np.ndarray:
        mixed = Boundary(-1.0 if self.traction_is_flux else 1.0) if boundary is None else boundary
        return np.broadcast_to([mixed.a, mixed.b], (len(normal), 2))

    def incoming(self, mix: Numbers, n: Numbers, w: Numbers) -> Components:
        arriving = [mix[0] * x for x in w]
        if len(arriving) != 3:
            return arriving
        normal = mix[1] * dot(n, w)
        return [x + normal * n[i] for i, x in enumerate(arriving)]

    def wrong(self, values: dict[str, np.ndarray]) -> Iterable[tuple[np.ndarray, Callable[[int], str], str]]:
        return ()

    def moduli(self, values: Named) -> Computed:
        return {name: values[name] for name in ("lambda", "mu") if name in values}

    def density(self, values: Named) -> Number:
        return values["rho"]

    def stress_of(self, strain: np.ndarray, values: dict[str, float]) -> np.ndarray | None:
        return None

    def adapted(self, values: dict[str, np.ndarray]) -> PlainLaw:
        return self

    def stiffness(self, values: dict[str, np.ndarray]) -> np.ndarray | float:
        return 0.0

    def longest_step(self) -> float:
        return float("inf")

    def rates(self, values: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        return ()

    def reaction(self, q: Numbers, rates: Numbers) -> Components:
        return [0.0 * x for x in q]

    def decay(self, rates: Numbers) -> Number:
        raise NotImplementedError(f"nothing decays in {type(self).__name__}")

    def decaying(self, q: Numbers, material: Numbers) -> Components:
        raise NotImplementedError(f"nothing decays in {type(self).__name__}")


def traction(stress: Numbers, n: Numbers) -> Components:
    """Return sigma n from the six components of a stress."""
    xx, yy, zz, xy, yz, xz = stress
    return [dot((xx, xy, xz), n), dot((xy, yy, yz), n), dot((xz, yz, zz), n)]


class VelocityStress(PlainLaw):
    """Solid described by stress and velocity: F n = sigma n, phi = v."""

    roles = {"stress": ("s_xx", "s_yy", "s_zz", "s_xy", "s_yz", "s_xz"), "velocity": ("v1", "v2", "v3")}

    def flux(self, q: Numbers, n: Numbers) -> Components:
        return traction(q[:6], n)

    def potential(self, q: Numbers) -> Components:
        return [q[6], q[7], q[8]]

    def source(self, moment: np.ndarray, force: np.ndarray, values: dict[str, float]) -> np.ndarray:
        return np.concatenate([-moment, force / values["rho"]])


def role(law: Law, name: str) -> slice:
    """Return the columns of the quantities of a role, such as 'velocity'.

    Raises
    ------
    ValueError
        If the law has no such role (check with ``name in law.roles``).
    """
    if name not in law.roles:
        raise ValueError(f"the {law.name} law has no {name}: its quantities are {', '.join(law.quantities)}")
    names = law.roles[name]
    first = law.quantities.index(names[0])
    return slice(first, first + len(names))


@dataclass(frozen=True)
class Jacobians:
    """Jacobians A_d of q_t + A_x q_x + A_y q_y + A_z q_z = 0 for one material, (3, Q, Q)."""

    matrices: np.ndarray = field(repr=False)


def jacobians(law: Law, values: dict[str, float]) -> Jacobians:
    """Return the three Jacobians, computed column by column from the linear function ``rate``."""
    material = tuple(float(c) for c in law.constants({k: np.asarray(v, float) for k, v in values.items()}))
    size = len(law.quantities)
    result = np.zeros((3, size, size))
    for d in range(3):
        n = [float(d == x) for x in range(3)]
        for k in range(size):
            q = [float(k == i) for i in range(size)]
            phi = law.potential(q)
            gradient = [[n[x] * p for p in phi] for x in range(3)]
            result[d, :, k] = [-np.asarray(r, float) for r in law.rate(law.flux(q, n), gradient, material)]
    return Jacobians(result)


def impedance_numbers(law: Law) -> int:
    """Return the number of values of an impedance of the law; one if waves of one kind cross a face."""
    probe = {name: np.ones(1) for name in (*(p.name for p in law.parameters), *LAYER)}
    with np.errstate(all="ignore"):  # the values are not a real material
        return law.impedance_at(probe, np.array([[1.0, 0.0, 0.0]])).shape[-1]


def energy_names(law: Law, of: Callable[[Numbers, Named], Mapping[str, Number]]) -> list[str]:
    """Return the names of the densities of ``Law.energies``, or of a function like it, in its order."""
    with np.errstate(all="ignore"):  # the values are not a real material
        values = {p.name: np.ones(1) for p in law.parameters}
        return list(of([np.zeros(1)] * len(law.quantities), values))


def as_matrix(of: Callable[[list[np.ndarray]], Components], size: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return the matrix (*shape, size, size) of a linear function ``of`` of vectors, which are lists of arrays."""
    columns = [of([np.full(shape, float(i == j)) for i in range(size)]) for j in range(size)]
    return np.stack([np.stack(np.broadcast_arrays(*column), -1) for column in columns], -1)


def dot(a: Numbers, b: Numbers) -> Number:
    """Return the scalar product of two vectors."""
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total


def cross(a: Numbers, b: Numbers) -> Components:
    """Return the vector product of two vectors."""
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
