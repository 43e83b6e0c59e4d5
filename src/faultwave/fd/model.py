"""View of a plan of a grid for pictures: sections of the material, the ground, and marks of the capabilities."""

from __future__ import annotations

import numpy as np

from faultwave.fd.capability import FdPlan
from faultwave.media.homogenise import at_points
from faultwave.media.models import coverage
from faultwave.observe.model import POINTS, RESOLUTION, Coverage, Label, Marks, Model, Section, Sheet

ALONG, DOWN, SQUARES = 480, 240, 160
"""Largest numbers of pieces of a section along it and in depth, and of the ground along an axis."""
LABELS = {
    "vp": Label("P speed", "m/s"), "vs": Label("S speed", "m/s"), "rho": Label("density", "kg/m³"), RESOLUTION: POINTS
}  # fmt: skip


def model(plan: FdPlan) -> Model:
    """Return the view of a plan for pictures."""
    case, grid = plan.case, plan.scheme.grid
    upper = plan.upper.copy()
    if grid.relief is not None:
        upper[2] = grid.relief.top + grid.relief.relief
    requested = None if case.grid is None else case.grid.frequency
    reason = "the highest that the case asks for" if requested else "resolved everywhere"
    frequency = requested or plan.frequency
    shapes = [shape for part in plan.parts.values() for shape in part.shapes(plan)]
    turned = case.projection is None or case.projection.azimuth != 0
    return Model(
        case.title or case.output.prefix, plan.lower, upper, LABELS, ("vp", "vs"),
        lambda start, end: _cut(plan, frequency, start, end), tuple(s for s in shapes if isinstance(s, Marks)),
        (*(s for s in shapes if isinstance(s, Sheet)), _ground(plan, frequency)), frequency, reason,
        coverage=_coverage(plan), axes=("x", "y", "z") if turned else ("east", "north", "up"),
    )  # fmt: skip


def _coverage(plan: FdPlan) -> Coverage | None:
    found = coverage(plan.case.material.models, plan.case.projection)
    if found is None:
        return None
    kinds, at = found
    setting, relief = plan.case.grid.topography if plan.case.grid else None, plan.scheme.grid.relief
    if relief is None or setting is None or setting.material != "depth":
        return Coverage(kinds, at)

    def below(points: np.ndarray) -> np.ndarray:
        depths = np.array(points, float)
        depths[:, 2] -= relief.ground(depths)
        return at(depths)

    return Coverage(kinds, below)


def _values(plan: FdPlan, frequency: float, points: np.ndarray) -> dict[str, np.ndarray]:
    """Return the material of the case and its resolution at points (n, 3) in rock."""
    found = at_points(plan.material, ["rho", "lambda", "mu"], points, np.ones(len(points), np.int64))
    rho, lam, mu = found["rho"], found["lambda"], found["mu"]
    vp, vs = np.sqrt((lam + 2 * mu) / rho), np.sqrt(mu / rho)
    relief = plan.scheme.grid.relief
    stretch = np.ones(len(points)) if relief is None else relief.jacobian(relief.down(points))
    slow = np.where(mu > 0, vs, vp) / stretch
    return {"vp": vp, "vs": vs, "rho": rho, RESOLUTION: slow / (plan.scheme.grid.spacing * frequency)}


def _levels(plan: FdPlan) -> np.ndarray:
    """Return levels [m] of the flat grid from its bottom up, of at most DOWN pieces."""
    return _pieces(plan.lower[2], plan.upper[2], plan.scheme.grid.spacing, DOWN)


def _pieces(low: float, high: float, spacing: float, most: int) -> np.ndarray:
    count = int(np.clip(np.ceil((high - low) / spacing - 1e-9), 1, most))
    return np.linspace(low, high, count + 1)


def _cut(plan: FdPlan, frequency: float, start: np.ndarray, end: np.ndarray) -> Section:
    """Return a section of quadrilaterals with the values at their centres."""
    grid = plan.scheme.grid
    length = float(np.linalg.norm(end - start))
    s, r = _pieces(0.0, length, grid.spacing, ALONG), _levels(plan)

    def places(s: np.ndarray, r: np.ndarray) -> np.ndarray:
        along, level = np.meshgrid(s, r, indexing="ij")
        xy = start + along[..., None] / length * (end - start)
        flat = np.concatenate([xy, level[..., None]], axis=-1)
        return grid.up(flat.reshape(-1, 3)).reshape(flat.shape)

    nodes, middles = places(s, r), places(_middles(s), _middles(r))
    points = np.stack([np.repeat(s[:, None], len(r), 1), nodes[..., 2]], -1).reshape(-1, 2)
    return Section(points, _squares(len(s), len(r)), _values(plan, frequency, middles.reshape(-1, 3)))


def _middles(x: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 * (x[1:] + x[:-1]))


def _squares(nx: int, ny: int) -> np.ndarray:
    """Return the corners (n, 4) of the pieces between nx times ny points."""
    number = np.arange(nx * ny).reshape(nx, ny)
    around = number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]
    return np.stack([corner.reshape(-1) for corner in around], 1)


def _ground(plan: FdPlan, frequency: float) -> Sheet:
    """Return the upper side of the box as a sheet, with the values half a spacing below it."""
    grid = plan.scheme.grid
    x, y = (_pieces(plan.lower[k], plan.upper[k], grid.spacing, SQUARES) for k in (0, 1))

    def places(x: np.ndarray, y: np.ndarray, level: float) -> np.ndarray:
        xx, yy = np.meshgrid(x, y, indexing="ij")
        flat = np.stack([xx, yy, np.full(xx.shape, level)], -1).reshape(-1, 3)
        return np.asarray(grid.up(flat))

    top = plan.upper[2]
    squares = _squares(len(x), len(y))
    triangles = np.concatenate([squares[:, [0, 1, 2]], squares[:, [0, 2, 3]]])
    values = _values(plan, frequency, places(_middles(x), _middles(y), top - 0.5 * grid.spacing))
    return Sheet("ground", places(x, y, top), triangles, {k: np.tile(v, 2) for k, v in values.items()}, LABELS)


__all__ = ["model"]
