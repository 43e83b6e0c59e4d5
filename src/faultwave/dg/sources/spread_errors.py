"""Error of waves of sources that are spread over cells, compared with point sources (docs/theory/error-estimates.md).

A plane wave of wavenumber k sees a source K(x) as the integral of K(x) exp(-i k.x), and a point as 1. Runs of other
orders with the same sources do not show the difference. See the section "Spread sources".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from faultwave.dg.checks.resolution import slowest_speed
from faultwave.dg.method.basis import tet_basis, tet_quadrature
from faultwave.dg.sources.spread_sources import Spread

if TYPE_CHECKING:
    from faultwave.dg.planning.plan import Plan
    from faultwave.dg.running import Solver

STRONGEST = 8
"""Largest number of sources in the estimate, the strongest ones."""
DIRECTIONS = 12
"""Number of wave directions, spread evenly over half the sphere."""
RADII = np.linspace(0.0, 8.0, 33)
"""Wavenumbers times the radius of the largest source, in the fastest rock around a source."""


def errors_of_spread(part: Any, solver: Solver) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the relative errors of S waves by frequency (collective).

    Returns
    -------
    frequencies : ndarray (k,)
        Frequencies [Hz].
    errors : ndarray (k,)
        Relative errors, root mean square over directions and, weighted by moment, over sources. None on all processes
        but the first.
    """
    plan, over = solver.plan, part.spread
    sizes = np.linalg.norm(np.concatenate([over.moment, part.sources.force, part.sources.porous], 1), axis=1)
    here = part.cells >= 0
    at = {name: values[part.cells[here]] for name, values in plan.material.items()}
    reported = solver.world.gather((part.items[here], sizes[here], slowest_speed(plan.law, at), over.radius[here]))
    chosen = None
    if reported is not None:
        item, size, speed, radius = (np.concatenate([t[i] for t in reported]) for i in range(4))
        strongest = np.argsort(-size, kind="stable")[:STRONGEST]
        item, size, speed = (x[strongest] for x in (item, size, speed))
        frequencies = RADII / radius[strongest].max() * speed.max() / (2.0 * np.pi)
        chosen = item, size, frequencies, 2.0 * np.pi * np.outer(1.0 / speed, frequencies)
    item, size, frequencies, wavenumbers = solver.world.share(chosen)
    met = solver.world.gather(_met(part, plan, item, wavenumbers))
    if met is None:
        return None
    wrong = (np.abs(np.sum(met, axis=0) - 1.0) ** 2).mean(2)  # (sources, frequencies)
    return frequencies, np.sqrt(np.average(wrong, axis=0, weights=size**2 if size.any() else None))


def _met(part: Any, plan: Plan, items: np.ndarray, wavenumbers: np.ndarray) -> np.ndarray:
    """Return the amplitude (n, k, directions) of sources ``items`` in this process's cells for waves of ``wavenumbers`` (n, k)."""
    over: Spread = part.spread
    order = plan.case.numerics.order
    points, weights = tet_quadrature(order + 4)
    values = weights[:, None] * tet_basis(points, order - 1)
    found = np.zeros((*wavenumbers.shape, DIRECTIONS), complex)
    number = np.arange(DIRECTIONS) + 0.5
    z, turn = number / DIRECTIONS, np.pi * (1.0 + 5.0**0.5) * number
    flat = np.sqrt(1.0 - z**2)
    directions = np.stack([flat * np.cos(turn), flat * np.sin(turn), z], 1)
    for n, item in enumerate(items):
        mine = np.flatnonzero(part.items[over.source] == item)
        if not len(mine):
            continue
        corners = plan.geometry.corners_of(over.cells[mine])
        edges = corners[:, 1:] - corners[:, :1]
        away = corners[:, :1] - part.sources.location[over.source[mine[0]]]
        x = (away + np.einsum("pj,cjk->cpk", points, edges)).reshape(-1, 3) @ directions.T
        share = (6.0 * plan.geometry.volume[over.cells[mine], None] * (over.rows[mine] @ values.T)).reshape(-1)
        for i, k in enumerate(wavenumbers[n]):
            found[n, i] = share @ np.exp(-1j * k * x)
    return found


__all__ = ["errors_of_spread"]
