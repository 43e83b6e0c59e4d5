"""View of a plan of a grid for pictures: sections of the material, the ground, and marks of the capabilities."""

from __future__ import annotations

import numpy as np

from faultwave.engine.model import (
    ELASTIC_LABELS,
    ELASTIC_SPEEDS,
    Domain,
    Resolved,
    build_model,
    covered,
    elastic_values,
)
from faultwave.fd.capability import FdPlan
from faultwave.media.homogenise import at_points
from faultwave.observe.model import POINTS, RESOLUTION, Coverage, Model, Section, Sheet

ALONG, DOWN, SQUARES = 480, 240, 160
"""Largest numbers of pieces of a section along it and in depth, and of the ground along an axis."""
LABELS = {**ELASTIC_LABELS, RESOLUTION: POINTS}


def model(plan: FdPlan) -> Model:
    """Return the view of a plan for pictures."""
    case, grid = plan.case, plan.scheme.grid
    upper = plan.upper.copy()
    if grid.relief is not None:
        upper[2] = grid.relief.top + grid.relief.relief
    resolved = Resolved.choose(None if case.grid is None else case.grid.frequency, plan.frequency, "")
    frequency = resolved.frequency

    def cut(start: np.ndarray, end: np.ndarray) -> Section:
        return _cut(plan, frequency, start, end)

    domain = Domain(plan.lower, upper, cut, [_ground(plan, frequency)], LABELS, ELASTIC_SPEEDS)
    return build_model(plan, plan.parts.values(), domain, resolved, _coverage(plan))


def _coverage(plan: FdPlan) -> Coverage | None:
    """Return the coverage of the velocity models, which are functions of depth below a topography if the case states so."""
    found = covered(plan.case)
    setting, relief = plan.case.grid.topography if plan.case.grid else None, plan.scheme.grid.relief
    if found is None or relief is None or setting is None or setting.material != "depth":
        return found
    at = found.at

    def below(points: np.ndarray) -> np.ndarray:
        depths = np.array(points, float)
        depths[:, 2] -= relief.ground(depths)
        return at(depths)

    return Coverage(found.kinds, below)


def _values(plan: FdPlan, frequency: float, points: np.ndarray) -> dict[str, np.ndarray]:
    """Return the material of the case and its resolution at points (n, 3) in rock."""
    found = at_points(plan.material, ["rho", "lambda", "mu"], points, np.ones(len(points), np.int64))
    values = elastic_values(found["rho"], found["lambda"], found["mu"])
    relief = plan.scheme.grid.relief
    stretch = np.ones(len(points)) if relief is None else relief.jacobian(relief.down(points))
    slow = np.where(found["mu"] > 0, values["vs"], values["vp"]) / stretch
    return values | {RESOLUTION: slow / (plan.scheme.grid.spacing * frequency)}


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
