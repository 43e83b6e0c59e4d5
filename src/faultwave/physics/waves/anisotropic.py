"""Anisotropic elasticity with 21 constants, velocity-stress: sigma_t = C : grad v, rho v_t = div sigma.

Constants are numbered in Voigt's notation, 1 to 6 for xx, yy, zz, yz, xz, xy. Across a face with the normal n the
impedance is the matrix Z = (rho Gamma)^(1/2) of the acoustic tensor Gamma_ik = n_j c_ijkl n_l (Wolf, Gabriel & Bader
2020; docs/theory/formulation.md, "Laws as flux and potential", "Riemann problem at faces").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import numpy as np

from faultwave.base.quantities import Parameter
from faultwave.kernels.expr import Components, Computed, Named, Number, Numbers
from faultwave.physics.waves.law import BOUNDARIES, Boundary, VelocityStress, dot

FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)
"""Odd multipliers with random-looking bits."""


def distinct_rows(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows of a table, compared bit by bit.

    Parameters
    ----------
    table : ndarray, shape (n, k)
        Rows of floating-point numbers.

    Returns
    -------
    first : ndarray of int, shape (m,)
        Index of one row of each kind.
    kind : ndarray of int, shape (n,)
        Kind of every row.
    """
    bits = np.ascontiguousarray(table, float).view(np.uint64)
    if len(bits) and (bits == bits[0]).all():
        return np.zeros(1, np.int64), np.zeros(len(bits), np.int64)
    hashed = np.zeros(len(bits), np.uint64)
    for column in bits.T:
        hashed = (hashed ^ column) * np.uint64(FACTORS[0])
        hashed = (hashed ^ (hashed >> np.uint64(29))) * np.uint64(FACTORS[1])
    first, kind = np.unique(hashed, return_index=True, return_inverse=True)[1:]
    if not (bits[first][kind] == bits).all():  # hash collision
        first, kind = np.unique(bits, axis=0, return_index=True, return_inverse=True)[1:]
    return first, kind.reshape(-1)


PAIRS = tuple((i, j) for i in range(6) for j in range(i, 6))
CONSTANTS = tuple(f"c{i + 1}{j + 1}" for i, j in PAIRS)
"""Names of the 21 constants in the order of ``PAIRS``: rows of the upper triangle."""

NUMBER = {pair: k for k, (i, j) in enumerate(PAIRS) for pair in ((i, j), (j, i))}
VOIGT = ((0, 5, 4), (5, 1, 3), (4, 3, 2))
"""Voigt number (from 0) of the component jk of a symmetric tensor."""

ORDER = (0, 1, 2, 5, 3, 4)
"""Voigt numbers of the stress components in the order of the quantities: xx, yy, zz, xy, yz, xz."""

PACKED = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))
PLACE = ((0, 3, 5), (3, 1, 4), (5, 4, 2))
"""Position of the component ij in a packed symmetric matrix, whose components are PACKED."""

MAXIMUM_CLIMB = 100
"""Maximum number of iterations of the search for the largest speed; a few suffice."""

STRAIN = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))
"""Directions of the velocity gradients that form the engineering strains 1 to 6."""


def _isotropic_constant(i: int, j: int, values: Named) -> Number:
    """Return c_ij, with indices from 0, of an isotropic solid."""
    lam, mu = values["lambda"], values["mu"]
    found = lam if j < 3 else 0.0 * mu
    return found + (2.0 * mu if i < 3 else mu) if i == j else found


