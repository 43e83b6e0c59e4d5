"""Exact solutions as initial states, one file each: the values of ``initial.kind`` in a case.

A solution gives the state at points (n, 3) and a time: (n, Q) in the quantities of the law. At time zero it is the
initial state; later it is the incoming wave through faces of kind analytic and the reference for errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.registry import get_entry, scan
from faultwave.base.types import Setting
from faultwave.physics.waves import Law
from faultwave.physics.waves.law import role
from faultwave.physics.waves.plane_waves import Medium, Solution

SMALL = 1e-4
"""Relative tolerance for lengths of a mesh."""


@dataclass(frozen=True)
class Given:
    """Data for which a solution is built: the law, the parameters of every cell (nc,) and gravity [m/s^2]."""

    law: Law
    material: Mapping[str, np.ndarray]
    gravity: float

    def medium(self, fluid: bool) -> Medium:
        """Return the only fluid, or the only solid, of the model.

        Raises
        ------
        InputError
            If there is none, or it is not uniform.
        """
        kind, names = "fluid" if fluid else "solid", ("rho", "lambda", "mu")
        if not {"rho", "lambda"} <= set(self.material):
            raise InputError(
                Problem(
                    "initial.kind",
                    f"needs rho and lambda, which the {self.law.name} law does not have",
                    "a law with rho and lambda, as elastic",
                )
            )
        mu = self.material.get("mu", np.zeros_like(self.material["rho"]))
        values = {**self.material, "mu": mu}
        mine = (mu <= 0) == fluid
        if not mine.any():
            raise InputError(
                Problem(
                    "initial.kind",
                    f"there is no {kind} in the mesh",
                    "a mesh with both",
                    "Define it by the material.",
                )
            )
        spread = [n for n in names if np.ptp(values[n][mine]) > 1e-6 * max(np.abs(values[n][mine]).max(), 1e-300)]
        if spread:
            raise InputError(Problem("initial.kind", f"the {kind} is not uniform: {', '.join(spread)}", f"one {kind}"))
        rho, lam, shear = (float(values[n][mine][0]) for n in names)
        return Medium(rho, lam, shear)

    def state(self, stress: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """Return the state (n, Q) with stresses (n, 6), shear-free in fluids, and velocities (n, 3); memory variables are zero."""
        law, found = self.law, np.zeros((len(stress), len(self.law.quantities)))
        found[:, role(law, "velocity")] = velocity
        if "stress" in law.roles:
            found[:, role(law, "stress")] = stress
        else:
            found[:, role(law, "mean_stress")] = stress[:, :3].mean(1, keepdims=True)
        return found

    def fluid_state(self, stress: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """Return the state (n, Q) with the mean stress (n,) and velocities (n, 3) of a fluid."""
        return self.state(np.stack([*[stress] * 3, *[0.0 * stress] * 3], 1), velocity)


def on_both_sides(given: Given, elastic: Solution, level: float) -> Solution:
    """Return a solution in the quantities of the law, with its interface moved to z = ``level``.

    ``elastic`` is a solution in the nine elastic quantities about the interface z = 0.
    """

    def field(points: np.ndarray, t: float) -> np.ndarray:
        found = elastic(points - [0.0, 0.0, level], t)
        return given.state(found[:, :6], found[:, 6:])

    return field


@dataclass(frozen=True)
class Sides:
    """Boundary faces (n,) through which no solution enters.

    Attributes
    ----------
    corners : (n, 3, 3) array
        Corners [m].
    up : (n,) array
        z component of the outward unit normals.
    sea : (n,) array of bool
        True for faces of kind gravity, the surface of a sea.
    """

    corners: np.ndarray
    up: np.ndarray
    sea: np.ndarray

    def off(self, chosen: np.ndarray, level: float, small: float) -> tuple[int, float, np.ndarray] | None:
        """Return how many of the ``chosen`` faces have a corner off z = ``level``, the largest distance, and its corner; else None.

        ``small`` is the tolerated distance [m].
        """
        away = np.where(chosen[:, None], np.abs(self.corners[..., 2] - level), 0.0)
        count = int((away.max(1, initial=0.0) > small).sum())
        if not count:
            return None
        worst = np.unravel_index(int(np.argmax(away)), away.shape)
        return count, float(away[worst]), self.corners[worst]


@dataclass(frozen=True)
class Region:
    """Location of the media: the ``corners`` (nc, 4, 3) of the cells [m], and the boundary faces ``sides``."""

    corners: np.ndarray
    sides: Sides

    @property
    def inside(self) -> np.ndarray:
        """Points (nc, 5, 3) inside every cell: its centre, and one near each corner."""
        centre = self.corners.mean(1, keepdims=True)
        return np.concatenate([centre, 0.75 * self.corners + 0.25 * centre], 1)

    @property
    def heights(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest z (nc,) of every cell [m]."""
        return self.corners[..., 2].min(1), self.corners[..., 2].max(1)


def lossless(given: Given) -> Iterator[Problem]:
    """Yield a problem if the medium attenuates."""
    if "Qp" in given.material:
        yield Problem("initial.kind", "is a solution of media that do not attenuate", "law: elastic, acoustic")


def two_sides(given: Given, region: Region, level: float, fluid_above: bool) -> Iterator[Problem]:
    """Yield a problem unless the fluid is above (or below) ``level`` and the solid on the other side."""
    lowest, highest = region.heights
    small = SMALL * float(np.ptp(region.corners[..., 2]))
    upper = (given.material["mu"] <= 0) == fluid_above
    wrong = np.flatnonzero(np.where(upper, lowest < level - small, highest > level + small))
    if len(wrong):
        sides = ("fluid", "solid") if fluid_above else ("solid", "fluid")
        x, y, z = region.corners[wrong[0]].mean(0)
        what = (
            f"{len(wrong)} of {len(lowest)} cells are on the wrong side of level z = {level:g} m, one at "
            f"({x:g}, {y:g}, {z:g})"
        )
        yield Problem("initial.level", what, f"{sides[0]} above it, {sides[1]} below", "Its default is 0.")


def nothing_wrong(setting: Setting, given: Given, region: Region) -> Iterator[Problem]:
    """Yield no problem, for initial states that suit every mesh."""
    yield from ()


@dataclass(frozen=True)
class InitialCondition:
    """Initial condition that a case can choose.

    Attributes
    ----------
    solution
        ``solution(setting, given)`` for the group ``initial`` of a case; raises InputError for impossible settings.
    misfits
        ``misfits(setting, given, region)`` yields problems where it is not a solution in the given media.
    """

    name: str
    title: str
    solution: Callable[[Setting, Given], Solution]
    misfits: Callable[[Setting, Given, Region], Iterable[Problem]] = nothing_wrong


def condition(name: str) -> InitialCondition:
    """Return the initial condition of a name; raises InputError that lists the names that exist."""
    return get_entry(scan(__name__, InitialCondition), name, "initial state", "initial.kind")


__all__ = [
    "SMALL",
    "Given",
    "InitialCondition",
    "Region",
    "Sides",
    "condition",
    "lossless",
    "on_both_sides",
    "two_sides",
]
