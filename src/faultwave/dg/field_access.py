"""The wave field as functions of place: projected, compared, sampled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from faultwave.dg.basis import tet_basis, tet_quadrature
from faultwave.domain import tets

BLOCK = 4096  # cells at a time


def project(solver: Any, function: Callable[[np.ndarray], np.ndarray]) -> None:
    """Set the dofs to the L2 projection of function(points (n, 3)) -> (n, Q), cell block by cell block."""
    order, geo, cells_here = solver.operator.order, solver.plan.geometry, solver.plan.cells
    points, weights = tet_quadrature(order + 2)
    psi = tet_basis(points, order - 1)
    for part in np.array_split(np.arange(cells_here), max(1, cells_here // BLOCK)):
        # Sums over one cell round differently, and a process may have but one: it is done twice.
        cells = np.repeat(part, 2) if len(part) == 1 else part
        x = geo.origin[cells, None] + np.einsum("cij,nj->cni", geo.jacobian[cells], points)
        values = function(x.reshape(-1, 3)).reshape(len(cells), len(points), -1)
        solver.operator.set_dofs(np.einsum("n,nk,cnq->ckq", weights, psi, values)[: len(part)], part)


def error(
    solver: Any,
    solution: Callable[[np.ndarray, float], np.ndarray],
    inside: Callable[[np.ndarray], np.ndarray] | None = None,
) -> np.ndarray:
    """Relative L2 error of every quantity against solution(points, time), where ``inside(points)`` if given."""
    order, geo, cells_here = solver.operator.order, solver.plan.geometry, solver.plan.cells
    points, weights = tet_quadrature(order + 2)
    psi = tet_basis(points, order - 1)
    above = below = np.zeros(len(solver.plan.law.quantities))
    for part in np.array_split(np.arange(cells_here), max(1, cells_here // BLOCK)):
        x = geo.origin[part, None] + np.einsum("cij,nj->cni", geo.jacobian[part], points)
        flat = x.reshape(-1, 3)
        exact = solution(flat, solver.time).reshape(len(part), len(points), -1)
        mine = np.einsum("nk,ckq->cnq", psi, solver.operator.dofs(part))
        scale = (geo.volume[part, None] * weights)[..., None]
        if inside is not None:
            scale = scale * inside(flat).reshape(len(part), len(points), 1)
        above = above + (scale * (mine - exact) ** 2).sum((0, 1))
        below = below + (scale * exact**2).sum((0, 1))
    return np.sqrt(above / np.where(below > 0, below, 1.0))


def sample(solver: Any, points: np.ndarray) -> np.ndarray:
    """State (n, Q) at points (n, 3) now; NaN outside the mesh."""
    plan, points = solver.plan, np.asarray(points, float).reshape(-1, 3)
    found = tets.locate(points, plan.topology, plan.geometry, plan.mesh.vertices)
    result = np.full((len(found.cells), len(plan.law.quantities)), np.nan)
    inside = found.cells >= 0
    psi = tet_basis(found.xi[inside], solver.operator.order - 1)
    result[inside] = np.einsum("nb,nbq->nq", psi, solver.operator.dofs(found.cells[inside]))
    return result


__all__ = ["error", "project", "sample"]
