"""Checks of points without rock in a box, and of a model's topography on a flat grid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from faultwave.base.errors import InputError, Problems
from faultwave.fd.method.grid import Grid
from faultwave.media.field import Field, leaves
from faultwave.media.homogenise import check_values
from faultwave.media.models.model import Model
from faultwave.media.points import coordinates

MOST = 4_000_000
"""Largest number of inspected points; larger grids are sampled at a stride along each axis."""
ALONG = 101
"""Number of places along x and y where the ground is inspected."""
FLAT = 1.0
"""Relief [m] below which no warning is given."""

T = TypeVar("T")


def counted(
    read: Callable[[], T], field: Field, names: list[str], grid: Grid, lower: np.ndarray, upper: np.ndarray
) -> T:
    """Return ``read()``; raise an InputError about all cells of the box if some points have no material.

    Reading stops at the first part of the grid with an error, but users need to know its whole extent. The box spans
    ``lower`` to ``upper`` (3,) [m].
    """
    try:
        return read()
    except InputError:
        _whole(field, names, grid, lower, upper)
        raise  # the errors lie between the inspected points, or do not concern points


def _whole(field: Field, names: list[str], grid: Grid, lower: np.ndarray, upper: np.ndarray) -> None:
    half = 0.5 * grid.spacing
    count = np.maximum(np.round((upper - lower) / half).astype(int), 1)
    stride = max(1, int(np.ceil((count.prod() / MOST) ** (1 / 3))))
    x, y, z = (lower[k] + half * (np.arange(0, count[k], stride) + 0.5) for k in range(3))

    def planes() -> Iterator[np.ndarray]:
        for height in z[::-1]:
            yield np.stack([a.ravel() for a in np.meshgrid(x, y, height, indexing="ij")], -1)

    of = "points, eight a cell" if stride == 1 else f"points, {stride * half:g} m apart"
    check_values(field, names, planes(), len(x) * len(y) * len(z), of)


def check_relief(field: Field, lower: np.ndarray, upper: np.ndarray, problems: Problems) -> None:
    """Warn if the topography of a model is flattened or cut off at the top of the box."""
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
