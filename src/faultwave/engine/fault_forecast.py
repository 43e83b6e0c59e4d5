"""Forecast of a planned fault: its initial load, warnings before the run, rows of ``faultwave plan`` and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import Problems
from faultwave.case.plausibility import warn_normal_stress
from faultwave.observe.model import Label, Sheet
from faultwave.physics.friction import forecast, plausibility
from faultwave.physics.friction.plausibility import LoadedFault

LABELS = {name: Label(*described) for name, described in forecast.SHOWN.items()}
"""Labels of the fields that plots of a planned fault show."""


@dataclass(frozen=True)
class FaultForecast:
    """Initial load of a planned fault.

    Attributes
    ----------
    points : LoadedFault
        The (n,) points that may slip.
    patch : ndarray of int, shape (k,)
        Largest connected set of points that rupture by themselves.
    """

    points: LoadedFault
    patch: np.ndarray

    def warn(self, loads: Sequence[str], problems: Problems, advice: str = plausibility.FINER_MESH) -> None:
        """Warn of a fault that will probably not slip as intended.

        Parameters
        ----------
        loads : sequence of str
            Other loads of the fault.
        problems : Problems
            Collects the warnings.
        advice : str
            How to resolve the rupture.
        """
        warn_normal_stress(float(np.median(np.abs(self.points.sigma))), problems)
        problems.extend(plausibility.doubts(self.points, self.patch, loads).items)
        plausibility.warn_resolution(self.points, problems, advice)

    def report(self) -> dict[str, list[tuple[str, ...]]]:
        """Return the rows of ``faultwave plan``."""
        return {"fault": list(plausibility.rows(self.points, self.patch)), **resolution_rows(self.points)}


def resolution_rows(points: LoadedFault) -> dict[str, list[tuple[str, ...]]]:
    """Return the row on the cohesive zone, if the friction law defines weakening."""
    if points.weakening is None:
        return {}
    return {"resolution": [("points in the cohesive zone", forecast.cohesive_zone(points))]}


def fault_sheet(corners: np.ndarray, values: dict[str, np.ndarray], tags: np.ndarray) -> Sheet:
    """Return a planned fault as a surface for pictures.

    Parameters
    ----------
    corners : ndarray (n, 3, 3)
        Corners of triangles [m].
    values : dict of str to ndarray (n,)
        Values of ``physics.friction.forecast.shown`` on each triangle.
    tags : ndarray (n,)
        Fault tags.
    """
    points, cells = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    return Sheet("fault", points, cells.reshape(-1, 3), values, LABELS, tags)


def finite_values(fault: LoadedFault) -> dict[str, np.ndarray]:
    """Return the numbers (n,) of a fault that are known at some of its points, by name."""
    return {name: v for name, v in forecast.shown(fault).items() if np.isfinite(v).any()}