class Anisotropic(VelocityStress):
    """Waves in an elastic solid with 21 constants."""

    name = "anisotropic"
    title = "Anisotropic elastic solid with 21 constants"
    parameters = (
        Parameter("rho", "kg/m^3", "density", positive=True),
        *(
            Parameter(name, "Pa", f"stiffness {name[1]}{name[2]}, Voigt's numbers of xx yy zz yz xz xy")
            for name in CONSTANTS
        ),
    )
    derived = tuple(
        (name, ("lambda", "mu"), partial(_isotropic_constant, i, j))
        for name, (i, j) in zip(CONSTANTS, PAIRS, strict=True)
    )
    channels = 3
    principal, directional, mixing = False, True, 4
    stability = 1.0
    traction_is_flux = True
    boundaries = BOUNDARIES | {"symmetry": Boundary(-1.0, 2.0)}

    def constants(self, values: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        return (*(values[name] for name in CONSTANTS), 1.0 / values["rho"])

    def impedance_at(self, values: dict[str, np.ndarray], normal: np.ndarray) -> np.ndarray:
        """Return impedances (..., 6) at faces with unit normals (..., 3).

        Equal combinations of rock and normal, such as the two sides of a face or parallel faces, are computed once.
        """
        kinds, which = _kinds(values)
        shape = np.broadcast_shapes(which.shape, normal.shape[:-1])
        rock, n = np.broadcast_to(which, shape).reshape(-1), np.broadcast_to(normal, (*shape, 3)).reshape(-1, 3)
        leading = np.take_along_axis(n, (n != 0.0).argmax(1)[:, None], 1)
        n = np.where(leading < 0.0, -n, n) + 0.0  # avoids negative zeros
        first, face = distinct_rows(np.column_stack([rock, n]))
        found = _impedance({k: v[rock[first]] for k, v in kinds.items()}, n[first])
        return found[face].reshape(*shape, 6)

    def apply_impedance(self, z: Numbers, n: Numbers, x: Numbers) -> Components:
        return [dot([z[PLACE[i][j]] for j in range(3)], x) for i in range(3)]

    def admittance(self, own: np.ndarray, other: np.ndarray, scale: np.ndarray | float) -> np.ndarray:
        return np.asarray(scale)[..., None] * packed(np.linalg.inv(unpacked(own + other)))

    def mix(self, boundary: Boundary | None, values: dict[str, np.ndarray], normal: np.ndarray) -> np.ndarray:
        """Return a and b m of the incoming wave w_R = a w + b n (m . w), with m = Z^-1 n / (n . Z^-1 n).

        Thus v . n and the shear traction vanish at a plane of symmetry.
        """
        a, b = (-1.0, 0.0) if boundary is None else (boundary.a, boundary.b)
        mixed = np.zeros((len(normal), 4))
        mixed[:, 0] = a
        if b != 0.0:
            turned = np.linalg.solve(unpacked(self.impedance_at(values, normal)), normal[..., None])[..., 0]
            mixed[:, 1:] = b * turned / (turned * normal).sum(1, keepdims=True)
        return mixed

    def incoming(self, mix: Numbers, n: Numbers, w: Numbers) -> Components:
        normal = dot(mix[1:4], w)
        return [mix[0] * x + normal * n[i] for i, x in enumerate(w)]

    def rate(self, divergence: Numbers, gradient: Sequence[Numbers] | np.ndarray, material: Numbers) -> Components:
        strain = [gradient[i][i] if i == j else gradient[i][j] + gradient[j][i] for i, j in STRAIN]
        stress = [dot([material[NUMBER[i, j]] for j in range(6)], strain) for i in ORDER]
        return [*stress, *[material[21] * divergence[i] for i in range(3)]]

    def stress_of(self, strain: np.ndarray, values: dict[str, float]) -> np.ndarray:
        six = [strain[ORDER.index(i)] * (1.0 if i < 3 else 2.0) for i in range(6)]
        return np.array([sum(values[CONSTANTS[NUMBER[i, j]]] * six[j] for j in range(6)) for i in ORDER])

    def moduli(self, values: Named) -> Computed:
        """Return mu as the mean of c44, c55 and c66, and lambda + 2 mu as the mean of c11, c22 and c33."""
        mu = (values["c44"] + values["c55"] + values["c66"]) / 3.0
        return {"lambda": (values["c11"] + values["c22"] + values["c33"]) / 3.0 - 2.0 * mu, "mu": mu}

    def speed(self, values: dict[str, np.ndarray]) -> np.ndarray:
        """Return the largest wave speed in any direction [m/s]."""
        return largest_speed(values)

    def wrong(self, values: dict[str, np.ndarray]) -> Iterable[tuple[np.ndarray, Callable[[int], str], str]]:
        kinds, which = _kinds(values)
        eigenvalues = np.linalg.eigvalsh(stiffness(kinds))
        least, most = eigenvalues[:, 0], eigenvalues[:, -1]
        bad = ~(least > 1e-12 * np.abs(most))

        def describe(cell: int) -> str:
            if not any(abs(kinds[name][which[cell]]) > 1e-12 * most[which[cell]] for name in ("c44", "c55", "c66")):
                return "water, which this law does not have (c44, c55 and c66 are 0), lies"
            listed = ", ".join(f"{x:.4g}" for x in eigenvalues[which[cell]])
            return f"the stiffness c_ij has the eigenvalues {listed} Pa"

        yield bad[which], describe, "all > 0: the energy of any strain is positive"

    def energies(self, q: Numbers, values: Named) -> Computed:
        """Return strain energy s C^-1 s / 2, from the factors L D L^T of C, and kinetic energy [J/m^3]."""
        rho, v = values["rho"], q[6:]
        strain = _half_inverse_product(
            {pair: values[CONSTANTS[k]] for pair, k in NUMBER.items()}, [q[ORDER.index(i)] for i in range(6)]
        )
        return {
            "elastic_energy": strain,
            "elastic_kinetic_energy": 0.5 * rho * dot(v, v),
            "momentumX": rho * v[0],
            "momentumY": rho * v[1],
            "momentumZ": rho * v[2],
        }


def _half_inverse_product(c: Mapping[tuple[int, int], Number], s: list[Number]) -> Number:
    """Return s C^-1 s / 2 for a symmetric positive definite C, for arrays and expressions."""
    lower: dict[tuple[int, int], Number] = {}
    pivots: list[Number] = []
    solved: list[Number] = []
    for i in range(len(s)):
        for j in range(i + 1):
            rest = c[i, j]
            for k in range(j):
                rest = rest - lower[i, k] * lower[j, k] * pivots[k]
            if i == j:
                pivots.append(rest)
            else:
                lower[i, j] = rest / pivots[j]
        y = s[i]
        for k in range(i):
            y = y - lower[i, k] * solved[k]
        solved.append(y)
    return 0.5 * dot([y / d for y, d in zip(solved, pivots, strict=True)], solved)


def stiffness(values: Named) -> np.ndarray:
    """Return the stiffness (..., 6, 6) in Kelvin notation, whose eigenvalues do not depend on the axes.

    Strains and stresses have a factor sqrt(2) on their shear components.
    """
    size = np.array([1.0, 1.0, 1.0, *[np.sqrt(2.0)] * 3])
    rows = [np.stack([np.asarray(values[CONSTANTS[NUMBER[i, j]]], float) for j in range(6)], -1) for i in range(6)]
    return np.stack(rows, -2) * size * size[:, None]


def isotropic(values: Named) -> dict[str, Number]:
    """Return rho and the 21 constants of an isotropic solid with rho, lambda and mu."""
    return {"rho": values["rho"]} | {
        name: _isotropic_constant(i, j, values) for name, (i, j) in zip(CONSTANTS, PAIRS, strict=True)
    }


def packed(matrix: np.ndarray) -> np.ndarray:
    """Return the components xx, yy, zz, xy, yz, xz (..., 6) of symmetric matrices (..., 3, 3)."""
    return np.stack([0.5 * (matrix[..., i, j] + matrix[..., j, i]) for i, j in PACKED], -1)


def unpacked(six: np.ndarray) -> np.ndarray:
    """Return symmetric matrices (..., 3, 3) from their components (..., 6): inverse of ``packed``."""
    return np.stack([np.stack([six[..., PLACE[i][j]] for j in range(3)], -1) for i in range(3)], -2)


def acoustic_tensor(values: Mapping[str, np.ndarray], normal: np.ndarray) -> np.ndarray:
    """Return the acoustic tensor Gamma_ik = n_j c_ijkl n_l (..., 3, 3) for normals (..., 3).

    It is summed term by term, so that results are bitwise equal for any number of faces.
    """

    def component(i: int, k: int) -> np.ndarray:
        terms = (
            normal[..., j] * normal[..., m] * values[CONSTANTS[NUMBER[VOIGT[i][j], VOIGT[k][m]]]]
            for j in range(3)
            for m in range(3)
        )
        return np.asarray(sum(terms))

    return unpacked(np.stack([component(i, k) for i, k in PACKED], -1))


def lopsidedness(values: Mapping[str, np.ndarray], normal: np.ndarray) -> np.ndarray:
    """Return the deviation (n,) of rocks from mirror symmetry about the planes with normals (n, 3).

    It is the largest c_ijkl in odd powers of the normal, relative to the largest constant: these vanish for mirror
    symmetry.
    """
    table = np.stack([values[name] for name in CONSTANTS], -1)
    place = np.array(
        [[[[NUMBER[VOIGT[i][j], VOIGT[k][m]] for m in range(3)] for k in range(3)] for j in range(3)] for i in range(3)]
    )
    tensor = table[:, place]
    mirror = np.eye(3) - 2.0 * normal[:, :, None] * normal[:, None, :]
    mirrored = tensor
    for axes in ("nijkl,nai->najkl", "nijkl,naj->niakl", "nijkl,nak->nijal", "nijkl,nal->nijka"):
        mirrored = np.einsum(axes, mirrored, mirror)
    return np.asarray(0.5 * np.abs(mirrored - tensor).max((1, 2, 3, 4)) / np.abs(table).max(1))


def _kinds(values: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the distinct materials among cells, and the index of the material of each cell."""
    names = ("rho", *CONSTANTS)
    table = np.stack(np.broadcast_arrays(*(np.asarray(values[name], float) for name in names)), -1)
    flat = table.reshape(-1, len(names))
    first, which = distinct_rows(flat)
    return {name: flat[first, k] for k, name in enumerate(names)}, which.reshape(table.shape[:-1])


def _impedance(values: Mapping[str, np.ndarray], normal: np.ndarray) -> np.ndarray:
    """Return Z = (rho Gamma)^(1/2) in packed form (n, 6)."""
    squares, axes = np.linalg.eigh(values["rho"][:, None, None] * acoustic_tensor(values, normal))
    return packed((axes * np.sqrt(np.maximum(squares, 0.0))[:, None, :]) @ np.swapaxes(axes, -1, -2))


def _directions(count: int) -> np.ndarray:
    """Return ``count`` directions distributed over half a sphere and the three axes, which often are the fastest directions."""
    k = np.arange(count) + 0.5
    z, angle = k / count, np.pi * (1.0 + 5.0**0.5) * k
    across = np.sqrt(1.0 - z * z)
    return np.concatenate([np.eye(3), np.stack([across * np.cos(angle), across * np.sin(angle), z], 1)])


def largest_speed(values: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the largest wave speed [m/s] over all directions and polarisations, for each cell.

    rho c^2 is the largest p . Gamma(n) p of unit vectors n and p, which can be exchanged. Starting from the best of a
    sample of directions, alternating eigenvectors of Gamma(n) and Gamma(p) therefore increase to it.
    """
    kinds, which = _kinds(values)
    best = np.empty(len(kinds["rho"]))
    for first in range(0, len(best), 1 << 14):
        part = {k: v[first : first + (1 << 14)] for k, v in kinds.items()}
        best[first : first + (1 << 14)] = np.sqrt(_largest_stiffness(part) / part["rho"])
    return best[which]


def _largest_stiffness(values: dict[str, np.ndarray]) -> np.ndarray:
    directions, wide = _directions(48), {k: v[:, None] for k, v in values.items()}
    sampled = np.linalg.eigvalsh(acoustic_tensor(wide, directions))[..., -1]
    best = sampled.max(1)
    for start in np.argsort(sampled, 1)[:, -1:-4:-1].T:
        best = np.maximum(best, _climbed(values, directions[start]))
    return best


def _climbed(values: dict[str, np.ndarray], n: np.ndarray) -> np.ndarray:
    """Return the largest eigenvalue (nc,) of Gamma that the iteration reaches from the directions n (nc, 3)."""
    found, left = np.zeros(len(n)), np.arange(len(n))
    for _ in range(MAXIMUM_CLIMB):
        here = {k: v[left] for k, v in values.items()}
        steps = [n]
        for _ in range(3):  # eigenvectors with a consistent sign
            eigenvalues, axes = np.linalg.eigh(acoustic_tensor(here, steps[-1]))
            steps.append(axes[..., -1] * np.where((axes[..., -1] * n).sum(1, keepdims=True) < 0.0, -1.0, 1.0))
        # Extrapolated limit of steps that shrink geometrically.
        first, second = steps[2] - steps[1], steps[3] - steps[2]
        size = (first * first).sum(1)
        share = np.clip((first * second).sum(1) / np.where(size > 0.0, size, 1.0), 0.0, 0.99)
        far = steps[3] + second * (share / (1.0 - share))[:, None]
        far /= np.linalg.norm(far, axis=1, keepdims=True)
        beyond = np.linalg.eigvalsh(acoustic_tensor(here, far))[..., -1]
        further = beyond > eigenvalues[..., -1]
        now, n = np.where(further, beyond, eigenvalues[..., -1]), np.where(further[:, None], far, steps[3])
        more = now > found[left] * (1.0 + 1e-15)
        found[left] = np.maximum(found[left], now)
        left, n = left[more], n[more]
        if not len(left):
            break
    return found


LAW = Anisotropic()
