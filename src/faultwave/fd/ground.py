"""What the material of a box has that is no rock, counted over all of it, and what becomes of a model's topography."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from faultwave.base.errors import InputError, Problems
from faultwave.fd.grid import Grid
from faultwave.media.field import Field, leaves
from faultwave.media.homogenise import look
from faultwave.media.models.model import Model
from faultwave.media.points import coordinates

MOST = 4_000_000
"""Points looked at; of larger grids every second, third, ... along each axis."""
ALONG = 101
"""Points along x and y at which the ground is looked at."""
FLAT = 1.0
"""Relief [m] that is not worth a word."""

T = TypeVar("T")


def counted(
    read: Callable[[], T], field: Field, names: list[str], grid: Grid, lower: np.ndarray, upper: np.ndarray
) -> T:
    """``read()``; where that finds points without material, the InputError is of all cells of the box [lower, upper] (3,) [m].

    A reading stops with the first part of the grid that is wrong; users want to know how much is wrong altogether.
    """
    try:
        return read()
    except InputError:
        _whole(field, names, grid, lower, upper)
        raise  # what is wrong lies between these, or is no matter of points


def _whole(field: Field, names: list[str], grid: Grid, lower: np.ndarray, upper: np.ndarray) -> None:
    half = 0.5 * grid.spacing
    count = np.maximum(np.round((upper - lower) / half).astype(int), 1)
    stride = max(1, int(np.ceil((count.prod() / MOST) ** (1 / 3))))
    x, y, z = (lower[k] + half * (np.arange(0, count[k], stride) + 0.5) for k in range(3))

    def planes() -> Iterator[np.ndarray]:
        for height in z[::-1]:
            yield np.stack([a.ravel() for a in np.meshgrid(x, y, height, indexing="ij")], -1)

    of = "points, eight a cell" if stride == 1 else f"points, {stride * half:g} m apart"
    look(field, names, planes(), len(x) * len(y) * len(z), of)


def check_relief(field: Field, lower: np.ndarray, upper: np.ndarray, problems: Problems) -> None:
    """Warnings of what happens to the topography of models: it is made flat, or what is above the box is left out."""
    for model in leaves(field):
        if not isinstance(model, Model) or model.ground is None:
            continue
        x, y = (a.ravel() for a in np.meshgrid(*(np.linspace(lower[k], upper[k], ALONG) for k in (0, 1))))
        own = model.to_own(np.stack([x, y], 1))
        height = model.ground(own[:, 0], own[:, 1])
        low, high = float(height.min()), float(height.max())
        if model.hang:
            if high - low > FLAT:
                what = f"its ground, {low:.6g} to {high:.6g} m above sea level, is made flat: z counts from it"
                problems.warn(model.source, what)
            continue
        above = height - upper[2]
        if above.max() > FLAT:
            place = coordinates((x[above.argmax()], y[above.argmax()]))
            what = (
                f"its ground lies above the box, whose surface is z = {upper[2]:g} m, at {100 * np.mean(above > FLAT):.3g} % of it, by up "
                f"to {above.max():.6g} m at {place}: the rock above is left out"
            )
            problems.warn(model.source, what, advice="'vertical: ground' of the model makes its ground flat instead.")


__all__ = ["check_relief", "counted"]
