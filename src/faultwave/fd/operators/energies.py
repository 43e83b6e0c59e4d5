"""Energies and momentum of the wave field of a grid.

Results are summed plane by plane, so that no sum depends on the number of threads. No quantity is averaged: each counts
with the coefficient at its own place, and next to the free surface with the weights for which the operator is
self-adjoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.base.processes.pieces import in_pieces
from faultwave.fd.method.differences import WHOLE
from faultwave.fd.method.scheme import Scheme
from faultwave.fd.method.stencils import NORMAL, SHEAR, VELOCITY
from faultwave.fd.operators.points import norm_weights

ENERGIES = ("elastic_energy", "elastic_kinetic_energy", "momentumX", "momentumY", "momentumZ")
"""Quantities returned by ``Operator.energies``."""

POINTS_AT_ONCE = 1 << 14
"""Number of points of a block of rows; a dozen arrays of this size fill most of a second-level cache."""


@dataclass(frozen=True)
class Side:
    """Values of the grid, or of one side of a fault, as the sums read them.

    Attributes
    ----------
    read : callable
        Returns the values (ny, nx) of a quantity in a plane.
    unit : callable
        Returns the unit of a quantity in SI units.
    weight : callable
        Returns the weights of its points: a number, (nx,) or (ny, 1).
    """

    read: Callable[[str, int], np.ndarray]
    unit: Callable[[str], float]
    weight: Callable[[str], float | np.ndarray]


@dataclass(frozen=True)
class Sums:
    """Sums of energy and momentum over planes of a grid.

    Attributes
    ----------
    scheme : Scheme
    sides : sequence of Side
        The grid, and the upper side of a fault separately.
    top : int
        Plane above the last cells.
    """

    scheme: Scheme
    sides: Sequence[Side]
    top: int

    def of(self, planes: range) -> np.ndarray:
        """Return the sums of ENERGIES over the planes, divided by h^3."""
        found = np.zeros((len(planes), len(self.sides), len(ENERGIES)))

        def work(piece: slice) -> None:
            for i in range(piece.start, piece.stop):
                for k, side in enumerate(self.sides):
                    found[i, k] = self._plane(planes[i], side)

        in_pieces(work, len(planes), 1)
        total = np.zeros(len(ENERGIES))
        for row in found.reshape(-1, len(ENERGIES)):
            total += row
        return total

    def _plane(self, plane: int, side: Side) -> list[float]:
        kinetic, momentum = self._motion(plane, side)
        return [self._normal(plane, side) + self._shear(plane, side), kinetic, *momentum]

    def _weight(self, name: str, plane: int) -> float:
        return float(norm_weights(self.scheme, name, plane))

    def _motion(self, plane: int, side: Side) -> tuple[float, list[float]]:
        """Return kinetic energy and momentum of a plane; on the surface only half planes have any."""
        energy, momentum = 0.0, [0.0, 0.0, 0.0]
        for k, (name, axis) in enumerate(VELOCITY.items()):
            if name in WHOLE and plane == self.top:
                continue
            weight, given = self._weight(name, plane), _Given(side, plane, name, f"b_{axis}")
            moved, densities = np.empty(given.shape), np.empty(given.shape)
            for rows, (speed, specific) in given.blocks():
                rho = _over(weight, specific)
                _weigh(rho, side.weight(name), rows)
                np.multiply(rho, speed, out=moved[rows])
                np.multiply(moved[rows], speed, out=densities[rows])
            energy += 0.5 * float(densities.sum())
            momentum[k] = float(moved.sum())
        return energy, momentum

    def _normal(self, plane: int, side: Side) -> float:
        """Return the strain energy of the normal stresses of a plane."""
        given = _Given(side, plane, "lam", "mu2", *NORMAL)
        densities = np.empty(given.shape)
        for rows, (lam, mu2, *normal) in given.blocks():
            trace, square = normal[0] + normal[1], normal[0] * normal[0]
            trace += normal[2]
            for stress in normal[1:]:
                stress *= stress
                square += stress
            trace *= trace
            solid = mu2 > 0
            fluid = not solid.all()
            stiff = np.where(solid, mu2, 1.0) if fluid else mu2
            share = 3.0 * lam
            share += stiff
            np.divide(lam, share, out=share)
            share *= trace
            square -= share
            square /= 2.0 * stiff
            found = np.where(solid, square, trace / (18.0 * lam)) if fluid else square
            _weigh(found, side.weight("szz"), rows)
            densities[rows] = found
        return self._weight("szz", plane) * float(densities.sum())

    def _shear(self, plane: int, side: Side) -> float:
        """Return the strain energy of the shear stresses of a plane, zero in fluids."""
        energy = 0.0
        for name in SHEAR:
            given = _Given(side, plane, f"mu_{name[1:]}", name)
            densities = np.empty(given.shape)
            for rows, (mu, stress) in given.blocks():
                stress *= stress
                found = stress / mu if (mu > 0).all() else np.divide(stress, mu, out=np.zeros_like(mu), where=mu > 0)
                _weigh(found, side.weight(name), rows)
                densities[rows] = found
            energy += 0.5 * self._weight(name, plane) * float(densities.sum())
        return energy


class _Given:
    """Some quantities of one plane."""

    def __init__(self, side: Side, plane: int, *names: str):
        self.planes = [(side.read(name, plane), side.unit(name)) for name in names]
        self.shape = self.planes[0][0].shape

    def blocks(self) -> Iterator[tuple[slice, list[np.ndarray]]]:
        """Yield slices of rows and copies of the quantities there in double precision and SI units."""
        ny, nx = self.shape
        size = max(1, POINTS_AT_ONCE // max(1, nx))
        for first in range(0, ny, size):
            rows = slice(first, first + size)
            found = [values[rows].astype(float) for values, _ in self.planes]
            for values, (_, unit) in zip(found, self.planes, strict=True):
                if unit != 1.0:
                    values *= unit
            yield rows, found


def _over(weight: float, specific: np.ndarray) -> np.ndarray:
    """Return a weight times density from specific volume; 0 where the latter is zero."""
    if (specific > 0).all():
        rho = 1.0 / specific
    else:
        rho = np.divide(1.0, specific, out=np.zeros_like(specific), where=specific > 0)
    if weight != 1.0:
        rho *= weight
    return rho


def _weigh(values: np.ndarray, share: float | np.ndarray, rows: slice) -> None:
    """Multiply values in place by the weights of the points in these rows."""
    if isinstance(share, np.ndarray):
        values *= share[rows] if share.ndim == 2 else share
    elif share != 1.0:
        values *= share
