"""Cells that cost most: a few slivers may make a run many times as long."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from faultwave.base.asked import command
from faultwave.dg.planning import Planning
from faultwave.domain import tets

SHARE, FEWEST = 1000, 10
"""One cell of so many, and at least so many cells, are few."""
SMALL, LONGER = 0.5, 1.5
"""Share of the step of all but a few cells that is small, and how many times longer a run is then worth a word."""
NAMED = 3


def warn_costly(planning: Planning, step: np.ndarray, cluster: Callable[[np.ndarray], tets.Clustering]) -> None:
    """A warning where a few cells make the run much longer; ``cluster``: of stable steps (nc,), as the run does it."""
    few = min(max(FEWEST, len(step) // SHARE), len(step) // 4)
    if few == 0 or planning.whole.elsewhere:  # a part of a mesh does not know how the others are clustered
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
    """Updates of cells a second of simulated time."""
    return float((clustering.histogram / clustering.steps).sum())


__all__ = ["rate", "warn_costly"]
