"""State of a fault before a run, for either engine: loads of its points, the patch that nucleates, and quantities for figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.physics.friction.initial_stress import increment
from faultwave.physics.friction.law import FrictionLaw
from faultwave.physics.friction.plausibility import ENOUGH, LoadedFault, cohesive_points


@dataclass(frozen=True)
class Surroundings:
    """Elastic properties and resolution around the n points of a fault.

    Attributes
    ----------
    area : (n,) array
        Area that each point represents [m^2].
    mu, lam : (n,) array
        Lamé parameters of the softer side [Pa].
    spacing : (n,) array
        Distance between points of the solution [m].
    """

    area: np.ndarray
    mu: np.ndarray
    lam: np.ndarray
    spacing: np.ndarray


@dataclass(frozen=True)
class Added:
    """Traction that an episode of nucleation adds.

    Attributes
    ----------
    traction : (n, 3) array
        Traction along the normal and the two tangents [Pa].
    start, duration : float
        Start and length of the ramp [s].
    """

    traction: np.ndarray
    start: float
    duration: float


def loaded(
    law: FrictionLaw, given: tuple[Mapping[str, np.ndarray], Mapping[str, float]], stress: np.ndarray, episodes: Sequence[Added],
    around: Surroundings, end: float,
) -> LoadedFault:  # fmt: skip
    """Return the loads and strengths of fault points before the run, and with the stress that nucleation adds until its end.

    Parameters
    ----------
    law
        Friction law.
    given
        Prepared parameters (n,) and constants of the law, by name.
    stress : (n, 3) array
        Initial traction along the normal and the two tangents [Pa].
    episodes
        Episodes of nucleation.
    around
        Elastic properties and resolution.
    end
        End of the run [s].
    """
    p, constants = given
    added = stress + sum(increment(0.0, end, e.start, e.duration) * e.traction for e in episodes)
    tau, nucleated = (np.hypot(s[:, 1], s[:, 2]) for s in (stress, added))
    moved = bool(np.any(added[:, 0] != stress[:, 0]))
    with np.errstate(all="ignore"):  # Tension and missing loads are reported elsewhere; here they may become NaN.
        weakening = law.weakening(p, constants, tau, stress[:, 0]) if law.needs_stress else None
        after = None
        if moved and weakening is not None and weakening.threshold:
            after = law.weakening(p, constants, nucleated, added[:, 0])
    poisson = around.lam / (2.0 * (around.lam + around.mu))
    return LoadedFault(
        around.area,
        tau,
        nucleated,
        stress[:, 0],
        around.mu,
        poisson,
        around.spacing,
        weakening,
        end,
        after,
        added[:, 0],
    )


def largest_patch(vertices: np.ndarray, fault: LoadedFault) -> np.ndarray:
    """Return the indices (k,) of the points in the largest connected patch that breaks spontaneously.

    Faces with the vertices ``vertices`` (n, m) hold equal numbers of points each. Faces that share a vertex are connected.
    """
    starts = np.flatnonzero(fault.starts)
    if not len(starts):
        return starts
    each = len(fault.tau) // len(vertices)
    broken, at = np.unique(starts // each, return_inverse=True)
    piece = pieces(vertices[broken])[at]
    area = np.bincount(piece, fault.area[starts])
    return np.asarray(starts[piece == int(np.argmax(area))])


def pieces(vertices: np.ndarray) -> np.ndarray:
    """Return the label (n,) of the connected piece of each face with vertices (n, m): the lowest number of a face in it."""
    label = np.arange(len(vertices))
    while True:
        lowest = np.full(int(vertices.max()) + 1, len(vertices))
        np.minimum.at(lowest, vertices, label[:, None])
        found = lowest[vertices].min(1)
        if (found == label).all():
            return label
        label = found


def shown(fault: LoadedFault) -> dict[str, np.ndarray]:
    """Return quantities of the fault points for figures, by the names of ``SHOWN``: (n,) each, NaN where undefined."""
    found = {"normal stress": -1e-6 * fault.sigma, "shear stress": 1e-6 * fault.tau}
    if (fault.nucleated != fault.tau).any():
        found["nucleated"] = 1e-6 * fault.nucleated
    w = fault.weakening
    if w is not None:
        slips = fault.may_slip
        peak = np.broadcast_to(w.peak, slips.shape)
        found["strength"] = 1e-6 * np.where(slips, peak, np.nan)
        found["excess"] = 1e-6 * np.where(slips, peak - fault.tau, np.nan)
        found["S ratio"] = fault.s_ratio
        found["cohesive points"] = fault.cohesive_zone / fault.spacing
        found["breaks"] = fault.starts.astype(float)
    return found


SHOWN = {
    "normal stress": ("normal stress, compression", "MPa"),
    "shear stress": ("shear stress", "MPa"),
    "nucleated": ("shear stress after nucleation", "MPa"),
    "strength": ("strength before slip", "MPa"),
    "excess": ("strength excess", "MPa"),
    "S ratio": ("S ratio", ""),
    "cohesive points": ("points in the cohesive zone", ""),
    "breaks": ("fraction that fails by itself", ""),
}
"""Title and unit of each quantity of ``shown``."""


def cohesive_zone(fault: LoadedFault) -> str:
    """Describe how many points of the solution resolve the cohesive zone."""
    points = cohesive_points(fault)
    if not len(points):
        return "no weakening"
    worst = float(points.min())
    enough = "enough" if worst >= ENOUGH else "too few"
    return f"{worst:.1f} at least, median {np.median(points):.1f} ({enough}: 2 to 3 are needed)"
