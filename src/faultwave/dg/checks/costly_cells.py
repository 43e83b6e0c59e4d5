"""Warning about the few cells whose small time steps dominate the cost of a run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from faultwave.base.wording import command
from faultwave.dg.mesh.placement import Planning
from faultwave.domain import tets

SHARE, FEWEST = 1000, 10
"""Fraction (one in ``SHARE``) and minimum number of cells that count as few."""
SMALL, LONGER = 0.5, 1.5
"""Step relative to the usual one that counts as small, and factor of the run time that justifies a warning."""
NAMED = 3


def warn_costly(planning: Planning, step: np.ndarray, cluster: Callable[[np.ndarray], tets.Clustering]) -> None:
    """Warn if a few cells make the run much longer.

    Parameters
    ----------
    planning : Planning
        Case, which collects the warning.
    step : (nc,) float
        Stable steps [s].
    cluster : callable
        Clustering of stable steps, as the run uses it.
    """
    few = min(max(FEWEST, len(step) // SHARE), len(step) // 4)
    if few == 0 or planning.whole.elsewhere:  # a partition does not know the clusters of other partitions
        return
    usual = float(np.partition(step, few)[few])
    small = int((step < SMALL * usual).sum())
    if small == 0:
        return
    longer = rate(cluster(step)) / rate(cluster(np.maximum(step, usual)))
    if longer < LONGER:
        return
    worst = tets.worst_cells(planning.mesh, planning.topology, planning.geometry, min(NAMED, small), step)
    named = "; ".join(
        f"cell {c.cell} at ({', '.join(f'{x:.6g}' for x in c.centroid)}), inradius {c.inradius:.3g} m, {c.reason}"
        for c in worst
    )
    what = (
        f"{small} {'cell makes' if small == 1 else 'cells make'} the run {longer:.2g} times as long as without: {named}"
    )
    planning.problems.warn("mesh", what, advice=f"Remesh there: '{command('plan')}' lists more of them.")


def rate(clustering: tets.Clustering) -> float:
    """Return the number of cell updates per second of simulated time."""
    return float((clustering.histogram / clustering.steps).sum())


__all__ = ["rate", "warn_costly"]
