"""Plausibility of a planned fault in a grid, at the points of horizontal slip and their cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import Problems
from faultwave.case.plausibility import warn_normal_stress
from faultwave.fd.fault.friction import STRESS, Nucleation, parameter
from faultwave.fd.fault.points import Given
from faultwave.fd.method.fault_plane import FaultPlane
from faultwave.fd.method.grid import Grid
from faultwave.observe.model import Label, Sheet
from faultwave.physics.friction import forecast, plausibility
from faultwave.physics.friction.forecast import Added, Surroundings
from faultwave.physics.friction.law import FrictionLaw
from faultwave.physics.friction.plausibility import LoadedFault

FINER = "take a smaller grid.spacing"


@dataclass(frozen=True)
class Forecast:
    """Initial load of a planned fault.

    Attributes
    ----------
    points : LoadedFault
        The (n,) points that may slip.
    patch : ndarray of int, shape (k,)
        Largest connected set of points that rupture by themselves.
    cells : ndarray, shape (n, 4, 3)
        Corners [m] of their cells in the plane.
    """

    points: LoadedFault
    patch: np.ndarray
    cells: np.ndarray

    def doubt(self, problems: Problems, loads: Sequence[str]) -> None:
        """Warn of a fault that will probably not slip as intended; ``loads`` describes other loads of the fault."""
        warn_normal_stress(float(np.median(np.abs(self.points.sigma))), problems)
        problems.extend(plausibility.doubts(self.points, self.patch, loads).items)
        plausibility.warn_resolution(self.points, problems, FINER)

    def report(self) -> dict[str, list[tuple[str, ...]]]:
        """Return the rows of ``faultwave plan``."""
        found: dict[str, list[tuple[str, ...]]] = {"fault": list(plausibility.rows(self.points, self.patch))}
        if self.points.weakening is not None:
            found["resolution"] = [("points in the cohesive zone", forecast.cohesive_zone(self.points))]
        return found

    def sheet(self, tag: int) -> Sheet:
        """Return the fault as a sheet of two triangles per cell for pictures of the plan."""
        triangles = self.cells[:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3)
        points, cells = np.unique(triangles, axis=0, return_inverse=True)
        values = {n: np.repeat(v, 2) for n, v in forecast.shown(self.points).items() if np.isfinite(v).any()}
        labels = {name: Label(*reported) for name, reported in forecast.SHOWN.items()}
        return Sheet("fault", points, cells.reshape(-1, 3), values, labels, np.full(2 * len(self.cells), tag))


def forecast_of(
    law: FrictionLaw, constants: Mapping[str, float], given: Given, episodes: Sequence[Nucleation],
    rock: Mapping[str, np.ndarray], plane: FaultPlane, grid: Grid, end: float,
) -> Forecast | None:  # fmt: skip
    """Return the forecast of a fault, or None if no point below the ground may slip.

    Parameters
    ----------
    law : FrictionLaw
    constants : mapping
        Constants of the law.
    given : Given
        Values at the points of horizontal slip.
    episodes : sequence of Nucleation
    rock : mapping of ndarray
        Lame parameters [Pa] at these points.
    plane : FaultPlane
    grid : Grid
    end : float
        End time [s].
    """
    below = np.arange(plane.box.lo[0], plane.box.hi[0]) < grid.shape[0]  # ground points have no cell
    chosen = given.slips & below[:, None, None]
    if not chosen.any():
        return None
    values = {n: v[chosen] for n, v in given.values.items()}
    count, h = int(chosen.sum()), grid.spacing
    full = np.ones(count)
    around = Surroundings(h * h * full, rock["mu"][chosen], rock["lambda"][chosen], h * full)
    added = [
        Added(np.stack([values[f"nucleation{n}_{c}"] for c in ("n", "1", "2")], -1), e.start, e.duration)
        for n, e in enumerate(episodes)
    ]
    p = {n: values[parameter(n)] for n in law.kernel_parameters}
    points = forecast.loaded(law, (p, constants), np.stack([values[n] for n in STRESS], -1), added, around, end)
    k, i = np.nonzero(chosen.reshape(len(below), -1))
    wide = chosen.shape[1] * chosen.shape[2] + 1
    first = k * wide + i
    patch = forecast.largest_patch(np.stack([first, first + 1, first + wide + 1, first + wide], -1), points)
    along, up = np.eye(3)["xyz".index(plane.along)], np.array([0.0, 0.0, 1.0])
    sides = np.array([-along - up, along - up, along + up, up - along])
    return Forecast(points, patch, given.places[chosen][:, None] + 0.5 * h * sides)


__all__ = ["FINER", "Forecast", "forecast_of"]
