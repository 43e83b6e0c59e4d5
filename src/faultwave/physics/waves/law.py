"""What a law of wave physics is.

Every first-order linear law here has the form

    q_t = rate( div F(q), grad phi(q), material )

with a flux F(q) n linear in q and in the vector n, and a potential phi(q) linear in q: for elasticity F n = sigma n and
phi = v. From these follow the predictor (derivatives act only on F and phi), the jump lifted on a face (div F -> dF,
grad phi -> n (x) dphi), and the Jacobians. The Godunov state needs the generalised traction T and flow v of a face: one
of them is the flux, the other the potential, linked by an impedance Z (the trace form of the Riemann problem).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from faultwave.base.quantities import Parameter


@dataclass(frozen=True)
class Boundary:
    """Incoming wave at a boundary: w_R = a w + b n (n.w), w the cell's own outgoing wave.

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
"""A parameter, what it follows from, and how."""


class Law(Protocol):
    """A law: names, sizes and pure functions valid on NumPy arrays and on kernel expressions.

    ``material`` is always the tuple made by ``constants``; lists hold one value per component.
    """

    name: str
    title: str
    quantities: tuple[str, ...]
    roles: Mapping[str, tuple[str, ...]]  # quantities by what they are, side by side: velocity, stress, electric, ...
    parameters: tuple[Parameter, ...]
    derived: (
        tuple[Derived, ...] | None
    )  # other ways to give all of some parameters; None: nor do moduli follow from speeds
    channels: int  # components of F n and of phi
    face_channels: int  # of T and of v; one less than ``channels`` where only tangential components cross a face
    traction_is_flux: bool
    principal: bool  # whether impedances are principal values, which add and divide one by one; else they are matrices
    directional: (
        bool  # whether a cell's impedance depends on the direction of a face: kernels then have one for each face
    )
    mixing: int  # numbers that ``incoming`` takes
    stability: float  # largest stable steps as a share of those of elastic solids
    boundaries: dict[str, Boundary]
    point_sources: tuple[str, ...]  # kinds of sources that act on it; those of files are moment tensors
    visible: int  # the first so many quantities are the field; others are memories of its own
    decays: bool  # whether ``reaction`` is -r P q with one rate r and a projection P, which is then followed exactly
    layered: bool  # whether a matched layer is part of ``adapted`` (parameters LAYER)

    def adapted(self, values: dict[str, np.ndarray]) -> Law:
        """The law for a material: itself, or a variant with the terms that this material needs."""
        ...

    def rates(self, values: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        """Rates [1/s] that ``reaction`` takes, each (cells,); none where dq/dt has no term without gradients."""
        ...

    def stiffness(self, values: dict[str, np.ndarray]) -> np.ndarray | float:
        """Bound of the reaction's rates [1/s], (cells,): explicit steps must resolve it."""
        ...

    def longest_step(self) -> float:
        """Bound of any step [s] by what happens without gradients, whatever the cell; infinite for most laws."""
        ...

    def reaction(self, q: Any, rates: Any) -> list[Any]:
        """The part of dq/dt that is linear in q itself."""
        ...

    def decay(self, rates: Any) -> Any:
        """The rate r [1/s] of a law that ``decays``."""
        ...

    def decaying(self, q: Any, material: Any) -> list[Any]:
        """P q of a law that ``decays``."""
        ...

    def constants(self, values: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        """Numbers the kernels need from the parameters, each (cells,)."""
        ...

    def impedance(self, values: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        """Impedance, each number (cells,), of a law that is not ``directional``: what ``apply_impedance`` takes."""
        ...

    def impedance_at(self, values: dict[str, np.ndarray], normal: np.ndarray) -> np.ndarray:
        """(..., k) impedance at faces with unit normals (..., 3): what ``apply_impedance`` takes; ``values`` (...) or as wide as they."""
        ...

    def apply_impedance(self, z: Any, n: Any, x: Any) -> list[Any]:
        """Z x for the impedance (principal values, or the numbers of a symmetric matrix) and unit normal n."""
        ...

    def admittance(self, own: np.ndarray, other: np.ndarray, scale: Any) -> np.ndarray:
        """(..., k) scale (Z + Z')^-1 for impedances (..., k), as ``apply_impedance`` takes it; ``scale`` a number or (...)."""
        ...

    def mix(self, boundary: Boundary | None, values: dict[str, np.ndarray], normal: np.ndarray) -> np.ndarray:
        """(n, mixing) what ``incoming`` takes at faces (n, 3) of a boundary, or, for None, between cells; ``values`` (n,)."""
        ...

    def incoming(self, mix: Any, n: Any, w: Any) -> list[Any]:
        """The wave that comes in where w is what the neighbour, or at a boundary the cell itself, sends out."""
        ...

    def flux(self, q: Any, n: Any) -> list[Any]: ...

    def potential(self, q: Any) -> list[Any]: ...

    def sides(self, flux: Any, potential: Any) -> tuple[list[Any], list[Any]]:
        """Traction T and flow v of a face from the channels of F n and phi that cross it, and the reverse: each channel of T is that of
        one of them, that of v the other's."""
        ...

    def rate(self, divergence: Any, gradient: Any, material: Any) -> list[Any]:
        """dq/dt from div F (list) and grad phi (gradient[x][i] = d phi_i / dx)."""
        ...

    def source(self, moment: np.ndarray, force: np.ndarray, values: dict[str, float]) -> np.ndarray:
        """(Q,) right-hand side of a moment tensor (6,) and a force (3,) acting at a point with unit time function.

        In electromagnetism the vector is a current moment [A m] and there are no moment tensors.
        """
        ...

    def moduli(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """lambda and mu, of an anisotropic solid those of an isotropic one like it; what the law has none of is left out."""
        ...

    def density(self, values: Mapping[str, Any]) -> Any:
        """Of mechanical media, all that moves [kg/m^3]."""
        ...

    def stress_of(self, strain: np.ndarray, values: dict[str, float]) -> np.ndarray | None:
        """(6,) stress of a tensor strain (6,), of slip in sources, where it is not that of lambda and mu; else None."""
        ...

    def speed(self, values: dict[str, np.ndarray]) -> np.ndarray:
        """Largest wave speed [m/s], (cells,)."""
        ...

    def wrong(self, values: dict[str, np.ndarray]) -> Iterable[tuple[np.ndarray, Callable[[int], str], str]]:
        """What cannot be a material although each number is allowed: cells (nc,) bool, words for one of them, and what is allowed."""
        ...

    def energies(self, q: Any, values: Any) -> dict[str, Any]:
        """Densities by name: energies, quadratic in q, and ``momentum`` along the axes, linear; ``values``: parameters by name."""
        ...


FILLED = Boundary(1.0)
"""Of faces where somebody else gives all that comes in, as friction does."""


LAYER = ("damping_x", "damping_y", "damping_z", "damping_shift")
"""What a matched layer adds to a material: damping along each axis and a shift of its pole [1/s], constant in a cell."""


class PlainLaw:
    """What most laws are: mechanical, every channel crosses a face, nothing happens without gradients."""

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

    def admittance(self, own: np.ndarray, other: np.ndarray, scale: Any) -> np.ndarray:
        total, scale = own + other, np.asarray(scale)[..., None]
        return np.where(total > 0, scale / np.where(total > 0, total, 1.0), 0.0)

    def sides(self, flux: Any, potential: Any) -> tuple[list[Any], list[Any]]:
        return (flux, potential) if self.traction_is_flux else (potential, flux)

    def mix(self, boundary: Boundary | None, values: dict[str, np.ndarray], normal: np.ndarray) -> np.ndarray:
        mixed = Boundary(-1.0 if self.traction_is_flux else 1.0) if boundary is None else boundary
        return np.broadcast_to([mixed.a, mixed.b], (len(normal), 2))

    def incoming(self, mix: Any, n: Any, w: Any) -> list[Any]:
        arriving = [mix[0] * x for x in w]
        if len(arriving) != 3:
            return arriving
        normal = mix[1] * dot(n, w)
        return [x + normal * n[i] for i, x in enumerate(arriving)]

    def wrong(self, values: dict[str, np.ndarray]) -> Iterable[tuple[np.ndarray, Callable[[int], str], str]]:
        return ()

    def moduli(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: values[name] for name in ("lambda", "mu") if name in values}

    def density(self, values: Mapping[str, Any]) -> Any:
        return values["rho"]

    def stress_of(self, strain: np.ndarray, values: dict[str, float]) -> np.ndarray | None:
        return None

    def adapted(self, values: dict[str, np.ndarray]) -> Any:
        return self

    def stiffness(self, values: dict[str, np.ndarray]) -> np.ndarray | float:
        return 0.0

    def longest_step(self) -> float:
        return float("inf")

    def rates(self, values: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        return ()

    def reaction(self, q: Any, rates: Any) -> list[Any]:
        return [0.0 * x for x in q]

    def decay(self, rates: Any) -> Any:
        raise NotImplementedError(f"nothing decays in {type(self).__name__}")

    def decaying(self, q: Any, material: Any) -> list[Any]:
        raise NotImplementedError(f"nothing decays in {type(self).__name__}")


def traction(stress: Any, n: Any) -> list[Any]:
    """sigma n of the six components of a stress."""
    xx, yy, zz, xy, yz, xz = stress
    return [dot((xx, xy, xz), n), dot((xy, yy, yz), n), dot((xz, yz, zz), n)]


class VelocityStress(PlainLaw):
    """A solid by its stress and velocity: F n = sigma n, phi = v."""

    roles = {"stress": ("s_xx", "s_yy", "s_zz", "s_xy", "s_yz", "s_xz"), "velocity": ("v1", "v2", "v3")}

    def flux(self, q: Any, n: Any) -> list[Any]:
        return traction(q[:6], n)

    def potential(self, q: Any) -> list[Any]:
        return [q[6], q[7], q[8]]

    def source(self, moment: np.ndarray, force: np.ndarray, values: dict[str, float]) -> np.ndarray:
        return np.concatenate([-moment, force / values["rho"]])


def role(law: Law, name: str) -> slice:
    """Columns of the quantities that have a role; ValueError where the law has none (``name in law.roles`` tells)."""
    if name not in law.roles:
        raise ValueError(f"the {law.name} law has no {name}: its quantities are {', '.join(law.quantities)}")
    names = law.roles[name]
    first = law.quantities.index(names[0])
    return slice(first, first + len(names))


@dataclass(frozen=True)
class Jacobians:
    """A_d of q_t + A_x q_x + A_y q_y + A_z q_z = 0 for one material, (3, Q, Q)."""

    matrices: np.ndarray = field(repr=False)


def jacobians(law: Law, values: dict[str, float]) -> Jacobians:
    """The three Jacobians by linearity of ``rate``, one column at a time."""
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
    """How many numbers an impedance of the law is; one where waves of one kind cross a face."""
    probe = {name: np.ones(1) for name in (*(p.name for p in law.parameters), *LAYER)}
    with np.errstate(all="ignore"):  # the numbers are no material
        return law.impedance_at(probe, np.array([[1.0, 0.0, 0.0]])).shape[-1]


def energy_names(law: Law, of: Callable[[Any, Any], dict[str, Any]]) -> list[str]:
    """Of what ``Law.energies``, or a function like that, gives, in its order."""
    with np.errstate(all="ignore"):  # the numbers are no material
        values = {p.name: np.ones(1) for p in law.parameters}
        return list(of([np.zeros(1)] * len(law.quantities), values))


def as_matrix(of: Any, size: int, shape: tuple[int, ...]) -> np.ndarray:
    """(*shape, size, size) of a linear function of vectors that ``of`` applies to lists of arrays."""
    columns = [of([np.full(shape, float(i == j)) for i in range(size)]) for j in range(size)]
    return np.stack([np.stack(np.broadcast_arrays(*column), -1) for column in columns], -1)


def dot(a: Any, b: Any) -> Any:
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total


def cross(a: Any, b: Any) -> list[Any]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


__all__ = [
    "BOUNDARIES",
    "FILLED",
    "LAYER",
    "Boundary",
    "Jacobians",
    "Law",
    "PlainLaw",
    "VelocityStress",
    "as_matrix",
    "cross",
    "dot",
    "energy_names",
    "impedance_numbers",
    "jacobians",
    "role",
    "traction",
]
